#include "app/control/stepper.h"

namespace tapedeck::app {

using protocol::GateCommand;
using protocol::GateState;

Stepper::Stepper(inspector::Session* session, CellRunner* runner, KernelSession* kernel, QObject* parent)
    : QObject(parent), session_(session), runner_(runner), kernel_(kernel) {
  connect(session_, &inspector::Session::statusChanged, this, &Stepper::checkArmed);
  connect(session_, &inspector::Session::liveChanged, this, [this](bool live) {
    if (live && std::exchange(wanted_, false)) arm(command_);
    if (!live) arming_ = false;
  });
  // A cell that ended before the gate could stop it leaves the gate armed: open it, or the next run would
  // pause.
  connect(runner_, &CellRunner::finished, this, [this] {
    if (session_->live() && session_->status().gate != GateState::open) session_->sendGate(GateCommand::run);
  });
  connect(kernel_, &KernelSession::stateChanged, this, [this](KernelState state) {
    if (state == KernelState::dead || state == KernelState::stopped) arming_ = wanted_ = false;
  });
}

bool Stepper::stopped() const {
  return session_->live() && session_->status().gate == GateState::stopped;
}

bool Stepper::lookingBack() const {
  return session_->recordCount() > 0 && !session_->following();
}

void Stepper::stepOp() {
  if (lookingBack()) {
    session_->stepCursor(1);
    if (session_->cursor() >= session_->recordCount()) session_->follow();
    return;
  }
  arm(GateCommand::step_op);
}

void Stepper::stepLine() {
  session_->follow();
  arm(GateCommand::step_line);
}

void Stepper::arm(GateCommand command) {
  command_ = command;
  if (!session_->live()) {
    const KernelState state = kernel_->state();
    if (state == KernelState::stopped || state == KernelState::dead) kernel_->start(runner_->folder());
    if (state == KernelState::idle || state == KernelState::busy) {
      emit refused("This session can't be stepped: its process has no Tapedeck engine in it.");
      return;
    }
    wanted_ = true;  // arms itself when the session is there
    return;
  }
  if (!session_->status().recording) {
    emit refused(
        "Recording is off, so there is nothing to stop at. Switch it on (Session › Recording) to step.");
    return;
  }
  session_->sendGate(command);
  if (!runner_->busy()) {
    arming_ = true;
    checkArmed();
  }
}

void Stepper::checkArmed() {
  if (!arming_ || session_->status().gate == GateState::open) return;
  arming_ = false;
  emit runCurrentRequested();
}

void Stepper::stepOut() {
  if (!stopped()) {
    emit refused("Step out works while the session is paused inside a playback or a custom gradient.");
    return;
  }
  session_->follow();
  session_->sendGate(GateCommand::step_out);
}

void Stepper::stepBack() {
  session_->stepCursor(-1);
}

void Stepper::pause() {
  if (!runner_->busy()) {
    emit refused(
        "Nothing runs that could be paused. Step op (F10) starts the current cell and pauses before its "
        "first op.");
    return;
  }
  if (!session_->live()) {
    emit refused("This session can't be paused: its process has no Tapedeck engine in it.");
    return;
  }
  session_->follow();
  session_->sendGate(GateCommand::pause);
}

void Stepper::resume() {
  session_->follow();
  if (session_->live()) session_->sendGate(GateCommand::run);
  if (!runner_->busy()) emit runCurrentRequested();
}

}  // namespace tapedeck::app
