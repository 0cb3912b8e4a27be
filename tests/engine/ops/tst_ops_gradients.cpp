// First and second derivatives of every differentiable op of the registry against finite differences, in
// float64: see derivative_calls.h.
#include <QtTest>

#include "engine/tape/large_value.h"
#include "tests/engine/ops/derivative_calls.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

namespace {

/// Two operands that need many axes summed up, in both directions at once.
const std::vector<std::pair<Shape, Shape>> operand_shapes = {
    {{3, 1, 2}, {4, 1}}, {{1, 3, 1}, {2, 1, 4}}, {{}, {2, 3}},
    {{2, 3}, {}},        {{1}, {2, 1, 3}},       {{1, 2, 1, 2, 1, 2}, {2, 1, 2, 1, 1, 1}},
    {{2, 1, 1}, {2}}};

}  // namespace

class OpsGradientsTest : public QObject {
  Q_OBJECT

  const DerivativeTest test_{[](const Row&, const TensorsFunction& f, const Tensors& inputs, Random& random) {
                               return check_gradients(f, inputs, random);
                             },
                             Campaign{"ops_gradients", "random shapes of each op", 6, 24,
                                      "further random shapes; the calls of the test rows are all made"}};

  /// `check_op(op, row)` returns what is wrong, or nothing.
  template <class Check>
  void for_differentiable_ops(Check check_op) {
    const std::string failures = test_.failures_of_ops([&](const OpDef& op, const Row& row) {
      return row.gradients_tested_in.empty() ? check_op(op, row) : std::string();
    });
    QVERIFY2(failures.empty(), ("\n" + failures).c_str());
  }

 private slots:
  void initTestCase() {
    detail::large_value = 0;  // whatever a VJP reads without the registry's list saying so is then not there
  }

  void the_check_finds_wrong_gradients() {
    Random random(1);
    const Tensors point = {random_tensor(random, {3})};
    const auto wrong = [](double first, double second) {
      return [=](std::span<const Tensor> inputs) -> Tensors {
        const Tensor x = inputs[0];
        return custom_gradient("cube", inputs, [=] {
          return CustomResult{{x * x * x}, [=](std::span<const Tensor> g) -> Tensors {
                                const Tensor y = second == 1.0 ? x : ops::stop_gradient(x);
                                return {g[0] * (first * 3.0 * (x * y))};
                              }};
        });
      };
    };
    QVERIFY(check_gradients(wrong(1.0, 1.0), point, random).empty());
    QVERIFY(check_gradients(wrong(1.001, 1.0), point, random).starts_with("first order"));
    QVERIFY(check_gradients(wrong(1.0, 0.0), point, random).starts_with("second order"));
  }

  void an_op_that_is_never_checked_fails() {
    OpDef op = *Registry::instance().find("square");
    Row row = *row_of("square");
    row.calls = {[](Random&) { return Call{{integers({1, 2}, {2})}}; }};  // no gradients there
    QVERIFY(test_.at_the_rows_shapes(op, row).find("not checked") != std::string::npos);
    QVERIFY(test_.at_random_shapes(op, row).find("only 0") != std::string::npos);
    row = *row_of("square");
    op.vjp = [](const VjpContext& c) { return Tensors{c.cotangents[0] * c.inputs[0]}; };
    QVERIFY(test_.at_the_rows_shapes(op, row).find("first order") != std::string::npos);
    QVERIFY(test_.at_random_shapes(op, row).find("first order") != std::string::npos);
  }

  void every_op_at_the_rows_shapes() {
    for_differentiable_ops(
        [this](const OpDef& op, const Row& row) { return test_.at_the_rows_shapes(op, row); });
  }

  void every_op_at_random_shapes() {
    for_differentiable_ops(
        [this](const OpDef& op, const Row& row) { return test_.at_random_shapes(op, row); });
  }

  void operands_that_broadcast() {
    int ops_that_broadcast = 0;
    for_differentiable_ops([&](const OpDef& op, const Row& row) -> std::string {
      Checker checker(op, row, test_.check);
      for (std::size_t k = 0; k < operand_shapes.size(); ++k) {
        const auto& [a, b] = operand_shapes[k];
        auto random = test_.random_calls.random<Random>(static_cast<std::uint32_t>(k));
        Call call = row.calls[0](random);
        if (call.inputs.size() != 2 || !call.attributes.empty()) return {};
        if (call.inputs[1].dtype() != DType::float64) return {};
        call.inputs = {random_tensor(random, a, 0.5, 0.95), random_tensor(random, b, 0.5, 0.95)};
        const std::string wrong = checker.check(call, random, many);
        if (!wrong.empty()) return wrong;
      }
      ops_that_broadcast += checker.checked() == operand_shapes.size();
      return {};
    });
    QVERIFY2(ops_that_broadcast >= 12, QByteArray::number(ops_that_broadcast));
  }
};

TAPEDECK_TEST(OpsGradientsTest)
#include "tst_ops_gradients.moc"
