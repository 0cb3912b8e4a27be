// The session model: the cursor, and what stays when the process dies. Pages of records:
// tst_session_pages.cpp.
#include <QSignalSpy>
#include <QTest>

#include "inspector/model/session/session.h"
#include "tests/model/fake_source.h"
#include "tests/model/many_records.h"
#include "tests/model/records_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using inspector::Session;
using test::FakeSource;
using test::manyRecords;
using test::RecordsText;

class TestSession : public QObject {
  Q_OBJECT
 private slots:
  void followsTheGate();
  void followsTheNewestFinishedOpOutsideOfVjps();
  void endsAtTheNewestRecordWhenTheCellIsDone();
  void aStopBringsItsRecords();
  void aStepShowsItsEndUnlessItTakesLong();
  void stopsFollowingWhenTheCursorIsMoved();
  void clampsTheCursor();
  void keepsEverythingWhenTheSessionDies();
  void startsOverWithAnotherSource();
  void startsOverWhenTheSourceReconnects();
  void staysWhenTheSameProcessReconnects();
  void passesFailuresOn();
  void sendsIntents();
};

void TestSession::followsTheGate() {
  FakeSource source(RecordsText("op a(x) -> y\nop b(y) -> pending").records);
  Session session;
  QSignalSpy stops(&session, &Session::stopped);
  session.setSource(&source);
  source.stopAtNewest();
  QCOMPARE(session.cursor(), 2u);
  QVERIFY(session.following());
  QCOMPARE(stops.last().at(0).toULongLong(), 2u);
  source.records.push_back(source.records.back());
  source.records.back().number = 3;
  source.stopAtNewest();
  QCOMPARE(session.cursor(), 3u);
  source.status.stopped_before.reset();
  source.status.gate = protocol::GateState::open;
  source.sendStatus();
  QCOMPARE(stops.last().at(0).toULongLong(), 0u);
}

void TestSession::followsTheNewestFinishedOpOutsideOfVjps() {
  FakeSource source(RecordsText(R"(
op square(x) -> y tape=1
playback gradient(y) -> g tape=1
  vjp square(one) -> g of=1
    op mul(x, one) -> t
    op mul(t, two) -> g
)")
                        .records);
  source.status.running_cell = "a";
  Session session;
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 3u);
  QVERIFY(session.following());
}

void TestSession::endsAtTheNewestRecordWhenTheCellIsDone() {
  FakeSource source(RecordsText(R"(
op square(x) -> y tape=1
playback gradient(y) -> g tape=1
  vjp square(one) -> g of=1
    op mul(x, one) -> t
    op mul(t, two) -> g
)")
                        .records);
  source.records[1].state = protocol::RecordState::running;
  source.status.running_cell = "a";
  Session session;
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 3u);
  QCOMPARE(session.cachedRecord(2)->state, protocol::RecordState::running);
  // The playback ends after the newer records inside of it: nothing but `ended` tells.
  source.records[1].state = protocol::RecordState::done;
  source.status.ended = 5;
  source.status.running_cell.reset();
  source.sendStatus();
  QTRY_COMPARE(session.cursor(), 5u);
  QTRY_COMPARE(session.cachedRecord(2)->state, protocol::RecordState::done);
}

void TestSession::aStopBringsItsRecords() {
  FakeSource source(RecordsText("op a(x) -> y\nop b(y) -> pending").records);
  Session session;
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 1u);
  source.stopAtNewest();
  QTRY_VERIFY(session.cachedRecord(2));
  source.automatic = false;
  source.asked.clear();
  // A step: the gate says that it will stop, then where, with the records of the step.
  source.status.gate = protocol::GateState::will_stop;
  source.status.stopped_before.reset();
  source.sendStatus();
  source.records[1].state = protocol::RecordState::done;
  source.records.push_back(source.records[1]);
  source.records[2].number = 3;
  source.records[2].state = protocol::RecordState::pending;
  source.status.stop = {source.records[1], source.records[2]};
  QSignalSpy changed(&session, &Session::recordsChanged);
  source.stopAtNewest();
  QCOMPARE(session.cursor(), 3u);
  QCOMPARE(session.cachedRecord(3)->state, protocol::RecordState::pending);
  QCOMPARE(session.cachedRecord(2)->state, protocol::RecordState::done);
  QCOMPARE(changed.size(), 1);
  nothingMayHappenFor(100);
  QVERIFY(source.asked.empty());
  // The same once more, as the heartbeat brings it, is no news.
  source.sendStatus();
  QCOMPARE(changed.size(), 1);
}

void TestSession::aStepShowsItsEndUnlessItTakesLong() {
  FakeSource source(manyRecords(4));
  source.automatic = false;
  Session session;
  session.setSource(&source);
  source.stopAtNewest();
  QCOMPARE(session.status().stopped_before.value_or(0), 4u);
  QSignalSpy told(&session, &Session::statusChanged);
  const auto runs = [&] {
    source.status.gate = protocol::GateState::will_stop;
    source.status.stopped_before.reset();
    source.sendStatus();
  };
  // The next stop follows at once.
  session.sendGate(protocol::GateCommand::step_op);
  runs();
  QCOMPARE(told.size(), 0);
  QCOMPARE(session.status().stopped_before.value_or(0), 4u);
  source.records = manyRecords(5);
  source.stopAtNewest();
  QCOMPARE(told.size(), 1);
  QCOMPARE(session.status().stopped_before.value_or(0), 5u);
  nothingMayHappenFor(200);
  QCOMPARE(session.status().stopped_before.value_or(0), 5u);
  // It takes long: after a moment the session reports that it runs.
  session.sendGate(protocol::GateCommand::step_op);
  runs();
  QCOMPARE(session.status().stopped_before.value_or(0), 5u);
  QTRY_COMPARE(session.status().stopped_before.value_or(0), 0u);
  // What follows then, and what follows any other command, is reported at once.
  source.status.finished = 5;
  source.sendStatus();
  QCOMPARE(session.status().finished, 5u);
  source.stopAtNewest();
  session.sendGate(protocol::GateCommand::step_op);
  session.sendGate(protocol::GateCommand::run);
  runs();
  QCOMPARE(session.status().stopped_before.value_or(0), 0u);
}

void TestSession::stopsFollowingWhenTheCursorIsMoved() {
  FakeSource source(manyRecords(10));
  Session session;
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 10u);
  QSignalSpy moved(&session, &Session::cursorChanged);
  session.setCursor(4);
  QCOMPARE(moved.size(), 1);
  QVERIFY(!session.following());
  source.records = manyRecords(12);
  source.status.records = source.status.finished = 12;
  source.sendStatus();
  nothingMayHappenFor(150);
  QCOMPARE(session.cursor(), 4u);
  session.setCursor(12);
  QVERIFY(session.following());
  session.stepCursor(-2);
  QCOMPARE(session.cursor(), 10u);
  QVERIFY(!session.following());
  session.follow();
  QTRY_COMPARE(session.cursor(), 12u);
}

void TestSession::clampsTheCursor() {
  FakeSource source(manyRecords(10));
  Session session;
  session.setCursor(5);
  QCOMPARE(session.cursor(), 0u);
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 10u);
  session.setCursor(0);
  QCOMPARE(session.cursor(), 1u);
  session.stepCursor(-5);
  QCOMPARE(session.cursor(), 1u);
  session.setCursor(99);
  QCOMPARE(session.cursor(), 10u);
  session.stepCursor(1'000'000);
  QCOMPARE(session.cursor(), 10u);
  session.setCursor(~0ull);
  QCOMPARE(session.cursor(), 10u);
}

void TestSession::keepsEverythingWhenTheSessionDies() {
  auto source = std::make_unique<FakeSource>(manyRecords(400));
  Session session;
  session.setSource(source.get());
  QTRY_COMPARE(session.cursor(), 400u);
  session.record(3);
  QTRY_VERIFY(session.cachedRecord(3));
  source->stopAtNewest();
  QSignalSpy stops(&session, &Session::stopped);
  source->setUp(false);
  QVERIFY(!session.live());
  QCOMPARE(stops.size(), 1);
  QCOMPARE(session.status().stopped_before.value_or(0), 0u);
  QVERIFY(session.record(3));
  QCOMPARE(session.recordCount(), 400u);
  session.setCursor(3);
  QCOMPARE(session.cursor(), 3u);
  const auto asked = source->asked.size();
  session.sendGate(protocol::GateCommand::run);
  QCOMPARE(source->asked.size(), asked);
  source.reset();
  QVERIFY(session.record(3));
  session.setSource(nullptr);
  QVERIFY(session.record(3));
}

void TestSession::startsOverWithAnotherSource() {
  FakeSource first(manyRecords(400)), second(manyRecords(7));
  Session session;
  session.setSource(&first);
  QTRY_COMPARE(session.cursor(), 400u);
  QSignalSpy cleared(&session, &Session::cleared);
  session.setSource(&second);
  QCOMPARE(cleared.size(), 1);
  QCOMPARE(session.cachedRecord(400), nullptr);
  QTRY_COMPARE(session.cursor(), 7u);
  first.sendStatus();
  QCOMPARE(session.recordCount(), 7u);
}

void TestSession::startsOverWhenTheSourceReconnects() {
  FakeSource source(manyRecords(400));
  Session session;
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 400u);
  source.setUp(false);
  source.records = manyRecords(3);
  source.status = {};
  source.status.records = source.status.finished = 3;
  QSignalSpy cleared(&session, &Session::cleared);
  source.setUp(true);
  QCOMPARE(cleared.size(), 1);
  QTRY_COMPARE(session.cursor(), 3u);
}

void TestSession::staysWhenTheSameProcessReconnects() {
  FakeSource source(manyRecords(40));
  Session session;
  session.setSource(&source);
  protocol::Welcome welcome;
  welcome.pid = 17;
  welcome.started_unix_ms = 5;
  emit source.received(1, welcome);
  QTRY_COMPARE(session.cursor(), 40u);
  QSignalSpy cleared(&session, &Session::cleared);
  session.setCursor(7);
  source.setUp(false);  // a silence
  source.setUp(true);
  emit source.received(2, welcome);
  QCOMPARE(cleared.size(), 0);
  QCOMPARE(session.cursor(), 7u);
  QTRY_COMPARE(session.recordCount(), 40u);
  source.setUp(false);  // a restart
  source.setUp(true);
  welcome.pid = 18;
  emit source.received(3, welcome);
  QCOMPARE(cleared.size(), 1);
  QCOMPARE(session.cursor(), 0u);
}

void TestSession::passesFailuresOn() {
  FakeSource source(manyRecords(4));
  Session session;
  session.setSource(&source);
  QSignalSpy failed(&session, &Session::failed);
  emit source.refused(QStringLiteral("The session speaks version 2, this program version 1."));
  QCOMPARE(failed.size(), 1);
  emit source.received(4711, protocol::Failure{"gone", "gone"});  // unrequested
  QCOMPARE(failed.size(), 1);
  emit source.received(0, protocol::Failure{"get_tile: field 'slice' is missing", "bad_request"});
  QCOMPARE(failed.size(), 2);
}

void TestSession::sendsIntents() {
  FakeSource source(manyRecords(4));
  Session session;
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 4u);
  session.setCursor(1);
  session.sendGate(protocol::GateCommand::step_op);
  const auto gates = source.askedFor<protocol::SetGate>();
  QCOMPARE(gates.size(), 1u);
  QCOMPARE(gates[0].command, protocol::GateCommand::step_op);
  // Stepping from a rewound cursor goes back to where the session is.
  QTRY_COMPARE(session.cursor(), 4u);
}

TAPEDECK_TEST(TestSession)
#include "tst_session.moc"
