#include "app/kernel/debug/debug_client.h"

#include <algorithm>

#include "app/kernel/process/reaper.h"

namespace tapedeck::app {

DebugClient::DebugClient(QObject* parent) : Source(parent), mailbox_(std::make_shared<Mailbox>(this)) {
  worker_ = std::make_shared<DebugWorker>(
      [this, mailbox = mailbox_](std::uint64_t connection, DebugWorker::Event event) {
        mailbox->post(
            [this, connection, event = std::move(event)]() mutable { take(connection, std::move(event)); });
      });
  thread_ = std::make_unique<SocketThread>(worker_);
}

DebugClient::~DebugClient() {
  mailbox_->close();
  if (thread_) Reaper::instance().reap(std::move(thread_));
}

void DebugClient::open(const QByteArray& endpoint, const QByteArray& key) {
  const auto number = ++connection_;
  setConnected(false);
  thread_->post([worker = worker_, endpoint = endpoint.toStdString(), key = key.toStdString(), number] {
    worker->open(endpoint, key, number);
  });
}

void DebugClient::close() {
  ++connection_;
  thread_->post([worker = worker_] { worker->close(); });
  setConnected(false);
}

void DebugClient::sendEnd() {
  thread_->post([worker = worker_, id = ++lastRequest_] {
    worker->send(id, protocol::SetGate{protocol::GateCommand::end});
  });
}

void DebugClient::leaveToEnd() {
  sendEnd();
  ++connection_;
  setConnected(false);
}

std::unique_ptr<SocketThread> DebugClient::releaseToEnd() {
  sendEnd();
  mailbox_->close();
  return std::move(thread_);
}

void DebugClient::setSilenceLimit(std::chrono::milliseconds limit) {
  thread_->post([worker = worker_, limit] { worker->setSilenceLimit(limit); });
}

quint64 DebugClient::request(const protocol::Request& message, const QString& channel) {
  const quint64 id = ++lastRequest_;
  const auto* cancel = protocol::get_if<protocol::Cancel>(&message);
  const bool answered = !cancel;
  if (cancel) forget(cancel->request);
  if (answered && !channel.isEmpty()) {
    if (const auto older = newestOfChannel_.find(channel); older != newestOfChannel_.end()) {
      pending_.remove(*older);
      thread_->post([worker = worker_, older = *older, cancel = ++lastRequest_] {
        worker->send(cancel, protocol::Cancel{older});
      });
    }
    newestOfChannel_[channel] = id;
  }
  if (answered) pending_.insert(id, channel);
  if (!connected_) {
    QMetaObject::invokeMethod(
        this,
        [this] {
          if (!connected_) failPending();
        },
        Qt::QueuedConnection);
    return id;
  }
  thread_->post([worker = worker_, id, message] { worker->send(id, message); });
  return id;
}

void DebugClient::take(std::uint64_t connection, DebugWorker::Event event) {
  if (connection != connection_) return;  // of a connection that was closed since
  if (const auto* state = std::get_if<DebugWorker::Connected>(&event)) return setConnected(state->connected);
  if (const auto* refusal = std::get_if<DebugWorker::Refusal>(&event)) {
    setConnected(false);
    emit refused(QString::fromStdString(refusal->sentence));
    return;
  }
  take(std::get<protocol::IncomingReply>(std::move(event)));
}

void DebugClient::setConnected(bool connected) {
  if (connected_ == connected) return;
  connected_ = connected;
  emit connectedChanged(connected);
  if (!connected) failPending();
}

void DebugClient::failPending() {
  // Removed first: the receiver may send a new request.
  QList<quint64> requests = pending_.keys();
  std::sort(requests.begin(), requests.end());
  pending_.clear();
  newestOfChannel_.clear();
  const protocol::Reply failure = protocol::Failure{"The session is not connected.", "cancelled"};
  for (const quint64 request : requests) emit received(request, failure);
}

void DebugClient::take(protocol::IncomingReply incoming) {
  if (!connected_) return;
  const bool isAnswer = !protocol::holds_alternative<protocol::Progress>(incoming.message);
  const bool wanted = isAnswer ? forget(incoming.request) : pending_.contains(incoming.request);
  if (incoming.request != 0 && !wanted) return;  // cancelled, or dropped for a newer one
  // For who comes later: a window that is made for a connection that is there already.
  if (const auto* welcome = protocol::get_if<protocol::Welcome>(&incoming.message)) {
    setProperty("process", QVariant::fromValue(quint64{welcome->pid}));
    setProperty("started_unix_ms", QVariant::fromValue(qint64{welcome->started_unix_ms}));
  }
  emit received(incoming.request, incoming.message);
}

bool DebugClient::forget(quint64 request) {
  const auto pending = pending_.constFind(request);
  if (pending == pending_.constEnd()) return false;
  if (!pending->isEmpty()) newestOfChannel_.remove(*pending);
  pending_.erase(pending);
  return true;
}

}  // namespace tapedeck::app
