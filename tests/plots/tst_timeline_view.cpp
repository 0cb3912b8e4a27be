// The timeline in a real window: the cursor both ways, the filter, keys, and a long trace.
#include <QClipboard>
#include <QSignalSpy>
#include <QTest>
#include <QtWidgets>

#include "inspector/panels/ops/timeline_view.h"
#include "tests/model/fake_source.h"
#include "tests/model/records_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using inspector::Direction;
using inspector::RecordsModel;
using inspector::Session;
using inspector::TimelineView;
using test::RecordsText;

namespace {

constexpr const char* program = R"(
op matmul(X:10x784, W:784x196) -> h:10x196 tape=1 cell=c3:4
op sigmoid(h) -> s:10x196 tape=1 cell=c3:5
custom noisy_square(s) -> n:10x196 tape=1 cell=c3:6
  op square(s) -> q:10x196 cell=c2:2
  op add(q, noise:10x196) -> n cell=c2:3
playback gradient(n) -> dW:784x196 tape=1 cell=c3:8
  vjp noisy_square(dn:10x196) -> ds:10x196 of=3 tape=1 custom cell=c2:5
    op mul(dn, s) -> ds cell=c2:6
  vjp sigmoid(ds) -> dh:10x196 of=2 tape=1 cell=c3:8
  vjp matmul(dh) -> 0, dW of=1 tape=1 cell=c3:8
op sub(W, dW) -> pending cell=c3:9
)";

std::vector<protocol::Record> manyRecords(std::size_t count) {
  std::vector<protocol::Record> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    records[i].number = i + 1;
    records[i].op = i % 1000 == 7 ? "matmul" : "add";
  }
  return records;
}

struct Window {
  test::FakeSource source;
  Session session;
  TimelineView view{session};

  explicit Window(std::vector<protocol::Record> records) : source(std::move(records)) {
    view.setCellLabels({{"c2", "[2]"}, {"c3", "[3]"}});
  }
  void show(QSize size = {900, 420}) {
    view.resize(size);
    view.show();
    view.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&view, tapedeck::patience));
    session.setSource(&source);
    QTRY_COMPARE(view.model()->rowCount(), static_cast<int>(source.records.size()));
  }
  QTableView* table() { return view.table(); }
  int selectedRow() {
    const auto rows = table()->selectionModel()->selectedRows();
    return rows.isEmpty() ? -1 : rows[0].row();
  }
  void clickRow(int row) {
    const QRect cell = table()->visualRect(view.model()->index(row, RecordsModel::Op));
    QTest::mouseClick(table()->viewport(), Qt::LeftButton, {}, cell.center());
  }
  void filter(const char* text) {
    QTest::keyClick(table(), Qt::Key_F, Qt::ControlModifier);
    QVERIFY(view.filterEdit()->hasFocus());
    QTest::keyClicks(view.filterEdit(), QString::fromLatin1(text));
    // The list of what may stand there gets the keys while it is open, as from a keyboard.
    QWidget* list = QApplication::activePopupWidget();
    QTest::keyClick(list ? list : view.filterEdit(), Qt::Key_Return);
    QTRY_VERIFY(!view.model()->scanning());
  }
};

void keepPicture(QWidget* widget, const char* name) {
  const QString folder = qEnvironmentVariable("TAPEDECK_PICTURES");
  if (folder.isEmpty()) return;
  widget->grab().save(folder + QLatin1Char('/') + QLatin1String(name) + QStringLiteral(".png"));
}

}  // namespace

class TestTimelineView : public QObject {
  Q_OBJECT
 private slots:
  void saysWhatToDoWhenThereIsNothing();
  void aClickMovesTheCursor();
  void keysMoveTheCursor();
  void theCursorMovesTheSelection();
  void thePendingRowIsBoldAndMarked();
  void theFilterShowsMatchesAndKeepsTheCursor();
  void directionsAreFilteredByTheirKeys();
  void escapeClearsTheFilter();
  void goesFromAVjpToItsForwardOp();
  void copiesARow();
  void aMillionRowsFetchOnlyWhatIsSeen();
  void looksRightInTheDark();
};

void TestTimelineView::saysWhatToDoWhenThereIsNothing() {
  Window window({});
  window.show({500, 250});
  keepPicture(&window.view, "timeline_empty");
  // The sentence is painted: there is ink where rows would be.
  const QImage image = window.table()->viewport()->grab().toImage();
  int inked = 0;
  for (int x = 0; x < image.width(); ++x)
    for (int y = 0; y < image.height(); ++y) inked += image.pixelColor(x, y) != image.pixelColor(1, 1);
  QVERIFY(inked > 300);
  window.source.records = RecordsText(program).records;
  window.source.status.records = window.source.records.size();
  window.source.sendStatus();
  QCOMPARE(window.view.model()->rowCount(), 11);
}

void TestTimelineView::aClickMovesTheCursor() {
  Window window(RecordsText(program).records);
  window.show();
  QSignalSpy moved(&window.session, &Session::cursorChanged);
  window.clickRow(2);
  QCOMPARE(window.session.cursor(), 3u);
  QCOMPARE(moved.size(), 1);
  QVERIFY(!window.session.following());
  QCOMPARE(window.selectedRow(), 2);
}

void TestTimelineView::keysMoveTheCursor() {
  Window window(RecordsText(program).records);
  window.show();
  window.clickRow(2);
  QTest::keyClick(window.table(), Qt::Key_Down);
  QCOMPARE(window.session.cursor(), 4u);
  QTest::keyClick(window.table(), Qt::Key_Up);
  QTest::keyClick(window.table(), Qt::Key_Up);
  QCOMPARE(window.session.cursor(), 2u);
  QTest::keyClick(window.table(), Qt::Key_Home);
  QCOMPARE(window.session.cursor(), 1u);
  QTest::keyClick(window.table(), Qt::Key_End);
  QCOMPARE(window.session.cursor(), 11u);
  QVERIFY(window.session.following());
  QTest::keyClick(window.table(), Qt::Key_Left);
  QCOMPARE(window.session.cursor(), 11u);
}

void TestTimelineView::theCursorMovesTheSelection() {
  Window window(manyRecords(5'000));
  window.show();
  QTRY_COMPARE(window.session.cursor(), 5'000u);
  window.session.setCursor(2'500);
  QCOMPARE(window.selectedRow(), 2'499);
  const QRect row = window.table()->visualRect(window.view.model()->index(2'499, 0));
  QVERIFY(window.table()->viewport()->rect().contains(row.center()));
  window.source.records = manyRecords(5'100);
  window.source.status.records = window.source.status.finished = 5'100;
  window.source.sendStatus();
  nothingMayHappenFor(150);
  QCOMPARE(window.selectedRow(), 2'499);
  window.session.follow();
  QTRY_COMPARE(window.selectedRow(), 5'099);
}

void TestTimelineView::thePendingRowIsBoldAndMarked() {
  Window window(RecordsText(program).records);
  window.show();
  window.source.stopAtNewest();
  QCOMPARE(window.selectedRow(), 10);
  QTRY_COMPARE(window.view.model()->index(10, RecordsModel::Duration).data().toString(),
               QStringLiteral("next"));
  keepPicture(&window.view, "timeline_light");
  keepPicture(window.table(), "timeline_table");
  window.view.resize(500, 250);
  keepPicture(&window.view, "timeline_small");
  window.view.resize(1500, 700);
  keepPicture(&window.view, "timeline_large");
}

void TestTimelineView::theFilterShowsMatchesAndKeepsTheCursor() {
  Window window(RecordsText(program).records);
  window.show();
  window.clickRow(1);
  window.filter("matmul");
  QCOMPARE(window.view.model()->rowCount(), 2);
  QCOMPARE(window.session.cursor(), 2u);  // a filter moves nothing
  QCOMPARE(window.selectedRow(), -1);
  QTRY_VERIFY(window.table()->hasFocus());
  QTest::keyClick(window.table(), Qt::Key_Down);
  QCOMPARE(window.session.cursor(), 10u);
  QCOMPARE(window.selectedRow(), 1);
  keepPicture(&window.view, "timeline_filter");
}

void TestTimelineView::directionsAreFilteredByTheirKeys() {
  Window window(RecordsText(program).records);
  window.show();
  QTest::keyClick(window.table(), Qt::Key_B, Qt::AltModifier);
  QCOMPARE(window.view.model()->direction(), Direction::backward);
  QTRY_COMPARE(window.view.model()->rowCount(), 5);
  QTest::keyClick(window.table(), Qt::Key_W, Qt::AltModifier);
  QTRY_COMPARE(window.view.model()->rowCount(), 6);
  QTest::keyClick(window.table(), Qt::Key_A, Qt::AltModifier);
  QTRY_COMPARE(window.view.model()->rowCount(), 11);
}

void TestTimelineView::escapeClearsTheFilter() {
  Window window(RecordsText(program).records);
  window.show();
  window.filter("softmax");
  QCOMPARE(window.view.model()->rowCount(), 0);
  keepPicture(&window.view, "timeline_nothing");
  QTest::keyClick(window.table(), Qt::Key_F, Qt::ControlModifier);
  QTest::keyClick(window.view.filterEdit(), Qt::Key_Escape);
  QCOMPARE(window.view.model()->rowCount(), 11);
  QVERIFY(window.table()->hasFocus());
  QCOMPARE(window.view.filterEdit()->text(), QString());
}

void TestTimelineView::goesFromAVjpToItsForwardOp() {
  Window window(RecordsText(program).records);
  window.show();
  window.clickRow(8);
  QTRY_VERIFY(window.session.cachedRecord(9));
  QTest::keyClick(window.table(), Qt::Key_Up, Qt::AltModifier);
  QCOMPARE(window.session.cursor(), 2u);
  QTest::keyClick(window.table(), Qt::Key_Up, Qt::AltModifier);  // a forward op has none
  QCOMPARE(window.session.cursor(), 2u);
  QTest::keyClick(window.table(), Qt::Key_L, Qt::ControlModifier);
  QTRY_COMPARE(window.view.model()->rowCount(), 2);
  QCOMPARE(window.view.filterEdit()->text(), QStringLiteral("sigmoid"));
}

void TestTimelineView::copiesARow() {
  Window window(RecordsText(program).records);
  window.show();
  window.clickRow(0);
  QTRY_VERIFY(window.session.cachedRecord(1));
  QTest::keyClick(window.table(), Qt::Key_C, Qt::ControlModifier);
  QCOMPARE(
      QGuiApplication::clipboard()->text(),
      QStringLiteral("1\t▼ matmul\t10×784, 784×196 → 10×196\tX:0, W:0\tfloat32\t/cpu:0\t[3]:4\t10 ns\t\t\t"));
}

void TestTimelineView::aMillionRowsFetchOnlyWhatIsSeen() {
  Window window(manyRecords(1'000'000));
  window.show();
  QTRY_COMPARE(window.session.cursor(), 1'000'000u);
  window.source.asked.clear();
  QElapsedTimer timer;
  timer.start();
  for (int page = 0; page < 50; ++page) {
    window.table()->verticalScrollBar()->setValue(page * 20'000);
    QApplication::processEvents();
  }
  nothingMayHappenFor(50);
  QVERIFY2(window.source.askedFor<protocol::GetRecords>().size() <= 150,
           qPrintable(QString::number(window.source.askedFor<protocol::GetRecords>().size())));
  for (int tick = 1; tick <= 30; ++tick) {
    window.source.status.records = 1'000'000 + static_cast<std::uint64_t>(tick) * 1'000;
    window.source.sendStatus();
    QApplication::processEvents();
  }
  qInfo("50 jumps and 30 notices of new rows over a million: %lld ms",
        static_cast<long long>(timer.elapsed()));
  QCOMPARE(window.view.model()->rowCount(), 1'030'000);
  QTRY_VERIFY(window.session.cachedCount() <= 100'000);
}

void TestTimelineView::looksRightInTheDark() {
  Window window(RecordsText(program).records);
  QPalette palette(QColor(0x2b, 0x2b, 0x2f));
  palette.setColor(QPalette::Base, QColor(0x1e, 0x1e, 0x22));
  for (const auto role : {QPalette::Text, QPalette::WindowText, QPalette::ButtonText})
    palette.setColor(role, QColor(0xe6, 0xe6, 0xe6));
  window.view.setPalette(palette);
  window.show();
  window.source.stopAtNewest();
  QTRY_VERIFY(window.session.cachedRecord(11));
  window.clickRow(3);
  keepPicture(&window.view, "timeline_dark");
  const QImage image = window.table()->viewport()->grab().toImage();
  const auto pixel = [&](int row) {
    const QRect cell = window.table()->visualRect(window.view.model()->index(row, RecordsModel::Attributes));
    return image.pixelColor(cell.left() + 2, cell.center().y());
  };
  QVERIFY(pixel(1).lightness() < 90);
  QVERIFY2(pixel(8) != pixel(1), "backward rows are tinted");
}

TAPEDECK_TEST(TestTimelineView)
#include "tst_timeline_view.moc"
