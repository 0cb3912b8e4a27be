#include "engine/graph/eager.h"

#include <atomic>

#include "engine/protocol/replies.h"

namespace tapedeck::graph {
namespace {

std::atomic<bool> run_eagerly{protocol::functions_eager_at_start};

}  // namespace

bool functions_run_eagerly() {
  return run_eagerly.load(std::memory_order_relaxed);
}

void set_functions_run_eagerly(bool on) {
  run_eagerly.store(on, std::memory_order_relaxed);
}

}  // namespace tapedeck::graph
