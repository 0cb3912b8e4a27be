// What ops cost: known cases, counted by hand, and that every op has a cost that makes sense.
#include <QtTest>
#include <cmath>

#include "engine/ops/core/cost.h"
#include "tests/engine/ops/rows/all_rows.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

namespace {

struct Case {
  std::string op;
  std::vector<Shape> inputs;
  std::vector<Attribute> attributes;
  std::vector<Shape> outputs;
  double flops, bytes;
  DType dtype = DType::float32;
};

TensorSpecs specs(const std::vector<Shape>& shapes, DType dtype) {
  TensorSpecs all;
  for (const Shape& shape : shapes) all.push_back({dtype, shape});
  return all;
}

OpCost priced(const Case& of) {
  const OpDef* op = Registry::instance().find(of.op);
  if (!op) throw std::runtime_error("no op " + of.op);
  const TensorSpecs inputs = specs(of.inputs, of.dtype), outputs = specs(of.outputs, of.dtype);
  return cost_of({*op, inputs, Attributes(of.attributes), outputs});
}

using Integers = std::vector<std::int64_t>;

const std::vector<Attribute>& sliding() {
  static const std::vector<Attribute> all{Integers{1}, std::string("VALID"), Integers{}, std::string("NHWC"),
                                          Integers{1}};
  return all;
}
std::vector<Attribute> sliding_with(Attribute last) {
  std::vector<Attribute> all = sliding();
  all.push_back(std::move(last));
  return all;
}

std::vector<Case> cases() {
  const std::vector<Attribute> plain{false, false, false, false};
  return {
      {"add", {{3, 4}, {4}}, {}, {{3, 4}}, 12, 4.0 * (12 + 4 + 12)},
      {"exp", {{5}}, {}, {{5}}, 5, 40},
      {"exp", {{5}}, {}, {{5}}, 5, 80, DType::float64},
      {"reduce_sum", {{6, 7}}, {std::monostate{}, false}, {{}}, 42, 4.0 * 43},
      {"reshape", {{6, 7}}, {Integers{42}}, {{42}}, 0, 0},
      {"concat", {{2, 3}, {4, 3}}, {std::int64_t{0}}, {{6, 3}}, 0, 4.0 * 36},
      {"add_n", {{8}, {8}, {8}}, {}, {{8}}, 16, 4.0 * 32},
      {"softmax", {{2, 10}}, {std::int64_t{-1}}, {{2, 10}}, 100, 160},
      // 2·m·n·k, whichever way the operands lie.
      {"matmul", {{3, 4}, {4, 5}}, plain, {{3, 5}}, 120, 4.0 * (12 + 20 + 15)},
      {"matmul", {{4, 3}, {5, 4}}, {true, true, false, false}, {{3, 5}}, 120, 4.0 * (12 + 20 + 15)},
      {"matmul", {{7, 3, 4}, {7, 4, 5}}, plain, {{7, 3, 5}}, 840, 4.0 * 7 * 47},
      {"matmul", {{3, 4}, {4, 5}}, plain, {{3, 5}}, 480, 8.0 * 47, DType::complex64},
      {"dot", {{100}, {100}}, {}, {{}}, 200, 4.0 * 201},
      {"einsum", {{3, 4}, {4, 5}}, {std::string("ij,jk->ik")}, {{3, 5}}, 120, 4.0 * 47},
      {"einsum", {{3}, {4}}, {std::string("i,j->ij")}, {{3, 4}}, 12, 4.0 * 19},
      {"einsum", {{3, 4}}, {std::string("ij->i")}, {{3}}, 12, 4.0 * 15},
      // The cheaper pair first: jk,kl for 2·4·5·2, then ij,jl for 2·3·4·2.
      {"einsum",
       {{3, 4}, {4, 5}, {5, 2}},
       {std::string("ij,jk,kl->il")},
       {{3, 2}},
       80 + 48,
       4.0 * (12 + 20 + 10 + 6)},
      // 2·(height·width·input channels)·outputs.
      {"conv2d",
       {{2, 8, 8, 3}, {3, 3, 3, 16}},
       sliding(),
       {{2, 6, 6, 16}},
       2.0 * 27 * 2 * 36 * 16,
       4.0 * (384 + 432 + 1152)},
      {"conv2d_backprop_input",
       {{3, 3, 3, 16}, {2, 6, 6, 16}},
       sliding_with(Integers{2, 8, 8, 3}),
       {{2, 8, 8, 3}},
       2.0 * 27 * 1152,
       4.0 * (432 + 1152 + 384)},
      {"conv2d_backprop_filter",
       {{2, 8, 8, 3}, {2, 6, 6, 16}},
       sliding_with(Integers{3, 3, 3, 16}),
       {{3, 3, 3, 16}},
       2.0 * 27 * 1152,
       4.0 * (384 + 1152 + 432)},
      {"depthwise_conv2d_native",
       {{1, 8, 8, 4}, {3, 3, 4, 2}},
       sliding(),
       {{1, 6, 6, 8}},
       2.0 * 9 * 288,
       4.0 * (256 + 72 + 288)},
      {"max_pool", {{1, 8, 8, 4}}, sliding_with(Integers{2}), {{1, 4, 4, 4}}, 4 * 64, 4.0 * (256 + 64)},
      {"avg_pool",
       {{1, 8, 8, 4}},
       sliding_with(Integers{1, 2, 2, 1}),
       {{1, 4, 4, 4}},
       4 * 64,
       4.0 * (256 + 64)},
      {"cholesky", {{6, 6}}, {}, {{6, 6}}, 72, 288},
      {"lu", {{6, 6}}, {DType::int32}, {{6, 6}, {6}}, 144, 4.0 * 78},
      {"matrix_inverse", {{2, 6, 6}}, {false}, {{2, 6, 6}}, 864, 4.0 * 144},
      {"matrix_triangular_solve", {{6, 6}, {6, 3}}, {true, false}, {{6, 3}}, 108, 4.0 * 72},
      // Golub and Van Loan: 2·n²·(m − n/3) for R, and as much again for the thin Q.
      {"qr", {{9, 6}}, {false}, {{9, 6}, {6, 6}}, 2 * 2.0 * 36 * (9 - 2), 4.0 * 144},
      {"svd", {{9, 6}}, {false, false}, {{6}}, 4.0 * 9 * 36 - 4.0 * 216 / 3, 4.0 * 60},
      {"self_adjoint_eigvals", {{6, 6}}, {}, {{6}}, 288, 4.0 * 42},
      {"fft", {{4, 8}}, {std::int64_t{1}, false}, {{4, 8}}, 5 * 32 * 3, 8.0 * 64, DType::complex64},
      {"fft", {{4, 8}}, {std::int64_t{2}, false}, {{4, 8}}, 5 * 32 * 5, 8.0 * 64, DType::complex64},
      {"gradient_descent", {{10}, {10}, {}}, {}, {{10}}, 20, 4.0 * 31},
      {"momentum", {{10}, {10}, {10}, {}, {}}, {true}, {{10}, {10}}, 60, 4.0 * 52},
      {"adam", {{10}, {10}, {10}, {10}, {}, {}, {}, {}, {}}, {}, {{10}, {10}, {10}}, 130, 4.0 * 75},
      // Two rows of ten: value and slots of those alone.
      {"sparse_gradient_descent", {{10, 3}, {2, 3}, {2}, {}}, {}, {{10, 3}}, 12, 4.0 * (6 * 3 + 2 + 1)},
      // 2·(kernel + recurrent kernel) and 17 operations a unit, for 2·5 positions.
      {"lstm",
       {{2, 5, 3}, {2, 4}, {2, 4}, {3, 16}, {4, 16}, {16}},
       {false, false},
       {{2, 5, 4}},
       10.0 * (2 * 48 + 2 * 64 + 17 * 4),
       4.0 * (30 + 8 + 8 + 48 + 64 + 16 + 40)},
      {"attention",
       {{2, 5, 8}, {2, 6, 8}, {2, 6, 4}},
       {std::monostate{}, false},
       {{2, 5, 4}, {2, 5, 6}},
       60.0 * (16 + 8 + 5),
       4.0 * (80 + 96 + 48 + 40 + 60)},
  };
}

}  // namespace

class TestOpCosts : public QObject {
  Q_OBJECT
 private slots:
  void known_calls_cost_what_one_counts() {
    for (const Case& one : cases()) {
      const OpCost found = priced(one);
      const QByteArray what = QByteArray::fromStdString(one.op) + " " + QByteArray::number(found.flops) +
                              " FLOP, " + QByteArray::number(found.bytes) + " B; wanted " +
                              QByteArray::number(one.flops) + ", " + QByteArray::number(one.bytes);
      QVERIFY2(std::abs(found.flops - one.flops) <= 1e-9 * one.flops, what);
      QVERIFY2(found.bytes == one.bytes, what);
    }
  }

  void every_op_has_a_finite_cost() {
    const Registry& registry = Registry::instance();
    int called = 0;
    for (std::size_t i = 0; i < registry.size(); ++i) {
      const OpDef& op = registry.at(static_cast<int>(i));
      const Row* row = row_of(op.name);
      if (!row) continue;
      for (std::size_t at = 0; at < row->calls.size(); ++at) {
        Random random(static_cast<unsigned>(at + 1));
        const Call call = row->calls[at](random);
        const Attributes attributes(call.attributes);
        const TensorSpecs outputs = op.shape_rule({op, call.inputs, attributes, {}});
        TensorSpecs inputs;
        double all = 0;
        for (const Tensor& input : call.inputs) inputs.push_back({input.dtype(), input.shape()});
        for (const auto& operands : {inputs, outputs})
          for (const TensorSpec& spec : operands) all += cost::bytes(spec);
        // The rule itself, not what cost_of makes of it.
        const CostContext context{op, inputs, attributes, outputs};
        const OpCost found = op.cost ? op.cost(context) : cost_of(context);
        QVERIFY2(std::isfinite(found.flops) && found.flops >= 0, op.name.c_str());
        QVERIFY2(std::isfinite(found.bytes) && found.bytes >= 0, op.name.c_str());
        QVERIFY2(found.bytes <= 2 * all, op.name.c_str());
        ++called;
      }
    }
    QVERIFY(called > 400);
  }

  void optimisers_updates_are_told_apart() {
    const Registry& registry = Registry::instance();
    QVERIFY(registry.find("adam")->updates);
    QVERIFY(registry.find("sparse_momentum")->updates);
    QVERIFY(!registry.find("global_norm")->updates);
    QVERIFY(!registry.find("add")->updates);
  }

  void an_empty_call_costs_nothing() {
    const OpCost none = priced({"matmul", {{0, 4}, {4, 5}}, {false, false, false, false}, {{0, 5}}, 0, 0});
    QCOMPARE(none.flops, 0.0);
    const OpCost sorted = priced({"sort", {{0}}, {std::int64_t{-1}, std::string("ASCENDING")}, {{0}}, 0, 0});
    QCOMPARE(sorted.flops, 0.0);
  }
};

TAPEDECK_TEST(TestOpCosts)
#include "tst_op_costs.moc"
