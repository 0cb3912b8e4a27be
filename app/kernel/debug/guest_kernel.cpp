#include "app/kernel/debug/guest_kernel.h"

namespace tapedeck::app {

GuestKernel::GuestKernel(QObject* parent) : Kernel(parent) {
  patience_.setSingleShot(true);
}

GuestKernel::~GuestKernel() = default;

Engine GuestKernel::engine() const {
  return state_ == KernelState::idle || state_ == KernelState::busy ? Engine::present : Engine::unknown;
}

void GuestKernel::execute(const QString& cellId, const QString&) {
  QMetaObject::invokeMethod(
      this, [this, cellId] { emit executionFinished(cellId, QStringLiteral("aborted"), 0); },
      Qt::QueuedConnection);
}

void GuestKernel::setState(KernelState state, const QString& sentence) {
  if (state == state_) return;
  state_ = state;
  emit stateChanged(state, sentence);
}

}  // namespace tapedeck::app
