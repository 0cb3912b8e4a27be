// Functions in, gradient functions out.
#include <QtTest>

#include "engine/tape/gradients.h"
#include "tests/engine/event_log.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/test_ops.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;

namespace {

Tensor power(const Tensor& x, int n) {
  Tensor result = detail::ones_like(x);
  for (int i = 0; i < n; ++i) result = multiply(result, x);
  return result;
}

TensorFunction first_of(GradientsFunction gradients) {
  return [gradients = std::move(gradients)](std::span<const Tensor> x) { return gradients(x)[0]; };
}

}  // namespace

class TestGradients : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { register_core_ops(); }

  void every_argument_gets_its_gradient() {
    const auto gradients =
        gradients_function([](std::span<const Tensor> x) { return multiply(multiply(x[0], x[0]), x[1]); });
    const Tensors result = gradients(std::array{scalar(3), scalar(5)});
    QCOMPARE(result.size(), std::size_t{2});
    QCOMPARE(result[0].item(), 30.);
    QCOMPARE(result[1].item(), 9.);
  }

  void only_the_chosen_arguments_are_differentiated() {
    const TensorFunction f = [](std::span<const Tensor> x) { return multiply(multiply(x[0], x[0]), x[1]); };
    const Tensors result = gradients_function(f, {1})(std::array{scalar(3), scalar(5)});
    QCOMPARE(result.size(), std::size_t{1});
    QCOMPARE(result[0].item(), 9.);
    const Tensors swapped = gradients_function(f, {1, 0})(std::array{scalar(3), scalar(5)});
    QCOMPARE(swapped[0].item(), 9.);
    QCOMPARE(swapped[1].item(), 30.);
    EXPECT_ERROR(InvalidArgumentError, gradients_function(f, {2})(std::array{scalar(3), scalar(5)}),
                 "parameter 2 is out of range: the function was called with 2 arguments");
    EXPECT_ERROR(InvalidArgumentError, gradients_function(f, {-1})(std::array{scalar(3), scalar(5)}),
                 "parameter -1 is out of range");
  }

  void the_nth_derivative_of_the_nth_power_is_a_factorial() {
    double factorial = 1;
    for (int n = 1; n <= 6; ++n) {
      factorial *= n;
      TensorFunction f = [n](std::span<const Tensor> x) { return power(x[0], n); };
      for (int i = 0; i < n; ++i) f = first_of(gradients_function(f));
      QCOMPARE(f(std::array{scalar(1)}).item(), factorial);
    }
  }

  void vectors_are_differentiated_as_their_sum() {
    const auto gradients = gradients_function([](std::span<const Tensor> x) { return multiply(x[0], x[0]); });
    QCOMPARE(gradients(std::array{vector_of({1, 2, 3})})[0].to_vector(), (std::vector<double>{2, 4, 6}));
  }

  void one_tensor_given_twice_gets_two_gradients() {
    const auto gradients =
        gradients_function([](std::span<const Tensor> x) { return multiply(multiply(x[0], x[0]), x[1]); });
    const Tensor x = scalar(3);
    const Tensors result = gradients(std::array{x, x});
    QCOMPARE(result[0].item(), 18.);
    QCOMPARE(result[1].item(), 9.);
  }

  void one_tensor_given_twice_has_the_right_second_derivative() {
    const TensorFunction slope = [](std::span<const Tensor> x) {
      return gradients_function([](std::span<const Tensor> y) {
        return multiply(multiply(y[0], y[0]), y[1]);
      })(std::array{x[0], x[0]})[0];  // 2 y0 y1 at y0 = y1 = x
    };
    QCOMPARE(gradients_function(slope)(std::array{scalar(3)})[0].item(), 12.);
  }

  void the_value_comes_with_its_gradients() {
    const auto both =
        value_and_gradients_function([](std::span<const Tensor> x) { return exponential(x[0]); });
    const auto [value, gradients] = both(std::array{scalar(1)});
    QCOMPARE(value.item(), std::exp(1.));
    QCOMPARE(gradients[0].item(), std::exp(1.));
  }

  void an_argument_without_influence_has_no_gradient() {
    const auto gradients = gradients_function([](std::span<const Tensor> x) { return multiply(x[0], x[0]); });
    QVERIFY(!gradients(std::array{scalar(3), scalar(5)})[1]);
  }

  void a_function_must_return_a_tensor() {
    const auto gradients = gradients_function([](std::span<const Tensor>) { return Tensor(); });
    EXPECT_ERROR(InvalidArgumentError, gradients(std::array{scalar(1)}), "the function returned no tensor");
    EXPECT_ERROR(InvalidArgumentError, implicit_gradients([] { return Tensor(); })(), "returned no tensor");
  }

  void a_function_that_throws_leaves_no_tape_behind() {
    const auto gradients =
        gradients_function([](std::span<const Tensor> x) -> Tensor { return failing(x[0], false); });
    const Tensor x = scalar(1);
    EXPECT_ERROR(UnimplementedError, gradients(std::array{x}), "no kernel");
    QVERIFY(!is_taped(std::span(&x, 1)));
  }

  void implicit_gradients_find_the_variables() {
    Variable w(scalar(3), "w"), b(scalar(1), "b"), frozen(scalar(2), "frozen", false);
    const auto loss = [&] {
      const Tensor square = multiply(w.read(), w.read());
      return add(multiply(square, frozen.read()), b.read());
    };
    const auto [value, pairs] = implicit_value_and_gradients(loss)();
    QCOMPARE(value.item(), 19.);
    QCOMPARE(pairs.size(), std::size_t{2});
    QCOMPARE(pairs[0].second, w);
    QCOMPARE(pairs[0].first.item(), 12.);
    QCOMPARE(pairs[1].second, b);
    QCOMPARE(pairs[1].first.item(), 1.);
    QCOMPARE(implicit_gradients(loss)()[0].first.item(), 12.);
    EXPECT_ERROR(InvalidArgumentError, implicit_gradients([] { return scalar(1); })(),
                 "implicit_gradients: the function used no trainable variable");
  }

  void implicit_gradients_nest_in_gradients_functions() {
    Variable w(scalar(3));
    // d/dx (d/dw (w² x)) = 2 w
    const auto mixed = gradients_function([&](std::span<const Tensor> x) {
      return implicit_gradients([&] { return multiply(multiply(w.read(), w.read()), x[0]); })()[0].first;
    });
    QCOMPARE(mixed(std::array{scalar(7)})[0].item(), 6.);
  }
};

TAPEDECK_TEST(TestGradients)
#include "tst_gradients.moc"
