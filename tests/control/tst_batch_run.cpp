// A run without a user always ends. With a fake session.
#include "app/control/batch_run.h"
#include "tests/control/control_world.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using namespace tapedeck::test;

namespace {

struct Batch {
  Document document;
  FakeKernel kernel;
  FakeSource source;
  inspector::Session session;
  BatchRun run{&document, &kernel, &session};
  QStringList said;
  int collected = 0, finished = 0;
  bool failed = false;

  Batch() {
    document.parse(controlNotebook(), "batch.ipynb");
    source.up = false;
    session.setSource(&source);
    QObject::connect(&run, &BatchRun::said, [this](const QString& text) { said << text; });
    QObject::connect(&run, &BatchRun::collected, [this](bool trouble) {
      ++collected;
      failed = trouble;
    });
    QObject::connect(&run, &BatchRun::finished, [this] { ++finished; });
  }
  void settle() {
    for (int i = 0; i < 20; ++i) QCoreApplication::processEvents();
  }
  void start(Engine engine = Engine::present, bool connected = true) {
    run.start();
    kernel.becomeReady(engine);
    if (connected) source.setUp(true);
    settle();
  }
  void runCells() {
    int count = 0;
    for (const char* cell : {"a", "empty", "b"}) {
      kernel.beginCell(cell, ++count);
      kernel.endCell(cell, "ok", count);
    }
    settle();
  }
  bool told(const QString& part) const {
    return std::any_of(said.begin(), said.end(), [&](const QString& text) { return text.contains(part); });
  }
  /// Three records: an op, a playback of tape 7, and a VJP in it; and one point of a curve.
  void remember() {
    for (int i = 1; i <= 3; ++i) {
      protocol::Record record;
      record.number = static_cast<quint64>(i);
      record.op = "multiply";
      record.tape = 7;
      record.kind = i == 2   ? protocol::RecordKind::playback
                    : i == 3 ? protocol::RecordKind::vjp
                             : protocol::RecordKind::op;
      record.parent = i == 3 ? 2 : 0;
      source.records.push_back(record);
    }
    source.status.records = source.status.finished = 3;
    protocol::SeriesPoint point;
    point.series = "loss";
    point.value = 0.5;
    source.points = {point};
    source.status.series_points = 1;
    protocol::Picture picture;
    picture.name = "weights";
    picture.limits = {0, 1};
    picture.counts = {5};
    source.pictures = {picture};
    source.status.pictures = 1;
  }
};

}  // namespace

class TestBatchRun : public QObject {
  Q_OBJECT

 private slots:
  void aRunWithNobodyThereCollectsEverything() {
    Batch batch;
    batch.start();
    batch.remember();
    batch.runCells();
    QCOMPARE(batch.collected, 1);
    QVERIFY2(!batch.failed, qPrintable(batch.said.join('\n')));
    QCOMPARE(batch.run.records().size(), std::size_t{3});
    QCOMPARE(batch.run.lastTape().records.size(), std::size_t{3});
    QCOMPARE(batch.run.series().names(), QStringList{"loss"});
    QCOMPARE(batch.run.pictures().histogramNames(), QStringList{"weights"});
    QCOMPARE(batch.finished, 1);
    QCOMPARE(batch.kernel.state(), KernelState::stopped);
  }

  void ofManyRecordsTheNewestAreCollected() {
    Batch batch;
    batch.start();
    batch.remember();
    batch.source.records.resize(123'456);
    for (std::size_t i = 0; i < batch.source.records.size(); ++i) batch.source.records[i].number = i + 1;
    batch.source.records.back().kind = protocol::RecordKind::playback;
    batch.source.records.back().tape = 7;
    batch.source.status.records = batch.source.status.finished = batch.source.records.size();
    batch.runCells();
    QVERIFY2(!batch.failed, qPrintable(batch.said.join('\n')));
    QCOMPARE(batch.run.records().size(), std::size_t{100'000});
    QCOMPARE(batch.run.omittedRecords(), quint64{23'456});
    QVERIFY(batch.run.records().front().find("23457") != std::string::npos);
    QVERIFY(batch.run.records().back().find("123456") != std::string::npos);
    QCOMPARE(batch.run.newestRecord(), quint64{123'456});
    QCOMPARE(batch.run.lastTape().records.size(), std::size_t{4});
  }

  void aFailureOfAnyAnswerIsToldAndTheRestIsCollected_data() {
    QTest::addColumn<int>("which");
    QTest::addColumn<QString>("sentence");
    QTest::addColumn<int>("records");
    QTest::addColumn<int>("tape");
    QTest::newRow("status") << 0 << "The session's state could not be fetched: out of luck" << 0 << 0;
    QTest::newRow("records") << 1 << "The session's records could not be fetched: out of luck" << 0 << 0;
    QTest::newRow("tape") << 2 << "The session's last tape could not be fetched: out of luck" << 3 << 0;
    QTest::newRow("curves") << 3 << "The session's curves could not be fetched: out of luck" << 3 << 3;
    QTest::newRow("pictures") << 4 << "The session's histograms and images could not be fetched: out of luck"
                              << 3 << 3;
  }
  void aFailureOfAnyAnswerIsToldAndTheRestIsCollected() {
    QFETCH(int, which);
    QFETCH(QString, sentence);
    QFETCH(int, records);
    QFETCH(int, tape);
    Batch batch;
    batch.start();
    batch.source.automatic = false;
    batch.remember();
    batch.runCells();
    // Which answer fails: the first of its kind, of the curves and pictures every one.
    for (int turns = 0; turns < 100 && batch.finished == 0; ++turns) {
      batch.settle();
      if (batch.source.waiting.empty()) continue;
      const auto next = batch.source.waiting.front();
      const bool hit = (which == 0 && protocol::holds_alternative<protocol::GetStatus>(next.message)) ||
                       (which == 1 && protocol::holds_alternative<protocol::GetRecords>(next.message)) ||
                       (which == 2 && protocol::holds_alternative<protocol::GetTape>(next.message)) ||
                       (which == 3 && protocol::holds_alternative<protocol::GetSeries>(next.message)) ||
                       (which == 4 && protocol::holds_alternative<protocol::GetPictures>(next.message));
      if (!hit) {
        batch.source.answerNext();
        continue;
      }
      batch.source.waiting.erase(batch.source.waiting.begin());
      emit batch.source.received(next.id, protocol::Failure{"out of luck", "test"});
    }
    QCOMPARE(batch.collected, 1);
    QCOMPARE(batch.finished, 1);
    QVERIFY(batch.failed);
    QVERIFY2(batch.told(sentence), qPrintable(batch.said.join('\n')));
    QCOMPARE(batch.run.records().size(), std::size_t(records));
    QCOMPARE(batch.run.lastTape().records.size(), std::size_t(tape));
  }

  void whereTheEngineConnectsLateTheRunWaitsForIt() {
    Batch batch;
    batch.start(Engine::present, false);
    batch.remember();
    batch.runCells();
    QCOMPARE(batch.run.state(), BatchState::connecting);
    QCOMPARE(batch.collected, 0);
    batch.source.setUp(true);
    batch.settle();
    QCOMPARE(batch.run.records().size(), std::size_t{3});
    QCOMPARE(batch.finished, 1);
  }

  void withoutTheEngineTheNotebookIsAllThereIs() {
    Batch batch;
    batch.start(Engine::missing, false);
    batch.runCells();
    QCOMPARE(batch.finished, 1);
    QVERIFY(batch.told("There are no records"));
    QVERIFY(batch.run.records().empty());
  }

  void theEndOfTheProcessEndsTheRun_data() {
    QTest::addColumn<QString>("when");
    for (const char* when : {"starting", "in a cell", "collecting", "connecting"})
      QTest::newRow(when) << when;
  }
  void theEndOfTheProcessEndsTheRun() {
    QFETCH(QString, when);
    Batch batch;
    if (when == "starting") {
      batch.run.start();
    } else if (when == "in a cell") {
      batch.start();
      batch.kernel.beginCell("a", 1);
    } else {
      batch.start(Engine::present, when == "collecting");
      batch.source.automatic = false;
      batch.runCells();
      QCOMPARE(batch.run.state(), when == "collecting" ? BatchState::collecting : BatchState::connecting);
    }
    if (batch.source.up) batch.source.setUp(false);
    batch.kernel.become(KernelState::dead, "It was killed.");
    if (when == "in a cell") {
      QCOMPARE(batch.collected, 0);  // the killed cell is marked first
      emit batch.kernel.executionFinished("a", "ended", 1);
      emit batch.kernel.executionFinished("empty", "aborted", 0);
      emit batch.kernel.executionFinished("b", "aborted", 0);
      QVERIFY(!batch.document.cell(1).outputs.empty());
    }
    batch.settle();
    QCOMPARE(batch.collected, 1);
    QCOMPARE(batch.finished, 1);
    QVERIFY(batch.failed);
    QVERIFY2(batch.told("It was killed.") || when == "collecting", qPrintable(batch.said.join('\n')));
  }

  void aCellThatAsksGetsAnEmptyLineOnceAndIsInterruptedThen() {
    Batch batch;
    batch.start();
    batch.kernel.calls.clear();
    batch.kernel.beginCell("a", 1);
    emit batch.kernel.inputRequested("a", "Name? ", false);
    QCOMPARE(batch.kernel.calls, QStringList{"input "});
    QVERIFY2(batch.told("cell [1] asks for input (\"Name?\")"), qPrintable(batch.said.join('\n')));
    emit batch.kernel.inputRequested("a", "Name? ", false);
    QCOMPARE(batch.kernel.calls, (QStringList{"input ", "interrupt"}));
    QVERIFY(batch.told("asks for input again"));
  }

  void aBreakpointOfTheCodesOwnHoldsNobodyUp() {
    Batch batch;
    batch.start();
    batch.kernel.beginCell("a", 1);
    batch.remember();
    batch.source.stopAtNewest("breakpoint");
    batch.settle();
    const auto commands = batch.source.askedFor<protocol::SetGate>();
    QCOMPARE(commands.size(), std::size_t{1});
    QVERIFY(commands[0].command == protocol::GateCommand::run);
  }

  void aNotebookWithoutCodeIsDoneAtOnce() {
    Batch batch;
    for (const char* id : {"a", "empty", "b"}) batch.document.removeCell(batch.document.indexOf(id));
    batch.run.start();
    QCOMPARE(batch.collected, 1);
    QCOMPARE(batch.finished, 1);
    QVERIFY(!batch.failed);
    QCOMPARE(batch.kernel.state(), KernelState::stopped);
  }
};

TAPEDECK_TEST(TestBatchRun)
#include "tst_batch_run.moc"
