#include "app/kernel/debug/debug_worker.h"

#include <QMessageAuthenticationCode>
#include <QtGlobal>
#include <algorithm>
#include <cstring>

#include "app/kernel/signature.h"
#include "engine/protocol/limits.h"

namespace tapedeck::app {
namespace {

using std::chrono::milliseconds;

constexpr auto askEvery = milliseconds(1000);
constexpr auto askWhenIdleEvery = milliseconds(5000);

}  // namespace

void DebugWorker::open(std::string endpoint, std::string key, std::uint64_t number) {
  close();
  endpoint_ = std::move(endpoint);
  key_ = std::move(key);
  number_ = number;
  warnings_ = 0;
  context_ = std::make_unique<zmq::context_t>(1);
  socket_.emplace(*context_, zmq::socket_type::dealer);
  socket_->set(zmq::sockopt::linger, 0);
  socket_->set(zmq::sockopt::immediate, true);  // a request must not wait for the next server
  socket_->set(zmq::sockopt::rcvhwm, 0);
  socket_->set(zmq::sockopt::maxmsgsize, protocol::max_message_bytes);
  socket_->set(zmq::sockopt::reconnect_ivl, 50);
  socket_->set(zmq::sockopt::reconnect_ivl_max, 1000);
  constexpr auto address = "inproc://debug-monitor";
  if (zmq_socket_monitor(socket_->handle(), address,
                         ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0)
    throw zmq::error_t();
  monitor_.emplace(*context_, zmq::socket_type::pair);
  monitor_->set(zmq::sockopt::linger, 0);
  monitor_->connect(address);
  socket_->connect(endpoint_);
}

// ZeroMQ connects again by itself where the server has gone, but never where it refused what came.
void DebugWorker::connectAgain() {
  again_.reset();
  readMessage();  // what is there would be lost
  if (!socket_) return;
  try {
    socket_->disconnect(endpoint_);
  } catch (const zmq::error_t&) {  // ZeroMQ has forgotten it already
  }
  socket_->connect(endpoint_);
}

void DebugWorker::close() {
  again_.reset();
  if (socket_) zmq_socket_monitor(socket_->handle(), nullptr, 0);
  monitor_.reset();
  socket_.reset();
  context_.reset();
  linked_ = false;
  setConnected(false);
}

std::string DebugWorker::sign(const std::string& bytes) const {
  if (key_.empty()) return {};
  return QMessageAuthenticationCode::hash(QByteArray::fromRawData(bytes.data(), qsizetype(bytes.size())),
                                          QByteArray::fromStdString(key_), QCryptographicHash::Sha256)
      .toStdString();
}

void DebugWorker::transmit(std::uint64_t request, const protocol::Request& message) {
  const protocol::Bytes bytes = protocol::encode(request, message);
  if (static_cast<std::int64_t>(bytes.size()) > protocol::max_message_bytes)
    return deliver_(
        number_,
        protocol::IncomingReply{
            request, protocol::Failure{"The request (" + protocol::type_name(message) + ") has " +
                                           std::to_string(bytes.size()) + " bytes; messages have at most " +
                                           std::to_string(protocol::max_message_bytes) + ".",
                                       "too_large"}});
  const std::string body(bytes.begin(), bytes.end());
  sendFrames(*socket_, {sign(body), body});
}

void DebugWorker::send(std::uint64_t request, const protocol::Request& message) {
  if (connected_) transmit(request, message);
}

void DebugWorker::setConnected(bool connected) {
  if (connected_ == connected) return;
  connected_ = connected;
  deliver_(number_, Connected{connected});
}

void DebugWorker::refuse(const std::string& sentence) {
  close();
  deliver_(number_, Refusal{sentence});
}

void DebugWorker::broken(const std::string& what) {
  refuse("The connection to the session's debug server at " + endpoint_ + " can't be used: " + what);
}

// ---- time ----------------------------------------------------------------------------------------

// Where nothing runs, all that may have changed is memory that the program freed: the server reports the
// rest.
Clock::duration DebugWorker::askInterval() const {
  if (!connected_ || !idle_) return askEvery;
  return std::clamp<Clock::duration>(silenceLimit_ / 4, askEvery, askWhenIdleEvery);
}

Clock::time_point DebugWorker::tick(Clock::time_point now) {
  if (socket_ && again_ && now >= *again_) connectAgain();
  if (!socket_ || !linked_) return again_.value_or(now + std::chrono::hours(1));
  if (connected_ && now - heard_ > silenceLimit_) setConnected(false);
  if (now - asked_ >= askInterval()) {
    asked_ = now;
    if (connected_)
      transmit(ownRequest + 1, protocol::GetStatus{});
    else
      transmit(ownRequest, protocol::Hello{protocol::version, "Tapedeck"});
  }
  return asked_ + askInterval();
}

// ---- what comes in -------------------------------------------------------------------------------

std::vector<zmq::socket_ref> DebugWorker::sockets() {
  if (!socket_) return {};
  return {*socket_, *monitor_};
}

void DebugWorker::readable(std::size_t index) {
  if (index == 0)
    readMessage();
  else
    readMonitor();
}

void DebugWorker::readMonitor() {
  while (monitor_) {
    const auto frames = receiveFrames(*monitor_);
    if (!frames) return;
    std::uint16_t event = 0;
    if ((*frames)[0].size() >= sizeof(event)) std::memcpy(&event, (*frames)[0].data(), sizeof(event));
    linked_ = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
    again_.reset();
    if (!linked_) again_ = Clock::now() + connectAgainAfter;
    asked_ = {};  // Hello at once
    if (!linked_) setConnected(false);
  }
}

void DebugWorker::readMessage() {
  for (int i = 0; i < messagesAtOnce && socket_; ++i) {
    const auto frames = receiveFrames(*socket_);
    if (!frames) return;
    if (frames->size() != 2 || !sameSignature((*frames)[0], sign((*frames)[1]))) {
      if (warnings_++ < 20)
        qWarning("Debug client: a message of %zu frames was ignored: %s", frames->size(),
                 frames->size() == 2 ? "the signature is wrong" : "2 frames are needed");
      continue;
    }
    const std::string& body = (*frames)[1];
    try {
      handle(protocol::decode_reply({reinterpret_cast<const std::uint8_t*>(body.data()), body.size()}));
    } catch (const protocol::DecodeError& error) {
      return refuse(
          std::string("The session's debug server sent a message that this program does not know: ") +
          error.what() + ". Restart the session with this version of Tapedeck.");
    }
  }
}

void DebugWorker::handle(protocol::IncomingReply incoming) {
  heard_ = Clock::now();
  if (const auto* refused = protocol::get_if<protocol::Refused>(&incoming.message))
    return refuse(refused->reason);
  if (const auto* welcome = protocol::get_if<protocol::Welcome>(&incoming.message)) {
    if (welcome->protocol_version != protocol::version)
      return refuse("The session speaks version " + std::to_string(welcome->protocol_version) +
                    " of the debug protocol, this program version " + std::to_string(protocol::version) +
                    ". Restart the session with this version of Tapedeck.");
    const bool again = connected_;
    setConnected(true);
    asked_ = {};
    idle_ = false;
    if (again) return;
  } else if (!connected_) {
    return;  // of a conversation before this one
  }
  if (const auto* status = protocol::get_if<protocol::Status>(&incoming.message))
    idle_ = status->gate == protocol::GateState::open && !status->running_cell;
  if (incoming.request & ownRequest)
    incoming.request = 0;  // the heartbeat's Status is as good as one sent unasked
  deliver_(number_, std::move(incoming));
}

}  // namespace tapedeck::app
