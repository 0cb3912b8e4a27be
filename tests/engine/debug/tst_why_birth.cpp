// Where a NaN or Inf was born, in programs whose answer is known.
#include <QtTest>

#include "tests/engine/debug/inquiry.h"
#include "tests/engine/debug/served.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using protocol::Because;
using protocol::Question;
using protocol::Reason;
using protocol::RecordKind;

namespace {

const float infinity = std::numeric_limits<float>::infinity();

}  // namespace

class TestWhyBirth : public QObject {
  Q_OBJECT

  static void check_born(const Because& because, const std::string& op, const std::string& call,
                         const std::vector<std::int64_t>& element) {
    QVERIFY2(!because.reasons.empty(), because.sentence.c_str());
    const Reason& born = because.reasons[0];
    QCOMPARE(born.role, std::string("born"));
    QCOMPARE(born.op, op);
    QVERIFY2(contains(born.sentence, call), born.sentence.c_str());
    QVERIFY2(contains(because.sentence, call), because.sentence.c_str());
    QCOMPARE(born.element, element);
    QVERIFY(because.complete);
  }

 private slots:
  void zero_divided_by_zero() {
    Inquiry asked;
    const Tensor a = floats({1, 0, 3}), b = floats({2, 0, 1});
    const Tensor c = ops::divide(a, b);
    const Tensor d = ops::reduce_sum(ops::exp(c));
    const Because because = asked.ask(Question::birth, d);
    check_born(because, "divide", "0.0 / 0.0", {1});
    QCOMPARE(because.reasons[0].record, std::uint64_t{1});
    QCOMPARE(because.reasons[0].operands, (std::vector<std::string>{"x[1] = 0.0", "y[1] = 0.0"}));
    QCOMPARE(because.reasons[0].value, std::string("nan"));
    // Then the way to what was asked about, in order.
    QCOMPARE(because.reasons.size(), std::size_t{3});
    QCOMPARE(because.reasons[1].op, std::string("exp"));
    QCOMPARE(because.reasons[2].op, std::string("reduce_sum"));
    QCOMPARE(because.reasons[2].role, std::string("passed on"));
  }

  void the_logarithm_of_zero_in_a_loss() {
    Inquiry asked;
    const Tensor p = ops::softmax(floats({0, 200, 0, 1, 2, 3}, {2, 3}));
    const Tensor labels = floats({1, 0, 0, 0, 0, 1}, {2, 3});
    const Tensor loss = ops::reduce_mean(ops::multiply(labels, ops::log(p)));
    const Because because = asked.ask(Question::birth, loss);
    // -inf is the first that is not finite on the way of this NaN: 0 · -inf, and log(0) behind it.
    check_born(because, "multiply", "0.0 · -inf", {0, 2});
    QCOMPARE(because.reasons[1].role, std::string("cause"));
    QCOMPARE(because.reasons[1].op, std::string("log"));
    QVERIFY2(contains(because.sentence, "log(0.0)"), because.sentence.c_str());
  }

  void a_row_of_a_softmax_that_is_masked_as_a_whole() {
    Inquiry asked;
    constexpr float hidden = -std::numeric_limits<float>::infinity();
    const Tensor p = ops::softmax(floats({0, hidden, hidden, hidden}, {2, 2}));
    const Because because = asked.ask(Question::birth, p);
    QVERIFY2(contains(because.sentence, "The NaN at [1, 0] was born in softmax"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "all 2 elements of the row are -inf: it is masked as a whole"),
             because.sentence.c_str());
    QCOMPARE(because.reasons.at(0).operands.size(), std::size_t{2});
    const Because large = asked.ask(Question::birth, ops::softmax(floats({0, -hidden, 1, 2}, {2, 2})));
    QVERIFY2(contains(large.sentence, "The NaN at [0, 1] was born") ||
                 contains(large.sentence, "The NaN at [0, 0] was born"),
             large.sentence.c_str());
    QVERIFY2(contains(large.sentence, "the row has an element of inf"), large.sentence.c_str());
    QVERIFY2(!contains(large.sentence, "masked"), large.sentence.c_str());
  }

  void infinity_minus_infinity_and_the_overflow_behind_it() {
    Inquiry asked;
    const Tensor e = ops::exp(floats({1, 1000}));
    const Tensor d = ops::subtract(e, e);
    const Because because = asked.ask(Question::birth, d, {1});
    check_born(because, "subtract", "inf - inf", {1});
    QCOMPARE(because.reasons[1].op, std::string("exp"));
    QVERIFY2(contains(because.reasons[1].sentence, "exp(1000.0)"), because.reasons[1].sentence.c_str());
    QVERIFY2(contains(because.reasons[1].sentence, "3.4e38"), because.reasons[1].sentence.c_str());
  }

  void the_row_that_was_read_counts_not_another_nan() {
    Inquiry asked;
    const Tensor a = ops::log(floats({-1, 1, 1, 2, 3, 4}, {3, 2}));  // NaN in row 0
    const Tensor b = ops::sqrt(floats({1, 1, -4, 1}, {2, 2}));       // NaN in column 0
    const Tensor c = ops::matmul(a, b);
    check_born(asked.ask(Question::birth, c, {2, 0}), "sqrt", "sqrt(-4.0)", {1, 0});
    check_born(asked.ask(Question::birth, c, {0, 1}), "log", "log(-1.0)", {0, 0});
    const Tensor rows = ops::reduce_sum(ops::transpose(a), std::vector<std::int64_t>{0});
    check_born(asked.ask(Question::birth, rows, {0}), "log", "log(-1.0)", {0, 0});
    const Tensor taken =
        ops::gather(a, Tensor::from_values<std::int64_t>(std::vector<std::int64_t>{1, 0}, {2}));
    check_born(asked.ask(Question::birth, taken, {1, 0}), "log", "log(-1.0)", {0, 0});
  }

  void what_moves_elements_is_seen_through_however_far_it_moves_them() {
    Inquiry asked;
    const Tensor a = ops::log(floats({1, 2, 3, 4, 5, 6, -1, 7, 8, 9, 10, 11}, {2, 6}));  // NaN at [1, 0]
    // The shift is one extent of the matrix by which ops are probed.
    const Tensor rolled = testing::called(
        "roll", {a}, {{"shift", std::vector<std::int64_t>{3}}, {"axis", std::vector<std::int64_t>{1}}});
    check_born(asked.ask(Question::birth, rolled, {1, 3}), "log", "log(-1.0)", {1, 0});
    const Tensor both = testing::called(
        "roll", {a}, {{"shift", std::vector<std::int64_t>{2, 3}}, {"axis", std::vector<std::int64_t>{0, 1}}});
    check_born(asked.ask(Question::birth, both, {1, 3}), "log", "log(-1.0)", {1, 0});
  }

  /// As in a recurrence that overflows: of all that a sum of products can be NaN by, what it was.
  void of_a_product_of_matrices_the_sentence_says_which_of_its_terms_have_no_value() {
    struct Case {
      Tensor a, b;
      std::string what;
    };
    const Case cases[] = {
        {floats({infinity, infinity, 2}, {1, 3}), floats({1, -1, 3}, {3, 1}), "∞ − ∞ is undefined"},
        {floats({infinity, 1, 2}, {1, 3}), floats({0, -1, 3}, {3, 1}), "0 · ∞ is undefined"},
    };
    for (const Case& one : cases) {
      Inquiry asked;
      const Tensor product = ops::matmul(one.a, one.b);
      QVERIFY(std::isnan(product.to_vector()[0]));
      const Because because = asked.ask(Question::birth, product);
      QVERIFY2(contains(because.sentence, "There " + one.what), because.sentence.c_str());
      QVERIFY2(contains(because.reasons.at(0).sentence, "of infinite values"),
               because.reasons[0].sentence.c_str());
    }
  }

  void a_sum_that_overflows_names_its_largest_operands() {
    Inquiry asked;
    const Tensor a = floats({3e38F, 1, 2, 3e38F, 5, 6}, {1, 6});
    const Because because = asked.ask(Question::birth, ops::reduce_sum(a));
    QCOMPARE(because.reasons.at(0).op, std::string("reduce_sum"));
    QCOMPARE(because.reasons.at(0).operands.size(), std::size_t{5});
    QVERIFY2(contains(because.reasons[0].operands[0], "e+38"), because.reasons[0].operands[0].c_str());
  }

  void a_nan_of_a_gradient_names_the_vjp_and_the_forward_value() {
    Inquiry asked;
    const Tensor x = floats({3, 0});
    const Tensors gradients = gradients_at({x}, [&] {
      const Tensor squares = ops::square(x);
      return ops::reduce_sum(ops::sqrt(squares));
    });
    QVERIFY(std::isnan(gradients[0].to_vector()[1]));
    const Because because = asked.ask(Question::birth, gradients[0]);
    QCOMPARE(because.reasons.at(0).role, std::string("born"));
    QCOMPARE(because.reasons[0].element, (std::vector<std::int64_t>{1}));
    QCOMPARE(because.reasons[1].role, std::string("VJP"));
    QCOMPARE(because.reasons[1].op, std::string("square"));
    QCOMPARE(because.reasons[2].role, std::string("forward op"));
    // The infinity was made by the VJP of sqrt, whose forward value was 0.
    const auto cause = std::find_if(because.reasons.begin(), because.reasons.end(),
                                    [](const Reason& reason) { return reason.role == "cause"; });
    QVERIFY(cause != because.reasons.end());
    QCOMPARE((cause + 1)->op, std::string("sqrt"));
    QCOMPARE((cause + 2)->record, std::uint64_t{asked.newest("sqrt", RecordKind::op)});
    QVERIFY2(contains((cause + 2)->sentence, "x[1] = 0.0"), (cause + 2)->sentence.c_str());
  }

  void a_zero_behind_it_that_was_too_small_for_its_dtype_is_told() {
    Inquiry asked;
    const Tensor small = floats({1, 1e-30F}), large = floats({2, 1e20F});
    const Tensors gradients =
        gradients_at({small}, [&] { return ops::reduce_sum(ops::log(ops::divide(small, large))); });
    const Because because = asked.ask(Question::birth, gradients[0], {1});
    QVERIFY2(contains(because.sentence, "Its forward op is log"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "The 0.0 in it was made by divide (op 1): "),
             because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "is 1e-50 in float64, too small for float32."),
             because.sentence.c_str());
    const auto told = std::ranges::find(because.reasons, std::string("vanished"), &Reason::role);
    QVERIFY(told != because.reasons.end());
    QCOMPARE(told->record, std::uint64_t{1});
    QCOMPARE(told->element, (std::vector<std::int64_t>{1}));
  }

  void a_zero_behind_it_that_came_of_an_infinity_is_told() {
    Inquiry asked;
    const Tensor one = floats({1, 1}), power = floats({0, 1000});
    const Tensors gradients =
        gradients_at({one}, [&] { return ops::reduce_sum(ops::log(ops::divide(one, ops::exp(power)))); });
    const Because because = asked.ask(Question::birth, gradients[0], {1});
    QVERIFY2(contains(because.sentence, "The 0.0 in it was made by divide (op 2): 1.0 / inf."),
             because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "The infinity in it was born in exp (op 1): exp(1000.0)"),
             because.sentence.c_str());
  }

  void a_zero_that_is_one_in_all_digits_is_told_no_further() {
    Inquiry asked;
    const Tensor a = floats({1, 1}), b = floats({0, 1});
    const Tensors gradients =
        gradients_at({a}, [&] { return ops::reduce_sum(ops::log(ops::subtract(a, b))); });
    const Because because = asked.ask(Question::birth, gradients[0], {1});
    QVERIFY2(contains(because.sentence, "x[1] = 0.0"), because.sentence.c_str());
    QVERIFY2(!contains(because.sentence, "in it was made by"), because.sentence.c_str());
  }

  void it_is_followed_through_variables_and_forgotten_values() {
    RecorderOptions options;
    options.keeping.window_bytes = 0;
    options.keeping.window_count = 0;
    Inquiry asked(options);
    Variable w(floats({1, -1}), "w");
    for (int i = 0; i < 50; ++i) {
      const Tensor next = ops::multiply(ops::log(w.read()), floats({1, 1}));
      if (i == 3) w.assign(next);
    }
    const Tensor y = ops::add(w.read(), floats({1, 1}));
    const Because because = asked.ask(Question::birth, y, {1});
    check_born(because, "log", "log(-1.0)", {1});
    QVERIFY(std::any_of(because.reasons.begin(), because.reasons.end(), [](const Reason& reason) {
      return reason.role == "assigned" && reason.op == "w:0";
    }));
  }

  void what_came_from_python_says_so() {
    Inquiry asked;
    const Tensor x = floats({1, std::nanf("")});
    const Because because = asked.ask(Question::birth, ops::add(x, x), {1});
    QCOMPARE(because.reasons.at(0).role, std::string("came in"));
    QVERIFY2(contains(because.sentence, "Python"), because.sentence.c_str());
    const Tensor mask = floats({0, -infinity});
    const Because masked = asked.ask(Question::birth, ops::add(x, mask));
    QCOMPARE(masked.reasons.at(0).role, std::string("came in"));
  }

  void where_all_is_finite_there_is_nothing_to_say() {
    Inquiry asked;
    const Tensor x = ops::add(floats({1, 2}), floats({1, 2}));
    QVERIFY(asked.ask(Question::birth, x).reasons.empty());
    QCOMPARE(asked.ask(Question::birth, x).sentence,
             std::string("All of the 2 elements are finite: there is no NaN or infinity here."));
    QVERIFY(contains(asked.ask(Question::birth, x, {1}).sentence, "4.0"));
  }

  void a_client_asks_over_its_socket() {
    Served served;
    const Tensor x = ops::log(floats({1, 0}));
    RawClient client = served.client();
    client.greet();
    const auto because =
        client.ask<Because>(protocol::Why{Question::birth, x.id(), std::vector<std::int64_t>{1}, {}});
    check_born(because, "log", "log(0.0)", {1});
    QCOMPARE(because.question, Question::birth);
    const auto refused = client.ask<protocol::Failure>(
        protocol::Why{Question::birth, x.id(), std::vector<std::int64_t>{7}, {}});
    QCOMPARE(refused.code, std::string("bad_request"));
    QVERIFY2(contains(refused.reason, "outside of shape (2,)"), refused.reason.c_str());
    QCOMPARE(client.ask<protocol::Failure>(protocol::Why{Question::check, {}, {}, 99}).code,
             std::string("bad_request"));
    QCOMPARE(served.count(), 1u);  // nothing of it was recorded
  }

  void nonsense_is_refused() {
    Inquiry asked;
    const Tensor x = ops::log(floats({0, 2}));
    QVERIFY_EXCEPTION_THROWN(asked.ask(Question::birth, x, {2}), debug::BadRequest);
    QVERIFY_EXCEPTION_THROWN(asked.ask(Question::birth, x, {0, 0}), debug::BadRequest);
    QVERIFY_EXCEPTION_THROWN(asked.ask_about(Question::birth, 0, {}, 77), debug::BadRequest);
    QVERIFY_EXCEPTION_THROWN(asked.ask_about(Question::birth, 1u << 30, {}, 0), ValueError);
    asked.cancel = true;
    QVERIFY_EXCEPTION_THROWN(asked.ask(Question::birth, x), Cancelled);
  }
};

TAPEDECK_TEST(TestWhyBirth)
#include "tst_why_birth.moc"
