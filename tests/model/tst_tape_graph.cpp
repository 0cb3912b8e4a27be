// The tape graph, from sessions written as text.
#include <QRandomGenerator>
#include <QTest>
#include <algorithm>

#include "tests/model/graph_text.h"
#include "tests/model/records_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using inspector::buildTapeGraph;
using inspector::GraphEdge;
using inspector::GraphNode;
using inspector::NodeKind;
using inspector::TapeGraph;
using test::edgesOf;
using test::nameOf;
using test::nodeOf;
using test::noisy;
using test::RecordsText;
using test::square;

namespace {

TapeGraph graphOf(const char* text, quint64 cursor) {
  return buildTapeGraph(RecordsText(text).records, cursor);
}

}  // namespace

class TestTapeGraph : public QObject {
  Q_OBJECT
 private slots:
  void forwardEdgesRunFromMakersToReaders();
  void gradientsRunBackAndRestAtTheirLeaves();
  void aGradientWaitsAtTheOpWhoseVjpIsNext();
  void opsInsideBuiltInVjpsAreHiddenBehindThem();
  void growsByANodeWithEachStep();
  void rewindingShowsTheStateOfThen();
  void customGradientsShowTheUsersOps();
  void readersOutsideSeeTheCustomFunctionNotItsOps();
  void edgesCarryValuesWhereSmall();
  void everyBoxHasAnEdge();
  void thePlaybackHandsOutTheOnesItStartsWith();
  void countsTheTapeAndNotWhatFollows();
  void survivesCyclesAndStrangers();
  void survivesMutatedRecords();
};

void TestTapeGraph::forwardEdgesRunFromMakersToReaders() {
  const TapeGraph graph = graphOf(square, 2);
  QCOMPARE(edgesOf(graph),
           (QStringList{"W:0 -> add#2", "constant -> mul#1", "constant -> mul#1", "mul#1 -> add#2"}));
  QCOMPARE(graph.nodes.size(), 4u);
  QCOMPARE(nodeOf(graph, 2).preview, QStringLiteral("10"));
  QVERIFY(nodeOf(graph, 2).current);
  QVERIFY(!nodeOf(graph, 1).current);
  int variables = 0;
  for (const auto& node : graph.nodes) variables += node.kind == NodeKind::variable;
  QCOMPARE(variables, 1);
}

void TestTapeGraph::gradientsRunBackAndRestAtTheirLeaves() {
  const TapeGraph graph = graphOf(square, 8);
  const QStringList edges = edgesOf(graph);
  for (const char* expected :
       {"add#2 -> gradient#3", "gradient#3 => vjp add#4", "vjp add#4 => vjp mul#5",
        "vjp add#4 => W:0 (arrives)", "vjp mul#5 => add#8", "add#8 => constant (arrives)"})
    QVERIFY2(edges.contains(QString::fromUtf8(expected)),
             qPrintable(QString::fromUtf8(expected) + "\n" + edges.join("\n")));
  QCOMPARE(edges.size(), 11);
  QCOMPARE(nodeOf(graph, 4).forward, graph.nodeOf(2));
  QCOMPARE(nodeOf(graph, 5).forward, graph.nodeOf(1));
}

void TestTapeGraph::aGradientWaitsAtTheOpWhoseVjpIsNext() {
  auto records = RecordsText(square).records;
  records[4].state = protocol::RecordState::pending;
  const TapeGraph graph = buildTapeGraph(records, 5);
  QVERIFY(edgesOf(graph).contains("vjp add#4 => vjp mul#5"));
  const TapeGraph before = buildTapeGraph(records, 4);
  QVERIFY(edgesOf(before).contains("vjp add#4 => mul#1 (arrives)"));
}

void TestTapeGraph::opsInsideBuiltInVjpsAreHiddenBehindThem() {
  const TapeGraph graph = graphOf(square, 6);
  QCOMPARE(graph.nodeOf(6), graph.nodeOf(5));
  QVERIFY(nodeOf(graph, 5).current);
  QVERIFY(!nodeOf(graph, 5).expanded);
  QCOMPARE(nodeOf(graph, 5).state, protocol::RecordState::running);
}

void TestTapeGraph::growsByANodeWithEachStep() {
  const auto records = RecordsText(square).records;
  std::size_t nodes = 0;
  for (quint64 cursor : {1u, 2u, 3u, 4u, 5u, 8u}) {
    std::size_t recorded = 0;
    const TapeGraph graph = buildTapeGraph(records, cursor);
    for (const auto& node : graph.nodes) recorded += node.record != 0;
    QCOMPARE(recorded, nodes + 1);
    nodes = recorded;
  }
}

void TestTapeGraph::rewindingShowsTheStateOfThen() {
  const TapeGraph graph = graphOf(square, 4);
  QCOMPARE(nodeOf(graph, 3).state, protocol::RecordState::running);
  QCOMPARE(nodeOf(graph, 2).state, protocol::RecordState::done);
  QCOMPARE(graph.nodeOf(5), -1);
  const TapeGraph whole = graphOf(square, 8);
  QCOMPARE(nodeOf(whole, 4).state, protocol::RecordState::done);
  QCOMPARE(nodeOf(whole, 3).state, protocol::RecordState::running);
  const TapeGraph now = buildTapeGraph(RecordsText(square).records, 8, {}, inspector::Moment::now);
  QCOMPARE(nodeOf(now, 3).state, protocol::RecordState::done);
}

void TestTapeGraph::customGradientsShowTheUsersOps() {
  const TapeGraph graph = graphOf(noisy, 10);
  const int custom = graph.nodeOf(1), vjp = graph.nodeOf(8);
  QVERIFY(nodeOf(graph, 1).expanded);
  QVERIFY(nodeOf(graph, 1).customGradient);
  QVERIFY(nodeOf(graph, 8).customGradient);
  for (quint64 inside : {2u, 3u, 4u}) QCOMPARE(nodeOf(graph, inside).group, custom);
  for (quint64 inside : {9u, 10u}) QCOMPARE(nodeOf(graph, inside).group, vjp);
  const QStringList edges = edgesOf(graph);
  // What the function was called with comes to its box, and from there to the ops inside; so does the
  // gradient.
  for (const char* expected : {"constant -> noisy_square#1", "noisy_square#1 -> square#2",
                               "vjp mul#7 => vjp noisy_square#8", "vjp noisy_square#8 => mul#10"})
    QVERIFY2(edges.contains(QString::fromUtf8(expected)),
             qPrintable(QString::fromUtf8(expected) + "\n" + edges.join("\n")));
  QVERIFY(!edges.contains("constant -> square#2"));
  QVERIFY2(edges.contains("constant -> mul#9"), qPrintable(edges.join("\n")));
}

void TestTapeGraph::readersOutsideSeeTheCustomFunctionNotItsOps() {
  QStringList edges = edgesOf(graphOf(noisy, 10));
  QVERIFY2(edges.contains("noisy_square#1 -> mul#5"), qPrintable(edges.join("\n")));
  // Also where the function returns the very tensor that its last op made.
  edges = edgesOf(graphOf("custom f(x) -> y tape=1\n  op square(x) -> y\nop neg(y) -> z tape=1", 3));
  QVERIFY2(edges.contains("f#1 -> neg#3"), qPrintable(edges.join("\n")));
  QVERIFY2(!edges.contains("square#2 -> neg#3"), qPrintable(edges.join("\n")));
}

void TestTapeGraph::edgesCarryValuesWhereSmall() {
  const TapeGraph graph = graphOf("op matmul(X:2x3, W:3x4) -> y:2x4 tape=1\nop sum(y) -> s:=1 tape=1", 2);
  QStringList labels;
  for (const auto& edge : graph.edges) labels << edge.label;
  labels.sort();
  QCOMPARE(labels, (QStringList{QStringLiteral("2×3"), QStringLiteral("2×4"), QStringLiteral("3×4")}));
  QVERIFY(edgesOf(graph).contains("W:0 -> matmul#1"));
}

void TestTapeGraph::everyBoxHasAnEdge() {
  for (const quint64 cursor : {4u, 6u, 8u, 10u}) {
    const TapeGraph graph = graphOf(noisy, cursor);
    for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
      const GraphNode& node = graph.nodes[index];
      const bool found = std::any_of(graph.edges.begin(), graph.edges.end(), [&](const GraphEdge& edge) {
        return edge.from == static_cast<int>(index) || edge.to == static_cast<int>(index);
      });
      QVERIFY2(found || node.inputs == 0, qPrintable(nameOf(graph, static_cast<int>(index))));
    }
  }
}

void TestTapeGraph::thePlaybackHandsOutTheOnesItStartsWith() {
  const TapeGraph graph = graphOf(R"(
op square(x:=3) -> y:=9 tape=1
playback gradient(y) -> dx tape=1
  op ones_like(y) -> one:=1
  vjp square(one) -> dx:=6 of=1 tape=1
)",
                                  4);
  QCOMPARE(graph.nodeOf(3), graph.nodeOf(2));
  QCOMPARE(edgesOf(graph), (QStringList{"constant -> square#1", "gradient#2 => vjp square#4",
                                        "square#1 -> gradient#2", "vjp square#4 => constant (arrives)"}));
}

void TestTapeGraph::countsTheTapeAndNotWhatFollows() {
  const TapeGraph graph = graphOf(R"(
custom f(x) -> y tape=1
  op square(x) -> y
op neg(y) -> z tape=1
playback gradient(z) -> dx tape=1
  vjp neg(one) -> dy of=3 tape=1
  vjp f(dy) -> dx of=1 tape=1 custom
    op mul(dy, x) -> dx
op mul(dx, rate) -> step
op sub(x, step) -> x2
)",
                                  9);
  QCOMPARE(graph.ops, 2u);
  QCOMPARE(graph.vjps, 2u);
  QCOMPARE(graph.offTape, 2u);
  QVERIFY(nodeOf(graph, 8).offTape && nodeOf(graph, 9).offTape);
  QVERIFY(!nodeOf(graph, 2).offTape && !nodeOf(graph, 7).offTape);
}

void TestTapeGraph::survivesCyclesAndStrangers() {
  auto records = RecordsText(square).records;
  records[3].parent = 5;  // a parent that comes later
  records[4].parent = 5;  // its own parent
  records[5].forward = 4711;
  records[1].parent = 99;
  QVERIFY(!buildTapeGraph(records, 8).empty());
  QVERIFY(buildTapeGraph({}, 3).empty());
  std::vector<protocol::Record> twice = RecordsText(square).records;
  twice.insert(twice.end(), records.begin(), records.end());
  QVERIFY(!buildTapeGraph(twice, 8).empty());
}

void TestTapeGraph::survivesMutatedRecords() {
  QRandomGenerator random(11);
  const auto originals = {RecordsText(square).records, RecordsText(noisy).records};
  for (int round = 0; round < 3'000; ++round) {
    std::vector<protocol::Record> records = *(originals.begin() + round % 2);
    for (int change = 0; change < 3; ++change) {
      protocol::Record& record = records[random.bounded(static_cast<quint32>(records.size()))];
      const quint64 number = random.bounded(12u);
      switch (random.bounded(7)) {
        case 0:
          record.parent = number;
          break;
        case 1:
          record.forward = number;
          break;
        case 2:
          record.number = number;
          break;
        case 3:
          record.kind = static_cast<protocol::RecordKind>(number % 4);
          break;
        case 4:
          record.state = static_cast<protocol::RecordState>(number % 4);
          break;
        case 5:
          record.inputs.clear();
          break;
        default:
          record.outputs = records[number % records.size()].inputs;
          break;
      }
    }
    const TapeGraph graph = buildTapeGraph(records, random.bounded(12u));
    const int nodes = static_cast<int>(graph.nodes.size());
    for (const auto& edge : graph.edges)
      QVERIFY(edge.from >= 0 && edge.from < nodes && edge.to >= 0 && edge.to < nodes);
    for (int index = 0; index < nodes; ++index) {
      const auto& node = graph.nodes[static_cast<std::size_t>(index)];
      QVERIFY(node.group < index && node.forward < nodes);  // groups never form a circle
    }
  }
}

TAPEDECK_TEST(TestTapeGraph)
#include "tst_tape_graph.moc"
