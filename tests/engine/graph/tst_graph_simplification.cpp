// Calls that give their operand's bits go, and no others.
#include <QtTest>
#include <cstring>
#include <limits>

#include "engine/graph/passes/simplification.h"
#include "engine/graph/run.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/ops.h"
#include "engine/tensor/subnormals.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::graph;

namespace {

using Inputs = std::span<const Tensor>;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Of a matrix and another one.
Graph of_matrices(const std::function<Tensor(Inputs)>& function) {
  const TensorSpec matrix{DType::float64, {2, 4}};
  return trace("f", std::array{matrix, matrix},
               [&](Inputs x) { return Tensors{ops::add(function(x), x[1])}; });
}

Tensors matrices() {
  const std::vector values{0.0,    -0.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
                           5e-324, -1.5, 2.5};
  const std::vector others(8, -0.0);
  return {Tensor::from_values<double>(values, {2, 4}), Tensor::from_values<double>(others, {2, 4})};
}

/// Which ops stay, where results keep their bits.
std::string simplified(const std::function<Tensor(Inputs)>& function) {
  const Graph graph = of_matrices(function);
  const Graph simpler = drop_dead(simplify(graph).graph).graph;
  const Tensor wanted = Executable(graph)(matrices())[0], found = Executable(simpler)(matrices())[0];
  if (std::memcmp(wanted.raw(), found.raw(), wanted.bytes()) != 0) return "other bits";
  std::string text;
  for (const Node& node : simpler.nodes)
    if (node.kind == NodeKind::op) text += (text.empty() ? "" : " ") + node.op->name;
  return text;
}

Tensor number(double value) {
  return Tensor::scalar(value, DType::float64);
}

}  // namespace

class TestGraphSimplification : public QObject {
  Q_OBJECT

 private slots:
  void cleanup() { set_flush_denormal(false); }

  void calls_that_change_nothing_go() {
    QCOMPARE(simplified([](Inputs x) { return ops::multiply(x[0], number(1)); }), "add");
    QCOMPARE(simplified([](Inputs x) { return ops::multiply(number(1), x[0]); }), "add");
    QCOMPARE(simplified([](Inputs x) { return ops::divide(x[0], number(1)); }), "add");
    QCOMPARE(simplified([](Inputs x) { return ops::subtract(x[0], number(0)); }), "add");
    QCOMPARE(simplified([](Inputs x) { return ops::add(x[0], number(-0.0)); }), "add");
    QCOMPARE(simplified([](Inputs x) { return ops::add(number(-0.0), x[0]); }), "add");
    QCOMPARE(simplified([](Inputs x) { return ops::identity(ops::reshape(x[0], {2, 4})); }), "add");
    QCOMPARE(simplified([](Inputs x) { return ops::cast(x[0], DType::float64); }), "add");
    QCOMPARE(simplified([](Inputs x) { return ops::transpose(x[0], ops::Integers{0, 1}); }), "add");
  }

  void what_looks_alike_stays() {
    // −0 + 0 is 0.
    QCOMPARE(simplified([](Inputs x) { return ops::add(x[0], number(0)); }), "add add");
    QCOMPARE(simplified([](Inputs x) { return ops::subtract(x[0], number(-0.0)); }), "subtract add");
    QCOMPARE(simplified([](Inputs x) { return ops::subtract(number(0), x[0]); }), "subtract add");
    QCOMPARE(simplified([](Inputs x) { return ops::divide(number(1), x[0]); }), "divide add");
    QCOMPARE(simplified([](Inputs x) { return ops::multiply(x[0], number(-1)); }), "multiply add");
    QCOMPARE(simplified([](Inputs x) { return ops::cast(ops::cast(x[0], DType::float32), DType::float64); }),
             "cast cast add");
  }

  void calls_that_undo_each_other_go() {
    QCOMPARE(simplified([](Inputs x) { return -(-x[0]); }), "add");
    QCOMPARE(simplified([](Inputs x) { return -(-(-x[0])); }), "negative add");
    QCOMPARE(simplified([](Inputs x) { return ops::transpose(ops::transpose(x[0])); }), "add");
    QCOMPARE(simplified([](Inputs x) {
               const Tensor cube = ops::reshape(x[0], {2, 2, 2});
               return ops::reshape(
                   ops::transpose(ops::transpose(cube, ops::Integers{1, 2, 0}), ops::Integers{2, 0, 1}),
                   {2, 4});
             }),
             "add");
    QCOMPARE(simplified([](Inputs x) {
               const Tensor cube = ops::reshape(x[0], {2, 2, 2});
               return ops::reshape(
                   ops::transpose(ops::transpose(cube, ops::Integers{1, 2, 0}), ops::Integers{1, 2, 0}),
                   {2, 4});
             }),
             "reshape transpose transpose reshape add");
    QCOMPARE(simplified([](Inputs x) { return ops::relu(ops::relu(x[0])); }), "relu add");
    QCOMPARE(simplified([](Inputs x) { return ops::abs(ops::identity(ops::abs(x[0]))); }), "abs add");
    QCOMPARE(simplified([](Inputs x) { return ops::exp(ops::exp(x[0])); }), "exp exp add");
  }

  void what_takes_a_shape_alone_becomes_a_constant() {
    const Passed passed =
        simplify(of_matrices([](Inputs x) { return ops::exp(x[0]) * ops::ones_like(ops::sin(x[0])); }));
    const Graph rest = drop_dead(passed.graph).graph;
    QVERIFY2(rest.text().find("sin(") == std::string::npos, rest.text().c_str());
    QVERIFY(merges(run_passes(of_matrices([](Inputs x) { return ops::ones_like(x[0]); }))));
    QCOMPARE(simplified([](Inputs x) { return x[0] * ops::ones_like(ops::sin(x[0])); }),
             std::string("multiply add"));
  }

  void results_stay_tensors_of_their_own() {
    const TensorSpec pair{DType::float64, {2}};
    const Graph graph = trace("f", std::array{pair}, [](Inputs x) { return Tensors{ops::identity(x[0])}; });
    QVERIFY(simplify(graph).changes.empty());
  }

  void products_flush_subnormal_numbers_where_that_is_asked_for() {
    if (!set_flush_denormal(true)) QSKIP("this processor does not flush subnormal numbers");
    QCOMPARE(simplified([](Inputs x) { return ops::multiply(x[0], number(1)); }), "multiply add");
  }

  void the_pass_is_a_stage_where_it_changes_something() {
    const auto names = [](const Graph& graph) {
      std::string text;
      for (const NamedPassed& pass : run_passes(graph)) text += pass.name + "; ";
      return text;
    };
    QCOMPARE(names(of_matrices([](Inputs x) { return -(-x[0]); })),
             "simplification; constant folding; common subexpressions; dead code; ");
    QCOMPARE(names(of_matrices([](Inputs x) { return -x[0]; })),
             "constant folding; common subexpressions; dead code; ");
  }
};

TAPEDECK_TEST(TestGraphSimplification)
#include "tst_graph_simplification.moc"
