// Pending requests and their answers.
#include "inspector/model/session/session_private.h"

namespace tapedeck::inspector {

bool Session::request(const protocol::Request& message, QObject* context, Answer answer,
                      const QString& channel, Progressed progressed) {
  if (!d_->live || !d_->source) return false;
  if (const auto older = d_->newestOfChannel.find(channel); older != d_->newestOfChannel.end())
    d_->takePending(older->second);  // the source tells the session
  const quint64 id = d_->source->request(d_->forShownBranch(message), channel);
  d_->pending[id] = {context, std::move(answer), std::move(progressed), channel};
  if (!channel.isEmpty()) d_->newestOfChannel[channel] = id;
  return true;
}

void Session::drop(const QString& channel) {
  const auto found = d_->newestOfChannel.find(channel);
  if (found == d_->newestOfChannel.end()) return;
  const quint64 id = found->second;
  d_->takePending(id);
  if (d_->live && d_->source) d_->source->request(protocol::Cancel{id});
}

bool Session::asking(const QString& channel) const {
  return d_->newestOfChannel.contains(channel);
}

void Session::send(const protocol::Request& message) {
  request(message, this, [this](const protocol::Reply& reply) {
    // The end of the session is reported otherwise.
    if (const auto* failure = protocol::get_if<protocol::Failure>(&reply); failure && d_->live)
      emit failed(QString::fromStdString(failure->reason));
  });
}

protocol::Failure Session::failureOf(const protocol::Reply& reply) {
  if (const auto* failure = protocol::get_if<protocol::Failure>(&reply)) return *failure;
  const char* type = protocol::visit([](const auto& message) { return message.type; }, reply);
  return {std::string("The session's answer is malformed: ") + type + ".", "bad_answer"};
}

Session::Private::Pending Session::Private::takePending(quint64 request) {
  const auto found = pending.find(request);
  if (found == pending.end()) return {};
  Pending taken = std::move(found->second);
  pending.erase(found);
  if (!taken.channel.isEmpty()) newestOfChannel.erase(taken.channel);
  return taken;
}

void Session::Private::answer(quint64 request, const protocol::Reply& reply) {
  if (const auto* progress = protocol::get_if<protocol::Progress>(&reply)) {
    const auto found = pending.find(request);
    if (found == pending.end()) return;
    const Pending asked = found->second;  // the receiver may send a new request
    if (asked.context && asked.progressed) asked.progressed(*progress);
    return;
  }
  const Pending waiting = takePending(request);
  if (waiting.context && waiting.answer) waiting.answer(reply);
}

void Session::Private::answerEnded() {
  const std::map<quint64, Pending> waiting(pending.begin(), pending.end());  // in order
  forgetRequests();
  const protocol::Reply ended = protocol::Failure{"The session ended before it answered.", "ended"};
  for (const auto& [request, one] : waiting)
    if (one.context && one.answer) one.answer(ended);
}

void Session::Private::forgetRequests() {
  pending.clear();
  newestOfChannel.clear();
}

}  // namespace tapedeck::inspector
