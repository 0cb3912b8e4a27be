#include "engine/debug/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <tuple>
#include <zmq.hpp>

#include "engine/debug/answers.h"
#include "engine/debug/signature.h"
#include "engine/protocol/codec.h"
#include "engine/protocol/limits.h"
#include "engine/record/background_thread.h"

namespace tapedeck::debug {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto status_interval = milliseconds(34);  // at most 30 a second
/// So many looks in a row at a status that stays the same, the last one after news were awaited, and the
/// thread sleeps until something happens.
constexpr int calm_looks = 6;
constexpr int looks_before_awaiting = calm_looks - 2;
constexpr auto probe_interval = milliseconds(100);
constexpr auto probe_time = milliseconds(1500);
constexpr int messages_at_once = 64;
// Messages for a client that does not read; what comes after them is lost to it.
constexpr int most_waiting = 100000;
// Some may wait for the one that recomputes, or for Python; they cost nothing.
constexpr int worker_count = 10;
// What may pass by itself (no memory, no descriptor) is tried again, about two seconds in all.
constexpr int most_failures = 24;
constexpr auto longest_pause = milliseconds(100);

/// Wakes the server's thread from any other one. Shared with the gate, whose last call may come late.
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
  void wait(milliseconds time) const {
    pollfd item{descriptor_, POLLIN, 0};
    ::poll(&item, 1, static_cast<int>(time.count()));
  }

 private:
  int descriptor_;
};

std::span<const std::uint8_t> bytes_of(const zmq::message_t& frame) {
  return {static_cast<const std::uint8_t*>(frame.data()), frame.size()};
}

bool may_pass(int error) {
  constexpr int passing[] = {EINTR, EAGAIN, ENOMEM, ENOBUFS, EMFILE, ENFILE};
  return std::ranges::find(passing, error) != std::end(passing);
}

std::vector<std::string> device_names() {
  std::vector<std::string> names{to_string(Device{})};
  for (int i = 0; i < gpu_count(); ++i)
    names.push_back(to_string(Device{DeviceKind::gpu, static_cast<std::uint8_t>(i)}));
  return names;
}

}  // namespace

class DebugServer::Private {
 public:
  Private(Recorder& recorder, const std::string& endpoint, std::string key, const ReplayLimits& limits,
          HostInspector* host, Recording recording)
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
  struct Told {
    bool anything = false;   ///< to anybody
    bool unsettled = false;  ///< it will change by itself
  };
  Told tell_status(bool to_all);
  bool sleeps() const { return clients_.empty() || looks_ >= calm_looks; }
  void send_news();
  void forget(const std::string& client);
  void attend(bool attended);

  Recorder& recorder_;
  const Recording when_;
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
  bool kept_ = false;  ///< recorded also while nobody is there; guarded by the mutex
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

void DebugServer::Private::bind(const std::string& endpoint) {
  path_ = checked_socket_path(endpoint);
  router_.set(zmq::sockopt::linger, 0);
  router_.set(zmq::sockopt::sndhwm, most_waiting);
  router_.set(zmq::sockopt::maxmsgsize, protocol::max_message_bytes);
  router_.set(zmq::sockopt::router_mandatory, true);  // says which clients are gone
  monitor_.set(zmq::sockopt::linger, 0);
  constexpr auto address = "inproc://clients-that-go";
  try {
    if (zmq_socket_monitor(router_.handle(), address, ZMQ_EVENT_DISCONNECTED) != 0) throw zmq::error_t();
    monitor_.connect(address);
    router_.bind(endpoint);
  } catch (const zmq::error_t& error) {
    throw ServerError("debug server at " + endpoint + ": " + error.what());
  }
  close_to_others(path_);
}

// The thread's sockets belong to it alone from here on.
void DebugServer::Private::run() {
  try {
    serve();
  } catch (const std::exception& error) {
    std::fprintf(
        stderr,
        "Tapedeck: the debug server has ended: %s. The program runs on and stops at no op; restart the "
        "session to look into it again.\n",
        error.what());
  }
  leave();
}

void DebugServer::Private::serve() {
  for (int failures = 0; !stopping_;) {
    try {
      turn();
      failures = 0;
      continue;
    } catch (const zmq::error_t& error) {
      if (error.num() == EINTR) continue;
      if (!may_pass(error.num()) || ++failures > most_failures) throw;
    } catch (const std::bad_alloc&) {
      if (++failures > most_failures) throw;
    }
    wake_->wait(std::min(longest_pause, milliseconds(1 << std::min(failures, 10))));
    wake_->clear();  // what it told is looked at in every turn
    looks_ = 0;      // and no turn may sleep over it
  }
}

void DebugServer::Private::turn() {
  zmq::pollitem_t items[] = {{router_.handle(), 0, ZMQ_POLLIN, 0},
                             {monitor_.handle(), 0, ZMQ_POLLIN, 0},
                             {nullptr, wake_->descriptor(), ZMQ_POLLIN, 0}};
  zmq::poll(items, std::size(items), patience());
  ++turns_;
  if (std::ranges::any_of(items, [](const zmq::pollitem_t& item) { return item.revents != 0; }))
    looks_ = std::min(looks_, looks_before_awaiting);
  if (items[2].revents != 0) wake_->clear();
  if (items[1].revents != 0) receive_monitor();
  if (items[0].revents != 0) receive();
  send_answers();
  send_news();
  send_status();
}

// Nobody can let a stopped op go from here on; and the clients see that the connection has ended.
void DebugServer::Private::leave() noexcept {
  for (const auto& [id, client] : clients_) jobs_->forget(id);
  clients_.clear();
  client_count_ = 0;
  attend(false);
  router_.close();
}

// Breakpoints are a client's: what stays of them would stop a program that somebody else attaches to.
void DebugServer::Private::attend(bool attended) {
  recorder_.gate().set_attended(attended);
  if (when_ != Recording::while_attended || (attended && clients_.size() > 1)) return;
  const std::lock_guard lock(recording_mutex_);
  recorder_.set_recording(attended || kept_);
  if (attended) return;
  recorder_.breakpoints().set({});
  if (!kept_) recorder_.let_values_go();
}

milliseconds DebugServer::Private::patience() const {
  if (sleeps()) return milliseconds(-1);
  const auto left = std::chrono::ceil<milliseconds>(next_status_ - Clock::now());
  return std::clamp(left, milliseconds(0), milliseconds(status_interval));
}

void DebugServer::Private::receive_monitor() {
  zmq::message_t frame;
  while (monitor_.recv(frame, zmq::recv_flags::dontwait)) {
  }
  probe_until_ = Clock::now() + probe_time;
}

void DebugServer::Private::receive() {
  for (int i = 0; i < messages_at_once; ++i) {
    std::vector<zmq::message_t> frames;
    do {
      zmq::message_t frame;
      if (!router_.recv(frame, zmq::recv_flags::dontwait)) return;
      frames.push_back(std::move(frame));
    } while (frames.back().more());
    // The client's id, the signature, the message. What is not signed right gets no answer at all.
    if (frames.size() != 3 || !verify(key_, bytes_of(frames[2]), bytes_of(frames[1]))) continue;
    handle(frames[0].to_string(), bytes_of(frames[2]));
  }
}

void DebugServer::Private::handle(const std::string& client, std::span<const std::uint8_t> bytes) {
  protocol::IncomingRequest incoming;
  try {
    incoming = protocol::decode_request(bytes);
  } catch (const protocol::DecodeError& error) {
    return reply(client, 0, protocol::Failure{error.what(), "bad_request"});
  }
  const std::uint64_t request = incoming.request;
  if (const auto* hello = protocol::get_if<protocol::Hello>(&incoming.message))
    return greet(client, request, *hello);
  if (!clients_.contains(client))
    return reply(client, request,
                 protocol::Failure{protocol::type_name(incoming.message) +
                                       " came before hello: the conversation begins with hello.",
                                   "bad_request"});
  if (const auto* cancel = protocol::get_if<protocol::Cancel>(&incoming.message))
    return jobs_->cancel(client, cancel->request);
  Answers::Answer answer;
  try {
    answer = answers_.reply_or_work(incoming.message);
    if (const auto* now = std::get_if<protocol::Reply>(&answer)) return reply(client, request, *now);
  } catch (const std::exception& error) {
    return reply(client, request, protocol::Failure{error.what(), "bad_request"});
  }
  jobs_->submit(client, request, std::move(std::get<Jobs::Work>(answer)));
}

void DebugServer::Private::greet(const std::string& client, std::uint64_t request,
                                 const protocol::Hello& hello) {
  if (hello.protocol_version != protocol::version) {
    forget(client);
    return reply(client, request,
                 protocol::Refused{protocol::version,
                                   "The session speaks version " + std::to_string(protocol::version) +
                                       " of the debug protocol, " +
                                       (hello.program.empty() ? "the program" : hello.program) + " version " +
                                       std::to_string(hello.protocol_version) +
                                       ". Restart the session with the same version of Tapedeck."});
  }
  protocol::Welcome welcome;
  welcome.engine_version = TAPEDECK_VERSION;
  welcome.pid = static_cast<std::uint64_t>(::getpid());
  welcome.devices = device_names();
  welcome.started_unix_ms = recorder_.started_unix_ms();
  if (!clients_.contains(client)) {
    tell_status(true);  // who is gone shows by it: nothing that they stopped waits for this one
    clients_.try_emplace(client);
    client_count_ = clients_.size();
    had_clients_ = true;
    attend(true);
  }
  reply(client, request, welcome);
}

bool DebugServer::Private::send(const std::string& client, const protocol::Bytes& bytes) {
  const protocol::Bytes signature = sign(key_, bytes);
  try {
    if (!router_.send(zmq::buffer(client), zmq::send_flags::sndmore | zmq::send_flags::dontwait)) return true;
    router_.send(zmq::buffer(signature), zmq::send_flags::sndmore);
    router_.send(zmq::buffer(bytes), zmq::send_flags::none);
    return true;
  } catch (const zmq::error_t& error) {
    if (error.num() != EHOSTUNREACH) throw;
    return false;
  }
}

void DebugServer::Private::reply(const std::string& client, std::uint64_t request,
                                 const protocol::Reply& message) {
  protocol::Bytes bytes = protocol::encode(request, message);
  if (static_cast<std::int64_t>(bytes.size()) > protocol::max_message_bytes)
    bytes = protocol::encode(
        request, protocol::Reply(protocol::Failure{
                     "The answer (" + protocol::type_name(message) + ") has " + std::to_string(bytes.size()) +
                         " bytes; messages have at most " + std::to_string(protocol::max_message_bytes) + ".",
                     "too_large"}));
  if (!send(client, bytes)) forget(client);
}

void DebugServer::Private::forget(const std::string& client) {
  jobs_->forget(client);
  const bool was_there = clients_.erase(client) > 0;
  client_count_ = clients_.size();
  if (was_there && clients_.empty()) attend(false);
}

// What could not be sent for a moment is sent in the next turn.
void DebugServer::Private::send_answers() {
  std::ranges::move(jobs_->take_answers(), std::back_inserter(answers_to_send_));
  for (; !answers_to_send_.empty(); answers_to_send_.pop_front()) {
    const Outgoing& answer = answers_to_send_.front();
    reply(answer.client, answer.request, answer.reply);
  }
}

void DebugServer::Private::send_news() {
  std::vector<std::string> news;
  {
    const std::lock_guard lock(news_mutex_);
    news.swap(news_);
  }
  for (const std::string& sentence : news) {
    std::vector<std::string> to;
    for (const auto& [id, client] : clients_) to.push_back(id);
    for (const std::string& client : to) reply(client, 0, protocol::Failure{sentence, "told"});
  }
}

// Somebody waits for what the gate does: that is told at once. What neither an op nor a message brings about,
// such as memory that Python's collector frees, the clients ask for by themselves now and then.
void DebugServer::Private::send_status() {
  const auto now = Clock::now();
  const GateStatus gate = recorder_.gate().status();
  const auto stop = std::tuple(gate.state, gate.stop, gate.stopped_after);
  if (sleeps() || (now < next_status_ && stop == last_stop_)) return;
  last_stop_ = stop;
  next_status_ = now + status_interval;
  const bool probe = now < probe_until_ && now >= next_probe_;
  if (probe) next_probe_ = now + probe_interval;
  // Asked for before the look: what happens after it is heard of, or seen by the next look, which is the
  // last.
  if (looks_ == looks_before_awaiting) recorder_.await_news();
  const Told told = tell_status(probe);
  looks_ = told.anything || told.unsettled || now < probe_until_ ? 0 : looks_ + 1;
}

// To those that have not got it yet; or also to the others, which shows who is gone.
DebugServer::Private::Told DebugServer::Private::tell_status(bool to_all) {
  protocol::Status now = describe_status(recorder_);
  Told told;
  told.unsettled = now.device_times_pending > 0;
  const protocol::Bytes status = protocol::encode(0, protocol::Reply(std::move(now)));
  std::vector<std::string> gone;
  for (auto& [id, client] : clients_) {
    if (!to_all && client.last_status == status) continue;
    if (!send(id, status)) gone.push_back(id);
    client.last_status = status;
    told.anything = true;
  }
  for (const std::string& id : gone) forget(id);
  return told;
}

DebugServer::DebugServer(Recorder& recorder, const std::string& endpoint, std::string key,
                         const ReplayLimits& limits, HostInspector* host, Recording recording)
    : d_(std::make_unique<Private>(recorder, endpoint, std::move(key), limits, host, recording)) {}

void DebugServer::keep_recording() {
  d_->keep_recording();
}

void DebugServer::tell(const std::string& sentence) {
  d_->tell(sentence);
}

DebugServer::~DebugServer() = default;

std::size_t DebugServer::clients() const {
  return d_->clients();
}

bool DebugServer::had_clients() const {
  return d_->had_clients();
}

std::uint64_t DebugServer::turns() const {
  return d_->turns();
}

}  // namespace tapedeck::debug
