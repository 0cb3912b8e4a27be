// What each pass changes, and what it must leave alone.
#include <QtTest>

#include "engine/graph/passes/passes.h"
#include "engine/graph/run.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/random/random_state.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::graph;

namespace {

using Inputs = std::span<const Tensor>;

Graph of(const std::function<Tensors(Inputs)>& function) {
  const TensorSpec pair{DType::float64, {2}};
  return trace("f", std::array{pair}, function);
}

Tensor two(double first, double second) {
  const std::vector values{first, second};
  return Tensor::from_values<double>(values, {2});
}

std::string changes_text(const Passed& passed) {
  static constexpr const char* kinds[] = {"folded", "merged", "removed", "fused"};
  std::string text;
  for (const Change& change : passed.changes)
    text += std::string(kinds[static_cast<int>(change.kind)]) + " %" + std::to_string(change.node) +
            (change.kind == ChangeKind::merged ? " into %" + std::to_string(change.into) : "") + "\n";
  return text;
}

}  // namespace

class TestGraphPasses : public QObject {
  Q_OBJECT

 private slots:
  void calls_on_constants_are_folded() {
    const Passed passed = fold_constants(of([](Inputs x) {
      const Tensor product = ops::multiply(two(2, 3), two(4, 5));
      return Tensors{ops::add(x[0], ops::exp(product))};
    }));
    QCOMPARE(changes_text(passed), "folded %3\nfolded %4\n");
    QCOMPARE(drop_dead(passed.graph).graph.text(),
             "f(x0: float64 (2,)) -> %2\n%1 = constant float64 (2,)\n%2 = add(x0, %1)\n");
    QCOMPARE(Executable(passed.graph)(Tensors{two(1, 1)})[0].to_vector(),
             (std::vector{1 + std::exp(8.0), 1 + std::exp(15.0)}));
  }

  void a_constant_call_that_fails_fails_when_the_graph_runs() {
    const Graph graph = of([](Inputs x) {
      return Tensors{ops::add(x[0], ops::gather(two(1, 2), Tensor::scalar(5, DType::int64)))};
    });
    const Passed passed = fold_constants(graph);
    QCOMPARE(changes_text(passed), "");
    EXPECT_ERROR(OutOfRangeError, Executable(passed.graph)(Tensors{two(1, 1)}), "gather");
  }

  void what_would_be_large_is_not_folded() {
    const Passed passed = fold_constants(of([](Inputs x) {
      return Tensors{x[0], ops::zeros({1000, 1000}), ops::zeros({10})};
    }));
    QCOMPARE(changes_text(passed), "folded %2\n");
  }

  void the_same_call_twice_becomes_one() {
    const Graph graph = of([](Inputs x) {
      const Tensor one = ops::exp(ops::negative(x[0])), other = ops::exp(ops::negative(x[0]));
      return Tensors{ops::add(one, other)};
    });
    const Passed passed = merge_common(graph);
    QCOMPARE(changes_text(passed), "merged %3 into %1\nmerged %4 into %2\n");
    QCOMPARE(passed.graph.text(),
             "f(x0: float64 (2,)) -> %3\n%1 = negative(x0)\n%2 = exp(%1)\n%3 = add(%2, %2)\n");
  }

  void other_attributes_and_other_operands_stay_apart() {
    const Passed passed = merge_common(of([](Inputs x) {
      return Tensors{
          ops::reduce_sum(x[0]),
          ops::reduce_sum(x[0], std::nullopt, true),
          ops::subtract(x[0], two(1, 2)),
          ops::subtract(two(1, 2), x[0]),
          testing::called("fill", {Tensor::scalar(0.0)}, {{"dims", std::vector<std::int64_t>{1}}}),
          testing::called("fill", {Tensor::scalar(-0.0)}, {{"dims", std::vector<std::int64_t>{1}}})};
    }));
    QCOMPARE(changes_text(passed), "merged %5 into %3\n");  // the constants of the subtractions
  }

  void equal_constants_become_one() {
    const auto graph = [](std::uint64_t watched_up_to) {
      Graph made = of([](Inputs x) {
        const Tensor one = ops::add(ops::multiply(x[0], two(1, 2)), two(0, 3));
        return Tensors{ops::add(ops::multiply(one, two(1, 2)), two(-0.0, 3))};
      });
      made.watched_up_to = watched_up_to;
      return made;
    };
    const Graph before = graph(0);
    const Passed passed = merge_common(before);
    QCOMPARE(changes_text(passed), "merged %5 into %1\n");  // 0.0 and -0.0 stay apart
    // What a record names by the id of the other one is still found.
    const std::pair<std::uint64_t, std::int32_t> other(before.nodes[5].constant.id(), 0);
    QCOMPARE(std::ranges::count(passed.graph.nodes[1].symbols, other), 1);
    QCOMPARE(Executable(passed.graph)(Tensors{two(5, 7)})[0].to_vector(), (std::vector{5.0, 37.0}));
    // A tape outside may watch one of them.
    QCOMPARE(changes_text(merge_common(graph(std::uint64_t{1} << 62))), "");
  }

  void a_check_that_nothing_reads_stays() {
    const Graph graph = of([](Inputs x) {
      (void)testing::called("check_numerics", {ops::exp(x[0])}, {{"message", std::string("too large")}});
      return Tensors{x[0]};
    });
    const Passed passed = drop_dead(graph);
    QCOMPARE(changes_text(passed), "");
    QCOMPARE(Executable(passed.graph)(Tensors{two(1, 2)})[0].to_vector(), (std::vector{1.0, 2.0}));
    EXPECT_ERROR(InvalidArgumentError, Executable(passed.graph)(Tensors{two(1, 1000)}), "too large");
  }

  void random_numbers_are_neither_merged_nor_dropped() {
    const Graph graph = of([](Inputs x) {
      (void)ops::random_uniform({2});
      return Tensors{x[0], ops::random_uniform({2}), ops::random_uniform({2})};
    });
    const Graph passed = run_passes(graph).back().passed.graph;
    QCOMPARE(passed.nodes.size(), graph.nodes.size());
    set_random_seed(3);
    const Tensors before = Executable(graph)(Tensors{two(0, 0)});
    set_random_seed(3);
    const Tensors after = Executable(passed)(Tensors{two(0, 0)});
    for (std::size_t i = 0; i < before.size(); ++i) QCOMPARE(after[i].to_vector(), before[i].to_vector());
    QVERIFY(before[1].to_vector() != before[2].to_vector());
  }

  void what_nothing_reads_goes_but_assignments_stay() {
    Variable state(two(0, 0), "state");
    const Graph graph = of([&](Inputs x) {
      (void)ops::exp(x[0]);
      state.assign(ops::multiply(x[0], x[0]));
      return Tensors{x[0]};
    });
    const Passed passed = drop_dead(graph);
    QCOMPARE(changes_text(passed), "removed %1\n");
    QCOMPARE(passed.graph.text(), "f(x0: float64 (2,)) -> x0\n%1 = multiply(x0, x0)\nassign state:0, %1\n");
    (void)Executable(passed.graph)(Tensors{two(2, 3)});
    QCOMPARE(state.peek().to_vector(), (std::vector{4.0, 9.0}));
  }

  void two_reads_around_an_assignment_are_two_values() {
    Variable state(two(1, 1), "state");
    const Graph graph = of([&](Inputs x) {
      const Tensor before = ops::add(state.read(), x[0]);
      state.assign(x[0]);
      return Tensors{ops::subtract(ops::add(state.read(), x[0]), before)};
    });
    const Graph passed = run_passes(graph).back().passed.graph;
    QCOMPARE(Executable(passed)(Tensors{two(5, 7)})[0].to_vector(), (std::vector{4.0, 6.0}));
  }
};

TAPEDECK_TEST(TestGraphPasses)
#include "tst_graph_passes.moc"
