// Another level of headings for many records is laid out in slices of bounded work, counted in units and
// never in time; the rows stay as they are until it is complete.
#include <QSignalSpy>
#include <QTest>
#include <QTimer>

#include "inspector/model/ops/records_model.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;

namespace {

/// One run; each record is in another scope than the one before.
class ScopeSource : public Source {
 public:
  explicit ScopeSource(std::uint64_t count) { grow(count); }
  void grow(std::uint64_t count) { status_.records = status_.finished = count; }
  void say() { emit received(0, status_); }
  bool connected() const override { return true; }
  quint64 request(const protocol::Request& message, const QString&) override {
    const quint64 id = ++last_;
    const protocol::Reply reply = answer(message);
    QTimer::singleShot(0, this, [this, id, reply] {
      emit received(id, reply);
      if (const auto* groups = protocol::get_if<protocol::RecordGroups>(&reply)) told = groups->covered;
    });
    return id;
  }
  std::uint64_t told = 0;  ///< the newest record whose groups were answered

 private:
  protocol::Reply answer(const protocol::Request& message) const {
    if (const auto* get = protocol::get_if<protocol::GetRecordGroups>(&message)) return groups(*get);
    if (!protocol::holds_alternative<protocol::GetRecords>(message)) return status_;
    protocol::Records page;
    page.total = status_.records;
    return page;
  }
  protocol::RecordGroups groups(const protocol::GetRecordGroups& get) const {
    protocol::RecordGroups groups;
    groups.total = status_.records;
    groups.covered = std::min<std::uint64_t>(groups.total, get.first + 9'999);
    if (get.run <= 1) groups.runs = {{1, "a", 1, 1, 1, {}, false}};
    groups.scopes = {"encoder", "decoder"};
    for (std::uint64_t record = get.first; record <= groups.covered; ++record) {
      groups.scope_begins.push_back(record);
      groups.scope_places.push_back(record % 2);
    }
    return groups;
  }
  protocol::Status status_;
  quint64 last_ = 0;
};

constexpr int count = 50'000;

/// A model whose groups are all known, with headings for cells.
struct SlicesBench {
  ScopeSource source{count};
  Session session;
  RecordsModel model{&session};
  SlicesBench() {
    session.setSource(&source);
    model.setHeadingLevel(HeadingLevel::cell);
    source.say();
  }
  bool known() {
    return QTest::qWaitFor(
        [&] {
          return source.told == count && !session.asking("ops/groups") && model.rowCount() == count + 1;
        },
        30'000);
  }
  /// Of what scopes need: each record's stretch is looked at for its groups, and for its row.
  static constexpr int slices = 2 * count / static_cast<int>(Headings::slice);
};

protocol::RecordGroups manyScopes(std::uint64_t records) {
  protocol::RecordGroups groups;
  groups.covered = groups.total = records;
  groups.runs = {{1, "a", 1, 1, 1, {}, false}};
  groups.scopes = {"", "model/encoder", "model/decoder", "head"};
  for (std::uint64_t record = 1; record <= records; ++record) {
    groups.scope_begins.push_back(record);
    groups.scope_places.push_back(record % 4);
  }
  return groups;
}

}  // namespace

class TestHeadingSlices : public QObject {
  Q_OBJECT
 private slots:
  // No call does more than it is asked for, and all of them together make what one makes.
  void groupsAndRowsAreMadeInBoundedSlices() {
    constexpr std::uint64_t records = 1'000;
    constexpr std::size_t most = 64;
    GroupTree whole;
    whole.set_level(HeadingLevel::cell);
    whole.add(manyScopes(records), records);
    GroupTree sliced = whole.with_level(HeadingLevel::scope);
    whole.set_level(HeadingLevel::scope);
    QCOMPARE(sliced.known(), records);
    QCOMPARE(sliced.covered(), std::uint64_t{0});
    std::size_t slices = 0, before = 0;
    for (std::size_t built = most; built == most; ++slices) {
      built = sliced.build(most);
      QVERIFY(built <= most);
      // A stretch begins at most a run and two parts of a scope.
      QVERIFY(sliced.nodes().size() - before <= 3 * most);
      before = sliced.nodes().size();
      QVERIFY(sliced.covered() <= slices * most + built);
    }
    QCOMPARE(slices, records / most + 1);
    QCOMPARE(sliced.nodes(), whole.nodes());

    const Listing listing{records, [](std::uint32_t position) { return std::uint64_t{position} + 1; },
                          [](std::uint64_t record) { return static_cast<std::uint32_t>(record - 1); }};
    HeadingRows at_once, by_slices;
    at_once.update(whole, listing, 1);
    std::uint32_t laid = 0;
    int calls = 1;
    while (!by_slices.lay(sliced, listing, most)) {
      QVERIFY(by_slices.laid() > laid && by_slices.laid() - laid <= most);
      laid = by_slices.laid();
      ++calls;
    }
    QVERIFY(calls >= static_cast<int>(records / most));
    QCOMPARE(by_slices.row_count(), at_once.row_count());
    for (int row = 0; row < at_once.row_count(); ++row)
      QCOMPARE(by_slices.heading_at(row), at_once.heading_at(row));
  }

  void theRowsStayUntilScopesAreComplete() {
    SlicesBench bench;
    QVERIFY(bench.known());
    QSignalSpy resets(&bench.model, &QAbstractItemModel::modelReset);
    QList<int> percents;
    connect(&bench.model, &RecordsModel::headingsProgressed, this, [&] {
      if (const auto percent = bench.model.headingProgress()) percents << *percent;
    });
    bench.model.setHeadingLevel(HeadingLevel::scope);
    QCOMPARE(bench.model.headingLevel(), HeadingLevel::cell);
    QCOMPARE(bench.model.nextHeadingLevel(), HeadingLevel::scope);
    QVERIFY(bench.model.headingProgress());
    QCOMPARE(bench.model.rowCount(), count + 1);
    QVERIFY(resets.isEmpty());
    QTRY_COMPARE(bench.model.headingLevel(), HeadingLevel::scope);
    QVERIFY(!bench.model.headingProgress());
    QCOMPARE(resets.count(), 1);
    QCOMPARE(bench.model.rowCount(), 1 + 2 * count);
    QVERIFY2(percents.size() >= SlicesBench::slices, qPrintable(QString::number(percents.size())));
    QVERIFY(std::ranges::is_sorted(percents));
    QVERIFY(percents.front() < 50 && percents.back() > 50);
  }

  void thePresentLevelDropsWhatIsBeingLaidOut() {
    SlicesBench bench;
    QVERIFY(bench.known());
    QSignalSpy resets(&bench.model, &QAbstractItemModel::modelReset);
    bench.model.setHeadingLevel(HeadingLevel::scope);
    QVERIFY(bench.model.headingProgress());
    bench.model.setHeadingLevel(HeadingLevel::cell);
    QVERIFY(!bench.model.headingProgress());
    QCOMPARE(bench.model.nextHeadingLevel(), HeadingLevel::cell);
    for (int turn = 0; turn < 4 * SlicesBench::slices; ++turn) QCoreApplication::processEvents();
    QCOMPARE(bench.model.headingLevel(), HeadingLevel::cell);
    QVERIFY(resets.isEmpty());
    QCOMPARE(bench.model.rowCount(), count + 1);
  }

  // Records that come, and a group that is folded, while another level is laid out.
  void whatChangesMeanwhileIsInIt() {
    SlicesBench bench;
    QVERIFY(bench.known());
    bench.model.setHeadingLevel(HeadingLevel::scope);
    bench.source.grow(count + 100);
    bench.source.say();
    QCOMPARE(bench.model.rowCount(), count + 101);
    bench.model.setFolded(0, true);
    QCOMPARE(bench.model.rowCount(), 1);
    QTRY_COMPARE(bench.model.headingLevel(), HeadingLevel::scope);
    QCOMPARE(bench.model.rowCount(), 1);  // the run is still folded
    bench.model.setFolded(0, false);
    QTRY_COMPARE(bench.model.rowCount(), 1 + 2 * (count + 100));
  }

  void aFilterBeginsTheRowsAnew() {
    SlicesBench bench;
    QVERIFY(bench.known());
    bench.model.setHeadingLevel(HeadingLevel::scope);
    bench.model.setFilter("nothing is called so", Direction::both);
    QCOMPARE(bench.model.rowCount(), 0);
    QTRY_COMPARE(bench.model.headingLevel(), HeadingLevel::scope);
    QCOMPARE(bench.model.rowCount(), 0);
    bench.model.setFilter({}, Direction::both);
    QTRY_COMPARE(bench.model.rowCount(), 1 + 2 * count);
  }
};

TAPEDECK_TEST(TestHeadingSlices)
#include "tst_heading_slices.moc"
