// What each key means in each state of the session.
#include "tests/control/control_world.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using namespace tapedeck::test;
using State = StepperState;

namespace {

const QMap<QString, State> states = {{"no session", State::noSession},
                                     {"connecting", State::connecting},
                                     {"without engine", State::withoutEngine},
                                     {"idle", State::idle},
                                     {"arming", State::arming},
                                     {"running", State::running},
                                     {"stopped", State::stopped}};

void bring(ControlWorld& world, State state) {
  switch (state) {
    case State::noSession:
      return;
    case State::connecting:
      return world.kernel.become(KernelState::starting);
    case State::withoutEngine:
      return world.kernel.becomeReady(Engine::missing);
    case State::idle:
      return world.connectEngine();
    case State::arming:
      world.connectEngine();
      world.stepper.stepOp();
      return world.settle();
    case State::running:
    case State::stopped:
      world.connectEngine();
      world.runner.run({"a"});
      world.kernel.beginCell("a", 1);
      if (state == State::stopped) world.stopBefore(6);
      return world.settle();
  }
}

void act(ControlWorld& world, const QString& intent) {
  if (intent == "step op") world.stepper.stepOp();
  if (intent == "step line") world.stepper.stepLine();
  if (intent == "step out") world.stepper.stepOut();
  if (intent == "step back") world.stepper.stepBack();
  if (intent == "pause") world.stepper.pause();
  if (intent == "continue") world.stepper.resume();
  if (intent == "death") world.die();
  if (intent == "disconnect") world.source.setUp(false);
  if (intent == "cell finished" && !world.runner.runningCell().isEmpty()) {
    world.source.status.gate = protocol::GateState::open;
    world.source.status.stopped_before.reset();
    world.source.sendStatus();
    world.kernel.endCell(world.runner.runningCell(), "ok", 1);
  }
  if (intent == "restart") {
    world.source.setUp(false);
    world.kernel.restart();
  }
  world.settle();
}

}  // namespace

class TestStepper : public QObject {
  Q_OBJECT

 private:
  /// Acts, and compares the result: "chose a; start; connecting", the last being the state.
  void check(ControlWorld& world, const QString& intent, const QString& expected) {
    world.kernel.calls.clear();
    world.source.asked.clear();
    world.refusals.clear();
    world.chosen.clear();
    const auto cursor = world.session.cursor();
    act(world, intent);
    QStringList happened;
    for (const QString& id : world.chosen) happened << "chose " + id;
    happened << world.gateCommands() << world.kernel.calls;
    if (world.session.cursor() != cursor && world.session.live())
      happened << QString("cursor %1").arg(world.session.cursor());
    for (const QString& text : world.refusals) {
      QVERIFY2(text.endsWith('.'), qPrintable(text));
      happened << "refused";
    }
    happened << states.key(world.stepper.state());
    QCOMPARE(happened.join("; "), expected);
  }

 private slots:
  void everyKeyInEveryState_data() {
    QTest::addColumn<QString>("state");
    QTest::addColumn<QString>("intent");
    QTest::addColumn<QString>("expected");
    const char* const intents[] = {"step op",  "step line", "step out",   "step back",     "pause",
                                   "continue", "death",     "disconnect", "cell finished", "restart"};
    const QMap<QString, QStringList> table = {
        {"no session",
         {"chose a; start; connecting", "chose a; start; connecting", "refused; no session",
          "refused; no session", "refused; no session", "chose a; start; connecting", "no session",
          "no session", "no session", "restart; connecting"}},
        {"connecting",
         {"chose a; connecting", "chose a; connecting", "refused; connecting", "refused; connecting",
          "refused; connecting", "chose a; connecting", "no session", "connecting", "connecting",
          "restart; connecting"}},
        {"without engine",
         {"refused; without engine", "refused; without engine", "refused; without engine",
          "refused; without engine", "refused; without engine", "chose a; execute a; without engine",
          "no session", "without engine", "without engine", "restart; connecting"}},
        {"idle",
         {"chose a; gate step_op; arming", "chose a; gate step_line; arming", "refused; idle",
          "refused; idle", "refused; idle", "chose a; execute a; running", "no session", "connecting", "idle",
          "restart; connecting"}},
        {"arming",
         {"arming", "arming", "refused; arming", "refused; arming", "arming", "gate run; execute a; running",
          "no session", "connecting", "arming", "restart; connecting"}},
        {"running",
         {"gate step_op; running", "gate step_line; running", "refused; running", "refused; running",
          "gate pause; running", "gate run; running", "no session", "connecting", "idle",
          "restart; connecting"}},
        {"stopped",
         {"gate step_op; stopped", "gate step_line; stopped", "gate step_out; stopped", "cursor 5; stopped",
          "stopped", "gate run; stopped", "no session", "connecting", "idle", "restart; connecting"}}};
    QCOMPARE(table.size(), states.size());
    for (auto row = table.begin(); row != table.end(); ++row) {
      QCOMPARE(row->size(), qsizetype(std::size(intents)));
      for (std::size_t i = 0; i < std::size(intents); ++i)
        QTest::newRow(qPrintable(row.key() + ", " + intents[i])) << row.key() << intents[i] << row->at(i);
    }
  }
  void everyKeyInEveryState() {
    QFETCH(QString, state);
    QFETCH(QString, intent);
    QFETCH(QString, expected);
    ControlWorld world;
    bring(world, states[state]);
    QCOMPARE(states.key(world.stepper.state()), state);
    check(world, intent, expected);
  }

  void lookingBackStepsMoveTheCursorAndRunNothing_data() {
    QTest::addColumn<QString>("intent");
    QTest::addColumn<QString>("stopped");
    QTest::addColumn<QString>("ended");
    QTest::newRow("step op") << "step op"
                             << "cursor 3; stopped"
                             << "no session";
    QTest::newRow("step line") << "step line"
                               << "cursor 3; stopped"
                               << "no session";
    QTest::newRow("step back") << "step back"
                               << "cursor 1; stopped"
                               << "no session";
    QTest::newRow("pause") << "pause"
                           << "cursor 6; stopped"
                           << "refused; no session";
    QTest::newRow("step out") << "step out"
                              << "gate step_out; cursor 6; stopped"
                              << "refused; no session";
    QTest::newRow("continue") << "continue"
                              << "gate run; cursor 6; stopped"
                              << "chose a; start; connecting";
  }
  void lookingBackStepsMoveTheCursorAndRunNothing() {
    QFETCH(QString, intent);
    QFETCH(QString, stopped);
    QFETCH(QString, ended);
    {
      ControlWorld world;
      bring(world, State::stopped);
      world.session.setCursor(2);
      QVERIFY(world.stepper.lookingBack());
      check(world, intent, stopped);
    }
    ControlWorld world;
    bring(world, State::stopped);
    world.die();
    world.session.setCursor(2);
    check(world, intent, ended);
    if (intent.startsWith("step") && intent != "step out")
      QCOMPARE(world.session.cursor(), intent == "step back" ? quint64{1} : quint64{3});
  }

  void lookingBackAStepOfALineGoesToTheNextLine() {
    ControlWorld world;
    bring(world, State::stopped);
    world.session.setCursor(1);  // records 1 and 2 are of one line
    check(world, "step line", "cursor 3; stopped");
    check(world, "step line", "cursor 5; stopped");
    check(world, "step line", "cursor 6; stopped");
    QVERIFY(!world.stepper.lookingBack());
  }

  void aCellIsSentWhenTheGateSaysThatItIsShut() {
    ControlWorld world;
    bring(world, State::arming);
    world.gate(protocol::GateState::open);  // a heartbeat that was under way
    QVERIFY(world.kernel.calls.isEmpty());
    world.gate(protocol::GateState::will_stop);
    QCOMPARE(world.kernel.calls, QStringList{"execute a"});
    QCOMPARE(world.stepper.state(), State::running);
  }

  void aStepAtTheEndOfACellSaysThatItIsFinished() {
    ControlWorld world;
    world.stepper.setFinishedPause(60'000);
    bring(world, State::stopped);
    act(world, "step op");
    act(world, "cell finished");
    QCOMPARE(world.refusals.size(), 1);
    QVERIFY2(world.refusals[0].endsWith("is finished: its last op has run."), qPrintable(world.refusals[0]));
    // A user who keeps pressing gets the message again, and nothing runs.
    for (int press = 0; press < 3; ++press) {
      check(world, press == 1 ? "step line" : "step op", "chose a; refused; idle");
      QVERIFY2(world.refusals.last().contains("is finished."), qPrintable(world.refusals.last()));
    }
    // After a moment the key means it.
    world.stepper.setFinishedPause(0);
    check(world, "step op", "chose a; gate step_op; arming");
  }

  void aCellThatRanToItsEndIsSteppedAtOnce() {
    ControlWorld world;
    bring(world, State::stopped);
    world.stepper.resume();
    act(world, "cell finished");
    QVERIFY(world.refusals.isEmpty());
    check(world, "step op", "chose a; gate step_op; arming");
  }

  void aStepBeforeTheSessionIsThereWaitsForIt() {
    ControlWorld world;
    world.stepper.stepLine();
    world.stepper.stepOp();  // the newest counts
    QCOMPARE(world.kernel.calls, QStringList{"start"});
    world.kernel.becomeReady(Engine::present);
    QCOMPARE(world.stepper.state(), State::connecting);
    world.source.setUp(true);
    world.settle();
    QCOMPARE(world.gateCommands(), QStringList{"gate step_op"});
    world.gate(protocol::GateState::will_stop);
    QCOMPARE(world.kernel.calls, (QStringList{"start", "execute a"}));
  }

  void aStepInASessionThatTurnsOutToHaveNoEngineIsRefused() {
    ControlWorld world;
    world.stepper.stepOp();
    world.kernel.becomeReady(Engine::missing);
    QCOMPARE(world.refusals.size(), 1);
    QVERIFY2(world.refusals[0].contains("no Tapedeck engine"), qPrintable(world.refusals[0]));
    QCOMPARE(world.kernel.calls, QStringList{"start"});
  }

  void continueTakesTheStopFromACellThatWaits() {
    ControlWorld world;
    world.stepper.stepOp();
    world.stepper.resume();
    world.connectEngine();
    QCOMPARE(world.kernel.calls, (QStringList{"start", "execute a"}));
    QVERIFY(world.gateCommands().isEmpty());
  }

  void theGateIsNeverLeftArmed() {
    ControlWorld world;
    bring(world, State::arming);
    world.gate(protocol::GateState::will_stop);
    world.kernel.beginCell("a", 1);
    world.kernel.endCell("a", "ok", 1);  // it ran no op
    world.settle();
    QCOMPARE(world.gateCommands(), (QStringList{"gate step_op", "gate run"}));
    QCOMPARE(world.stepper.state(), State::idle);
    QCOMPARE(world.refusals,
             QStringList{"Cell [1] ran to its end: no op ran in it, so there was nothing to stop at."});
  }

  void onlyACellThatNeverStoppedSaysSo() {
    ControlWorld world;
    bring(world, State::arming);
    world.gate(protocol::GateState::will_stop);
    world.kernel.beginCell("a", 1);
    world.stopBefore(1);
    world.gate(protocol::GateState::open);
    world.kernel.endCell("a", "ok", 1);
    world.settle();
    QCOMPARE(world.stepper.state(), State::idle);
    QVERIFY2(world.refusals.size() == 1 && world.refusals[0].contains("is finished: its last op has run"),
             qPrintable(world.refusals.join(u'|')));
  }

  void aCellDeletedWhileTheGateIsArmedOpensItAgain() {
    ControlWorld world;
    bring(world, State::arming);
    world.document.removeCell(world.document.indexOf("a"));
    world.gate(protocol::GateState::will_stop);
    QCOMPARE(world.gateCommands(), (QStringList{"gate step_op", "gate run"}));
    QVERIFY(world.kernel.calls.isEmpty());
    QCOMPARE(world.stepper.state(), State::idle);
  }

  void aGateThatCannotBeArmedLeavesNothingBehind() {
    ControlWorld world;
    world.connectEngine();
    world.source.automatic = false;
    world.stepper.stepOp();
    QCOMPARE(world.stepper.state(), State::arming);
    const auto asked = world.source.waiting.back();
    world.source.waiting.clear();
    emit world.source.received(asked.id, protocol::Failure{"The gate can not be shut.", "busy"});
    QCOMPARE(world.stepper.state(), State::idle);
    QVERIFY(world.kernel.calls.isEmpty());
  }

  void keysOnTextEmptyAndRawCellsGoToTheNextCode_data() {
    QTest::addColumn<int>("current");
    QTest::addColumn<QString>("cell");
    QTest::newRow("text") << 0 << "a";
    QTest::newRow("code") << 1 << "a";
    QTest::newRow("empty") << 2 << "b";
    QTest::newRow("raw, the last") << 4 << "";
  }
  void keysOnTextEmptyAndRawCellsGoToTheNextCode() {
    QFETCH(int, current);
    QFETCH(QString, cell);
    for (const bool stepping : {true, false}) {
      ControlWorld world;
      world.connectEngine();
      world.current = current;
      stepping ? world.stepper.stepOp() : world.stepper.resume();
      world.settle();
      if (cell.isEmpty()) {
        QCOMPARE(world.refusals,
                 QStringList{"There is no code to run from here on: all cells with code are above."});
        QVERIFY(world.gateCommands().isEmpty() && world.kernel.calls.isEmpty());
        continue;
      }
      if (stepping) world.gate(protocol::GateState::will_stop);
      QCOMPARE(world.kernel.calls, QStringList{"execute " + cell});
      QCOMPARE(world.chosen, current == world.document.indexOf(cell) ? QStringList() : QStringList{cell});
    }
  }

  void withoutRecordingThereIsNothingToStopAt() {
    ControlWorld world;
    world.connectEngine();
    world.source.status.recording = false;
    world.source.sendStatus();
    check(world, "step op", "chose a; refused; idle");
  }
};

TAPEDECK_TEST(TestStepper)
#include "tst_stepper.moc"
