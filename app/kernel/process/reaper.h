// Ends what closed sessions leave behind, so that no other thread waits for it.
#pragma once

#include <QObject>
#include <memory>
#include <unordered_map>
#include <vector>

#include "app/kernel/process/runtime_folder.h"
#include "app/kernel/process/session_process.h"
#include "app/kernel/socket_thread.h"

namespace tapedeck::app {

/// Lives on the UI thread and works by its event loop; at the program's end, where there is none any more, it
/// kills and joins what is left.
class Reaper : public QObject {
  Q_OBJECT
 public:
  static Reaper& instance();
  ~Reaper() override;

  /// The process was asked to end over `thread`'s sockets. Gives it `graceMs`, then terminates it, then kills
  /// it; after its end, destroys the threads and the folder. `debug`: while this connection lasts, a program
  /// that is stopped at the gate stays there.
  void reap(std::unique_ptr<SessionProcess> process, std::unique_ptr<SocketThread> thread,
            std::unique_ptr<RuntimeFolder> folder, std::unique_ptr<SocketThread> debug, int graceMs);
  /// Stops a thread, and joins it when it has stopped.
  void reap(std::unique_ptr<SocketThread> thread);

  int left() const { return static_cast<int>(remains_.size()); }  ///< what has not ended yet

 private:
  Reaper() = default;
  struct Remains {
    std::unique_ptr<SessionProcess> process;
    std::unique_ptr<RuntimeFolder> folder;
    std::unique_ptr<SocketThread> thread, debug;
  };
  std::unordered_map<quint64, std::unique_ptr<Remains>> remains_;
  quint64 last_ = 0;

  void processEnded(quint64 key);
  void stopThread(quint64 key);
};

}  // namespace tapedeck::app
