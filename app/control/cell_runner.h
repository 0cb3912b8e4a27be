// Runs a document's cells in its session process and puts what comes back into the document. Needs no window.
#pragma once

#include <QHash>
#include <QObject>
#include <QSet>
#include <QStringList>
#include <functional>

#include "app/kernel/kernel.h"
#include "app/notebook/document/cell_state.h"
#include "app/notebook/document/document.h"

namespace tapedeck::app {

/// Why cells that were queued did not run.
struct RunStop {
  enum class Why { failed, interrupted, ended /* the session */ };
  Why why = Why::failed;
  QString cell;   ///< at which it stopped; empty: before the first of them
  QString error;  ///< the exception's name
  QStringList skipped;
  bool together = false;  ///< the cell was started with others, by one command

  bool operator==(const RunStop&) const = default;
};

class CellRunner : public QObject {
  Q_OBJECT
 public:
  CellRunner(Document* document, Kernel* kernel, QObject* parent = nullptr);

  /// Queues the code cells among `cellIds`, in that order; starts the session process where there is none.
  /// Cells that are waiting already are not queued twice.
  void run(const QStringList& cellIds);
  /// Cells wait while `holds`, until `releaseHold`: for what has to reach the session before they run.
  void setHold(std::function<bool()> holds) { holds_ = std::move(holds); }
  void releaseHold();
  /// Starts a session process where none was started yet; one that ended is restarted by the user only.
  void begin();
  /// Cells queued or running.
  bool busy() const { return !unfinished_.isEmpty(); }
  QString runningCell() const { return running_; }
  /// Cells that wait behind the one that runs.
  int waitingCells() const { return static_cast<int>(unfinished_.size()) - (running_.isEmpty() ? 0 : 1); }
  const Document* document() const { return document_; }
  /// Where the session process is started: the notebook's folder, or the home folder for one never saved.
  QString folder() const;

 signals:
  /// `code` is what runs, even if the cell was edited since.
  void began(const QString& cellId, int executionCount, const QString& code);
  void cellStateChanged(const QString& cellId, tapedeck::app::CellState state);
  /// A cell's error output (nbformat: ename, evalue, traceback).
  void cellFailed(const QString& cellId, const nlohmann::json& error);
  /// What was sent to the session: the cell's text may be changed before it runs, and while it does.
  void sent(const QString& cellId, const QString& source);
  /// A cell failed, or the queue was dropped. Not emitted where the user ended the session.
  void stopped(const tapedeck::app::RunStop& stop);
  /// The queue is empty.
  void finished();

 private:
  void start(const QString& cellId);
  void sendWaiting();
  void receive(const QString& cellId, const nlohmann::json& output);
  void finish(const QString& cellId, const QString& status, int executionCount);
  void noteStop(const QString& cellId, const QString& status);
  void tellStop();

  Document* document_;
  Kernel* kernel_;
  std::function<bool()> holds_;
  QStringList waiting_;           ///< until the session process is ready, and nothing holds them back
  QSet<QString> unfinished_;      ///< waiting, queued or running
  QHash<QString, QString> sent_;  ///< code, of cells that have not begun yet
  QSet<QString> clearOnNext_;     ///< clear_output(wait=True)
  QString running_;
  QString death_;           ///< why the process is dead
  QSet<QString> together_;  ///< unfinished, and started with others
  QString error_;           ///< the name of the running cell's exception
  RunStop stop_;            ///< collected until stopped() reports it
  bool stopping_ = false;
};

}  // namespace tapedeck::app
