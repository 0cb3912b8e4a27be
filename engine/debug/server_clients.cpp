// DebugServer: what its clients ask, and what they are sent.
#include <algorithm>

#include "engine/debug/server_private.h"
#include "engine/debug/signature.h"
#include "engine/protocol/limits.h"

namespace tapedeck::debug {
namespace {

constexpr auto probe_interval = std::chrono::milliseconds(100);
constexpr int messages_at_once = 64;

std::span<const std::uint8_t> bytes_of(const zmq::message_t& frame) {
  return {static_cast<const std::uint8_t*>(frame.data()), frame.size()};
}

std::vector<std::string> device_names() {
  std::vector<std::string> names{to_string(Device{})};
  for (int i = 0; i < gpu_count(); ++i)
    names.push_back(to_string(Device{DeviceKind::gpu, static_cast<std::uint8_t>(i)}));
  return names;
}

}  // namespace

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
    publish_status(true);  // who is gone shows by it: nothing that they stopped waits for this one
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

// A user waits for what the gate does: that is sent at once. What neither an op nor a message brings about,
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
  const StatusNews news = publish_status(probe);
  looks_ = news.any_sent || news.unsettled || now < probe_until_ ? 0 : looks_ + 1;
}

// To those that have not got it yet; or also to the others, which shows who is gone.
DebugServer::Private::StatusNews DebugServer::Private::publish_status(bool to_all) {
  protocol::Status now = describe_status(recorder_);
  StatusNews news;
  news.unsettled = now.device_times_pending > 0;
  const protocol::Bytes status = protocol::encode(0, protocol::Reply(std::move(now)));
  std::vector<std::string> gone;
  for (auto& [id, client] : clients_) {
    if (!to_all && client.last_status == status) continue;
    if (!send(id, status)) gone.push_back(id);
    client.last_status = status;
    news.any_sent = true;
  }
  for (const std::string& id : gone) forget(id);
  return news;
}

}  // namespace tapedeck::debug
