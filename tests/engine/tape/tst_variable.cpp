// Variables: values, names, threads, and how tapes see them.
#include <QtTest>
#include <thread>

#include "engine/tape/tape.h"
#include "tests/engine/event_log.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/test_ops.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;

namespace {

Tensor gradient(Tape& tape, const Tensor& target, const Variable& source) {
  return tape.gradient(std::array{target}, std::array{source})[0];
}

}  // namespace

class TestVariable : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { register_core_ops(); }

  void a_variable_holds_its_value_and_name() {
    const Variable weights(vector_of({1, 2}), "weights"), unnamed(scalar(1));
    QCOMPARE(weights.name(), "weights:0");
    QCOMPARE(unnamed.name(), "Variable:0");
    QCOMPARE(weights.shape(), (Shape{2}));
    QCOMPARE(weights.dtype(), DType::float64);
    QVERIFY(weights.trainable());
    QVERIFY(weights.id() != unnamed.id());
    QCOMPARE(weights.read().to_vector(), (std::vector<double>{1, 2}));
    EXPECT_ERROR(InvalidArgumentError, Variable(Tensor(), "w"), "Variable w: its initial value is undefined");
  }

  void copies_share_one_variable() {
    Variable original(scalar(1));
    const Variable copy = original;
    original.assign(scalar(2));
    QCOMPARE(copy.read().item(), 2.);
    QVERIFY(copy == original);
  }

  void assigning_leaves_values_that_were_read_as_they_were() {
    Variable variable(scalar(1));
    const Tensor before = variable.read();
    variable.assign(scalar(2));
    QCOMPARE(before.item(), 1.);
    QVERIFY(variable.read().id() != before.id());
    QCOMPARE(variable.read().id(), variable.peek().id());
  }

  void wrong_values_are_refused_by_name() {
    Variable variable(vector_of({1, 2}), "w");
    EXPECT_ERROR(InvalidArgumentError, (variable.assign(scalar(1)), 0),
                 "assign to w:0: the variable has shape (2,), the value ()");
    EXPECT_ERROR(InvalidArgumentError, (variable.assign(vector_of({1, 2}, DType::float32)), 0),
                 "assign to w:0: the variable has dtype float64, the value float32");
    EXPECT_ERROR(InvalidArgumentError, (variable.assign(Tensor()), 0),
                 "assign to w:0: the value is undefined");
    QCOMPARE(variable.read().to_vector(), (std::vector<double>{1, 2}));
  }

  void the_observer_learns_of_every_value() {
    EventLog log;
    Variable variable(scalar(1), "w");
    variable.assign(scalar(2));
    QCOMPARE(log.lines, (std::vector<std::string>{"leaf w:0", "leaf w:0"}));
    QVERIFY(log.leaves[1].same_body(variable.peek()));
    const QuietScope quiet;
    variable.assign(scalar(3));
    QCOMPARE(log.lines.size(), std::size_t{2});
  }

  void tapes_watch_trainable_variables_that_are_read() {
    Variable w(scalar(3), "w"), frozen(scalar(5), "frozen", false), unread(scalar(7), "unread");
    Tape tape(true);
    tape.start();
    const Tensor y = multiply(multiply(w.read(), w.read()), frozen.read());
    unread.peek();
    tape.stop();
    QCOMPARE(tape.watched_variables(), (std::vector<Variable>{w}));
    QCOMPARE(gradient(tape, y, w).item(), 30.);
    QVERIFY(!gradient(tape, y, frozen));
    QVERIFY(!gradient(tape, y, unread));
  }

  void a_tape_can_be_told_not_to_watch_variables() {
    Variable w(scalar(3)), chosen(scalar(4), "chosen", false);
    Tape tape(true, false);
    tape.start();
    tape.watch(chosen);
    const Tensor y = multiply(w.read(), chosen.read());
    chosen.assign(scalar(10));
    const Tensor z = add(y, chosen.read());
    QVERIFY(!gradient(tape, z, w));
    QCOMPARE(gradient(tape, z, chosen).item(), 4.);  // 3, from the first value, and 1 from the second
    QCOMPARE(tape.watched_variables(), (std::vector<Variable>{chosen}));
  }

  void gradients_sum_over_all_values_seen() {
    Variable w(scalar(3));
    Tape tape;
    tape.start();
    const Tensor first = multiply(w.read(), w.read());
    w.assign(scalar(10));
    const Tensor second = multiply(w.read(), w.read());
    QCOMPARE(gradient(tape, add(first, second), w).item(), 6. + 20.);
  }

  void variables_may_share_values() {
    Variable a(scalar(3)), b(scalar(4));
    Tape tape;
    tape.start();
    const Tensor shared = multiply(a.read(), a.read());
    a.assign(shared);
    b.assign(shared);
    Tensor sum = add(add(a.read(), b.read()), a.read());
    b.assign(scalar(5));
    sum = add(sum, multiply(b.read(), b.read()));
    a.assign(shared);
    sum = add(sum, a.read());
    const Tensors gradients = tape.gradient(std::array{sum}, std::array{a, b}, {}, Unconnected::none);
    QCOMPARE(gradients[0].item(), 3.);  // read three times after the square was assigned
    QCOMPARE(gradients[1].item(), 1. + 2 * 5);
  }

  void no_gradient_flows_from_a_value_to_what_was_assigned() {
    Variable w(scalar(3));
    Tape tape(true);
    tape.start();
    const Tensor x = scalar(2);
    tape.watch(x);
    w.assign(multiply(x, x));
    const Tensor y = multiply(w.read(), scalar(5));
    QVERIFY(!tape.gradient(std::array{y}, std::array{x})[0]);
    QCOMPARE(gradient(tape, y, w).item(), 5.);
  }

  void sources_of_both_kinds_keep_their_order() {
    Variable w(scalar(3));
    Tape tape;
    tape.start();
    const Tensor x = scalar(2);
    tape.watch(x);
    const Tensor y = multiply(multiply(x, x), w.read());
    const std::array<Tape::Source, 2> sources{{{{}, w}, {x, {}}}};
    const Tensors gradients = tape.gradient(std::array{y}, sources, {}, Unconnected::none);
    QCOMPARE(gradients[0].item(), 4.);
    QCOMPARE(gradients[1].item(), 12.);
  }

  void unconnected_variables_give_zeros_on_request() {
    Variable w(vector_of({1, 2}));
    Tape tape;
    tape.start();
    const Tensors gradients = tape.gradient(std::array{scalar(1)}, std::array{w}, {}, Unconnected::zero);
    QCOMPARE(gradients[0].to_vector(), (std::vector<double>{0, 0}));
  }

  void variables_stay_known_after_the_tape_is_used_up() {
    Variable w(scalar(3));
    Tape tape;
    tape.start();
    const Tensor y = multiply(w.read(), w.read());
    gradient(tape, y, w);
    QCOMPARE(tape.watched_variables(), (std::vector<Variable>{w}));
  }

  void stop_recording_hides_reads() {
    Variable w(scalar(3));
    Tape tape;
    tape.start();
    {
      const StopRecording stopped;
      w.read();
    }
    QVERIFY(tape.watched_variables().empty());
  }

  void integer_variables_are_known_to_be_read_and_have_no_gradient() {
    Variable step(Tensor::scalar(3, DType::int64), "step");
    Tape tape;
    tape.start();
    step.read();
    QCOMPARE(tape.watched_variables(), (std::vector<Variable>{step}));
    const Tensor y = vector_of({1});
    const Variable sources[] = {step};
    QVERIFY(!tape.gradient({&y, 1}, std::span<const Variable>(sources))[0]);
  }

  void an_update_is_of_the_value_that_it_replaces() {
    Variable variable(vector_of({1, 2}));
    int calls = 0;
    variable.update([&](const Tensor& value) {
      if (++calls == 1) variable.assign(vector_of({10, 20}));  // as another thread might
      return add(value, value);
    });
    QCOMPARE(calls, 2);
    QCOMPARE(variable.peek().to_vector(), (std::vector<double>{20, 40}));
    EXPECT_ERROR(InvalidArgumentError, variable.update([](const Tensor&) { return scalar(1); }),
                 "assign to Variable:0: the variable has shape (2,), the value ()");
  }

  void no_update_of_several_threads_is_lost() {
    Variable variable(vector_of({0, 0}));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i)
          variable.update([](const Tensor& value) { return add(value, vector_of({1, 2})); });
      });
    for (std::thread& thread : threads) thread.join();
    QCOMPARE(variable.peek().to_vector(), (std::vector<double>{4000, 8000}));
  }

  void reading_and_assigning_are_safe_from_several_threads() {
    Variable variable(vector_of({0, 0}));
    std::atomic<bool> stop{false};
    std::atomic<int> torn{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&] {
        while (!stop) {
          const auto values = variable.read().to_vector();
          if (values[0] != values[1]) ++torn;
        }
      });
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 5000; ++i) {
          const double value = t * 10000 + i;
          variable.assign(vector_of({value, value}));
        }
      });
    threads[2].join();
    threads[3].join();
    stop = true;
    threads[0].join();
    threads[1].join();
    QCOMPARE(torn.load(), 0);
  }
};

TAPEDECK_TEST(TestVariable)
#include "tst_variable.moc"
