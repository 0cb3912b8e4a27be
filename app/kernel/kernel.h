// A session process as the parts that control it see it: KernelSession is one, tests have another.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <nlohmann/json.hpp>

#include "inspector/model/session/source.h"

namespace tapedeck::app {

enum class KernelState {
  stopped,   ///< never started, or shut down
  starting,  ///< the process runs, not ready yet
  idle,
  busy,
  dead  ///< ended without being asked to
};

/// Whether the process has Tapedeck's engine and its debug server in it.
enum class Engine {
  unknown,  ///< the process is not ready
  present,
  missing  ///< cells run, but nothing can be stepped or looked into
};

/// Notices of a living session process, each with a sentence for the user.
enum class KernelNotice {
  silent,        ///< it stopped answering
  answersAgain,  ///< (without a sentence)
  withoutEngine,
  unreachable  ///< its sockets fail
};

/// What goes on in the process.
enum class Runs {
  cells,    ///< those that are sent, one after the other
  program,  ///< a program that runs on its own, read-only
  nothing   ///< the records of an earlier session
};

/// All signals come on the UI thread. No function waits.
class Kernel : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  virtual KernelState state() const = 0;
  virtual Engine engine() const = 0;
  virtual Runs runs() const { return Runs::cells; }
  /// Its name in messages: "train.py (pid 4711)".
  virtual QString title() const { return QStringLiteral("session"); }
  /// Where it does not run cells: a sentence that says why.
  virtual QString whyNoCells() const { return {}; }
  /// Where its records come from; nullptr: nowhere.
  virtual inspector::Source* debugSource() { return nullptr; }
  /// Starts a process whose working directory is `folder`.
  virtual void start(const QString& folder) = 0;
  /// Interrupts the running cell; the cells queued behind it are aborted.
  virtual void interrupt() = 0;
  virtual void restart() = 0;
  virtual void shutdown() = 0;

  /// Runs a cell. Cells run in the order given; their outputs and states come as signals under `cellId`.
  /// While the process starts they wait for it; without a process they are aborted at once. A session that
  /// can run it is busy when this returns, and idle again when the last cell's executionFinished() comes.
  virtual void execute(const QString& cellId, const QString& code) = 0;
  virtual void sendInput(const QString& text) = 0;
  /// Replies come as completed() and inspected() with the same `request`; only the newest of each kind is
  /// answered. Positions here and there count code points, as Jupyter does; QString does not.
  virtual void complete(quint64 request, const QString& code, int cursorPosition) {
    (void)request, (void)code, (void)cursorPosition;
  }
  virtual void inspect(quint64 request, const QString& code, int cursorPosition) {
    (void)request, (void)code, (void)cursorPosition;
  }

 signals:
  /// `sentence`: why it is dead, for the user ("The session process was killed (signal 9). …"); else empty.
  void stateChanged(tapedeck::app::KernelState state, const QString& sentence);
  void noticed(tapedeck::app::KernelNotice notice, const QString& sentence);
  /// kernel_info_reply's content; also `language_info` for the notebook's metadata.
  void ready(const nlohmann::json& info);
  void executionStarted(const QString& cellId, int executionCount);
  /// When it ran, by the clock of the process, as JupyterLab keeps it ("iopub.execute_input",
  /// "shell.execute_reply", …; ISO 8601). Comes before executionFinished; not where the process ended.
  void executionTimed(const QString& cellId, const nlohmann::json& times);
  /// An nbformat output (output_type stream, display_data, execute_result, error), multi-line text as one
  /// string. One that can be updated has `transient.display_id`, which is no part of nbformat.
  void outputReceived(const QString& cellId, const nlohmann::json& output);
  /// That many outputs came that a cell has no room for (see protocol::max_cell_outputs).
  void outputsLeftOut(const QString& cellId, quint64 count);
  void outputCleared(const QString& cellId, bool wait);
  void displayUpdated(const QString& displayId, const nlohmann::json& data, const nlohmann::json& metadata);
  /// `status`: "ok", "error", "aborted" (it never began, because an earlier cell failed or the process
  /// ended), "ended" (the process ended while it ran).
  void executionFinished(const QString& cellId, const QString& status, int executionCount);
  void inputRequested(const QString& cellId, const QString& prompt, bool password);
  void completed(quint64 request, const QStringList& matches, int start, int end);
  /// `text` may hold ANSI colours; empty where the name is unknown.
  void inspected(quint64 request, const QString& text);
};

}  // namespace tapedeck::app
