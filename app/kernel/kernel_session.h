// One notebook's session process, as the window sees it: start, run code, interrupt, restart, notice its end.
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/kernel/kernel_launch.h"
#include "inspector/model/source.h"

namespace tapedeck::app {

enum class KernelState {
  stopped,   ///< never started, or shut down
  starting,  ///< the process runs, not ready yet
  idle,
  busy,
  dead  ///< ended without being asked to
};

/// All signals come on the UI thread; sockets live on a worker thread. No function waits.
class KernelSession : public QObject {
  Q_OBJECT
 public:
  explicit KernelSession(QObject* parent = nullptr);
  /// Ends the process: asks, then kills. The one place that may wait, for at most a second.
  ~KernelSession() override;

  /// How the next start() starts its process; without it the app's own session process.
  void setLaunch(const KernelLaunch& launch);
  /// Starts a process whose working directory is `folder`.
  void start(const QString& folder);
  /// Interrupts the running cell; the cells queued behind it are aborted.
  void interrupt();
  void restart();
  void shutdown();
  KernelState state() const;
  qint64 processId() const;  ///< 0: none

  /// Runs a cell. Cells run in the order given; their outputs and states come as signals under `cellId`.
  /// While the process starts they wait for it; without a process they are aborted at once.
  void execute(const QString& cellId, const QString& code);
  void sendInput(const QString& text);
  /// Replies come as completed() and inspected() with the same `request`; only the newest of each kind is
  /// answered. Positions here and there count code points, as Jupyter does; QString does not.
  void complete(quint64 request, const QString& code, int cursorPosition);
  void inspect(quint64 request, const QString& code, int cursorPosition);

  /// The debug connection of this session; one object for the life of the KernelSession, reconnected on
  /// restart.
  inspector::Source* debugSource();

 signals:
  /// `sentence`: what happened, for the user ("The session process was killed (signal 9). …"); may be empty.
  /// Also comes with an unchanged state, where the process stopped answering (and, empty, when it answers
  /// again).
  void stateChanged(tapedeck::app::KernelState state, const QString& sentence);
  /// kernel_info_reply's content; also `language_info` for the notebook's metadata.
  void ready(const nlohmann::json& info);
  void executionStarted(const QString& cellId, int executionCount);
  /// An nbformat output (output_type stream, display_data, execute_result, error), multi-line text as one
  /// string. One that can be updated has `transient.display_id`, which is no part of nbformat.
  void outputReceived(const QString& cellId, const nlohmann::json& output);
  void outputCleared(const QString& cellId, bool wait);
  void displayUpdated(const QString& displayId, const nlohmann::json& data, const nlohmann::json& metadata);
  /// `status`: "ok", "error", "aborted" (an earlier cell failed, or the process ended).
  void executionFinished(const QString& cellId, const QString& status, int executionCount);
  void inputRequested(const QString& cellId, const QString& prompt, bool password);
  void completed(quint64 request, const QStringList& matches, int start, int end);
  /// `text` may hold ANSI colours; empty where nothing is known of the name.
  void inspected(quint64 request, const QString& text);

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::app
