// Tracing: what becomes a node, what stays a constant, what is refused.
#include <QtTest>

#include "engine/graph/run.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/random/random_state.h"
#include "engine/tape/tape.h"
#include "engine/tensor/symbolic_error.h"
#include "tests/engine/event_log.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"

using namespace tapedeck;
using graph::Executable;
using graph::Graph;

namespace {

const TensorSpec pair{DType::float64, {2}};

Tensor numbers(std::vector<double> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return Tensor::from_values<double>(values, shape);
}

std::vector<double> of_graph(const Graph& graph, const Tensors& arguments) {
  return Executable(graph)(arguments)[0].to_vector();
}

}  // namespace

class TestGraphTrace : public QObject {
  Q_OBJECT

 private slots:
  void calls_become_nodes_and_run_later() {
    EventLog log;
    const Graph graph = graph::trace("f", std::array{pair, pair}, [](std::span<const Tensor> x) {
      return Tensors{ops::exp(ops::multiply(x[0], x[1]))};
    });
    QCOMPARE(log.lines.size(), std::size_t{0});  // nothing ran
    QCOMPARE(graph.text(),
             "f(x0: float64 (2,), x1: float64 (2,)) -> %3\n%2 = multiply(x0, x1)\n%3 = exp(%2)\n");
    QCOMPARE(of_graph(graph, {numbers({0, 1}), numbers({5, 2})}), (std::vector{1.0, std::exp(2.0)}));
  }

  void tensors_from_before_are_constants_once_each() {
    const Tensor weight = numbers({3, 4});
    const Graph graph = graph::trace("f", std::array{pair}, [&](std::span<const Tensor> x) {
      return Tensors{ops::add(ops::multiply(x[0], weight), weight)};
    });
    QCOMPARE(graph.text(),
             "f(x0: float64 (2,)) -> %3\n%1 = constant float64 (2,)\n%2 = multiply(x0, %1)\n"
             "%3 = add(%2, %1)\n");
  }

  void a_value_has_no_elements_while_it_is_traced() {
    EXPECT_ERROR(
        SymbolicValueError,
        graph::trace("f", std::array{pair},
                     [](std::span<const Tensor> x) { return Tensors{Tensor::scalar(x[0].to_vector()[0])}; }),
        "a float64 tensor of shape (2,) has no value yet");
    EXPECT_ERROR(SymbolicValueError,
                 graph::trace("f", std::array{pair},
                              [](std::span<const Tensor> x) {
                                return Tensors{Tensor::scalar(ops::reduce_sum(x[0]).item())};
                              }),
                 "belongs to a graph function that is being traced");
  }

  void the_checks_of_an_op_run_while_it_is_traced() {
    EXPECT_ERROR(InvalidArgumentError,
                 graph::trace("f", std::array{pair},
                              [](std::span<const Tensor> x) {
                                return Tensors{ops::add(x[0], numbers({1, 2, 3}))};
                              }),
                 "add: ");
    QVERIFY(!current_tracer());
  }

  void a_tensor_of_a_trace_that_ended_is_refused() {
    Tensor kept;
    graph::trace("f", std::array{pair}, [&](std::span<const Tensor> x) {
      kept = ops::exp(x[0]);
      return Tensors{kept};
    });
    EXPECT_ERROR(InvalidArgumentError,
                 graph::trace("g", std::array{pair},
                              [&](std::span<const Tensor> x) { return Tensors{ops::add(x[0], kept)}; }),
                 "add: a float64 tensor of shape (2,) belongs to the trace of another graph function");
    EXPECT_ERROR(InvalidArgumentError, ops::exp(kept),
                 "exp: a float64 tensor of shape (2,) belongs to the trace");
    const Executable f(graph::trace("f", std::array{pair},
                                    [](std::span<const Tensor> x) { return Tensors{ops::exp(x[0])}; }));
    EXPECT_ERROR(InvalidArgumentError, f(Tensors{kept}), "f: x0 belongs to the trace");
  }

  void arguments_must_be_as_traced() {
    const Executable f(graph::trace("f", std::array{pair},
                                    [](std::span<const Tensor> x) { return Tensors{ops::exp(x[0])}; }));
    EXPECT_ERROR(InvalidArgumentError, f({}), "f: takes 1 tensors, got 0");
    EXPECT_ERROR(InvalidArgumentError, f(Tensors{numbers({1, 2, 3})}),
                 "f: x0 is float64 (3,); it was traced for float64 (2,)");
    EXPECT_ERROR(InvalidArgumentError, f(Tensors{Tensor()}), "f: x0 is undefined");
  }

  void variables_are_read_and_assigned_in_the_programs_order() {
    Variable count(Tensor::scalar(1, DType::float64), "count");
    const Graph graph = graph::trace("f", std::array{pair}, [&](std::span<const Tensor> x) {
      const Tensor before = count.read();
      count.update([](const Tensor& value) { return ops::add(value, Tensor::scalar(1, DType::float64)); });
      return Tensors{ops::multiply(x[0], before), count.read()};
    });
    QCOMPARE(count.peek().item(), 1.0);  // nothing was assigned yet
    const Executable f(graph);
    const Tensors first = f(Tensors{numbers({2, 3})}), second = f(Tensors{numbers({2, 3})});
    QCOMPARE(first[0].to_vector(), (std::vector{2.0, 3.0}));
    QCOMPARE(first[1].item(), 2.0);
    QCOMPARE(second[0].to_vector(), (std::vector{4.0, 6.0}));
    QCOMPARE(count.peek().item(), 3.0);
    EXPECT_ERROR(InvalidArgumentError,
                 graph::trace("g", {},
                              [&](auto) {
                                count.assign(numbers({1, 2}));
                                return Tensors{};
                              }),
                 "assign to count:0: the variable has shape ()");
  }

  void a_variable_cannot_begin_with_a_traced_value() {
    EXPECT_ERROR(InvalidArgumentError,
                 graph::trace("f", std::array{pair},
                              [](std::span<const Tensor> x) { return Tensors{Variable(x[0], "w").read()}; }),
                 "Variable w: its initial value belongs to a graph function");
  }

  void random_numbers_are_drawn_by_runs_and_not_by_the_trace() {
    set_random_seed(7);
    const Tensors eager = {ops::random_uniform({3}), ops::random_normal({2}), ops::random_uniform({3})};
    set_random_seed(7);
    const Executable f(graph::trace("f", {}, [](auto) {
      return Tensors{ops::random_uniform({3}), ops::random_normal({2})};
    }));
    const Tensors first = f({}), second = f({});
    QCOMPARE(first[0].to_vector(), eager[0].to_vector());
    QCOMPARE(first[1].to_vector(), eager[1].to_vector());
    QCOMPARE(second[0].to_vector(), eager[2].to_vector());
  }

  void a_tape_inside_makes_its_gradients_part_of_the_graph() {
    const Graph graph = graph::trace("f", std::array{pair}, [](std::span<const Tensor> x) {
      Tape tape;
      tape.start();
      tape.watch(x[0]);
      const Tensor y = ops::multiply(ops::multiply(x[0], x[0]), x[0]);
      return Tensors{tape.gradient(std::array{y}, std::array{x[0]})[0]};
    });
    QCOMPARE(of_graph(graph, {numbers({1, 2})}), (std::vector{3.0, 12.0}));
  }

  void a_tape_around_differentiates_what_ran() {
    const Executable f(graph::trace("f", std::array{pair}, [](std::span<const Tensor> x) {
      return Tensors{ops::multiply(ops::multiply(x[0], x[0]), x[0])};
    }));
    Tape outer, inner;
    const Tensor x = numbers({1, 2});
    outer.start();
    outer.watch(x);
    inner.start();
    inner.watch(x);
    const Tensor y = f(Tensors{x})[0];
    const Tensor first = inner.gradient(std::array{y}, std::array{x})[0];
    QCOMPARE(first.to_vector(), (std::vector{3.0, 12.0}));
    QCOMPARE(outer.gradient(std::array{first}, std::array{x})[0].to_vector(), (std::vector{6.0, 12.0}));
  }

  void a_function_inside_captures_what_the_one_around_computes() {
    Graph inner;
    const Graph outer = graph::trace("outer", std::array{pair}, [&](std::span<const Tensor> x) {
      const Tensor squared = ops::multiply(x[0], x[0]);
      inner = graph::trace("inner", std::array{pair}, [&](std::span<const Tensor> z) {
        return Tensors{ops::add(z[0], squared), squared};
      });
      return Tensors{Executable(inner)(Tensors{x[0], inner.captured[0]})[0]};
    });
    QCOMPARE(inner.text(),
             "inner(x0: float64 (2,), captured0: float64 (2,)) -> %2, captured0\n"
             "%2 = add(x0, captured0)\n");
    QCOMPARE(of_graph(outer, {numbers({2, 3})}), (std::vector{6.0, 12.0}));
  }

  void an_observer_sees_each_node_run() {
    const Executable f(graph::trace("f", std::array{pair}, [](std::span<const Tensor> x) {
      return Tensors{ops::exp(ops::negative(x[0]))};
    }));
    EventLog log;
    f(Tensors{numbers({1, 2})});
    QCOMPARE(log.lines,
             (std::vector<std::string>{"begin 1 op negative", "end 1", "begin 2 op exp", "end 2"}));
  }

  void results_that_are_arguments_or_constants_come_as_they_are() {
    const Tensor constant = numbers({5});
    const Executable f(graph::trace("f", std::array{pair}, [&](std::span<const Tensor> x) {
      return Tensors{x[0], constant, x[0]};
    }));
    const Tensor x = numbers({1, 2});
    const Tensors results = f(Tensors{x});
    QVERIFY(results[0].same_body(x) && results[2].same_body(x) && results[1].same_body(constant));
    EXPECT_ERROR(InvalidArgumentError, graph::trace("f", {}, [](auto) { return Tensors{Tensor()}; }),
                 "f: result 0 is undefined");
  }
};

TAPEDECK_TEST(TestGraphTrace)
#include "tst_graph_trace.moc"
