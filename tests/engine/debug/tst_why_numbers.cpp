// What made an element, what a gradient came from, where values grew, whether a gradient is right, and how
// exact a value is: in programs whose answer is known.
#include <QtTest>

#include "engine/ops/neural/neural.h"
#include "tests/engine/debug/inquiry.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using protocol::Because;
using protocol::Question;
using protocol::Reason;
using protocol::RecordKind;

namespace {

Tensor numbers(std::int64_t count, float scale) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(scale * static_cast<float>((i * 37) % 101 - 50));
  return Tensor::from_values<float>(values, {count});
}

/// x², with a gradient that the "user" wrote, `factor` times what is right at the element `at`.
Tensor wrong_square(const Tensor& x, double factor, std::size_t at) {
  const Tensors inputs{x};
  return custom_gradient("my_square", inputs, [&] {
    return CustomResult{{ops::square(x)}, [x, factor, at](std::span<const Tensor> cotangents) -> Tensors {
                          std::vector<float> factors(static_cast<std::size_t>(x.count()), 2.0F);
                          factors[at] = static_cast<float>(2 * factor);
                          return {ops::multiply(cotangents[0], ops::multiply(x, Tensor::from_values<float>(
                                                                                    factors, x.shape())))};
                        }};
  })[0];
}

}  // namespace

class TestWhyNumbers : public QObject {
  Q_OBJECT
 private slots:
  void an_element_of_a_product_is_the_sum_of_its_terms() {
    Inquiry asked;
    const Tensor a = floats({1, 2, 3, 4, 5, 6}, {2, 3}), b = floats({1, 10, -2, 1, 0.5F, 1}, {3, 2});
    const Tensor c = ops::matmul(a, b);
    const Because because = asked.ask(Question::contributions, c, {1, 0});  // 4·1 + 5·-2 + 6·0.5
    QCOMPARE(because.reasons.size(), std::size_t{3});
    QCOMPARE(because.reasons[0].operands, (std::vector<std::string>{"a[1, 1] = 5.0 · b[1, 0] = -2.0"}));
    QCOMPARE(because.reasons[0].value, std::string("-10"));
    QCOMPARE(because.reasons[0].element, (std::vector<std::int64_t>{1, 1}));
    QCOMPARE(because.reasons[0].amount.value(), 10.0 / 17.0);
    QCOMPARE(because.reasons[2].value, std::string("3"));
    QVERIFY2(contains(because.sentence, "3 contributions"), because.sentence.c_str());
    // With an operand transposed, and in a batch, the same terms.
    const Tensor turned = ops::matmul(a, ops::transpose(b), false, true);
    QCOMPARE(asked.ask(Question::contributions, turned, {1, 0}).reasons[0].value, std::string("-10"));
  }

  void factors_are_not_summands() {
    Inquiry asked;
    const auto made_of = [&](const Tensor& result, const std::string& op, const std::string& operands) {
      const Because because = asked.ask(Question::contributions, result);
      QVERIFY2(contains(because.sentence, "was made by " + op + " (op "), because.sentence.c_str());
      QVERIFY2(because.sentence.ends_with(" from " + operands + "."), because.sentence.c_str());
      for (const Reason& reason : because.reasons) {
        if (reason.op != op) continue;
        QCOMPARE(reason.role, std::string("operand"));
        QVERIFY2(!reason.amount && !reason.amount_text, reason.sentence.c_str());
      }
    };
    made_of(ops::multiply(floats({2}), floats({1})), "multiply", "x[0] = 2.0 and y[0] = 1.0");
    made_of(ops::divide(floats({6}), floats({3})), "divide", "x[0] = 6.0 and y[0] = 3.0");
    made_of(ops::multiply(floats({0}), floats({5})), "multiply", "x[0] = 0.0 and y[0] = 5.0");
    made_of(ops::exp(floats({0})), "exp", "x[0] = 0.0");
    // Of integers 2·2 is 2 + 2, too.
    const Tensor two = Tensor::from_values<std::int64_t>(std::vector<std::int64_t>{2}, {1});
    made_of(ops::multiply(two, two), "multiply", "x[0] = 2 and y[0] = 2");
  }

  void numbers_of_records_are_told_as_the_window_shows_them() {
    Inquiry asked;
    Tensor sum = floats({1});
    for (int i = 0; i < 1200; ++i) sum = ops::add(sum, floats({1}));
    const Because because = asked.ask(Question::contributions, sum);
    QVERIFY2(contains(because.sentence, "was made by add (op 1,200)"), because.sentence.c_str());
  }

  void equal_contributions_are_told_together() {
    Inquiry asked;
    const Because both = asked.ask(Question::contributions, ops::add(floats({2}), floats({2})));
    QVERIFY2(contains(both.sentence,
                      "of 2 contributions; they are equally large: x[0] = 2.0 and y[0] = 2.0 (each 50 %"),
             both.sentence.c_str());
    const Because three =
        asked.ask(Question::contributions, ops::reduce_sum(floats({4, 1, -4}), std::vector<std::int64_t>{0}));
    QVERIFY2(contains(three.sentence,
                      "the largest are input_tensor[0] = 4.0 and input_tensor[2] = -4.0 (each 44 %"),
             three.sentence.c_str());
    const Because one = asked.ask(Question::contributions, ops::add(floats({3}), floats({1})));
    QVERIFY2(contains(one.sentence, "the largest is x[0] = 3.0 (75 %"), one.sentence.c_str());
  }

  void an_operand_that_is_an_old_value_of_a_variable_is_told() {
    Inquiry asked;
    Variable w(floats({5, 1}), "w");
    const Tensor old = w.read();
    w.assign(floats({4, 1}));
    w.assign(floats({3, 1}));
    const Because stale = asked.ask(Question::contributions, ops::subtract(old, floats({1, 0})));
    QVERIFY2(contains(stale.sentence, "Its operand x is w, as it was 2 assignments before this op."),
             stale.sentence.c_str());
    QVERIFY2(contains(stale.reasons.at(0).sentence, "x is w, as it was 2 assignments"),
             stale.reasons[0].sentence.c_str());
    const Because fresh = asked.ask(Question::contributions, ops::subtract(w.read(), floats({1, 0})));
    QVERIFY2(!contains(fresh.sentence, "as it was"), fresh.sentence.c_str());
    // What was assigned later was not there when the op ran.
    const Tensor before = ops::subtract(w.read(), floats({1, 0}));
    w.assign(floats({2, 1}));
    QVERIFY(!contains(asked.ask(Question::contributions, before).sentence, "as it was"));
  }

  void contributions_go_on_through_reductions_gathers_and_broadcasts() {
    Inquiry asked;
    const Tensor table = ops::multiply(floats({1, 2, 3, 4, 50, 6}, {3, 2}), floats({1, 2}));
    const Tensor rows =
        ops::gather(table, Tensor::from_values<std::int64_t>(std::vector<std::int64_t>{2, 2}, {2}));
    const Tensor sum = ops::reduce_sum(rows, std::vector<std::int64_t>{1});
    const Because because = asked.ask(Question::contributions, sum, {1});
    QCOMPARE(because.reasons[0].op, std::string("reduce_sum"));
    QCOMPARE(because.reasons[0].element, (std::vector<std::int64_t>{1, 0}));  // 50, beside 12
    const auto of = [&](const char* op) {
      return std::find_if(because.reasons.begin(), because.reasons.end(),
                          [&](const Reason& reason) { return reason.op == op; });
    };
    QVERIFY(of("gather") != because.reasons.end());
    QCOMPARE(of("gather")->element, (std::vector<std::int64_t>{2, 0}));
    QVERIFY(of("multiply") != because.reasons.end());
  }

  void a_convolution_names_pixels_and_weights() {
    Inquiry asked;
    const OpDef* conv = Registry::instance().find("conv2d");
    QVERIFY(conv);
    Tensor image = Tensor::from_values<float>(std::vector<float>{1, 2, 3, 4, 100, 6, 7, 8, 9}, {1, 3, 3, 1});
    Tensor filter = Tensor::from_values<float>(std::vector<float>{1, 1, 1, 1}, {2, 2, 1, 1});
    const Tensor out = ops::conv2d(image, filter);
    const Because because = asked.ask(Question::contributions, out, {0, 0, 0, 0});
    QCOMPARE(because.reasons[0].element, (std::vector<std::int64_t>{0, 1, 1, 0}));
    QCOMPARE(because.reasons[0].value, std::string("100"));
  }

  void a_weights_gradient_is_told_by_use_and_example() {
    Inquiry asked;
    const Tensor w = floats({1, 0, 0, 1}, {2, 2});
    const Tensor x = floats({1, 1, 1, 1, 30, 1}, {3, 2});
    const Tensors gradients = gradients_at({w}, [&] {
      const Tensor first = ops::matmul(x, w);
      const Tensor second = ops::matmul(first * 3.0, w);
      return ops::reduce_sum(second);
    });
    const Because because = asked.ask(Question::contributions, gradients[0]);
    QVERIFY2(contains(because.sentence, "2 contributions"), because.sentence.c_str());
    double shares = 0;
    int uses = 0;
    for (const Reason& reason : because.reasons) {
      if (!reason.role.starts_with("use ")) continue;
      shares += reason.amount.value();
      ++uses;
    }
    QCOMPARE(uses, 2);
    QVERIFY(std::abs(shares - 1) < 1e-6);
    const auto example =
        std::find_if(because.reasons.begin(), because.reasons.end(),
                     [](const Reason& reason) { return reason.role.starts_with("example "); });
    QVERIFY(example != because.reasons.end());
    QCOMPARE(example->role, std::string("example 2"));
    // The examples of one use make all of it.
    double examples = 0;
    for (auto reason = example; reason != because.reasons.end() && reason < example + 3; ++reason)
      examples += reason->amount.value();
    const double use = because.reasons[0].amount.value();
    QVERIFY2(std::abs(examples - use) < 1e-3, std::to_string(examples).c_str());
    QVERIFY(contains(asked.ask(Question::contributions, gradients[0], {0, 1}).sentence, "This element"));
  }

  void the_gain_of_each_op_shows_where_it_exploded() {
    Inquiry asked;
    Tensor h = floats({1, 1}, {1, 2});
    const Tensor calm = floats({1, 0, 0, 1}, {2, 2}), wild = floats({100, 0, 0, 100}, {2, 2});
    for (int step = 0; step < 6; ++step) h = ops::matmul(h, step == 3 ? wild : calm);
    const Because because = asked.ask(Question::size, h);
    QVERIFY2(because.reasons[0].record == 4, because.sentence.c_str());
    QVERIFY(std::abs(because.reasons[0].amount.value() - 100) < 1e-3);
    QVERIFY2(contains(because.sentence, "grew"), because.sentence.c_str());
    const Tensor small = ops::multiply(ops::exp(floats({0, 0})), floats({1e-9F, 1e-9F}));
    QVERIFY(contains(asked.ask(Question::size, small).sentence, "shrank"));
    QCOMPARE(asked.ask(Question::size, small).reasons[0].op, std::string("multiply"));
  }

  void a_right_gradient_is_called_right() {
    Inquiry asked;
    const Tensor x = numbers(40, 0.02F);
    const Tensors gradients =
        gradients_at({x}, [&] { return ops::reduce_sum(ops::multiply(ops::sin(x), ops::exp(x))); });
    QVERIFY(gradients[0]);
    int checked = 0;
    for (std::uint32_t number = 1; number <= asked.count(); ++number) {
      if (asked.at(number).kind != RecordKind::vjp) continue;
      const Because because = asked.ask_about(Question::check, 0, {}, number);
      QVERIFY2(contains(because.sentence, "is right"), because.sentence.c_str());
      ++checked;
    }
    QCOMPARE(checked, 4);
  }

  void a_wrong_custom_gradient_is_found_with_its_element() {
    Inquiry asked;
    const Tensor x = floats({1, 2, 3, 4});
    gradients_at({x}, [&] { return ops::reduce_sum(wrong_square(x, 3, 2)); });
    const Because because =
        asked.ask_about(Question::check, 0, {}, asked.newest("my_square", RecordKind::vjp));
    QVERIFY2(contains(because.sentence, "is wrong"), because.sentence.c_str());
    QCOMPARE(because.reasons[0].role, std::string("wrong"));
    QCOMPARE(because.reasons[0].element, (std::vector<std::int64_t>{2}));
    QVERIFY2(contains(because.sentence, "18"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "say 6"), because.sentence.c_str());
    gradients_at({x}, [&] { return ops::reduce_sum(wrong_square(x, 1, 2)); });
    QVERIFY(
        contains(asked.ask_about(Question::check, 0, {}, asked.newest("my_square", RecordKind::vjp)).sentence,
                 "is right"));
  }

  void one_tensor_as_two_arguments_of_a_custom_gradient() {
    for (const double factor : {1.0, 3.0}) {
      Inquiry asked;
      const Tensor x = floats({1, 2, 3});
      const Tensors inputs{x, x};
      gradients_at({x}, [&] {
        return ops::reduce_sum(custom_gradient("product", inputs, [&] {
          return CustomResult{
              {ops::multiply(x, x)}, [&](std::span<const Tensor> cotangents) -> Tensors {
                return {ops::multiply(cotangents[0], x) * factor, ops::multiply(cotangents[0], x)};
              }};
        })[0]);
      });
      const Because because =
          asked.ask_about(Question::check, 0, {}, asked.newest("product", RecordKind::vjp));
      QVERIFY2(contains(because.sentence, factor == 1 ? "is right" : "is wrong"), because.sentence.c_str());
      QVERIFY2(contains(because.sentence, "arguments 0 + 1"), because.sentence.c_str());
      QVERIFY2(contains(because.sentence, "are one tensor"), because.sentence.c_str());
    }
  }

  void each_input_is_moved_from_the_records_own_point() {
    Inquiry asked;
    const Tensor x = ops::add(numbers(200, 0.01F), floats({3})),
                 y = ops::add(numbers(200, 0.02F), floats({5}));
    gradients_at({x, y}, [&] { return ops::reduce_sum(ops::pow(x, y)); });
    const Because because = asked.ask_about(Question::check, 0, {}, asked.newest("pow", RecordKind::vjp));
    QCOMPARE(because.reasons.size(), std::size_t{2});
    for (const Reason& reason : because.reasons)
      QVERIFY2(reason.amount.value() < 1e-5, reason.sentence.c_str());
  }

  void one_wrong_element_of_many_is_found() {
    Inquiry asked;
    const Tensor x = ops::add(numbers(20000, 0.01F), floats({3}));
    gradients_at({x}, [&] { return ops::reduce_sum(wrong_square(x, -40, 12345)); });
    const Because because =
        asked.ask_about(Question::check, 0, {}, asked.newest("my_square", RecordKind::vjp));
    QCOMPARE(because.reasons[0].role, std::string("wrong"));
    QCOMPARE(because.reasons[0].element, (std::vector<std::int64_t>{12345}));
  }

  void a_nan_of_the_vjp_is_wrong_where_differences_are_finite() {
    for (const std::int64_t count : {std::int64_t{4}, std::int64_t{20000}}) {
      Inquiry asked;
      const Tensor x = ops::add(numbers(count, 0.01F), floats({3}));
      gradients_at({x}, [&] { return ops::reduce_sum(wrong_square(x, std::nan(""), 2)); });
      const Because because =
          asked.ask_about(Question::check, 0, {}, asked.newest("my_square", RecordKind::vjp));
      QVERIFY2(contains(because.sentence, "is wrong"), because.sentence.c_str());
      QVERIFY2(contains(because.sentence, "its VJP says nan"), because.sentence.c_str());
      QCOMPARE(because.reasons[0].element, (std::vector<std::int64_t>{2}));
      QVERIFY(std::isinf(because.reasons[0].amount.value()));
    }
  }

  void what_differences_do_not_tell_is_not_called_right() {
    Inquiry asked;
    const Tensor x = floats({1, 0, 4});
    gradients_at({x}, [&] { return ops::reduce_sum(ops::sqrt(x)); });
    // Below 0 there is no root.
    Because because = asked.ask_about(Question::check, 0, {}, asked.newest("sqrt", RecordKind::vjp));
    QVERIFY2(contains(because.sentence, "is right"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "1 element could not be compared"), because.sentence.c_str());
    const Tensor zeros = floats({0, 0});
    gradients_at({zeros}, [&] { return ops::reduce_sum(ops::sqrt(zeros)); });
    because = asked.ask_about(Question::check, 0, {}, asked.newest("sqrt", RecordKind::vjp));
    QVERIFY2(contains(because.sentence, "no gradient that could be checked"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "2 elements could not be compared"), because.sentence.c_str());
    QVERIFY(because.reasons.empty());
  }

  void a_kink_is_no_mistake() {
    Inquiry asked;
    const Tensor x = floats({0, 1, -1});
    gradients_at({x}, [&] { return ops::reduce_sum(ops::relu(x)); });
    const Because because = asked.ask_about(Question::check, 0, {}, asked.newest("relu", RecordKind::vjp));
    QVERIFY2(contains(because.sentence, "is right"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "1 element lies at a kink"), because.sentence.c_str());
    const Tensor flat = floats({0, 0, 1});
    gradients_at({flat}, [&] { return ops::reduce_sum(ops::relu(flat)); });
    const Because several = asked.ask_about(Question::check, 0, {}, asked.newest("relu", RecordKind::vjp));
    QVERIFY2(contains(several.sentence, "2 elements lie at kinks"), several.sentence.c_str());
  }

  void a_variance_in_float32_loses_its_digits_in_the_subtraction() {
    Inquiry asked;
    const Tensor x = ops::add(numbers(1000, 0.001F), floats({4000}));
    const Tensor mean = ops::reduce_mean(x);
    const Tensor variance = ops::subtract(ops::reduce_mean(ops::square(x)), ops::square(mean));
    const Because because = asked.ask(Question::exactness, variance);
    QCOMPARE(because.reasons[0].op, std::string("subtract"));
    QCOMPARE(because.reasons[0].role, std::string("lost digits"));
    QVERIFY(because.reasons[0].amount.value() > 0.4);
    QVERIFY2(contains(because.sentence, "cancel"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "none of its digits is correct"), because.sentence.c_str());
    const Because good = asked.ask(Question::exactness, testing::called("reduce_variance", {x}));
    QVERIFY(good.reasons.empty() || good.reasons[0].amount.value() < 1e-3);
    const Because kept = asked.ask(Question::exactness, ops::negative(floats({1, 2})));
    QVERIFY2(contains(kept.sentence, "all of its digits are correct"), kept.sentence.c_str());
  }

  void random_numbers_stay_what_they_were() {
    Inquiry asked;
    const Tensor x = ops::random_normal({100}, 0, 1, DType::float32, 7);
    const Because because = asked.ask(Question::exactness, ops::exp(x));
    for (const Reason& reason : because.reasons)
      QVERIFY2(reason.amount.value() < 1e-5, reason.sentence.c_str());
  }
};

TAPEDECK_TEST(TestWhyNumbers)
#include "tst_why_numbers.moc"
