// A search in the past for what a Python name was assigned: a tensor that is no variable of the engine's.
#pragma once

#include <QObject>
#include <QTimer>
#include <optional>

#include "app/control/python_assignments.h"
#include "inspector/model/ops/past_search.h"
#include "inspector/model/session/cell_names.h"

namespace tapedeck::app {

/// Records say in which line an op ran, and cells' codes where a name is assigned: what the last op of such a
/// line made is what the name got. Where that is not certain the op is passed over, and counted.
class NamedSearch : public QObject {
  Q_OBJECT
 public:
  NamedSearch(inspector::Session* session, inspector::CellNames* cells, QObject* parent);

  /// `search`: direction, place, labels and element; `condition`: of `out`, or empty. Returns why there is
  /// nothing to search; empty: it searches.
  QString start(const QString& name, const protocol::FindHit& search, const std::string& condition);
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
