// Runs of a program for the tests of comparisons, and the answers about them.
#pragma once

#include "engine/debug/compare/comparisons.h"
#include "engine/ops/core/ops.h"
#include "engine/record/trace/source_location.h"
#include "engine/tape/variable.h"
#include "tests/engine/debug/inquiry.h"

namespace compared {

using namespace tapedeck;
using namespace tapedeck::protocol;

inline thread_local std::uint32_t compared_line = 0;
inline std::uint32_t capture_compared_line() {
  return compared_line;
}
inline void at_line(std::uint32_t line) {
  compared_line = intern_location({"train", {}, line});
}

/// A recording, the runs in it, and the answers about them.
struct Runs : Recording {
  using Recording::Recording;
  debug::Branches branches{recorder};
  debug::Comparisons comparisons{recorder, branches};
  CancelFlag cancel{false};
  std::uint64_t replays = 0;
  debug::Comparisons::Find original = [this](std::uint64_t id) {
    ++replays;
    return find_value(recorder, id).value;
  };

  template <class Program>
  ComparedSide run(Program&& program) {
    const std::uint64_t first = count() + 1;
    recorder.begin_cell("train");
    program();
    recorder.end_cell();
    return {first, count(), {}, {}};
  }
  Compared compare(const ComparedSide& left, const ComparedSide& right) {
    const QuietScope quiet;
    return comparisons.make({left, right}, cancel, {});
  }
  FirstDifference first(const Compared& compared, double relative = 0, double absolute = 0) {
    const QuietScope quiet;
    return comparisons.first_difference({compared.comparison, relative, absolute, {{"train", "cell 3"}}},
                                        original, cancel, {});
  }
  ComparedRow row(const Compared& compared, std::uint64_t at) {
    return comparisons.rows({compared.comparison, at, 1}).rows.at(0);
  }
  ComparedOperands operands(const Compared& compared, std::uint64_t at, double relative = 0) {
    const QuietScope quiet;
    return comparisons.operands({compared.comparison, at, relative, 0}, original, cancel);
  }
};

/// Gradient descent on (w·x − 1)², with another rate from step `changed` on.
inline void train(Variable& w, int steps, double rate = 0.01, int changed = 1 << 30,
                  double other_rate = 0.02) {
  const Tensor x = floats({0.5f, 1.5f, 2.5f});
  for (int step = 0; step < steps; ++step) {
    at_line(2);
    const Tensor y = ops::multiply(w.read(), x);
    at_line(3);
    const Tensor error = ops::subtract(y, Tensor::scalar(1.0));
    ops::reduce_mean(ops::square(error));
    at_line(4);
    const Tensor slope = ops::multiply(error, x);
    at_line(5);
    const Tensor move = ops::multiply(slope, Tensor::scalar(step < changed ? rate : other_rate));
    at_line(6);
    w.assign(ops::subtract(w.read(), move));
  }
}

constexpr int ops_of_step = 7;

}  // namespace compared
