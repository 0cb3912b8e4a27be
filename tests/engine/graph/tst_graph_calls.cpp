// Records of calls of graph functions: what they are around, steps over, into and out of them, traces,
// headings, and eager runs beside graphs.
#include <QtTest>

#include "engine/debug/group_index.h"
#include "engine/graph/control.h"
#include "engine/graph/passes/passes.h"
#include "engine/graph/run.h"
#include "engine/graph/run_log.h"
#include "engine/ops/core/ops.h"
#include "engine/record/breakpoints/host_program.h"
#include "engine/record/trace/source_location.h"
#include "engine/tensor/error.h"
#include "tests/engine/debug/compared_runs.h"
#include "tests/engine/ops/op_call.h"
#include "tests/engine/record/gated_program.h"
#include "tests/engine/record/saved_trace.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::graph;
using compared::at_line;
using protocol::Record;
using protocol::RecordKind;

namespace {

using Inputs = std::span<const Tensor>;
const TensorSpec number{DType::float64, {}};

Tensor scalar_of(double value) {
  return Tensor::scalar(value, DType::float64);
}

std::shared_ptr<const Executable> function_of(const std::string& name,
                                              const std::function<Tensors(Inputs)>& function) {
  return std::make_shared<const Executable>(
      run_passes(trace(name, std::array{number}, function)).back().passed.graph);
}

/// In line 2 x², in lines 3 to 6 its tanh or its exponential, in lines 7 and 8 that doubled until it
/// reaches 3.
Tensors branch_and_loop(Inputs x) {
  at_line(2);
  const Tensor square = ops::multiply(x[0], x[0]);
  at_line(3);
  const Tensor side = branch(
      testing::called("greater", {square, scalar_of(1)}),
      [&] {
        at_line(4);
        return Tensors{ops::tanh(square)};
      },
      [&] {
        at_line(6);
        Tensors other{ops::exp(square)};
        at_line(3);
        return other;
      })[0];
  at_line(7);
  return loop(
      std::array{side},
      [](Inputs v) {
        return testing::called("less", {v[0], scalar_of(3)});
      },
      [](Inputs v) {
        at_line(8);
        Tensors next{ops::add(v[0], v[0])};
        at_line(7);
        return next;
      });
}

Tensors call(const std::shared_ptr<const Executable>& function, double x) {
  at_line(20);
  return function->call(Tensors{scalar_of(x)});
}

/// A line a record, indented as deep as it is: "  if line 3: true"; backward ones with "◀" behind.
std::string tree(const Recording& recording, const protocol::Record& record) {
  (void)recording;
  return std::string(2 * std::size_t{record.depth}, ' ') + record.op + (record.backward ? " ◀" : "");
}
std::string tree(const Recording& recording) {
  std::string text;
  for (std::uint32_t number = 1; number <= recording.count(); ++number)
    text += tree(recording, recording.at(number)) + "\n";
  return text;
}

const std::string called_with_3 =
    "f(x0: float64 ())\n"
    "  multiply\n"
    "  greater\n"
    "  if line 3: true\n"
    "    tanh\n"
    "  loop line 7\n"
    "    less\n"
    "    iteration 1\n"
    "      add\n"
    "    less\n"
    "    iteration 2\n"
    "      add\n"
    "    less\n";

/// In line 12 tanh(exp(x)).
std::shared_ptr<const Executable> squashed() {
  return function_of("g", [](Inputs x) {
    at_line(12);
    return Tensors{ops::tanh(ops::exp(x[0]))};
  });
}

/// g in line 2, and in line 3 the double of that.
std::shared_ptr<const Executable> caller_of_g() {
  const auto g = squashed();
  return function_of("f", [g](Inputs x) {
    at_line(2);
    const Tensor y = g->call(x)[0];
    at_line(3);
    return Tensors{ops::add(y, y)};
  });
}

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

/// What a function of the test holds.
std::vector<NamedValue> names_held;

void name_here(const std::string& name, const Tensor& tensor) {
  NamedValue value;
  value.name = name;
  value.kind = NamedValue::Kind::tensor;
  value.symbolic = true;
  value.tensor = tensor.id();
  names_held.push_back(value);
}

Names names_in_test() {
  auto names = std::make_shared<NamesFrame>();
  names->values = names_held;
  return names;
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

class TestGraphCalls : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { set_capture_location(&compared::capture_compared_line); }
  void cleanupTestCase() { set_capture_location(nullptr); }

  void a_call_is_the_parent_of_what_it_runs() {
    const auto f = function_of("f", branch_and_loop);
    Recording recording;
    const Tensors results = call(f, 3);
    QCOMPARE(tree(recording), called_with_3);
    const Record record = recording.at(1);
    QCOMPARE(record.kind, RecordKind::call);
    QCOMPARE(record.line, 20u);
    QCOMPARE(record.inputs.size(), std::size_t{1});
    QCOMPARE(record.outputs.at(0).id, results[0].id());
    QCOMPARE(recording.at(5).parent, std::uint64_t{4});
    QCOMPARE(recording.at(5).line, 4u);
    QVERIFY(!record.custom_gradient);
  }

  void the_side_that_ran_names_the_branch() {
    const auto f = function_of("f", branch_and_loop);
    Recording recording;
    call(f, 0.5);
    QCOMPARE(recording.at(4).op, std::string("if line 3: false"));
    QCOMPARE(recording.at(5).op, std::string("exp"));
  }

  void nothing_is_recorded_without_an_observer() {
    const auto f = function_of("f", branch_and_loop);
    Recording recording;
    recording.recorder.set_recording(false);
    call(f, 3);
    QCOMPARE(recording.count(), 0u);
  }

  void a_function_that_a_function_calls_is_a_call_inside() {
    const auto f = caller_of_g();
    Recording recording;
    call(f, 0.5);
    QCOMPARE(tree(recording), std::string("f(x0: float64 ())\n"
                                          "  g(x0: float64 ())\n"
                                          "    exp\n"
                                          "    tanh\n"
                                          "  add\n"));
    QCOMPARE(recording.at(2).line, 2u);
    QCOMPARE(recording.at(3).line, 12u);
  }

  void a_function_that_is_called_twice_is_two_calls() {
    const auto g = function_of("g", [](Inputs x) { return Tensors{ops::exp(x[0])}; });
    const auto f = function_of("f", [g](Inputs x) { return Tensors{g->call(g->call(x))[0]}; });
    Recording recording;
    call(f, 0.5);
    QCOMPARE(tree(recording), std::string("f(x0: float64 ())\n"
                                          "  g(x0: float64 ())\n"
                                          "    exp\n"
                                          "  g(x0: float64 ())\n"
                                          "    exp\n"));
  }

  void a_branch_inside_an_inner_call_is_inside_it() {
    const auto g = function_of("g", branch_and_loop);
    const auto f = function_of("f", [g](Inputs x) { return Tensors{ops::negative(g->call(x)[0])}; });
    Recording recording;
    call(f, 3);
    std::string expected = "f(x0: float64 ())\n";
    std::istringstream lines("g" + called_with_3.substr(1));
    for (std::string line; std::getline(lines, line);) expected += "  " + line + "\n";
    QVERIFY2(tree(recording) == expected + "  negative\n", tree(recording).c_str());
  }

  void gradients_that_the_trace_made_are_backward_under_their_ops_names() {
    const auto f = function_of("f", [](Inputs x) {
      Tape tape;
      tape.start();
      tape.watch(x[0]);
      at_line(2);
      const Tensor y = ops::tanh(x[0]);
      at_line(3);
      return Tensors{gradient(tape, y, x[0])};
    });
    Recording recording;
    call(f, 0.5);
    std::uint64_t forward = 0, vjps = 0;
    for (std::uint32_t number = 1; number <= recording.count(); ++number) {
      const Record record = recording.at(number);
      if (record.kind == RecordKind::op && record.op == "tanh") forward = number;
      const bool is_forward = number == forward || record.op.starts_with("f(");
      QVERIFY2(record.backward != is_forward, tree(recording).c_str());
      if (record.backward) QCOMPARE(record.line, 3u);
      if (record.kind != RecordKind::vjp) continue;
      ++vjps;
      QCOMPARE(record.op, std::string("tanh"));
      QCOMPARE(record.forward, forward);
      // One cotangent, and the gradient that f returns.
      QCOMPARE(record.inputs.size(), std::size_t{1});
      QCOMPARE(record.outputs.at(0).id, recording.at(1).outputs.at(0).id);
    }
    QVERIFY2(forward != 0 && vjps == 1, tree(recording).c_str());
  }

  void an_inner_call_has_its_arguments_and_results() {
    const auto f = caller_of_g();
    Recording recording;
    call(f, 0.5);
    QCOMPARE(recording.at(2).op, std::string("g(x0: float64 ())"));
    QCOMPARE(recording.at(2).inputs.at(0).id, recording.at(1).inputs.at(0).id);
    QCOMPARE(recording.at(2).outputs.at(0).id, recording.at(4).outputs.at(0).id);  // tanh's
  }

  // ---- names

  void names_have_the_values_of_the_run_at_each_record() {
    set_capture_names(&names_in_test);
    const auto f = function_of("f", [](Inputs x) {
      name_here("x", x[0]);
      const Tensor y = ops::multiply(x[0], x[0]);
      name_here("y", y);
      const Tensor unread = ops::exp(y);
      name_here("unread", unread);
      return Tensors{ops::tanh(y)};
    });
    set_capture_names(nullptr);
    names_held.clear();
    Recording recording;
    call(f, 3);
    QCOMPARE(tree(recording), std::string("f(x0: float64 ())\n  multiply\n  tanh\n"));
    const auto at = [&](std::uint64_t number) {
      std::map<std::string, std::uint64_t> values;
      const auto names = names_at(number, 0);
      for (const NamedValue& value : names ? (*names)->values : std::vector<NamedValue>())
        values[value.name] = value.tensor;
      return values;
    };
    const std::uint64_t x = recording.at(1).inputs.at(0).id, y = recording.at(2).outputs.at(0).id;
    QCOMPARE(at(1), (std::map<std::string, std::uint64_t>{}));  // the call itself is no node
    QCOMPARE(at(2), (std::map<std::string, std::uint64_t>{{"x", x}}));
    QCOMPARE(at(3), (std::map<std::string, std::uint64_t>{{"x", x}, {"y", y}, {"unread", 0}}));
    QVERIFY(!names_at(3, 0, true));  // it has ended
    QVERIFY(!names_at(4, 0));
  }

  void names_of_a_function_that_is_called_are_those_of_its_own_trace() {
    set_capture_names(&names_in_test);
    const auto g = function_of("g", [](Inputs x) {
      name_here("inner", x[0]);
      return Tensors{ops::exp(x[0])};
    });
    names_held.clear();
    const auto f = function_of("f", [g](Inputs x) {
      name_here("outer", x[0]);
      const Tensor y = ops::square(x[0]);
      return Tensors{ops::tanh(g->call(Tensors{y})[0])};
    });
    set_capture_names(nullptr);
    names_held.clear();
    Recording recording;
    call(f, 3);
    QCOMPARE(recording.at(4).op, std::string("exp"));
    const auto names = names_at(4, 0);
    QVERIFY(names && (*names)->around);
    QCOMPARE((*names)->values.at(0).name, std::string("inner"));
    QCOMPARE((*names)->values.at(0).tensor, recording.at(2).outputs.at(0).id);
    QCOMPARE((*names)->around->values.at(0).name, std::string("outer"));
    QCOMPARE((*names)->around->values.at(0).tensor, recording.at(1).inputs.at(0).id);
  }

  void a_failure_fails_what_is_around_it() {
    const auto f = function_of("f", [](Inputs x) {
      const Tensor other = branch(
          testing::called("greater", {x[0], scalar_of(1)}),
          [&] {
            return Tensors{testing::called("check_numerics", {x[0]}, {{"message", std::string("here")}})};
          },
          [&] { return Tensors{x[0]}; })[0];
      return Tensors{other};
    });
    Recording recording;
    bool failed = false;
    try {
      call(f, std::numeric_limits<double>::infinity());
    } catch (const Error&) {
      failed = true;
    }
    QVERIFY(failed);
    QCOMPARE(recording.at(1).state, protocol::RecordState::failed);
    QVERIFY(!recording.at(1).error.empty());
    at_line(21);
    ops::exp(scalar_of(1));  // outside of it again
    QCOMPARE(recording.at(recording.count()).depth, 0u);
  }

  // ---- steps

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

  // ---- elsewhere

  void a_trace_file_has_the_calls() {
    const auto f = function_of("f", branch_and_loop);
    traced::Saved saved;
    call(f, 3);
    saved.save();
    const std::unique_ptr<Recorder> opened = saved.open();
    for (std::uint32_t number = 1; number <= saved.count(); ++number) {
      const Record before = saved.at(number);
      const Record after = debug::describe(*opened, number, true).value();
      QCOMPARE(after.kind, before.kind);
      QCOMPARE(after.op, before.op);
      QCOMPARE(after.parent, before.parent);
    }
  }

  void headings_know_calls_and_their_parts() {
    const auto f = function_of("f", branch_and_loop);
    Recording recording;
    ops::exp(scalar_of(1));
    call(f, 3);
    ops::exp(scalar_of(1));
    debug::GroupIndex index(recording.recorder);
    const protocol::RecordGroups groups = index.read({});
    std::string text;
    for (const protocol::CallGroup& group : groups.calls)
      text += std::to_string(group.record) + " in " + std::to_string(group.around) + ": " + group.name + "\n";
    QCOMPARE(text, std::string("2 in 0: f(x0: float64 ())\n"
                               "5 in 2: if line 3: true\n"
                               "7 in 2: loop line 7\n"
                               "9 in 7: iteration 1\n"
                               "12 in 7: iteration 2\n"));
    std::vector<std::uint64_t> calls(recording.count() + 1);
    for (std::size_t i = 0; i < groups.scope_begins.size(); ++i)
      std::fill(calls.begin() + static_cast<std::ptrdiff_t>(groups.scope_begins[i]), calls.end(),
                groups.scope_calls.at(i));
    QCOMPARE(calls, (std::vector<std::uint64_t>{0, 0, 2, 2, 2, 5, 5, 7, 7, 9, 9, 7, 12, 12, 7, 0}));
  }

  /// The newest first.
  void what_if_knows_the_decisions_of_a_graph() {
    const auto f = function_of("f", branch_and_loop);
    Recording recording;
    call(f, 3);
    std::string read;
    for (const ExternalRead& each : recording.recorder.data_flow().external_reads())
      read += "line " + std::to_string(location_of(each.location).line) + ": " +
              std::to_string(static_cast<int>(each.number.value_or(-1))) + "\n";
    QVERIFY2(read == "line 7: 0\nline 7: 1\nline 7: 1\nline 3: 1\n", read.c_str());
  }

  void an_eager_run_is_compared_with_a_graph_op_by_op() {
    const auto f = caller_of_g();
    compared::Runs runs;
    const auto graph = runs.run([&] { call(f, 0.5); });
    const auto eager = runs.run([&] {
      at_line(12);
      const Tensor y = ops::tanh(ops::exp(scalar_of(0.5)));
      at_line(3);
      ops::add(y, y);
    });
    const protocol::Compared same = runs.compare(eager, graph);
    QCOMPARE(same.sentence, std::string("All 3 ops are the same on both sides."));
    QVERIFY(!runs.first(same).row);
  }

  void gradients_of_a_trace_are_paired_with_an_eager_run_s() {
    const auto slope = [](const Tensor& x) {
      Tape tape;
      tape.start();
      tape.watch(x);
      at_line(2);
      const Tensor y = ops::tanh(x);
      at_line(3);
      return gradient(tape, y, x);
    };
    const auto f = function_of("f", [&](Inputs x) { return Tensors{slope(x[0])}; });
    compared::Runs runs;
    const auto graph = runs.run([&] { call(f, 0.5); });
    const auto eager = runs.run([&] { slope(scalar_of(0.5)); });
    const protocol::Compared found = runs.compare(eager, graph);
    QCOMPARE(found.other_shapes + found.other_attributes, std::uint64_t{0});
    QCOMPARE(found.only_right, std::uint64_t{0});
    QVERIFY2(found.same >= 4, found.sentence.c_str());  // tanh, the gradient, its VJP, and what that runs
    if (found.only_left)
      QVERIFY2(found.sentence.find(
                   "The right ran graph functions: ops that their graphs folded, merged or removed "
                   "are on the left only") != std::string::npos,
               found.sentence.c_str());
  }

  void what_a_graph_merged_is_on_the_eager_side_alone() {
    const auto twice = [](const Tensor& x) { return ops::add(ops::exp(x), ops::exp(x)); };
    const auto f = function_of("f", [&](Inputs x) { return Tensors{twice(x[0])}; });
    compared::Runs runs;
    const auto graph = runs.run([&] { call(f, 0.5); });
    const auto eager = runs.run([&] { twice(scalar_of(0.5)); });
    QCOMPARE(runs.compare(eager, graph).sentence,
             std::string(
                 "2 ops alike, 1 op on the left only. The right ran graph functions: ops that their graphs "
                 "folded, merged or removed are on the left only, and what decides their branches and "
                 "loops may be on the right only."));
  }
};

TAPEDECK_TEST(TestGraphCalls)
#include "tst_graph_calls.moc"
