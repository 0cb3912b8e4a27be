// Playback: gradients, persistence, nesting, pruning, errors, and what the observer is told.
#include <QtTest>

#include "tests/engine/event_log.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/tape/tape_helpers.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using Lines = std::vector<std::string>;

class TestPlayback : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { register_core_ops(); }

  void gradients_of_shared_values_add_up() {
    Tape tape;
    tape.start();
    const Tensor x = vector_of({1, 2});
    tape.watch(x);
    const Tensor e = exponential(x);
    const Tensor y = sum(add(multiply(e, x), e));  // d/dx (e^x x + e^x) = e^x (x + 2)
    const auto result = gradient(tape, y, x).to_vector();
    QVERIFY(std::abs(result[0] - std::exp(1.) * 3) < 1e-12);
    QVERIFY(std::abs(result[1] - std::exp(2.) * 4) < 1e-12);
  }

  void several_targets_add_up_and_sources_keep_their_order() {
    Tape tape;
    tape.start();
    const Tensor a = watched(tape, 2), b = watched(tape, 5), unused = watched(tape, 1);
    const Tensor product = multiply(a, b), square = multiply(a, a);
    const Tensors gradients = tape.gradient(std::array{product, square}, std::array{unused, b, a});
    QVERIFY(!gradients[0]);
    QCOMPARE(gradients[1].item(), 2.);
    QCOMPARE(gradients[2].item(), 5. + 4.);
  }

  void output_gradients_weigh_the_targets() {
    Tape tape(true);
    tape.start();
    const Tensor x = vector_of({1, 2, 3});
    tape.watch(x);
    const Tensor y = multiply(x, x), z = add(x, x);
    const Tensors gradients =
        tape.gradient(std::array{y, z}, std::array{x}, std::array{vector_of({1, 0, 2}), Tensor()});
    QCOMPARE(gradients[0].to_vector(), (std::vector<double>{2 + 2, 2, 12 + 2}));
  }

  void a_target_can_be_a_source() {
    Tape tape(true);
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensor y = multiply(x, x), z = multiply(y, y);
    QCOMPARE(gradient(tape, x, x).item(), 1.);
    QCOMPARE(gradient(tape, y, y).item(), 1.);
    const Tensors both = tape.gradient(std::array{z}, std::array{y, x});
    QCOMPARE(both[0].item(), 18.);
    QCOMPARE(both[1].item(), 108.);
  }

  void unconnected_sources_are_undefined_or_zeros() {
    Tape tape(true);
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensor other = vector_of({1, 2});
    const Tensor y = multiply(x, x);
    QVERIFY(!gradient(tape, y, other));
    const Tensors zeros = tape.gradient(std::array{y}, std::array{other, x}, {}, Unconnected::zero);
    QCOMPARE(zeros[0].to_vector(), (std::vector<double>{0, 0}));
    QCOMPARE(zeros[1].item(), 6.);
  }

  void an_output_that_nobody_used_has_no_gradient() {
    Tape tape(true);
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensors outputs = once_and_twice(x);
    QCOMPARE(gradient(tape, outputs[0], x).item(), 1.);
    QCOMPARE(gradient(tape, outputs[1], x).item(), 2.);
    QCOMPARE(gradient(tape, multiply(outputs[0], outputs[1]), x).item(), 12.);
  }

  void only_vjps_between_targets_and_sources_run() {
    Tape tape(true);
    tape.start();
    const Tensor x = watched(tape, 2), w = watched(tape, 3);
    const Tensor shared = multiply(x, x);  // leads to x only
    const Tensor product = multiply(shared, w);
    const Tensor dead_end = exponential(product);
    EventLog log;
    QCOMPARE(gradient(tape, product, w).item(), 4.);
    QCOMPARE(std::count_if(log.events.begin(), log.events.end(),
                           [](const Event& event) { return event.kind == EventKind::vjp; }),
             1);
    // The VJP is told that the gradient of `shared` is not wanted: it multiplies once.
    QCOMPARE(std::count(log.lines.begin(), log.lines.end(), "begin 4 op test_multiply"), 1);
    QCOMPARE(log.events.size(), std::size_t{4});
    QVERIFY(dead_end);
  }

  void wrong_requests_are_refused_and_leave_the_tape_usable() {
    Tape tape;
    tape.start();
    const Tensor x = vector_of({1, 2});
    tape.watch(x);
    const Tensor y = multiply(x, x);
    const auto with = [&](std::initializer_list<Tensor> output_gradients) {
      return tape.gradient(std::array{y}, std::array{x}, {output_gradients.begin(), output_gradients.size()});
    };
    EXPECT_ERROR(InvalidArgumentError, with({x, x}), "gradient: 2 output gradients were given for 1 targets");
    EXPECT_ERROR(InvalidArgumentError, with({scalar(1)}),
                 "gradient: output gradient 0 has shape (), its target has shape (2,)");
    EXPECT_ERROR(InvalidArgumentError, with({vector_of({1, 2}, DType::float32)}),
                 "gradient: output gradient 0 has dtype float32, its target has dtype float64");
    EXPECT_ERROR(InvalidArgumentError, gradient(tape, Tensor(), x), "gradient: target 0 is undefined");
    EXPECT_ERROR(InvalidArgumentError, gradient(tape, y, Tensor()), "gradient: source 0 is undefined");
    EXPECT_ERROR(InvalidArgumentError, (tape.watch(Tensor()), 0), "watch: the tensor is undefined");
    QCOMPARE(gradient(tape, y, x).to_vector(), (std::vector<double>{2, 4}));
  }

  // ---- persistence ------------------------------------------------------------------------------------

  void a_tape_is_used_up_unless_it_is_persistent() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensor y = multiply(x, x);
    tape.stop();
    gradient(tape, y, x);
    EXPECT_ERROR(FailedPreconditionError, gradient(tape, y, x), "GradientTape(persistent=True)");
    EXPECT_ERROR(FailedPreconditionError, gradient(tape, y, x), "non-persistent");
    Tape persistent(true);
    persistent.start();
    persistent.watch(x);
    const Tensor z = multiply(x, x);
    QCOMPARE(gradient(persistent, z, x).item(), 6.);
    QCOMPARE(gradient(persistent, z, x).item(), 6.);
  }

  void a_used_up_tape_begins_anew_when_it_is_started() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensor old = multiply(x, x);
    gradient(tape, old, x);
    tape.start();
    QVERIFY(!is_taped(std::span(&x, 1)));
    tape.watch(x);
    const Tensor y = multiply(old, x);
    QCOMPARE(gradient(tape, y, x).item(), 9.);
  }

  void reset_makes_a_used_up_tape_new() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    gradient(tape, multiply(x, x), x);
    tape.reset();
    tape.start();
    const Tensor z = multiply(x, x);
    QVERIFY(!is_taped(std::span(&z, 1)));
    tape.watch(x);
    QCOMPARE(gradient(tape, multiply(x, x), x).item(), 6.);
  }

  void a_tape_lets_go_of_what_it_recorded() {
    const Tensor x = vector_of({1, 2});
    std::weak_ptr<int> alive;
    {
      Tape tape;
      tape.start();
      tape.watch(x);
      Tensor y;
      {
        auto token = std::make_shared<int>(0);
        alive = token;
        y = custom_gradient("held", std::array{x}, [&] {
          return CustomResult{{multiply(x, x)}, [token](std::span<const Tensor> cotangents) -> Tensors {
                                return {cotangents[0]};
                              }};
        })[0];
      }
      QVERIFY(!alive.expired());
      gradient(tape, y, x);
      QVERIFY(alive.expired());  // at once, not when the tape goes
    }
  }

  void each_node_goes_as_soon_as_it_is_played() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    std::uint32_t references_at_first_vjp = 0;
    const Tensor first = custom_gradient("first", std::array{x}, [&] {
      return CustomResult{{multiply(x, x)}, [&](std::span<const Tensor> cotangents) -> Tensors {
                            references_at_first_vjp = x.references();
                            return {cotangents[0]};
                          }};
    })[0];
    Tensor last = first;
    for (int i = 0; i < 10; ++i) last = multiply(last, x);
    QVERIFY(x.references() >= 11);
    gradient(tape, last, x);
    // The handle here, those in the call's own arguments, and the first node's: not those of the ten played
    // nodes.
    QVERIFY2(references_at_first_vjp <= 5, std::to_string(references_at_first_vjp).c_str());
  }

  // ---- playing inside the tape's own context, and nesting ---------------------------------------------

  void a_tape_played_while_active_stops_unless_it_is_persistent() {
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensor slope = gradient(tape, cube(x), x);
    QCOMPARE(slope.item(), 27.);
    QVERIFY(!tape.active());
  }

  void a_persistent_tape_records_its_own_playback() {
    Tape tape(true);
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensor slope = gradient(tape, cube(x), x);
    QVERIFY(tape.active());
    QCOMPARE(slope.item(), 27.);
    const Tensor curvature = gradient(tape, slope, x);
    QCOMPARE(curvature.item(), 18.);
    QCOMPARE(gradient(tape, curvature, x).item(), 6.);
  }

  void nested_tapes_give_higher_derivatives() {
    const Tensor x = scalar(3);
    Tape third, second, first;
    for (Tape* tape : {&third, &second, &first}) {
      tape->start();
      tape->watch(x);
    }
    const Tensor slope = gradient(first, cube(x), x);
    const Tensor curvature = gradient(second, slope, x);
    QCOMPARE(slope.item(), 27.);
    QCOMPARE(curvature.item(), 18.);
    QCOMPARE(gradient(third, curvature, x).item(), 6.);
  }

  void the_sum_of_cotangents_is_differentiable() {
    const Tensor x = vector_of({1, 2});
    Tape outer;
    outer.start();
    outer.watch(x);
    Tape inner;
    inner.start();
    inner.watch(x);
    const Tensor e = exponential(x);
    const Tensor y = sum(add(e, multiply(e, e)));  // e^x + e^2x
    const Tensor slope = gradient(inner, y, x);    // e^x + 2 e^2x, by way of a sum at e
    const auto curvature = gradient(outer, sum(slope), x).to_vector();
    QVERIFY(std::abs(curvature[1] - (std::exp(2.) + 4 * std::exp(4.))) < 1e-10);
  }

  void an_outer_tape_may_be_played_first() {
    const Tensor x = scalar(3);
    Tape outer, inner;
    outer.start();
    inner.start();
    outer.watch(x);
    inner.watch(x);
    const Tensor slope = gradient(outer, cube(x), x);  // recorded by the inner one
    QCOMPARE(gradient(inner, slope, x).item(), 18.);
  }

  // ---- what the observer is told ----------------------------------------------------------------------

  void a_playback_tells_its_story() {
    EventLog log;
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensor y = add(multiply(x, x), x);
    const Tensor slope = gradient(tape, y, x);
    QCOMPARE(slope.item(), 7.);
    QCOMPARE(log.lines, (Lines{"begin 1 op test_multiply",
                               "end 1",  //
                               "begin 2 op add",
                               "end 2",                      //
                               "begin 3 playback gradient",  //
                               "begin 4 op ones_like",
                               "end 4",  //
                               "begin 5 vjp add",
                               "end 5",                      //
                               "begin 6 vjp test_multiply",  //
                               "begin 7 op test_multiply",
                               "end 7",  //
                               "begin 8 op test_multiply",
                               "end 8",
                               "end 6",  //
                               "begin 9 op add",
                               "end 9",
                               "begin 10 op add",
                               "end 10",
                               "end 3"}));
    const Event &forward = log.events[0], &playback = log.events[2], &vjp = log.events[5];
    QCOMPARE(forward.tape, tape.id());
    QCOMPARE(playback.tape, tape.id());
    QCOMPARE(vjp.tape, tape.id());
    QCOMPARE(vjp.forward_record, std::uint64_t{1});
    QCOMPARE(log.events[4].forward_record, std::uint64_t{2});
    QCOMPARE(vjp.op, &multiply_op());
    QVERIFY(!vjp.custom_gradient);
    QCOMPARE(log.events[6].tape, std::uint64_t{0});  // the tape does not record its own playback
    QVERIFY(log.inputs[2][0].same_body(y));
    QVERIFY(log.results.back()[0].same_body(slope));
  }

  void the_innermost_tape_that_records_is_named() {
    EventLog log;
    Tape outer, inner;
    outer.start();
    inner.start();
    const Tensor x = watched(outer, 3);
    multiply(x, x);
    inner.watch(x);
    multiply(x, x);
    sign(x);
    QCOMPARE(log.events[0].tape, outer.id());
    QCOMPARE(log.events[1].tape, inner.id());
    QCOMPARE(log.events[2].tape, std::uint64_t{0});
  }

  void a_failing_vjp_ends_every_event_with_its_text() {
    EventLog log;
    Tape tape;
    tape.start();
    const Tensor x = watched(tape, 3);
    const Tensor y = failing(x, true);
    EXPECT_ERROR(UnimplementedError, gradient(tape, y, x), "test_failing: no VJP today");
    QCOMPARE(log.lines,
             (Lines{"begin 1 op test_failing", "end 1", "begin 2 playback gradient", "begin 3 op ones_like",
                    "end 3", "begin 4 vjp test_failing", "end 4 failed: test_failing: no VJP today",
                    "end 2 failed: test_failing: no VJP today"}));
    EXPECT_ERROR(FailedPreconditionError, gradient(tape, y, x), "persistent");
  }
};

TAPEDECK_TEST(TestPlayback)
#include "tst_playback.moc"
