#include "app/control/interrupt_watch.h"

#include <utility>

namespace tapedeck::app {

InterruptWatch::InterruptWatch(CellRunner* runner, Kernel* kernel, QObject* parent)
    : QObject(parent), runner_(runner), kernel_(kernel) {
  timer_.setSingleShot(true);
  timer_.setInterval(default_patience);
  connect(&timer_, &QTimer::timeout, this, [this] {
    if (kernel_->state() != KernelState::busy) return end();
    told_ = true;
    cell_ = runner_->runningCell();
    emit ignored(cell_);
  });
  connect(kernel_, &Kernel::stateChanged, this, [this](KernelState state) {
    if (state != KernelState::busy) end();
  });
  connect(runner_, &CellRunner::cellStateChanged, this, [this](const QString& cellId, CellState state) {
    if (cellId == cell_ && state != CellState::busy && state != CellState::queued) end();
  });
}

void InterruptWatch::interrupt() {
  cell_ = runner_->runningCell();
  kernel_->interrupt();
  if (kernel_->state() == KernelState::busy) timer_.start();
}

void InterruptWatch::wait() {
  told_ = false;
  if (kernel_->state() == KernelState::busy) timer_.start();
}

void InterruptWatch::end() {
  timer_.stop();
  cell_.clear();
  if (std::exchange(told_, false)) emit over();
}

}  // namespace tapedeck::app
