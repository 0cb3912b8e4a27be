// The headings between the rows of Ops: fetched with the records, worded, folded and unfolded.
#pragma once

#include <QHash>
#include <QObject>
#include <QString>
#include <QTimer>
#include <optional>

#include "inspector/model/ops/heading_rows.h"
#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

/// What a heading's row says.
struct Heading {
  QString name;   ///< "Cell [3], run 2", "57th step", "dense"
  QString count;  ///< "34 ops", or "3 of 34 ops" where a filter is applied
  QString state;  ///< "running", "failed"; else empty
  int depth = 0;  ///< groups around it
  bool folded = false;
  bool holdsCursor = false;  ///< the cursor's op is folded away in it
  QString text() const;      ///< "57th step · 34 ops"
};

/// Decides which rows the table has. RecordsModel notifies its views of changes, and sends no request
/// meanwhile.
class Headings : public QObject {
  Q_OBJECT
 public:
  /// `listing` has what is listed at any moment.
  Headings(Session* session, std::function<Listing()> listing, QObject* parent);

  /// The level of the present rows.
  HeadingLevel level() const { return tree_.level(); }
  /// Lays other rows out beside those that there are, in slices; ready() is emitted, perhaps at once, when
  /// they are complete. The present level drops what is being laid out.
  void setLevel(HeadingLevel level);
  /// What is being laid out; else level().
  HeadingLevel nextLevel() const { return coming_ ? coming_->tree.level() : level(); }
  /// How much of the next rows is laid out, in percent; nullopt: none are being laid out.
  std::optional<int> progress() const;
  /// After ready(): those rows are the rows from now on; all are others than before.
  void arrive();
  /// Stretches of records in the same groups that one slice looks at: some milliseconds, a fifth of what a
  /// frame may take.
  static constexpr std::size_t slice = 16'384;
  void setCellLabels(const QHash<QString, QString>& labels) { labels_ = labels; }
  void setFiltered(bool filtered) { filtered_ = filtered; }

  const HeadingRows& rows() const { return rows_; }
  const GroupTree& tree() const { return tree_; }
  /// The listing changed from that record on, or the groups did.
  RowChange update(RecordNumber from);
  /// Begins with no rows.
  void startOver();

  Heading at(std::uint32_t heading) const;
  RowChange setFolded(std::uint32_t heading, bool folded);
  RowChange setAllFolded(HeadingLevel kind, bool folded);
  HeadingLevel kindOf(std::uint32_t heading) const;
  QString nameOf(std::uint32_t heading) const;

 signals:
  /// The groups of records from that one on changed.
  void grouped(tapedeck::inspector::RecordNumber from);
  /// A slice was laid out, or what was being laid out is dropped.
  void progressed();
  void ready();

 private:
  /// Another level's rows, in the making.
  struct Coming {
    GroupTree tree;
    HeadingRows rows;
  };
  void laySlice();
  void restart();
  void schedule();
  void ask();
  void take(const protocol::RecordGroups& groups);
  QString cellName(const protocol::RunGroup& run) const;

  Session* session_;
  std::function<Listing()> listing_;
  QHash<QString, QString> labels_;
  GroupTree tree_;
  HeadingRows rows_;
  std::optional<Coming> coming_;
  bool filtered_ = false;
  /// The session's last answer: runs and steps end without a new record.
  quint64 endedSeen_ = 0, cellsEndedSeen_ = 0;
  std::optional<std::string> runningSeen_;
  QTimer timer_, layTimer_;
};

}  // namespace tapedeck::inspector
