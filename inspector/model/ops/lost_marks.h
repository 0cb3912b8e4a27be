// Which of the visible records have values that can't be recomputed: fetched from the session before any view
// asks for those values.
#pragma once

#include <QElapsedTimer>
#include <QHash>
#include <QObject>
#include <QTimer>
#include <vector>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

class LostMarks : public QObject {
  Q_OBJECT
 public:
  LostMarks(Session* session, QObject* parent);
  /// As far as is known; unknown or possibly outdated marks are fetched, and changed() follows.
  bool isLost(RecordNumber number);
  /// In words, for a tip.
  static QString sentence();

 signals:
  /// Of records [first, last].
  void changed(tapedeck::inspector::RecordNumber first, tapedeck::inspector::RecordNumber last);

 private:
  struct Mark {
    bool known = false, asked = false, lost = false;
  };
  void statusChanged();
  void refresh();
  void ask();
  void take(const std::vector<std::uint64_t>& asked, const protocol::LostRecords& answer);
  void clear();

  Session* session_;
  QHash<RecordNumber, Mark> marks_;
  std::vector<std::uint64_t> wanted_;  ///< visible, and not requested yet
  std::uint64_t version_ = 0;          ///< Status::values_lost when the marks were known last; 0: never
  RecordNumber finished_ = 0;          ///< and Status::finished
  QTimer refreshTimer_, askTimer_;
  QElapsedTimer sinceAsked_;
};

}  // namespace tapedeck::inspector
