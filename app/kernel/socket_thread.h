// A thread that owns ZeroMQ sockets, so that no other thread ever waits for one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>
#include <zmq.hpp>

namespace tapedeck::app {

using Clock = std::chrono::steady_clock;

/// A SocketDriver reads at most this many messages from one socket before it serves the other sockets and
/// whatever is due.
constexpr int messagesAtOnce = 64;
/// How long to wait before reconnecting: ZeroMQ's thread may deliver the last messages of a connection only
/// after its end.
constexpr auto connectAgainAfter = std::chrono::milliseconds(150);

/// What runs on a SocketThread. All functions are called on that thread; it may throw zmq::error_t from any.
class SocketDriver {
 public:
  virtual ~SocketDriver() = default;
  /// The sockets to wait for now.
  virtual std::vector<zmq::socket_ref> sockets() = 0;
  /// A message can be received from sockets()[index]. Reads some of what is there, not necessarily all.
  virtual void readable(std::size_t index) = 0;
  /// Does what is due; returns when it wants to be called again, at the latest. Called after every wait.
  virtual Clock::time_point tick(Clock::time_point now) = 0;
  /// A function threw. `what` describes the error to the user, as the end of a sentence.
  virtual void broken(const std::string& what) = 0;
  /// The last call: closes all sockets, waiting for nothing.
  virtual void stop() = 0;
};

class SocketThread {
 public:
  explicit SocketThread(std::shared_ptr<SocketDriver> driver);
  ~SocketThread();  ///< stops the driver, joins: waits until its current work is done
  SocketThread(const SocketThread&) = delete;

  /// Runs `work` on the thread, in the order of the calls. From any thread; does not wait.
  void post(std::function<void()> work);
  /// Stops the driver after what was posted; the thread calls `stopped` last.
  void stop(std::function<void()> stopped);

 private:
  void run();
  void runPosted();
  void waitAndServe(Clock::time_point until);
  void guarded(const std::function<void()>& work);

  std::shared_ptr<SocketDriver> driver_;
  int wake_ = -1;  ///< an eventfd, which ZeroMQ's poll takes beside its sockets
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  bool stopping_ = false;  ///< of the thread alone, as stopped_
  std::function<void()> stopped_;
  std::thread thread_;
};

/// All frames of one message, if one is there now.
std::optional<std::vector<std::string>> receiveFrames(zmq::socket_ref socket);
/// False where it could not be sent at once.
bool sendFrames(zmq::socket_ref socket, const std::vector<std::string>& frames);

}  // namespace tapedeck::app
