// Parts of a function that are computed once more, and what tapes know of variables inside branches and
// loops.
#include <QtTest>

#include "engine/graph/control.h"
#include "engine/graph/passes/passes.h"
#include "engine/graph/repeat.h"
#include "engine/graph/run.h"
#include "engine/ops/core/ops.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::graph;

namespace {

using Arguments = std::span<const Tensor>;
const TensorSpec real{DType::float64, {}};

Tensor real_of(double value) {
  return Tensor::scalar(value, DType::float64);
}

Executable real_function(const std::function<Tensors(Arguments)>& function) {
  return Executable(run_passes(trace("f", std::array{real}, function)).back().passed.graph);
}

/// x times `factor`, three times, in a loop.
Tensor scaled_thrice(const Tensor& x, const std::function<Tensor()>& factor) {
  return loop(
      std::array{real_of(0), x},
      [](Arguments v) {
        return testing::called("less", {v[0], real_of(3)});
      },
      [&](Arguments v) {
        return Tensors{ops::add(v[0], real_of(1)), ops::multiply(v[1], factor())};
      })[1];
}

/// The results of a repetition with other values in the place of the sources.
double repeated(const Repeat& repeat, std::size_t result, double source) {
  Tensors arguments = repeat.arguments;
  arguments[0] = real_of(source);
  return Executable(repeat.graph)(arguments)[result].item();
}

}  // namespace

class TestGraphRepeat : public QObject {
  Q_OBJECT

 private slots:
  void what_leads_from_a_source_to_a_target_is_a_function_of_the_source() {
    std::optional<Repeat> made;
    real_function([&](Arguments x) {
      const Tensor square = ops::multiply(x[0], x[0]), sum = ops::add(square, real_of(7));
      (void)ops::exp(x[0]);  // no target needs it
      made = repeat(std::array{sum}, std::array{Tape::Source{x[0], {}}}, {});
      return Tensors{sum};
    });
    QCOMPARE(made->free_sources, std::size_t(1));
    QCOMPARE(made->places, (std::vector<std::vector<std::size_t>>{{1}}));
    QCOMPARE(repeated(*made, 0, 5), 32.0);
    QCOMPARE(repeated(*made, 1, 5), 5.0);
    const auto ops =
        std::ranges::count_if(made->graph.nodes, [](const Node& node) { return node.kind == NodeKind::op; });
    QCOMPARE(ops, 2);
  }

  void a_source_between_others_is_a_result_and_a_constant_is_not_repeated() {
    std::optional<Repeat> through, held;
    real_function([&](Arguments x) {
      const Tensor square = ops::multiply(x[0], x[0]), cube = ops::multiply(square, x[0]);
      const std::array sources{Tape::Source{x[0], {}}, Tape::Source{square, {}}};
      through = repeat(std::array{cube}, sources, {});
      held = repeat(std::array{cube}, std::span(sources).first(1), std::array{square});
      return Tensors{cube};
    });
    QCOMPARE(through->free_sources, std::size_t(1));
    QCOMPARE(through->places, (std::vector<std::vector<std::size_t>>{{1}, {2}}));
    QCOMPARE(repeated(*through, 0, 2), 8.0);
    QCOMPARE(repeated(*through, 2, 2), 4.0);
    QCOMPARE(held->arguments.size(), std::size_t(2));  // x, and its square as a constant
  }

  void a_repetition_draws_what_the_function_drew() {
    const Executable f = real_function([&](Arguments x) {
      const Tensor many = ops::broadcast_to(x[0], {64});
      const Tensor kept = testing::called("dropout", {many}, {{"rate", 0.5}});
      const Repeat again = repeat(std::array{kept}, std::array{Tape::Source{many, {}}}, {});
      return Tensors{kept, Executable(again.graph)(again.arguments)[0]};
    });
    for (int run = 0; run < 3; ++run) {
      const Tensors found = f(Tensors{real_of(1)});
      const std::span one(found[0].data<double>(), 64), other(found[1].data<double>(), 64);
      QVERIFY(std::ranges::equal(one, other));
      QVERIFY(std::ranges::count(one, 0.0) > 0 && std::ranges::count(one, 0.0) < 64);
    }
  }

  void a_variable_that_only_a_loop_reads_has_a_gradient() {
    const Variable factor(real_of(2)), other(real_of(2));
    const Executable f = real_function([&](Arguments x) {
      Tape tape;
      tape.start();
      const Tensor y = scaled_thrice(x[0], [&] { return factor.read(); });
      const std::array sources{Tape::Source{{}, factor}, Tape::Source{{}, other}};
      const Tensors found = tape.gradient(std::array{y}, sources, {}, Unconnected::none);
      return found[1] ? Tensors{} : Tensors{found[0]};  // the other one is not connected
    });
    QCOMPARE(f(Tensors{real_of(5)}).at(0).item(), 60.0);
    Variable(factor).assign(real_of(3));
    QCOMPARE(f(Tensors{real_of(5)}).at(0).item(), 135.0);
  }

  void what_a_repetition_would_do_twice_is_refused() {
    Variable counter(real_of(0));
    const auto assigns = [&](Arguments x) {
      const Tensor y = scaled_thrice(x[0], [&] {
        counter.assign(ops::add(counter.read(), real_of(1)));
        return counter.read();
      });
      return repeat(std::array{y}, std::array{Tape::Source{x[0], {}}}, {}).arguments;
    };
    EXPECT_ERROR(UnimplementedError, real_function(assigns), "assigns to a variable, prints or draws");
    EXPECT_ERROR(FailedPreconditionError, repeat({}, {}, {}), "gradients: no graph function is being traced");
  }

  void runs_pause_and_reset_their_tape_where_the_function_does() {
    const Executable f = real_function([](Arguments x) {
      Tape tape;
      tape.start();
      tape.watch(x[0]);
      const Tensor forgotten = ops::multiply(x[0], real_of(100));
      tape.reset();
      tape.watch(x[0]);
      const Tensor y = scaled_thrice(x[0], [] { return real_of(2); });
      tape.trace_pause(true);
      const Tensor unseen = [&] {
        const StopRecording paused(tape);
        return ops::multiply(y, x[0]);
      }();
      tape.trace_pause(false);
      const Tensor sum = ops::add(ops::add(y, unseen), forgotten);
      return tape.gradient(std::array{sum}, std::array{x[0]});
    });
    QCOMPARE(f(Tensors{real_of(5)})[0].item(), 8.0);
  }

  void runs_start_their_tape_again_with_what_it_has() {
    const Executable f = real_function([](Arguments x) {
      Tape tape;
      tape.start();
      tape.watch(x[0]);
      const Tensor y = scaled_thrice(x[0], [] { return real_of(2); });
      tape.stop();
      const Tensor unseen = ops::multiply(y, real_of(100));
      tape.start();
      const Tensor z = ops::add(ops::multiply(y, x[0]), unseen);
      return tape.gradient(std::array{z}, std::array{x[0]});
    });
    QCOMPARE(f(Tensors{real_of(5)})[0].item(), 80.0);
  }

  void a_tape_from_outside_is_not_paused_inside() {
    Tape tape;
    tape.start();
    EXPECT_ERROR(FailedPreconditionError, real_function([&](Arguments x) {
                   tape.trace_pause(true);
                   return Tensors{x[0]};
                 }),
                 "stop_recording: the tape was started outside of the graph function");
    EXPECT_ERROR(FailedPreconditionError, real_function([&](Arguments x) {
                   tape.reset();
                   return Tensors{x[0]};
                 }),
                 "reset: the tape was started outside of the graph function");
  }
};

TAPEDECK_TEST(TestGraphRepeat)
#include "tst_graph_repeat.moc"
