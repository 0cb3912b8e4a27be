// What the memory panel costs: milliseconds for its first curve of a trace of a million records, for the next
// one, and for what was alive at a record. One line of JSON; medians.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "engine/debug/memory/memory.h"
#include "engine/ops/core/ops.h"
#include "engine/tape/tape.h"

using namespace tapedeck;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// A step of training, as the recorder sees it.
void step(const Tensor& x, const Tensor& w) {
  Tape tape;
  tape.start();
  tape.watch(w);
  Tensor value = x;
  for (int i = 0; i < 10; ++i) value = ops::square(ops::multiply(value, w));
  const Tensor loss = ops::reduce_sum(value);
  tape.stop();
  tape.gradient(std::span(&loss, 1), std::span(&w, 1));
}

void measure_panel() {
  Recorder recorder;
  recorder.set_recording(true);
  const Tensor x = Tensor::scalar(0.5), w = Tensor::scalar(0.9);
  std::vector<Tensor> list;
  while (recorder.trace().newest() < 1'000'000) {
    step(x, w);
    list.push_back(ops::square(w));
  }
  recorder.set_recording(false);
  std::vector<double> first, next, state, now;
  for (int round = 0; round < 5; ++round) {
    debug::MemoryReader reader(recorder);
    auto start = Clock::now();
    reader.curve({1, {}, 600});
    first.push_back(milliseconds_since(start));
    start = Clock::now();
    reader.curve({1, {}, 600});
    next.push_back(milliseconds_since(start));
    start = Clock::now();
    reader.state({500'000, protocol::MemoryGroup::tensor, 0, 200});
    state.push_back(milliseconds_since(start));
    start = Clock::now();
    reader.state({{}, protocol::MemoryGroup::line, 0, 200});
    now.push_back(milliseconds_since(start));
  }
  std::printf(
      "{\"bench\": \"memory panel\", \"records\": %u, \"alive\": %zu, \"first_curve_ms\": %.1f, "
      "\"next_curve_ms\": %.1f, \"state_ms\": %.1f, \"lines_ms\": %.1f}\n",
      recorder.trace().newest(), list.size(), median(first), median(next), median(state), median(now));
}

}  // namespace

int main() {
  measure_panel();
}
