// The list of functions that were traced, and their graphs as rows, by the debug server.
#include <QtTest>

#include "engine/graph/control.h"
#include "engine/graph/functions.h"
#include "engine/graph/run.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/ops.h"
#include "engine/record/trace/source_location.h"
#include "engine/tape/tape.h"
#include "tests/engine/debug/served.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

using Inputs = std::span<const Tensor>;

Tensor real(double value) {
  return Tensor::scalar(value, DType::float64);
}

std::shared_ptr<graph::TracedGraph> trace_of(const std::function<Tensors(Inputs)>& function) {
  const TensorSpec number{DType::float64, {}};
  return std::make_shared<graph::TracedGraph>(graph::trace("f", std::array{number}, function));
}

/// One trace, and the function that has it.
struct Listed {
  std::shared_ptr<graph::TracedGraph> trace;
  std::shared_ptr<graph::FunctionEntry> entry = graph::new_function_entry("f", 0);

  explicit Listed(const std::function<Tensors(Inputs)>& function) : trace(trace_of(function)) {
    entry->add(trace, {"f(x: float64 ())", {{protocol::TraceCause::first, "", "first call"}}, 7, 0});
  }
};

/// A row a line: depth, name, op and inputs, attributes, result, note.
std::string text_of(const protocol::GraphRow& row) {
  std::string text(2 * row.depth, ' ');
  if (row.number) text += row.name + " ";
  text += row.op;
  for (const auto& input : row.inputs) text += " " + input.name;
  if (!row.attributes.empty()) text += " {" + row.attributes + "}";
  if (!row.result.empty()) text += " : " + row.result;
  if (!row.note.empty()) text += " [" + row.note + "]";
  return text;
}
std::string text_of(const protocol::GraphRows& rows) {
  std::string text;
  for (const auto& row : rows.rows) text += text_of(row) + "\n";
  return text;
}

protocol::GraphRows rows_of(RawClient& client, const Listed& listed, std::uint32_t stage,
                            std::uint32_t first = 0, std::uint32_t count = 1000) {
  return client.ask<protocol::GraphRows>(protocol::GetGraph{listed.trace->id, stage, first, count});
}

}  // namespace

class TestGraphFunctions : public QObject {
  Q_OBJECT

 private slots:
  void a_function_is_listed_while_it_and_its_trace_are_alive() {
    Served served;
    RawClient client = served.client();
    client.greet();
    const auto listed = [&] {
      return client.ask<protocol::GraphFunctions>(protocol::GetGraphFunctions{0, 10}).functions;
    };
    QCOMPARE(listed().size(), 0u);
    std::optional<Listed> square([](Inputs x) { return Tensors{ops::multiply(x[0], x[0])}; });
    square->trace->calls = 3;
    const auto functions = listed();
    QCOMPARE(functions.size(), 1u);
    QCOMPARE(functions[0].name, std::string("f"));
    QCOMPARE(functions[0].total, 1u);
    const protocol::FunctionTrace& trace = functions[0].traces.at(0);
    QCOMPARE(trace.signature, std::string("f(x: float64 ())"));
    QCOMPARE(trace.reasons.at(0).text, std::string("first call"));
    QCOMPARE(trace.calls, 3u);
    QCOMPARE(trace.nodes, 1u);
    QVERIFY(trace.after == 7u);
    square->trace.reset();
    QCOMPARE(listed().size(), 0u);  // without a trace
    square.reset();
    QCOMPARE(listed().size(), 0u);
    QCOMPARE(client.ask<protocol::Failure>(protocol::GetGraph{trace.id, 0, 0, 10}).code, std::string("gone"));
  }

  void functions_come_by_page_and_the_newest_traces_of_each() {
    Served served;
    RawClient client = served.client();
    client.greet();
    std::vector<Listed> many;
    for (int i = 0; i < 5; ++i) many.emplace_back([](Inputs x) { return Tensors{ops::exp(x[0])}; });
    std::vector<std::shared_ptr<graph::TracedGraph>> more;
    for (int i = 0; i < 120; ++i) {
      more.push_back(trace_of([](Inputs x) { return Tensors{ops::exp(x[0])}; }));
      many[4].entry->add(more.back(), {"f(k=" + std::to_string(i) + ")", {}, 0, 0});
    }
    const auto page = client.ask<protocol::GraphFunctions>(protocol::GetGraphFunctions{3, 10});
    QCOMPARE(page.total, 5u);
    QCOMPARE(page.functions.size(), 2u);
    QCOMPARE(page.functions[1].total, 121u);
    QCOMPARE(page.functions[1].traces.size(), 100u);
    QCOMPARE(page.functions[1].traces.back().signature, std::string("f(k=119)"));
    QVERIFY(!page.functions[1].traces.back().after);
    QCOMPARE(client.ask<protocol::Failure>(protocol::GetGraphFunctions{0, 201}).reason,
             std::string("get_graph_functions: 201 functions were asked for, the most is 200"));
  }

  void each_stage_shows_what_its_pass_changed_under_the_same_numbers() {
    Served served;
    RawClient client = served.client();
    client.greet();
    const Listed listed([](Inputs x) {
      const Tensor two = ops::exp(ops::zeros({}, DType::float64));
      const Tensor one = ops::negative(x[0]), other = ops::negative(x[0]);
      (void)ops::exp(x[0]);
      return Tensors{ops::multiply(ops::add(one, other), two)};
    });
    const auto traced = rows_of(client, listed, 0);
    QCOMPARE(traced.stages.size(), 4u);
    QCOMPARE(traced.stages[0].name, std::string("as traced"));
    QVERIFY2(text_of(traced).find("%3 negative x0 : float64 ()\n%4 negative x0 : float64 ()\n") !=
                 std::string::npos,
             text_of(traced).c_str());
    const auto folded = rows_of(client, listed, 1);
    QVERIFY2(
        text_of(folded).find("%2 constant {1.0} : float64 () [folded: was exp(%1)]") != std::string::npos,
        text_of(folded).c_str());
    const auto merged = rows_of(client, listed, 2);
    QVERIFY2(
        text_of(merged).find("%4 negative x0 : float64 () [merged: the same as %3]\n") != std::string::npos,
        text_of(merged).c_str());
    // What stays keeps its number, and reads the node that took the place.
    QVERIFY2(text_of(merged).find("%6 add %3 %3 : float64 ()\n") != std::string::npos,
             text_of(merged).c_str());
    const auto removed = rows_of(client, listed, 3);
    QVERIFY2(
        text_of(removed).find("%5 exp x0 : float64 () [removed: nothing reads it]\n") != std::string::npos,
        text_of(removed).c_str());
    QVERIFY2(text_of(removed).find("%7 multiply %6 %2 : float64 ()\nreturn %7 : float64 ()\n") !=
                 std::string::npos,
             text_of(removed).c_str());
    QCOMPARE(removed.stages[1].folded, 2u);
    QCOMPARE(removed.stages[2].merged, 1u);
    QVERIFY(removed.stages[3].removed >= 1);
    QCOMPARE(removed.stages[3].nodes, graph::count_nodes(listed.trace->running()));
    QCOMPARE(client.ask<protocol::Failure>(protocol::GetGraph{listed.trace->id, 4, 0, 10}).reason,
             std::string("get_graph: stage is 4; the trace has 3 passes"));
  }

  void branches_and_loops_are_nested() {
    Served served;
    RawClient client = served.client();
    client.greet();
    const Listed listed([](Inputs x) {
      const Tensor chosen = graph::branch(
          testing::called("greater", {x[0], real(1)}), [&] { return Tensors{ops::exp(x[0])}; },
          [&] { return Tensors{ops::negative(x[0])}; })[0];
      return graph::loop(
          std::array{chosen},
          [](Inputs v) {
            return testing::called("less", {v[0], real(9)});
          },
          [](Inputs v) { return Tensors{ops::add(v[0], v[0])}; });
    });
    const std::string text = text_of(rows_of(client, listed, 0));
    const auto at = [&](const std::string& part) { return text.find(part); };
    QVERIFY2(at(" branch %") != std::string::npos &&
                 at("\n  if true\n    captured0 captured : float64 ()\n") != std::string::npos,
             text.c_str());
    QVERIFY2(at("exp captured0 : float64 ()\n    return %1 : float64 ()\n  if false\n") != std::string::npos,
             text.c_str());
    QVERIFY2(at(" loop %") < at("\n  while\n") && at("\n  while\n") < at("\n  do\n"), text.c_str());
  }

  void fused_nodes_stay_and_say_where_their_loop_runs() {
    Served served;
    RawClient client = served.client();
    client.greet();
    const Listed listed([](Inputs x) {
      const Tensor many = ops::broadcast_to(x[0], {4096});
      return Tensors{ops::reduce_sum(ops::exp(many * 2.0))};
    });
    const auto fused = rows_of(client, listed, 4);
    QCOMPARE(fused.stages.size(), 5u);
    QCOMPARE(fused.stages[4].name, std::string("fusion"));
    QCOMPARE(fused.stages[4].fused, 3u);
    QCOMPARE(fused.stages[4].nodes, fused.stages[3].nodes);
    const std::string text = text_of(fused);
    for (const char* line :
         {"%3 multiply %1 %2 : float64 (4096,) [fused: one loop computes it with others, at %5]\n",
          "%4 exp %3 : float64 (4096,) [fused: one loop computes it with others, at %5]\n",
          "%5 reduce_sum %4 : float64 () [fused: one loop computes it with those before it]\n"})
      QVERIFY2(text.find(line) != std::string::npos, text.c_str());
  }

  void a_long_graph_comes_in_pages() {
    Served served;
    RawClient client = served.client();
    client.greet();
    constexpr std::size_t length = 3000;
    const Listed listed([](Inputs x) {
      Tensor y = x[0];
      for (std::size_t i = 0; i < length; ++i) y = ops::exp(y);
      return Tensors{y};
    });
    std::string pages;
    std::uint32_t total = 1;
    for (std::uint32_t first = 0; first < total; first += 700) {
      const auto page = rows_of(client, listed, 3, first, 700);
      total = page.total;
      QCOMPARE(page.first, first);
      QCOMPARE(page.rows.size(), std::min<std::size_t>(700, total - first));
      pages += text_of(page);
    }
    QCOMPARE(total, static_cast<std::uint32_t>(length + 2));  // the argument and "return"
    QVERIFY(pages.ends_with(
        "%2999 exp %2998 : float64 ()\n%3000 exp %2999 : float64 ()\nreturn %3000 : float64 ()\n"));
    QCOMPARE(rows_of(client, listed, 3, total + 5).rows.size(), 0u);
    QCOMPARE(client.ask<protocol::Failure>(protocol::GetGraph{listed.trace->id, 0, 0, 2001}).reason,
             std::string("get_graph: 2001 rows were asked for, the most is 2000"));
  }

  void it_is_answered_while_an_op_waits_at_the_gate() {
    Served served;
    RawClient client = served.client();
    client.greet();
    const Listed listed([](Inputs x) { return Tensors{ops::exp(x[0])}; });
    client.ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::pause});
    std::thread program([] { (void)ops::exp(real(1)); });
    while (client.ask<protocol::Status>(protocol::GetStatus{}).gate != protocol::GateState::stopped) {
    }
    const auto functions = client.ask<protocol::GraphFunctions>(protocol::GetGraphFunctions{0, 10});
    const auto rows = rows_of(client, listed, 0);
    client.ask<protocol::Status>(protocol::SetGate{protocol::GateCommand::run});
    program.join();
    QCOMPARE(functions.functions.size(), 1u);
    QCOMPARE(rows.rows.size(), 3u);
  }

  // ---- gradients of tapes around calls

  /// The gradients listed of one trace, after a call under a tape.
  static std::vector<protocol::TraceGradient> gradients_of(RawClient& client, const Listed& listed,
                                                           bool twice = false) {
    graph::Executable executable(listed.trace->running());
    executable.note_gradients(listed.trace->gradients);
    const Tensor x = real(2);
    Tape tape(false), outer(false);
    for (Tape* one : {&outer, &tape}) {
      if (one == &outer && !twice) continue;
      one->start();
      one->watch(x);
    }
    (void)executable(std::array{x});
    (void)executable(std::array{x});  // is noted once
    tape.stop();
    if (twice) outer.stop();
    const auto list = client.ask<protocol::GraphFunctions>(protocol::GetGraphFunctions{0, 10});
    return list.functions.at(0).traces.at(0).gradients;
  }

  void the_gradient_of_a_call_under_a_tape_has_a_graph_with_its_passes() {
    Served served;
    RawClient client = served.client();
    client.greet();
    const Listed listed([](Inputs x) { return Tensors{ops::exp(ops::multiply(x[0], x[0]))}; });
    const auto gradients = gradients_of(client, listed);
    QCOMPARE(gradients.size(), 1u);
    QCOMPARE(gradients[0].inputs, std::string("x0"));
    QCOMPARE(gradients[0].why_played, std::string());
    QCOMPARE(gradients[0].nodes, 0u);
    QVERIFY(gradients[0].id != listed.trace->id);
    const auto rows = client.ask<protocol::GraphRows>(protocol::GetGraph{gradients[0].id, 0, 0, 1000});
    QCOMPARE(rows.stages.size(), 4u);
    const std::string text = text_of(rows);
    QVERIFY2(text.find(" multiply ") != std::string::npos && text.find("\nreturn %") != std::string::npos,
             text.c_str());
    const auto running = client.ask<protocol::GraphRows>(protocol::GetGraph{gradients[0].id, 3, 0, 1000});
    const auto again = client.ask<protocol::GraphFunctions>(protocol::GetGraphFunctions{0, 10});
    QCOMPARE(again.functions.at(0).traces.at(0).gradients.at(0).nodes, running.stages.back().nodes);
    QVERIFY(running.stages.back().nodes > 0);
  }

  void a_gradient_that_tapes_play_says_why() {
    Served served;
    RawClient client = served.client();
    client.greet();
    const Listed one([](Inputs x) { return Tensors{ops::exp(x[0])}; });
    const auto single = gradients_of(client, one);
    QCOMPARE(single.size(), 1u);
    QCOMPARE(single[0].why_played, std::string("no more than one of its ops has a gradient"));
    const auto failure = client.ask<protocol::Failure>(protocol::GetGraph{single[0].id, 0, 0, 10});
    QCOMPARE(failure.code, std::string("played"));
    QCOMPARE(failure.reason, std::string("A tape plays the VJPs of f one by one: no more than one of its ops "
                                         "has a gradient."));
  }

  void a_branch_under_two_tapes_is_played() {
    Served served;
    RawClient client = served.client();
    client.greet();
    const Listed listed([](Inputs x) {
      return Tensors{graph::branch(
          testing::called("greater", {x[0], real(1)}), [&] { return Tensors{ops::exp(x[0])}; },
          [&] { return Tensors{ops::negative(x[0])}; })[0]};
    });
    const auto gradients = gradients_of(client, listed, true);
    QCOMPARE(gradients.size(), 1u);
    const auto failure = client.ask<protocol::Failure>(protocol::GetGraph{gradients[0].id, 0, 0, 10});
    QVERIFY2(failure.reason.find("not the only one that records") != std::string::npos,
             failure.reason.c_str());
    const auto again = client.ask<protocol::GraphFunctions>(protocol::GetGraphFunctions{0, 10});
    QVERIFY(!again.functions.at(0).traces.at(0).gradients.at(0).why_played.empty());
  }

  // ---- breakpoints on lines

  void a_breakpoint_says_why_its_line_cannot_be_hit() {
    thread_local static std::uint32_t line;
    set_capture_location([] { return intern_location({"cell-a", "", line}); });
    const auto at = [](std::uint32_t number) { line = number; };
    const auto trace = trace_of([&](Inputs x) {
      at(2);
      const Tensor two = ops::exp(ops::zeros({}, DType::float64));
      at(3);
      const Tensor one = ops::negative(x[0]);
      at(4);
      const Tensor other = ops::negative(x[0]);
      at(5);
      (void)ops::exp(x[0]);
      at(8);
      return Tensors{ops::multiply(ops::add(one, other), two)};
    });
    set_capture_location(nullptr);
    at(1);
    const auto entry =
        graph::new_function_entry("f", intern_location({"cell-a", "", 1}), {1, 2, 3, 4, 5, 6, 8});
    Served served;
    RawClient client = served.client();
    client.greet();
    const auto note_of = [&](std::uint32_t number) {
      protocol::Breakpoint breakpoint;
      breakpoint.id = 1;
      breakpoint.cell = "cell-a";
      breakpoint.line = number;
      const auto answer = client.ask<protocol::Breakpoints>(protocol::SetBreakpoints{{breakpoint}});
      return answer.states.at(0).note.value_or("");
    };
    QCOMPARE(note_of(2), std::string());  // it was not traced so far
    entry->add(trace, {"f(x: float64 ())", {}, 0, 0});
    QCOMPARE(note_of(2),
             std::string("Folded: its value follows from constants, and was computed when f was traced."));
    QCOMPARE(note_of(3), std::string());
    QCOMPARE(note_of(4), std::string("Merged with line 3: the graph of f computes both once, there."));
    QCOMPARE(note_of(5), std::string("Removed: nothing in the graph of f reads its result."));
    QCOMPARE(note_of(6), std::string("Runs only while f is traced: the graph has no op of this line."));
    QCOMPARE(note_of(7), std::string("No op on this line: it has no code."));
    QCOMPARE(note_of(8), std::string());
    QCOMPARE(note_of(9), std::string());  // it is not the function's
  }

  void a_line_that_assigns_or_chooses_without_an_op_says_so() {
    thread_local static std::uint32_t line;
    set_capture_location([] { return intern_location({"cell-b", "", line}); });
    Variable variable(real(1), "v", true);
    const auto trace = trace_of([&](Inputs x) {
      line = 2;
      const Tensor large = testing::called("greater", {x[0], real(1)});
      line = 3;
      const Tensors chosen = graph::branch(
          large,
          [&] {
            line = 4;
            return Tensors{ops::exp(x[0])};
          },
          [&] {
            line = 3;
            return Tensors{x[0]};
          });
      line = 5;
      variable.assign(chosen[0]);
      line = 6;
      return Tensors{ops::negative(chosen[0])};
    });
    set_capture_location(nullptr);
    const auto entry = graph::new_function_entry("g", intern_location({"cell-b", "", 1}), {1, 2, 3, 4, 5, 6});
    entry->add(trace, {"g(x: float64 ())", {}, 0, 0});
    Served served;
    RawClient client = served.client();
    client.greet();
    const auto note_of = [&](std::uint32_t number) {
      protocol::Breakpoint breakpoint;
      breakpoint.id = 1;
      breakpoint.cell = "cell-b";
      breakpoint.line = number;
      const auto answer = client.ask<protocol::Breakpoints>(protocol::SetBreakpoints{{breakpoint}});
      return answer.states.at(0).note.value_or("");
    };
    for (const std::uint32_t number : {2u, 4u, 6u}) QCOMPARE(note_of(number), std::string());
    QCOMPARE(note_of(5), std::string("No op on this line: the graph of g only assigns to a variable here."));
    QCOMPARE(note_of(3), std::string("No op on this line: the graph of g only chooses a branch here."));
  }
};

TAPEDECK_TEST(TestGraphFunctions)
#include "tst_graph_functions.moc"
