#include "app/control/session_options.h"

namespace tapedeck::app {

SessionOptions::SessionOptions(inspector::Session* session, QObject* parent)
    : QObject(parent), session_(session) {
  connect(session_, &inspector::Session::liveChanged, this, [this](bool live) {
    if (live) {
      if (recording_) session_->setRecording(*recording_);
      if (breakAtCellStart_) session_->setBreakAtCellStart(*breakAtCellStart_);
      if (budget_) session_->setBudget(*budget_);
    }
    emit changed();
  });
}

bool SessionOptions::recording() const {
  return session_->live() ? session_->status().recording : recording_.value_or(true);
}

bool SessionOptions::breakAtCellStart() const {
  return session_->live() ? session_->status().break_at_cell_start : breakAtCellStart_.value_or(false);
}

void SessionOptions::setRecording(bool on) {
  recording_ = on;
  session_->setRecording(on);
  emit changed();
}

void SessionOptions::setBreakAtCellStart(bool on) {
  breakAtCellStart_ = on;
  session_->setBreakAtCellStart(on);
  emit changed();
}

void SessionOptions::setBudget(quint64 bytes) {
  budget_ = bytes;
  session_->setBudget(bytes);
  emit changed();
}

}  // namespace tapedeck::app
