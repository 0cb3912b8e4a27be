// Which of the records that are looked at have values that cannot be had again: asked of the session before
// anybody asks for those values.
#pragma once

#include <QElapsedTimer>
#include <QHash>
#include <QObject>
#include <QTimer>
#include <deque>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

class LostMarks : public QObject {
  Q_OBJECT
 public:
  LostMarks(Session* session, QObject* parent);
  /// As far as is known; what is not known, or may have changed since, is asked for, and changed() comes.
  bool isLost(RecordNumber number);
  /// In words, for a tip.
  static QString sentence();

 signals:
  /// Of records [first, last].
  void changed(tapedeck::inspector::RecordNumber first, tapedeck::inspector::RecordNumber last);

 private:
  struct Mark {
    bool known = false, lost = false;
  };
  void statusChanged();
  void ask();
  void take(const std::vector<std::uint64_t>& asked, const protocol::LostRecords& answer);
  void clear();

  Session* session_;
  QHash<RecordNumber, Mark> marks_;  ///< of the records in `looked_`
  std::deque<RecordNumber> looked_;  ///< at, the latest last
  std::uint64_t version_ = 0;        ///< of what was asked last
  RecordNumber finished_ = 0;        ///< when it was
  bool stale_ = false;               ///< something may have changed since
  QTimer timer_;
  QElapsedTimer asked_;
};

}  // namespace tapedeck::inspector
