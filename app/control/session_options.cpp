#include "app/control/session_options.h"

namespace tapedeck::app {
namespace {

const QString channel = QStringLiteral("options");

}  // namespace

SessionOptions::SessionOptions(inspector::Session* session, QObject* parent)
    : QObject(parent), session_(session) {
  connect(session_, &inspector::Session::liveChanged, this, [this](bool live) {
    if (live)
      sendChosen();
    else
      emit arrived();  // no session is left to confirm it
    emit changed();
  });
  // That another process answers is known only after it is live: what it was asked till then is forgotten.
  connect(session_, &inspector::Session::cleared, this, [this] {
    if (session_->live()) sendChosen();
  });
}

void SessionOptions::sendChosen() {
  if (recording_ || breakAtCellStart_ || replayOnCpu_ || functionsEagerly_ || budget_) {
    functionsOnTheirWay_ = functionsEagerly_.has_value();
    send();
  }
}

void SessionOptions::send() {
  protocol::SetOptions options;
  options.recording = recording_;
  options.break_at_cell_start = breakAtCellStart_;
  options.replay_on_cpu = replayOnCpu_;
  if (functionsOnTheirWay_) options.functions_eagerly = functionsEagerly_;
  options.budget_bytes = budget_;
  session_->request<protocol::Status>(
      options, this,
      [this](const protocol::Status&) {
        functionsOnTheirWay_ = false;
        emit arrived();
      },
      [this](const protocol::Failure& failure) {
        functionsOnTheirWay_ = false;
        emit session_->failed(QString::fromStdString(failure.reason));
        emit arrived();
      },
      channel);
}

bool SessionOptions::onTheirWay() const {
  return session_->asking(channel);
}

bool SessionOptions::recording() const {
  return session_->live() ? session_->status().recording : recording_.value_or(true);
}

bool SessionOptions::breakAtCellStart() const {
  return session_->live() ? session_->status().break_at_cell_start : breakAtCellStart_.value_or(false);
}

bool SessionOptions::replayOnCpu() const {
  return session_->live() ? session_->status().replay_on_cpu : replayOnCpu_.value_or(false);
}

bool SessionOptions::functionsEagerly() const {
  return session_->live() ? session_->status().functions_eagerly
                          : functionsEagerly_.value_or(protocol::functions_eager_at_start);
}

void SessionOptions::setFunctionsEagerly(bool on) {
  functionsEagerly_ = on;
  functionsOnTheirWay_ = true;
  send();
  emit changed();
}

void SessionOptions::setRecording(bool on) {
  recording_ = on;
  send();
  emit changed();
}

void SessionOptions::setBreakAtCellStart(bool on) {
  breakAtCellStart_ = on;
  send();
  emit changed();
}

void SessionOptions::setReplayOnCpu(bool on) {
  replayOnCpu_ = on;
  send();
  emit changed();
}

void SessionOptions::setBudget(quint64 bytes) {
  budget_ = bytes;
  send();
  emit changed();
}

}  // namespace tapedeck::app
