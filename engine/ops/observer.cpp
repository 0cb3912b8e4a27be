#include "engine/ops/observer.h"

#include "engine/tape/tape_state.h"

namespace tapedeck {

namespace detail {
constinit std::atomic<Observer*> observer{nullptr};
}

Observer* current_observer() {
  if (detail::thread_state.quiet != 0 || detail::thread_state.unobserved != 0) return nullptr;
  return detail::observer.load(std::memory_order_acquire);
}

UnobservedScope::UnobservedScope() : quiet_(std::exchange(detail::thread_state.quiet, 0)) {
  ++detail::thread_state.unobserved;
}
UnobservedScope::~UnobservedScope() {
  --detail::thread_state.unobserved;
  detail::thread_state.quiet = quiet_;
}

QuietScope::QuietScope() {
  ++detail::thread_state.quiet;
}
QuietScope::~QuietScope() {
  --detail::thread_state.quiet;
}

}  // namespace tapedeck
