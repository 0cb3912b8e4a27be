// Cells' fates, what the session says of itself, and a run with nobody there: with a session that is not
// real.
#include "app/control/batch_run.h"
#include "app/control/cell_names.h"
#include "app/control/session_notices.h"
#include "app/control/session_options.h"
#include "app/control/session_text.h"
#include "tests/control/control_world.h"

using namespace tapedeck;
using namespace tapedeck::app;
using namespace tapedeck::test;

namespace {

struct Told {
  QStringList now;  ///< what is shown
  explicit Told(SessionNotices& notices) {
    QObject::connect(&notices, &SessionNotices::told,
                     [this](SessionNotices::Kind kind, const QString& sentence, bool restart) {
                       now = {QString(kind == SessionNotices::Kind::error ? "error: " : "warning: ") +
                              sentence + (restart ? " [restart]" : "")};
                     });
    QObject::connect(&notices, &SessionNotices::withdrawn, [this] { now.clear(); });
  }
};

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
  }
};

}  // namespace

class TestRuns : public QObject {
  Q_OBJECT

 private:
  QString text(ControlWorld& world) {
    return sessionText(world.stepper, world.kernel, world.session, world.runner);
  }

 private slots:
  void cellsAreCalledAsTheUserSeesThem() {
    Document document;
    document.parse(controlNotebook(), "names.ipynb");
    QCOMPARE(cellName(document, "a"), QString("the second cell"));
    document.setExecutionCount("a", 12);
    QCOMPARE(cellName(document, "a"), QString("cell [12]"));
    QCOMPARE(cellName(document, "gone"), QString());
    for (int i = 0; i < 20; ++i) document.insertCell(0, CellType::code);
    QCOMPARE(cellName(document, document.cell(10).id), QString("the 11th cell"));
    QCOMPARE(cellName(document, "text"), QString("the 21st cell"));
    QCOMPARE(cellName(document, "empty"), QString("the 23rd cell"));
  }

  void whereThereIsNoCodeTheSentenceSaysWhy() {
    Document document;
    QCOMPARE(codeCellFrom(document, 0), -1);  // one empty cell
    QCOMPARE(noCodeCell(document),
             QString("There is no code to run: the notebook has no code cell that holds something."));
    document.parse(controlNotebook(), "names.ipynb");
    QCOMPARE(codeCellFrom(document, -1), 1);
    QCOMPARE(codeCellFrom(document, 2), 3);
    QCOMPARE(codeCellFrom(document, 4), -1);
  }

  void theCellThatRanWhenTheSessionEndedIsMarkedAndSaysSo() {
    ControlWorld world;
    QHash<QString, CellState> states;
    connect(&world.runner, &CellRunner::cellStateChanged,
            [&](const QString& id, CellState state) { states[id] = state; });
    world.connectEngine();
    world.runner.run({"a", "b"});
    world.kernel.beginCell("a", 1);
    world.die("The session process was killed (signal 9).");
    emit world.kernel.executionFinished("b", "aborted", 0);
    QCOMPARE(states["a"], CellState::killed);
    QCOMPARE(states["b"], CellState::idle);
    QCOMPARE(world.document.cell(1).outputs.size(), std::size_t{1});
    QCOMPARE(QString::fromStdString(world.document.cell(1).outputs[0]["text"]),
             QString("The session ended while this cell ran. The session process was killed (signal 9).\n"));
    QVERIFY(world.document.cell(3).outputs.empty());
    QVERIFY(!world.runner.busy());
    // Restarted by the user, the cell says no more than that.
    world.runner.run({"a"});
    world.kernel.becomeReady(Engine::present);
    world.kernel.beginCell("a", 1);
    world.kernel.restart();
    emit world.kernel.executionFinished("a", "ended", 1);
    QCOMPARE(QString::fromStdString(world.document.cell(1).outputs[0]["text"]),
             QString("The session ended while this cell ran.\n"));
  }

  void whatOnlyASessionKnowsStartsOneOnce() {
    ControlWorld world;
    world.runner.begin();
    world.runner.begin();
    QCOMPARE(world.kernel.calls, QStringList{"start"});
    world.die();
    world.runner.begin();
    QCOMPARE(world.kernel.calls, QStringList{"start"});
  }

  void everyStateHasItsWords() {
    ControlWorld world;
    QCOMPARE(text(world), QString("no session: it starts with the first run"));
    world.kernel.become(KernelState::starting);
    QCOMPARE(text(world), QString("session: starting …"));
    world.kernel.becomeReady(Engine::present);
    QCOMPARE(text(world), QString("session: waiting for its engine …"));
    world.source.setUp(true);
    world.settle();
    QCOMPARE(text(world), QString("session: ready"));
    world.current = 1;
    world.stepper.stepOp();
    QCOMPARE(text(world), QString("session: starting the cell, to stop before its first op"));
    world.gate(protocol::GateState::will_stop);
    world.kernel.beginCell("a", 4);
    QCOMPARE(text(world), QString("session: running cell [4] to the next stop"));
    world.gate(protocol::GateState::open);
    QCOMPARE(text(world), QString("session: running cell [4]"));
    world.stopBefore(3);
    QCOMPARE(text(world), QString("session: paused before matmul, cell [4] line 2"));
    world.source.setUp(false);
    QCOMPARE(text(world), QString("session: running cell [4]; its engine does not answer"));
    world.die();
    QCOMPARE(text(world), QString("session: ended; what it showed is still here"));
    world.kernel.becomeReady(Engine::missing);
    QCOMPARE(text(world), QString("session: ready, without the engine"));
  }

  void aStopInAFileNamesIt() {
    ControlWorld world;
    world.connectEngine();
    world.runner.run({"a"});
    world.kernel.beginCell("a", 1);
    protocol::Record record;
    record.number = 1;
    record.op = "exp";
    record.kind = protocol::RecordKind::vjp;
    record.state = protocol::RecordState::pending;
    record.file = "/home/user/layers.py";
    world.source.records = {record};
    world.source.status.line = 12;
    world.source.stopAtNewest();
    world.session.record(1);
    world.settle();
    QCOMPARE(text(world), QString("session: paused before the VJP of exp, layers.py line 12"));
  }

  void theMarkedLineChangesWithTheStopAlone() {
    ControlWorld world;
    world.connectEngine();
    QCOMPARE(markedLine(world.session), MarkedLine{});
    world.stopBefore(4);
    const MarkedLine stop = markedLine(world.session);
    QCOMPARE(stop.cell, QString("a"));
    QVERIFY(stop.pending && stop.line == 2 && stop.record == 4);
    world.source.sendStatus();  // the heartbeat
    QCOMPARE(markedLine(world.session), stop);
    world.session.setCursor(1);
    world.settle();
    QCOMPARE(markedLine(world.session), (MarkedLine{"a", 1, false, 1}));
    world.session.follow();
    world.settle();
    QCOMPARE(markedLine(world.session), stop);
  }

  void everySentenceOfTheSessionIsToldAndTakenBack() {
    ControlWorld world;
    SessionNotices notices(&world.kernel, &world.session);
    Told told(notices);
    const auto notice = [&](KernelNotice what, const char* sentence) {
      emit world.kernel.noticed(what, sentence);
    };
    notice(KernelNotice::silent, "It does not answer.");
    QCOMPARE(told.now, QStringList{"warning: It does not answer. [restart]"});
    notice(KernelNotice::answersAgain, "");
    QVERIFY(told.now.isEmpty());
    notice(KernelNotice::withoutEngine, "It runs without the engine.");
    notice(KernelNotice::answersAgain, "");
    QCOMPARE(told.now, QStringList{"warning: It runs without the engine. [restart]"});
    emit world.source.refused("It speaks another version.");
    QCOMPARE(told.now, QStringList{"error: It speaks another version."});
    notice(KernelNotice::unreachable, "Its sockets fail.");
    QCOMPARE(told.now, QStringList{"error: Its sockets fail. [restart]"});
    emit world.source.received(0, protocol::Failure{"There is no memory for that.", "memory"});
    QCOMPARE(told.now, QStringList{"error: There is no memory for that."});
    world.die("It was killed.");
    QCOMPARE(told.now, QStringList{"error: It was killed. [restart]"});
    world.kernel.restart();
    QVERIFY(told.now.isEmpty());
  }

  void whatIsChosenWithoutASessionHoldsForTheNext() {
    ControlWorld world;
    SessionOptions options(&world.session);
    QVERIFY(options.recording() && !options.breakAtCellStart());
    options.setRecording(false);
    options.setBreakAtCellStart(true);
    options.setBudget(1 << 20);
    QVERIFY(!options.recording() && options.breakAtCellStart());
    for (int session = 0; session < 2; ++session) {
      world.source.asked.clear();
      world.connectEngine();
      const auto sent = world.source.askedFor<protocol::SetOptions>();
      QCOMPARE(sent.size(), std::size_t{3});
      QVERIFY(sent[0].recording == std::vector<bool>{false});
      QVERIFY(sent[1].break_at_cell_start == std::vector<bool>{true});
      QVERIFY(sent[2].budget_bytes == std::vector<std::uint64_t>{1 << 20});
      QVERIFY(options.recording());  // as the session says, which has its own mind here
      world.die();
    }
    QVERIFY(!options.recording());
  }

  void aRunWithNobodyThereCollectsEverything() {
    Batch batch;
    batch.start();
    batch.remember();
    batch.runCells();
    QCOMPARE(batch.collected, 1);
    QVERIFY2(!batch.failed, qPrintable(batch.said.join('\n')));
    QCOMPARE(batch.run.records().size(), std::size_t{3});
    QCOMPARE(batch.run.lastTape().size(), std::size_t{3});
    QCOMPARE(batch.run.series().names(), QStringList{"loss"});
    QCOMPARE(batch.finished, 1);
    QCOMPARE(batch.kernel.state(), KernelState::stopped);
  }

  void aFailureOfAnyAnswerIsToldAndTheRestIsCollected_data() {
    QTest::addColumn<int>("which");
    QTest::addColumn<QString>("sentence");
    QTest::addColumn<int>("records");
    QTest::addColumn<int>("tape");
    QTest::newRow("status") << 0 << "The session's state could not be had: out of luck" << 0 << 0;
    QTest::newRow("records") << 1 << "The session's records could not be had: out of luck" << 0 << 0;
    QTest::newRow("tape") << 2 << "The session's last tape could not be had: out of luck" << 3 << 0;
    QTest::newRow("curves") << 3 << "The session's curves could not be had: out of luck" << 3 << 3;
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
    // Which answer fails: the first of its kind, of the curves every one.
    for (int turns = 0; turns < 100 && batch.finished == 0; ++turns) {
      batch.settle();
      if (batch.source.waiting.empty()) continue;
      const auto next = batch.source.waiting.front();
      const bool hit = (which == 0 && std::holds_alternative<protocol::GetStatus>(next.message)) ||
                       (which == 1 && std::holds_alternative<protocol::GetRecords>(next.message)) ||
                       (which == 2 && std::holds_alternative<protocol::GetTape>(next.message)) ||
                       (which == 3 && std::holds_alternative<protocol::GetSeries>(next.message));
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
    QCOMPARE(batch.run.lastTape().size(), std::size_t(tape));
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

QTEST_GUILESS_MAIN(TestRuns)
#include "tst_runs.moc"
