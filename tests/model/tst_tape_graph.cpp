// The tape graph, from sessions written as text.
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QTest>

#include "inspector/model/tape_graph.h"
#include "tests/model/fake_source.h"
#include "tests/model/records_text.h"

using namespace tapedeck;
using inspector::buildTapeGraph;
using inspector::GraphEdge;
using inspector::GraphNode;
using inspector::NodeKind;
using inspector::TapeGraph;
using inspector::TapeGraphModel;
using test::RecordsText;

namespace {

constexpr const char* square = R"(
op mul(x:=3, x) -> y:=9 tape=1
op add(y, W:=1) -> z:=10 tape=1
playback gradient(z) -> dx, dW tape=1
  vjp add(one:=1) -> dy:=1, dW:=1 of=2 tape=1
  vjp mul(dy) -> dx1:=3, dx2:=3 of=1 tape=1
    op mul(dy, x) -> dx1
    op mul(dy, x) -> dx2
  op add(dx1, dx2) -> dx:=6 tape=1
)";

/// "mul#1", "W:0", "vjp add#4".
QString nameOf(const TapeGraph& graph, int index) {
  const GraphNode& node = graph.nodes.at(static_cast<std::size_t>(index));
  if (!node.record) return node.name.isEmpty() ? node.op : node.name;
  return (node.kind == NodeKind::vjp ? QStringLiteral("vjp ") : QString()) + node.op +
         QStringLiteral("#%1").arg(node.record);
}

/// "mul#1 -> add#2", "vjp add#4 => vjp mul#5" (backward), "… => W:0 (arrives)".
QStringList edgesOf(const TapeGraph& graph) {
  QStringList result;
  for (const GraphEdge& edge : graph.edges)
    result << nameOf(graph, edge.from) + (edge.backward ? QStringLiteral(" => ") : QStringLiteral(" -> ")) +
                  nameOf(graph, edge.to) + (edge.arrives ? QStringLiteral(" (arrives)") : QString());
  result.sort();
  return result;
}

TapeGraph graphOf(const char* text, quint64 cursor) {
  return buildTapeGraph(RecordsText(text).records, cursor);
}

const GraphNode& nodeOf(const TapeGraph& graph, quint64 record) {
  return graph.nodes.at(static_cast<std::size_t>(graph.nodeOf(record)));
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
  void survivesCyclesAndStrangers();
  void survivesMutatedRecords();
  void modelShowsTheTapeOfTheCursor();
  void modelFollowsStepsWithoutAskingAgain();
  void modelShowsOpsWithoutATape();
  void modelShowsOpsThatFollowAPlayback();
  void modelAddsTheOpsOfCustomGradients();
  void modelKeepsTheGraphWhenTheSessionDies();
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
}

constexpr const char* noisy = R"(
custom noisy_square(x:=3) -> y:=9.1 tape=1
  op square(x) -> s:=9
  op random_normal() -> n:=0.1
  op add(s, n) -> y1:=9.1
op mul(y, two:=2) -> z:=18.2 tape=1
playback gradient(z) -> dx tape=1
  vjp mul(one:=1) -> dy:=2, 0 of=5 tape=1
  vjp noisy_square(dy) -> dx:=12 of=1 tape=1 custom
    op mul(two2:=2, x) -> t:=6
    op mul(t, dy) -> dx
)";

void TestTapeGraph::customGradientsShowTheUsersOps() {
  const TapeGraph graph = graphOf(noisy, 10);
  const int custom = graph.nodeOf(1), vjp = graph.nodeOf(8);
  QVERIFY(nodeOf(graph, 1).expanded);
  QVERIFY(nodeOf(graph, 1).customGradient);
  QVERIFY(nodeOf(graph, 8).customGradient);
  for (quint64 inside : {2u, 3u, 4u}) QCOMPARE(nodeOf(graph, inside).group, custom);
  for (quint64 inside : {9u, 10u}) QCOMPARE(nodeOf(graph, inside).group, vjp);
  const QStringList edges = edgesOf(graph);
  QVERIFY2(edges.contains("constant -> square#2"), qPrintable(edges.join("\n")));
  QVERIFY2(!edges.contains("constant -> noisy_square#1"),
           "the op inside reads it; an edge to the group would double it");
  QVERIFY2(edges.contains("vjp mul#7 => mul#10"), qPrintable(edges.join("\n")));
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

void TestTapeGraph::modelShowsTheTapeOfTheCursor() {
  test::FakeSource source(RecordsText(R"(
op square(x) -> y tape=1
op square(y) -> z tape=1
op neg(a) -> b tape=2
op neg(b) -> c tape=2
)")
                              .records);
  inspector::Session session;
  TapeGraphModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(model.graph().cursor, 4u);
  QCOMPARE(model.graph().tape, 2u);
  QVERIFY(model.graph().nodeOf(1) < 0);
  session.setCursor(2);
  QTRY_COMPARE(model.graph().tape, 1u);
  QVERIFY(model.graph().nodeOf(1) >= 0);
  QVERIFY(model.graph().nodeOf(3) < 0);
  session.setCursor(1);
  QTRY_COMPARE(model.graph().cursor, 1u);
  QVERIFY(model.graph().nodeOf(2) < 0);
}

void TestTapeGraph::modelFollowsStepsWithoutAskingAgain() {
  const auto all = RecordsText(square).records;
  test::FakeSource source;
  inspector::Session session;
  TapeGraphModel model(&session);
  session.setSource(&source);
  for (std::size_t count = 1; count <= 5; ++count) {
    source.records.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    source.records.back().state = protocol::RecordState::pending;
    source.stopAtNewest();
    QTRY_COMPARE(model.graph().cursor, count);
    QTRY_VERIFY(model.graph().nodeOf(count) >= 0);
    if (count > 1)
      QTRY_COMPARE(nodeOf(model.graph(), count == 4 ? 2 : count - 1).state, protocol::RecordState::done);
  }
  QCOMPARE(source.askedFor<protocol::GetTape>().size(), 1u);
}

void TestTapeGraph::modelShowsOpsWithoutATape() {
  test::FakeSource source(RecordsText("op square(x:=3) -> y:=9\nop neg(y) -> z:=-9").records);
  inspector::Session session;
  TapeGraphModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(model.graph().cursor, 2u);
  QCOMPARE(model.graph().tape, 0u);
  QVERIFY(source.askedFor<protocol::GetTape>().empty());
  QTRY_COMPARE(edgesOf(model.graph()), (QStringList{"constant -> square#1", "square#1 -> neg#2"}));
}

void TestTapeGraph::modelShowsOpsThatFollowAPlayback() {
  test::FakeSource source(RecordsText(R"(
op square(W) -> y tape=1
playback gradient(y) -> dW tape=1
  vjp square(one) -> dW of=1 tape=1
op sub(W, dW) -> w2
)")
                              .records);
  inspector::Session session;
  TapeGraphModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(model.graph().cursor, 4u);
  QTRY_VERIFY(model.graph().nodeOf(4) >= 0);
  QCOMPARE(model.graph().tape, 1u);
  QVERIFY(edgesOf(model.graph()).contains("vjp square#3 -> sub#4"));
}

void TestTapeGraph::modelAddsTheOpsOfCustomGradients() {
  test::FakeSource source(RecordsText(noisy).records);
  source.insideOfTapes = false;
  source.status.running_cell = "a";
  inspector::Session session;
  TapeGraphModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(model.graph().cursor, 8u);
  QTRY_VERIFY(model.graph().nodeOf(3) >= 0);
  QCOMPARE(nodeOf(model.graph(), 3).group, model.graph().nodeOf(1));
  session.setCursor(10);
  QTRY_VERIFY(model.graph().nodeOf(10) >= 0);
  QVERIFY(model.graph().nodeOf(9) >= 0);
}

void TestTapeGraph::modelKeepsTheGraphWhenTheSessionDies() {
  test::FakeSource source(RecordsText(square).records);
  inspector::Session session;
  TapeGraphModel model(&session);
  session.setSource(&source);
  session.follow();
  QTRY_VERIFY(model.graph().nodeOf(5) >= 0);
  source.setUp(false);
  QVERIFY(model.graph().nodeOf(5) >= 0);
  session.setCursor(2);
  QTRY_COMPARE(model.graph().cursor, 2u);
  QVERIFY(model.graph().nodeOf(2) >= 0);
  QVERIFY(model.graph().nodeOf(4) < 0);
}

QTEST_GUILESS_MAIN(TestTapeGraph)
#include "tst_tape_graph.moc"
