// A search in the past for a tensor that a Python name was assigned and that is not a variable of the engine.
#pragma once

#include <QObject>
#include <QTimer>
#include <optional>

#include "app/control/python_assignments.h"
#include "inspector/model/ops/past_search.h"
#include "inspector/model/session/cell_names.h"

namespace tapedeck::app {

/// Records have the line that an op ran on, and the cells' code shows where a name is assigned: the name got
/// the result of the last op of such a line. An op for which that is not certain is skipped, and counted.
class NamedSearch : public QObject {
  Q_OBJECT
 public:
  NamedSearch(inspector::Session* session, inspector::CellNames* cells, QObject* parent);

  enum class Started { searches, nothing_to_search, session_over };
  /// `search`: direction, place, labels and element; `condition`: of `out`, or empty. There is nothing to
  /// search where no op of a line that assigns the name can have made its value (leftOpen() says why), and
  /// where too many lines do.
  Started start(const QString& name, const protocol::FindHit& search, const std::string& condition);
  /// Why the name may have had values that were looked at nowhere, as sentences; empty: it had none. Of a
  /// Python number no value is recorded. `variable`: a variable of the engine goes by that name;
  /// `named`: the ops of its lines were looked at.
  QString leftOpen(const QString& name, bool variable, bool named) const;
  void cancel();
  bool running() const { return running_; }
  /// Of all that was looked at, also while it runs.
  inspector::PastSearch::Sums sums() const;
  quint64 unclear() const { return unclear_; }  ///< ops that may have made it

 signals:
  void progressed();
  // Each search ends with one of these, unless it is cancelled.
  void found(const tapedeck::protocol::FoundHit& hit, int line);
  void notFound();
  void failed(const QString& reason);

 private:
  enum class Judged { yes, no, unclear, later };

  bool ask();
  void take(const protocol::FoundHit& hit);
  void look();
  void end();
  Judged judge(const protocol::Record& record);
  Judged isLast(const protocol::Record& record, const PythonAssignment& assignment);

  inspector::Session* session_;
  inspector::CellNames* cells_;
  inspector::PastSearch search_;
  inspector::PastSearch::Sums sums_;  ///< of the parts before
  PythonContext context_;
  QString name_;
  protocol::FindHit request_;
  std::optional<protocol::FoundHit> candidate_;
  int line_ = 0;  ///< of the candidate's assignment
  quint64 unclear_ = 0;
  bool running_ = false;
};

}  // namespace tapedeck::app
