// The debug client on its socket thread: handshake, frames, signatures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "app/kernel/socket_thread.h"
#include "engine/protocol/codec.h"

namespace tapedeck::app {

/// Speaks the debug protocol with one server at a time. All functions are called on the socket thread.
class DebugWorker : public SocketDriver {
 public:
  struct Connected {
    bool connected = false;
  };
  struct Refusal {
    std::string sentence;
  };
  using Event = std::variant<Connected, Refusal, protocol::IncomingReply>;
  /// Reported to the UI thread, with the number that open() got.
  using Deliver = std::function<void(std::uint64_t connection, Event)>;
  explicit DebugWorker(Deliver deliver) : deliver_(std::move(deliver)) {}

  /// Connects, and reconnects whenever the server disappears and returns, until close() or a refusal.
  void open(std::string endpoint, std::string key, std::uint64_t number);
  /// How long a server may stay silent before it counts as gone.
  void setSilenceLimit(Clock::duration limit) { silenceLimit_ = limit; }
  void close();
  /// Dropped where there is no connection: answers to pending requests are void then anyway.
  void send(std::uint64_t request, const protocol::Request& message);

  std::vector<zmq::socket_ref> sockets() override;
  void readable(std::size_t index) override;
  Clock::time_point tick(Clock::time_point now) override;
  void broken(const std::string& what) override;
  void stop() override { close(); }

 private:
  Clock::duration askInterval() const;
  void transmit(std::uint64_t request, const protocol::Request& message);
  void readMonitor();
  void connectAgain();
  void readMessage();
  void handle(protocol::IncomingReply incoming);
  void setConnected(bool connected);
  void refuse(const std::string& sentence);
  std::string sign(const std::string& bytes) const;

  Deliver deliver_;
  std::uint64_t number_ = 0;
  std::string endpoint_, key_;
  std::unique_ptr<zmq::context_t> context_;
  std::optional<zmq::socket_t> socket_, monitor_;
  bool linked_ = false;                     ///< the socket has a peer
  std::optional<Clock::time_point> again_;  ///< when to reconnect after the connection ended
  bool connected_ = false;                  ///< the peer said Welcome
  bool idle_ = false;                       ///< as the newest status says: nothing runs there
  Clock::time_point asked_{}, heard_{};     ///< last Hello or GetStatus sent; last message received
  /// A machine under load may take a while.
  Clock::duration silenceLimit_ = std::chrono::seconds(20);
  int warnings_ = 0;
};

/// Ids of the worker's own requests (Hello, the heartbeat) have this bit; those of views never.
constexpr std::uint64_t ownRequest = std::uint64_t{1} << 63;

}  // namespace tapedeck::app
