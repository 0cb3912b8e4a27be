#include "engine/ops/observer.h"

#include "engine/tape/tape_state.h"

namespace tapedeck {

namespace detail {
constinit std::atomic<Observer*> observer{nullptr};
}

Observer* current_observer() {
  if (detail::thread_state.quiet != 0) return nullptr;
  return detail::observer.load(std::memory_order_acquire);
}

QuietScope::QuietScope() {
  ++detail::thread_state.quiet;
}
QuietScope::~QuietScope() {
  --detail::thread_state.quiet;
}

}  // namespace tapedeck
