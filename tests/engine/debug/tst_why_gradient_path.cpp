// Is this gradient right? Of a gradient: every VJP on its path, the first wrong one with its error, and what
// could not be checked. Of a VJP or an op: that VJP alone, which the answer says.
#include <QtTest>
#include <chrono>
#include <thread>

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

using Gradient = std::function<Tensors(std::span<const Tensor> cotangents)>;

/// 3·x by a function whose gradient is 3·`factor` times what came in.
Tensor tripled(const Tensor& x, double factor, const char* name = "tripled") {
  const Tensors inputs{x};
  return custom_gradient(name, inputs, [&] {
    return CustomResult{
        {ops::multiply(x, Tensor::scalar(3.0F))},
        [factor](std::span<const Tensor> cotangents) -> Tensors { return {cotangents[0] * (3 * factor)}; }};
  })[0];
}

/// x·y, whose gradients are those.
Tensor product_with(const Tensor& x, const Tensor& y, const Gradient& gradient) {
  const Tensors inputs{x, y};
  return custom_gradient("product", inputs, [&] { return CustomResult{{ops::multiply(x, y)}, gradient}; })[0];
}

int count_of(const Because& because, const std::string& role) {
  return static_cast<int>(std::count_if(because.reasons.begin(), because.reasons.end(),
                                        [&](const Reason& reason) { return reason.role == role; }));
}

}  // namespace

class TestWhyGradientPath : public QObject {
  Q_OBJECT
 private slots:
  void a_gradient_doubled_twice_on_its_path_is_wrong_at_the_first_of_them() {
    Inquiry asked;
    const Tensor w = floats({1, 2, 3, 4}, {2, 2}), x = floats({1, -1, 2, 0.5F}, {2, 2});
    const Tensors gradients = gradients_at({w}, [&] {
      const Tensor first = tripled(ops::matmul(x, w), 2, "near_the_weights");
      return ops::reduce_sum(tripled(ops::square(first), 2, "near_the_loss"));
    });
    const std::uint32_t playback = asked.newest("gradient", RecordKind::playback);
    // At the row of the playback, whose first output is the gradient that the last VJP, of matmul, made.
    for (const Because& because :
         {asked.ask_about(Question::check, gradients[0].id(), {}, playback),
          asked.ask_about(Question::check, 0, {}, playback), asked.ask(Question::check, gradients[0])}) {
      QVERIFY2(contains(because.sentence, "is wrong"), because.sentence.c_str());
      QVERIFY2(contains(because.sentence, "5 VJPs on its path"), because.sentence.c_str());
      QVERIFY2(contains(because.sentence, "is that of near_the_loss (op "), because.sentence.c_str());
      QVERIFY2(contains(because.sentence, "×2 in every element"), because.sentence.c_str());
      QVERIFY2(contains(because.sentence, "1 other is wrong, too: near_the_weights"),
               because.sentence.c_str());
      QCOMPARE(count_of(because, "wrong"), 2);
      QCOMPARE(count_of(because, "right"), 3);
      QCOMPARE(because.reasons[0].op, std::string("near_the_loss"));
      QCOMPARE(because.reasons[1].op, std::string("near_the_weights"));
      QCOMPARE(because.reasons[0].amount_text, std::string("×2"));
      QVERIFY(because.complete);
    }
  }

  void a_right_gradient_is_right_on_all_of_its_path() {
    Inquiry asked;
    const Tensor w = floats({1, 2, 3, 4}, {2, 2}), x = floats({1, -1, 2, 0.5F}, {2, 2});
    const Tensors gradients =
        gradients_at({w}, [&] { return ops::reduce_sum(ops::tanh(tripled(ops::matmul(x, w), 1))); });
    const Because because = asked.ask(Question::check, gradients[0]);
    QVERIFY2(contains(because.sentence, "is right"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "each of the 4 VJPs on its path, from reduce_sum"),
             because.sentence.c_str());
    QVERIFY2(!contains(because.sentence, "wrong"), because.sentence.c_str());
    QCOMPARE(count_of(because, "right"), 4);
  }

  // What is wrong beside the path is none of its business.
  void the_path_of_one_gradient_is_not_that_of_another() {
    Inquiry asked;
    const Tensor a = floats({1, 2}), b = floats({3, 4});
    const Tensors gradients = gradients_at({a, b}, [&] {
      return ops::reduce_sum(ops::add(ops::square(a), ops::add(tripled(b, 2), ops::exp(a))));
    });
    const Because right = asked.ask(Question::check, gradients[0]);
    QVERIFY2(contains(right.sentence, "is right"), right.sentence.c_str());
    const Because wrong = asked.ask(Question::check, gradients[1]);
    QVERIFY2(contains(wrong.sentence, "is wrong"), wrong.sentence.c_str());
    QVERIFY2(contains(wrong.sentence, "tripled"), wrong.sentence.c_str());
  }

  // The factor was forgotten, so the gradient that came in went out as it was: the same tensor.
  void a_vjp_that_hands_its_cotangent_on_is_on_the_path() {
    Inquiry asked;
    const Tensor x = floats({1, 2});
    const Tensors inputs{x};
    const Tensors gradients = gradients_at({x}, [&] {
      const Tensor four = custom_gradient("four_times", inputs, [&] {
        return CustomResult{{ops::multiply(x, Tensor::scalar(4.0F))},
                            [](std::span<const Tensor> cotangents) -> Tensors { return {cotangents[0]}; }};
      })[0];
      return ops::reduce_sum(ops::square(four));
    });
    const Because because = asked.ask(Question::check, gradients[0]);
    QVERIFY2(contains(because.sentence, "is wrong"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "four_times"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "×0.25 in every element"), because.sentence.c_str());
  }

  // Of the two uses of x the gradient function gave None for one: the gradient is there, and too small.
  void a_contribution_that_is_none_is_missed() {
    Inquiry asked;
    const Tensor x = floats({1, 2}), y = floats({3, 5});
    const Tensors gradients = gradients_at({x, y}, [&] {
      return ops::reduce_sum(
          ops::add(ops::square(x), product_with(x, y, [x](std::span<const Tensor> cotangents) -> Tensors {
                     return {Tensor(), ops::multiply(cotangents[0], x)};
                   })));
    });
    const Because lost = asked.ask(Question::check, gradients[0]);
    QVERIFY2(contains(lost.sentence, "is wrong"), lost.sentence.c_str());
    QVERIFY2(contains(lost.sentence, "gave None for argument 0"), lost.sentence.c_str());
    const Because whole = asked.ask(Question::check, gradients[1]);
    QVERIFY2(contains(whole.sentence, "is right"), whole.sentence.c_str());
  }

  void the_forward_record_of_a_custom_gradient_stands_for_its_vjp() {
    Inquiry asked;
    const Tensor x = floats({1, 2});
    gradients_at({x}, [&] { return ops::reduce_sum(tripled(x, 2)); });
    const std::uint32_t forward = asked.newest("tripled", RecordKind::custom);
    const std::uint64_t made = asked.at(forward).outputs[0].id;
    for (const std::uint64_t tensor : {std::uint64_t{0}, made}) {
      const Because because = asked.ask_about(Question::check, tensor, {}, forward);
      QVERIFY2(contains(because.sentence, "The VJP of tripled"), because.sentence.c_str());
      QVERIFY2(contains(because.sentence, "×2 in every element"), because.sentence.c_str());
      QVERIFY2(contains(because.sentence, "covers this VJP alone"), because.sentence.c_str());
    }
    const Because sum = asked.ask_about(Question::check, 0, {}, asked.newest("reduce_sum", RecordKind::op));
    QVERIFY2(contains(sum.sentence, "The VJP of reduce_sum"), sum.sentence.c_str());
    QVERIFY2(contains(sum.sentence, "covers this VJP alone"), sum.sentence.c_str());
  }

  void what_no_playback_came_to_has_nothing_to_check() {
    Inquiry asked;
    const Tensor x = floats({1, 2});
    const Tensor alone = ops::square(x);
    const Because off = asked.ask(Question::check, alone, {}, asked.count());
    QVERIFY2(contains(off.sentence, "No tape recorded square (op 1)"), off.sentence.c_str());
    Tape tape;
    tape.start();
    tape.watch(x);
    const Tensor y = tripled(x, 2);
    const Because waiting = asked.ask(Question::check, y, {}, asked.newest("tripled", RecordKind::custom));
    QVERIFY2(contains(waiting.sentence, "No playback has come to tripled"), waiting.sentence.c_str());
  }

  void a_cotangent_is_the_gradient_of_what_its_op_made() {
    Inquiry asked;
    const Tensor x = floats({1, 2});
    gradients_at({x}, [&] { return ops::reduce_sum(tripled(ops::square(x), 2)); });
    const std::uint32_t vjp = asked.newest("square", RecordKind::vjp);
    const Because because = asked.ask_about(Question::check, asked.at(vjp).inputs[0].id, {}, vjp);
    QVERIFY2(contains(because.sentence, "with respect to the output of square, op 1"),
             because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "2 VJPs on its path"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "is that of tripled"), because.sentence.c_str());
  }

  void one_wrong_element_is_named_with_its_error() {
    Inquiry asked;
    const Tensor x = floats({1, 2, 4}), y = floats({1, 1, 1});
    const Tensors gradients = gradients_at({x}, [&] {
      return ops::reduce_sum(product_with(x, y, [](std::span<const Tensor> cotangents) -> Tensors {
        return {ops::multiply(cotangents[0], floats({1, 1, 2.5F})), Tensor()};
      }));
    });
    const Because because = asked.ask(Question::check, gradients[0]);
    QVERIFY2(contains(because.sentence, "the largest relative error is 1.2, at argument 0[2]"),
             because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "says 2.5"), because.sentence.c_str());
    QVERIFY(!contains(because.sentence, "×"));
  }

  void a_reversed_gradient_is_told_as_a_factor() {
    Inquiry asked;
    const Tensor x = floats({1, 2});
    const Tensors gradients = gradients_at({x}, [&] { return ops::reduce_sum(tripled(x, -1)); });
    const Because because = asked.ask(Question::check, gradients[0]);
    QVERIFY2(contains(because.sentence, "×−1 in every element"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "on purpose"), because.sentence.c_str());
  }

  void of_a_large_input_the_answer_says_that_it_is_a_sample() {
    Inquiry asked;
    std::vector<float> values(20'000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.01F * static_cast<float>(i % 97) + 1;
    const Tensor x = Tensor::from_values<float>(values, {200, 100});
    for (const double factor : {1.0, 2.0}) {
      const Tensors gradients =
          gradients_at({x}, [&] { return ops::reduce_sum(tripled(ops::square(x), factor)); });
      const Because because = asked.ask(Question::check, gradients[0]);
      QVERIFY2(contains(because.sentence, factor == 1 ? "is right" : "is wrong"), because.sentence.c_str());
      QVERIFY2(contains(because.sentence, "were sampled"), because.sentence.c_str());
      QVERIFY2(contains(because.sentence, "of 60,000 elements were compared"), because.sentence.c_str());
      if (factor == 2) QVERIFY2(contains(because.sentence, "×2 in each of the "), because.sentence.c_str());
    }
  }

  // Not "right": the answer names what it did not look at.
  void what_cannot_be_checked_is_said() {
    Inquiry asked;
    const Tensor x = floats({1, 2, 3, 4, 5, 6, 7, 8});
    const Tensor alpha = floats({1.5F, 2.5F});
    const Tensors drawn = gradients_at({alpha}, [&] {
      return ops::reduce_sum(
          ops::square(testing::called("random_gamma", {alpha}, {{"shape", std::vector<std::int64_t>{3}}})));
    });
    const Because random = asked.ask(Question::check, drawn[0]);
    QVERIFY2(!contains(random.sentence, "is right"), random.sentence.c_str());
    QVERIFY2(contains(random.sentence, "Not checked: random_gamma (op "), random.sentence.c_str());
    QVERIFY2(contains(random.sentence, "draws random numbers"), random.sentence.c_str());
    QVERIFY(!random.complete);
    QCOMPARE(count_of(random, "not checked"), 1);
    // A complex way.
    const Tensors turned = gradients_at({x}, [&] {
      return ops::reduce_sum(ops::square(testing::called("abs", {testing::called("rfft", {x})})));
    });
    const Because complex = asked.ask(Question::check, turned[0]);
    QVERIFY2(!contains(complex.sentence, "is right"), complex.sentence.c_str());
    QVERIFY2(contains(complex.sentence, "complex numbers"), complex.sentence.c_str());
  }

  // A root behind where(): 0 times its slope there, which has no bound, is NaN; the root's VJP is no mistake.
  void zero_times_a_slope_without_bound_is_named() {
    Inquiry asked;
    const Tensor x = floats({0, -1, 4});
    const std::array<bool, 3> chosen{false, false, true};
    const Tensor positive = Tensor::from_values<bool>(chosen, {3});
    const Tensors gradients = gradients_at({x}, [&] {
      return ops::reduce_sum(
          testing::called("where", {positive, testing::called("sqrt", {x}), ops::zeros_like(x)}));
    });
    const std::string reason =
        "nan where differences are finite, in 2 elements of 3: the gradient that came in is 0 there, and 0 "
        "times a slope that is not a finite number is nan";
    const Because whole = asked.ask(Question::check, gradients[0]);
    QVERIFY2(contains(whole.sentence, "is wrong"), whole.sentence.c_str());
    QVERIFY2(contains(whole.sentence, reason), whole.sentence.c_str());
    QVERIFY2(contains(whole.sentence, "Of its 3 elements, 2 are NaN or infinite."), whole.sentence.c_str());
    const Because alone = asked.ask_about(Question::check, 0, {}, asked.newest("sqrt", RecordKind::vjp));
    QVERIFY2(contains(alone.sentence, "The VJP of sqrt (op "), alone.sentence.c_str());
    QVERIFY2(contains(alone.sentence, " gives " + reason), alone.sentence.c_str());
    QVERIFY2(!contains(alone.sentence, "is wrong"), alone.sentence.c_str());
  }

  // As after an overflow: that no error was found would be no wonder.
  void where_nothing_can_be_compared_nothing_is_said_of_errors() {
    Inquiry asked;
    const Tensor x = floats({std::nanf(""), std::nanf("")});
    const Tensors gradients = gradients_at({x}, [&] { return ops::reduce_sum(ops::exp(ops::square(x))); });
    const Because because = asked.ask(Question::check, gradients[0]);
    QVERIFY2(contains(because.sentence,
                      "could not be checked: nothing of the 3 VJPs on its path could be "
                      "compared with finite differences."),
             because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "Of its 2 elements, 2 are NaN or infinite."),
             because.sentence.c_str());
    QVERIFY2(!contains(because.sentence, "No error"), because.sentence.c_str());
    QVERIFY(!because.complete);
  }

  void dropout_repeats_its_choices_or_is_not_called_right() {
    Inquiry asked;
    std::vector<float> values(40);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1 + 0.1F * static_cast<float>(i);
    const Tensor x = Tensor::from_values<float>(values, {40});
    const Tensors gradients = gradients_at({x}, [&] {
      return ops::reduce_sum(testing::called("dropout", {x}, {{"rate", 0.5}, {"seed", 3}}));
    });
    const Because because = asked.ask(Question::check, gradients[0]);
    QVERIFY2(!contains(because.sentence, "wrong"), because.sentence.c_str());
  }

  // The slope is the rest of a subtraction: in float32 a large error, and no mistake.
  void digits_lost_in_float32_are_no_mistake() {
    Inquiry asked;
    const Tensor logits = floats({16, 0, 0.5F}, {1, 3});
    const Tensor labels = floats({1, 0, 0}, {1, 3});
    const Tensors gradients = gradients_at({logits}, [&] {
      const Tensors inputs{labels, logits};
      return ops::reduce_sum(testing::called("softmax_cross_entropy_with_logits", inputs));
    });
    const Because because = asked.ask(Question::check, gradients[0]);
    QVERIFY2(contains(because.sentence, "is right"), because.sentence.c_str());
  }

  void a_gradient_of_a_variable_that_was_assigned_since_has_its_path() {
    Inquiry asked;
    Variable w(floats({1, 2}), "w");
    Tape tape;
    tape.start();
    const Tensor loss = ops::reduce_sum(tripled(w.read(), 2));
    w.assign(floats({5, 6}));
    const std::vector<Variable> sources{w};
    const Tensors gradients = tape.gradient(std::span(&loss, 1), sources);
    const Because because = asked.ask(Question::check, gradients[0]);
    QVERIFY2(contains(because.sentence, "with respect to w:0"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "×2 in every element"), because.sentence.c_str());
    // At the variable itself.
    const Because at = asked.ask(Question::check, w.peek());
    QVERIFY2(contains(at.sentence, "×2 in every element"), at.sentence.c_str());
  }

  void a_variable_that_a_custom_function_used_is_checked_with_it() {
    for (const double factor : {1.0, 3.0}) {
      Inquiry asked;
      Variable w(floats({1, 2}), "w");
      const Tensor x = floats({3, 4});
      Tape tape;
      tape.start();
      const Tensors inputs{x};
      const Tensor y = custom_gradient("weighed", inputs, [&] {
        return CustomResult{{ops::multiply(x, ops::square(w.read()))},
                            [&, factor](std::span<const Tensor> cotangents) -> Tensors {
                              const Tensor value = w.peek();
                              return {ops::multiply(cotangents[0], ops::square(value)),
                                      ops::multiply(cotangents[0], ops::multiply(x, value)) * (2 * factor)};
                            },
                            {w}};
      })[0];
      const Tensor loss = ops::reduce_sum(y);
      const std::vector<Variable> sources{w};
      const Tensors gradients = tape.gradient(std::span(&loss, 1), sources);
      const Because because = asked.ask(Question::check, gradients[0]);
      QVERIFY2(contains(because.sentence, factor == 1 ? "is right" : "×3 in every element"),
               because.sentence.c_str());
      QVERIFY2(contains(because.sentence, "weighed"), because.sentence.c_str());
    }
  }

  void what_goes_around_the_path_is_said() {
    Inquiry asked;
    const Tensor x = floats({1, 2});
    Tensors gradients = gradients_at({x}, [&] {
      const Tensor square = ops::square(x);
      return ops::reduce_sum(ops::multiply(square, ops::stop_gradient(square)));
    });
    const Because stopped = asked.ask(Question::check, gradients[0]);
    QVERIFY2(contains(stopped.sentence, "is right"), stopped.sentence.c_str());
    QVERIFY2(contains(stopped.sentence, "What goes through stop_gradient (op "), stopped.sentence.c_str());
    for (const bool comes_back : {true, false}) {
      gradients = gradients_at({x}, [&] {
        const Tensor square = ops::square(x);
        asked.recorder.left(square);
        return ops::reduce_sum(ops::multiply(square, comes_back ? floats({3, 4}) : square));
      });
      const Because around = asked.ask(Question::check, gradients[0]);
      QVERIFY2(contains(around.sentence, "is right"), around.sentence.c_str());
      QVERIFY2(contains(around.sentence, "Python or NumPy read a value") == comes_back,
               around.sentence.c_str());
    }
  }

  void second_derivatives_have_paths_of_their_own() {
    Inquiry asked;
    const Tensor x = floats({1, 2});
    Tape outer;
    outer.start();
    outer.watch(x);
    const Tensors first =
        gradients_at({x}, [&] { return ops::reduce_sum(ops::multiply(ops::square(x), x)); });
    const Tensor second = gradient(outer, first[0], x);
    QCOMPARE(second.to_vector(), (std::vector<double>{6, 12}));
    const Because because = asked.ask(Question::check, second);
    QVERIFY2(contains(because.sentence, "is right"), because.sentence.c_str());
    const Because inner = asked.ask(Question::check, first[0]);
    QVERIFY2(contains(inner.sentence, "is right: each of the 3 VJPs"), inner.sentence.c_str());
  }

  void a_check_tells_how_far_it_is_and_can_be_stopped() {
    Inquiry asked;
    Tensor x = floats({1, 2});
    const Tensors gradients = gradients_at({x}, [&] {
      Tensor y = x;
      for (int i = 0; i < 300; ++i) y = ops::sin(y);
      return ops::reduce_sum(y);
    });
    std::vector<protocol::Progress> told;
    CancelFlag cancel{false};
    debug::Past past(
        asked.recorder,
        [&](std::uint64_t id) {
          if (!told.empty()) cancel = true;
          if (told.empty())
            std::this_thread::sleep_for(std::chrono::milliseconds(250));  // a report is due after 200
          return find_value(asked.recorder, id).value;
        },
        &cancel, [&](const protocol::Progress& progress) { told.push_back(progress); });
    QVERIFY_EXCEPTION_THROWN(
        debug::answer(past, {Question::check, protocol::if_there(gradients[0].id()), {}, {}}), Cancelled);
    QVERIFY(!told.empty());
    QCOMPARE(told[0].total, std::uint64_t{301});
    QVERIFY(told[0].done < 301);
  }
};

TAPEDECK_TEST(TestWhyGradientPath)
#include "tst_why_gradient_path.moc"
