// DebugServer: its thread, which sleeps until something happens, and its sockets.
#include <algorithm>
#include <cstdio>
#include <new>

#include "engine/debug/server_private.h"
#include "engine/debug/signature.h"
#include "engine/protocol/limits.h"

namespace tapedeck::debug {
namespace {

using std::chrono::milliseconds;

constexpr auto probe_time = milliseconds(1500);
// Messages for a client that does not read; what comes after them is lost to it.
constexpr int most_waiting = 100000;
// What may pass by itself (no memory, no descriptor) is tried again, about two seconds in all.
constexpr int most_failures = 24;
constexpr auto longest_pause = milliseconds(100);

bool may_pass(int error) {
  constexpr int passing[] = {EINTR, EAGAIN, ENOMEM, ENOBUFS, EMFILE, ENFILE};
  return std::ranges::find(passing, error) != std::end(passing);
}

}  // namespace

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
    wake_->clear();  // every turn checks what it signals
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

// From here on no client can let a stopped op go on; and the clients see that the connection has ended.
void DebugServer::Private::leave() noexcept {
  for (const auto& [id, client] : clients_) jobs_->forget(id);
  clients_.clear();
  client_count_ = 0;
  attend(false);
  router_.close();
}

// Breakpoints are a client's: those that stayed would stop the program for the next client.
void DebugServer::Private::attend(bool attended) {
  recorder_.gate().set_attended(attended);
  if (when_ != WhenToRecord::while_attended || (attended && clients_.size() > 1)) return;
  const std::lock_guard lock(recording_mutex_);
  recorder_.set_recording(attended || kept_);
  if (attended) return;
  recorder_.breakpoints().set({});
  if (!kept_) recorder_.release_values();
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

DebugServer::DebugServer(Recorder& recorder, const std::string& endpoint, std::string key,
                         const ReplayLimits& limits, HostInspector* host, WhenToRecord recording)
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
