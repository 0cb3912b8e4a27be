// Functions with branches, loops and inner calls, and what their calls record, for tests.
#pragma once

#include "engine/graph/control.h"
#include "engine/graph/passes/passes.h"
#include "engine/graph/run.h"
#include "engine/ops/core/ops.h"
#include "engine/record/trace/source_location.h"
#include "tests/engine/debug/compared_runs.h"
#include "tests/engine/ops/op_call.h"

namespace recorded_calls {

using namespace tapedeck;
using namespace tapedeck::graph;
using compared::at_line;
using protocol::Record;
using protocol::RecordKind;

using Inputs = std::span<const Tensor>;
inline const TensorSpec number{DType::float64, {}};

inline Tensor scalar_of(double value) {
  return Tensor::scalar(value, DType::float64);
}

inline std::shared_ptr<const Executable> function_of(const std::string& name,
                                                     const std::function<Tensors(Inputs)>& function) {
  return std::make_shared<const Executable>(
      run_passes(trace(name, std::array{number}, function)).back().passed.graph);
}

/// In line 2 x², in lines 3 to 6 its tanh or its exponential, in lines 7 and 8 that doubled until it
/// reaches 3.
inline Tensors branch_and_loop(Inputs x) {
  at_line(2);
  const Tensor square = ops::multiply(x[0], x[0]);
  at_line(3);
  const Tensor side = branch(
      testing::called("greater", {square, scalar_of(1)}),
      [&] {
        at_line(4);
        return Tensors{ops::tanh(square)};
      },
      [&] {
        at_line(6);
        Tensors other{ops::exp(square)};
        at_line(3);
        return other;
      })[0];
  at_line(7);
  return loop(
      std::array{side},
      [](Inputs v) {
        return testing::called("less", {v[0], scalar_of(3)});
      },
      [](Inputs v) {
        at_line(8);
        Tensors next{ops::add(v[0], v[0])};
        at_line(7);
        return next;
      });
}

inline Tensors call(const std::shared_ptr<const Executable>& function, double x) {
  at_line(20);
  return function->call(Tensors{scalar_of(x)});
}

/// A line a record, indented as deep as it is: "  if line 3: true"; backward ones with "◀" behind.
inline std::string tree(const Recording& recording, const protocol::Record& record) {
  (void)recording;
  return std::string(2 * std::size_t{record.depth}, ' ') + record.op + (record.backward ? " ◀" : "");
}
inline std::string tree(const Recording& recording) {
  std::string text;
  for (std::uint32_t number = 1; number <= recording.count(); ++number)
    text += tree(recording, recording.at(number)) + "\n";
  return text;
}

inline const std::string called_with_3 =
    "f(x0: float64 ())\n"
    "  multiply\n"
    "  greater\n"
    "  if line 3: true\n"
    "    tanh\n"
    "  loop line 7\n"
    "    less\n"
    "    iteration 1\n"
    "      add\n"
    "    less\n"
    "    iteration 2\n"
    "      add\n"
    "    less\n";

/// In line 12 tanh(exp(x)).
inline std::shared_ptr<const Executable> squashed() {
  return function_of("g", [](Inputs x) {
    at_line(12);
    return Tensors{ops::tanh(ops::exp(x[0]))};
  });
}

/// g in line 2, and in line 3 the double of that.
inline std::shared_ptr<const Executable> caller_of_g() {
  const auto g = squashed();
  return function_of("f", [g](Inputs x) {
    at_line(2);
    const Tensor y = g->call(x)[0];
    at_line(3);
    return Tensors{ops::add(y, y)};
  });
}

}  // namespace recorded_calls
