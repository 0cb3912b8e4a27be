#include "app/control/interrupt_watch.h"

#include <utility>

namespace tapedeck::app {

InterruptWatch::InterruptWatch(CellRunner* runner, Kernel* kernel, QObject* parent)
    : QObject(parent), runner_(runner), kernel_(kernel) {
  timer_.setSingleShot(true);
  timer_.setInterval(default_patience);
  soon_.setSingleShot(true);
  soon_.setInterval(soon);
  second_.setInterval(1000);
  connect(&timer_, &QTimer::timeout, this, [this] {
    if (kernel_->state() != KernelState::busy) return end();
    told_ = true;
    cell_ = runner_->runningCell();
    emit ignored(cell_);
  });
  connect(&soon_, &QTimer::timeout, this, [this] {
    told_ = true;
    emit changed();  // what runs may be known by now
    emit waits(cell_);
  });
  connect(&second_, &QTimer::timeout, this, &InterruptWatch::changed);
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
  if (kernel_->state() != KernelState::busy) return;
  timer_.start();
  soon_.start();
  second_.start();
  since_.start();
  emit changed();
}

void InterruptWatch::wait() {
  told_ = false;
  if (kernel_->state() == KernelState::busy) timer_.start();
}

int InterruptWatch::seconds() const {
  return since_.isValid() ? static_cast<int>(since_.elapsed() / 1000) : -1;
}

void InterruptWatch::end() {
  timer_.stop();
  soon_.stop();
  second_.stop();
  cell_.clear();
  const bool waited = since_.isValid();
  since_.invalidate();
  if (std::exchange(told_, false)) emit over();
  if (waited) emit changed();
}

}  // namespace tapedeck::app
