#include "app/kernel/jupyter/jupyter_worker.h"

#include <QFile>
#include <QLocale>
#include <QUuid>
#include <QtGlobal>
#include <algorithm>
#include <cstring>
#include <utility>

namespace tapedeck::app {
namespace {

using namespace events;
using nlohmann::json;
using std::chrono::milliseconds;

constexpr auto infoAgain = milliseconds(2000);
constexpr auto subscriptionAgain = milliseconds(50);
constexpr auto beatEvery = milliseconds(1000);
constexpr auto idleBeatEvery = milliseconds(5000);  // while no request is pending
constexpr auto nothingToDo = std::chrono::hours(1);
constexpr auto drainQuiet = milliseconds(60);  // after the process's end, without any message
constexpr auto drainLimit = milliseconds(500);

}  // namespace

void JupyterWorker::open(const Connection& connection, std::uint64_t number, const Limits& limits) {
  limits_ = limits;
  if (open_) finishClosing();
  connection_ = connection;
  number_ = number;
  packer_ = JupyterPacker(connection.key);
  open_ = true;
  info_ = nullptr;
  published_ = ready_ = exiting_ = beatUnderway_ = false;
  answering_ = true;
  infoSent_ = beatSent_ = {};
  closing_.reset();
  warnings_ = 0;
  connect();
}

void JupyterWorker::connect() {
  context_ = std::make_unique<zmq::context_t>(1);
  // input() is answered to the identity that sent the execute_request, so shell and stdin share one.
  const std::string identity = QUuid::createUuid().toString(QUuid::WithoutBraces).toStdString();
  for (const auto channel :
       {Channel::shell, Channel::iopub, Channel::control, Channel::standardInput, Channel::heartbeat}) {
    const bool subscriber = channel == Channel::iopub;
    zmq::socket_t socket(*context_, subscriber ? zmq::socket_type::sub : zmq::socket_type::dealer);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::reconnect_ivl, 20);
    socket.set(zmq::sockopt::reconnect_ivl_max, 100);
    socket.set(zmq::sockopt::maxmsgsize, limits_.message);
    if (subscriber) {
      socket.set(zmq::sockopt::rcvhwm, 0);  // a dropped "idle" would hang a cell
      socket.set(zmq::sockopt::subscribe, "");
    } else if (channel == Channel::shell || channel == Channel::standardInput) {
      socket.set(zmq::sockopt::routing_id, identity);
    }
    watch(socket);
    socket.connect(connection_.endpoint(channel).toStdString());
    sockets_.push_back(std::move(socket));
  }
}

void JupyterWorker::watch(zmq::socket_t& socket) {
  const std::string address = "inproc://monitor-" + std::to_string(monitors_.size());
  if (zmq_socket_monitor(socket.handle(), address.c_str(),
                         ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0)
    throw zmq::error_t();
  zmq::socket_t monitor(*context_, zmq::socket_type::pair);
  monitor.set(zmq::sockopt::linger, 0);
  monitor.connect(address);
  monitors_.push_back(std::move(monitor));
}

void JupyterWorker::readMonitor(std::size_t index) {
  while (index < monitors_.size()) {
    const auto frames = receiveFrames(monitors_[index]);
    if (!frames) return;
    std::uint16_t event = 0;
    if (frames->front().size() >= sizeof(event)) std::memcpy(&event, frames->front().data(), sizeof(event));
    if (event == ZMQ_EVENT_DISCONNECTED) {
      again_[index] = now_ + connectAgainAfter;
      continue;
    }
    again_[index].reset();
    if (++connections_[index] > 1 && !closing_) reconnected(static_cast<Channel>(index));
  }
}

// ZeroMQ connects again by itself where the other side has gone, but never where it refused what came.
void JupyterWorker::connectAgain(std::size_t index) {
  again_[index].reset();
  while (index < sockets_.size() && receiveOne(index)) {
  }
  if (index >= sockets_.size()) return;
  const std::string endpoint = connection_.endpoint(static_cast<Channel>(index)).toStdString();
  try {
    sockets_[index].disconnect(endpoint);
  } catch (const zmq::error_t&) {  // ZeroMQ has forgotten it already
  }
  sockets_[index].connect(endpoint);
}

void JupyterWorker::reconnected(Channel channel) {
  if (!running_ || channel == Channel::heartbeat) return;
  const std::string limit = QLocale(QLocale::English).formattedDataSize(limits_.message, 0).toStdString();
  outbox_.pushOutput(running_->cell,
                     {{"output_type", "stream"},
                      {"name", "stderr"},
                      {"text",
                       "\n[… the connection to the session was interrupted, and made again: what it "
                       "sent in between is lost. This happens where a message is larger than " +
                           limit + ". …]\n"}});
  if (channel != Channel::shell) return;
  running_->replyMayBeLost = true;
  running_->giveUp = now_ + replyPatience;
}

void JupyterWorker::close(bool keepQueue) {
  if (!open_ || closing_) return;
  keepQueue_ = keepQueue;
  now_ = Clock::now();
  closing_ = now_ + drainQuiet;
  closingLimit_ = now_ + drainLimit;
}

void JupyterWorker::finishClosing() {
  open_ = ready_ = false;
  closing_.reset();
  closeSockets();
  inputParent_.reset();
  completion_ = inspection_ = {};
  heldCompletion_.reset();
  heldInspection_.reset();
  outbox_.push(Closed{number_});
  if (running_) finish("ended");
  if (!std::exchange(keepQueue_, false)) abortQueue();
}

void JupyterWorker::stop() {
  closeSockets();
}

void JupyterWorker::closeSockets() {
  for (zmq::socket_t& socket : sockets_) zmq_socket_monitor(socket.handle(), nullptr, 0);
  monitors_.clear();
  sockets_.clear();
  context_.reset();
  connections_ = {};
  again_ = {};
}

void JupyterWorker::broken(const std::string& what) {
  if (warnings_++ < 20) qWarning("Jupyter client: %s", what.c_str());
  outbox_.push(Broken{what});
}

bool JupyterWorker::send(Channel channel, const JupyterMessage& message) {
  if (!open_) return true;
  const Frames frames = packer_.pack(message);
  for (const std::string& frame : frames)
    if (static_cast<std::int64_t>(frame.size()) > limits_.message) return false;
  if (!sendFrames(sockets_[static_cast<std::size_t>(channel)], frames))
    qWarning("Jupyter client: a %s could not be sent: too many are waiting already", message.type().c_str());
  return true;
}

// ---- cells ---------------------------------------------------------------------------------------

void JupyterWorker::execute(std::string cell, std::string code) {
  queue_.push_back({std::move(cell), std::move(code)});
  startNext();
}

void JupyterWorker::startNext() {
  if (!ready_ || exiting_ || closing_ || running_ || queue_.empty()) return;
  const Waiting next = std::move(queue_.front());
  queue_.pop_front();
  // One at a time: behind a cell that fails nothing waits in the session. With "stop_on_error" it would drop
  // what comes within a moment of the failure, too.
  const JupyterMessage message = packer_.make("execute_request",
                                              {{"code", next.code},
                                               {"silent", false},
                                               {"store_history", true},
                                               {"user_expressions", json::object()},
                                               {"allow_stdin", true},
                                               {"stop_on_error", false}},
                                              json::object(), {{"cellId", next.cell}});
  running_ = Running{message.id(), next.cell, {}, 0, false, {}, {}, nlohmann::json::object()};
  remember(message.id(), next.cell);
  outbox_.begin(next.cell);
  if (send(Channel::shell, message)) return;
  outbox_.pushOutput(
      next.cell, {{"output_type", "stream"},
                  {"name", "stderr"},
                  {"text", "This cell was not run: its text is longer than the " +
                               QLocale(QLocale::English).formattedDataSize(limits_.message, 0).toStdString() +
                               " of a message.\n"}});
  finish("error");
}

void JupyterWorker::remember(const std::string& message, const std::string& cell) {
  constexpr std::size_t most = 1000;  // threads may print long after their cell is done
  cells_[message] = cell;
  cellOrder_.push_back(message);
  if (cellOrder_.size() > most) {
    cells_.erase(cellOrder_.front());
    cellOrder_.pop_front();
  }
}

const std::string* JupyterWorker::cellOf(const JupyterMessage& message) const {
  const auto found = cells_.find(message.parentId());
  return found == cells_.end() ? nullptr : &found->second;
}

void JupyterWorker::finishIfDone() {
  if (running_ && !running_->status.empty() && running_->idle) finish(running_->status);
}

void JupyterWorker::finish(std::string status) {
  const Running done = std::move(*running_);
  running_.reset();
  inputParent_.reset();
  if (done.times.contains("iopub.execute_input") && done.times.contains("shell.execute_reply"))
    outbox_.push(Timed{done.cell, done.times});
  outbox_.push(Finished{done.cell, status, done.count});
  if (status != "ok" || exiting_) abortQueue();
  askHeld();
  startNext();
}

void JupyterWorker::abortQueue() {
  for (const Waiting& waiting : queue_) outbox_.push(Finished{waiting.cell, "aborted", 0});
  queue_.clear();
}

void JupyterWorker::interruptByMessage() {
  send(Channel::control, packer_.make("interrupt_request", json::object()));
}

void JupyterWorker::requestShutdown(bool restart) {
  send(Channel::control, packer_.make("shutdown_request", {{"restart", restart}}));
}

void JupyterWorker::input(std::string text) {
  if (!inputParent_) return;
  send(Channel::standardInput, packer_.make("input_reply", {{"value", std::move(text)}}, *inputParent_));
  inputParent_.reset();
}

// ---- completion and help -------------------------------------------------------------------------

void JupyterWorker::complete(std::uint64_t request, std::string code, int cursor) {
  heldCompletion_ = Question{request, std::move(code), cursor};
  askHeld();
}

void JupyterWorker::inspect(std::uint64_t request, std::string code, int cursor) {
  heldInspection_ = Question{request, std::move(code), cursor};
  askHeld();
}

void JupyterWorker::askHeld() {
  if (!ready_ || closing_ || running_) return;
  if (heldCompletion_) {
    const auto message = packer_.make(
        "complete_request", {{"code", heldCompletion_->code}, {"cursor_pos", heldCompletion_->cursor}});
    completion_ = {message.id(), heldCompletion_->request};
    heldCompletion_.reset();
    send(Channel::shell, message);
  }
  if (heldInspection_) {
    const auto message = packer_.make(
        "inspect_request",
        {{"code", heldInspection_->code}, {"cursor_pos", heldInspection_->cursor}, {"detail_level", 0}});
    inspection_ = {message.id(), heldInspection_->request};
    heldInspection_.reset();
    send(Channel::shell, message);
  }
}

// ---- time ----------------------------------------------------------------------------------------

void JupyterWorker::sendInfoRequest(Clock::time_point now) {
  infoSent_ = now;
  send(Channel::shell, packer_.make("kernel_info_request", json::object()));
}

void JupyterWorker::becomeReady() {
  if (ready_ || info_.is_null() || !published_) return;
  ready_ = true;
  outbox_.push(Ready{info_});
  askHeld();
  startNext();
}

// An idle session is silent no longer unnoticed than its limit allows for.
Clock::duration JupyterWorker::beatInterval() const {
  if (running_ || !queue_.empty() || !answering_) return beatEvery;
  return std::clamp<Clock::duration>(limits_.silence / 2, beatEvery, idleBeatEvery);
}

Clock::time_point JupyterWorker::heartbeat(Clock::time_point now) {
  if (beatUnderway_ && answering_ && now - beatSent_ > limits_.silence) {
    answering_ = false;
    outbox_.push(Answering{false});
  }
  if (!beatUnderway_ && now - beatSent_ >= beatInterval()) {
    beatSent_ = now;
    beatUnderway_ = sendFrames(sockets_[static_cast<std::size_t>(Channel::heartbeat)], {"", "beat"});
  }
  if (!beatUnderway_) return std::max(beatSent_ + beatInterval(), now + milliseconds(1));
  // Its answer wakes the thread.
  return answering_ ? beatSent_ + limits_.silence + milliseconds(1) : now + nothingToDo;
}

Clock::time_point JupyterWorker::tick(Clock::time_point now) {
  now_ = now;
  Clock::time_point next = now + nothingToDo;
  if (closing_) {
    if (now >= *closing_ || now >= closingLimit_) finishClosing();
    next = std::min(next, now + milliseconds(20));
  } else if (open_ && !ready_) {
    if (now - infoSent_ >= (info_.is_null() ? infoAgain : subscriptionAgain)) sendInfoRequest(now);
    next = std::min(next, now + subscriptionAgain);
  } else if (open_) {
    next = heartbeat(now);
  }
  for (std::size_t i = 0; open_ && !closing_ && i < again_.size(); ++i) {
    if (again_[i] && now >= *again_[i]) connectAgain(i);
    if (again_[i]) next = std::min(next, *again_[i]);
  }
  if (running_ && running_->endsWithoutReply()) {
    next = std::min(next, now + milliseconds(200));
    if (now >= running_->giveUp) finish("error");
  }
  if (running_ && !running_->status.empty()) {
    if (now >= running_->giveUp) {
      running_->idle = true;
      finishIfDone();
    }
    next = std::min(next, now + milliseconds(200));
  }
  return std::min(next, outbox_.flush(now));
}

// ---- what comes in -------------------------------------------------------------------------------

std::vector<zmq::socket_ref> JupyterWorker::sockets() {
  std::vector<zmq::socket_ref> all(sockets_.begin(), sockets_.end());
  all.insert(all.end(), monitors_.begin(), monitors_.end());
  return all;
}

void JupyterWorker::readable(std::size_t index) {
  now_ = Clock::now();
  if (index >= sockets_.size()) return readMonitor(index - sockets_.size());
  if (closing_) closing_ = now_ + drainQuiet;
  // A message may end the connection, and with it the sockets: look for the socket anew each time.
  for (int i = 0; i < messagesAtOnce && index < sockets_.size(); ++i)
    if (!receiveOne(index)) return;
}

bool JupyterWorker::receiveOne(std::size_t index) {
  const auto frames = receiveFrames(sockets_[index]);
  if (!frames) return false;
  const auto channel = static_cast<Channel>(index);
  if (channel == Channel::heartbeat) {
    beatUnderway_ = false;
    if (!answering_) outbox_.push(Answering{true});
    answering_ = true;
    return true;
  }
  try {
    handle(channel, packer_.unpack(*frames));
  } catch (const MessageError& error) {
    if (warnings_++ < 20) qWarning("Jupyter client: a message was ignored: %s", error.what());
  }
  return true;
}

}  // namespace tapedeck::app
