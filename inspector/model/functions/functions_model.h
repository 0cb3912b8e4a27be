// The session's graph functions with their traces, and the graph of the one that was chosen.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <optional>
#include <vector>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

/// Asks the session only while it is shown. A graph comes in pieces; what was shown before stays until all of
/// them are here.
class FunctionsModel : public QObject {
  Q_OBJECT
 public:
  explicit FunctionsModel(Session* session, QObject* parent = nullptr);
  Session* session() const { return session_; }

  /// In the order of their first traces; the first 1000.
  const std::vector<protocol::GraphFunctionInfo>& functions() const { return functions_; }
  quint64 total() const { return total_; }  ///< functions, also those that are not listed
  bool known() const { return known_; }     ///< an answer came
  bool runEagerly() const { return runEagerly_; }

  quint64 trace() const { return trace_; }  ///< that was chosen, or a gradient of one; 0: none
  int stage() const { return stage_; }      ///< 0: as traced; n: after the nth pass
  /// Of trace() and stage(), or, while those are fetched, of what was shown before. Empty where they cannot
  /// be fetched.
  const std::vector<protocol::GraphRow>& rows() const;
  /// Of trace(), as rows().
  const std::vector<protocol::GraphStage>& stages() const;
  /// Also where one of its gradients was chosen; nullptr: none is, or it has gone.
  const protocol::FunctionTrace* chosenTrace() const;
  const protocol::TraceGradient* chosenGradient() const;  ///< nullptr: none is
  const protocol::GraphFunctionInfo* chosenFunction() const;
  QString chosenSignature() const;  ///< of what was chosen; empty: it has gone

  /// What the user should know of the list: that functions run eagerly, that the session has ended. Empty:
  /// nothing.
  QString listNote() const;
  /// What is to be said where there is no function.
  QString emptyText() const;
  /// How far the graph has come, or why it is not here. Empty: it is.
  QString graphNote() const;

 public slots:
  void setShown(bool shown);
  void choose(quint64 trace);
  void setStage(int stage);

 signals:
  void functionsChanged();
  void graphChanged();
  void noteChanged();

 private:
  void clear();
  void refreshSoon();
  void refresh();
  void askForFunctions(std::uint32_t first);
  void take(std::vector<protocol::GraphFunctionInfo> functions);
  void askForGraph();
  void askForRows(std::uint32_t first);
  void failed(const protocol::Failure& failure);
  void setWithheld(bool withheld);

  Session* session_;
  QTimer soon_;
  bool shown_ = false, known_ = false, stale_ = true, runEagerly_ = false;
  std::vector<protocol::GraphFunctionInfo> functions_, coming_;
  quint64 total_ = 0;
  quint64 trace_ = 0, rowsOf_ = 0;
  QString function_;  ///< name of the chosen trace's
  int stage_ = 0, rowsOfStage_ = 0;
  std::vector<protocol::GraphRow> rows_, comingRows_;
  std::vector<protocol::GraphStage> stages_;
  quint64 rowsTotal_ = 0;
  bool withheld_ = false;  ///< rows_ are of another graph than the one that could not be fetched
  QString problem_, graphProblem_;
};

}  // namespace tapedeck::inspector
