#include "app/control/stepper.h"

#include "app/control/cell_names.h"

namespace tapedeck::app {
namespace {

using protocol::GateCommand;
using protocol::GateState;

const QString nothingRuns =
    "Nothing is running that could be paused. Step op (F10) starts the current cell and pauses before its "
    "first op.";
const QString noEngine =
    "This session can't be stepped or paused: no Tapedeck engine answers in it. Restart it to try again.";
const QString notAttached =
    "The program is no longer attached. What was fetched is still here: Step back (Shift+F10) and the slider "
    "go through it.";
const QString onlyLookedAt =
    "A trace can't be run. Step back (Shift+F10) and the slider go through its records.";
const QString recordingOff =
    "Recording is off, so there is nothing to stop at. Switch it on (Session › Recording) to step.";

}  // namespace

Stepper::Stepper(inspector::Session* session, CellRunner* runner, Kernel* kernel, QObject* parent)
    : QObject(parent), session_(session), runner_(runner), kernel_(kernel) {
  connect(session_, &inspector::Session::statusChanged, this, &Stepper::update);
  connect(session_, &inspector::Session::liveChanged, this, &Stepper::update);
  connect(kernel_, &Kernel::stateChanged, this, &Stepper::update);
  connect(kernel_, &Kernel::ready, this, &Stepper::update);
  connect(kernel_, &Kernel::noticed, this, &Stepper::update);
  connect(session_, &inspector::Session::failed, this, [this] {
    if (state_ != StepperState::arming) return;
    wish_.reset();
    enter(StepperState::idle);
    session_->sendGate(GateCommand::run);
  });
  connect(runner_, &CellRunner::cellStateChanged, this, &Stepper::update);
  connect(runner_, &CellRunner::cellStateChanged, this, &Stepper::cellChanged);
  connect(runner_, &CellRunner::finished, this, &Stepper::update);
  state_ = observed();
}

// ---- states ----

StepperState Stepper::observed() const {
  const KernelState kernel = kernel_->state();
  if (kernel == KernelState::stopped || kernel == KernelState::dead) return StepperState::noSession;
  if (kernel == KernelState::starting) return StepperState::connecting;
  if (!session_->live())
    return kernel_->engine() == Engine::missing ? StepperState::withoutEngine : StepperState::connecting;
  if (session_->status().gate == GateState::stopped) return StepperState::stopped;
  if (runner_->busy() || kernel_->runs() == Runs::program) return StepperState::running;
  return state_ == StepperState::arming ? StepperState::arming : StepperState::idle;
}

void Stepper::enter(StepperState state) {
  if (state == state_) return;
  state_ = state;
  if (state == StepperState::stopped) startedCell_.clear();
  emit stateChanged(state);
}

void Stepper::update() {
  const StepperState before = state_;
  const StepperState now = observed();
  if (now == StepperState::arming && session_->status().gate != GateState::open) return runWished();
  if (now == before) return;
  const auto wish = std::exchange(wish_, std::nullopt);
  enter(now);
  switch (now) {
    case StepperState::connecting:
      // Asked for before there was a session. What was to be armed in one that does not answer any more, is
      // dropped.
      if (before == StepperState::noSession) wish_ = wish;
      break;
    case StepperState::withoutEngine:
      if (wish) emit refused(noEngine);
      break;
    case StepperState::idle:
      // A cell that ended before the gate could stop it leaves the gate armed: the next run would pause.
      if (session_->status().gate != GateState::open) session_->sendGate(GateCommand::run);
      [[fallthrough]];
    case StepperState::running:
    case StepperState::stopped:
      if (before == StepperState::connecting && wish) arm(wish->cell, wish->command);
      break;
    case StepperState::noSession:
    case StepperState::arming:
      break;
  }
}

bool Stepper::lookingBack() const {
  return session_->recordCount() > 0 && !session_->following();
}

// ---- the cell that a key means ----

QString Stepper::chooseCell() {
  const int current = currentCell_();
  const int index = codeCellFrom(*runner_->document(), current);
  if (index < 0) {
    emit refused(noCodeCell(*runner_->document()));
    return {};
  }
  const QString id = runner_->document()->cell(index).id;
  if (index != current) emit cellChosen(id);
  return id;
}

void Stepper::runChosen() {
  const QString cell = chooseCell();
  if (!cell.isEmpty()) runner_->run({cell});
}

// ---- keys ----

void Stepper::stepOp() {
  if (!lookingBack()) return step(GateCommand::step_op);
  session_->stepCursor(1);
  if (session_->cursor() >= session_->recordCount()) session_->follow();
}

void Stepper::stepLine() {
  if (lookingBack())
    forwardToNextLine();
  else
    step(GateCommand::step_line);
}

void Stepper::forwardToNextLine() {
  const auto last = session_->recordCount();
  const auto* from = session_->cachedRecord(session_->cursor());
  auto number = session_->cursor() + 1;
  // As far as records are here: beyond them the line is not known, and the cursor's move asks for them.
  for (; from && number < last; ++number) {
    const auto* record = session_->cachedRecord(number);
    if (!record || record->line != from->line || record->cell != from->cell || record->file != from->file)
      break;
  }
  session_->setCursor(number);
  if (session_->cursor() >= last) session_->follow();
}

bool Stepper::refuseCells() {
  if (kernel_->runs() == Runs::cells) return false;
  emit refused(kernel_->runs() == Runs::program ? notAttached : onlyLookedAt);
  return true;
}

void Stepper::step(GateCommand command) {
  switch (state_) {
    case StepperState::noSession: {
      if (refuseCells()) return;
      const QString cell = chooseCell();
      if (cell.isEmpty()) return;
      wish_ = Wish{cell, command};
      kernel_->start(runner_->folder());
      return;
    }
    case StepperState::connecting:
      if (wish_ && !wish_->cell.isEmpty()) {
        wish_->command = command;
      } else if (runner_->busy() || kernel_->runs() == Runs::program) {
        wish_ = Wish{{}, command};
      } else if (refuseCells()) {
        return;
      } else if (const QString cell = chooseCell(); !cell.isEmpty()) {
        wish_ = Wish{cell, command};
      }
      return;
    case StepperState::withoutEngine:
      emit refused(noEngine);
      return;
    case StepperState::idle:
      if (refuseCells()) return;
      if (const QString cell = chooseCell(); !cell.isEmpty() && !saysFinished(cell)) arm(cell, command);
      return;
    case StepperState::arming:
      return;  // on its way to the first op already
    case StepperState::running:
    case StepperState::stopped:
      arm({}, command);
      return;
  }
}

/// With a `cell`: it is started when the gate has answered.
void Stepper::arm(const QString& cell, GateCommand command) {
  if (!recordingIsOn()) return;
  session_->sendGate(command);
  stepping_ = command != GateCommand::pause;
  if (cell.isEmpty() || runner_->busy()) return;
  wish_ = Wish{cell, command};
  enter(StepperState::arming);
}

void Stepper::runWished() {
  startedCell_ = std::exchange(wish_, std::nullopt)->cell;
  runner_->run({startedCell_});
  if (runner_->busy()) return;
  startedCell_.clear();
  stepping_ = false;
  enter(StepperState::idle);  // the cell was deleted meanwhile
  session_->sendGate(GateCommand::run);
}

// Repeated presses without a pause only repeat the message; a press after a pause runs the cell again.
bool Stepper::saysFinished(const QString& cell) {
  if (finished_.isEmpty() || cell != finished_) return false;
  const bool meant = sinceFinished_.isValid() && sinceFinished_.elapsed() >= finishedPause_;
  sinceFinished_.start();
  if (meant) {
    finished_.clear();
    return false;
  }
  emit refused(finishedName(cell) + " is finished. Another F10, after a moment, steps through it again.");
  return true;
}

QString Stepper::finishedName(const QString& cell) const {
  QString name = cellName(*runner_->document(), cell);
  if (!name.isEmpty()) name[0] = name[0].toUpper();
  return name;
}

// Without a word, who presses the key again and again runs the cell again and again.
void Stepper::cellChanged(const QString& cell, CellState state) {
  if (state == CellState::busy || state == CellState::queued) finished_.clear();
  const bool ended = state == CellState::done || state == CellState::failed || state == CellState::killed;
  if (ended && !runner_->busy() && std::exchange(stepping_, false) && state != CellState::killed) {
    finished_ = cell;
    sinceFinished_.invalidate();
    if (state == CellState::done && cell != startedCell_ && !finishedName(cell).isEmpty())
      emit refused(finishedName(cell) + " is finished: its last op has run.");
  }
  if (cell != startedCell_ || (state != CellState::done && state != CellState::failed)) return;
  startedCell_.clear();
  if (state == CellState::failed) return;
  const QString name = finishedName(cell);
  if (name.isEmpty()) return;
  emit refused(name + " ran to its end: no op ran in it, so there was nothing to stop at.");
}

bool Stepper::recordingIsOn() {
  if (session_->status().recording) return true;
  emit refused(recordingOff);
  return false;
}

void Stepper::stepOut() {
  if (state_ != StepperState::stopped) {
    emit refused(
        "Step out works while the session is paused inside a playback, a custom gradient or a call of a "
        "graph function.");
    return;
  }
  session_->follow();
  stepping_ = true;
  session_->sendGate(GateCommand::step_out);
}

void Stepper::stepBack() {
  if (session_->recordCount() == 0)
    emit refused("There is nothing to look back at: no op has run yet.");
  else if (session_->cursor() <= 1)
    emit refused("This is the session's first record.");
  else
    session_->stepCursor(-1);
}

void Stepper::pause() {
  switch (state_) {
    case StepperState::noSession:
    case StepperState::idle:
      if (!refuseCells()) emit refused(nothingRuns);
      return;
    case StepperState::connecting:
      if (runner_->busy() || kernel_->runs() == Runs::program)
        wish_ = Wish{{}, GateCommand::pause};
      else if (!wish_)
        emit refused(nothingRuns);
      return;
    case StepperState::withoutEngine:
      emit refused(runner_->busy() ? noEngine : nothingRuns);
      return;
    case StepperState::arming:
      return;
    case StepperState::running:
      if (!recordingIsOn()) return;
      session_->follow();
      session_->sendGate(GateCommand::pause);
      return;
    case StepperState::stopped:
      session_->follow();
      return;
  }
}

void Stepper::resume() {
  switch (state_) {
    case StepperState::noSession:
    case StepperState::withoutEngine:
    case StepperState::idle:
      if (refuseCells()) return;
      session_->follow();
      if (runner_->busy())
        emit refused("It is already running.");
      else
        runChosen();
      return;
    case StepperState::connecting:
      if (kernel_->runs() != Runs::cells)
        wish_.reset();
      else if (wish_ && !wish_->cell.isEmpty())
        runner_->run({std::exchange(wish_, std::nullopt)->cell});
      else if (runner_->busy())
        wish_.reset();
      else
        runChosen();
      return;
    case StepperState::arming:
      session_->sendGate(GateCommand::run);
      runWished();
      startedCell_.clear();
      stepping_ = false;
      return;
    case StepperState::running:
    case StepperState::stopped:
      startedCell_.clear();
      stepping_ = false;
      session_->follow();
      session_->sendGate(GateCommand::run);
      return;
  }
}

}  // namespace tapedeck::app
