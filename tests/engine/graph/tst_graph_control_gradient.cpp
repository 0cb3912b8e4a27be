// Gradients of functions with branches, loops, gradients of their own and unknown extents: graphs, and the
// same to the last bit as the ops called one by one.
#include <QtTest>

#include "engine/graph/control.h"
#include "engine/graph/run.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/ops.h"
#include "tests/engine/event_log.h"
#include "tests/test_program.h"

using namespace tapedeck;
using graph::Executable;
using graph::Graph;

namespace {

using Inputs = std::span<const Tensor>;
using Function = std::function<Tensors(Inputs)>;
using Condition = std::function<Tensor(Inputs)>;

/// Sums of these depend on their order.
Tensor varied(const Shape& shape, int seed) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  std::uint32_t state = 54321U + static_cast<std::uint32_t>(seed) * 977U;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
  }
  return Tensor::from_values<float>(values, shape);
}

/// In a trace a branch, else the side that the predicate names.
Tensors choose(const Tensor& predicate, const std::function<Tensors()>& yes,
               const std::function<Tensors()>& no) {
  if (current_tracer()) return graph::branch(predicate, yes, no);
  return predicate.item() != 0 ? yes() : no();
}

/// In a trace a loop, else its iterations.
Tensors repeat_while(Inputs first, const Condition& holds, const Function& body) {
  if (current_tracer()) return graph::loop(first, holds, body);
  Tensors variables(first.begin(), first.end());
  while (holds(variables).item() != 0) variables = body(variables);
  return variables;
}

/// Runs the body `count` times, a scalar int32.
Tensors times(const Tensor& count, const Tensors& first, const Function& body) {
  Tensors variables{Tensor::scalar(0, DType::int32)};
  variables.insert(variables.end(), first.begin(), first.end());
  Tensors after = repeat_while(
      variables, [&](Inputs all) { return ops::less(all[0], count); },
      [&](Inputs all) {
        Tensors next = body(all.subspan(1));
        next.insert(next.begin(), all[0] + Tensor::scalar(1, DType::int32));
        return next;
      });
  after.erase(after.begin());
  return after;
}

Graph graph_of(const Tensors& arguments, const Function& function) {
  const std::uint64_t newest = detail::newest_tensor_id();
  std::vector<TensorSpec> specs;
  for (const Tensor& argument : arguments) specs.push_back({argument.dtype(), argument.shape()});
  Graph made = graph::trace("f", specs, function);
  made.watched_up_to = newest;
  return made;
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  if (!tensor) return {};
  const Tensor row_major = tensor.make_contiguous();
  return {row_major.raw(), row_major.raw() + row_major.bytes()};
}

bool equal_bits(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (bytes_of(a[i]) != bytes_of(b[i])) return false;
  return true;
}

/// Gradients of the results' sum; `vjps`: how many VJPs an observer saw in the playback alone.
Tensors gradients_of(const Function& function, const Tensors& x, std::size_t* vjps = nullptr) {
  Tape tape;
  tape.start();
  for (const Tensor& each : x) tape.watch(each);
  const Tensors y = function(x);
  tape.stop();
  Tensors targets;
  for (const Tensor& each : y)
    if (has_gradients(each.dtype())) targets.push_back(each);
  std::optional<EventLog> log;
  if (vjps) log.emplace();
  Tensors gradients = tape.gradient(targets, std::span<const Tensor>(x));
  if (vjps)
    *vjps = static_cast<std::size_t>(std::ranges::count_if(
        log->lines, [](const auto& line) { return line.find(" vjp ") != std::string::npos; }));
  return gradients;
}

Tensors derivative(const Function& function, const Tensors& x, int order) {
  if (order == 0) return function(x);
  Tape tape;
  tape.start();
  tape.watch(x[0]);
  const Tensors y = derivative(function, x, order - 1);
  tape.stop();
  return tape.gradient(std::span<const Tensor>(y).first(1), std::span<const Tensor>(x).first(1));
}

/// Values, gradients, and whether these come of one call whose gradient is a graph.
void expect_graph(const Tensors& arguments, const Function& function, bool as_one_call = true) {
  const Executable executable(graph_of(arguments, function));
  const Function as_graph = [&](Inputs inputs) { return executable(inputs); };
  const Tensors expected = gradients_of(function, arguments);
  for (int run = 0; run < 2; ++run) {
    QVERIFY(equal_bits(as_graph(arguments), function(arguments)));
    QVERIFY(equal_bits(gradients_of(as_graph, arguments), expected));
    std::size_t vjps = 0;
    QVERIFY(equal_bits(gradients_of(as_graph, arguments, &vjps), expected));
    QCOMPARE(vjps == 1, as_one_call);
  }
}

Tensor number(double value) {
  return Tensor::scalar(value);
}
Tensor integer(int value) {
  return Tensor::scalar(value, DType::int32);
}

Tensors two_sides(Inputs x) {
  const Tensor before = ops::exp(x[0]) * x[1];
  const Tensors taken = choose(
      ops::less(x[2], number(0)),
      [&] {
        return Tensors{ops::tanh(before) * x[0] + before, before * before};
      },
      [&] {
        return Tensors{ops::sin(before * x[1]), before * x[1] * x[1]};
      });
  return {ops::reduce_sum(taken[0] * taken[1] + x[1] * x[0]) + ops::reduce_sum(x[1] * taken[0])};
}

Tensors recurrence(Inputs x) {
  const Tensors after = times(x[3], {x[0] * 1.0, x[1] * 2.0}, [&](Inputs state) {
    const Tensor hidden = ops::tanh(state[0] * x[2] + state[1]);
    return Tensors{hidden, state[1] * hidden + x[2]};
  });
  return {ops::reduce_sum(after[0] * x[2]) + ops::reduce_sum(after[1] * after[0])};
}

}  // namespace

class TestGraphControlGradient : public QObject {
  Q_OBJECT

 private slots:
  void the_gradient_of_a_branch_is_a_branch() {
    for (const double sign : {-1.0, 1.0})
      expect_graph({varied({5}, 1), varied({5}, 2), number(sign)}, two_sides);
  }

  void an_input_that_the_side_does_not_read_has_no_gradient() {
    const Function f = [](Inputs x) {
      const Tensor root = ops::sqrt(x[0] * 1.0);  // the derivative at 0 is infinite
      return choose(
          ops::less(x[2], number(0)), [&] { return Tensors{ops::reduce_sum(root * x[1])}; },
          [&] { return Tensors{ops::reduce_sum(x[1] * x[1])}; });
    };
    const Tensor zeros = ops::zeros({4}, DType::float32);
    for (const double sign : {-1.0, 1.0}) expect_graph({zeros, varied({4}, 2), number(sign)}, f);
    const Executable executable(graph_of({zeros, varied({4}, 2), number(1)}, f));
    const Tensors gradients =
        gradients_of([&](Inputs in) { return executable(in); }, {zeros, varied({4}, 2), number(1)});
    QVERIFY(!gradients[0]);
    QVERIFY(bool(gradients[1]));
  }

  void a_side_may_pass_on_what_it_gets() {
    const Function f = [](Inputs x) {
      const Tensor before = ops::exp(x[0]) * x[1];
      const Tensors taken = choose(
          ops::less(x[2], number(0)), [&] { return Tensors{before * x[0]}; },
          [&] { return Tensors{before}; });
      return Tensors{ops::reduce_sum(taken[0] * taken[0] * x[1] + taken[0] / (x[0] + 3.0))};
    };
    for (const double sign : {-1.0, 1.0}) expect_graph({varied({5}, 1), varied({5}, 2), number(sign)}, f);
  }

  void sums_that_would_mix_are_left_to_the_tape() {
    // What reads `before` behind the branch adds to the same sum as what reads the result.
    const Function f = [](Inputs x) {
      const Tensor before = ops::exp(x[0]) * x[1];
      const Tensors taken = choose(
          ops::less(x[2], number(0)), [&] { return Tensors{before * x[0]}; },
          [&] { return Tensors{before}; });
      return Tensors{ops::reduce_sum(taken[0] * x[1]) + ops::reduce_sum(before * x[0]) +
                     ops::reduce_sum(taken[0] * taken[0])};
    };
    for (const double sign : {-1.0, 1.0})
      expect_graph({varied({5}, 1), varied({5}, 2), number(sign)}, f, false);
  }

  void the_gradient_of_a_loop_runs_backwards() {
    for (const int count : {0, 1, 2, 7})
      expect_graph({varied({4}, 1), varied({4}, 2), varied({4}, 3), integer(count)}, recurrence);
  }

  void a_playback_shows_the_iterations_of_the_gradient_s_loop() {
    const Tensors x{varied({4}, 1), varied({4}, 2), varied({4}, 3), integer(5)};
    const Executable executable(graph_of(x, recurrence));
    Tape tape;
    tape.start();
    tape.watch(x[0]);
    const Tensors y = executable(x);
    tape.stop();
    const EventLog log;
    tape.gradient(y, std::span<const Tensor>(x).first(1));
    QCOMPARE(std::ranges::count_if(
                 log.lines, [](const auto& line) { return line.find(" call iteration ") != line.npos; }),
             5);
  }

  void an_observer_of_the_forward_run_sees_the_vjps_one_by_one() {
    const Tensors x{varied({4}, 1), varied({4}, 2), varied({4}, 3), integer(5)};
    const Executable executable(graph_of(x, recurrence));
    const Tensors expected = gradients_of(recurrence, x);
    const EventLog log;
    QVERIFY(equal_bits(gradients_of([&](Inputs in) { return executable(in); }, x), expected));
    QCOMPARE(std::ranges::count_if(log.lines, [](const auto& line) { return line.ends_with(" vjp tanh"); }),
             5);
  }

  void a_result_that_no_gradient_reaches_at_first() {
    // The cotangent of the second variable arrives with the iteration before the last one.
    const Function f = [](Inputs x) {
      const Tensors after = times(x[2], {x[0] * 1.0, x[1] * 1.0}, [&](Inputs state) {
        return Tensors{state[0] * state[1], ops::sin(state[1]) + state[1]};
      });
      return Tensors{ops::reduce_sum(after[0])};
    };
    for (const int count : {0, 1, 2, 5}) expect_graph({varied({4}, 1), varied({4}, 2), integer(count)}, f);
  }

  void loops_and_branches_inside_each_other() {
    const Function f = [](Inputs x) {
      const Tensors after = times(x[2], {x[0] * 1.0}, [&](Inputs state) {
        const Tensors taken = choose(
            ops::less(ops::reduce_sum(state[0]), number(0)),
            [&] { return Tensors{ops::exp(state[0]) * x[1]}; },
            [&] {
              return times(integer(2), {state[0] - x[1]},
                           [&](Inputs inner) { return Tensors{ops::tanh(inner[0] * x[1]) - inner[0]}; });
            });
        return Tensors{taken[0] * 0.75 - x[1] * 0.125};
      });
      return Tensors{ops::reduce_sum(after[0] * after[0])};
    };
    for (const int count : {0, 1, 6}) expect_graph({varied({4}, 1), varied({4}, 2), integer(count)}, f);
  }

  void gradients_of_its_own_take_the_place_of_those_of_the_ops() {
    const Function f = [](Inputs x) {
      const Tensor first = ops::exp(x[0]);
      const Tensors own = custom_of(first, x[1]);
      return Tensors{ops::reduce_sum(own[0] * x[0] + first)};
    };
    const Tensors x{varied({4}, 1), varied({4}, 2)};
    expect_graph(x, f);
    const Executable executable(graph_of(x, f));
    for (int order = 2; order <= 3; ++order)
      QVERIFY(equal_bits(derivative([&](Inputs in) { return executable(in); }, x, order),
                         derivative(f, x, order)));
  }

  void derivatives_of_every_order_have_the_same_bits() {
    const Function f = [](Inputs x) {
      const Tensors after = times(integer(3), {x[0] * 1.0}, [&](Inputs state) {
        return choose(
            ops::less(ops::reduce_sum(state[0]), number(0)),
            [&] { return Tensors{ops::exp(state[0]) * x[0]}; },
            [&] { return Tensors{ops::sin(state[0]) * state[0]}; });
      });
      return Tensors{ops::reduce_sum(after[0] * x[0])};
    };
    const Tensors x{varied({3}, 4)};
    const Executable executable(graph_of(x, f));
    for (int order = 1; order <= 3; ++order)
      QVERIFY(equal_bits(derivative([&](Inputs in) { return executable(in); }, x, order),
                         derivative(f, x, order)));
  }

  void iterations_keep_only_what_vjps_read() {
    const Tensor x = varied({100, 100}, 1), w = varied({100, 100}, 2), v = varied({100, 100}, 3);
    const Executable f(graph_of({x, w, v, integer(3)}, [](Inputs in) {
      return times(in[3], {in[0] + in[1]}, [&](Inputs state) {
        const Tensors taken = choose(
            ops::less(ops::reduce_sum(state[0]), number(0)), [&] { return Tensors{state[0] + in[1]}; },
            [&] { return Tensors{in[1] - state[0]}; });
        return Tensors{taken[0] * in[2] + in[1]};
      });
    }));
    Tape tape;
    tape.start();
    for (const Tensor& each : {x, w, v}) tape.watch(each);
    const std::uint32_t before = v.references();
    const Tensors y = f(Tensors{x, w, v, integer(3)});
    QCOMPARE(x.references(), std::uint32_t{1});  // the VJPs of sums and differences read shapes alone
    QCOMPARE(w.references(), std::uint32_t{1});
    QCOMPARE(y[0].references(), std::uint32_t{1});
    QVERIFY(v.references() > before);  // a product's reads its factors
  }

  void what_else_reads_an_argument_adds_to_its_gradient_in_the_program_s_order() {
    // A loop of no iteration, and a side, may give the argument itself; what is behind the call adds first.
    const Function f = [](Inputs x) {
      const Tensors looped = times(x[3], {x[0], x[1]}, [&](Inputs state) {
        return Tensors{ops::tanh(state[0] * x[2]) * state[0], state[1]};
      });
      return choose(
          ops::less(ops::reduce_sum(looped[0]), number(0)),
          [&] {
            return Tensors{looped[0], looped[1] * looped[0]};
          },
          [&] {
            return Tensors{looped[0] * looped[1] * x[2], looped[1]};
          });
    };
    for (const int count : {0, 1, 4})
      for (const double sign : {-1.0, 1.0}) {
        const Tensors x{varied({6}, 1) + number(sign), varied({6}, 2), varied({6}, 3), integer(count)};
        const Executable executable(graph_of(x, f));
        const auto program = [&](const Function& function) {
          return gradients_of(
              [&](Inputs in) {
                const Tensor before = ops::exp(in[0]) * in[1] * in[2];
                const Tensors once = function(in);
                const Tensors again = function(Tensors{in[0], once[1], in[2], in[3]});
                return Tensors{ops::reduce_sum(once[0] * in[0] * in[1] + once[1] * again[0] + before) +
                               ops::reduce_sum(in[0] * in[0] * again[1] * once[0])};
              },
              x);
        };
        QVERIFY(equal_bits(program([&](Inputs in) { return executable(in); }), program(f)));
      }
  }

  void variables_that_branches_and_loops_read_are_sources() {
    const Variable w(varied({4}, 5), "w"), b(varied({4}, 6), "b"), counter(integer(0), "counter");
    const Function f = [&](Inputs x) {
      const Tensors after = times(x[1], {x[0] * 1.0}, [&](Inputs state) {
        Variable(counter).assign(counter.read() + integer(1));
        return choose(
            ops::less(ops::reduce_sum(state[0]), number(0)),
            [&] { return Tensors{ops::tanh(state[0] * w.read() + b.read())}; },
            [&] { return Tensors{ops::sin(state[0]) - w.read()}; });
      });
      return Tensors{ops::reduce_sum(after[0] * w.read())};
    };
    for (const int count : {0, 1, 4}) {
      const Tensors x{varied({4}, 1), integer(count)};
      const Executable executable(graph_of(x, f));
      const auto program = [&](const Function& function, std::size_t* vjps) {
        Tape tape;
        tape.start();
        tape.watch(x[0]);
        const Tensors y = function(x);
        tape.stop();
        std::optional<EventLog> log;
        if (vjps) log.emplace();
        const std::array<Tape::Source, 3> sources{Tape::Source{x[0], {}}, Tape::Source{{}, w},
                                                  Tape::Source{{}, b}};
        Tensors found = tape.gradient(y, sources, {}, Unconnected::none);
        if (vjps)
          *vjps = static_cast<std::size_t>(std::ranges::count_if(
              log->lines, [](const auto& line) { return line.find(" vjp ") != std::string::npos; }));
        return found;
      };
      std::size_t vjps = 0;
      QVERIFY(equal_bits(program([&](Inputs in) { return executable(in); }, &vjps), program(f, nullptr)));
      QCOMPARE(vjps, std::size_t{1});
    }
    QCOMPARE(counter.peek().item(), 10.0);
  }

  void a_host_call_may_assign_to_what_is_read_around_it() {
    const Variable w(number(2), "w");
    const auto raise = [&] {
      const auto function = [w](Inputs) {
        Variable(w).assign(number(w.peek().item() + 1));
        return Tensors{};
      };
      if (current_tracer())
        graph::host_call({"raise", function, false, {}}, {}, {});
      else
        function({});
    };
    const Function in_a_loop = [&](Inputs x) {
      const Tensors after = times(x[1], {x[0] * 1.0}, [&](Inputs state) {
        raise();
        return Tensors{ops::sin(state[0]) * w.read()};
      });
      return Tensors{ops::reduce_sum(after[0] * after[0])};
    };
    const Function behind_a_branch = [&](Inputs x) {
      const Tensors taken = choose(
          ops::less(x[1], integer(5)), [&] { return Tensors{ops::tanh(x[0]) * w.read()}; },
          [&] { return Tensors{x[0] * 1.0}; });
      raise();
      return Tensors{ops::reduce_sum(taken[0] * x[0] * w.read())};
    };
    const Tensors x{varied({4}, 1), integer(3)};
    for (const Function& f : {in_a_loop, behind_a_branch}) {
      const Executable executable(graph_of(x, f));
      Variable(w).assign(number(2));
      const Tensors expected = gradients_of(f, x);
      Variable(w).assign(number(2));
      QVERIFY(equal_bits(gradients_of([&](Inputs in) { return executable(in); }, x), expected));
    }
  }

  void results_are_sources_too() {
    const Function f = [](Inputs x) {
      const Tensors after = times(x[2], {x[0] * 1.0, x[1] * 1.0}, [&](Inputs state) {
        const Tensor first = ops::sin(state[0]) * state[1];
        return Tensors{first, ops::exp(first * state[1])};
      });
      const Tensors taken = choose(
          ops::less(ops::reduce_sum(after[0]), number(0)), [&] { return Tensors{after[0] * x[0]}; },
          [&] { return Tensors{after[1] * x[1]}; });
      return Tensors{after[0], after[1], taken[0]};
    };
    for (const int count : {0, 1, 3}) {
      const Tensors x{varied({4}, 1), varied({4}, 2), integer(count)};
      const Executable executable(graph_of(x, f));
      const auto program = [&](const Function& function) {
        Tensors all;
        for (std::size_t target = 0; target < 3; ++target) {
          Tape tape;
          tape.start();
          tape.watch(x[0]);
          tape.watch(x[1]);
          const Tensors y = function(x);
          tape.stop();
          const Tensors sources{x[0], x[1], y[0], y[1], y[2]};
          const Tensors found = tape.gradient({&y[target], 1}, std::span<const Tensor>(sources));
          all.insert(all.end(), found.begin(), found.end());
        }
        return all;
      };
      QVERIFY(equal_bits(program([&](Inputs in) { return executable(in); }), program(f)));
    }
  }

  void functions_of_unknown_extents_have_gradient_graphs_of_known_ones() {
    const Function f = [](Inputs x) {
      return Tensors{ops::reduce_sum(ops::tanh(x[0] * x[1]) * x[0], std::vector<std::int64_t>{0})};
    };
    const std::vector<graph::ValueSpec> specs(2, {DType::float32, {2, 3}, {1, false}});
    const Executable executable(graph::trace_open("f", specs, f));
    const Function as_graph = [&](Inputs inputs) { return executable(inputs); };
    for (const std::int64_t rows : {2, 5, 1, 5}) {
      const Tensors x{varied({rows, 3}, 1), varied({rows, 3}, 2)};
      std::size_t vjps = 0;
      QVERIFY(equal_bits(gradients_of(as_graph, x, &vjps), gradients_of(f, x)));
      QCOMPARE(vjps, std::size_t{1});
    }
  }

  void equal_nodes_of_a_graph_of_known_extents_give_gradients_one_by_one() {
    const Function f = [](Inputs x) {
      return Tensors{ops::reduce_sum(ops::tanh(x[0] * x[1]) * x[0] + ops::exp(x[0] * x[1]) * x[1])};
    };
    const std::vector<graph::ValueSpec> specs(2, {DType::float32, {2, 3}, {1, false}});
    const Executable executable(graph::trace_open("f", specs, f));
    const Function as_graph = [&](Inputs inputs) { return executable(inputs); };
    const Tensors x{varied({40, 3}, 1), varied({40, 3}, 2)};
    QVERIFY(equal_bits(gradients_of(as_graph, x), gradients_of(f, x)));
  }

  void shapes_that_are_always_others_are_not_traced_again_and_again() {
    const Function f = [](Inputs x) { return Tensors{ops::reduce_sum(ops::exp(x[0]) * x[0])}; };
    const std::vector<graph::ValueSpec> specs(1, {DType::float32, {2}, {1, false}});
    const Executable executable(graph::trace_open("f", specs, f));
    const Function as_graph = [&](Inputs inputs) { return executable(inputs); };
    std::size_t vjps = 0;
    for (std::int64_t rows = 1; rows < 60; ++rows) {
      const Tensors x{varied({rows}, 1)};
      QVERIFY(equal_bits(gradients_of(as_graph, x, &vjps), gradients_of(f, x)));
    }
    QVERIFY(vjps > 1);  // the last shape came for the first time: the tape is played
    const Tensors again{varied({59}, 1)};
    gradients_of(as_graph, again, &vjps);
    QCOMPARE(vjps, std::size_t{1});
  }

  void a_tape_inside_of_a_function_of_unknown_extents_is_played_once() {
    const Function f = [](Inputs x) {
      Tape tape;
      tape.start();
      tape.watch(x[0]);
      const Tensor y = ops::reduce_sum(ops::tanh(x[0] * x[0]) * x[0]);
      tape.stop();
      return tape.gradient({&y, 1}, x);
    };
    const std::vector<graph::ValueSpec> specs(1, {DType::float32, {2, 3}, {1, false}});
    const Executable executable(graph::trace_open("f", specs, f));
    for (const std::int64_t rows : {2, 4}) {
      const Tensors x{varied({rows, 3}, 1)};
      QVERIFY(equal_bits(executable(x), f(x)));
    }
  }

 private:
  /// A product whose gradient is another one's.
  static Tensors custom_of(const Tensor& a, const Tensor& b) {
    const Tensors inputs{a, b};
    CustomVjp own;
    const Tensors results = custom_gradient("own", inputs, [&] {
      const Tensor inside = ops::tanh(a * b);
      own = [inside, b](std::span<const Tensor> cotangents) {
        return Tensors{cotangents[0] * inside * 3.0, cotangents[0] * b};
      };
      return CustomResult{{inside * a}, own};
    });
    if (auto* tracer = dynamic_cast<graph::GraphTracer*>(current_tracer())) {
      graph::OwnGradient described;
      described.name = "own";
      tracer->add_own_gradient(std::move(described), inputs, results, own);
    }
    return results;
  }
};

TAPEDECK_TEST(TestGraphControlGradient)
#include "tst_graph_control_gradient.moc"
