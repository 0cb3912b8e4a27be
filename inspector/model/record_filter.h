// Finds the records that match words and a direction, a chunk at a time, and keeps only their numbers.
#pragma once

#include <QHash>
#include <QObject>
#include <QStringList>
#include <QTimer>
#include <vector>

#include "inspector/model/records_model.h"

namespace tapedeck::inspector {

class RecordFilter : public QObject {
  Q_OBJECT
 public:
  static constexpr RecordNumber chunk = 1000;

  RecordFilter(Session* session, QObject* parent);

  void set(const QString& text, Direction direction);
  void setCellLabels(const QHash<QString, QString>& labels);
  void restart();
  bool active() const { return !words_.isEmpty() || direction_ != Direction::both; }
  const QString& text() const { return text_; }
  Direction direction() const { return direction_; }
  /// Ascending. Grows only; emptied by set() and restart().
  const std::vector<RecordNumber>& matches() const { return matches_; }
  RecordNumber scanned() const { return scanned_; }

  bool matches(const protocol::Record& record) const;

 signals:
  void progressed();

 private:
  void schedule();
  void scan();
  bool scanCached(RecordNumber last, bool skipMissing);
  void take(const protocol::Records& page);

  Session* session_;
  QString text_;
  QStringList words_;
  Direction direction_ = Direction::both;
  QHash<QString, QString> labels_;
  std::vector<RecordNumber> matches_;
  RecordNumber scanned_ = 0;
  QTimer timer_;
};

}  // namespace tapedeck::inspector
