// A graph that runs under a tape: one call, whose gradient is a graph and the same to the last bit.
#include <QtTest>
#include <stdexcept>

#include "engine/graph/control.h"
#include "engine/graph/run.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/random/random_state.h"
#include "tests/engine/event_log.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using graph::Executable;
using graph::Graph;

namespace {

using Inputs = std::span<const Tensor>;
using Function = std::function<Tensors(Inputs)>;

/// Sums of these depend on their order.
Tensor numbers(const Shape& shape, int seed) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  std::uint32_t state = 12345U + static_cast<std::uint32_t>(seed) * 977U;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
  }
  return Tensor::from_values<float>(values, shape);
}

Graph traced(const Tensors& arguments, const Function& function) {
  const std::uint64_t newest = detail::newest_tensor_id();
  std::vector<TensorSpec> specs;
  for (const Tensor& argument : arguments) specs.push_back({argument.dtype(), argument.shape()});
  Graph made = graph::trace("f", specs, function);
  made.watched_up_to = newest;
  return made;
}

std::vector<std::byte> bits(const Tensor& tensor) {
  if (!tensor) return {};
  const Tensor row_major = tensor.make_contiguous();
  return {row_major.raw(), row_major.raw() + row_major.bytes()};
}

std::span<const Tensor> first_of(const Tensors& tensors) {
  return std::span<const Tensor>(tensors).first(1);
}

bool same_bits(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (bits(a[i]) != bits(b[i])) return false;
  return true;
}

/// What a program makes of the function, which is called as it is, or as a graph.
using Program = std::function<Tensors(const Function&, const Tensors&)>;

void expect_same(const Tensors& arguments, const Function& function, const Program& program) {
  const Executable executable(traced(arguments, function));
  const Function as_graph = [&](Inputs inputs) { return executable(inputs); };
  set_random_seed(3);
  const Tensors eager = program(function, arguments);
  for (int run = 0; run < 2; ++run) {  // the second finds the gradient's graph
    set_random_seed(3);
    QVERIFY(same_bits(program(as_graph, arguments), eager));
  }
}

Tensors two_products(Inputs x) {
  const Tensor h = ops::tanh(x[0] * x[1]);
  return {ops::reduce_sum(h * x[0] + x[1] * h), h};
}

Tensors gradient_of_first(const Function& function, const Tensors& x) {
  Tape tape;
  tape.start();
  for (const Tensor& each : x) tape.watch(each);
  const Tensors y = function(x);
  tape.stop();
  return tape.gradient(first_of(y), std::span<const Tensor>(x));
}

/// The derivative of order n with respect to the first argument.
Tensors nth_derivative(const Function& function, const Tensors& x, int order) {
  if (order == 0) return function(x);
  Tape tape;
  tape.start();
  tape.watch(x[0]);
  const Tensors y = nth_derivative(function, x, order - 1);
  tape.stop();
  return tape.gradient(first_of(y), first_of(x));
}

}  // namespace

class TestGraphGradient : public QObject {
  Q_OBJECT

 private slots:
  void a_run_under_a_tape_is_one_call() {
    const Tensors x{numbers({3}, 1), numbers({3}, 2)};
    const Executable f(traced(x, two_products));
    Tape tape;
    tape.start();
    tape.watch(x[0]);
    const Tensors y = f(x);
    tape.stop();
    const EventLog log;
    tape.gradient(first_of(y), first_of(x));
    QCOMPARE(
        std::ranges::count_if(log.lines, [](const auto& line) { return line.find(" vjp ") != line.npos; }),
        1);
  }

  void gradients_have_the_bits_of_the_ops_called_one_by_one() {
    expect_same({numbers({7}, 1), numbers({7}, 2)}, two_products, gradient_of_first);
  }

  void what_has_arrived_outside_is_added_to_in_the_program_s_order() {
    // Each argument has gradients from before, from inside and from behind the calls; their sum depends on
    // the order.
    expect_same({numbers({9}, 3), numbers({9}, 4)}, two_products, [](const Function& f, const Tensors& x) {
      return gradient_of_first(
          [&](Inputs inputs) {
            const Tensor before = ops::exp(inputs[0]) * 0.1;
            const Tensors once = f(inputs);
            const Tensors twice = f(Tensors{inputs[0], once[1]});
            return Tensors{once[0] + twice[0] + ops::reduce_sum(before * inputs[1] * once[1])};
          },
          x);
    });
  }

  void each_set_of_wanted_gradients_is_right() {
    const Function f = [](Inputs x) {
      const Tensor a = ops::exp(x[0]), b = a * x[1];
      return Tensors{a, b, ops::tanh(b) * a};
    };
    for (int targets = 1; targets < 8; ++targets)
      for (int sources = 1; sources < 32; ++sources)
        expect_same({numbers({5}, 1), numbers({5}, 2)}, f, [&](const Function& function, const Tensors& x) {
          Tape tape;
          tape.start();
          for (const Tensor& each : x) tape.watch(each);
          const Tensors y = function(x);
          tape.stop();
          // Results are sources, too: others of them depend on them.
          Tensors from, to;
          for (std::size_t i = 0; i < 3; ++i)
            if (targets >> i & 1) from.push_back(y[i]);
          for (std::size_t i = 0; i < 5; ++i)
            if (sources >> i & 1) to.push_back(i < 2 ? x[i] : y[i - 2]);
          return tape.gradient(from, std::span<const Tensor>(to));
        });
  }

  void derivatives_of_any_order_have_the_same_bits() {
    const Function f = [](Inputs x) {
      return Tensors{ops::reduce_sum(ops::sin(x[0]) * ops::exp(x[1] * x[0]) / (x[0] * x[0] + 1.0))};
    };
    for (int order = 1; order <= 3; ++order)
      expect_same({numbers({4}, 5), numbers({4}, 6)}, f, [order](const Function& function, const Tensors& x) {
        return nth_derivative(function, x, order);
      });
  }

  void a_persistent_tape_that_still_records_gives_second_derivatives() {
    expect_same({numbers({4}, 7), numbers({4}, 8)}, two_products, [](const Function& f, const Tensors& x) {
      Tape tape(true);
      tape.start();
      tape.watch(x[0]);
      const Tensors y = f(x);
      const std::span<const Tensor> source = first_of(x);
      const Tensors first = tape.gradient(first_of(y), source);
      const Tensors second = tape.gradient(first, source);
      tape.stop();
      return Tensors{first[0], second[0]};
    });
  }

  void variables_that_the_function_reads_are_sources() {
    const Variable a(numbers({4}, 1), "a"), b(numbers({4}, 2), "b"), still(numbers({4}, 3), "still", false);
    const Function f = [&](Inputs x) {
      Tensor h = a.read() * x[0] + still.read();
      h = h * b.read() * a.read();
      Variable(a).assign(h * 0.5);
      return Tensors{ops::reduce_sum(h * a.read())};
    };
    const Tensor first = a.peek();
    expect_same({numbers({4}, 4)}, f, [&](const Function& function, const Tensors& x) {
      Variable(a).assign(first);
      Tape tape;
      tape.start();
      tape.watch(x[0]);
      const Tensors y = function(x);
      tape.stop();
      const std::vector<Variable> watched = tape.watched_variables();
      if (watched.size() != 2) throw std::logic_error("the function reads two trainable variables");
      return tape.gradient(y, std::span<const Variable>(watched));
    });
  }

  void constants_from_outside_that_a_tape_watches_are_sources() {
    const Tensor weight = numbers({4}, 9);
    const Function f = [&](Inputs x) { return Tensors{ops::reduce_sum(ops::tanh(weight * x[0]) * weight)}; };
    expect_same({numbers({4}, 1)}, f, [&](const Function& function, const Tensors& x) {
      Tape outer, inner;
      outer.start();
      outer.watch(weight);
      inner.start();
      inner.watch(x[0]);
      const Tensors y = function(x);
      inner.stop();
      const Tensors of_x = inner.gradient(y, std::span<const Tensor>(x));
      outer.stop();
      return outer.gradient(of_x, std::span<const Tensor>(&weight, 1));
    });
  }

  void a_gradient_draws_again_what_its_function_drew() {
    const Function f = [](Inputs x) {
      const Tensor dropped = testing::outputs_of("dropout", {x[0] * 2.0}, {{"rate", 0.4}})[0];
      return Tensors{ops::reduce_sum(dropped * dropped * x[0])};
    };
    expect_same({numbers({50}, 1)}, f, gradient_of_first);
    expect_same({numbers({50}, 2)}, f,
                [](const Function& function, const Tensors& x) { return nth_derivative(function, x, 2); });
  }

  void a_tensor_at_two_places_of_the_arguments_gets_its_whole_gradient() {
    const Tensor x = numbers({6}, 1);
    expect_same({x, x}, two_products, [](const Function& f, const Tensors& both) {
      Tape tape;
      tape.start();
      tape.watch(both[0]);
      const Tensors y = f(both);
      tape.stop();
      return tape.gradient(first_of(y), first_of(both));
    });
  }

  void an_argument_that_is_returned_and_one_that_is_returned_twice() {
    const Function f = [](Inputs x) {
      const Tensor product = x[0] * x[1];
      return Tensors{ops::reduce_sum(ops::identity(x[0]) * product), x[1], product, product};
    };
    expect_same({numbers({3}, 1), numbers({3}, 2)}, f, [](const Function& function, const Tensors& x) {
      return gradient_of_first(
          [&](Inputs inputs) {
            const Tensors y = function(inputs);
            return Tensors{y[0] + ops::reduce_sum(y[1] * y[2] * 3.0 + y[3])};
          },
          x);
    });
  }

  void rows_of_a_variable_keep_their_gradient_of_rows() {
    const Variable table(numbers({5, 3}, 1), "table");
    const std::array<std::int32_t, 3> places{1, 4, 1};
    const Tensor indices = Tensor::from_values<std::int32_t>(places, {3});
    const Executable f(traced({indices}, [&](Inputs x) {
      return Tensors{ops::reduce_sum(ops::tanh(ops::gather(table.read(), x[0])))};
    }));
    Tape tape;
    tape.start();
    const Tensors y = f(Tensors{indices});
    tape.stop();
    std::vector<Tape::RowGradient> rows;
    const std::array sources{Tape::Source{{}, table}};
    tape.gradient(y, sources, {}, Unconnected::none, rows);
    QVERIFY(bool(rows[0].values));
    QCOMPARE(rows[0].values.shape(), (Shape{3, 3}));
  }

  void the_run_keeps_only_what_vjps_read() {
    const Tensor x = numbers({200, 200}, 1), y = numbers({200, 200}, 2), w = numbers({200, 200}, 3);
    const Executable f(traced({x, y, w}, [](Inputs in) { return Tensors{(in[0] + in[1]) * in[2] + in[1]}; }));
    Tape tape;
    tape.start();
    for (const Tensor& each : {x, y, w}) tape.watch(each);
    const std::uint32_t before = w.references();
    const Tensors result = f(Tensors{x, y, w});
    QCOMPARE(x.references(), std::uint32_t{1});  // a sum's VJP reads shapes alone
    QCOMPARE(y.references(), std::uint32_t{1});
    QVERIFY(w.references() > before);  // a product's reads its factors
    QCOMPARE(result[0].references(), std::uint32_t{1});
  }

  void an_observer_sees_each_op_and_its_vjp() {
    const Tensors x{numbers({3}, 1), numbers({3}, 2)};
    const Executable f(traced(x, two_products));
    EventLog log;
    gradient_of_first([&](Inputs inputs) { return f(inputs); }, x);
    int products = 0, vjps = 0;
    for (const std::string& line : log.lines) {
      products += line.ends_with(" op multiply") ? 1 : 0;
      vjps += line.ends_with(" vjp tanh") ? 1 : 0;
    }
    QVERIFY(products >= 3);
    QCOMPARE(vjps, 1);
  }

  void a_playback_that_an_observer_sees_after_a_run_that_none_saw_is_the_same() {
    const Tensors x{numbers({3}, 1), numbers({3}, 2)};
    const Executable f(traced(x, two_products));
    const auto run = [&](bool is_observed) {
      Tape tape;
      tape.start();
      tape.watch(x[0]);
      const Tensors y = f(x);
      tape.stop();
      std::optional<EventLog> log;
      if (is_observed) log.emplace();
      const Tensors gradients = tape.gradient(first_of(y), first_of(x));
      return std::pair(bits(gradients[0]), log ? log->lines : std::vector<std::string>());
    };
    const auto [observed, lines] = run(true);
    QVERIFY(observed == run(false).first);
    QCOMPARE(std::ranges::count_if(lines, [](const auto& line) { return line.ends_with(" vjp f"); }), 1);
    QVERIFY(std::ranges::any_of(lines, [](const auto& line) { return line.ends_with(" op multiply"); }));
  }

  void branches_and_loops_are_calls_of_their_own() {
    const Function f = [](Inputs x) {
      const Tensor doubled = x[0] * 2.0;
      const Tensors taken = graph::branch(
          ops::less(ops::reduce_sum(x[0]), Tensor::scalar(100)), [&] { return Tensors{doubled * x[0]}; },
          [&] { return Tensors{doubled}; });
      return Tensors{ops::reduce_sum(taken[0] * x[0])};
    };
    const Tensors x{numbers({4}, 1)};
    const Executable executable(traced(x, f));
    const Function same = [](Inputs in) { return Tensors{ops::reduce_sum(in[0] * 2.0 * in[0] * in[0])}; };
    QVERIFY(same_bits(gradient_of_first([&](Inputs in) { return executable(in); }, x),
                      gradient_of_first(same, x)));
  }

  void a_failing_op_leaves_the_tape_as_it_was() {
    const Tensors x{numbers({3}, 1)};
    const Executable f(traced(x, [](Inputs in) {
      const Tensor far = ops::cast(ops::reduce_sum(in[0] * in[0]) + 10.0, DType::int32);
      return Tensors{ops::gather(ops::exp(in[0] * 2.0), far)};
    }));
    Tape tape;
    tape.start();
    tape.watch(x[0]);
    EXPECT_ERROR(OutOfRangeError, f(x), "gather");
    const Tensor y = x[0] * x[0];
    tape.stop();
    QCOMPARE(tape.gradient({&y, 1}, first_of(x))[0].to_vector(), (x[0] * 2.0).to_vector());
  }
};

TAPEDECK_TEST(TestGraphGradient)
#include "tst_graph_gradient.moc"
