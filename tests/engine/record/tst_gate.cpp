// The gate: where it stops, what a step is, and who is let go.
#include <QtTest>
#include <atomic>
#include <thread>

#include "engine/record/trace/source_location.h"
#include "engine/tensor/interrupt.h"
#include "tests/engine/record/gated_program.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using protocol::Record;
using protocol::RecordKind;
using protocol::RecordState;

namespace {

std::atomic<bool> interrupt_wanted{false};
std::atomic<int> locks_released{0};
thread_local std::uint32_t own_line = 0;
std::uint32_t capture_own_line() {
  return intern_location({"cell", "", own_line});
}

using Session = SteppedProgram;

std::string kind_and_op(const Record& record) {
  return std::string(protocol::names(record.kind)[static_cast<std::size_t>(record.kind)]) + " " + record.op;
}

}  // namespace

class TestGate : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { set_capture_location(&capture_own_line); }
  void cleanup() {
    set_host_hooks({});
    interrupt_wanted = false;
    locks_released = 0;
  }

  void an_open_gate_stops_nothing() {
    Session session([] { program_with_gradients(); });
    session.start();
    QVERIFY(wait_for([&] { return session.finished.load(); }));
    QVERIFY(session.gate().status().state == GateState::open);
  }

  void a_paused_op_is_pending_with_its_inputs_and_the_shape_of_its_output() {
    Session session([] { sum(vector_of({1, 2})); });
    session.gate().command(GateCommand::pause);
    QVERIFY(session.gate().status().state == GateState::will_stop);
    session.start();
    const Record pending = session.next_stop();
    QVERIFY(session.gate().status().state == GateState::stopped);
    QCOMPARE(session.gate().status().reason, std::string("pause"));
    QCOMPARE(kind_and_op(pending), std::string("op test_sum"));
    QVERIFY(pending.state == RecordState::pending);
    QCOMPARE(pending.inputs.at(0).preview, std::string("[1. 2.]"));
    QCOMPARE(pending.outputs.size(), 1u);
    QCOMPARE(pending.outputs[0].id, 0u);
    QCOMPARE(pending.outputs[0].dtype, std::string("float64"));
    QCOMPARE(pending.outputs[0].shape, std::vector<std::int64_t>{});
    session.gate().command(GateCommand::run);
    session.join();
    QVERIFY(session.at(1).state == RecordState::done);
    QCOMPARE(session.at(1).outputs.at(0).preview, std::string("3.0"));
    QVERIFY(session.gate().status().state == GateState::open);
  }

  void an_evaluation_holds_the_program_at_its_stop() {
    std::atomic<int> went_on{0};
    Session session([&went_on] {
      const Tensor x = vector_of({1, 2});
      sum(x);
      ++went_on;
      sum(x);
    });
    Gate& gate = session.gate();
    QVERIFY(gate.hold(std::nullopt));  // between two cells
    gate.release();
    gate.command(GateCommand::pause);
    session.start();
    QCOMPARE(session.next_stop().op, std::string("test_sum"));
    const std::uint64_t stop = gate.status().stop;
    QVERIFY(!gate.hold(stop + 1));
    QVERIFY(gate.hold(stop));
    gate.command(GateCommand::step_op);
    QVERIFY(gate.status().state == GateState::will_stop);
    QVERIFY(!gate.hold(stop));  // a second one would come too late
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    QCOMPARE(went_on.load(), 0);
    gate.release();
    QCOMPARE(session.next_stop().number, std::uint64_t{2});
    QCOMPARE(went_on.load(), 1);
  }

  void an_evaluation_that_takes_long_is_left_behind() {
    std::atomic<bool> went_on{false};
    Session session([&went_on] {
      sum(vector_of({1, 2}));
      went_on = true;
    });
    Gate& gate = session.gate();
    gate.command(GateCommand::pause);
    session.start();
    QCOMPARE(session.next_stop().op, std::string("test_sum"));
    QVERIFY(gate.hold(gate.status().stop));
    QVERIFY(gate.settle());  // it puts back what it changed: the program waits for that
    gate.release();
    QVERIFY(gate.hold(gate.status().stop));
    gate.command(GateCommand::run);
    QVERIFY(wait_for([&] { return went_on.load(); }));
    QVERIFY(!gate.settle());
    gate.release();
  }

  void an_interrupt_leaves_an_evaluation_behind() {
    Session session([] { sum(vector_of({1, 2})); });
    set_host_hooks({.interrupted = [] { return interrupt_wanted.load(); }});
    session.gate().command(GateCommand::pause);
    session.start();
    QCOMPARE(session.next_stop().op, std::string("test_sum"));
    QVERIFY(session.gate().hold(session.gate().status().stop));
    session.gate().command(GateCommand::run);
    interrupt_wanted = true;
    QVERIFY(wait_for([&] { return session.finished.load(); }));
    QVERIFY(session.interrupted);
    session.gate().release();
  }

  void no_cell_begins_during_an_evaluation() {
    Session session([] {});
    Gate& gate = session.gate();
    QVERIFY(gate.hold(std::nullopt));
    std::atomic<bool> began{false};
    std::thread cell([&] {
      gate.cell_started();
      began = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const bool was_early = began;
    gate.release();
    cell.join();
    QVERIFY(!was_early);
    QVERIFY(!gate.hold(std::nullopt));  // it runs
    gate.cell_ended();
    QVERIFY(gate.hold(std::nullopt));
    gate.release();
  }

  void steps_go_forward_into_custom_gradients_and_backward_vjp_by_vjp() {
    Session session([] { program_with_gradients(); });
    session.gate().command(GateCommand::step_op);
    session.start();
    std::vector<std::string> stops;
    Record stop = session.next_stop();
    QCOMPARE(session.gate().status().reason, std::string("step"));
    while (!stop.op.empty()) {
      std::string text = kind_and_op(stop);
      if (session.gate().status().gradient.source != 0) text = "complete after " + text;
      if (stop.parent != 0) {
        const Record parent = session.at(static_cast<std::uint32_t>(stop.parent));
        text += " in " + kind_and_op(parent);
      }
      stops.push_back(text);
      const std::uint64_t here = stop.number;
      stop = session.step();
      QCOMPARE(std::uint64_t{session.gate().status().stepped_over}, here);
    }
    QCOMPARE(stops, (std::vector<std::string>{
                        "op test_multiply in custom custom_square",
                        "op test_multiply",
                        "op test_sum",
                        "vjp test_sum in playback gradient",
                        "vjp test_multiply in playback gradient",
                        "vjp custom_square in playback gradient",
                        "op test_multiply in vjp custom_square",
                        "op add in vjp custom_square",
                        "op add in playback gradient",
                        "complete after op add in playback gradient",
                        "op add",
                    }));
  }

  void what_steps_made_is_held_and_goes_when_it_runs_on() {
    RecorderOptions options;
    options.keeping.checkpoint_ns = std::uint64_t{1} << 60;  // none: a slow machine would take some
    Session session(
        [] {
          const std::vector<double> ones(2'000'000, 1);  // larger than the window that is held while it runs
          const Tensor x = Tensor::from_values<double>(ones, {2'000'000});
          for (int i = 0; i < 5; ++i) multiply(x, x);
        },
        options);
    session.gate().command(GateCommand::step_op);
    session.start();
    session.next_stop();
    for (int i = 0; i < 3; ++i) session.step();
    const auto result = [&](std::uint32_t record) { return session.at(record).outputs.at(0).id; };
    const Values& values = session.recorder.values();
    for (std::uint32_t record = 1; record <= 3; ++record) QVERIFY(values.held(result(record)));
    session.gate().command(GateCommand::run);
    session.join();
    QVERIFY(!values.held(result(3)) && values.held(result(5)));
  }

  void a_step_out_of_a_playback_stops_at_the_first_op_after_it() {
    Session session([] { program_with_gradients(); });
    session.gate().command(GateCommand::step_op);
    session.start();
    Record stop = session.next_stop();
    while (stop.kind != RecordKind::vjp) stop = session.step();
    stop = session.step(GateCommand::step_out);
    QCOMPARE(stop.op, std::string("add"));
    QCOMPARE(stop.parent, 0u);
    QCOMPARE(session.gate().status().reason, std::string("step out"));
  }

  void a_step_out_of_a_custom_gradient_goes_on_after_it() {
    Session session([] { program_with_gradients(); });
    session.gate().command(GateCommand::step_op);
    session.start();
    Record stop = session.next_stop();
    QCOMPARE(session.at(static_cast<std::uint32_t>(stop.parent)).op, std::string("custom_square"));
    stop = session.step(GateCommand::step_out);
    QCOMPARE(kind_and_op(stop), std::string("op test_multiply"));
    QCOMPARE(stop.parent, 0u);
    stop = session.step(GateCommand::step_out);  // inside of nothing: a step
    QCOMPARE(stop.op, std::string("test_sum"));
  }

  void a_line_step_stops_at_the_next_line() {
    Session session([] {
      const Tensor x = scalar(2);
      own_line = 1;
      for (int i = 0; i < 5; ++i) multiply(x, x);
      own_line = 2;
      add(x, x);
      own_line = 3;
      add(x, x);
    });
    session.gate().command(GateCommand::pause);
    session.start();
    QCOMPARE(session.next_stop().line, 1u);
    const Record second = session.step(GateCommand::step_line);
    QCOMPARE(second.number, 6u);
    QCOMPARE(second.line, 2u);
    QCOMPARE(second.cell, std::string("cell"));
    QCOMPARE(session.step(GateCommand::step_line).line, 3u);
  }

  void the_first_op_of_a_cell_stops_where_that_is_wanted() {
    Session* self = nullptr;
    Session session([&self] {
      for (const char* cell : {"a", "b"}) {
        self->recorder.begin_cell(cell);
        multiply(scalar(1), scalar(2));
        multiply(scalar(3), scalar(4));
        self->recorder.end_cell();
      }
      multiply(scalar(5), scalar(6));
    });
    self = &session;
    session.gate().set_break_at_cell_start(true);
    session.start();
    QCOMPARE(session.next_stop().number, 1u);
    QCOMPARE(session.gate().status().reason, std::string("cell start"));
    QCOMPARE(session.recorder.running_cell(), std::string("a"));
    QCOMPARE(session.step(GateCommand::run).number, 3u);
    QCOMPARE(session.recorder.running_cell(), std::string("b"));
    session.gate().command(GateCommand::run);
    QVERIFY(wait_for([&] { return session.finished.load(); }));
    QCOMPARE(session.count(), 5u);
    session.recorder.begin_cell("without ops");
    session.recorder.end_cell();
    QVERIFY(session.gate().status().state == GateState::open);
  }

  void an_interrupt_at_the_gate_abandons_the_op() {
    set_host_hooks({.release =
                        [] {
                          ++locks_released;
                          return static_cast<void*>(nullptr);
                        },
                    .reacquire = [](void*) { --locks_released; },
                    .interrupted = [] { return interrupt_wanted.load(); }});
    Session session([] { multiply(scalar(1), scalar(2)); });
    session.gate().command(GateCommand::pause);
    session.start();
    QCOMPARE(session.next_stop().number, 1u);
    QCOMPARE(locks_released.load(), 1);  // others of the host go on meanwhile
    interrupt_wanted = true;
    QVERIFY(wait_for([&] { return session.finished.load(); }));
    QVERIFY(session.interrupted);
    QCOMPARE(locks_released.load(), 0);
    QVERIFY(session.at(1).state == RecordState::failed);
    QCOMPARE(session.at(1).error, std::string("interrupted"));
    QVERIFY(session.gate().status().state == GateState::open);
  }

  void an_interrupt_at_a_vjp_leaves_the_playback() {
    set_host_hooks(
        {.release = nullptr, .reacquire = nullptr, .interrupted = [] { return interrupt_wanted.load(); }});
    Session session([] { program_with_gradients(); });
    session.gate().command(GateCommand::step_op);
    session.start();
    Record stop = session.next_stop();
    while (stop.kind != RecordKind::vjp) stop = session.step();
    interrupt_wanted = true;
    QVERIFY(wait_for([&] { return session.finished.load(); }));
    const auto number = static_cast<std::uint32_t>(stop.number);
    QCOMPARE(session.at(number).error, std::string("interrupted"));
    const Record playback = session.at(static_cast<std::uint32_t>(stop.parent));
    QVERIFY(playback.state == RecordState::failed);
    interrupt_wanted = false;
    set_host_hooks({});
    std::thread([] { multiply(scalar(1), scalar(1)); }).join();
    QCOMPARE(session.at(session.count()).depth, 0u);
  }

  void the_end_of_the_process_interrupts_what_waits_and_nothing_stops_any_more() {
    Session session([] { multiply(scalar(1), scalar(2)); });
    session.gate().command(GateCommand::pause);
    session.start();
    QCOMPARE(session.next_stop().number, 1u);
    session.gate().command(GateCommand::end);
    QVERIFY(wait_for([&] { return session.finished.load(); }));
    QVERIFY(session.interrupted);
    QCOMPARE(session.at(1).error, std::string("interrupted"));
    session.gate().command(GateCommand::pause);  // comes too late
    std::thread([] { add(scalar(1), scalar(2)); }).join();
    QVERIFY(session.at(2).state == RecordState::done);
    QVERIFY(!session.gate().stop({2, 1, 0}, {{1}, "breakpoint 1"}));
  }

  /// The main thread waits for its signal; no command and no lost client makes it go on meanwhile.
  void at_the_end_of_the_process_the_main_thread_is_interrupted_by_its_signal_alone() {
    set_host_hooks(
        {.release = nullptr, .reacquire = nullptr, .interrupted = [] { return interrupt_wanted.load(); }});
    Gate gate;
    std::atomic<bool> stayed{false};
    std::thread client([&] {
      if (wait_for([&] { return gate.status().state == GateState::stopped; })) {
        gate.command(GateCommand::end);
        gate.command(GateCommand::run);
        gate.set_attended(false);
        stayed = gate.status().state == GateState::stopped;
      }
      interrupt_wanted = true;
    });
    QVERIFY_EXCEPTION_THROWN(gate.stop({7, 1, 0}, {{1}, "breakpoint 1"}), Interrupted);
    client.join();
    QVERIFY(stayed);
    QVERIFY(gate.status().state == GateState::open);
  }

  void other_threads_stop_too_and_are_let_go_one_by_one() {
    Session session([] { multiply(scalar(1), scalar(2)); });
    session.gate().command(GateCommand::pause);
    session.start();
    QCOMPARE(session.next_stop().number, 1u);
    std::atomic<bool> other_finished{false};
    std::thread other([&] {
      add(scalar(1), scalar(2));
      other_finished = true;
    });
    QVERIFY(wait_for([&] { return session.count() == 2; }));
    QCOMPARE(session.gate().status().stopped_before, 1u);
    session.gate().command(GateCommand::step_op);
    QVERIFY(wait_for([&] { return session.finished && session.gate().status().stopped_before == 2; }));
    QVERIFY(!other_finished);
    session.gate().command(GateCommand::run);
    other.join();
    QVERIFY(other_finished);
  }

  void the_stop_that_is_shown_stays_when_a_thread_with_an_older_record_comes() {
    Gate gate;
    const auto wait_at = [&](std::uint32_t number) {
      return std::thread([&gate, number] {
        if (number == 7)
          gate.stop({number, 1, 0}, {{1}, "breakpoint 1"});
        else
          gate.pass({number, 1, 0});
      });
    };
    std::thread first = wait_at(7);
    QVERIFY(wait_for([&] { return gate.status().state == GateState::stopped; }));
    std::thread second = wait_at(3);
    // Whatever the order in which the two get to run, the breakpoint's stop is the one that is shown.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    QCOMPARE(gate.status().stopped_before, 7u);
    QCOMPARE(gate.status().reason, std::string("breakpoint 1"));
    gate.command(GateCommand::step_op);
    first.join();
    QVERIFY(wait_for([&] { return gate.status().stopped_before == 3; }));
    QVERIFY(gate.status().reason != "breakpoint 1");
    gate.command(GateCommand::run);
    second.join();
  }

  void threads_that_stop_at_one_record_are_let_go_one_by_one() {
    Gate gate;
    std::atomic<int> told{0}, gone{0};
    gate.set_listener([&] { ++told; });
    std::vector<std::thread> threads;
    for (const std::uint64_t breakpoint : {1, 2}) {
      threads.emplace_back([&, breakpoint] {
        gate.stop({5, 1, 0}, {{breakpoint}, "write"});
        ++gone;
      });
      QVERIFY(wait_for([&] { return told == static_cast<int>(breakpoint); }));  // it waits
    }
    QCOMPARE(gate.status().breakpoints, std::vector<std::uint64_t>{1});
    gate.command(GateCommand::step_op);
    const bool first_went = wait_for([&] { return gone == 1; });
    const GateStatus status = gate.status();
    gate.set_attended(false);
    for (std::thread& thread : threads) thread.join();
    QVERIFY(first_went);
    QVERIFY(status.state == GateState::stopped);
    QCOMPARE(status.breakpoints, std::vector<std::uint64_t>{2});
    QCOMPARE(gone.load(), 2);
  }

  void without_anybody_to_command_it_the_gate_opens_and_stays_open() {
    Session session([] { multiply(scalar(1), scalar(2)); });
    session.gate().command(GateCommand::pause);
    session.start();
    QCOMPARE(session.next_stop().number, 1u);
    session.gate().set_attended(false);
    QVERIFY(wait_for([&] { return session.finished.load(); }));
    session.gate().command(GateCommand::pause);
    QVERIFY(session.gate().status().state == GateState::open);
    multiply(scalar(1), scalar(2));
  }

  void time_at_the_gate_is_no_part_of_a_duration() {
    Session session([] { program_with_gradients(); });
    session.gate().command(GateCommand::step_op);
    session.start();
    Record stop = session.next_stop();
    std::int64_t waited = 0;
    while (!stop.op.empty()) {
      const std::int64_t before = session.recorder.now_ns();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      waited += session.recorder.now_ns() - before;
      stop = session.step();
    }
    session.join();
    std::int64_t sum_of_top = 0;
    std::int64_t last_end = 0;
    for (std::uint32_t i = 1; i <= session.count(); ++i) {
      const Record record = session.at(i);
      if (record.parent == 0) sum_of_top += record.duration_ns;
      last_end = std::max(last_end, record.start_ns + record.duration_ns);
      QVERIFY(record.duration_ns >= 0);
    }
    // What the records say they took and what was waited do not overlap.
    QVERIFY(sum_of_top + waited <= session.recorder.now_ns());
    QVERIFY(last_end <= session.recorder.now_ns());
  }
};

TAPEDECK_TEST(TestGate)
#include "tst_gate.moc"
