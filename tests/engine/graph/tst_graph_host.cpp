// What programs read of symbolic tensors, calls of the host's functions, gradients of one's own, graphs in
// graphs.
#include <QtTest>

#include "engine/graph/control.h"
#include "engine/graph/passes/passes.h"
#include "engine/graph/run.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/random/random_state.h"
#include "engine/tape/tape.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"

using namespace tapedeck;
using graph::Executable;
using graph::Graph;
using graph::GraphTracer;

namespace {

const TensorSpec three{DType::float64, {3}};

Tensor three_of(double a, double b, double c) {
  return Tensor::from_values<double>(std::array{a, b, c}, {3});
}

GraphTracer& tracing() {
  return *dynamic_cast<GraphTracer*>(current_tracer());
}

/// x · x with the gradient 10 · d · x.
Tensor own_square(const Tensor& x) {
  const auto vjp = [x](std::span<const Tensor> d) {
    return Tensors{ops::multiply(ops::multiply(d[0], x), Tensor::scalar(10, DType::float64))};
  };
  const Tensors result = custom_gradient("square", {&x, 1}, [&] {
    return CustomResult{{ops::multiply(x, x)}, vjp};
  });
  if (current_tracer()) {
    graph::OwnGradient own;
    own.name = "square";
    tracing().add_own_gradient(std::move(own), {&x, 1}, result, vjp);
  }
  return result[0];
}

/// QVERIFY returns from the function that it is in, which must return tensors here.
void expect_while_traced(bool holds) {
  QVERIFY(holds);
}

std::vector<double> gradient_of(const std::function<Tensor(const Tensor&)>& function, const Tensor& x) {
  Tape tape;
  tape.start();
  tape.watch(x);
  const Tensor y = ops::reduce_sum(function(x));
  tape.stop();
  return tape.gradient(std::array{y}, std::array{x})[0].to_vector();
}

Tensor dropped(const Tensor& x, double rate) {
  const OpDef& op = *Registry::instance().find("dropout");
  std::vector<Attribute> attributes;
  for (const AttributeSpec& spec : op.attributes) attributes.push_back(spec.fallback);
  attributes[op.place_of("rate")] = rate;
  resolve_random(op, attributes, {&x, 1});
  return run_op1(op, {x}, Attributes(std::move(attributes)));
}

Tensor called(const Graph& graph, const Tensor& x) {
  return Executable(graph)(Tensors{x})[0];
}

}  // namespace

class TestGraphHost : public QObject {
  Q_OBJECT

 private slots:
  void values_of_shapes_and_constants_are_known() {
    graph::trace("f", std::array{three}, [](std::span<const Tensor> x) {
      const Tensor shape = run_op1(*Registry::instance().find("shape"), {x[0]},
                                   Attributes(std::vector<Attribute>{DType::int32}));
      const Tensor twice = ops::add(shape, shape), sum = ops::add(x[0], x[0]);
      expect_while_traced(tracing().known_value(twice)->to_vector() == std::vector{6.0});
      expect_while_traced(!tracing().known_value(sum) && !tracing().known_value(x[0]));
      expect_while_traced(tracing().known_value(ops::zeros({2}, DType::float32))->to_vector() ==
                          (std::vector{0.0, 0.0}));
      expect_while_traced(!tracing().known_value(ops::random_uniform({2})));
      expect_while_traced(tracing().name_of(x[0]) == "x0" && tracing().name_of(sum).starts_with("add_"));
      // in a function inside, too
      const Graph inner = graph::trace("g", {}, [&](auto) {
        expect_while_traced(tracing().known_value(ops::add(twice, twice))->to_vector() == std::vector{12.0});
        expect_while_traced(tracing().name_of(x[0]) == "x0");
        return Tensors{};
      });
      return Tensors{sum};
    });
  }

  void first_values_are_computed_at_once() {
    set_random_seed(3);
    const std::vector<double> eager = ops::random_uniform({2}).to_vector();
    set_random_seed(3);
    graph::trace("f", std::array{three}, [&](std::span<const Tensor> x) {
      const Tensor drawn = ops::random_uniform({2});
      expect_while_traced(tracing().computed_now(drawn)->to_vector() == eager);
      expect_while_traced(tracing().computed_now(ops::add(drawn, drawn))->to_vector() ==
                          (std::vector{2 * eager[0], 2 * eager[1]}));
      expect_while_traced(!tracing().computed_now(ops::exp(x[0])));
      return Tensors{};
    });
  }

  void host_calls_come_at_each_run_in_the_programs_order() {
    std::vector<double> seen;
    const auto tell = [&seen](const Tensor& value) {
      const auto function = [&seen](std::span<const Tensor> values) {
        seen.push_back(values[0].to_vector()[0]);
        return Tensors{};
      };
      graph::host_call({"tell", function, false, {}}, {}, {&value, 1});
    };
    const Graph graph = graph::trace("f", std::array{three}, [&](std::span<const Tensor> x) {
      tell(x[0]);
      const Tensor more = ops::add(x[0], x[0]);
      tell(more);
      return graph::branch(
          ops::greater(ops::reduce_sum(x[0]), Tensor::scalar(0, DType::float64)),
          [&] {
            tell(ops::multiply(more, more));
            return Tensors{more};
          },
          [&] { return Tensors{x[0]}; });
    });
    QVERIFY(seen.empty());
    QVERIFY(graph.text().find("call tell(x0)") != std::string::npos);
    const Graph passed = graph::run_passes(graph).back().passed.graph;
    called(passed, three_of(1, 0, 0));
    called(passed, three_of(-1, 0, 0));
    QCOMPARE(seen, (std::vector{1.0, 2.0, 4.0, -1.0, -2.0}));
  }

  void host_calls_run_under_the_device_of_the_trace() {
    std::vector<bool> has_device;
    const auto call = [&has_device] {
      const auto function = [&has_device](std::span<const Tensor>) {
        has_device.push_back(device_scope().has_value());
        return Tensors{};
      };
      graph::host_call({"note", function, false, {}}, {}, {});
    };
    const Graph graph = graph::trace("f", std::array{three}, [&](std::span<const Tensor> x) {
      call();
      const DeviceScope on_the_cpu(Device{});
      call();
      return Tensors{x[0]};
    });
    called(graph, three_of(1, 0, 0));
    QCOMPARE(has_device, (std::vector{false, true}));
  }

  void results_of_host_calls_have_gradients_where_they_are_differentiable() {
    const Tensor x = three_of(1, 2, 3);
    const auto cubed = [](bool differentiable) {
      const auto function = [](std::span<const Tensor> a) {
        return Tensors{ops::multiply(ops::multiply(a[0], a[0]), a[0])};
      };
      return graph::HostCall{"cubed", function, differentiable, {}};
    };
    const graph::ValueSpec result{DType::float64, {3}}, any{DType::float64, {1}, {0, true}};
    for (const graph::ValueSpec& spec : {result, any}) {
      const Graph graph = graph::trace("f", std::array{three}, [&](std::span<const Tensor> a) {
        return graph::host_call(cubed(true), std::array{spec}, a);
      });
      QVERIFY(graph.text().find("%1 = call cubed(x0)") != std::string::npos);
      const Graph passed = graph::run_passes(graph).back().passed.graph;
      QCOMPARE(called(passed, x).to_vector(), (std::vector{1.0, 8.0, 27.0}));
      QCOMPARE(gradient_of([&](const Tensor& a) { return called(passed, a); }, x),
               (std::vector{3.0, 12.0, 27.0}));
    }
    // A tape inside, once and twice: each run plays it.
    for (const bool differentiable : {true, false}) {
      const Graph inside = graph::trace("g", std::array{three}, [&](std::span<const Tensor> a) {
        Tape outer, inner;
        outer.start();
        outer.watch(a[0]);
        inner.start();
        inner.watch(a[0]);
        const Tensor y = ops::reduce_sum(graph::host_call(cubed(differentiable), std::array{result}, a)[0]);
        inner.stop();
        const Tensor first = inner.gradient(std::array{y}, std::array{a[0]})[0];
        expect_while_traced(static_cast<bool>(first) == differentiable);
        if (!differentiable) return Tensors{y};
        const Tensor sum = ops::reduce_sum(first);
        outer.stop();
        return Tensors{first, outer.gradient(std::array{sum}, std::array{a[0]})[0]};
      });
      const Tensors found = Executable(inside)(Tensors{x});
      if (!differentiable) continue;
      QCOMPARE(found[0].to_vector(), (std::vector{3.0, 12.0, 27.0}));
      QCOMPARE(found[1].to_vector(), (std::vector{6.0, 12.0, 18.0}));
    }
  }

  void host_calls_give_what_the_graph_says() {
    const auto returning = [](Tensors results) {
      return graph::HostCall{"given", [results](auto) { return results; }, false, {}};
    };
    const graph::ValueSpec first_open{DType::float32, {7, 2}, {1, false}};
    const auto ran = [&](Tensors results) {
      return Executable(graph::trace("f", {}, [&](auto) {
        return graph::host_call(returning(results), std::array{first_open}, {});
      }))({});
    };
    for (const std::int64_t rows : {0, 1, 5})
      QCOMPARE(ran({ops::zeros({rows, 2}, DType::float32)})[0].shape(), (Shape{rows, 2}));
    EXPECT_ERROR(InvalidArgumentError, ran({}), "given: gave 0 tensors; the graph has 1");
    EXPECT_ERROR(InvalidArgumentError, ran({ops::zeros({4, 3}, DType::float32)}),
                 "given: result 0 is float32 (4, 3); the graph has float32 (None, 2)");
    EXPECT_ERROR(InvalidArgumentError, ran({ops::zeros({4, 2}, DType::int32)}),
                 "given: result 0 is int32 (4, 2); the graph has float32 (None, 2)");
  }

  void another_graph_owns_what_a_host_call_needs() {
    int owned = 0;
    std::function<graph::HostCall()> make;
    make = [&] {
      ++owned;
      return graph::HostCall{"h", [](std::span<const Tensor> a) { return Tensors{a[0]}; }, true, make};
    };
    const graph::ValueSpec result{DType::float64, {3}};
    const Graph inner = graph::trace("f", std::array{three}, [&](std::span<const Tensor> a) {
      return graph::host_call(make(), std::array{result}, a);
    });
    QCOMPARE(owned, 1);
    called(inner, three_of(1, 2, 3));
    QCOMPARE(owned, 1);
    const Graph outer = graph::trace("g", std::array{three},
                                     [&](std::span<const Tensor> a) { return Tensors{called(inner, a[0])}; });
    QCOMPARE(owned, 2);
    QCOMPARE(called(outer, three_of(1, 2, 3)).to_vector(), (std::vector{1.0, 2.0, 3.0}));
  }

  void a_gradient_of_ones_own_counts_inside_and_outside() {
    const Tensor x = three_of(1, 2, 3);
    const std::vector<double> expected = gradient_of(own_square, x);
    QCOMPARE(expected, (std::vector{10.0, 20.0, 30.0}));
    const Graph graph = graph::trace("f", std::array{three},
                                     [](std::span<const Tensor> a) { return Tensors{own_square(a[0])}; });
    const Graph passed = graph::run_passes(graph).back().passed.graph;
    QCOMPARE(gradient_of([&](const Tensor& a) { return called(passed, a); }, x), expected);
    // a graph in a graph
    const Graph around = graph::trace(
        "g", std::array{three}, [&](std::span<const Tensor> a) { return Tensors{called(passed, a[0])}; });
    QCOMPARE(gradient_of([&](const Tensor& a) { return called(around, a); }, x), expected);
    // the gradient inside
    const Graph inside = graph::trace("h", std::array{three}, [&](std::span<const Tensor> a) {
      Tape tape;
      tape.start();
      tape.watch(a[0]);
      const Tensor y = ops::reduce_sum(called(passed, a[0]));
      tape.stop();
      return tape.gradient(std::array{y}, std::array{a[0]});
    });
    QCOMPARE(called(inside, x).to_vector(), expected);
  }

  void a_gradient_repeats_what_was_drawn() {
    const Graph graph = graph::trace("f", std::array{three}, [](std::span<const Tensor> a) {
      Tape tape;
      tape.start();
      tape.watch(a[0]);
      const Tensor y = dropped(dropped(a[0], 0.5), 0.25);
      tape.stop();
      return Tensors{y, tape.gradient(std::array{y}, std::array{a[0]})[0]};
    });
    QVERIFY(graph.text().find("draws as %1)") != std::string::npos);
    const Graph passed = graph::run_passes(graph).back().passed.graph;
    const Graph around = graph::trace(
        "g", std::array{three}, [&](std::span<const Tensor> a) { return Executable(passed)(Tensors{a[0]}); });
    for (const Graph& each : {graph, passed, around})
      for (int run = 0; run < 5; ++run) {
        const Tensors found = Executable(each)(Tensors{three_of(1, 1, 1)});
        QCOMPARE(found[0].to_vector(), found[1].to_vector());  // of ones they are the same
      }
  }

  void graphs_with_branches_and_loops_run_in_graphs() {
    const Tensor zero = Tensor::scalar(0, DType::float64), one = Tensor::scalar(1, DType::float64);
    const Graph inner = graph::trace("f", std::array{three}, [&](std::span<const Tensor> x) {
      const Tensors taken = graph::branch(
          ops::greater(ops::reduce_sum(x[0]), zero), [&] { return Tensors{ops::exp(x[0])}; },
          [&] { return Tensors{ops::negative(x[0])}; });
      const Tensors last = graph::loop(
          Tensors{zero, taken[0]},
          [&](std::span<const Tensor> v) { return ops::less(v[0], Tensor::scalar(3, DType::float64)); },
          [&](std::span<const Tensor> v) {
            return Tensors{ops::add(v[0], one), ops::multiply(v[1], taken[0])};
          });
      return Tensors{last[1]};
    });
    const Graph outer = graph::trace("g", std::array{three}, [&](std::span<const Tensor> x) {
      return Tensors{ops::add(called(inner, x[0]), called(inner, ops::negative(x[0])))};
    });
    for (const Tensor& x : {three_of(0.5, 0.25, 0), three_of(-1, 0.5, 0)}) {
      const Tensor expected = ops::add(called(inner, x), called(inner, ops::negative(x)));
      QCOMPARE(called(outer, x).to_vector(), expected.to_vector());
      QCOMPARE(
          gradient_of([&](const Tensor& a) { return called(outer, a); }, x),
          gradient_of(
              [&](const Tensor& a) { return ops::add(called(inner, a), called(inner, ops::negative(a))); },
              x));
    }
  }

  void constants_that_a_tape_may_watch_are_not_folded() {
    const Tensor weight = three_of(1, 2, 3);
    const Graph graph = graph::trace("f", {}, [&](auto) { return Tensors{ops::multiply(weight, weight)}; });
    QVERIFY(graph.watched_up_to >= weight.id());
    QCOMPARE(graph::fold_constants(graph).changes.size(), std::size_t{0});
    Graph unwatched = graph;
    unwatched.watched_up_to = weight.id() - 1;
    QCOMPARE(graph::fold_constants(unwatched).changes.size(), std::size_t{1});
    const Graph passed = graph::run_passes(graph).back().passed.graph;
    QCOMPARE(gradient_of([&](const Tensor&) { return Executable(passed)({})[0]; }, weight),
             (std::vector{2.0, 4.0, 6.0}));
  }
};

TAPEDECK_TEST(TestGraphHost)
#include "tst_graph_host.moc"
