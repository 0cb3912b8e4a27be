// Branches and loops, and gradients through them.
#include <QtTest>

#include "engine/graph/control.h"
#include "engine/graph/passes/passes.h"
#include "engine/graph/run.h"
#include "engine/ops/core/ops.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::graph;

namespace {

using Inputs = std::span<const Tensor>;
const TensorSpec number{DType::float64, {}};

Tensor scalar_of(double value) {
  return Tensor::scalar(value, DType::float64);
}
Tensor above_one(const Tensor& x) {
  return testing::called("greater", {x, scalar_of(1)});
}
Tensor below(const Tensor& x, double limit) {
  return testing::called("less", {x, scalar_of(limit)});
}

Executable function_of(const std::function<Tensors(Inputs)>& function) {
  return Executable(run_passes(trace("f", std::array{number}, function)).back().passed.graph);
}

double at(const Executable& f, double x) {
  return f(Tensors{scalar_of(x)})[0].item();
}

/// x squared above 1, else its exponential.
Tensor square_or_exp(const Tensor& x) {
  return branch(
      above_one(x), [&] { return Tensors{ops::multiply(x, x)}; }, [&] { return Tensors{ops::exp(x)}; })[0];
}

/// x doubled until it reaches 100.
Tensor doubled_to_100(const Tensor& x) {
  return loop(
      std::array{x}, [](Inputs v) { return below(v[0], 100); },
      [](Inputs v) { return Tensors{ops::add(v[0], v[0])}; })[0];
}

/// x to the power of 4, by a loop that captures x and counts.
Tensor fourth_power(const Tensor& x) {
  return loop(
      std::array{scalar_of(0), scalar_of(1)}, [](Inputs v) { return below(v[0], 4); },
      [&](Inputs v) {
        return Tensors{ops::add(v[0], scalar_of(1)), ops::multiply(v[1], x)};
      })[1];
}

/// The derivative of that order, all tapes inside of the function.
Tensor derivative(const std::function<Tensor(const Tensor&)>& function, const Tensor& x, int order) {
  if (order == 0) return function(x);
  Tape tape;
  tape.start();
  tape.watch(x);
  const Tensor y = derivative(function, x, order - 1);
  return tape.gradient(std::array{y}, std::array{x})[0];
}

}  // namespace

class TestGraphControl : public QObject {
  Q_OBJECT

 private slots:
  void a_branch_runs_the_side_that_its_predicate_says() {
    const Executable f = function_of([](Inputs x) { return Tensors{square_or_exp(x[0])}; });
    QCOMPARE(at(f, 3), 9.0);
    QCOMPARE(at(f, 0), 1.0);
    QCOMPARE(
        trace("f", std::array{number}, [](Inputs x) { return Tensors{square_or_exp(x[0])}; }).text(),
        "f(x0: float64 ()) -> %3\n%1 = constant float64 ()\n%2 = greater(x0, %1)\n%3 = branch(%2, x0, x0)\n"
        "  if true:\n    true_fn(captured0: float64 ()) -> %1\n    %1 = multiply(captured0, captured0)\n"
        "  if false:\n    false_fn(captured0: float64 ()) -> %1\n    %1 = exp(captured0)\n");
  }

  void a_loop_runs_as_long_as_its_condition_holds() {
    const Executable f = function_of([](Inputs x) { return Tensors{doubled_to_100(x[0])}; });
    QCOMPARE(at(f, 1), 128.0);
    QCOMPARE(at(f, 99), 198.0);
    QCOMPARE(at(f, 500), 500.0);
  }

  void a_loop_uses_tensors_from_around_it() {
    const Executable f = function_of([](Inputs x) { return Tensors{fourth_power(x[0])}; });
    QCOMPARE(at(f, 3), 81.0);
  }

  void loops_and_branches_nest() {
    // Collatz: steps to 1.
    const Executable f = function_of([](Inputs x) {
      const Tensor two = scalar_of(2);
      return Tensors{loop(
          std::array{x[0], scalar_of(0)}, [](Inputs v) { return above_one(v[0]); },
          [&](Inputs v) {
            const Tensor half = ops::divide(v[0], two);
            const Tensor even = testing::called("equal", {testing::called("floor", {half}), half});
            const Tensor next = branch(
                even, [&] { return Tensors{half}; },
                [&] { return Tensors{ops::add(ops::multiply(v[0], scalar_of(3)), scalar_of(1))}; })[0];
            return Tensors{next, ops::add(v[1], scalar_of(1))};
          })[1]};
    });
    QCOMPARE(at(f, 12), 9.0);
    QCOMPARE(at(f, 27), 111.0);
  }

  void a_tape_around_the_call_differentiates_what_ran() {
    const Executable f = function_of([](Inputs x) { return Tensors{fourth_power(x[0])}; });
    const Tensor x = scalar_of(2);
    const auto eager = [&](const Tensor& value) { return f(Tensors{value})[0]; };
    QCOMPARE(derivative(eager, x, 1).item(), 32.0);
    QCOMPARE(derivative(eager, x, 2).item(), 48.0);
    QCOMPARE(derivative(eager, x, 3).item(), 48.0);
  }

  void a_tape_inside_differentiates_branches_and_loops_to_any_order() {
    const std::vector<double> powers = {16, 32, 48, 48, 24};
    for (int order = 0; order < 5; ++order) {
      const Executable f =
          function_of([&](Inputs x) { return Tensors{derivative(fourth_power, x[0], order)}; });
      QCOMPARE(at(f, 2), powers[static_cast<std::size_t>(order)]);
    }
    const Executable slope =
        function_of([](Inputs x) { return Tensors{derivative(square_or_exp, x[0], 1)}; });
    QCOMPARE(at(slope, 3), 6.0);
    QCOMPARE(at(slope, 0), 1.0);
    const Executable times =
        function_of([](Inputs x) { return Tensors{derivative(doubled_to_100, x[0], 1)}; });
    QCOMPARE(at(times, 1), 128.0);
    QCOMPARE(at(times, 500), 1.0);
  }

  void gradients_of_variables_flow_through_loops() {
    Variable w(scalar_of(3), "w");
    const Executable f = function_of([&](Inputs x) {
      Tape tape;
      tape.start();
      const Tensor y = fourth_power(ops::multiply(w.read(), x[0]));
      return Tensors{tape.gradient(std::array{y}, std::array{w})[0]};
    });
    QCOMPARE(at(f, 2), 4 * 27.0 * 16);
  }

  void assignments_in_branches_and_loops_happen_as_often_as_they_run() {
    Variable count(scalar_of(0), "count");
    const Executable f = function_of([&](Inputs x) {
      const Tensor last = loop(
          std::array{x[0]}, [](Inputs v) { return below(v[0], 100); },
          [&](Inputs v) {
            count.update([](const Tensor& value) { return ops::add(value, scalar_of(1)); });
            return Tensors{ops::add(v[0], v[0])};
          })[0];
      return Tensors{ops::add(last, count.read())};
    });
    QCOMPARE(count.peek().item(), 0.0);
    QCOMPARE(at(f, 1), 128.0 + 7);
    QCOMPARE(count.peek().item(), 7.0);
  }

  void a_trace_leaves_nothing_on_tapes_around_it() {
    Tape tape(true);
    tape.start();
    const Tensor x = scalar_of(3);
    tape.watch(x);
    const Tensor y = ops::multiply(x, x);
    Variable w(scalar_of(2), "w");
    (void)trace("f", std::array{number},
                [&](Inputs in) { return Tensors{ops::multiply(w.read(), ops::add(in[0], y))}; });
    QVERIFY(tape.watched_variables().empty());
    QCOMPARE(tape.gradient(std::array{y}, std::array{x})[0].item(), 6.0);
  }

  void sides_that_differ_are_refused() {
    const auto traced = [](const std::function<Tensors()>& one, const std::function<Tensors()>& other) {
      return trace("f", std::array{number}, [&](Inputs x) { return branch(above_one(x[0]), one, other); });
    };
    EXPECT_ERROR(TypeMismatchError,
                 traced([] { return Tensors{ops::zeros({2})}; },
                        [] { return Tensors{ops::zeros({2}, DType::int32)}; }),
                 "cond: result 0 of true_fn is float32 (2,), that of false_fn int32 (2,)");
    EXPECT_ERROR(InvalidArgumentError,
                 traced([] { return Tensors{ops::zeros({2})}; }, [] { return Tensors{}; }),
                 "cond: true_fn returns 1 tensors, false_fn 0");
    EXPECT_ERROR(TypeMismatchError,
                 trace("f", std::array{number},
                       [](Inputs x) {
                         return loop(
                             x, [](Inputs v) { return above_one(v[0]); },
                             [](Inputs) { return Tensors{ops::zeros({})}; });
                       }),
                 "while_loop: loop variable 0 is float64 (), and body makes it float32 ()");
    EXPECT_ERROR(InvalidArgumentError,
                 trace("f", std::array{number},
                       [](Inputs x) {
                         return loop(
                             x, [](Inputs v) { return v[0]; }, [](Inputs v) { return Tensors{v[0]}; });
                       }),
                 "while_loop: cond's result is float64 (); needs a scalar bool");
    EXPECT_ERROR(FailedPreconditionError,
                 branch(
                     scalar_of(1), [] { return Tensors{}; }, [] { return Tensors{}; }),
                 "cond: no graph function is being traced");
  }

  void a_tape_from_outside_cannot_be_played_inside() {
    Tape tape(true);
    tape.start();
    EXPECT_ERROR(FailedPreconditionError,
                 trace("f", std::array{number},
                       [&](Inputs x) { return tape.gradient(std::array{x[0]}, std::array{x[0]}); }),
                 "gradient: the tape was started outside of the graph function");
  }
};

TAPEDECK_TEST(TestGraphControl)
#include "tst_graph_control.moc"
