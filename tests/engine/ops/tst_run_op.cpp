// The registry, run_op and what it tells the observer, interrupts, attributes as text.
#include <QtTest>
#include <chrono>
#include <thread>

#include "engine/tape/tape.h"
#include "engine/tensor/interrupt.h"
#include "tests/engine/event_log.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/test_ops.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using Lines = std::vector<std::string>;

namespace {

std::atomic<int> interrupt_questions{0};
std::atomic<bool> interrupt_answer{false};

Tensors too_large(const OpContext&) {
  return {Tensor::allocate(DType::float64, {1 << 20, 1 << 20})};
}

}  // namespace

class TestRunOp : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { register_core_ops(); }
  void cleanup() { set_host_hooks({}); }

  void the_registry_finds_ops_by_name_and_number() {
    const OpDef& op = multiply_op();
    QCOMPARE(Registry::instance().find("test_multiply"), &op);
    QCOMPARE(&Registry::instance().at(op.index), &op);
    QCOMPARE(Registry::instance().find("test_multipl"), nullptr);
    const int size = static_cast<int>(Registry::instance().size());
    EXPECT_ERROR(OutOfRangeError, Registry::instance().at(size),
                 "there is no op number " + std::to_string(size));
    EXPECT_ERROR(OutOfRangeError, Registry::instance().at(-1), "there is no op number -1");
  }

  void attributes_print_as_python_writes_them() {
    QCOMPARE(to_string(Attribute{}), "None");
    QCOMPARE(to_string(Attribute{true}), "True");
    QCOMPARE(to_string(Attribute{std::int64_t{-3}}), "-3");
    QCOMPARE(to_string(Attribute{0.5}), "0.5");
    QCOMPARE(to_string(Attribute{1e-7}), "1e-07");
    QCOMPARE(to_string(Attribute{2.0}), "2.0");
    QCOMPARE(to_string(Attribute{DType::int64}), "int64");
    QCOMPARE(to_string(Attribute{std::string("same")}), "'same'");
    QCOMPARE(to_string(Attribute{std::string("it's")}), "\"it's\"");
    QCOMPARE(to_string(Attribute{std::string("a\n'\"\\\x01")}), "'a\\n\\'\"\\\\\\x01'");
    QCOMPARE(to_string(Attribute{std::vector<std::int64_t>{0, 1}}), "[0, 1]");
    QCOMPARE(to_string(Attribute{std::vector<std::int64_t>{}}), "[]");
  }

  void an_op_computes() {
    QCOMPARE(test_ops::multiply(vector_of({1, 2}), vector_of({3, 4})).to_vector(),
             (std::vector<double>{3, 8}));
  }

  void a_wrong_call_is_refused_by_name() {
    const Tensor x = vector_of({1});
    EXPECT_ERROR(InvalidArgumentError, run_op1(multiply_op(), {x}), "test_multiply: takes 2 tensors, got 1");
    EXPECT_ERROR(InvalidArgumentError, run_op1(multiply_op(), {x, Tensor()}),
                 "test_multiply: input 1 (b) is undefined");
    EXPECT_ERROR(InvalidArgumentError, run_op1(multiply_op(), {x, x}, {true}),
                 "test_multiply: takes 0 attributes, got 1");
    once_and_twice(x);
    EXPECT_ERROR(InvalidArgumentError, run_op1(*Registry::instance().find("test_once_and_twice"), {x}),
                 "test_once_and_twice: has 2 outputs");
  }

  void variadic_ops_take_any_number_of_tensors() {
    OpDef op =
        unary([](const OpContext& call) -> Tensors { return {scalar(double(call.inputs.size()))}; }, nullptr);
    op.inputs = {{.name = "axis"}, {.name = "values", .variadic = true}};
    op.shape_rule = [](const OpContext&) -> TensorSpecs { return {{DType::float64, {}}}; };
    const OpDef& count = op_named("test_count", op);
    const Tensor x = scalar(0);
    QCOMPARE(run_op1(count, {x}).item(), 1.);
    QCOMPARE(run_op1(count, {x, x, x}).item(), 3.);
    EXPECT_ERROR(InvalidArgumentError, run_op1(count, {}), "test_count: takes at least 1 tensors, got 0");
  }

  void memory_errors_name_the_op() {
    OpDef op = unary(too_large, nullptr);
    const OpDef& large = op_named("test_large", op);
    EXPECT_ERROR(ResourceExhaustedError, run_op1(large, {scalar(1)}),
                 "test_large: a float64 tensor of shape (1048576, 1048576) needs 8.0 TiB");
  }

  void an_observer_sees_begin_and_end() {
    const Tensor a = vector_of({1, 2}), b = vector_of({3, 4});
    EventLog log;
    const Tensor product = test_ops::multiply(a, b);
    QCOMPARE(log.lines, (Lines{"begin 1 op test_multiply", "end 1"}));
    QCOMPARE(log.events[0].op, &multiply_op());
    QCOMPARE(log.events[0].tape, std::uint64_t{0});
    QVERIFY(log.inputs[0][0].same_body(a) && log.inputs[0][1].same_body(b));
    QVERIFY(log.results[0][0].same_body(product));
  }

  void the_gate_knows_what_will_come_out() {
    EventLog log;
    std::string expected;
    log.gate = [&](const Event& event) {
      expected = std::string(dtype_name(event.outputs[0].dtype)) + to_string(event.outputs[0].shape);
    };
    sum(vector_of({1, 2}));
    QCOMPARE(expected, "float64()");
  }

  void a_call_that_fails_its_checks_is_not_recorded() {
    EventLog log;
    EXPECT_ERROR(InvalidArgumentError, test_ops::multiply(vector_of({1}), vector_of({1, 2})),
                 "test_multiply: shapes (1,) and (2,) differ");
    QVERIFY(log.lines.empty());
  }

  void an_op_that_fails_ends_with_its_text() {
    EventLog log;
    EXPECT_ERROR(UnimplementedError, failing(scalar(1), false), "no kernel for float64");
    QCOMPARE(log.lines,
             (Lines{"begin 1 op test_failing", "end 1 failed: test_failing: no kernel for float64"}));
    QVERIFY(log.results[0].empty());
  }

  void an_exception_of_the_host_travels_on() {
    const OpDef& op = op_named("test_foreign",
                               unary([](const OpContext&) -> Tensors { throw ForeignException{}; }, nullptr));
    EventLog log;
    QVERIFY_EXCEPTION_THROWN(run_op1(op, {scalar(1)}), ForeignException);
    QCOMPARE(log.lines.back(), "end 1 failed: an exception of the host language");
  }

  void the_gate_can_abandon_an_op() {
    EventLog log;
    log.gate = [](const Event&) { throw Interrupted(); };
    QVERIFY_EXCEPTION_THROWN(test_ops::multiply(scalar(1), scalar(2)), Interrupted);
    QVERIFY(log.lines.empty());
  }

  void an_output_that_is_an_input_gets_its_own_id() {
    const Tensor x = vector_of({1, 2});
    EventLog log;
    const Tensor same = detail::identity(x);
    QVERIFY(same.id() != x.id());
    QCOMPARE(static_cast<const void*>(same.data<double>()), static_cast<const void*>(x.data<double>()));
  }

  void a_quiet_scope_silences_observer_and_tape() {
    EventLog log;
    Tape tape;
    tape.start();
    const Tensor x = scalar(3);
    tape.watch(x);
    Tensor y;
    {
      const QuietScope quiet;
      QCOMPARE(current_observer(), nullptr);
      y = test_ops::multiply(x, x);
    }
    QVERIFY(log.lines.empty());
    QVERIFY(!is_taped(std::span(&y, 1)));
    QVERIFY(is_taped(std::span(&x, 1)));
    QCOMPARE(current_observer(), &log);
  }

  void replay_runs_unseen() {
    const Tensor x = scalar(3);
    EventLog log;
    Tape tape;
    tape.start();
    tape.watch(x);
    const std::array inputs{x, x};
    const Tensors outputs = replay_op(multiply_op(), inputs, {});
    QCOMPARE(outputs[0].item(), 9.);
    QVERIFY(log.lines.empty());
    QVERIFY(!is_taped(outputs));
  }

  void ops_of_many_threads_all_reach_the_observer() {
    EventLog log;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([] {
        for (int i = 0; i < 100; ++i) test_ops::multiply(scalar(i), scalar(2));
      });
    for (std::thread& thread : threads) thread.join();
    QCOMPARE(log.lines.size(), std::size_t{800});
  }

  void interrupts_are_asked_for_at_most_every_20_ms() {
    interrupt_questions = 0;
    interrupt_answer = false;
    HostHooks hooks;
    hooks.interrupted = [] {
      ++interrupt_questions;
      return interrupt_answer.load();
    };
    set_host_hooks(hooks);
    std::thread([] {
      using clock = std::chrono::steady_clock;
      const auto end = clock::now() + std::chrono::milliseconds(100);
      while (clock::now() < end) check_interrupt();
    }).join();
    QVERIFY2(interrupt_questions >= 1 && interrupt_questions <= 6,
             std::to_string(interrupt_questions).c_str());
  }

  void an_interrupt_is_thrown() {
    HostHooks hooks;
    hooks.interrupted = [] { return true; };
    set_host_hooks(hooks);
    bool thrown = false;
    std::thread([&] {  // a new thread has not asked yet
      try {
        check_interrupt();
      } catch (const Interrupted& interrupted) {
        thrown = std::string(interrupted.what()) == "interrupted";
      }
    })
        .join();
    QVERIFY(thrown);
    set_host_hooks({});
    check_interrupt();
  }

  void the_hosts_lock_is_given_up_and_taken_back() {
    static int depth = 0;
    HostHooks hooks;
    hooks.release = []() -> void* {
      --depth;
      return &depth;
    };
    hooks.reacquire = [](void* token) { *static_cast<int*>(token) += 1; };
    set_host_hooks(hooks);
    {
      const HostUnlock unlocked;
      QCOMPARE(depth, -1);
    }
    QCOMPARE(depth, 0);
  }
};

TAPEDECK_TEST(TestRunOp)
#include "tst_run_op.moc"
