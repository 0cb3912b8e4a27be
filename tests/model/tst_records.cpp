// The timeline's table: rows by page, what they say, and the filter that reads the trace bit by bit.
#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>

#include "inspector/model/ops/records_model.h"
#include "tests/model/fake_source.h"
#include "tests/model/records_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using inspector::Direction;
using inspector::RecordsModel;
using inspector::Session;
using test::RecordsText;

namespace {

std::vector<protocol::Record> recordsOfMany(std::size_t count) {
  std::vector<protocol::Record> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    records[i].number = i + 1;
    records[i].op = i % 100 == 7 ? "matmul" : "add";
    records[i].backward = i % 2;
  }
  return records;
}

}  // namespace

class TestRecords : public QObject {
  Q_OBJECT
 private slots:
  void showsWhatARecordSays();
  void tellsACopyToAnotherDeviceAndWhy();
  void aGpusTimeIsASignUntilItComes();
  void fetchesOnlyTheRowsThatAreLookedAt();
  void rowsAppearAsTheSessionGoesOn();
  void thePendingRowIsMarked();
  void rowsWhoseValuesAreLostSaySo();
  void filtersWordsAndDirections_data();
  void filtersWordsAndDirections();
  void theFilterReadsALongTraceInPieces();
  void whatHadNotEndedIsLookedAtAgain();
  void theFilterGoesOnWithNewRecords();
  void theFilterKeepsTheCacheSmall();
  void aNewFilterDropsTheOldSearch();
  void theFilterWorksOnWhatIsHereWhenTheSessionIsGone();
  void rowsOfADeadSessionSayThatNobodyFetchedThem();
  void rowsAndRecordsFindEachOther();
};

void TestRecords::showsWhatARecordSays() {
  auto records = RecordsText(R"(
op matmul(X:2x3, W:3x4) -> y:2x4 tape=1 cell=abcdef123456:3
playback gradient(y) -> dW tape=1
  vjp matmul(dy:2x4) -> 0, dW:3x4 of=1 custom
op neg(y) -> z failed cell=f:1
)")
                     .records;
  records[0].attributes = {{"transpose_b", "True"}, {"axis", "0"}};
  records[0].duration_ns = 12'500;
  records[3].error = "neg: no";
  test::FakeSource source(records);
  Session session;
  RecordsModel model(&session);
  model.setCellLabels({{"f", "[7]"}});
  QAbstractItemModelTester tester(&model);
  session.setSource(&source);
  QTRY_COMPARE(model.rowCount(), 4);
  const auto text = [&](int row, int column) { return model.index(row, column).data().toString(); };
  QTRY_COMPARE(text(0, RecordsModel::Op), QStringLiteral("▼ matmul"));
  QCOMPARE(text(0, RecordsModel::Number), QStringLiteral("1"));
  QCOMPARE(text(0, RecordsModel::Name), QStringLiteral("X:0, W:0"));
  QCOMPARE(text(0, RecordsModel::Shapes), QStringLiteral("2×3, 3×4 → 2×4"));
  QCOMPARE(text(0, RecordsModel::DType), QStringLiteral("float32"));
  QCOMPARE(text(0, RecordsModel::Device), QStringLiteral("/cpu:0"));
  QCOMPARE(text(0, RecordsModel::Place), QStringLiteral("abcdef12:3"));
  QCOMPARE(text(0, RecordsModel::Duration), QStringLiteral("12.5 µs"));
  QCOMPARE(text(0, RecordsModel::Attributes), QStringLiteral("transpose_b=True, axis=0"));
  QCOMPARE(text(1, RecordsModel::Op), QStringLiteral("◀◀ gradient"));
  QCOMPARE(text(2, RecordsModel::Op), QString(2, QChar(0x2002)) + QStringLiteral("◆ matmul"));
  QCOMPARE(text(2, RecordsModel::Shapes), QStringLiteral("2×4 → none, 3×4"));
  QCOMPARE(text(3, RecordsModel::Place), QStringLiteral("[7]:1"));
  QCOMPARE(text(3, RecordsModel::Duration), QStringLiteral("failed"));
  QVERIFY(model.index(3, 0).data(RecordsModel::FailedRole).toBool());
  QVERIFY(model.index(2, 0).data(RecordsModel::BackwardRole).toBool());
  QVERIFY(!model.index(0, 0).data(RecordsModel::BackwardRole).toBool());
  QVERIFY(model.index(3, 0).data(Qt::ToolTipRole).toString().contains("error: neg: no"));
}

void TestRecords::tellsACopyToAnotherDeviceAndWhy() {
  auto records = RecordsText(R"(
op copy_to_device(x:2x3) -> y:2x3
op neg(y) -> z:2x3
)")
                     .records;
  records[0].attributes = {{"device", "'/gpu:0'"}, {"reason", "'no CUDA kernel for svd'"}};
  for (auto* tensor : {&records[0].outputs[0], &records[1].inputs[0], &records[1].outputs[0]})
    tensor->device = "/gpu:0";
  test::FakeSource source(records);
  Session session;
  session.setSource(&source);
  RecordsModel model(&session);
  for (int row = 0; row < 2; ++row) (void)model.index(row, 0).data();
  QTRY_COMPARE(model.index(0, RecordsModel::Op).data().toString(), QStringLiteral("⇄ copy to /gpu:0"));
  const QString copy = model.index(0, RecordsModel::Op).data(Qt::ToolTipRole).toString();
  QVERIFY2(copy.contains("why: no CUDA kernel for svd"), qPrintable(copy));
  QVERIFY2(copy.contains("in: float32 2×3\nout: float32 2×3 on /gpu:0"), qPrintable(copy));
  QTRY_COMPARE(model.index(1, RecordsModel::Op).data().toString(), QStringLiteral("▼ neg"));
  QCOMPARE(model.index(1, RecordsModel::Device).data().toString(), QStringLiteral("/gpu:0"));
}

void TestRecords::aGpusTimeIsASignUntilItComes() {
  auto records = RecordsText("op exp(x) -> y\nop neg(y) -> z\nop abs(z) -> w").records;
  for (auto& record : records) {
    record.device = "/gpu:0";
    record.work = protocol::WorkTime::pending;
    record.start_ns = 1000;
    record.call_ns = 12'500;
  }
  records[2].work = protocol::WorkTime::lost;
  test::FakeSource source(records);
  source.status.device_times_pending = 2;
  Session session;
  RecordsModel model(&session);
  session.setSource(&source);
  const auto text = [&](int row) { return model.index(row, RecordsModel::Duration).data().toString(); };
  const auto tip = [&](int row) { return model.index(row, 0).data(Qt::ToolTipRole).toString(); };
  QTRY_COMPARE(text(0), QStringLiteral("…"));
  QTRY_COMPARE(text(2), QStringLiteral("?"));
  QVERIFY2(tip(0).contains(
               "time: not known yet: /gpu:0 has not reported when it did the work (the call took 12.5 µs)"),
           qPrintable(tip(0)));
  QVERIFY2(tip(2).contains("time: not known: /gpu:0 never reported"), qPrintable(tip(2)));
  source.records[0].work = protocol::WorkTime::known;
  source.records[0].work_start_ns = 41'000;
  source.records[0].duration_ns = 3'000'000;
  source.sendStatus();  // it does not say that there is news
  source.status.device_times = 1;
  source.sendStatus();
  QTRY_COMPARE(text(0), QStringLiteral("3.00 ms"));
  QCOMPARE(text(1), QStringLiteral("…"));
  QVERIFY2(
      tip(0).contains(
          "time: 3.00 ms on /gpu:0, started 40.0 µs after the program called it (the call took 12.5 µs)"),
      qPrintable(tip(0)));
}

void TestRecords::fetchesOnlyTheRowsThatAreLookedAt() {
  test::FakeSource source(recordsOfMany(100'000));
  Session session;
  RecordsModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(model.rowCount(), 100'000);
  QTRY_VERIFY(session.cachedRecord(100'000));  // what it asks for by itself is here
  QSignalSpy changed(&model, &RecordsModel::dataChanged);
  source.asked.clear();
  QCOMPARE(model.index(49'999, RecordsModel::Op).data().toString(), QStringLiteral("…"));
  QCOMPARE(model.index(49'999, RecordsModel::Number).data().toString(), QStringLiteral("50,000"));
  QVERIFY(!model.index(49'999, 0).data(RecordsModel::HereRole).toBool());
  QTRY_VERIFY(!changed.isEmpty());
  QCOMPARE(model.index(49'999, RecordsModel::Op).data().toString(), QStringLiteral("▲ add"));
  QCOMPARE(source.askedFor<protocol::GetRecords>().size(), 1u);
  const auto top = changed.last()[0].toModelIndex(), bottom = changed.last()[1].toModelIndex();
  QVERIFY(top.row() <= 49'999 && 49'999 <= bottom.row());
  QVERIFY(bottom.row() - top.row() < 256);
}

void TestRecords::rowsAppearAsTheSessionGoesOn() {
  test::FakeSource source(recordsOfMany(10));
  Session session;
  RecordsModel model(&session);
  QAbstractItemModelTester tester(&model);
  session.setSource(&source);
  QTRY_COMPARE(model.rowCount(), 10);
  QSignalSpy inserted(&model, &RecordsModel::rowsInserted);
  source.records = recordsOfMany(15);
  source.status.records = 15;
  source.sendStatus();
  QCOMPARE(model.rowCount(), 15);
  QCOMPARE(inserted.size(), 1);
  QCOMPARE(inserted[0][1].toInt(), 10);
  test::FakeSource other;
  session.setSource(&other);
  QCOMPARE(model.rowCount(), 0);
}

void TestRecords::thePendingRowIsMarked() {
  test::FakeSource source(RecordsText("op a(x) -> y\nop b(y) -> pending").records);
  Session session;
  RecordsModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(model.rowCount(), 2);
  QSignalSpy changed(&model, &RecordsModel::dataChanged);
  source.stopAtNewest();
  QVERIFY(model.index(1, 0).data(RecordsModel::PendingRole).toBool());
  QVERIFY(!model.index(0, 0).data(RecordsModel::PendingRole).toBool());
  QVERIFY(!changed.isEmpty());
  QTRY_COMPARE(model.index(1, RecordsModel::Duration).data().toString(), QStringLiteral("next"));
  source.status.stopped_before.reset();
  source.sendStatus();
  QVERIFY(!model.index(1, 0).data(RecordsModel::PendingRole).toBool());
}

void TestRecords::rowsWhoseValuesAreLostSaySo() {
  test::FakeSource source(recordsOfMany(500));
  Session session;
  session.setSource(&source);
  RecordsModel model(&session);
  const auto shapes = [&](int row) { return model.index(row, RecordsModel::Shapes).data().toString(); };
  const auto isMarked = [&](int row) { return shapes(row).endsWith(QStringLiteral(" · values lost")); };
  QTRY_VERIFY(shapes(0) != QStringLiteral("…"));
  QVERIFY(!isMarked(0));
  // As a view does that has room for three rows.
  connect(&model, &QAbstractItemModel::dataChanged, this, [&] {
    for (int row = 0; row < 3; ++row) (void)shapes(row);
  });
  QVERIFY(source.askedFor<protocol::GetLostRecords>().empty());  // all can be recomputed
  source.lost = {1, 3};
  source.status.values_lost = 7;
  source.sendStatus();
  QTRY_VERIFY(isMarked(0));
  QVERIFY(!isMarked(1));
  QTRY_VERIFY(isMarked(2));
  QVERIFY(model.index(2, 0).data(RecordsModel::LostRole).toBool());
  QVERIFY(!model.index(1, 0).data(RecordsModel::LostRole).toBool());
  QVERIFY(
      model.index(2, RecordsModel::Shapes).data(Qt::AccessibleTextRole).toString().endsWith("values lost"));
  for (const int role : {int{Qt::ToolTipRole}, int{Qt::AccessibleDescriptionRole}}) {
    QVERIFY(model.index(2, 0).data(role).toString().contains("values lost: they can't be recomputed"));
    QVERIFY(!model.index(1, 0).data(role).toString().contains("lost"));
  }
  // Only visible rows are asked about, and those again after a change.
  std::size_t most = 0;
  for (const auto& get : source.askedFor<protocol::GetLostRecords>())
    most = std::max(most, get.records.size());
  QVERIFY2(most <= 3, qPrintable(QString::number(most)));
  source.lost = {2};
  source.status.values_lost = 8;
  source.sendStatus();
  QTRY_VERIFY_WITH_TIMEOUT(isMarked(1) && !isMarked(0) && !isMarked(2), tapedeck::patience);
  // What is known stays when the session has gone.
  source.setUp(false);
  QVERIFY(isMarked(1) && !isMarked(0));
}

void TestRecords::filtersWordsAndDirections_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<int>("direction");
  QTest::addColumn<QList<int>>("expected");
  QTest::newRow("op") << "matmul" << 0 << QList<int>{1, 4};
  QTest::newRow("case does not matter") << "MatMul" << 0 << QList<int>{1, 4};
  QTest::newRow("part of a word") << "mat" << 0 << QList<int>{1, 4};
  QTest::newRow("every word") << "matmul vjp" << 0 << QList<int>{4};
  QTest::newRow("variable") << "w:0" << 0 << QList<int>{1};
  QTest::newRow("scope") << "layer1" << 0 << QList<int>{2};
  QTest::newRow("cell label") << "[7]" << 0 << QList<int>{2};
  QTest::newRow("forward") << "" << 1 << QList<int>{1, 2};
  QTest::newRow("backward") << "" << 2 << QList<int>{3, 4};
  QTest::newRow("both") << "matmul" << 2 << QList<int>{4};
  QTest::newRow("a part alone") << "op:matmul is:back" << 0 << QList<int>{4};
  QTest::newRow("an open quote") << "\"forward op" << 1 << QList<int>{1, 2};
  QTest::newRow("nothing") << "softmax" << 0 << QList<int>{};
}

void TestRecords::filtersWordsAndDirections() {
  QFETCH(QString, text);
  QFETCH(int, direction);
  QFETCH(QList<int>, expected);
  test::FakeSource source(RecordsText(R"(
op matmul(x, W) -> y
op relu(y) -> z scope=net/layer1 cell=f:1
playback gradient(z) -> dW
  vjp matmul(dz) -> dW of=1
)")
                              .records);
  Session session;
  RecordsModel model(&session);
  QAbstractItemModelTester tester(&model);
  model.setCellLabels({{"f", "[7]"}});
  session.setSource(&source);
  QTRY_COMPARE(model.rowCount(), 4);
  model.setFilter(text, static_cast<Direction>(direction));
  QTRY_VERIFY(!model.scanning());
  QList<int> found;
  for (int row = 0; row < model.rowCount(); ++row) found << static_cast<int>(model.recordAt(row));
  QCOMPARE(found, expected);
  model.setFilter({}, Direction::both);
  QCOMPARE(model.rowCount(), 4);
}

void TestRecords::theFilterReadsALongTraceInPieces() {
  test::FakeSource source(recordsOfMany(25'000));
  Session session;
  RecordsModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(model.rowCount(), 25'000);
  QTRY_COMPARE(session.cursor(), 25'000u);
  QTRY_VERIFY(session.cachedRecord(25'000));  // what it asks for by itself is here
  source.automatic = false;
  source.asked.clear();
  model.setFilter("matmul", Direction::both);
  QCOMPARE(model.rowCount(), 0);
  int rows = 0, pieces = 0;
  while (model.scanning()) {
    QTRY_VERIFY(!source.waiting.empty());
    QCOMPARE(source.waiting.size(), 1u);
    source.answerNext();
    ++pieces;
    QVERIFY(model.rowCount() > rows);
    rows = model.rowCount();
    QCOMPARE(model.scanned(), static_cast<quint64>(pieces) * 1000);
  }
  QCOMPARE(rows, 250);
  QCOMPARE(pieces, 25);
  QVERIFY(source.askedFor<protocol::GetRecords>().empty());  // only numbers travel
}

void TestRecords::whatHadNotEndedIsLookedAtAgain() {
  auto records = recordsOfMany(200);
  for (auto& record : records) record.op = "add";
  records[49].state = records[199].state = protocol::RecordState::running;
  test::FakeSource source(records);
  Session session;
  RecordsModel model(&session);
  QAbstractItemModelTester tester(&model);
  session.setSource(&source);
  QTRY_COMPARE(model.rowCount(), 200);
  model.setFilter("is:failed", Direction::both);
  QTRY_VERIFY(!model.scanning());
  QCOMPARE(model.rowCount(), 0);
  const auto ends = [&](std::size_t number, protocol::RecordState state) {
    source.records[number - 1].state = state;
    ++source.status.ended;
    source.sendStatus();
  };
  ends(200, protocol::RecordState::failed);
  QTRY_COMPARE(model.rowCount(), 1);
  ends(50, protocol::RecordState::failed);
  QTRY_COMPARE(model.rowCount(), 2);
  QCOMPARE(model.recordAt(0), 50u);
  QCOMPARE(model.recordAt(1), 200u);
  source.records[199].state = protocol::RecordState::running;
  model.setFilter("is:running", Direction::both);
  QTRY_COMPARE(model.rowCount(), 1);
  ends(200, protocol::RecordState::done);
  QTRY_COMPARE(model.rowCount(), 0);
}

void TestRecords::theFilterGoesOnWithNewRecords() {
  test::FakeSource source(recordsOfMany(100));
  Session session;
  RecordsModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(model.rowCount(), 100);
  model.setFilter("matmul", Direction::both);
  QTRY_COMPARE(model.rowCount(), 1);
  source.records = recordsOfMany(300);
  source.status.records = 300;
  source.sendStatus();
  QTRY_COMPARE(model.rowCount(), 3);
  QCOMPARE(model.recordAt(2), 208u);
}

void TestRecords::theFilterKeepsTheCacheSmall() {
  test::FakeSource source(recordsOfMany(20'000));
  Session session;
  RecordsModel model(&session);
  session.setSource(&source);
  QTRY_VERIFY(session.cachedRecord(20'000));  // what it asks for by itself is here
  const int cached = session.cachedCount();
  model.setFilter("matmul", Direction::both);
  QTRY_VERIFY(!model.scanning());
  QCOMPARE(session.cachedCount(), cached);
}

void TestRecords::aNewFilterDropsTheOldSearch() {
  test::FakeSource source(recordsOfMany(5'000));
  Session session;
  RecordsModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 5'000u);
  QTRY_VERIFY(session.cachedRecord(5'000));  // what it asks for by itself is here
  source.automatic = false;
  model.setFilter("add", Direction::both);
  QTRY_COMPARE(source.waiting.size(), 1u);
  const auto old = source.waiting[0];
  model.setFilter("matmul", Direction::both);
  QTRY_VERIFY(source.waiting.size() == 1 && source.waiting[0].id != old.id);
  source.waiting.insert(source.waiting.begin(), old);  // it was answered already when the new one was asked
  source.answerNext();
  QCOMPARE(model.rowCount(), 0);
  source.automatic = true;
  source.answerNext();
  QTRY_VERIFY(!model.scanning());
  QCOMPARE(model.rowCount(), 50);
  QCOMPARE(model.recordAt(0), 8u);
}

void TestRecords::theFilterWorksOnWhatIsHereWhenTheSessionIsGone() {
  test::FakeSource source(recordsOfMany(200));
  Session session;
  RecordsModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 200u);
  session.record(1);
  QTRY_VERIFY(session.cachedRecord(1));
  source.setUp(false);
  model.setFilter("matmul", Direction::both);
  QTRY_VERIFY(!model.scanning());
  QCOMPARE(model.rowCount(), 2);
  QCOMPARE(model.index(0, RecordsModel::Op).data().toString(), QStringLiteral("▲ matmul"));
}

void TestRecords::rowsOfADeadSessionSayThatNobodyFetchedThem() {
  test::FakeSource source(recordsOfMany(1000));
  Session session;
  RecordsModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 1000u);
  QTRY_VERIFY(session.cachedRecord(1000));
  QCOMPARE(model.index(0, RecordsModel::Op).data().toString(), QStringLiteral("…"));
  source.automatic = false;
  QSignalSpy changed(&model, &RecordsModel::dataChanged);
  source.setUp(false);
  QVERIFY(!changed.isEmpty());
  QCOMPARE(model.index(0, RecordsModel::Op).data().toString(), QStringLiteral("not fetched"));
  QCOMPARE(model.index(0, RecordsModel::Shapes).data().toString(), QString());
  QCOMPARE(model.index(0, RecordsModel::Number).data().toString(), QStringLiteral("1"));
  QCOMPARE(model.index(0, RecordsModel::Op).data(Qt::ToolTipRole).toString(),
           QStringLiteral("Op 1 was not fetched before the session ended."));
  QVERIFY(model.index(999, RecordsModel::Op).data().toString() != QStringLiteral("…"));
}

void TestRecords::rowsAndRecordsFindEachOther() {
  test::FakeSource source(recordsOfMany(300));
  Session session;
  RecordsModel model(&session);
  session.setSource(&source);
  QTRY_COMPARE(model.rowCount(), 300);
  QCOMPARE(model.recordAt(0), 1u);
  QCOMPARE(model.recordAt(300), 0u);
  QCOMPARE(model.recordAt(-1), 0u);
  QCOMPARE(model.rowOf(0), -1);
  QCOMPARE(model.rowOf(300), 299);
  QCOMPARE(model.rowOf(4711), 299);
  model.setFilter("matmul", Direction::both);
  QTRY_COMPARE(model.rowCount(), 3);
  QCOMPARE(model.rowOf(7), -1);
  QCOMPARE(model.rowOf(8), 0);
  QCOMPARE(model.rowOf(107), 0);
  QCOMPARE(model.rowOf(108), 1);
}

TAPEDECK_TEST(TestRecords)
#include "tst_records.moc"
