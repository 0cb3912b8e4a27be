// Custom gradients: what they replace, what they may return, how they fail.
#include <QtTest>

#include "tests/engine/event_log.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/tape/tape_helpers.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using Lines = std::vector<std::string>;

class TestCustomGradient : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { register_core_ops(); }

  void a_custom_gradient_replaces_that_of_its_ops() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensor y = custom_gradient("steep", std::array{x}, [&] {
      return CustomResult{{multiply(x, x)}, [](std::span<const Tensor> cotangents) -> Tensors {
                            return {multiply(cotangents[0], scalar(100))};
                          }};
    })[0];
    QCOMPARE(y.item(), 9.);
    QCOMPARE(gradient(tape, multiply(y, scalar(2)), x).item(), 200.);
  }

  void custom_gradients_have_many_inputs_and_outputs() {
    Tape tape(true);
    tape.start();
    const Tensor a = watched(tape, 2), b = watched(tape, 5), c = watched(tape, 7);
    std::vector<bool> arrived;
    const Tensors outputs = custom_gradient("three", std::array{a, b, c}, [&] {
      return CustomResult{{multiply(a, b), multiply(b, c)},
                          [&](std::span<const Tensor> cotangents) -> Tensors {
                            arrived = {bool(cotangents[0]), bool(cotangents[1])};
                            return {scalar(10), Tensor(), scalar(30)};
                          }};
    });
    QCOMPARE(outputs.size(), std::size_t{2});
    const Tensors gradients = tape.gradient(std::array{outputs[1]}, std::array{a, b, c});
    QCOMPARE(arrived, (std::vector<bool>{false, true}));
    QCOMPARE(gradients[0].item(), 10.);
    QVERIFY(!gradients[1]);
    QCOMPARE(gradients[2].item(), 30.);
    tape.gradient(outputs, std::array{a});
    QCOMPARE(arrived, (std::vector<bool>{true, true}));
  }

  void a_custom_gradient_may_return_its_argument_or_an_older_tensor() {
    Tape tape(true);
    tape.start();
    const Tensor x = watched(tape, 3), older = watched(tape, 4);
    const auto gradient_of_one = [](std::span<const Tensor>) -> Tensors { return {scalar(1000)}; };
    const Tensor same = custom_gradient("same", std::array{x}, [&] {
      return CustomResult{{x}, gradient_of_one};
    })[0];
    const Tensor captured = custom_gradient("captured", std::array{x}, [&] {
      return CustomResult{{older}, gradient_of_one};
    })[0];
    QVERIFY(same.id() != x.id());
    QCOMPARE(gradient(tape, same, x).item(), 1000.);
    QCOMPARE(gradient(tape, captured, x).item(), 1000.);
    QVERIFY(!gradient(tape, captured, older));
    QCOMPARE(gradient(tape, multiply(older, older), older).item(), 8.);  // untouched by the call
  }

  void one_tensor_returned_twice_gets_both_gradients() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensors outputs = custom_gradient("twice", std::array{x}, [&] {
      const Tensor y = multiply(x, x);
      return CustomResult{{y, y}, [](std::span<const Tensor> cotangents) -> Tensors {
                            return {add(cotangents[0], multiply(cotangents[1], scalar(10)))};
                          }};
    });
    QCOMPARE(tape.gradient(outputs, std::array{x})[0].item(), 11.);
  }

  void second_derivatives_see_what_the_custom_gradient_captured() {
    // log(1 + e^x)'s gradient, written with the e^x of the forward pass: its derivative is that of the
    // sigmoid.
    const Tensor x = scalar(0.5);
    Tape outer;
    outer.start();
    outer.watch(x);
    Tape inner;
    inner.start();
    inner.watch(x);
    const Tensor y = custom_gradient("cubed_exp", std::array{x}, [&] {
      const Tensor e = exponential(x);
      return CustomResult{{cube(e)}, [e](std::span<const Tensor> cotangents) -> Tensors {
                            return {multiply(cotangents[0], multiply(scalar(3), cube(e)))};
                          }};
    })[0];
    const Tensor slope = gradient(inner, y, x);
    QVERIFY(std::abs(slope.item() - 3 * std::exp(1.5)) < 1e-12);
    QVERIFY(std::abs(gradient(outer, slope, x).item() - 9 * std::exp(1.5)) < 1e-12);
  }

  void a_single_tape_does_not_hold_the_ops_inside() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    custom_gradient("light", std::array{x}, [&] {
      const Tensor inside = multiply(x, x);
      if (is_taped(std::span(&inside, 1))) fail<Error>("the op inside was taped");
      return CustomResult{{inside},
                          [](std::span<const Tensor> cotangents) -> Tensors { return {cotangents[0]}; }};
    });
  }

  void custom_gradients_work_without_a_tape() {
    const Tensor x = scalar(3);
    const Tensors outputs = custom_gradient("alone", std::array{x}, [&] {
      return CustomResult{{multiply(x, x)}, [](std::span<const Tensor>) -> Tensors { return {}; }};
    });
    QCOMPARE(outputs[0].item(), 9.);
  }

  void wrong_custom_gradients_are_refused_by_name() {
    const auto play = [](const CustomVjp& vjp) {
      Tape tape;
      tape.start();
      const Tensor a = vector_of({1, 2}), b = vector_of({3, 4});
      tape.watch(a);
      tape.watch(b);
      const Tensor y = custom_gradient("kfac", std::array{a, b}, [&] {
        return CustomResult{{multiply(a, b)}, vjp};
      })[0];
      tape.gradient(std::array{y}, std::array{a, b});
      return 0;
    };
    EXPECT_ERROR(InvalidArgumentError, play([](auto) -> Tensors {
                   return {vector_of({1, 2}), vector_of({1, 2, 3})};
                 }),
                 "custom gradient of kfac: the gradient of argument 1 has shape (3,), expected the "
                 "argument's shape (2,)");
    EXPECT_ERROR(InvalidArgumentError, play([](auto) -> Tensors {
                   return {vector_of({1, 2}, DType::float32), Tensor()};
                 }),
                 "custom gradient of kfac: the gradient of argument 0 has dtype float32, expected the "
                 "argument's dtype float64");
    EXPECT_ERROR(InvalidArgumentError, play([](auto) -> Tensors {
                   return {vector_of({1, 2})};
                 }),
                 "custom gradient of kfac: returned 1 gradients for 2 arguments");
    EXPECT_ERROR(InvalidArgumentError, play({}), "custom gradient of kfac: it returned no gradient function");
    const Tensor x = scalar(1);
    EXPECT_ERROR(InvalidArgumentError,
                 custom_gradient("empty", std::array{x},
                                 [] {
                                   return CustomResult{{Tensor()}, [](auto) { return Tensors(); }};
                                 }),
                 "custom gradient of empty: output 0 is undefined");
    EXPECT_ERROR(InvalidArgumentError,
                 custom_gradient("f", std::array{Tensor()}, [] { return CustomResult(); }),
                 "custom gradient of f: argument 0 is undefined");
  }

  void a_tape_cannot_be_reset_or_lost_under_its_playback() {
    auto tape = std::make_unique<Tape>(true);
    tape->start();
    const Tensor x = watched(*tape, 3);
    std::string text;
    const Tensor y = custom_gradient("reckless", std::array{x}, [&] {
      return CustomResult{{multiply(x, x)}, [&](std::span<const Tensor> cotangents) -> Tensors {
                            const Tensor result = multiply(cotangents[0], scalar(7));
                            try {
                              tape->reset();
                            } catch (const FailedPreconditionError& error) {
                              text = error.what();
                            }
                            tape.reset();
                            return {result};
                          }};
    })[0];
    QCOMPARE(gradient(*tape, multiply(y, y), x).item(), 9. * 2 * 7);
    QCOMPARE(text, "the tape cannot be reset while it is played back");
    QVERIFY(!tape);
  }

  void a_custom_gradient_tells_its_story() {
    EventLog log;
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensor y = custom_gradient("noisy", std::array{x}, [&] {
      return CustomResult{{multiply(x, x)}, [](std::span<const Tensor> cotangents) -> Tensors {
                            return {exponential(cotangents[0])};
                          }};
    })[0];
    gradient(tape, y, x);
    QCOMPARE(log.lines, (Lines{"begin 1 custom noisy", "begin 2 op test_multiply", "end 2", "end 1",
                               "begin 3 playback gradient", "begin 4 op ones_like", "end 4",
                               "begin 5 vjp noisy", "begin 6 op test_exp", "end 6", "end 5", "end 3"}));
    QCOMPARE(log.events[0].tape, tape.id());
    QVERIFY(log.events[4].custom_gradient);
    QCOMPARE(log.events[4].op, nullptr);
    QCOMPARE(log.events[4].forward_record, std::uint64_t{1});
  }

  void a_failing_custom_function_ends_its_event_and_recording_goes_on() {
    EventLog log;
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    EXPECT_ERROR(Error,
                 custom_gradient("broken", std::array{x}, []() -> CustomResult { fail<Error>("no luck"); }),
                 "no luck");
    QCOMPARE(log.lines.back(), "end 1 failed: no luck");
    QVERIFY(is_taped(std::span(&x, 1)));
  }
};

TAPEDECK_TEST(TestCustomGradient)
#include "tst_custom_gradient.moc"
