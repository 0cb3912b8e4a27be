// Conditions of breakpoints, what they count, and what they do instead of a stop.
#include <QtTest>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "engine/cpu/parallel.h"
#include "engine/record/values/finite.h"
#include "engine/tensor/interrupt.h"
#include "tests/engine/record/breakpoint_session.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using protocol::Breakpoint;
using protocol::BreakpointAction;
using protocol::BreakpointKind;
using protocol::RecordState;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::atomic<bool> interrupt_asked_for{false};
std::vector<std::string> printed;
void print(const std::string& text) {
  printed.push_back(text);
}

}  // namespace

class TestBreakpointConditions : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() {
    set_capture_location(&capture_line);
    register_core_ops();
    HostHooks hooks;
    hooks.print = print;
    hooks.interrupted = [] { return interrupt_asked_for.load(); };
    set_host_hooks(hooks);
  }
  void cleanupTestCase() {
    set_host_hooks({});
    set_capture_location(nullptr);
  }
  void init() { printed.clear(); }

  void conditions_on_inputs_stop_before_the_op() {
    BreakpointSession session({when("max(abs(in0)) > 5 and op:test"), when("shape:3 and op=add")}, [] {
      at_line(1);
      exponential(vector_of({1, -6}));
      exponential(vector_of({1, 2}));
      add(vector_of({1, 2, 3}), vector_of({1, 2, 3}));
    });
    const BreakpointSession::Stop first = session.stop();
    QCOMPARE(first.reason, std::string("breakpoint 1: max(abs(in0)) > 5 and op:test, it is 6"));
    QVERIFY(!first.after);
    QCOMPARE(session.next().op, std::string("add"));
    QCOMPARE(session.next().op, std::string());
  }

  void a_cells_name_is_that_of_the_execution_that_runs() {
    BreakpointSession session({when("op:add"), when("cell:[3] and op:multiply")}, [] {
      at_line(1);
      for (int run = 0; run < 3; ++run) {
        add(scalar(1), scalar(2));
        multiply(scalar(1), scalar(2));
      }
    });
    QCOMPARE(session.stop().op, std::string("add"));
    session.recorder.begin_cell("cell", 2);
    QCOMPARE(session.next().op, std::string("add"));
    session.recorder.begin_cell("cell", 3);  // the same line has another name
    QCOMPARE(session.next().op, std::string("test_multiply"));
    QCOMPARE(session.next().op, std::string("add"));
    session.recorder.begin_cell("cell", 4);
    QCOMPARE(session.next().op, std::string());
    QCOMPARE(session.hits(1), std::uint64_t{1});
  }

  void an_interrupt_while_a_condition_looks_ends_the_record() {
    const int threads = cpu::thread_count();
    cpu::set_thread_count(1);  // this thread looks, and asks
    const auto restored = qScopeGuard([threads] { cpu::set_thread_count(threads); });
    const Tensor large = ramp(1 << 19);
    const std::function<void()> calls[] = {[&] { exponential(large); },
                                           [&] {
                                             Tape tape;
                                             tape.start();
                                             tape.watch(large);
                                             gradient(tape, large, large);
                                           }};
    for (const auto& call : calls) {
      std::atomic<bool> interrupted{false};
      BreakpointSession session({when("nan(in)"), of_kind(BreakpointKind::exception)}, [&] {
        at_line(1);
        interrupt_asked_for = true;
        try {
          call();
        } catch (const Interrupted&) {
          interrupted = true;
        }
        interrupt_asked_for = false;
        add(scalar(1), scalar(2));
      });
      QCOMPARE(session.stop().op, std::string());
      QVERIFY(interrupted);
      QCOMPARE(session.count(), 2u);
      QVERIFY(session.at(1).state == RecordState::failed);
      QVERIFY(session.at(2).state == RecordState::done);
      QCOMPARE(session.at(2).depth, 0u);
    }
  }

  void a_stop_tells_the_number_of_its_own_condition_alone() {
    Breakpoint log = of_kind(BreakpointKind::op, "add");
    log.action = BreakpointAction::log;
    log.text = "{min(in0)}";
    const Breakpoint add_op = of_kind(BreakpointKind::op, "add");
    BreakpointSession session({when("max(in0) > 100"), add_op, log, add_op}, [] {
      at_line(1);
      add(vector_of({1, 2}), vector_of({1, 2}));
    });
    QCOMPARE(session.stop().reason, std::string("breakpoint 2: op add; breakpoint 4: op add"));
    QCOMPARE(session.next().op, std::string());
    QCOMPARE(printed, std::vector<std::string>{"1"});
  }

  void values_stop_just_after_the_op_has_written_them() {
    BreakpointSession session({when("nan(out) or inf(out)")}, [] {
      at_line(1);
      const Tensor x = vector_of({1, 1000, 2000});
      multiply(x, x);
      const Tensor y = exponential(x);
      add(y, x);
    });
    const BreakpointSession::Stop first = session.stop();
    QCOMPARE(first.op, std::string("test_exp"));
    QVERIFY(first.after && first.record.state == RecordState::done);
    QCOMPARE(first.reason, std::string("breakpoint 1: nan(out) or inf(out), 2 of 3 elements"));
    QVERIFY(session.recorder.values().held(first.record.outputs.at(0).id));
    QCOMPARE(session.next().op, std::string("add"));
    QCOMPARE(session.next().op, std::string());
  }

  void quantities_of_values() {
    const struct {
      const char* condition;
      bool expected;
    } rows[] = {{"max(out) == 4", true},
                {"max(abs(out)) == 5", true},
                {"min(out) == -5", true},
                {"min(abs(out)) == 0", true},
                {"mean(out) == -0.25", true},
                {"sum(out) == -1", true},
                {"sum(abs(out)) == 9", true},
                {"norm(out) > 6.403 and norm(out) < 6.404", true},
                {"deviation(out) > 3.1", true},
                {"zeros(out) == 2", true},
                {"zeros(out) > 50%", false},
                {"zeros(out) >= 50%", true},
                {"zeros(out)", false},
                {"nan(out)", false},
                {"out.shape != in0.shape", false},
                {"out.shape == (4)", true},
                {"out.dtype == float64", true},
                {"max(out) > 1*max(in1)", true},
                {"nan(in)", false},
                {"norm(grad) < 10", false}};
    for (const auto& row : rows) {
      BreakpointSession session({when(row.condition)}, [] {
        at_line(1);
        add(vector_of({4, -5, 0, 0}), vector_of({0, 0, 0, 0}));
      });
      QVERIFY2(!session.states[0].problem, session.states[0].problem.value_or("").c_str());
      QVERIFY2((session.stop().op == "add") == row.expected, row.condition);
    }
  }

  void nan_and_infinity_are_found_wherever_they_stand() {
    for (const std::int64_t count : {1, 7, 64, 1000, 300'000})
      for (const double odd : {infinity, -infinity, std::nan("")})
        for (const std::int64_t at : {std::int64_t{0}, count / 2, count - 1}) {
          Tensor x = Tensor::allocate(DType::float32, {count});
          for (std::int64_t i = 0; i < count; ++i) x.writable_data<float>()[i] = 3e38f;
          QVERIFY(all_finite(x));
          x.writable_data<float>()[at] = static_cast<float>(odd);
          QVERIFY(!all_finite(x));
        }
    // In a view, what is in sight counts.
    Tensor x = ramp(12);
    x.writable_data<double>()[5] = infinity;
    const auto view = [&](const Shape& shape, const Strides& strides, std::int64_t offset) {
      return Tensor::view(x.storage(), DType::float64, shape, strides, offset);
    };
    QVERIFY(!all_finite(view({4, 3}, {1, 4}, 0)));
    QVERIFY(!all_finite(view({3, 2}, {4, 1}, 0)));
    QVERIFY(all_finite(view({3, 1}, {4, 1}, 0)));
    QVERIFY(all_finite(view({100, 3}, {0, 1}, 0)));
    QVERIFY(!all_finite(view({100, 3}, {0, 1}, 4)));
    QVERIFY(all_finite(vector_of({1, 2}, DType::int64)));
  }

  void gradients_are_looked_at_as_they_come_out() {
    BreakpointSession session({when("norm(grad) > 26 and vjp")}, [] {
      at_line(1);
      const Tensor x = vector_of({3});
      Tape tape;
      tape.start();
      tape.watch(x);
      gradient(tape, sum(multiply(multiply(x, x), x)), x);  // 3x² = 27, in two parts: 9 and 18
      Tape second;
      second.start();
      second.watch(x);
      gradient(second, sum(exponential(add(x, scalar(1).make_contiguous().rank() ? x : x))), x);
    });
    const BreakpointSession::Stop stop = session.stop();
    QVERIFY(stop.after);
    QVERIFY(stop.record.kind == protocol::RecordKind::vjp);
  }

  void hits_are_counted_and_the_first_ones_can_be_passed_over() {
    Breakpoint third = of_kind(BreakpointKind::op, "add");
    third.from_hit = 3;
    Breakpoint off = of_kind(BreakpointKind::op, "add");
    off.enabled = false;
    Breakpoint once = of_kind(BreakpointKind::op, "test_exp");
    once.once = true;
    BreakpointSession session({third, off, once}, [] {
      at_line(1);
      for (int i = 0; i < 4; ++i) {
        add(scalar(1), scalar(2));
        exponential(scalar(0));
      }
    });
    QCOMPARE(session.all(), (QStringList{"before test_exp", "before add", "before add"}));
    QCOMPARE(session.hits(0), std::uint64_t{4});
    QCOMPARE(session.hits(1), std::uint64_t{0});
  }

  void log_points_write_a_line_and_points_a_curve() {
    Breakpoint log = of_kind(BreakpointKind::op, "test_exp");
    log.action = BreakpointAction::log;
    log.text = "{op} in line {line}: {max(out)} of {shape}";
    Breakpoint point = of_kind(BreakpointKind::op, "test_exp");
    point.action = BreakpointAction::point;
    point.text = "largest = max(out)";
    BreakpointSession session({log, point}, [] {
      at_line(4);
      exponential(vector_of({0, -1}));
      exponential(vector_of({-1, -2}));
    });
    QCOMPARE(session.stop().op, std::string());
    QCOMPARE(printed, (std::vector<std::string>{"test_exp in line 4: 1 of (2,)",
                                                "test_exp in line 4: 0.367879 of (2,)"}));
    const auto series = session.recorder.series().read(0);
    QCOMPARE(series.points.size(), std::size_t{2});
    QCOMPARE(series.points[1].series, std::string("largest"));
    QCOMPARE(series.points[1].step, 2.);
    QVERIFY(std::abs(series.points[1].value - std::exp(-1)) < 1e-12);
  }

  void a_curve_that_rises() {
    std::atomic<Recorder*> recorder{nullptr};
    BreakpointSession session({when("loss rose")}, [&] {
      wait_for([&] { return recorder.load() != nullptr; });
      at_line(1);
      int step = 0;
      for (const double loss : {3., 2., 2.5, 2.25, 2.75}) {
        recorder.load()->add_scalar("cell 1: loss", ++step, loss);
        exponential(scalar(loss));
        add(scalar(loss), scalar(1));
      }
    });
    recorder = &session.recorder;
    QCOMPARE(session.all(), (QStringList{"before test_exp", "before test_exp"}));
  }

  void a_point_that_was_shown_does_not_stop_again_when_breakpoints_change() {
    std::atomic<Recorder*> recorder{nullptr};
    BreakpointSession session({when("loss rose")}, [&] {
      wait_for([&] { return recorder.load() != nullptr; });
      at_line(1);
      int step = 0;
      for (const double loss : {2., 3., 4.}) {
        recorder.load()->add_scalar("loss", ++step, loss);
        exponential(scalar(loss));
        add(scalar(loss), scalar(1));
      }
    });
    recorder = &session.recorder;
    QCOMPARE(session.stop().op, std::string("test_exp"));
    // The same, and one that is new: it waits for the next point.
    Breakpoint same = when("loss rose"), fresh = when("loss rose");
    same.id = 1;
    fresh.id = 2;
    session.recorder.breakpoints().set({{same, fresh}});
    const BreakpointSession::Stop second = session.next();
    QCOMPARE(second.op, std::string("test_exp"));
    QCOMPARE(second.breakpoints, (std::vector<std::uint64_t>{1, 2}));
    QCOMPARE(session.next().op, std::string());
    QCOMPARE(session.hits(0), std::uint64_t{2});
    QCOMPARE(session.hits(1), std::uint64_t{1});
  }

  void a_result_that_was_shown_does_not_stop_again_when_breakpoints_change() {
    BreakpointSession session({of_kind(BreakpointKind::op, "add"), when("max(out) == 9")}, [] {
      at_line(1);
      const Tensor x = vector_of({3});
      const Tensors inputs{x};
      custom_gradient("outer", {inputs.data(), inputs.size()}, [&] {
        add(x, x);
        return CustomResult{{multiply(x, x)},
                            [](std::span<const Tensor> cotangents) -> Tensors { return {cotangents[0]}; }};
      });
    });
    QCOMPARE(session.stop().op, std::string("add"));
    Breakpoint nine = when("max(out) == 9");
    nine.id = 2;
    session.recorder.breakpoints().set({{nine}});
    // The function began under the set before, and gives the product once more.
    QCOMPARE(session.next().op, std::string("test_multiply"));
    QCOMPARE(session.next().op, std::string());
    QCOMPARE(session.hits(1), std::uint64_t{1});
  }

  void what_does_not_work_is_told_with_its_place() {
    Breakpoint log = of_kind(BreakpointKind::op, "add");
    log.action = BreakpointAction::log;
    log.text = "x {max(out}";
    BreakpointSession session(
        {when("nan(out) and"), log, of_kind(BreakpointKind::vjp, "#x"), when(""), when("forward and vjp"),
         in_line(3, "line:7"), when("record>10 record<5"), when("op:add and bookmarked")},
        [] {});
    QCOMPARE(session.states[0].position, std::uint64_t{12});
    QCOMPARE(session.states[0].part, std::string("condition"));
    QCOMPARE(session.states[1].part, std::string("text"));
    QCOMPARE(session.states[1].position, std::uint64_t{10});
    QCOMPARE(session.states[2].part, std::string("target"));
    QCOMPARE(session.states[3].problem, std::string("There is no condition."));
    QCOMPARE(session.states[4].note, std::string("It can never hold. A VJP never runs forward."));
    QCOMPARE(session.states[5].note,
             std::string("It can never hold. No line fits: it is looked at in one line alone."));
    QCOMPARE(session.states[6].note,
             std::string("It can never hold. No record is both above 10 and below 5."));
    QCOMPARE(
        session.states[7].problem.value_or(""),
        std::string("\"bookmarked\" is for the filter of Ops: bookmarks are set in the window, on ops that "
                    "ran."));
    QCOMPARE(session.states[7].position, std::uint64_t{11});
  }

  // The host tells of the line's begin and end, as Python does.
  void a_log_of_a_line_without_an_op_says_so_and_counts() {
    Breakpoint log = in_line(3);
    log.action = BreakpointAction::log;
    log.text = "{op}: {max(out)}, line {line}, hit {hits}";
    Breakpoint point = in_line(3);
    point.action = BreakpointAction::point;
    point.text = "largest = max(out)";
    Breakpoint asks_for_op = in_line(3, "max(out) > 1");
    asks_for_op.action = BreakpointAction::log;
    asks_for_op.text = "above";
    std::atomic<BreakpointSession*> running{nullptr};
    BreakpointSession session({log, point, asks_for_op}, [&] {
      while (!running) std::this_thread::yield();
      Recorder& recorder = running.load()->recorder;
      for (const bool with_op : {false, true, false}) {
        at_line(3);
        const LineRun run = recorder.at_line(capture_line());
        if (with_op) exponential(vector_of({0, 1}));
        recorder.left_line(run, false);
      }
      const LineRun run = recorder.at_line(capture_line());
      recorder.left_line(run, true);
    });
    running = &session;
    QCOMPARE(session.stop().op, std::string());
    QCOMPARE(printed, (std::vector<std::string>{"no op on this line: no value, line 3, hit 1",
                                                "test_exp: 2.71828, line 3, hit 2", "above",
                                                "no op on this line: no value, line 3, hit 3",
                                                "no op on this line so far: no value, line 3, hit 4"}));
    const auto counted = session.recorder.breakpoints().hits();
    QCOMPARE(counted.size(), std::size_t{3});
    for (const std::size_t of : {0u, 1u}) {
      QCOMPARE(counted[of].hits, std::uint64_t{4});
      QCOMPARE(counted[of].without_op, std::uint64_t{3});
    }
    QCOMPARE(counted[2].hits, std::uint64_t{1});
    QCOMPARE(counted[2].without_op, std::uint64_t{3});
    QCOMPARE(session.recorder.series().read(0).points.size(), std::size_t{1});
  }

  // f(n) calls itself on its line, and the innermost call alone runs an op there.
  void ops_of_an_inner_run_of_the_line_are_not_the_outer_ones() {
    Breakpoint log = in_line(3);
    log.action = BreakpointAction::log;
    log.text = "{op}";
    std::atomic<BreakpointSession*> running{nullptr};
    BreakpointSession session({log}, [&] {
      while (!running) std::this_thread::yield();
      at_line(3);
      const LineRun outer = running.load()->recorder.at_line(capture_line());
      const LineRun inner = running.load()->recorder.at_line(capture_line());
      exponential(vector_of({0}));
      running.load()->recorder.left_line(inner, false);
      running.load()->recorder.left_line(outer, false);
    });
    running = &session;
    QCOMPARE(session.stop().op, std::string());
    QCOMPARE(printed, (std::vector<std::string>{"test_exp", "no op on this line"}));
  }

  void what_an_op_does_not_have_is_named_in_the_line() {
    Breakpoint log = of_kind(BreakpointKind::op, "test_exp");
    log.action = BreakpointAction::log;
    log.text = "{norm(grad)}, {max(in3)}, {max(out1)}, {max(out)}";
    BreakpointSession session({log}, [] {
      at_line(1);
      exponential(vector_of({0}));
    });
    QCOMPARE(session.stop().op, std::string());
    QCOMPARE(printed, (std::vector<std::string>{"no gradient, no input 3, no output 1, 1"}));
  }

  void a_text_that_can_not_be_written_is_refused_with_its_place() {
    const auto state_of = [](const char* text) {
      Breakpoint log = in_line(3);
      log.action = BreakpointAction::log;
      log.text = text;
      return BreakpointSession({log}, [] {}).states.at(0);
    };
    QVERIFY(state_of("{opp}").problem->starts_with("A log line has no {opp}: it has {op}, {record}"));
    QCOMPARE(state_of("at {opp}").position, std::uint64_t{4});
    QVERIFY(state_of("{max(weights)}").problem->starts_with("There is no tensor \"weights\""));
    QCOMPARE(state_of("{op").problem, std::string("A closing brace is missing."));
    QCOMPARE(state_of("").problem, std::string("There is no text to write."));
    QVERIFY(!state_of("{op} {max(abs(in0))} {out.size}").problem);
  }

  void breakpoints_that_stay_go_on_counting() {
    BreakpointSession session({of_kind(BreakpointKind::op, "add")}, [] {
      at_line(1);
      add(scalar(1), scalar(2));
      add(scalar(1), scalar(2));
    });
    QCOMPARE(session.stop().op, std::string("add"));
    Breakpoint same = of_kind(BreakpointKind::op, "add");
    same.id = 1;
    same.enabled = false;
    QCOMPARE(session.recorder.breakpoints().set({{same}})[0].hits, std::uint64_t{1});
    same.enabled = true;
    QCOMPARE(session.recorder.breakpoints().set({{same}})[0].hits, std::uint64_t{1});
    same.target = "test_exp";
    QCOMPARE(session.recorder.breakpoints().set({{same}})[0].hits, std::uint64_t{0});
    QCOMPARE(session.next().op, std::string());
  }
};

TAPEDECK_TEST(TestBreakpointConditions)
#include "tst_breakpoint_conditions.moc"
