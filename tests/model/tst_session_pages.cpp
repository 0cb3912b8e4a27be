// The session model: which pages of records are asked for, which are kept, and what becomes of wrong ones.
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

class TestSessionPages : public QObject {
  Q_OBJECT
 private slots:
  void fetchesOnlyThePageThatIsLookedAt();
  void asksForWhatWasLookedAtLastFirst();
  void asksOncePerPageHoweverOftenViewsLook();
  void keepsNoMoreThanItsLimitAndFetchesAgain();
  void forgetsTensorsOfEvictedRecords();
  void refetchesAPendingRecordOnceItRan();
  void aFailedPageIsNotAskedForInALoop();
  void takesOnlyTheRecordsItAskedFor();
};

void TestSessionPages::fetchesOnlyThePageThatIsLookedAt() {
  FakeSource source(manyRecords(10'000));
  Session session;
  QSignalSpy arrived(&session, &Session::recordsChanged);
  session.setSource(&source);
  QTRY_COMPARE(session.recordCount(), 10'000u);
  QTRY_COMPARE(session.cursor(), 10'000u);
  QTRY_VERIFY(session.cachedRecord(10'000));  // what it asks for by itself is here
  source.asked.clear();
  arrived.clear();
  QCOMPARE(session.record(300), nullptr);
  QTRY_COMPARE(arrived.size(), 1);
  QVERIFY(session.record(300));
  QCOMPARE(session.record(300)->number, 300u);
  const auto asked = source.askedFor<protocol::GetRecords>();
  QCOMPARE(asked.size(), 1u);
  QCOMPARE(asked[0].first, 257u);
  QCOMPARE(asked[0].count, 256u);
}

void TestSessionPages::asksForWhatWasLookedAtLastFirst() {
  FakeSource source(manyRecords(10'000));
  Session session;
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 10'000u);
  QTRY_VERIFY(session.cachedRecord(10'000));  // what it asks for by itself is here
  source.automatic = false;
  source.asked.clear();
  for (quint64 number : {300u, 1000u, 2000u, 3000u, 4000u}) session.record(number);
  QTRY_VERIFY(!source.waiting.empty());
  QVERIFY(source.waiting.size() <= 2);
  while (!source.waiting.empty()) {
    source.answerNext();
    QTest::qWait(1);
  }
  const auto asked = source.askedFor<protocol::GetRecords>();
  QCOMPARE(asked.size(), 5u);
  QVERIFY(asked[0].first <= 4000 && 4000 < asked[0].first + asked[0].count);
  QVERIFY(asked[4].first <= 300 && 300 < asked[4].first + asked[4].count);
}

void TestSessionPages::asksOncePerPageHoweverOftenViewsLook() {
  FakeSource source(manyRecords(1000));
  Session session;
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 1000u);
  QTRY_VERIFY(session.cachedRecord(1000));  // what it asks for by itself is here
  source.automatic = false;
  source.asked.clear();
  for (int paint = 0; paint < 5; ++paint) {
    for (quint64 number = 1; number <= 40; ++number) session.record(number);
    QTest::qWait(1);
  }
  QCOMPARE(source.askedFor<protocol::GetRecords>().size(), 1u);
}

void TestSessionPages::keepsNoMoreThanItsLimitAndFetchesAgain() {
  FakeSource source(manyRecords(20'000));
  Session session;
  session.setCacheLimit(1000);
  session.setSource(&source);
  QTRY_COMPARE(session.recordCount(), 20'000u);
  for (quint64 number = 1; number <= 20'000; number += 2560) {
    session.record(number);
    QTRY_VERIFY(session.cachedRecord(number));
    QVERIFY2(session.cachedCount() <= 1000, qPrintable(QString::number(session.cachedCount())));
  }
  QVERIFY(!session.cachedRecord(1));
  session.record(1);
  QTRY_VERIFY(session.cachedRecord(1));
}

void TestSessionPages::forgetsTensorsOfEvictedRecords() {
  FakeSource source(manyRecords(5'000));
  Session session;
  session.setCacheLimit(600);
  session.setSource(&source);
  QTRY_COMPARE(session.recordCount(), 5'000u);
  session.record(10);
  QTRY_VERIFY(session.tensor(1009));
  for (quint64 number = 1000; number <= 4000; number += 1000) {
    session.record(number);
    QTRY_VERIFY(session.cachedRecord(number));
  }
  QCOMPARE(session.tensor(1009), nullptr);
}

void TestSessionPages::refetchesAPendingRecordOnceItRan() {
  FakeSource source(RecordsText("op square(x:=3) -> pending").records);
  Session session;
  session.setSource(&source);
  source.stopAtNewest();
  QTRY_VERIFY(session.cachedRecord(1));
  QCOMPARE(session.cachedRecord(1)->state, protocol::RecordState::pending);
  source.records = RecordsText("op square(x:=3) -> y:=9\nop square(y) -> pending").records;
  source.stopAtNewest();
  QTRY_COMPARE(session.cachedRecord(1)->state, protocol::RecordState::done);
  QTRY_VERIFY(session.cachedRecord(2));
  QCOMPARE(session.cachedRecord(1)->outputs[0].preview, std::string("9"));
  // A step is one request: the record that ran and the next one lie side by side.
  source.asked.clear();
  source.records = RecordsText("op square(x:=3) -> y:=9\nop square(y) -> z\nop square(z) -> pending").records;
  source.stopAtNewest();
  QTRY_VERIFY(session.cachedRecord(3));
  QCOMPARE(source.askedFor<protocol::GetRecords>().size(), 1u);
}

void TestSessionPages::aFailedPageIsNotAskedForInALoop() {
  FakeSource source(manyRecords(1000));
  Session session;
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 1000u);
  QTRY_VERIFY(session.cachedRecord(1000));  // what it asks for by itself is here
  source.automatic = false;
  source.asked.clear();
  QSignalSpy failed(&session, &Session::failed);
  session.record(5);
  QTRY_COMPARE(source.waiting.size(), 1u);
  const quint64 id = source.waiting[0].id;
  source.waiting.clear();
  emit source.received(id, protocol::Failure{"The records of page 1 are gone.", "gone"});
  QCOMPARE(failed.size(), 1);
  QCOMPARE(failed[0][0].toString(), QStringLiteral("The records of page 1 are gone."));
  nothingMayHappenFor(20);
  QCOMPARE(source.asked.size(), 1u);
  session.record(5);
  QTRY_COMPARE(source.asked.size(), 2u);
}

void TestSessionPages::takesOnlyTheRecordsItAskedFor() {
  FakeSource source(manyRecords(1000));
  Session session;
  session.setSource(&source);
  QTRY_COMPARE(session.cursor(), 1000u);
  QTRY_VERIFY(session.cachedRecord(1000));  // what it asks for by itself is here
  source.automatic = false;
  session.record(5);
  QTRY_COMPARE(source.waiting.size(), 1u);
  protocol::Records page;
  page.total = 1000;
  page.records = manyRecords(3);
  page.records[1].number = 0;
  page.records[2].number = ~0ull;
  emit source.received(source.waiting[0].id, page);
  QVERIFY(session.cachedRecord(1));
  QCOMPARE(session.cachedRecord(0), nullptr);
  QCOMPARE(session.cachedRecord(~0ull), nullptr);
  // Nobody asked for these.
  emit source.received(4711, protocol::Records{1000, manyRecords(600)});
  QCOMPARE(session.cachedRecord(600), nullptr);
}

TAPEDECK_TEST(TestSessionPages)
#include "tst_session_pages.moc"
