// What a small op costs beside its kernel, without Python: one JSON line per case, the median of rounds in
// which all ways take turns, in nanoseconds. "kernel" is the kernel alone, called through the backend's table
// on the same buffers; "op" is run_op with its checks and its result; "graph" one more node of a graph.
// It is the time of this thread, which runs all of it, on a processor. Rounds: first argument, else 15.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/graph/run.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/ops.h"

using namespace tapedeck;

namespace {

constexpr int nodes = 200, calls = 20000;

double nanoseconds(const std::function<void()>& call, int repeat) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  for (int i = 0; i < repeat; ++i) call();
  return (now() - start) / repeat;
}

double median(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

/// x = x + x so many times; the passes find nothing in it.
graph::Executable chain(const Tensor& x, int length) {
  const std::array specs{TensorSpec{x.dtype(), x.shape()}};
  graph::Graph graph = graph::trace("chain", specs, [&](std::span<const Tensor> arguments) {
    Tensor value = arguments[0];
    for (int i = 0; i < length; ++i) value = value + value;
    return Tensors(1, value);
  });
  return graph::Executable(std::move(graph));
}

void report(const std::string& name, const Shape& shape, int rounds) {
  const Tensor x = ops::random_uniform(shape);
  const Tensor out = Tensor::allocate(x.dtype(), shape);
  const graph::Executable small = chain(x, 1), large = chain(x, 1 + nodes);
  const std::array inputs{x};
  const auto kernel = [&] {
    backend().binary(kernels::Binary::add, x.dtype(), {x.raw()}, {x.raw()}, out.writable_data<std::byte>(),
                     x.count());
  };
  std::vector<double> of_kernel, of_op, of_graph;
  for (int round = 0; round < rounds; ++round) {
    of_kernel.push_back(nanoseconds(kernel, calls));
    of_op.push_back(nanoseconds([&] { (void)(x + x); }, calls));
    const double of_small = nanoseconds([&] { (void)small(inputs); }, calls / nodes);
    of_graph.push_back((nanoseconds([&] { (void)large(inputs); }, calls / nodes) - of_small) / nodes);
  }
  std::printf(
      "{\"bench\": \"kernels\", \"case\": \"%s\", \"unit\": \"ns\", \"kernel\": %.1f, \"op\": %.1f, "
      "\"graph\": %.1f, \"over_kernel\": %.1f}\n",
      name.c_str(), median(of_kernel), median(of_op), median(of_graph), median(of_graph) - median(of_kernel));
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::max(1, std::atoi(arguments[1])) : 15;
  report("add_10", {10}, rounds);
  report("add_100", {100}, rounds);
  report("add_1000", {1000}, rounds);
}
