// The tape graph, from sessions written as text.
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <set>

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
  void everyBoxHasAnEdge();
  void thePlaybackHandsOutTheOnesItStartsWith();
  void countsTheTapeAndNotWhatFollows();
  void survivesCyclesAndStrangers();
  void survivesMutatedRecords();
  void modelShowsTheTapeOfTheCursor();
  void modelFollowsStepsWithoutAskingAgain();
  void modelShowsOpsWithoutATape();
  void modelShowsOpsThatFollowAPlayback();
  void modelAddsTheOpsOfCustomGradients();
  void modelKeepsTheGraphWhenTheSessionDies();
  void everyOpAndVjpOfALongTapeCanBeReached();
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

/// A chain of ops and its playback, as long as that.
std::vector<protocol::Record> longRun(std::uint64_t count) {
  std::vector<protocol::Record> records;
  const auto tensor = [](std::uint64_t id, std::uint64_t producer) {
    protocol::TensorInfo info;
    info.id = id;
    info.dtype = "float32";
    info.producer = producer;
    return info;
  };
  const auto add = [&](protocol::RecordKind kind, std::uint64_t parent) -> protocol::Record& {
    protocol::Record record;
    record.number = records.size() + 1;
    record.kind = kind;
    record.op = "tanh";
    record.parent = parent;
    record.depth = parent ? 1 : 0;
    record.tape = 1;
    record.duration_ns = 1;
    record.start_ns = static_cast<std::int64_t>(record.number) * 2;
    record.backward = parent || kind == protocol::RecordKind::playback;
    records.push_back(record);
    return records.back();
  };
  for (std::uint64_t i = 1; i <= count; ++i) {
    protocol::Record& op = add(protocol::RecordKind::op, 0);
    op.inputs = {tensor(i, i - 1)};
    op.outputs = {tensor(i + 1, i)};
  }
  add(protocol::RecordKind::playback, 0).inputs = {tensor(count + 1, count)};
  const std::uint64_t playback = records.back().number;
  for (std::uint64_t i = count; i >= 1; --i) {
    protocol::Record& vjp = add(protocol::RecordKind::vjp, playback);
    vjp.forward = i;
    vjp.inputs = {tensor(100'000 + i, i == count ? 0 : vjp.number - 1)};
    vjp.outputs = {tensor(100'000 + i - 1, vjp.number)};
  }
  return records;
}

void TestTapeGraph::everyOpAndVjpOfALongTapeCanBeReached() {
  constexpr quint64 count = 20'000;
  test::FakeSource source(longRun(count));
  inspector::Session session;
  TapeGraphModel model(&session);
  session.setSource(&source);
  const auto shows = [&](quint64 record) {
    const int index = model.graph().nodeOf(record);
    return model.graph().cursor == session.cursor() && index >= 0;
  };
  // The cursor brings its neighbourhood, and of an op what it is paired with.
  for (const quint64 cursor :
       {2 * count + 1, quint64(25'000), quint64(33'333), quint64(7'000), quint64(1), count}) {
    session.setCursor(cursor);
    QTRY_VERIFY2(shows(cursor) && !model.loading(), qPrintable(QString::number(cursor)));
    QVERIFY(nodeOf(model.graph(), cursor).current);
    QCOMPARE(model.graph().tape, 1u);
    QVERIFY(model.graph().nodes.size() < 2'000);
    for (const GraphNode& node : model.graph().nodes)
      if (node.kind == NodeKind::vjp) QVERIFY2(node.forward >= 0, qPrintable(QString::number(node.record)));
    QCOMPARE(model.graph().ops, std::min(cursor, count));
    QCOMPARE(model.graph().vjps, cursor > count + 1 ? cursor - count - 1 : 0u);
  }
  // And from the end of the tape "more above" leads through all of it, op by VJP.
  session.setCursor(2 * count + 1);
  QTRY_VERIFY(shows(2 * count + 1) && !model.loading());
  std::set<quint64> seen;
  const auto note = [&] {
    for (const GraphNode& node : model.graph().nodes) seen.insert(node.record);
  };
  const auto more = [&](bool below) -> const GraphNode* {
    for (const GraphNode& node : model.graph().nodes)
      if (node.kind == NodeKind::more && node.below == below) return &node;
    return nullptr;
  };
  note();
  QVERIFY(!more(false));  // the last VJP is that of the first op
  QVERIFY(more(true)->op.contains(QStringLiteral("more below")));
  for (int page = 0; page < 200 && more(true); ++page) {
    const quint64 last = more(true)->page;
    model.showAround(last);
    QTRY_VERIFY(model.graph().nodeOf(last + 1) >= 0 || !more(true));
    QCOMPARE(session.cursor(), 2 * count + 1);
    note();
  }
  QCOMPARE(seen.size(), 2 * count + 2);  // all records, and the leaves as 0
  QVERIFY(more(false));
  const quint64 first = more(false)->page;
  model.showAround(first);
  QTRY_VERIFY(model.graph().nodeOf(first - 1) >= 0);
}

QTEST_GUILESS_MAIN(TestTapeGraph)
#include "tst_tape_graph.moc"
