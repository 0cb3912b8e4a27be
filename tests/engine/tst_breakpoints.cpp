// Breakpoints of every kind: where they stop, what they say, what they count, and what they do instead.
#include <QtTest>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "engine/ops/interrupt.h"
#include "engine/record/finite.h"
#include "engine/record/source_location.h"
#include "engine/tape/variable.h"
#include "tests/engine/recording.h"

using namespace tapedeck;
using namespace test_ops;
using protocol::Breakpoint;
using protocol::BreakpointAction;
using protocol::BreakpointKind;
using protocol::Record;
using protocol::RecordState;

namespace {

constexpr auto generous = std::chrono::seconds(20);
constexpr double infinity = std::numeric_limits<double>::infinity();

thread_local std::uint32_t line = 0;
thread_local std::uint64_t place = 0;
std::uint32_t capture_line() {
  set_last_place(place);
  return intern_location({"cell", "", line});
}
/// The program comes to a line, at a place in it.
void at_line(std::uint32_t number, std::uint64_t where = 0) {
  line = number;
  place = number * 1000 + where;
}

std::vector<std::string> printed;
void print(const std::string& text) {
  printed.push_back(text);
}

template <class Condition>
bool wait_for(Condition&& condition) {
  const auto give_up = std::chrono::steady_clock::now() + generous;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

Breakpoint of_kind(BreakpointKind kind, const std::string& target = {}, const std::string& condition = {}) {
  Breakpoint breakpoint;
  breakpoint.kind = kind;
  breakpoint.target = target;
  breakpoint.condition = condition;
  return breakpoint;
}
Breakpoint in_line(std::uint32_t number, const std::string& condition = {}) {
  Breakpoint breakpoint = of_kind(BreakpointKind::line, {}, condition);
  breakpoint.cell = "cell";
  breakpoint.line = number;
  return breakpoint;
}
Breakpoint when(const std::string& condition) {
  return of_kind(BreakpointKind::condition, {}, condition);
}

/// A program on a thread of its own; the test looks where it stops.
struct Session : Recording {
  Session(std::vector<Breakpoint> breakpoints, std::function<void()> program) : program_(std::move(program)) {
    protocol::SetBreakpoints request;
    for (Breakpoint& one : breakpoints) {
      one.id = request.breakpoints.size() + 1;
      request.breakpoints.push_back(std::move(one));
    }
    states = recorder.breakpoints().set(request);
    thread_ = std::thread([this] {
      try {
        program_();
      } catch (const std::exception& error) {
        thrown = error.what();
      }
      finished = true;
    });
  }
  ~Session() {
    recorder.gate().set_attended(false);
    if (thread_.joinable()) thread_.join();
  }
  struct Stop {
    std::string op;  ///< "test_exp"; empty: it ran to its end
    bool after = false;
    std::string reason;
    std::vector<std::uint64_t> breakpoints;
    Record record;
  };
  Stop stop() {
    const auto stopped = [this] { return recorder.gate().status().state == GateState::stopped; };
    if (!wait_for([&] { return stopped() || finished; }) || !stopped()) return {};
    const GateStatus status = recorder.gate().status();
    Record record = at(status.stopped_before);
    return {record.op, status.stopped_after, status.reason, status.breakpoints, record};
  }
  /// Lets it go on to the next stop.
  Stop next() {
    recorder.gate().command(GateCommand::run);
    return stop();
  }
  /// All stops to the end: "before test_exp".
  QStringList all() {
    QStringList stops;
    for (Stop now = stop(); !now.op.empty(); now = next())
      stops << QString(now.after ? "after " : "before ") + QString::fromStdString(now.op);
    return stops;
  }
  std::uint64_t hits(std::size_t index = 0) const {
    for (const auto& one : recorder.breakpoints().hits())
      if (one.id == index + 1) return one.hits;
    return 0;
  }

  std::vector<protocol::BreakpointState> states;
  std::string thrown;
  std::atomic<bool> finished{false};

 private:
  std::function<void()> program_;
  std::thread thread_;
};

/// y = sum(x · custom_square(x)), and its gradient.
void program_with_gradients() {
  const Tensor x = vector_of({3});
  Tape tape;
  tape.start();
  tape.watch(x);
  const Tensor y = sum(multiply(x, custom_square(x)));
  gradient(tape, y, x);
  add(x, x);
}

}  // namespace

class TestBreakpoints : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() {
    set_capture_location(&capture_line);
    register_core_ops();
    HostHooks hooks;
    hooks.print = print;
    set_host_hooks(hooks);
  }
  void cleanupTestCase() {
    set_host_hooks({});
    set_capture_location(nullptr);
  }
  void init() { printed.clear(); }

  void a_line_stops_once_for_each_time_it_runs() {
    Session session({in_line(3)}, [] {
      const Tensor x = scalar(2);
      for (int i = 0; i < 3; ++i) {
        at_line(2);
        add(x, x);
        at_line(3, 1);
        const Tensor y = multiply(x, x);
        at_line(3, 2);
        exponential(y);
      }
      // A line that is all of the loop.
      at_line(4);
      add(x, x);
      for (int i = 0; i < 2; ++i)
        for (const std::uint64_t where : {1, 2}) {
          at_line(3, where);
          add(x, x);
        }
    });
    const Session::Stop first = session.stop();
    QCOMPARE(first.op, std::string("test_multiply"));
    QVERIFY(!first.after && first.record.state == RecordState::pending);
    QCOMPARE(first.reason, std::string("breakpoint 1: line 3"));
    QCOMPARE(first.breakpoints, std::vector<std::uint64_t>{1});
    QCOMPARE(session.next().op, std::string("test_multiply"));
    QCOMPARE(session.next().op, std::string("test_multiply"));
    QCOMPARE(session.next().op, std::string("add"));
    QCOMPARE(session.next().op, std::string("add"));
    QCOMPARE(session.next().op, std::string());
    QCOMPARE(session.hits(), std::uint64_t{5});
  }

  void a_line_of_a_playback_stops_at_its_first_vjp_alone() {
    Session session({in_line(5)}, [] {
      const Tensor x = vector_of({3});
      Tape tape;
      tape.start();
      tape.watch(x);
      at_line(4);
      const Tensor y = sum(exponential(multiply(x, x)));
      at_line(5);
      gradient(tape, y, x);
    });
    const Session::Stop stop = session.stop();
    QVERIFY(stop.record.kind == protocol::RecordKind::vjp);
    QCOMPARE(session.next().op, std::string());
  }

  void a_change_in_the_middle_of_a_line_does_not_stop_there_again() {
    Session session({in_line(3)}, [] {
      at_line(3, 1);
      add(scalar(1), scalar(2));
      at_line(3, 2);
      exponential(scalar(1));
      at_line(4);
      multiply(scalar(1), scalar(2));
    });
    QCOMPARE(session.stop().op, std::string("add"));
    Breakpoint line = in_line(3), other = of_kind(BreakpointKind::op, "test_multiply");
    line.id = 1;
    other.id = 2;
    session.recorder.breakpoints().set({{other, line}});
    QCOMPARE(session.next().op, std::string("test_multiply"));
    QCOMPARE(session.next().op, std::string());
  }

  void ops_go_by_their_names_and_patterns() {
    Session session({of_kind(BreakpointKind::op, "test_*"), of_kind(BreakpointKind::op, "ad")}, [] {
      at_line(1);
      const Tensor x = scalar(2);
      add(x, x);
      exponential(multiply(x, x));
    });
    QCOMPARE(session.all(), (QStringList{"before test_multiply", "before test_exp"}));
    QVERIFY(session.states[0].note.empty());
    QVERIFY(session.states[1].note.starts_with("There is no op \"ad\""));
  }

  void conditions_on_inputs_stop_before_the_op() {
    Session session({when("max(abs(in0)) > 5 and op:test"), when("shape:3 and op=add")}, [] {
      at_line(1);
      exponential(vector_of({1, -6}));
      exponential(vector_of({1, 2}));
      add(vector_of({1, 2, 3}), vector_of({1, 2, 3}));
    });
    const Session::Stop first = session.stop();
    QCOMPARE(first.reason, std::string("breakpoint 1: max(abs(in0)) > 5 and op:test, it is 6"));
    QVERIFY(!first.after);
    QCOMPARE(session.next().op, std::string("add"));
    QCOMPARE(session.next().op, std::string());
  }

  void values_stop_just_after_the_op_has_written_them() {
    Session session({when("nan(out) or inf(out)")}, [] {
      at_line(1);
      const Tensor x = vector_of({1, 1000, 2000});
      multiply(x, x);
      const Tensor y = exponential(x);
      add(y, x);
    });
    const Session::Stop first = session.stop();
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
      Session session({when(row.condition)}, [] {
        at_line(1);
        add(vector_of({4, -5, 0, 0}), vector_of({0, 0, 0, 0}));
      });
      QVERIFY2(session.states[0].problem.empty(), session.states[0].problem.c_str());
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

  void an_exception_stops_at_the_op_that_failed_and_nowhere_else() {
    Session session({of_kind(BreakpointKind::exception)}, [] {
      at_line(7);
      Tape tape;
      tape.start();
      const Tensor x = vector_of({1});
      tape.watch(x);
      const Tensor y = failing(x, true);
      gradient(tape, y, x);
    });
    const Session::Stop stop = session.stop();
    QVERIFY2(stop.after && stop.record.state == RecordState::failed, stop.op.c_str());
    QVERIFY2(stop.reason.starts_with("breakpoint 1: exception, "), stop.reason.c_str());
    QCOMPARE(session.next().op, std::string());
    QVERIFY(!session.thrown.empty());
  }

  void a_call_that_the_checks_refuse_stops_with_a_record_of_its_own() {
    Session session({of_kind(BreakpointKind::exception)}, [] {
      at_line(7);
      multiply(vector_of({1, 2}), vector_of({1, 2, 3}));
    });
    const Session::Stop stop = session.stop();
    QCOMPARE(stop.op, std::string("test_multiply"));
    QVERIFY(stop.after && stop.record.state == RecordState::failed);
    QCOMPARE(stop.record.line, 7u);
    QCOMPARE(stop.record.inputs.size(), std::size_t{2});
    QCOMPARE(stop.record.inputs[1].shape, std::vector<std::int64_t>{3});
    QCOMPARE(stop.reason, std::string("breakpoint 1: exception, test_multiply: shapes (2,) and (3,) differ"));
    QCOMPARE(session.next().op, std::string());
    QCOMPARE(session.thrown, std::string("test_multiply: shapes (2,) and (3,) differ"));
  }

  void reads_and_writes_of_variables() {
    Session session({of_kind(BreakpointKind::read, "W"), of_kind(BreakpointKind::write, "W")}, [] {
      at_line(1);
      const Variable other(scalar(1), "other");
      Variable w(scalar(2), "W");
      exponential(other.read());
      const Tensor y = multiply(w.read(), other.read());
      at_line(2);
      w.assign(y);
    });
    // Its first value is a write, too, where a record was before it.
    Session::Stop stop = session.stop();
    QCOMPARE(stop.reason, std::string("breakpoint 1: read of W"));
    QCOMPARE(stop.op, std::string("test_multiply"));
    stop = session.next();
    QCOMPARE(stop.reason, std::string("breakpoint 2: write of W"));
    QVERIFY(stop.after);
    QCOMPARE(session.recorder.gate().status().location, intern_location({"cell", "", 2}));
    QCOMPARE(session.next().op, std::string());
  }

  void the_tensor_of_a_number_and_the_vjp_of_a_record() {
    const Tensor x = vector_of({3});
    Session session(
        {of_kind(BreakpointKind::read, "#" + std::to_string(x.id())), of_kind(BreakpointKind::vjp, "#2")},
        [&] {
          at_line(1);
          Tape tape;
          tape.start();
          const Tensor z = vector_of({1});
          tape.watch(z);
          const Tensor y = multiply(exponential(z), x);  // records 1 and 2
          gradient(tape, sum(y), z);
        });
    QCOMPARE(session.stop().op, std::string("test_multiply"));
    const Session::Stop vjp = session.next();
    QVERIFY(vjp.record.kind == protocol::RecordKind::vjp);
    QCOMPARE(vjp.record.forward, std::uint64_t{2});
    QCOMPARE(session.next().op, std::string());
  }

  void playbacks_and_vjps() {
    Session session({of_kind(BreakpointKind::playback), of_kind(BreakpointKind::vjp, "test_sum")},
                    [] { program_with_gradients(); });
    const Session::Stop playback = session.stop();
    QVERIFY(playback.record.kind == protocol::RecordKind::playback);
    const Session::Stop vjp = session.next();
    QCOMPARE(vjp.reason, std::string("breakpoint 2: VJP test_sum"));
    QCOMPARE(session.next().op, std::string());
  }

  void gradients_are_looked_at_as_they_come_out() {
    Session session({when("norm(grad) > 26 and vjp")}, [] {
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
    const Session::Stop stop = session.stop();
    QVERIFY(stop.after);
    QVERIFY(stop.record.kind == protocol::RecordKind::vjp);
  }

  void the_first_op_of_a_cell() {
    Breakpoint breakpoint = of_kind(BreakpointKind::cell);
    breakpoint.cell = "two";
    std::atomic<Recorder*> recorder{nullptr};
    Session session({breakpoint}, [&] {
      wait_for([&] { return recorder.load() != nullptr; });
      at_line(1);
      for (const char* cell : {"one", "two", "three", "two"}) {
        recorder.load()->begin_cell(cell);
        exponential(scalar(1));
        add(scalar(1), scalar(2));
        recorder.load()->end_cell();
      }
    });
    recorder = &session.recorder;
    QCOMPARE(session.all(), (QStringList{"before test_exp", "before test_exp"}));
  }

  void hits_are_counted_and_the_first_ones_can_be_passed_over() {
    Breakpoint third = of_kind(BreakpointKind::op, "add");
    third.from_hit = 3;
    Breakpoint off = of_kind(BreakpointKind::op, "add");
    off.enabled = false;
    Breakpoint once = of_kind(BreakpointKind::op, "test_exp");
    once.once = true;
    Session session({third, off, once}, [] {
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
    Session session({log, point}, [] {
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
    Session session({when("loss rose")}, [&] {
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

  void what_does_not_work_is_told_with_its_place() {
    Breakpoint log = of_kind(BreakpointKind::op, "add");
    log.action = BreakpointAction::log;
    log.text = "x {max(out}";
    Session session({when("nan(out) and"), log, of_kind(BreakpointKind::vjp, "#x"), when(""),
                     when("forward and vjp"), in_line(3, "line:7"), when("record>10 record<5")},
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
  }

  void breakpoints_that_stay_go_on_counting() {
    Session session({of_kind(BreakpointKind::op, "add")}, [] {
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

  void threads_run_while_breakpoints_change() {
    std::atomic<bool> end{false};
    Session session({when("nan(out)")}, [&] {
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i)
        threads.emplace_back([&, i] {
          at_line(static_cast<std::uint32_t>(i + 1));
          const Tensor x = vector_of({1, 2});
          while (!end) add(multiply(x, x), x);
        });
      for (std::thread& thread : threads) thread.join();
    });
    const auto let_them_end = qScopeGuard([&] { end = true; });
    for (int round = 0; round < 300; ++round) {
      protocol::SetBreakpoints request;
      for (int i = 0; i <= round % 4; ++i) {
        Breakpoint one = i % 2 ? in_line(9) : when("nan(out) or max(out) > 1e9");
        one.id = static_cast<std::uint64_t>(i) + 1;
        request.breakpoints.push_back(one);
      }
      session.recorder.breakpoints().set(request);
      session.recorder.breakpoints().hits();
    }
    Breakpoint stop = of_kind(BreakpointKind::op, "add");
    stop.id = 1;
    session.recorder.breakpoints().set({{stop}});
    QCOMPARE(session.stop().op, std::string("add"));
    session.recorder.breakpoints().set({});
    end = true;
    // The others were on their way to the same stop.
    QStringList others;
    for (Session::Stop now = session.next(); !now.op.empty() && others.size() < 3; now = session.next())
      others << QString::fromStdString(now.op);
    QVERIFY2(others.size() < 3 && others.count("add") == others.size(), qPrintable(others.join(", ")));
  }
};

QTEST_GUILESS_MAIN(TestBreakpoints)
#include "tst_breakpoints.moc"
