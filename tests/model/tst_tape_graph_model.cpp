// The tape graph's model: which tape it shows, what it asks for, and the part of a long one around the
// cursor.
#include <QTest>
#include <algorithm>
#include <set>

#include "tests/model/fake_source.h"
#include "tests/model/graph_text.h"
#include "tests/model/records_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using inspector::GraphNode;
using inspector::NodeKind;
using inspector::TapeGraphModel;
using test::edgesOf;
using test::nodeOf;
using test::noisy;
using test::RecordsText;
using test::square;

namespace {

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

}  // namespace

class TestTapeGraphModel : public QObject {
  Q_OBJECT
 private slots:
  void showsTheTapeOfTheCursor();
  void marksWhatACompleteGradientIsOf();
  void followsStepsWithoutAskingAgain();
  void showsOpsWithoutATape();
  void showsOpsThatFollowAPlayback();
  void addsTheOpsOfCustomGradients();
  void keepsTheGraphWhenTheSessionDies();
  void aTapeOfThousandsOfOpsIsWhole();
  void whatGrowsIsAPartUntilItRests();
  void everyOpAndVjpOfALongTapeCanBeReached();
};

void TestTapeGraphModel::showsTheTapeOfTheCursor() {
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

void TestTapeGraphModel::marksWhatACompleteGradientIsOf() {
  test::FakeSource source(RecordsText(square).records);
  inspector::Session session;
  TapeGraphModel model(&session);
  session.setSource(&source);
  const protocol::TensorInfo leaf = source.records.at(0).inputs.at(0);
  const auto marked = [&] {
    std::vector<quint64> tensors;
    for (const GraphNode& node : model.graph().nodes)
      if (node.complete) tensors.push_back(node.leaf.id ? node.leaf.id : node.tensor);
    return tensors;
  };
  source.stopAtNewest();
  QTRY_VERIFY(!model.graph().empty() && !model.loading());
  QVERIFY(marked().empty());
  // The record stays, and so does the cursor.
  source.status.stopped_after = true;
  source.status.complete_gradient =
      protocol::CompleteGradient{std::uint64_t{1} << 33, leaf, leaf, false, 0, 1};
  source.sendStatus();
  QTRY_COMPARE(marked(), std::vector<quint64>{leaf.id});
  session.setCursor(1);
  QTRY_VERIFY(marked().empty());  // what is looked at is the past
  session.follow();
  QTRY_COMPARE(marked(), std::vector<quint64>{leaf.id});
  source.status.complete_gradient.reset();
  source.status.gate = protocol::GateState::open;
  source.status.stopped_before.reset();
  source.sendStatus();
  QTRY_VERIFY(marked().empty());
}

void TestTapeGraphModel::followsStepsWithoutAskingAgain() {
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

void TestTapeGraphModel::showsOpsWithoutATape() {
  test::FakeSource source(RecordsText("op square(x:=3) -> y:=9\nop neg(y) -> z:=-9").records);
  inspector::Session session;
  TapeGraphModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(model.graph().cursor, 2u);
  QCOMPARE(model.graph().tape, 0u);
  QVERIFY(source.askedFor<protocol::GetTape>().empty());
  QTRY_COMPARE(edgesOf(model.graph()), (QStringList{"constant -> square#1", "square#1 -> neg#2"}));
}

void TestTapeGraphModel::showsOpsThatFollowAPlayback() {
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

void TestTapeGraphModel::addsTheOpsOfCustomGradients() {
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

void TestTapeGraphModel::keepsTheGraphWhenTheSessionDies() {
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

// As a step of a deep network has them: made beside the UI thread, and all of them.
void TestTapeGraphModel::aTapeOfThousandsOfOpsIsWhole() {
  constexpr quint64 count = 3'500;
  test::FakeSource source(longRun(count));
  inspector::Session session;
  TapeGraphModel model(&session);
  session.setSource(&source);
  const auto here = [&](quint64 cursor) {
    return model.graph().cursor == cursor && model.graph().nodeOf(cursor) >= 0 && !model.loading();
  };
  for (const quint64 cursor : {2 * count + 1, quint64(1'000), count + 5}) {
    session.setCursor(cursor);
    QVERIFY(model.loading());
    QTRY_VERIFY2(here(cursor), qPrintable(QString::number(cursor)));
    QCOMPARE(model.graph().ops, std::min(cursor, count));
    quint64 records = 0;
    for (const GraphNode& node : model.graph().nodes) {
      QVERIFY(node.kind != NodeKind::more);
      records += node.record != 0;
    }
    QCOMPARE(records, cursor);
  }
  // Of two moves in one turn the last one counts.
  session.setCursor(count);
  QCoreApplication::processEvents();
  session.setCursor(2 * count);
  QTRY_VERIFY(here(2 * count));
  // Of a session that begins anew nothing is left, also not what was being made.
  session.setCursor(2 * count + 1);
  QCoreApplication::processEvents();
  session.setSource(nullptr);
  session.setSource(&source);
  QTRY_VERIFY(!model.loading());
}

void TestTapeGraphModel::whatGrowsIsAPartUntilItRests() {
  constexpr quint64 count = 2'000;
  test::FakeSource source(longRun(count));
  source.status.running_cell = "a";
  inspector::Session session;
  TapeGraphModel model(&session);
  session.setSource(&source);
  session.setCursor(2 * count + 1);
  const auto parted = [&] {
    return std::any_of(model.graph().nodes.begin(), model.graph().nodes.end(),
                       [](const GraphNode& node) { return node.kind == NodeKind::more; });
  };
  QTRY_VERIFY(model.graph().cursor == 2 * count + 1 && parted());
  QVERIFY(model.graph().nodes.size() < 2'000);
  source.status.running_cell.reset();
  source.sendStatus();
  QTRY_VERIFY(!model.loading() && !parted());
  QVERIFY(model.graph().nodes.size() > 2 * count);
}

void TestTapeGraphModel::everyOpAndVjpOfALongTapeCanBeReached() {
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
    QVERIFY(model.loading());  // from now on: what is not here yet is not said to be nothing
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

TAPEDECK_TEST(TestTapeGraphModel)
#include "tst_tape_graph_model.moc"
