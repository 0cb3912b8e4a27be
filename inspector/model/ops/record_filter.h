// The numbers of the records that a filter lets through. The session searches; where it is gone, what is here
// is.
#pragma once

#include <QHash>
#include <QObject>
#include <QTimer>
#include <vector>

#include "inspector/model/ops/records_model.h"

namespace tapedeck::inspector {

class RecordFilter : public QObject {
  Q_OBJECT
 public:
  RecordFilter(Session* session, QObject* parent);

  /// The language: engine/protocol/record_filter.h.
  void set(const QString& text, Direction direction);
  void setCellLabels(const QHash<QString, QString>& labels);
  /// Numbers of records, ascending. True: the filter asks for them, and restart() is due.
  bool setBookmarked(const std::vector<RecordNumber>& bookmarked);
  void restart();
  bool active() const { return !text_.trimmed().isEmpty() || direction_ != Direction::both; }
  const QString& text() const { return text_; }
  Direction direction() const { return direction_; }
  /// Ascending. Emptied by set() and restart(); grows at its end, before progressed(). Where a record that
  /// was looked at while it ran matches no longer, or only now, it comes and goes between the four signals.
  const std::vector<RecordNumber>& matches() const { return matches_; }
  RecordNumber scanned() const { return scanned_; }
  /// Of the records that were looked at, how many a lost value left undecided.
  quint64 lost() const { return lost_; }
  /// Values decide, and each may have to be computed again.
  bool asksForValues() const { return asksForValues_; }
  /// Leaves the search where it is, with what it found, until set() or restart().
  void stop();
  bool stopped() const { return stopped_; }

 signals:
  void progressed();
  void aboutToInsert(int row, tapedeck::inspector::RecordNumber number);
  void inserted();
  void aboutToRemove(int row, tapedeck::inspector::RecordNumber number);
  void removed();

 private:
  void schedule();
  void search();
  void searchCached();
  void take(const protocol::FoundRecords& found);
  void correct(RecordNumber number, bool matches);

  Session* session_;
  QString text_;
  Direction direction_ = Direction::both;
  QHash<QString, QString> labels_;
  std::vector<std::uint64_t> bookmarked_;
  std::vector<RecordNumber> matches_;
  RecordNumber scanned_ = 0;
  quint64 lost_ = 0;
  bool asksForValues_ = false, asksForBookmarks_ = false, stopped_ = false;
  std::vector<std::uint64_t> open_;  ///< looked at before they had ended
  std::uint64_t ended_ = 0;          ///< Status::ended when they were
  QTimer timer_;
};

}  // namespace tapedeck::inspector
