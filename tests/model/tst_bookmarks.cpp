// Bookmarks: of which op each is, where that op is now, and that none ever leads to another one.
#include <QSignalSpy>
#include <QTest>

#include "inspector/model/ops/bookmarks.h"
#include "inspector/model/ops/records_model.h"
#include "tests/model/fake_source.h"
#include "tests/model/records_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;

namespace {

struct MarkedWorld {
  test::FakeSource source;
  Session session;
  Bookmarks bookmarks{&session};

  MarkedWorld() {
    source.records = test::RecordsText(
                         "op matmul(X:2x3, W:3x4) -> y:2x4 cell=a:3\n"
                         "op square(y) -> z cell=a:4\n"
                         "op add(z, z) -> s cell=a:5\n")
                         .records;
    source.status.records = source.status.finished = source.records.size();
    session.setSource(&source);
    welcome(1000);
    tell();
  }
  void welcome(std::int64_t started, std::uint64_t process = 17) {
    protocol::Welcome welcome;
    welcome.pid = process;
    welcome.started_unix_ms = started;
    emit source.received(0, welcome);
  }
  void tell() {
    source.sendStatus();
    for (RecordNumber number = 1; number <= source.records.size(); ++number)
      QTRY_VERIFY(session.record(number) != nullptr);
  }
  void set(RecordNumber record, const QString& note) {
    std::optional<Bookmark> bookmark = bookmarks.of(record);
    QVERIFY(bookmark.has_value());
    bookmark->note = note;
    QVERIFY(bookmarks.set(*bookmark));
  }
};

}  // namespace

class TestBookmarks : public QObject {
  Q_OBJECT
 private slots:
  void oneNamesItsOpAndIsFoundByItsRecord() {
    MarkedWorld world;
    QSignalSpy edited(&world.bookmarks, &Bookmarks::edited);
    world.set(2, "here it starts");
    QCOMPARE(edited.count(), 1);
    const Bookmark* found = world.bookmarks.find(2);
    QVERIFY(found);
    QCOMPARE(*found, (Bookmark{1000, 2, "square", "a", 0, "", 4, "here it starts"}));
    QVERIFY(!world.bookmarks.find(1));
    world.set(2, "another note");
    QCOMPARE(world.bookmarks.all().size(), std::size_t{1});
    QCOMPARE(world.bookmarks.find(2)->note, QString("another note"));
    QVERIFY(!world.bookmarks.of(4));
    world.bookmarks.remove(*world.bookmarks.find(2));
    QVERIFY(world.bookmarks.all().empty() && !world.bookmarks.find(2));
    QCOMPARE(edited.count(), 3);
  }

  void theFilterFindsThemTogetherWithOtherTerms() {
    MarkedWorld world;
    RecordsModel model(&world.session);
    model.setBookmarks(&world.bookmarks);
    const auto found = [&] {
      QList<RecordNumber> records;
      for (int row = 0; row < model.rowCount(); ++row) records << model.recordAt(row);
      return records;
    };
    world.set(2, "note");
    model.setFilter("bookmarked", Direction::both);
    QTRY_COMPARE(found(), QList<RecordNumber>{2});
    QVERIFY(!model.filterAsksForValues());
    world.set(3, {});
    QTRY_COMPARE(found(), (QList<RecordNumber>{2, 3}));
    QTRY_VERIFY(!model.scanning());
    world.bookmarks.remove(*world.bookmarks.find(2));
    QTRY_COMPARE(found(), QList<RecordNumber>{3});
    model.setFilter("bookmarked and op:square", Direction::both);
    QTRY_VERIFY(!model.scanning());
    QVERIFY(found().isEmpty());
    model.setFilter("op:matmul or bookmarked", Direction::both);
    QTRY_COMPARE(found(), (QList<RecordNumber>{1, 3}));
    model.setFilter("not bookmarked", Direction::both);
    QTRY_COMPARE(found(), (QList<RecordNumber>{1, 2}));
    // Where the session is gone, what is here is looked through.
    world.source.setUp(false);
    model.setFilter("bookmarked", Direction::both);
    QTRY_COMPARE(found(), QList<RecordNumber>{3});
  }

  void oneGoesFromEachToTheNext() {
    MarkedWorld world;
    world.set(3, {});
    world.set(1, {});
    QCOMPARE(world.bookmarks.beside(1, true), RecordNumber{3});
    QCOMPARE(world.bookmarks.beside(2, true), RecordNumber{3});
    QCOMPARE(world.bookmarks.beside(3, true), RecordNumber{0});
    QCOMPARE(world.bookmarks.beside(3, false), RecordNumber{1});
    QCOMPARE(world.bookmarks.beside(1, false), RecordNumber{0});
  }

  // The next session has a record 2, too, of the same op in the same line.
  void thoseOfAnotherSessionAreGoneUntilItIsSeenAgain() {
    MarkedWorld world;
    world.set(2, "note");
    const Bookmark bookmark = world.bookmarks.all().front();
    QVERIFY(world.bookmarks.state(bookmark) == BookmarkState::here);
    QSignalSpy changed(&world.bookmarks, &Bookmarks::changed);
    world.welcome(2000, 18);
    world.tell();
    QVERIFY(world.bookmarks.state(bookmark) == BookmarkState::gone);
    QVERIFY(!world.bookmarks.find(2));
    QCOMPARE(world.bookmarks.beside(0, true), RecordNumber{0});
    QVERIFY(!changed.isEmpty());
    QCOMPARE(world.bookmarks.all().size(), std::size_t{1});
    // A trace of that session is read by a process of its own.
    world.welcome(1000, 19);
    world.tell();
    QVERIFY(world.bookmarks.state(bookmark) == BookmarkState::here);
    QCOMPARE(world.bookmarks.find(2)->note, QString("note"));
  }

  void aTraceThatEndsBeforeItHasItNot() {
    MarkedWorld world;
    world.bookmarks.restore({Bookmark{1000, 4, "square", "a", 0, "", 4, "later"}});
    QVERIFY(world.bookmarks.state(world.bookmarks.all().front()) == BookmarkState::gone);
    protocol::Record fourth = world.source.records[1];
    fourth.number = 4;
    world.source.records.push_back(fourth);
    world.source.status.records = world.source.status.finished = 4;
    world.tell();
    QVERIFY(world.bookmarks.find(4));
  }

  void oneThatNamesAnotherOpIsNotThatRecords() {
    MarkedWorld world;
    world.bookmarks.restore({Bookmark{1000, 2, "matmul", "a", 0, "", 4, "wrong"}});
    QVERIFY(world.bookmarks.state(world.bookmarks.all().front()) == BookmarkState::gone);
    QVERIFY(!world.bookmarks.find(2));
  }

  void oneOfAForgottenRecordSaysSo() {
    MarkedWorld world;
    world.set(2, {});
    world.source.records[1] = {};
    world.source.records[1].number = 2;
    world.source.records[1].op = "forgotten";
    world.source.records[1].state = protocol::RecordState::failed;
    world.welcome(3000);  // nothing that was fetched stays
    world.welcome(1000);
    world.tell();
    QVERIFY(world.bookmarks.state(world.bookmarks.all().front()) == BookmarkState::forgotten);
    QVERIFY(!world.bookmarks.find(2) && !world.bookmarks.of(2));
  }

  void ofARecordThereIsOneAndOfAllSoMany() {
    MarkedWorld world;
    std::vector<Bookmark> many;
    for (RecordNumber record = Bookmarks::most + 10; record > 0; --record)
      many.push_back({5, record, "add", "a", 0, "", 1, {}});
    many.push_back({5, 1, "add", "a", 0, "", 1, "twice"});
    world.bookmarks.restore(many);
    QCOMPARE(world.bookmarks.all().size(), Bookmarks::most);
    QCOMPARE(world.bookmarks.all()[0].record, RecordNumber{1});
    QCOMPARE(world.bookmarks.all()[1].record, RecordNumber{2});
    QVERIFY(!world.bookmarks.set(*world.bookmarks.of(2)));
    QCOMPARE(world.bookmarks.all().size(), Bookmarks::most);
  }

  void aNoteIsOneLine() {
    QCOMPARE(Bookmarks::noteOf("  two\nlines\t here "), QString("two lines here"));
    QCOMPARE(Bookmarks::noteOf(QString(5000, 'x')).size(), Bookmarks::longest_note);
    const QString smile = QString::fromUtf8("\xF0\x9F\x99\x82");
    const QString cut = Bookmarks::noteOf('x' + smile.repeated(Bookmarks::longest_note));
    QVERIFY(!cut.back().isHighSurrogate());
    QCOMPARE(cut, QString::fromUtf8(cut.toUtf8()));
  }

  void rowsShowThem() {
    MarkedWorld world;
    RecordsModel model(&world.session);
    model.setBookmarks(&world.bookmarks);
    QSignalSpy dataChanged(&model, &RecordsModel::dataChanged);
    world.set(2, "look <b>here</b>");
    QVERIFY(!dataChanged.isEmpty());
    const auto at = [&](RecordNumber record, int column, int role) {
      return model.index(model.rowOf(record), column).data(role);
    };
    QVERIFY(at(2, RecordsModel::Number, RecordsModel::BookmarkRole).toBool());
    QVERIFY(!at(1, RecordsModel::Number, RecordsModel::BookmarkRole).toBool());
    QVERIFY(at(2, RecordsModel::Op, Qt::DisplayRole).toString().endsWith("square  “look <b>here</b>”"));
    QVERIFY(at(2, RecordsModel::Op, Qt::ToolTipRole).toString().contains("bookmark: look <b>here</b>"));
    QCOMPARE(at(2, RecordsModel::Number, Qt::AccessibleTextRole).toString(), QString("op 2, bookmark"));
    QVERIFY(at(2, RecordsModel::Number, Qt::AccessibleDescriptionRole).toString().contains("bookmark: look"));
    world.bookmarks.remove(*world.bookmarks.find(2));
    QVERIFY(at(2, RecordsModel::Op, Qt::DisplayRole).toString().endsWith("square"));
  }
};

TAPEDECK_TEST(TestBookmarks)
#include "tst_bookmarks.moc"
