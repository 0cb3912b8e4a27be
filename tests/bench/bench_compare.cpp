// What comparing two runs costs: milliseconds to align two runs of 10⁵ and of 10⁶ records that are the same,
// that differ by an op in each turn, that have nothing in common; and to find the first difference of two
// runs of 10⁵ ops. One line of JSON each; medians.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "engine/debug/compare/comparisons.h"
#include "engine/ops/core/ops.h"
#include "engine/record/replay/replay.h"

using namespace tapedeck;
using namespace tapedeck::debug;

namespace {

using Clock = std::chrono::steady_clock;

double median_of(int rounds, const std::function<void()>& work) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    work();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// A training step of eight ops, on scalars: nine with `more`; other ops altogether with `other`.
void turn(Tensor& weight, double rate, bool more, bool other) {
  const Tensor data = Tensor::scalar(0.5);
  if (other) {
    Tensor x = ops::exp(ops::negative(data));
    for (int i = 0; i < 6; ++i) x = ops::sqrt(x);
    return;
  }
  const Tensor product = ops::multiply(weight, data);
  Tensor activation = ops::tanh(product);
  if (more) activation = ops::abs(activation);
  const Tensor error = ops::subtract(activation, data);
  ops::square(error);
  const Tensor slope = ops::multiply(error, data);
  const Tensor scaled = ops::multiply(slope, Tensor::scalar(rate));
  const Tensor moved = ops::subtract(weight, scaled);
  weight = ops::identity(moved);
}

struct World {
  explicit World(int ops) : turns(ops / 8) { recorder.set_recording(true); }
  protocol::ComparedSide run(int changed, bool more = false, bool other = false) {
    const std::uint64_t first = recorder.trace().newest() + 1;
    Tensor weight = Tensor::scalar(1.5);
    for (int i = 0; i < turns; ++i) turn(weight, i < changed ? 0.01 : 0.02, more, other);
    return {first, recorder.trace().newest(), {}, {}};
  }
  int turns;
  Recorder recorder;
  Branches branches{recorder};
  Comparisons comparisons{recorder, branches};
  CancelFlag cancel{false};
};

void measure(World& world, const char* what, const protocol::ComparedSide& left,
             const protocol::ComparedSide& right) {
  const QuietScope quiet;
  protocol::Compared compared;
  const double time = median_of(5, [&] {
    compared = world.comparisons.make({left, right}, world.cancel, {});
  });
  std::printf(
      "{\"bench\": \"align\", \"left\": %llu, \"right\": %llu, \"what\": \"%s\", \"alike\": %llu, "
      "\"ms\": %.1f}\n",
      static_cast<unsigned long long>(left.last.value() - left.first + 1),
      static_cast<unsigned long long>(right.last.value() - right.first + 1), what,
      static_cast<unsigned long long>(compared.same), time);
}

void measure_search(World& world, const protocol::ComparedSide& left, const protocol::ComparedSide& right) {
  const QuietScope quiet;
  const protocol::Compared compared = world.comparisons.make({left, right}, world.cancel, {});
  const Comparisons::Find find = [&](std::uint64_t id) { return find_value(world.recorder, id).value; };
  protocol::FirstDifference found;
  const auto start = Clock::now();
  found = world.comparisons.first_difference({compared.comparison, 0, 0, {}}, find, world.cancel, {});
  const double time = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  std::printf(
      "{\"bench\": \"first_difference\", \"rows\": %llu, \"row\": %lld, \"looked_at\": %llu, \"ms\": "
      "%.1f}\n",
      static_cast<unsigned long long>(found.rows), found.row ? static_cast<long long>(*found.row) : -1LL,
      static_cast<unsigned long long>(found.looked_at), time);
}

}  // namespace

int main() {
  for (const int ops : {100'000, 1'000'000}) {
    World world(ops);
    const auto left = world.run(world.turns), right = world.run(world.turns * 3 / 5);
    const auto more = world.run(world.turns, true), other = world.run(world.turns, false, true);
    measure(world, "the same ops", left, right);
    measure(world, "an op more in each turn", left, more);
    measure(world, "nothing in common", left, other);
    if (ops == 100'000) measure_search(world, left, right);
  }
  return 0;
}
