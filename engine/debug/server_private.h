// Shared by the server's files: its thread, its sockets and its clients.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <zmq.hpp>

#include "engine/debug/answers.h"
#include "engine/debug/server.h"
#include "engine/protocol/codec.h"
#include "engine/record/background_thread.h"

namespace tapedeck::debug {

/// Wakes the server's thread from another one. Ownership is shared with the gate, whose last call may come
/// late.
class Wake {
 public:
  Wake() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (descriptor_ < 0) throw ServerError("debug server: no event descriptor could be made");
  }
  ~Wake() { ::close(descriptor_); }
  Wake(const Wake&) = delete;
  int descriptor() const { return descriptor_; }
  void set() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(descriptor_, &one, sizeof(one));
  }
  void clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = ::read(descriptor_, &count, sizeof(count));
  }
  /// Until it is set, or the time is over.
  void wait(std::chrono::milliseconds time) const {
    pollfd item{descriptor_, POLLIN, 0};
    ::poll(&item, 1, static_cast<int>(time.count()));
  }

 private:
  int descriptor_;
};

class DebugServer::Private {
 public:
  Private(Recorder& recorder, const std::string& endpoint, std::string key, const ReplayLimits& limits,
          HostInspector* host, WhenToRecord recording)
      : recorder_(recorder),
        when_(recording),
        key_(std::move(key)),
        answers_(recorder, limits, host),
        router_(context_, zmq::socket_type::router),
        monitor_(context_, zmq::socket_type::pair) {
    bind(endpoint);
    const SignalsBlocked blocked;
    jobs_ = std::make_unique<Jobs>(worker_count, [wake = wake_] { wake->set(); });
    recorder_.gate().set_attended(false);
    recorder_.gate().set_listener([wake = wake_] { wake->set(); });
    recorder_.set_news_listener([wake = wake_] { wake->set(); });
    thread_ = std::thread([this] { run(); });
  }

  ~Private() {
    stopping_ = true;
    wake_->set();
    thread_.join();
    recorder_.gate().set_listener({});
    recorder_.set_news_listener({});
    recorder_.gate().set_attended(false);
    jobs_.reset();
    router_.close();
    ::unlink(path_.c_str());
  }

  void keep_recording() {
    const std::lock_guard lock(recording_mutex_);
    kept_ = true;
    recorder_.set_recording(true);
  }

  void tell(const std::string& sentence) {
    {
      const std::lock_guard lock(news_mutex_);
      news_.push_back(sentence);
    }
    wake_->set();
  }

  std::size_t clients() const { return client_count_; }
  bool had_clients() const { return had_clients_; }
  std::uint64_t turns() const { return turns_; }

 private:
  using Clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;

  static constexpr auto status_interval = milliseconds(34);  // at most 30 a second
  /// So many looks in a row at a status that stays the same, the last one after news were awaited, and the
  /// thread sleeps until something happens.
  static constexpr int calm_looks = 6;
  static constexpr int looks_before_awaiting = calm_looks - 2;
  // Some may wait for the one that recomputes, or for Python; they cost nothing.
  static constexpr int worker_count = 10;

  struct Client {
    protocol::Bytes last_status;
  };

  void bind(const std::string& endpoint);
  void run();
  void serve();
  void turn();
  void leave() noexcept;
  milliseconds patience() const;
  void receive();
  void receive_monitor();
  void handle(const std::string& client, std::span<const std::uint8_t> bytes);
  void greet(const std::string& client, std::uint64_t request, const protocol::Hello& hello);
  bool send(const std::string& client, const protocol::Bytes& bytes);
  void reply(const std::string& client, std::uint64_t request, const protocol::Reply& message);
  void send_answers();
  void send_status();
  struct StatusNews {
    bool any_sent = false;   ///< to some client
    bool unsettled = false;  ///< it will change by itself
  };
  StatusNews publish_status(bool to_all);
  bool sleeps() const { return clients_.empty() || looks_ >= calm_looks; }
  void send_news();
  void forget(const std::string& client);
  void attend(bool attended);

  Recorder& recorder_;
  const WhenToRecord when_;
  const std::string key_;
  std::string path_;  ///< of the socket's file
  const std::shared_ptr<Wake> wake_ = std::make_shared<Wake>();
  Answers answers_;
  zmq::context_t context_{1};
  zmq::socket_t router_, monitor_;
  std::unique_ptr<Jobs> jobs_;
  std::map<std::string, Client> clients_;  ///< those that were welcomed
  std::deque<Outgoing> answers_to_send_;
  std::mutex recording_mutex_;
  bool kept_ = false;  ///< records without a client, too; guarded by the mutex
  std::mutex news_mutex_;
  std::vector<std::string> news_;
  std::tuple<GateState, std::uint64_t, bool> last_stop_{};
  Clock::time_point next_status_{}, next_probe_{}, probe_until_{};
  int looks_ = 0;  ///< in a row, at a status that stayed the same
  std::atomic<std::uint64_t> turns_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> client_count_{0};
  std::atomic<bool> had_clients_{false};
  std::thread thread_;
};

}  // namespace tapedeck::debug
