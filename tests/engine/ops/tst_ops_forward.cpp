// Forward mode of every differentiable op of the registry against reverse mode and finite differences, in
// float64: see derivative_calls.h.
#include <QtTest>

#include "engine/tape/large_value.h"
#include "tests/engine/ops/derivative_calls.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

class OpsForwardTest : public QObject {
  Q_OBJECT

  const DerivativeTest test_{
      [](const Row& row, const TensorsFunction& f, const Tensors& inputs, Random& random) {
        return check_products(f, inputs, row.gradients_tested_in.empty(), random);
      },
      Campaign{"ops_forward", "random shapes of each op", 6, 24,
               "further random shapes; the calls of the test rows are all made"}};

 private slots:
  void initTestCase() {
    detail::large_value = 0;  // whatever a VJP reads without the registry's list saying so is then not there
  }

  void the_check_finds_wrong_products() {
    Random random(1);
    const Tensors point = {random_tensor(random, {3})};
    const auto cube = [](const std::function<Tensor(const Tensor& x, const Tensor& cotangent)>& vjp) {
      return [=](std::span<const Tensor> inputs) -> Tensors {
        const Tensor x = inputs[0];
        return custom_gradient("cube", inputs, [=] {
          return CustomResult{{x * x * x},
                              [=](std::span<const Tensor> g) -> Tensors { return {vjp(x, g[0])}; }};
        });
      };
    };
    const auto right = cube([](const Tensor& x, const Tensor& g) { return g * (3.0 * (x * x)); });
    QVERIFY(check_products(right, point, true, random).empty());
    const auto wrong = cube([](const Tensor& x, const Tensor& g) { return g * (3.003 * (x * x)); });
    QVERIFY(check_products(wrong, point, true, random).find("differences say") != std::string::npos);
    QVERIFY(check_products(wrong, point, false, random).empty());
    // A right gradient, but 0 where g is 0 by another branch, so that it is not linear in g there.
    const auto bent = cube([](const Tensor& x, const Tensor& g) {
      const Tensor zero = ops::zeros_like(g);
      return ops::where(ops::not_equal(g, zero), g * (3.0 * (x * x)), zero);
    });
    QVERIFY(check_gradients(bent, point, random).empty());
    QVERIFY(check_products(bent, point, false, random).find("reverse mode says") != std::string::npos);
  }

  void an_op_that_is_never_checked_fails() {
    OpDef op = *Registry::instance().find("square");
    Row row = *row_of("square");
    row.calls = {[](Random&) { return Call{{integers({1, 2}, {2})}}; }};  // no products there
    QVERIFY(test_.at_the_rows_shapes(op, row).find("not checked") != std::string::npos);
    QVERIFY(test_.at_random_shapes(op, row).find("only 0") != std::string::npos);
    row = *row_of("square");
    op.vjp = [](const VjpContext& c) { return Tensors{c.cotangents[0] * c.inputs[0]}; };
    QVERIFY(test_.at_the_rows_shapes(op, row).find("forward mode") != std::string::npos);
    QVERIFY(test_.at_random_shapes(op, row).find("forward mode") != std::string::npos);
  }

  void a_derivative_of_zero_is_a_product_of_zeros() {
    Random random(1);
    const Tensor x = random_tensor(random, {3});
    Tape tape(true, false);
    tape.start();
    tape.watch(x);
    const Tensor sign = ops::sign(x), other = ops::sign(random_tensor(random, {3}));
    tape.stop();
    const std::vector<Tape::Source> primals = {{x, {}}};
    const Tensor product = forward_product(tape, sign, primals, {&x, 1});
    QVERIFY(product && product.to_vector() == std::vector<double>(3, 0.0));
    QVERIFY(!forward_product(tape, other, primals, {&x, 1}));
  }

  void every_op_at_the_rows_shapes() {
    const std::string failures = test_.failures_of_ops(
        [this](const OpDef& op, const Row& row) { return test_.at_the_rows_shapes(op, row); });
    QVERIFY2(failures.empty(), ("\n" + failures).c_str());
  }

  void every_op_at_random_shapes() {
    const std::string failures = test_.failures_of_ops(
        [this](const OpDef& op, const Row& row) { return test_.at_random_shapes(op, row); });
    QVERIFY2(failures.empty(), ("\n" + failures).c_str());
  }
};

TAPEDECK_TEST(OpsForwardTest)
#include "tst_ops_forward.moc"
