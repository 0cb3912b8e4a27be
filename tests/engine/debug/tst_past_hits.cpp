// Where breakpoints would have stopped: the same records as those at which a running program stops, and what
// is said where nothing held.
#include <QtTest>
#include <algorithm>

#include "engine/debug/find_records.h"
#include "engine/debug/past_hits.h"
#include "engine/debug/tile.h"
#include "engine/graph/control.h"
#include "engine/graph/passes/passes.h"
#include "engine/graph/run.h"
#include "engine/ops/core/ops.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/source_location.h"
#include "engine/tape/variable.h"
#include "tests/engine/ops/op_call.h"
#include "tests/engine/record/recording.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::protocol;
using test_ops::add;
using test_ops::multiply;
using test_ops::scalar;
using test_ops::vector_of;

namespace {

using Hits = std::vector<std::uint64_t>;

thread_local std::uint32_t line_of_hits = 0;
std::uint32_t capture_hits() {
  static std::uint64_t place = 0;  // no call stands where another does
  set_last_place(++place);
  return line_of_hits;
}
void at_line(std::uint32_t line) {
  line_of_hits = line == 0 ? 0 : intern_location({"cell-a", "", line});
}

Breakpoint of_kind(BreakpointKind kind, const std::string& target = {}, const std::string& condition = {}) {
  Breakpoint breakpoint;
  breakpoint.id = 4;
  breakpoint.kind = kind;
  breakpoint.target = target;
  breakpoint.condition = condition;
  return breakpoint;
}

struct Past : Recording {
  using Recording::Recording;

  FoundHit one(FindHit request) {
    const debug::FindTensor find = [this](std::uint64_t id) { return find_value(recorder, id).value; };
    FoundHit all;
    while (true) {
      FoundHit answer = debug::find_hit(recorder, request, nullptr, find);
      answer.looked_at += std::exchange(all.looked_at, 0);
      answer.lost += all.lost;
      answer.undecided += all.undecided;
      all = answer;  // with what its last answer says of lines
      if (answer.record || answer.next == 0) return all;
      if (request.forward ? answer.next <= request.from : answer.next >= request.from)
        throw std::runtime_error("the search does not go on");
      request.from = answer.next;
    }
  }
  FoundHit back(const Breakpoint& breakpoint, std::uint64_t from) {
    FindHit request;
    request.breakpoints = {breakpoint};
    request.from = from;
    return one(request);
  }
  /// All hits, from the newest record to the oldest.
  Hits all(const Breakpoint& breakpoint) {
    Hits hits;
    for (std::uint64_t from = count(); from > 0;) {
      const FoundHit hit = back(breakpoint, from);
      if (!hit.record) break;
      hits.push_back(*hit.record);
      from = *hit.record - 1;
    }
    return hits;
  }
};

}  // namespace

class TestPastHits : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { set_capture_location(capture_hits); }
  void cleanupTestCase() { set_capture_location(nullptr); }
  void cleanup() { at_line(0); }

  void conditions_hold_where_the_value_did() {
    Past past;
    Tensor x = scalar(1);
    for (int i = 0; i < 10; ++i) x = add(x, scalar(1));  // 2 … 11
    const FoundHit hit = past.back(of_kind(BreakpointKind::condition, {}, "max(out) < 6.5"), past.count());
    QCOMPARE(hit.record, std::uint64_t{5});
    QCOMPARE(hit.breakpoints, Hits{4});
    QCOMPARE(hit.reason, std::string("max(out) < 6.5, it is 6"));
    QCOMPARE(hit.value, 6.0);
    QCOMPARE(hit.looked_at, 6u);
    QCOMPARE(past.back(of_kind(BreakpointKind::condition, {}, "max(out) < 6.5"), 4).record, std::uint64_t{4});
    // Forward: the first time.
    FindHit first;
    first.breakpoints = {of_kind(BreakpointKind::condition, {}, "max(out) > 6.5")};
    first.forward = true;
    QCOMPARE(past.one(first).record, std::uint64_t{6});
    const FoundHit none = past.back(of_kind(BreakpointKind::condition, {}, "max(out) > 100"), past.count());
    QVERIFY(!none.record);
    QCOMPARE(none.looked_at, 10u);
    QCOMPARE(none.next, 0u);
  }

  void a_search_goes_on_over_more_records_than_an_answer_has() {
    Past past;
    const Tensor x = scalar(1);
    multiply(x, x);
    for (int i = 0; i < 20'000; ++i) add(x, x);
    const FoundHit hit = past.back(of_kind(BreakpointKind::op, "test_multiply"), past.count());
    QCOMPARE(hit.record, std::uint64_t{1});
    QCOMPARE(hit.looked_at, past.count());
    QCOMPARE(hit.reason, std::string("op test_multiply"));
  }

  void ops_lines_and_playbacks_are_those_of_a_running_program_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("target");
    QTest::addColumn<int>("line");
    QTest::addColumn<QString>("condition");
    QTest::newRow("op") << static_cast<int>(BreakpointKind::op) << "test_multiply" << 0 << "";
    QTest::newRow("op by pattern") << static_cast<int>(BreakpointKind::op) << "*a*" << 0 << "";
    QTest::newRow("line") << static_cast<int>(BreakpointKind::line) << "" << 2 << "";
    QTest::newRow("line of the gradient") << static_cast<int>(BreakpointKind::line) << "" << 4 << "";
    // y = (x + x) · x: 3, then 4.5. Before an op its inputs are known, after it what it made.
    const int of_line = static_cast<int>(BreakpointKind::line);
    QTest::newRow("line, results of both ops") << of_line << "" << 2 << "max(out) > 1";
    QTest::newRow("line, result of the last op") << of_line << "" << 2 << "max(out) > 4";
    QTest::newRow("line, inputs of both ops") << of_line << "" << 2 << "max(in0) > 1";
    QTest::newRow("line, inputs of the last op") << of_line << "" << 2 << "max(in0) > 2";
    QTest::newRow("line, its ops") << of_line << "" << 2 << "op:test_multiply or op:add";
    QTest::newRow("line, ops by result") << of_line << "" << 2 << "op:test_multiply max(out) > 1";
    QTest::newRow("playback") << static_cast<int>(BreakpointKind::playback) << "" << 0 << "";
    QTest::newRow("sum of gradients") << static_cast<int>(BreakpointKind::op) << "add" << 0 << "";
    QTest::newRow("VJP") << static_cast<int>(BreakpointKind::vjp) << "test_multiply" << 0 << "";
  }
  void ops_lines_and_playbacks_are_those_of_a_running_program() {
    QFETCH(int, kind);
    QFETCH(QString, target);
    QFETCH(int, line);
    QFETCH(QString, condition);
    Breakpoint breakpoint =
        of_kind(static_cast<BreakpointKind>(kind), target.toStdString(), condition.toStdString());
    breakpoint.cell = "cell-a";
    breakpoint.line = static_cast<std::uint32_t>(line);
    const auto program = [] {
      for (int step = 0; step < 3; ++step) {
        Tensor x = scalar(1.5);
        Tape tape;
        tape.start();
        tape.watch(x);
        at_line(2);
        Tensor y = multiply(add(x, x), x);
        at_line(3);
        y = custom_square(y);
        at_line(4);
        gradient(tape, y, x);
      }
    };
    std::uint64_t live_hits = 0;
    {
      Recording recording;
      Breakpoint counting = breakpoint;  // one that stops would wait here
      counting.action = BreakpointAction::log;
      counting.text = "here";
      recording.recorder.breakpoints().set({{counting}, {}});
      program();
      live_hits = recording.recorder.breakpoints().hits().at(0).hits;
    }
    Past past;
    program();
    const Hits hits = past.all(breakpoint);
    QVERIFY(live_hits > 0);
    QCOMPARE(hits.size(), live_hits);
    QVERIFY(std::ranges::is_sorted(hits, std::ranges::greater()));
  }

  void a_line_is_each_op_whose_result_holds_or_the_first_whose_inputs_do() {
    Past past;
    for (int step = 0; step < 2; ++step) {
      at_line(1);
      const Tensor x = add(scalar(1), scalar(1));
      at_line(2);
      multiply(add(add(x, x), x), x);
    }
    Breakpoint breakpoint = of_kind(BreakpointKind::line, {}, "op:add max(out) > 4.5");
    breakpoint.cell = "cell-a";
    breakpoint.line = 2;
    // Of each step: 1 add on line 1, then add (4), add (6), multiply on line 2.
    QCOMPARE(past.all(breakpoint), (Hits{7, 3}));
    breakpoint.condition = "max(out) > 3.5";
    QCOMPARE(past.all(breakpoint), (Hits{8, 7, 6, 4, 3, 2}));
    // From the middle of a pass on.
    QCOMPARE(past.back(breakpoint, 7).record, std::uint64_t{7});
    // What is known before an op is a hit once: add (record 6), though the multiply has it, too.
    breakpoint.condition = "max(in0) > 1.5";
    QCOMPARE(past.all(breakpoint), (Hits{6, 2}));
    breakpoint.condition = "max(in0) > 5";
    QCOMPARE(past.all(breakpoint), (Hits{8, 4}));
  }

  void writes_of_a_variable_with_a_condition_on_its_value() {
    Past past;
    Variable w(vector_of({1, 2}), "W");
    for (int i = 0; i < 6; ++i)
      w.assign(add(w.read(), vector_of({1, 1})));  // [2 3] … [7 8], after record i + 1
    QCOMPARE(past.back(of_kind(BreakpointKind::write, "W", "max(out) < 5.5"), past.count()).record,
             std::uint64_t{3});
    QCOMPARE(past.back(of_kind(BreakpointKind::write, "other"), past.count()).record, std::nullopt);
    FindHit element;
    element.breakpoints = {of_kind(BreakpointKind::write, "W")};
    element.from = past.count();
    element.element = ElementTest{{1}, "==", 5.0000001};
    const FoundHit five = past.one(element);
    QCOMPARE(five.record, std::uint64_t{3});
    QCOMPARE(five.value, 5.0);
    element.element = ElementTest{{1}, "<", 4.5};
    QCOMPARE(past.one(element).record, std::uint64_t{2});
    element.element = ElementTest{{7}, "<", 4.5};
    QCOMPARE(past.one(element).record, std::nullopt);
    element.element->comparison = "about";
    QVERIFY_THROWS_EXCEPTION(debug::BadRequest, past.one(element));
  }

  void a_cell_begins_with_its_first_op() {
    Past past;
    for (const char* cell : {"cell-a", "cell-b", "cell-a"}) {
      past.recorder.begin_cell(cell, 1);
      line_of_hits = intern_location({cell, "", 1});
      add(scalar(1), scalar(1));
      add(scalar(1), scalar(1));
      past.recorder.end_cell();
    }
    Breakpoint breakpoint = of_kind(BreakpointKind::cell);
    breakpoint.cell = "cell-a";
    QCOMPARE(past.all(breakpoint), (Hits{5, 1}));
  }

  void failures_are_found() {
    Past past;
    const Tensor x = scalar(1);
    add(x, x);
    try {
      test_ops::failing(x, false);
    } catch (const std::exception&) {
    }
    add(x, x);
    QCOMPARE(past.all(of_kind(BreakpointKind::exception)), Hits{2});
  }

  void what_is_off_or_logs_or_is_wrong_is_left_out() {
    Past past;
    add(scalar(1), scalar(1));
    Breakpoint off = of_kind(BreakpointKind::op, "add");
    off.enabled = false;
    QVERIFY(!past.back(off, 1).record);
    Breakpoint log = of_kind(BreakpointKind::op, "add");
    log.action = BreakpointAction::log;
    log.text = "here";
    QVERIFY(!past.back(log, 1).record);
    const FoundHit wrong = past.back(of_kind(BreakpointKind::condition, {}, "max(out"), 1);
    QVERIFY(!wrong.record);
    QCOMPARE(wrong.problems.size(), std::size_t{1});
    QVERIFY(wrong.problems[0].problem->find("parenthesis") != std::string::npos);
  }

  void python_names_and_lost_values_are_counted() {
    Past past;
    const Tensor x = scalar(1);
    for (int i = 0; i < 5; ++i) add(x, x);
    const FoundHit names = past.back(of_kind(BreakpointKind::condition, {}, "step == 3"), 5);
    QVERIFY(!names.record);
    QCOMPARE(names.undecided, 5u);
    QCOMPARE(names.lost, 0u);
    FindHit request;
    request.breakpoints = {of_kind(BreakpointKind::condition, {}, "max(out) > 1")};
    request.from = 5;
    const debug::FindTensor lost = [](std::uint64_t) -> Tensor { throw ValueError("gone", "It is gone."); };
    const FoundHit nothing = debug::find_hit(past.recorder, request, nullptr, lost);
    QVERIFY(!nothing.record);
    QCOMPARE(nothing.lost, 5u);
    QCOMPARE(nothing.undecided, 0u);
  }

  void lines_without_ops_are_named_at_the_end() {
    Past past;
    Tensor x = scalar(1);
    for (int i = 0; i < 3000; ++i) {  // over more blocks than one
      at_line(i == 0 ? 2 : 3);
      x = multiply(x, x);
    }
    std::vector<Breakpoint> lines;
    for (const std::uint32_t line : {2u, 3u, 4u, 5u}) {
      Breakpoint breakpoint = of_kind(BreakpointKind::line);
      breakpoint.id = line;
      breakpoint.cell = "cell-a";
      breakpoint.line = line;
      lines.push_back(breakpoint);
    }
    FindHit request;
    request.breakpoints = {lines[2], lines[3]};
    request.from = past.count();
    const FoundHit none = past.one(request);
    QVERIFY(!none.record);
    QCOMPARE(none.without_ops, (Hits{4, 5}));
    // Also beside one that is found, and though line 2 ran long before.
    request.breakpoints = lines;
    const FoundHit found = past.one(request);
    QVERIFY(found.record.has_value());
    QCOMPARE(found.breakpoints, Hits{3});
    QCOMPARE(found.without_ops, (Hits{4, 5}));
  }

  void a_filter_of_values_finds_what_they_were() {
    Past past;
    Tensor x = scalar(1);
    for (int i = 0; i < 10; ++i) x = add(x, scalar(1));
    const debug::FindTensor find = [&](std::uint64_t id) { return find_value(past.recorder, id).value; };
    const auto found = [&](const std::string& filter, const debug::FindTensor& values) {
      return debug::find_records(past.recorder, {filter, {}, 1, {}, {}}, nullptr, values);
    };
    QCOMPARE(found("max(abs(out)) > 6.5", find).runs, (Hits{6, 10}));
    QCOMPARE(found("not max(out) > 6.5", find).runs, (Hits{1, 5}));
    QCOMPARE(found("max(out) > 3.5 record<5", find).runs, (Hits{3, 4}));
    QCOMPARE(found("nan(out)", find).runs, Hits{});
    // Without values, and where they are lost: none, which is counted.
    QCOMPARE(found("max(abs(out)) > 6.5", {}).runs, Hits{});
    const auto gone = found("max(abs(out)) > 6.5 or record>9",
                            [](std::uint64_t) -> Tensor { throw ValueError("gone", ""); });
    QCOMPARE(gone.runs, (Hits{10, 10}));
    QCOMPARE(gone.lost, 9u);
  }

  // ---- graph functions

  /// In line 2 x², in line 3 "tanh(y) if y > 1 else exp(y)", in line 4 that doubled until it reaches 3.
  static std::shared_ptr<const graph::Executable> traced_function() {
    const auto code = [](std::span<const Tensor> x) {
      at_line(2);
      const Tensor y = multiply(x[0], x[0]);
      at_line(3);
      const Tensor side = graph::branch(
          testing::called("greater", {y, scalar(1)}), [&] { return Tensors{ops::tanh(y)}; },
          [&] { return Tensors{ops::exp(y)}; })[0];
      at_line(4);
      return graph::loop(
          std::array{side},
          [](std::span<const Tensor> v) {
            return testing::called("less", {v[0], scalar(3)});
          },
          [](std::span<const Tensor> v) {
            at_line(5);
            Tensors next{add(v[0], v[0])};
            at_line(4);
            return next;
          });
    };
    const std::array specs{TensorSpec{scalar(1).dtype(), {}}};
    return std::make_shared<const graph::Executable>(
        graph::run_passes(graph::trace("f", specs, code)).back().passed.graph);
  }

  static Breakpoint of_line(std::uint32_t line) {
    Breakpoint breakpoint = of_kind(BreakpointKind::line);
    breakpoint.cell = "cell-a";
    breakpoint.line = line;
    return breakpoint;
  }

  void calls_and_their_nodes_are_hits_of_their_lines() {
    const auto f = traced_function();
    Past past;
    at_line(20);
    f->call(Tensors{scalar(3)});
    at_line(21);
    const Tensor x = scalar(2);
    add(x, x);
    Hits on[6];
    std::uint64_t pass = 0;
    for (std::uint64_t number = 1; number <= past.count(); ++number) {
      const Record record = past.at(static_cast<std::uint32_t>(number));
      if (record.kind != RecordKind::op || record.line > 5) continue;
      // The side of the branch goes on with the pass that its condition began.
      if (record.line == 3 && pass != 0) continue;
      if (record.line == 3) pass = number;
      on[record.line].insert(on[record.line].begin(), number);
    }
    QVERIFY(on[2].size() == 1 && on[3].size() == 1 && on[4].size() == 3 && on[5].size() == 2);
    for (std::uint32_t line = 2; line <= 5; ++line) QCOMPARE(past.all(of_line(line)), on[line]);
    QCOMPARE(past.all(of_line(20)), (Hits{1}));
    QCOMPARE(past.all(of_line(21)), (Hits{past.count()}));
    QCOMPARE(past.back(of_line(20), past.count()).without_ops, Hits{});
  }
};

TAPEDECK_TEST(TestPastHits)
#include "tst_past_hits.moc"
