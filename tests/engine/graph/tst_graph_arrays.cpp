// Arrays of tensors that graphs carry, and the tree that holds their elements.
#include <QtTest>
#include <map>
#include <random>
#include <thread>

#include "engine/graph/arrays/arrays.h"
#include "engine/graph/control.h"
#include "engine/graph/run.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/ops.h"
#include "engine/tape/tape.h"
#include "tests/engine/event_log.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"

using namespace tapedeck;
using graph::ElementTree;
using graph::Executable;

namespace {

using NumberedTensors = std::map<std::int64_t, Tensor>;

Tensor whole(std::int64_t value) {
  return Tensor::scalar(static_cast<double>(value), DType::int64);
}

graph::ArrayKind vectors_of_two() {
  return {{DType::float64, {2}, {}}, true, true};
}

void expect_elements(const ElementTree& tree, const NumberedTensors& tensors) {
  for (std::int64_t i = 0; i < tree.size(); ++i) {
    const auto found = tensors.find(i);
    QCOMPARE(tree[i].tensor ? tree[i].tensor.id() : 0, found == tensors.end() ? 0 : found->second.id());
  }
}

}  // namespace

class TestGraphArrays : public QObject {
  Q_OBJECT
 private slots:

  void each_state_of_a_tree_keeps_what_it_had() {
    std::mt19937 random(7);
    std::vector<std::pair<ElementTree, NumberedTensors>> states(1);
    for (int step = 0; step < 600; ++step) {
      const std::size_t from = random() % states.size();
      std::pair<ElementTree, NumberedTensors> state = states[from];
      const auto number = static_cast<std::int64_t>(random() % (step < 300 ? 40 : 5000));
      const Tensor tensor = Tensor::scalar(step);
      state.first.grow_to(number + 1);
      state.first.set(number, {tensor, false});
      state.second[number] = tensor;
      states.push_back(std::move(state));
    }
    for (const auto& [tree, tensors] : states) {
      QCOMPARE(tree.size(), tensors.empty() ? 0 : tensors.rbegin()->first + 1);
      expect_elements(tree, tensors);
    }
  }

  void threads_change_copies_of_one_tree() {
    ElementTree shared;
    NumberedTensors tensors;
    shared.grow_to(1000);
    for (std::int64_t i = 0; i < 1000; ++i) shared.set(i, {tensors[i] = Tensor::scalar(1), false});
    std::vector<std::thread> threads;
    std::vector<std::pair<ElementTree, NumberedTensors>> states(4, {shared, tensors});
    for (auto& [tree, own] : states)
      threads.emplace_back([&tree, &own] {
        for (std::int64_t i = 0; i < 1000; i += 3) tree.set(i, {own[i] = Tensor::scalar(2), false});
      });
    for (std::thread& thread : threads) thread.join();
    for (const auto& [tree, own] : states) expect_elements(tree, own);
    expect_elements(shared, tensors);
  }

  void a_read_gives_the_tensor_that_was_written() {
    const Tensor row = Tensor::from_values<double>(std::array{1., 2.}, {2});
    const Tensor first = graph::array_of(vectors_of_two(), whole(1), {}, {}, {});
    const Tensor second = graph::array_write(first, whole(3), row);
    QCOMPARE(graph::array_read(second, whole(3), {}).id(), row.id());
    QCOMPARE(graph::array_size(first).item(), 1.);
    QCOMPARE(graph::array_size(second).item(), 4.);
    QCOMPARE(graph::array_stack(second, 0, {}).to_vector(), (std::vector<double>{0, 0, 0, 0, 0, 0, 1, 2}));
    QCOMPARE(second.to_vector(), std::vector<double>{0});  // as a value, it is no NaN
    EXPECT_ERROR(OutOfRangeError, graph::array_read(first, whole(3), {}),
                 "TensorArray: index is 3; the size is 1");
    EXPECT_ERROR(InvalidArgumentError, graph::array_size(row),
                 "TensorArray: a tensor does not carry an array");
  }

  void an_observer_sees_what_is_written_and_tapes_do_not() {
    const Tensor row = Tensor::from_values<double>(std::array{1., 2.}, {2});
    Tape tape;
    tape.start();
    tape.watch(row);
    Tensor read;
    {
      const EventLog log;
      const Tensor array =
          graph::array_write(graph::array_of(vectors_of_two(), whole(1), {}, {}, {}), whole(0), row);
      read = graph::array_read(graph::array_append(array, row), whole(1), {});
      QCOMPARE(
          std::ranges::count_if(log.lines, [](const auto& line) { return line.ends_with(" op identity"); }),
          2);
    }
    tape.stop();
    QCOMPARE(read.id(), row.id());  // so its readers' gradients are added up as in eager code
  }

  void a_loop_in_a_graph_writes_and_its_tape_finds_the_rows() {
    const auto function = [](std::span<const Tensor> x) {
      const Tensor array = graph::array_of(vectors_of_two(), whole(0), {}, {}, {});
      const Tensors last = graph::loop(
          Tensors{whole(0), array},
          [](std::span<const Tensor> variables) { return ops::less(variables[0], whole(100)); },
          [&](std::span<const Tensor> variables) {
            return Tensors{ops::add(variables[0], whole(1)),
                           graph::array_write(variables[1], variables[0], ops::multiply(x[0], x[0]))};
          });
      graph::ValueSpec stacked{DType::float64, {1, 2}, {}};
      stacked.unknown.axes = 1;
      return Tensors{graph::array_stack(last[1], 0, stacked)};
    };
    const Executable executable(graph::trace("f", std::array{TensorSpec{DType::float64, {2}}}, function));
    const Tensor x = Tensor::from_values<double>(std::array{3., 0.5}, {2});
    Tape tape;
    tape.start();
    tape.watch(x);
    const Tensor y = executable({&x, 1})[0];
    tape.stop();
    QCOMPARE(y.shape(), (Shape{100, 2}));
    QCOMPARE(tape.gradient(std::array{y}, std::array{x})[0].to_vector(), (std::vector<double>{600, 100}));
  }
};

TAPEDECK_TEST(TestGraphArrays)
#include "tst_graph_arrays.moc"
