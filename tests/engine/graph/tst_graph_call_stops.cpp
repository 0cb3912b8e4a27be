// Where a program stops at calls of graph functions: steps over, into and out of them, and breakpoints.
#include <QtTest>

#include "engine/record/breakpoints/host_program.h"
#include "tests/engine/graph/recorded_calls.h"
#include "tests/engine/record/gated_program.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace recorded_calls;

namespace {

void set_line_breakpoints(GatedProgram& program, const std::vector<std::uint32_t>& lines,
                          const std::string& condition = {}) {
  protocol::SetBreakpoints request;
  for (const std::uint32_t line : lines) {
    protocol::Breakpoint breakpoint;
    breakpoint.id = request.breakpoints.size() + 1;
    breakpoint.kind = protocol::BreakpointKind::line;
    breakpoint.cell = "train";
    breakpoint.line = line;
    breakpoint.condition = condition;
    request.breakpoints.push_back(std::move(breakpoint));
  }
  program.recorder.breakpoints().set(request);
}

/// Starts the program: "g exp ", the records before which it stops, calls without their arguments.
std::string stops_of(SteppedProgram& program) {
  program.start();
  std::string stops;
  for (Record at = program.next_stop(); !at.op.empty(); at = program.step(GateCommand::run))
    stops += at.op.substr(0, at.op.find('(')) + " ";
  return stops;
}

}  // namespace

class TestGraphCallStops : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { set_capture_location(&compared::capture_compared_line); }
  void cleanupTestCase() { set_capture_location(nullptr); }

  void a_step_goes_over_a_call_and_says_what_ran() {
    const auto f = function_of("f", branch_and_loop);
    SteppedProgram program([&] {
      call(f, 3);
      at_line(21);
      ops::exp(scalar_of(1));
    });
    program.gate().command(GateCommand::pause);
    program.start();
    QCOMPARE(program.next_stop().op, std::string("f(x0: float64 ())"));
    QCOMPARE(program.step().op, std::string("exp"));
    QCOMPARE(program.gate().status().stepped_call, std::string("f ran, 8 ops"));
    QCOMPARE(program.gate().status().reason, std::string("step"));
    QCOMPARE(tree(program), called_with_3 + "exp\n");
    program.step();
    QCOMPARE(program.gate().status().stepped_call, std::string());
  }

  void a_line_step_goes_into_a_call_and_its_ops_are_stepped_one_by_one() {
    const auto f = function_of("f", branch_and_loop);
    SteppedProgram program([&] { call(f, 3); });
    program.gate().command(GateCommand::pause);
    program.start();
    program.next_stop();
    QCOMPARE(program.step(GateCommand::step_line).op, std::string("multiply"));
    std::string stops;
    for (Record at = program.step(); !at.op.empty(); at = program.step()) stops += at.op + " ";
    QCOMPARE(stops, std::string("greater tanh less add less add less "));
  }

  void a_call_of_one_line_with_its_caller_is_stepped_into() {
    const auto f = function_of("f", [](Inputs x) {
      at_line(20);
      return Tensors{ops::exp(x[0])};
    });
    SteppedProgram program([&] { call(f, 3); });
    program.gate().command(GateCommand::pause);
    program.start();
    program.next_stop();
    QCOMPARE(program.step(GateCommand::step_line).op, std::string("exp"));
  }

  void a_step_out_leaves_the_call_from_a_loop_in_it() {
    const auto f = function_of("f", branch_and_loop);
    SteppedProgram program([&] {
      call(f, 3);
      ops::exp(scalar_of(1));
    });
    program.gate().command(GateCommand::pause);
    program.start();
    program.next_stop();
    program.step(GateCommand::step_line);
    Record at = program.step();
    while (at.op != "add") at = program.step();
    QCOMPARE(program.step(GateCommand::step_out).op, std::string("exp"));
    QCOMPARE(program.gate().status().reason, std::string("step out"));
    QCOMPARE(program.gate().status().stepped_call, std::string("f ran, 8 ops"));
  }

  void a_call_at_the_end_of_a_cell_is_still_told() {
    const auto f = function_of("f", branch_and_loop);
    SteppedProgram program([&] { call(f, 3); });
    program.gate().command(GateCommand::pause);
    program.start();
    program.next_stop();
    program.gate().command(GateCommand::step_op);
    program.join();
    program.gate().command(GateCommand::run);  // as the window does when the cell has ended
    QCOMPARE(program.gate().status().stepped_call, std::string("f ran, 8 ops"));
    program.gate().cell_started();
    QCOMPARE(program.gate().status().stepped_call, std::string());
  }

  void inner_calls_are_stops_of_their_own() {
    const auto f = caller_of_g();
    SteppedProgram program([&] { call(f, 0.5); });
    program.gate().command(GateCommand::pause);
    program.start();
    program.next_stop();
    QCOMPARE(program.step(GateCommand::step_line).op, std::string("g(x0: float64 ())"));
    QCOMPARE(program.step().op, std::string("add"));
    QCOMPARE(program.gate().status().stepped_call, std::string("g ran, 2 ops"));
  }

  // ---- breakpoints

  void a_line_that_only_calls_a_function_stops_before_the_call() {
    const auto f = caller_of_g();
    SteppedProgram program([&] { call(f, 0.5); });
    set_line_breakpoints(program, {2});
    program.start();
    const Record stop = program.next_stop();
    QCOMPARE(stop.op, std::string("g(x0: float64 ())"));
    QCOMPARE(stop.state, protocol::RecordState::pending);
    QCOMPARE(program.gate().status().reason, std::string("breakpoint 1: line 2"));
    QVERIFY(!program.gate().status().stopped_after);
    QCOMPARE(program.step().op, std::string("add"));  // over the call
    QCOMPARE(program.gate().status().stepped_call, std::string("g ran, 2 ops"));
    QCOMPARE(program.step(GateCommand::run).op, std::string());
    QCOMPARE(program.recorder.breakpoints().hits().at(0).hits, std::uint64_t{1});
  }

  void lines_of_the_called_function_stop_for_themselves() {
    const auto f = caller_of_g();
    SteppedProgram program([&] { call(f, 0.5); });
    set_line_breakpoints(program, {2, 12, 3});
    QCOMPARE(stops_of(program), std::string("g exp add "));
  }

  void a_line_with_a_call_and_ops_stops_once_in_each_pass() {
    const auto g = squashed();
    const auto f = function_of("f", [g](Inputs x) {
      at_line(7);
      return loop(
          x.first(1),
          [](Inputs v) {
            return testing::called("less", {v[0], scalar_of(3)});
          },
          [g](Inputs v) {
            at_line(8);
            const Tensor once = g->call(v)[0];
            const Tensor twice = g->call(Tensors{once})[0];
            Tensors next{ops::add(v[0], ops::multiply(twice, scalar_of(2)))};
            at_line(7);
            return next;
          });
    });
    SteppedProgram program([&] { call(f, 0.5); });  // 0.5, about 2.5, about 4.4
    set_line_breakpoints(program, {8});
    QCOMPARE(stops_of(program), std::string("g g "));
  }

  void a_line_with_a_call_that_is_all_of_a_loop_stops_in_each_iteration() {
    const auto g = squashed();
    const auto f = function_of("f", [g](Inputs x) {
      at_line(7);
      const Tensor goes_on = testing::called("less", {x[0], scalar_of(3)});
      return Tensors{loop(
          std::array{x[0], goes_on}, [](Inputs v) { return v[1]; },
          [g](Inputs v) {
            at_line(8);
            const Tensor next = ops::add(v[0], ops::multiply(g->call(v.first(1))[0], scalar_of(2)));
            return Tensors{next, testing::called("less", {next, scalar_of(3)})};
          })[0]};
    });
    SteppedProgram program([&] { call(f, 0.5); });  // 0.5, about 2.4, about 4.4
    set_line_breakpoints(program, {8});
    QCOMPARE(stops_of(program), std::string("g g "));
  }

  void a_condition_on_ops_waits_for_the_ops_of_the_line() {
    const auto g = squashed();
    const auto f = function_of("f", [g](Inputs x) {
      at_line(2);
      return Tensors{ops::add(x[0], ops::multiply(g->call(x)[0], scalar_of(2)))};
    });
    SteppedProgram program([&] { call(f, 0.5); });
    set_line_breakpoints(program, {2}, "op:add");
    QCOMPARE(stops_of(program), std::string("add "));
  }

  void a_condition_that_is_entered_before_a_call_applies_to_the_rest_of_its_line() {
    const auto g = squashed();
    const auto f = function_of("f", [g](Inputs x) {
      at_line(2);
      return Tensors{ops::add(x[0], ops::multiply(g->call(x)[0], scalar_of(2)))};
    });
    SteppedProgram program([&] { call(f, 0.5); });
    set_line_breakpoints(program, {2});
    program.start();
    QCOMPARE(program.next_stop().op, std::string("g(x0: float64 ())"));
    set_line_breakpoints(program, {2}, "op:multiply");
    QCOMPARE(program.step(GateCommand::run).op, std::string("multiply"));
    set_line_breakpoints(program, {2});
    QCOMPARE(program.step(GateCommand::run).op, std::string());
  }

  void a_call_by_a_program_without_lines_stops_once() {
    const auto f = caller_of_g();
    SteppedProgram program([&] {
      call(f, 0.5);
      ops::exp(scalar_of(1));  // on the same line
    });
    set_line_breakpoints(program, {20});
    QCOMPARE(stops_of(program), std::string("f "));
  }

  void a_call_by_a_line_that_the_host_reports_is_left_to_that_report() {
    const auto f = caller_of_g();
    SteppedProgram program([&] {
      set_lines_are_told(true);
      call(f, 0.5);
    });
    set_line_breakpoints(program, {20, 2});
    QCOMPARE(stops_of(program), std::string("g "));
  }
};

TAPEDECK_TEST(TestGraphCallStops)
#include "tst_graph_call_stops.moc"
