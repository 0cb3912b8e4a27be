// What a tape records, on which thread, and until when.
#include <QtTest>
#include <set>
#include <thread>

#include "tests/engine/expect_error.h"
#include "tests/engine/tape/tape_helpers.h"
#include "tests/test_program.h"

// Of engine/tape/tape_state.h, which has members named as Qt's keyword `slots`.
namespace tapedeck::detail {
void make_outputs_distinct(std::span<const Tensor> inputs, std::span<Tensor> outputs);
}

using namespace tapedeck;
using namespace test_ops;

class TestTape : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { register_core_ops(); }

  void a_product_is_differentiated() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensor y = multiply(x, x);
    tape.stop();
    QCOMPARE(gradient(tape, y, x).item(), 6.);
  }

  void only_what_is_watched_is_recorded() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3), other = scalar(2);
    const Tensor unrelated = multiply(other, other);
    QVERIFY(!is_taped(std::span(&unrelated, 1)));
    const Tensor y = multiply(x, other);
    QVERIFY(is_taped(std::span(&y, 1)));
    tape.stop();
    QVERIFY(!is_taped(std::span(&y, 1)));
    const Tensors gradients = tape.gradient(std::array{y}, std::array{x, other});
    QCOMPARE(gradients[0].item(), 2.);
    QVERIFY(!gradients[1]);
  }

  void nothing_is_recorded_before_start_and_after_stop() {
    const Tensor x = scalar(3);
    Tape tape(true);
    tape.watch(x);
    const Tensor before = multiply(x, x);
    tape.start();
    const Tensor during = multiply(x, x);
    tape.stop();
    const Tensor after = multiply(x, x);
    QVERIFY(!gradient(tape, before, x));
    QCOMPARE(gradient(tape, during, x).item(), 6.);
    QVERIFY(!gradient(tape, after, x));
  }

  void a_tape_can_be_started_again() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensor y = multiply(x, x);
    tape.stop();
    const Tensor constant = multiply(y, y);
    tape.start();
    const Tensor z = multiply(y, constant);
    tape.stop();
    QCOMPARE(gradient(tape, z, x).item(), 81. * 6);
  }

  void starting_and_stopping_twice_are_refused() {
    Tape tape;
    EXPECT_ERROR(FailedPreconditionError, (tape.stop(), 0), "the tape is not active");
    tape.start();
    QVERIFY(tape.active());
    EXPECT_ERROR(FailedPreconditionError, (tape.start(), 0), "the tape is already active");
    tape.stop();
    QVERIFY(!tape.active());
  }

  void stop_recording_leaves_ops_out_until_it_ends() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    Tensor constant;
    {
      const StopRecording outer;
      {
        const StopRecording inner;
        QVERIFY(!is_taped(std::span(&x, 1)));
      }
      QVERIFY(!is_taped(std::span(&x, 1)));
      constant = multiply(x, x);
    }
    const Tensor y = multiply(x, constant);
    QCOMPARE(gradient(tape, y, x).item(), 9.);
  }

  void one_tape_is_stopped_and_the_others_record() {
    Tape outer(false, false), inner(false, false);
    outer.start();
    inner.start();
    const Tensor x = watched(outer, 3);
    inner.watch(x);
    Tensor hidden;
    {
      const StopRecording stopped(inner);
      hidden = multiply(x, x);
    }
    const Tensor y = multiply(hidden, x);
    inner.stop();
    outer.stop();
    EXPECT_ERROR(FailedPreconditionError, StopRecording(inner),
                 "stop_recording: the tape is not active on this thread");
    QCOMPARE(gradient(outer, y, x).item(), 27.0);
    QCOMPARE(gradient(inner, y, x).item(), 9.0);
  }

  void a_tape_started_under_stop_recording_records() {
    Tape outer;
    outer.start();
    const Tensor x = watched(outer, 3);
    const StopRecording stopped;
    Tape inner;
    inner.start();
    inner.watch(x);
    const Tensor y = multiply(x, x);
    QCOMPARE(gradient(inner, y, x).item(), 6.);
    QVERIFY(!gradient(outer, y, x));
  }

  void a_tape_stopped_under_stop_recording_records_when_started_again() {
    Tape tape;
    const Tensor x = watched(tape, 3);
    tape.start();
    {
      const StopRecording stopped;
      tape.stop();
    }
    tape.start();
    const Tensor y = multiply(x, x);
    QCOMPARE(gradient(tape, y, x).item(), 6.);
  }

  void a_destroyed_tape_stops() {
    const Tensor x = scalar(2);
    {
      Tape tape;
      tape.start();
      tape.watch(x);
      QVERIFY(is_taped(std::span(&x, 1)));
    }
    QVERIFY(!is_taped(std::span(&x, 1)));
  }

  void tapes_may_stop_in_any_order() {
    const Tensor x = scalar(2);
    Tape first(true), second(true);
    for (Tape* tape : {&first, &second}) {
      tape->watch(x);
      tape->start();
    }
    const Tensor y = multiply(x, x);
    first.stop();
    const Tensor z = multiply(y, x);
    second.stop();
    QVERIFY(!gradient(first, z, x));
    QCOMPARE(gradient(first, y, x).item(), 4.);
    QCOMPARE(gradient(second, z, x).item(), 12.);
  }

  void a_tape_belongs_to_its_thread() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 2);
    Tensor y;
    std::string text;
    std::thread([&] {
      y = multiply(x, x);
      try {
        tape.stop();
      } catch (const FailedPreconditionError& error) {
        text = error.what();
      }
    }).join();
    QVERIFY(!is_taped(std::span(&y, 1)));
    QCOMPARE(text, "the tape is active on another thread; only that one can stop it");
  }

  void a_tape_destroyed_on_another_thread_stops_recording_here() {
    auto tape = std::make_unique<Tape>();
    tape->start();
    const Tensor x = watched(*tape, 2);
    std::thread([taken = std::move(tape)]() mutable { taken.reset(); }).join();
    QVERIFY(!is_taped(std::span(&x, 1)));
  }

  void a_thread_may_end_with_an_active_tape() {
    Tape tape;
    std::thread([&] { tape.start(); }).join();
    QVERIFY(!tape.active());
    tape.start();
    const Tensor x = watched(tape, 2);
    QCOMPARE(gradient(tape, multiply(x, x), x).item(), 4.);
  }

  // ---- what is differentiable -------------------------------------------------------------------------

  void integers_let_no_gradient_through() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 2.5);
    const Tensor y = to_float(truncate(x));
    QCOMPARE(y.item(), 2.);
    QVERIFY(!gradient(tape, y, x));
  }

  void watching_integers_has_no_effect() {
    Tape tape;
    tape.start();
    const Tensor n = Tensor::scalar(2, DType::int32);
    tape.watch(n);
    QVERIFY(!is_taped(std::span(&n, 1)));
    QVERIFY(!gradient(tape, to_float(n), n));
  }

  void ops_without_vjp_are_constants() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, -2);
    const Tensor y = multiply(x, sign(x));
    QCOMPARE(y.item(), 2.);
    QCOMPARE(gradient(tape, y, x).item(), -1.);
  }

  void an_op_that_returns_its_input_is_counted_once() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 5);
    const Tensor y = detail::identity(detail::identity(x));
    QCOMPARE(gradient(tape, y, x).item(), 1.);
  }

  void outputs_that_are_inputs_or_one_another_get_ids_of_their_own_few_or_many() {
    for (const int count : {3, 15, 16, 17, 1000}) {
      const Tensor input = scalar(7);
      Tensors outputs;
      for (int i = 0; i < count; ++i) outputs.push_back(scalar(i));
      outputs[1] = input;
      outputs.back() = outputs[0];
      const Tensors before = outputs;
      detail::make_outputs_distinct({&input, 1}, {outputs.data(), outputs.size()});
      std::set<std::uint64_t> ids{input.id()};
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const bool known = i == 1 || i + 1 == outputs.size();
        QVERIFY(ids.insert(outputs[i].id()).second);
        QCOMPARE(outputs[i].same_body(before[i]), !known);
        QCOMPARE(outputs[i].item(), before[i].item());
        QCOMPARE(outputs[i].raw(), before[i].raw());
      }
    }
  }
};

TAPEDECK_TEST(TestTape)
#include "tst_tape.moc"
