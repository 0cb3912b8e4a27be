// The kinds of breakpoints: where each of them stops, and what it says.
#include <QtTest>
#include <atomic>
#include <thread>

#include "engine/tape/variable.h"
#include "tests/engine/record/breakpoint_session.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using protocol::Breakpoint;
using protocol::BreakpointKind;
using protocol::RecordState;

class TestBreakpoints : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() {
    set_capture_location(&capture_line);
    register_core_ops();
  }
  void cleanupTestCase() { set_capture_location(nullptr); }

  void a_line_stops_once_for_each_time_it_runs() {
    BreakpointSession session({in_line(3)}, [] {
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
    const BreakpointSession::Stop first = session.stop();
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
    BreakpointSession session({in_line(5)}, [] {
      const Tensor x = vector_of({3});
      Tape tape;
      tape.start();
      tape.watch(x);
      at_line(4);
      const Tensor y = sum(exponential(multiply(x, x)));
      at_line(5);
      gradient(tape, y, x);
    });
    const BreakpointSession::Stop stop = session.stop();
    QVERIFY(stop.record.kind == protocol::RecordKind::vjp);
    QCOMPARE(session.next().op, std::string());
  }

  void a_breakpoint_set_where_the_program_stands_counts_from_the_next_pass_on() {
    BreakpointSession session({of_kind(BreakpointKind::op, "add")}, [] {
      for (int i = 0; i < 2; ++i) {
        at_line(3, 1);
        add(scalar(1), scalar(2));
        at_line(3, 2);
        exponential(scalar(1));
        at_line(4);
        multiply(scalar(1), scalar(2));
      }
    });
    const std::uint64_t first = session.stop().record.number;
    Breakpoint line = in_line(3);
    line.id = 7;
    session.recorder.breakpoints().set({{line}});
    const BreakpointSession::Stop second = session.next();
    QCOMPARE(second.op, std::string("add"));
    QCOMPARE(second.record.number, first + 3);
    QCOMPARE(session.next().op, std::string());
  }

  void a_change_in_the_middle_of_a_line_does_not_stop_there_again() {
    BreakpointSession session({in_line(3)}, [] {
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

  void a_condition_entered_in_the_middle_of_a_line_applies_to_the_rest_of_it() {
    BreakpointSession session({in_line(3)}, [] {
      for (int i = 0; i < 2; ++i) {
        at_line(3, 1);
        add(scalar(1), scalar(2));
        at_line(3, 2);
        multiply(scalar(1), scalar(2));
        at_line(3, 3);
        exponential(scalar(1));
        at_line(3, 4);
        add(scalar(1), scalar(2));
      }
    });
    const auto change = [&](const std::string& condition) {
      Breakpoint line = in_line(3, condition);
      line.id = 1;
      session.recorder.breakpoints().set({{line}});
    };
    QCOMPARE(session.stop().op, std::string("add"));
    change("op:test_exp");
    QCOMPARE(session.next().op, std::string("test_exp"));
    change("");  // the line has had its stop
    const BreakpointSession::Stop next_pass = session.next();
    QCOMPARE(next_pass.op, std::string("add"));
    QCOMPARE(next_pass.record.number, std::uint64_t{5});
    QCOMPARE(session.next().op, std::string());
  }

  void ops_go_by_their_names_and_patterns() {
    BreakpointSession session({of_kind(BreakpointKind::op, "test_*"), of_kind(BreakpointKind::op, "ad")}, [] {
      at_line(1);
      const Tensor x = scalar(2);
      add(x, x);
      exponential(multiply(x, x));
    });
    QCOMPARE(session.all(), (QStringList{"before test_multiply", "before test_exp"}));
    QVERIFY(!session.states[0].note);
    QVERIFY(session.states[1].note.value_or("").starts_with("There is no op \"ad\""));
  }

  void an_exception_stops_at_the_op_that_failed_and_nowhere_else() {
    BreakpointSession session({of_kind(BreakpointKind::exception)}, [] {
      at_line(7);
      Tape tape;
      tape.start();
      const Tensor x = vector_of({1});
      tape.watch(x);
      const Tensor y = failing(x, true);
      gradient(tape, y, x);
    });
    const BreakpointSession::Stop stop = session.stop();
    QVERIFY2(stop.after && stop.record.state == RecordState::failed, stop.op.c_str());
    QVERIFY2(stop.reason.starts_with("breakpoint 1: exception, "), stop.reason.c_str());
    QCOMPARE(session.next().op, std::string());
    QVERIFY(!session.thrown.empty());
  }

  void a_call_that_the_checks_refuse_stops_with_a_record_of_its_own() {
    BreakpointSession session({of_kind(BreakpointKind::exception)}, [] {
      at_line(7);
      multiply(vector_of({1, 2}), vector_of({1, 2, 3}));
    });
    const BreakpointSession::Stop stop = session.stop();
    QCOMPARE(stop.op, std::string("test_multiply"));
    QVERIFY(stop.after && stop.record.state == RecordState::failed);
    QCOMPARE(stop.record.line, 7u);
    QCOMPARE(stop.record.inputs.size(), std::size_t{2});
    QCOMPARE(stop.record.inputs[1].shape, std::vector<std::int64_t>{3});
    QCOMPARE(stop.reason, std::string("breakpoint 1: exception, test_multiply: shapes (2,) and (3,) differ"));
    QCOMPARE(session.next().op, std::string());
    QCOMPARE(session.thrown, std::string("test_multiply: shapes (2,) and (3,) differ"));
  }

  void a_call_that_the_checks_refuse_uses_up_no_other_breakpoint() {
    Breakpoint once = of_kind(BreakpointKind::op, "test_multiply");
    once.once = true;
    BreakpointSession session({of_kind(BreakpointKind::exception), once, in_line(7)}, [] {
      const Tensor two = vector_of({1, 2}), three = vector_of({1, 2, 3});
      at_line(7, 1);
      try {
        multiply(two, three);
      } catch (const std::exception&) {
      }
      at_line(7, 2);
      multiply(two, two);
    });
    QCOMPARE(session.stop().breakpoints, std::vector<std::uint64_t>{1});
    QCOMPARE(session.hits(1), std::uint64_t{0});
    const BreakpointSession::Stop second = session.next();
    QVERIFY(!second.after);
    QCOMPARE(second.breakpoints, (std::vector<std::uint64_t>{2, 3}));
    QCOMPARE(session.next().op, std::string());
  }

  void a_refused_call_that_no_breakpoint_means_goes_on() {
    BreakpointSession session({of_kind(BreakpointKind::exception, {}, "op:exp")}, [] {
      at_line(7);
      multiply(vector_of({1, 2}), vector_of({1, 2, 3}));
    });
    QCOMPARE(session.stop().op, std::string());
    QCOMPARE(session.thrown, std::string("test_multiply: shapes (2,) and (3,) differ"));
  }

  void reads_and_writes_of_variables() {
    BreakpointSession session({of_kind(BreakpointKind::read, "W"), of_kind(BreakpointKind::write, "W")}, [] {
      at_line(1);
      const Variable other(scalar(1), "other");
      Variable w(scalar(2), "W");
      exponential(other.read());
      const Tensor y = multiply(w.read(), other.read());
      at_line(2);
      w.assign(y);
    });
    // Its first value is a write, too, where a record was before it.
    BreakpointSession::Stop stop = session.stop();
    QCOMPARE(stop.reason, std::string("breakpoint 1: read of W"));
    QCOMPARE(stop.op, std::string("test_multiply"));
    stop = session.next();
    QCOMPARE(stop.reason, std::string("breakpoint 2: write of W"));
    QVERIFY(stop.after);
    QCOMPARE(session.recorder.gate().status().location, intern_location({"cell", "", 2}));
    QCOMPARE(session.next().op, std::string());
  }

  void a_write_stops_when_the_variable_has_its_value_and_keeps_what_is_edited_there() {
    Variable w(scalar(2), "W");
    std::atomic<double> read{0};
    BreakpointSession session({of_kind(BreakpointKind::write, "W")}, [&] {
      at_line(1);
      w.assign(multiply(scalar(2), scalar(3)));
      w.update([](const Tensor& value) { return add(value, scalar(1)); });
      read = w.peek().item();
    });
    const auto edit = [&](double number) {
      const QuietScope quiet;  // as the debugger does
      w.assign(scalar(number));
    };
    QCOMPARE(session.stop().reason, std::string("breakpoint 1: write of W"));
    QCOMPARE(w.peek().item(), 6.0);
    edit(10);
    QCOMPARE(session.next().reason, std::string("breakpoint 1: write of W"));
    QCOMPARE(w.peek().item(), 11.0);
    edit(20);
    QCOMPARE(session.next().op, std::string());
    QCOMPARE(read.load(), 20.0);
  }

  void reads_and_writes_of_any_variable() {
    BreakpointSession session({of_kind(BreakpointKind::read), of_kind(BreakpointKind::write)}, [] {
      at_line(1);
      Variable w(scalar(2), "W");
      const Tensor y = exponential(scalar(1));
      at_line(2);
      const Tensor z = multiply(w.read(), y);
      at_line(3);
      w.assign(add(z, z));
    });
    BreakpointSession::Stop stop = session.stop();
    QCOMPARE(stop.op, std::string("test_multiply"));
    QCOMPARE(stop.reason, std::string("breakpoint 1: read of any variable"));
    stop = session.next();
    QCOMPARE(stop.reason, std::string("breakpoint 2: write of W:0"));
    QVERIFY(stop.after);
    QCOMPARE(session.next().op, std::string());
  }

  void the_tensor_of_a_number_and_the_vjp_of_a_record() {
    const Tensor x = vector_of({3});
    BreakpointSession session(
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
    const BreakpointSession::Stop vjp = session.next();
    QVERIFY(vjp.record.kind == protocol::RecordKind::vjp);
    QCOMPARE(vjp.record.forward, std::uint64_t{2});
    QCOMPARE(session.next().op, std::string());
  }

  void playbacks_and_vjps() {
    BreakpointSession session({of_kind(BreakpointKind::playback), of_kind(BreakpointKind::vjp, "test_sum")},
                              [] { program_with_gradients(); });
    const BreakpointSession::Stop playback = session.stop();
    QVERIFY(playback.record.kind == protocol::RecordKind::playback);
    const BreakpointSession::Stop vjp = session.next();
    QCOMPARE(vjp.reason, std::string("breakpoint 2: VJP test_sum"));
    QCOMPARE(session.next().op, std::string());
  }

  void the_first_op_of_a_cell() {
    Breakpoint breakpoint = of_kind(BreakpointKind::cell);
    breakpoint.cell = "two";
    std::atomic<Recorder*> recorder{nullptr};
    BreakpointSession session({breakpoint}, [&] {
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

  void a_cell_without_ops_leaves_no_stop_to_what_comes_after_it() {
    Breakpoint breakpoint = of_kind(BreakpointKind::cell);
    breakpoint.cell = "two";
    std::atomic<Recorder*> recorder{nullptr};
    BreakpointSession session({breakpoint}, [&] {
      wait_for([&] { return recorder.load() != nullptr; });
      at_line(1);
      recorder.load()->begin_cell("two");
      recorder.load()->end_cell();
      exponential(scalar(1));
    });
    recorder = &session.recorder;
    QCOMPARE(session.stop().op, std::string());
    QCOMPARE(session.hits(), std::uint64_t{0});
  }

  void changes_of_breakpoints_are_counted_with_what_the_recorder_keeps() {
    Recording recording;
    const std::uint64_t before = recording.recorder.bookkeeping_bytes();
    for (std::uint64_t change = 1; change <= 10; ++change) {
      Breakpoint one = in_line(3);
      one.id = change;
      recording.recorder.breakpoints().set({{one}});
    }
    // At the least one mask for each op, kind and direction.
    const std::uint64_t masks = 10 * Registry::instance().size() * sizeof(std::uint64_t);
    QVERIFY(recording.recorder.bookkeeping_bytes() >= before + masks);
  }

  void threads_run_while_breakpoints_change() {
    std::atomic<bool> end{false};
    BreakpointSession session({when("nan(out)")}, [&] {
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
    for (BreakpointSession::Stop now = session.next(); !now.op.empty() && others.size() < 3;
         now = session.next())
      others << QString::fromStdString(now.op);
    QVERIFY2(others.size() < 3 && others.count("add") == others.size(), qPrintable(others.join(", ")));
  }
};

TAPEDECK_TEST(TestBreakpoints)
#include "tst_breakpoints.moc"
