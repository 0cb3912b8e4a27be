// Cells' fates, what the session says of itself, and a run without a user: with a session that is not
// real.
#include "app/control/cell_names.h"
#include "app/control/session_notices.h"
#include "app/control/session_options.h"
#include "app/control/session_text.h"
#include "inspector/model/breakpoints/breakpoints_model.h"
#include "tests/control/control_world.h"
#include "tests/test_program.h"

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

/// Cells wait for the options and breakpoints, as in the window.
struct Waiting {
  ControlWorld& world;
  SessionOptions options{&world.session};
  inspector::BreakpointsModel breakpoints{&world.session};

  explicit Waiting(ControlWorld& of) : world(of) {
    world.runner.setHold([this] { return options.onTheirWay() || breakpoints.onTheirWay(); });
    QObject::connect(&options, &SessionOptions::arrived, &world.runner, &CellRunner::releaseHold);
    QObject::connect(&breakpoints, &inspector::BreakpointsModel::arrived, &world.runner,
                     &CellRunner::releaseHold);
  }
  ~Waiting() { world.runner.setHold({}); }
  int executed() const { return static_cast<int>(world.kernel.calls.filter("execute ").size()); }
};

}  // namespace

class TestRuns : public QObject {
  Q_OBJECT

 private:
  QString text(ControlWorld& world) {
    return sessionText(world.stepper, world.kernel, world.session, world.runner);
  }

 private slots:
  void whatRunsIsToldAsItWasSent() {
    ControlWorld world;
    world.connectEngine();
    QStringList began;
    connect(&world.runner, &CellRunner::began, this,
            [&](const QString& cell, int count, const QString& code) {
              began << QString("%1 [%2] %3").arg(cell).arg(count).arg(code);
            });
    world.runner.run({"a"});
    world.document.setSource(world.document.indexOf("a"), "x = f(3)");  // typed while it waits
    emit world.kernel.executionStarted("a", 4);
    QCOMPARE(began, QStringList("a [4] x = f(1)"));
    emit world.kernel.executionFinished("a", "ok", 4);
    emit world.kernel.executionStarted("b", 5);  // that was not sent from here
    QCOMPARE(began.size(), 1);
  }

  void whatASessionLeavesOutIsNotedInItsCell() {
    ControlWorld world;
    emit world.kernel.outputsLeftOut("a", 3);
    // With the next output the cell is cleared, though there is no room for that one.
    emit world.kernel.outputCleared("a", true);
    emit world.kernel.outputsLeftOut("a", 2);
    const nlohmann::ordered_json& outputs = world.document.cell(1).outputs;
    QCOMPARE(outputs.size(), std::size_t{1});
    const QString note = QString::fromStdString(outputs[0]["text"].get<std::string>());
    QVERIFY2(note.startsWith("[… 2 more outputs were left out"), qPrintable(note));
  }

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
             QString("There is no code to run: the notebook has no code cell with any code."));
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

  void aProgramsOwnSwitchIsNotUndoneByAnotherOption() {
    ControlWorld world;
    SessionOptions options(&world.session);
    world.connectEngine();
    options.setFunctionsEagerly(true);
    QVERIFY(world.source.askedFor<protocol::SetOptions>().back().functions_eagerly == true);
    QVERIFY(options.functionsEagerly() == protocol::functions_eager_at_start);  // as the session says
    world.settle();                                                             // it is answered
    options.setRecording(false);
    QVERIFY(!world.source.askedFor<protocol::SetOptions>().back().functions_eagerly);
  }

  void whatIsChosenWithoutASessionHoldsForTheNext() {
    ControlWorld world;
    SessionOptions options(&world.session);
    QVERIFY(options.recording() && !options.breakAtCellStart() && !options.replayOnCpu());
    options.setRecording(false);
    options.setBreakAtCellStart(true);
    options.setReplayOnCpu(true);
    options.setFunctionsEagerly(false);
    options.setBudget(1 << 20);
    QVERIFY(!options.recording() && options.breakAtCellStart() && options.replayOnCpu());
    for (int session = 0; session < 2; ++session) {
      world.source.asked.clear();
      world.connectEngine();
      const auto sent = world.source.askedFor<protocol::SetOptions>();
      QCOMPARE(sent.size(), std::size_t{1});
      QVERIFY(sent[0].recording == false);
      QVERIFY(sent[0].break_at_cell_start == true);
      QVERIFY(sent[0].replay_on_cpu == true);
      QVERIFY(sent[0].functions_eagerly == false);
      QVERIFY(sent[0].budget_bytes == 1 << 20);
      QVERIFY(options.recording());  // as the session says, which has its own mind here
      world.die();
    }
    QVERIFY(!options.recording());
  }

  // It goes to the session by another way than the cell: the cell may be there first.
  void aCellWaitsUntilTheSessionHasWhatWasChosen() {
    ControlWorld world;
    SessionOptions options(&world.session);
    world.runner.setHold([&] { return options.onTheirWay(); });
    connect(&options, &SessionOptions::arrived, &world.runner, &CellRunner::releaseHold);
    options.setBreakAtCellStart(true);
    world.source.automatic = false;
    world.runner.run({"a"});
    world.source.setUp(true);
    world.kernel.becomeReady(Engine::present);
    world.settle();
    QVERIFY(options.onTheirWay());
    const auto executed = [&] { return world.kernel.calls.filter("execute ").size(); };
    QCOMPARE(executed(), 0);
    world.source.answerAll();
    world.settle();
    QCOMPARE(executed(), 1);
    // A choice in a session that runs, too.
    options.setRecording(false);
    world.runner.run({"b"});
    QCOMPARE(executed(), 1);
    world.source.answerAll();
    world.settle();
    QCOMPARE(executed(), 2);
  }

  // A process is identified by its Welcome, which comes after the connection: requests between
  // the two count for nothing.
  void aCellOfTheNextSessionWaitsAsThatOfTheFirst() {
    for (const bool readyFirst : {false, true}) {
      ControlWorld world;
      Waiting waiting(world);
      waiting.options.setBreakAtCellStart(true);
      waiting.breakpoints.toggleLine("a", 1);
      world.connectEngine();
      world.welcome(1);
      world.settle();
      world.die();
      world.source.automatic = false;
      world.runner.run({"a"});
      world.source.setUp(true);
      if (readyFirst) world.kernel.becomeReady(Engine::present);
      QCOMPARE(waiting.executed(), 0);
      world.source.asked.clear();
      world.welcome(2);
      QVERIFY(waiting.options.onTheirWay() && waiting.breakpoints.onTheirWay());
      QCOMPARE(world.source.askedFor<protocol::SetOptions>().size(), std::size_t{1});
      QCOMPARE(world.source.askedFor<protocol::SetBreakpoints>().size(), std::size_t{1});
      if (!readyFirst) world.kernel.becomeReady(Engine::present);
      QCOMPARE(waiting.executed(), 0);
      world.source.answerAll();
      world.settle();
      QVERIFY(!waiting.options.onTheirWay() && !waiting.breakpoints.onTheirWay());
      QCOMPARE(waiting.executed(), 1);
    }
  }

  void aCellWaitsForNobodyWhoIsGone() {
    FakeSource silent;
    silent.up = false;
    ControlWorld world;
    Waiting waiting(world);
    world.connectEngine();
    world.source.automatic = false;
    waiting.options.setRecording(false);
    waiting.breakpoints.toggleLine("a", 1);
    world.runner.run({"a"});
    QCOMPARE(waiting.executed(), 0);
    world.source.setUp(false);  // its engine alone: the cell can run
    world.settle();
    QCOMPARE(waiting.executed(), 1);
    world.source.setUp(true);
    world.runner.run({"b"});
    QCOMPARE(waiting.executed(), 1);
    world.session.setSource(&silent);
    world.settle();
    QCOMPARE(waiting.executed(), 2);
  }

  void aCellHeldDuringARestartWaitsForTheNextSession() {
    ControlWorld world;
    Waiting waiting(world);
    world.connectEngine();
    world.source.automatic = false;
    waiting.breakpoints.toggleLine("a", 1);
    world.runner.run({"a"});
    QCOMPARE(waiting.executed(), 0);
    world.source.setUp(false);
    world.kernel.restart();
    world.settle();
    QCOMPARE(waiting.executed(), 0);
    world.source.setUp(true);
    world.kernel.becomeReady(Engine::present);
    world.settle();
    QCOMPARE(waiting.executed(), 0);
    world.source.answerAll();
    world.settle();
    QCOMPARE(waiting.executed(), 1);
  }
};

TAPEDECK_TEST(TestRuns)
#include "tst_runs.moc"
