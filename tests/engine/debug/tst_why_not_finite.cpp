// What is said of tensors that hold NaN or infinite numbers: nothing that is true of numbers alone.
#include <QtTest>

#include "engine/ops/neural/neural.h"
#include "tests/engine/debug/inquiry.h"
#include "tests/test_program.h"

using namespace tapedeck;
using protocol::Because;
using protocol::Question;

namespace {

const float no_number = std::numeric_limits<float>::quiet_NaN();
const float no_bound = std::numeric_limits<float>::infinity();

void expect_sentence(const Because& because, const char* sentence) {
  QVERIFY2(contains(because.sentence, sentence), because.sentence.c_str());
}

}  // namespace

class TestWhyNotFinite : public QObject {
  Q_OBJECT
 private slots:
  void what_is_not_finite_has_no_norm() {
    Inquiry asked;
    const Tensor x = floats({1, 2}), all = ops::multiply(x, floats({no_number, no_bound}));
    expect_sentence(asked.ask(Question::size, all), "All of its 2 elements are NaN or infinite.");
    const Tensor some = ops::multiply(x, floats({no_number, 3}));
    expect_sentence(
        asked.ask(Question::size, some),
        "1 of its 2 elements is NaN or infinite; norms are those of the others. On the way to it the "
        "norm grew");
    const Because single = asked.ask(Question::size, ops::multiply(floats({0}), floats({no_bound})));
    QCOMPARE(single.sentence, std::string("It is NaN or infinite. Ask where it was born."));
  }

  void where_it_grew_is_told_up_to_the_overflow() {
    Inquiry asked;
    Tensor x = floats({1e30F, 2e30F});
    x = ops::multiply(x, floats({1e6F, 1e6F}));
    x = ops::multiply(x, floats({1e6F, 1e6F}));
    const Because because = asked.ask(Question::size, x);
    expect_sentence(
        because,
        "All of its 2 elements are NaN or infinite. On the way to it the norm grew from 2.24e+30 to "
        "2.24e+36 over 1 op, before what is not finite.");
    QCOMPARE(because.reasons.size(), std::size_t{1});
  }

  void a_gradient_that_is_nan_is_not_just_not_zero() {
    Inquiry asked;
    const Tensor x = floats({0, 4});
    const auto of = [&](const Tensor& at) {
      return gradients_at({at}, [&] {
        return ops::reduce_sum(ops::where(ops::greater(at, floats({0})), ops::sqrt(at), ops::zeros_like(at)));
      })[0];
    };
    expect_sentence(asked.ask(Question::gradient, of(x)),
                    "none of its 2 elements is zero; 1 of them is NaN or infinite.");
    QCOMPARE(asked.ask(Question::gradient, of(floats({0}))).sentence,
             std::string("The gradient is there; it is nan, not zero."));
  }

  void relu_says_that_its_input_is_nan() {
    Inquiry asked;
    const Tensor x = floats({no_number, -1});
    const Tensors gradients = gradients_at({x}, [&] { return ops::reduce_sum(ops::relu(x)); });
    expect_sentence(asked.ask(Question::gradient, gradients[0]), "the input is NaN there");
    const Tensor y = floats({-2, -1});
    const Because flat =
        asked.ask(Question::gradient, gradients_at({y}, [&] { return ops::reduce_sum(ops::relu(y)); })[0]);
    QVERIFY2(!contains(flat.sentence, "NaN"), flat.sentence.c_str());
  }

  void of_nan_there_are_no_shares() {
    Inquiry asked;
    const Tensor product = ops::multiply(floats({2, no_number}), floats({3, 5}));
    const Because element = asked.ask(Question::contributions, product);
    expect_sentence(element, "The first NaN, nan at [1], was made by multiply");
    expect_sentence(element, "x[1] = nan is the first that is not finite, so there are no shares.");
    for (const protocol::Reason& reason : element.reasons) QVERIFY(!reason.amount_text);
    // A finite factor is not blamed, in whatever order they stand.
    const Tensor turned = ops::multiply(floats({3, 5}), floats({2, no_number}));
    expect_sentence(asked.ask(Question::contributions, turned), "y[1] = nan is the first that is not finite");
    const Tensor none = ops::divide(floats({0, 4}), floats({0, 2}));
    expect_sentence(asked.ask(Question::contributions, none, {0}),
                    "each of them is finite, together they are not");
    // An element that is a number is told as one, whatever stands beside it.
    expect_sentence(asked.ask(Question::contributions, product, {0}), "from x[0] = 2.0 and y[0] = 3.0.");
    const Tensor sum = ops::add(floats({2, no_number}), floats({6, 5}));
    expect_sentence(asked.ask(Question::contributions, sum, {0}),
                    "the largest is y[0] = 6.0 (75 % of the sum of magnitudes).");

    const Tensor w = floats({1, 0, 0, 1}, {2, 2}), x = floats({1, 1, no_bound, 1, 3, 1}, {3, 2});
    const Tensor gradient = gradients_at({w}, [&] {
      const Tensor first = ops::matmul(x, w);
      return ops::add(ops::reduce_sum(ops::matmul(floats({1, 2}, {1, 2}), w)), ops::reduce_sum(first));
    })[0];
    const Because together = asked.ask(Question::contributions, gradient);
    expect_sentence(
        together,
        "is the sum of 2 contributions, one for each use of the value. The first that is not finite "
        "comes from matmul");
    expect_sentence(together, "so there are no shares.");
    QVERIFY2(!contains(together.sentence, "%"), together.sentence.c_str());
    for (const protocol::Reason& reason : together.reasons) QVERIFY(!reason.amount_text);
    // Of one of its elements that is a number there are.
    const Because one = asked.ask(Question::contributions, gradient, {1, 0});
    QVERIFY2(contains(one.sentence, "%"), one.sentence.c_str());
  }

  void digits_are_told_of_numbers_alone() {
    Inquiry asked;
    const Tensor all = ops::multiply(floats({no_number, no_bound}), floats({1, 1}));
    QCOMPARE(asked.ask(Question::exactness, all).sentence,
             std::string(
                 "All of its elements are NaN or infinite in float64, too: there are no digits to compare."));
    const Tensor some = ops::multiply(floats({no_number, 3}), floats({1, 1}));
    expect_sentence(asked.ask(Question::exactness, some),
                    "1 of 2 elements is NaN or infinite in float64, too, and not compared.");
    // Beyond float32, but a number.
    const Because beyond = asked.ask(Question::exactness, ops::exp(floats({100, 1})));
    expect_sentence(beyond, "1 of 2 elements is NaN or infinite; in float64 it is finite.");
    expect_sentence(beyond, "Its result is too large for its dtype, in 1 element.");
  }
};

TAPEDECK_TEST(TestWhyNotFinite)
#include "tst_why_not_finite.moc"
