// One notebook's session process, as the window sees it: start, run code, interrupt, restart, notice its end.
#pragma once

#include <memory>

#include "app/kernel/kernel.h"
#include "app/kernel/process/kernel_launch.h"
#include "app/kernel/process/python_environment.h"
#include "inspector/model/session/source.h"

namespace tapedeck::app {

/// Sockets live on a worker thread.
class KernelSession : public Kernel {
  Q_OBJECT
 public:
  explicit KernelSession(QObject* parent = nullptr);
  /// Asks the process to end, and leaves it to the Reaper.
  ~KernelSession() override;

  /// How the next start() starts its process; without it the app's own session process.
  void setLaunch(const KernelLaunch& launch);
  /// The cells are those of the Python program in this file: from the next start on the session has its
  /// sys.argv and
  /// __file__, and `import tensorflow` gives Tapedeck even where TensorFlow is installed. Empty: a
  /// notebook's.
  void setProgram(const QString& path);
  /// From the next start on, cells run in this environment: a folder, or an interpreter. Empty: the app's
  /// own.
  void setPythonEnvironment(const QString& given);
  QString pythonEnvironment() const;
  /// What it said when the newest session was to start in it; nullptr: none did.
  const EnvironmentFacts* environmentFacts() const;
  QString title() const override;
  void start(const QString& folder) override;
  void interrupt() override;
  void restart() override;
  void shutdown() override;
  KernelState state() const override;
  Engine engine() const override;
  qint64 processId() const;  ///< 0: none

  void execute(const QString& cellId, const QString& code) override;
  void sendInput(const QString& text) override;
  void complete(quint64 request, const QString& code, int cursorPosition) override;
  void inspect(quint64 request, const QString& code, int cursorPosition) override;

  /// The debug connection of this session; one object for the life of the KernelSession, reconnected on
  /// restart.
  inspector::Source* debugSource() override;

 signals:
  /// Another environment was chosen, or the chosen one has answered.
  void environmentChanged();

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

}  // namespace tapedeck::app
