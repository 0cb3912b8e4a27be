// What a RecordsModel holds, for the files that implement it: texts (records_model.cpp), and which rows there
// are (records_rows.cpp).
#pragma once

#include <algorithm>

#include "inspector/model/ops/bookmarks.h"
#include "inspector/model/ops/lost_marks.h"
#include "inspector/model/ops/record_filter.h"
#include "inspector/model/ops/records_model.h"

namespace tapedeck::inspector {

struct RecordsModel::Private {
  RecordsModel* q;
  Session* session;
  RecordFilter* filter;
  LostMarks* lost;
  Headings* headings;
  QHash<QString, QString> labels;
  int rows = 0;  ///< with headings, without what is folded away
  RecordNumber pending = 0;
  const Bookmarks* bookmarks = nullptr;

  const Bookmark* bookmark(RecordNumber number) const {
    return bookmarks ? bookmarks->find(number) : nullptr;
  }
  QString noteBehind(RecordNumber number) const {
    const Bookmark* at = bookmark(number);
    return !at || at->note.isEmpty() ? QString() : QStringLiteral("  “%1”").arg(at->note);
  }

  int listed = 0;              ///< records, or matches, that the rows are of
  RecordNumber corrected = 0;  ///< comes to the matches, or goes
  bool changing = false;

  /// What the session has, or what the filter found; nothing else is listed.
  int found() const {
    return filter->active() ? static_cast<int>(filter->matches().size())
                            : static_cast<int>(session->recordCount());
  }
  RecordNumber recordListed(int place) const {
    if (place < 0) return 0;
    if (!filter->active()) return static_cast<RecordNumber>(place) + 1;
    // A view may still ask about the old rows while the search starts over.
    const auto& matches = filter->matches();
    return static_cast<std::size_t>(place) < matches.size() ? matches[static_cast<std::size_t>(place)] : 0;
  }
  /// How many are listed with lower numbers.
  int listedBefore(RecordNumber number) const {
    const auto count = static_cast<RecordNumber>(listed);
    if (!filter->active()) return static_cast<int>(std::min(std::max<RecordNumber>(number, 1) - 1, count));
    const auto& matches = filter->matches();
    const auto end = matches.begin() + std::min<std::ptrdiff_t>(listed, std::ssize(matches));
    return static_cast<int>(std::lower_bound(matches.begin(), end, number) - matches.begin());
  }
  Listing listing() const {
    return {static_cast<std::uint32_t>(listed),
            [this](std::uint32_t position) { return recordListed(static_cast<int>(position)); },
            [this](std::uint64_t record) { return static_cast<std::uint32_t>(listedBefore(record)); }};
  }

  template <class Apply>
  void tell(const RowChange& change, Apply apply);
  /// The rows have changed already; views are notified now.
  void tell(const RowChange& change);
  /// The same; what rows behind the change say may be something else, too.
  void tellFrom(const RowChange& change);
  void grow();
  void tellHeadings(int place);
  void regroup(RecordNumber from);
  void aboutToCorrect(int place, RecordNumber number, bool inserts);
  void correct(bool inserts);
  void reset();

  void changed(RecordNumber first, RecordNumber last) {
    int top = q->rowOf(first);
    const int bottom = std::min(q->rowOf(last), rows - 1);
    if (top < 0) top = 0;
    if (bottom < 0 || top > bottom) return;
    emit q->dataChanged(q->index(top, 0), q->index(bottom, ColumnCount - 1));
  }

  /// What runs next; a stop after an op has nothing of the kind.
  RecordNumber pendingNow() const { return session->status().stopped_after ? 0 : session->stoppedBefore(); }

  void statusChanged() {
    grow();
    const RecordNumber now = pendingNow();
    if (now == pending) return;
    const RecordNumber before = pending;
    pending = now;
    if (before) changed(before, before);
    if (now) changed(now, now);
  }

  QString place(const protocol::Record& record) const {
    if (record.cell.empty() && record.file.empty()) return {};
    const QString where = record.cell.empty()
                              ? QString::fromStdString(record.file).section(QLatin1Char('/'), -1)
                              : q->cellLabel(record);
    return record.line ? where + QLatin1Char(':') + QString::number(record.line) : where;
  }

  QString text(const protocol::Record& record, int column) const;
  QString toolTip(const protocol::Record& record) const;
  /// A forgotten record says so itself.
  bool isLost(const protocol::Record& record) const {
    return !isForgotten(record) && lost->isLost(record.number);
  }
  static bool isForgotten(const protocol::Record& record) {
    return record.state == protocol::RecordState::failed && record.op == "forgotten";
  }
};

}  // namespace tapedeck::inspector
