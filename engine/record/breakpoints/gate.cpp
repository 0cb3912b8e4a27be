#include "engine/record/breakpoints/gate.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "engine/tensor/error.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck {

// How often a waiting thread checks for an interrupt: often right after a stop, when the user may step on or
// interrupt at once, and rarely later, so that a stop of an hour does not wake it thirty times a second.
constexpr std::chrono::milliseconds first_interrupt_look(30), longest_interrupt_look(250);

// The only one that the host delivers signals to.
static bool on_main_thread() {
  return ::gettid() == ::getpid();
}

bool Gate::pass(const GatePoint& point) {
  {
    const std::lock_guard lock(mutex_);
    if (!must_stop(point)) return false;
  }
  // Releases the host's lock before acquiring the gate's, and acquires it again after releasing that: so
  // there is no deadlock by lock order.
  const HostUnlock unlocked;
  wait(point, nullptr);
  return true;
}

bool Gate::stop(const GatePoint& point, const BreakStop& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!attended_ || ending_) return false;
  }
  const HostUnlock unlocked;
  wait(point, &why);
  return true;
}

bool Gate::must_stop(const GatePoint& point) const {
  if (ending_) return false;
  if (cell_pending_) return true;
  switch (mode_) {
    case Mode::run:
    case Mode::after_record:
      return false;
    case Mode::stop:
      return true;
    case Mode::other_line:
      return line_from_ == 0 || point.location != line_from_;
  }
  return false;
}

std::uint64_t Gate::enter(const GatePoint& point, const BreakStop* why) {
  if (cell_pending_) reason_ = "cell start";
  cell_pending_ = false;
  mode_ = Mode::stop;
  waiting_.push_back({point, why ? *why : BreakStop{}, ++last_ticket_});
  waiting_.back().point.thread = ::pthread_self();
  update_armed();
  return last_ticket_;
}

bool Gate::waits(std::uint64_t ticket) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const Waiting& one) { return one.ticket == ticket; });
}

void Gate::wait(const GatePoint& point, const BreakStop* why) {
  std::unique_lock lock(mutex_);
  if (why ? !attended_ || ending_ : !must_stop(point)) return;
  const std::uint64_t ticket = enter(point, why);
  lock.unlock();
  notify();
  lock.lock();
  for (auto look = first_interrupt_look; waits(ticket); look = std::min(2 * look, longest_interrupt_look)) {
    // The main thread gets the signal: interrupted by both, it would be interrupted again in a `finally`.
    if (ending_ && !on_main_thread()) break;
    if (changed_.wait_for(lock, look) == std::cv_status::no_timeout) continue;
    if (waits(ticket)) check_interrupt_here(lock);
  }
  wait_for_evaluation(lock, true);
  if (!ending_) return;
  // Also where another thread's interrupt has opened the gate: user code must not run on.
  std::erase_if(waiting_, [&](const Waiting& one) { return one.ticket == ticket; });
  lock.unlock();
  notify();
  throw Interrupted();
}

/// Throws Interrupted if the user interrupted, which opens the gate.
void Gate::check_interrupt_here(std::unique_lock<std::mutex>& lock) {
  if (!host_hooks().interrupted) return;
  lock.unlock();
  const bool interrupted = host_hooks().interrupted();
  lock.lock();
  if (!interrupted) return;
  open();
  lock.unlock();
  notify();
  throw Interrupted();
}

bool Gate::hold(std::optional<std::uint64_t> stop) {
  const std::lock_guard lock(mutex_);
  const bool is_there = stop ? !waiting_.empty() && stop_of(waiting_.front()) == *stop : !cell_runs_;
  if (is_there) held_ = true;
  return is_there;
}

bool Gate::settle() {
  const std::lock_guard lock(mutex_);
  settling_ = held_;
  return held_;
}

void Gate::release() {
  const std::lock_guard lock(mutex_);
  held_ = settling_ = false;
  changed_.notify_all();
}

void Gate::wait_for_evaluation(std::unique_lock<std::mutex>& lock, bool checks_interrupts) {
  const auto since = std::chrono::steady_clock::now();
  for (auto look = first_interrupt_look; held_ && !ending_;
       look = std::min(2 * look, longest_interrupt_look)) {
    if (changed_.wait_for(lock, look) == std::cv_status::no_timeout) continue;
    if (held_ && !settling_ && std::chrono::steady_clock::now() - since > longest_hold) held_ = false;
    if (held_ && checks_interrupts) check_interrupt_here(lock);
  }
}

void Gate::end() {
  ending_ = true;
  mode_ = Mode::run;
  cell_pending_ = false;
}

void Gate::ended(std::uint32_t number, const std::function<std::string()>& said) {
  const std::lock_guard lock(mutex_);
  if (mode_ != Mode::after_record || number != after_) return;
  mode_ = Mode::stop;
  reason_ = reason_after_;
  stepped_call_ = said();
}

void Gate::command(GateCommand command) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    if (!attended_) command = GateCommand::run;
    // A cell that ends behind the call opens the gate: what ran is still to be read.
    if (command != GateCommand::run || !waiting_.empty()) stepped_call_.clear();
    stepped_over_ = command == GateCommand::step_op && !waiting_.empty() ? waiting_.front().point.number : 0;
    switch (command) {
      case GateCommand::run:
        open();
        break;
      case GateCommand::pause:
        if (waiting_.empty()) reason_ = "pause";
        mode_ = Mode::stop;
        break;
      case GateCommand::step_op:
        step_op();
        break;
      case GateCommand::step_line:
        step_line();
        break;
      case GateCommand::step_out:
        step_out();
        break;
      case GateCommand::end:
        end();
        break;
    }
    update_armed();
    changed_.notify_all();
  }
  notify();
}

void Gate::open() {
  mode_ = Mode::run;
  cell_pending_ = false;
  waiting_.clear();
  update_armed();
  changed_.notify_all();
}

void Gate::let_first_go() {
  if (!waiting_.empty()) waiting_.pop_front();
}

std::uint32_t Gate::left_line() const {
  const std::uint32_t left = left_line_.load(std::memory_order_relaxed);
  return left != 0 && stepping_thread_.load(std::memory_order_relaxed) == ::pthread_self() ? left : 0;
}

/// All threads go on until that record has ended.
void Gate::run_until_ended(std::uint32_t record, const char* reason) {
  after_ = record;
  reason_after_ = reason;
  mode_ = Mode::after_record;
  waiting_.clear();
}

void Gate::step_op() {
  reason_ = "step";
  if (!waiting_.empty() && waiting_.front().point.call)
    return run_until_ended(waiting_.front().point.number, "step");
  mode_ = Mode::stop;
  let_first_go();
}

void Gate::step_line() {
  reason_ = "step";
  if (waiting_.empty() || waiting_.front().point.call) {  // into a call: its ops may be of the same line
    mode_ = Mode::stop;
    let_first_go();
    return;
  }
  line_from_ = waiting_.front().point.location;
  stepping_thread_.store(waiting_.front().point.thread, std::memory_order_relaxed);
  mode_ = Mode::other_line;
  let_first_go();
  std::erase_if(waiting_, [this](const Waiting& one) { return !must_stop(one.point); });
}

// With nothing to leave, a step out is a step.
void Gate::step_out() {
  reason_ = "step";
  if (waiting_.empty() || waiting_.front().point.enclosing == 0) {
    mode_ = Mode::stop;
    let_first_go();
    return;
  }
  run_until_ended(waiting_.front().point.enclosing, "step out");
}

void Gate::set_attended(bool attended) {
  {
    const std::lock_guard lock(mutex_);
    if (attended_ == attended) return;
    attended_ = attended;
    if (!attended && !ending_) open();
  }
  notify();
}

void Gate::set_break_at_cell_start(bool on) {
  const std::lock_guard lock(mutex_);
  break_at_cell_start_ = on;
  if (!on) cell_pending_ = false;
  update_armed();
}

bool Gate::break_at_cell_start() const {
  const std::lock_guard lock(mutex_);
  return break_at_cell_start_;
}

void Gate::cell_started() {
  const HostUnlock unlocked;  // an evaluation needs the host's lock to end
  std::unique_lock lock(mutex_);
  wait_for_evaluation(lock, false);
  cell_runs_ = true;
  cell_pending_ = break_at_cell_start_ && attended_ && !ending_;
  stepped_call_.clear();
  update_armed();
}

void Gate::cell_ended() {
  const std::lock_guard lock(mutex_);
  cell_pending_ = cell_runs_ = false;
  if (mode_ == Mode::other_line) mode_ = Mode::stop;  // the next op is on another line
  update_armed();
}

std::uint64_t Gate::stop_of(const Waiting& one) {
  const GatePoint& point = one.point;
  return point.number != 0 && point.gradient.source == 0 ? point.number : beyond_records + one.ticket;
}

GateStatus Gate::status() const {
  const std::lock_guard lock(mutex_);
  if (!waiting_.empty()) {
    const auto& [point, why, ticket] = waiting_.front();
    return {GateState::stopped,
            point.number,
            point.location,
            why.reason.empty() ? reason_ : why.reason,
            stepped_over_,
            point.thread,
            why.after || point.gradient.source != 0,
            why.breakpoints,
            stop_of(waiting_.front()),
            point.gradient,
            stepped_call_};
  }
  return {mode_ == Mode::run && !cell_pending_ ? GateState::open : GateState::will_stop,
          0,
          0,
          {},
          stepped_over_,
          0,
          false,
          {},
          0,
          {},
          stepped_call_};
}

void Gate::update_armed() {
  armed_.store(mode_ != Mode::run || cell_pending_, std::memory_order_relaxed);
  left_line_.store(mode_ == Mode::other_line ? line_from_ : 0, std::memory_order_relaxed);
}

void Gate::set_listener(std::function<void()> listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
}

void Gate::notify() {
  std::function<void()> listener;
  {
    const std::lock_guard lock(mutex_);
    listener = listener_;
  }
  if (listener) listener();
}

}  // namespace tapedeck
