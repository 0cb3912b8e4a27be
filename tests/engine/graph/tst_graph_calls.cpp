// Records of calls of graph functions: what they are around, traces, headings, and eager runs beside graphs.
#include <QtTest>

#include "engine/debug/group_index.h"
#include "engine/graph/functions.h"
#include "engine/tensor/error.h"
#include "tests/engine/graph/recorded_calls.h"
#include "tests/engine/record/gated_program.h"
#include "tests/engine/record/saved_trace.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace recorded_calls;

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

  void a_row_of_the_eager_side_alone_says_what_the_graph_made_of_it() {
    const auto program = [](const Tensor& x) {
      at_line(2);
      const Tensor one = ops::exp(x);
      at_line(3);
      const Tensor other = ops::exp(x);
      at_line(4);
      (void)ops::tanh(x);
      at_line(5);
      return ops::add(one, other);
    };
    const auto traced = std::make_shared<TracedGraph>(
        trace("f", std::array{number}, [&](Inputs x) { return Tensors{program(x[0])}; }));
    const auto entry = new_function_entry("f", 0);
    entry->add(traced, {"f(x0: float64 ())", {}, 0, 0});
    const auto f = std::make_shared<const Executable>(traced->running());
    compared::Runs runs;
    const auto graph = runs.run([&] { call(f, 0.5); });
    const auto eager = runs.run([&] { program(scalar_of(0.5)); });
    const protocol::Compared found = runs.compare(eager, graph);
    std::vector<std::string> notes;
    for (std::uint64_t row = 0; row < found.rows; ++row)
      notes.push_back(runs.row(found, row).note.value_or(""));
    QCOMPARE(notes, (std::vector<std::string>{"", "merged with line 2", "removed", ""}));
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
