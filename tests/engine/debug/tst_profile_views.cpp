// What Time shows of sums: the flame, rows, the machine's limits, and trace events for other programs.
#include <QtTest>
#include <nlohmann/json.hpp>

#include "engine/debug/profile/chrome_trace.h"
#include "tests/engine/debug/listed_events.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::debug;
using namespace listed;
using protocol::ProfileGroup;
using protocol::ProfileOrder;

namespace {

std::string text_of(const std::vector<protocol::ProfileNode>& nodes) {
  std::string text;
  for (const protocol::ProfileNode& node : nodes) {
    std::size_t depth = 0;
    for (std::size_t at = static_cast<std::size_t>(&node - nodes.data()); at != 0; at = nodes[at].parent)
      ++depth;
    text += std::string(2 * depth, ' ');
    text += !node.name.empty() ? node.name : node.line ? "line " + std::to_string(node.line) : node.cell;
    text += ' ' + std::to_string(node.total_ns) + '\n';
  }
  return text;
}

}  // namespace

class TestProfileViews : public QObject {
  Q_OBJECT
 private slots:
  void the_flame_adds_up_self_times_by_scope_and_by_line() {
    ListedEvents events;
    events.add("matmul", 0, 100, 1);
    events.add("gradient", 200, 100, 2, 0, 0, ProfileRole::backward, true);
    events.add("add", 210, 60, 4, 1, 0, ProfileRole::backward);
    events.add("exp", 400, 5, 21);
    ProfileIndex index(events);
    pass_all(index, events);
    const Sums sums = index.sums(0, INT64_MAX);
    QCOMPARE(text_of(profile_flame(sums, events.known, texts(), false, 100)),
             std::string(" 205\n"
                         "  encoder 200\n"
                         "    dense 160\n"
                         "      matmul 100\n"
                         "      add 60\n"
                         "    norm 40\n"
                         "      gradient 40\n"
                         "  exp 5\n"));
    QCOMPARE(text_of(profile_flame(sums, events.known, texts(), true, 100)), std::string(" 205\n"
                                                                                         "  cell-a 200\n"
                                                                                         "    line 1 100\n"
                                                                                         "      matmul 100\n"
                                                                                         "    line 4 60\n"
                                                                                         "      add 60\n"
                                                                                         "    line 2 40\n"
                                                                                         "      gradient 40\n"
                                                                                         "  cell-b 5\n"
                                                                                         "    line 21 5\n"
                                                                                         "      exp 5\n"));
    // Where there are too many, the small ones come as one.
    const auto few = profile_flame(sums, events.known, texts(), false, 4);
    std::int64_t leaves = 0;
    for (const auto& node : few)
      if (node.op) leaves += node.total_ns;
    QCOMPARE(leaves, std::int64_t{205});
    QVERIFY(few.size() < 9);
  }

  void rows_are_sorted_filtered_and_named() {
    ListedEvents events;
    events.add("matmul", 0, 100, 1);
    events.add("matmul", 200, 300, 21);
    events.add("add", 600, 50, 1);
    ProfileIndex index(events);
    pass_all(index, events);
    const Sums sums = index.sums(0, INT64_MAX);
    protocol::GetProfileTotals asked;
    const auto names = [&] {
      std::string text;
      for (const auto& row : profile_rows(sums, events.known, texts(), {}, asked))
        text += row.name + '/' + row.cell + '/' + std::to_string(row.line) + ' ' +
                std::to_string(row.self_ns) + " op " + std::to_string(row.slowest) + '\n';
      return text;
    };
    QCOMPARE(names(), std::string("matmul//0 400 op 2\nadd//0 50 op 3\n"));
    asked.ascending = true;
    QCOMPARE(names(), std::string("add//0 50 op 3\nmatmul//0 400 op 2\n"));
    asked.ascending = false;
    asked.group = ProfileGroup::line;
    QCOMPARE(names(), std::string("matmul/cell-b/21 300 op 2\nmatmul/cell-a/1 150 op 1\n"));
    asked.filter = "[2] LINE";
    asked.label_cells = {"cell-a", "[1]", "cell-b", "[2]"};
    QCOMPARE(names(), std::string("matmul/cell-b/21 300 op 2\n"));
    asked = {};
    asked.group = ProfileGroup::cell;
    asked.order = ProfileOrder::calls;
    QCOMPARE(names(), std::string("matmul/cell-a/0 150 op 1\nmatmul/cell-b/0 300 op 2\n"));
  }

  void roofs_say_what_an_op_is_bound_by() {
    protocol::Peaks peaks;
    peaks.known = true;
    peaks.float32_gflops = 100;
    peaks.float64_gflops = 50;
    peaks.memory_gbytes = 10;
    peaks.cache_gbytes = 40;
    peaks.cache_bytes = 1000;
    peaks.overhead_ns = 5;
    QCOMPARE(roof_of(1e6, 4000, false, peaks).ns(), 1e4);
    QCOMPARE(roof_of(1e6, 4000, true, peaks).ns(), 2e4);
    QCOMPARE(roof_of(1e6, 4000, false, peaks).bound(), protocol::ProfileBound::compute);
    QCOMPARE(roof_of(1e3, 4000, false, peaks).ns(), 400.0);
    QCOMPARE(roof_of(1e3, 4000, false, peaks).bound(), protocol::ProfileBound::memory);
    QCOMPARE(roof_of(0, 800, false, peaks).ns(), 20.0);  // fits the cache
    QCOMPARE(roof_of(1, 8, false, peaks).bound(), protocol::ProfileBound::overhead);
    QCOMPARE(roof_of(1e6, 4000, false, protocol::Peaks{}).bound(), protocol::ProfileBound::unknown);
  }

  void trace_events_are_json_with_exact_times() {
    ListedEvents events;
    events.add("mat\"mul\xff", 1234567, 890, 21);
    events.all[0].flops = 2e9;
    const std::uint16_t threads[] = {0, 3};
    std::string json = chrome_trace_head(7, "session");
    json +=
        chrome_trace_event(events.all[0], 1234567, 1235457, events.known.at(events.all[0].kind), texts(), 7);
    json += chrome_trace_tail(threads, {}, 7);
    const auto trace = nlohmann::json::parse(json);
    QCOMPARE(trace.at("traceEvents").size(), std::size_t{4});
    const auto& event = trace.at("traceEvents")[1];
    QCOMPARE(event.at("ph").get<std::string>(), std::string("X"));
    QCOMPARE(event.at("ts").get<double>(), 1234.567);
    QCOMPARE(event.at("dur").get<double>(), 0.89);
    QCOMPARE(event.at("args").at("line").get<int>(), 21);
    QCOMPARE(event.at("args").at("flops").get<double>(), 2e9);
  }
};

TAPEDECK_TEST(TestProfileViews)
#include "tst_profile_views.moc"
