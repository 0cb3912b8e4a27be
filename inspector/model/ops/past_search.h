// A search through the records for what breakpoints match, in the session or the trace, one page of records
// per answer.
#pragma once

#include <QObject>
#include <optional>
#include <vector>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

class PastSearch : public QObject {
  Q_OBJECT
 public:
  struct Sums {
    quint64 lookedAt = 0;
    quint64 lost = 0;       ///< records that a lost value left undecided
    quint64 undecided = 0;  ///< those that Python names and curves did
    RecordNumber oldest = 1, newest = 0;
    quint64 total = 0;  ///< records that there are to look at
    std::vector<protocol::BreakpointState> problems;
    std::vector<quint64> withoutOps = {};  ///< breakpoints of lines of which no op is recorded
    /// Records that were not decided, or are forgotten: it may have held there.
    bool leaveOpen() const { return lost > 0 || undecided > 0 || oldest > 1; }
  };

  /// `channel`: one search at a time goes by it.
  PastSearch(Session* session, const QString& channel, QObject* parent);

  /// Drops the previous search. False: no session answers.
  bool start(const protocol::FindHit& search);
  void cancel();
  bool running() const { return running_; }
  const Sums& sums() const { return sums_; }

 signals:
  void progressed();
  // Each search ends with one of these, unless it is cancelled.
  void found(const tapedeck::protocol::FoundHit& hit);
  void notFound();
  void failed(const QString& reason);

 private:
  bool ask();
  void take(const protocol::FoundHit& hit);

  Session* session_;
  const QString channel_;
  protocol::FindHit search_;
  Sums sums_;
  bool running_ = false;
};

/// What could not be decided and why, as sentences with a space before each; empty: nothing. `all`: also what
/// was forgotten before.
QString undecidedText(const PastSearch::Sums& sums, bool all = true);

}  // namespace tapedeck::inspector
