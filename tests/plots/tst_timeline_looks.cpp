// What the timeline shows of its rows: columns as wide as their contents, a filter that says what it
// takes, a theme that is switched live.
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QtWidgets>

#include "inspector/panels/ops/timeline_columns.h"
#include "inspector/panels/ops/timeline_view.h"
#include "inspector/ui/appearance.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using inspector::RecordsModel;
using inspector::Session;
using inspector::TimelineView;

namespace {

protocol::TensorInfo tensor(std::uint64_t id, std::vector<std::int64_t> shape, std::string name = {}) {
  protocol::TensorInfo info;
  info.id = id;
  info.dtype = "float32";
  info.device = "/cpu:0";
  info.shape = std::move(shape);
  info.name = std::move(name);
  return info;
}

/// The last thousand have all that a row shows.
std::vector<protocol::Record> recordsOfLooks(std::size_t count) {
  std::vector<protocol::Record> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    records[i].number = i + 1;
    records[i].op = "matmul";
    records[i].state = protocol::RecordState::done;
    if (i + 1000 < count) continue;
    records[i].duration_ns = 123'456;
    records[i].inputs = {tensor(1, {60000, 784}), tensor(2, {784, 196}, "W:0")};
    records[i].outputs = {tensor(3, {60000, 196})};
  }
  return records;
}

struct LooksWindow {
  test::FakeSource source;
  Session session;
  TimelineView view{session};

  LooksWindow(std::vector<protocol::Record> records, QSize size) : source(std::move(records)) {
    view.resize(size);
    view.show();
    view.activateWindow();
    if (!QTest::qWaitForWindowActive(&view, tapedeck::patience)) qWarning("the window is not active");
    session.setSource(&source);
  }
  QTableView* table() const { return view.table(); }
  QModelIndex cell(int row, int column) const { return view.model()->index(row, column); }
  /// The text is wholly in its cell.
  bool fits(int row, int column) const {
    const QFontMetrics metrics(table()->font());
    return table()->columnWidth(column) >= metrics.horizontalAdvance(cell(row, column).data().toString()) + 6;
  }
  bool here(int row) const {
    return waitFor([&] { return cell(row, 0).data(RecordsModel::HereRole).toBool(); }, tapedeck::patience);
  }
};

void keep(QWidget* widget, const QString& name) {
  const QString folder = QStringLiteral(TAPEDECK_BUILD_DIR "/screenshots");
  QDir().mkpath(folder);
  widget->grab().save(folder + QLatin1Char('/') + name + QStringLiteral(".png"));
}

}  // namespace

class TestTimelineLooks : public QObject {
  Q_OBJECT
  QTemporaryDir home_;

 private slots:
  void initTestCase() {
    QCoreApplication::setOrganizationName("tapedeck-test");
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, home_.path());
  }
  void init() { inspector::applyAppearance(inspector::Appearance::light); }
  void cleanup() { QSettings().clear(); }

  void nothingThatMattersIsCut_data() {
    QTest::addColumn<int>("width");
    for (const int width : {371, 420, 900}) QTest::addRow("%d", width) << width;
  }
  void nothingThatMattersIsCut() {
    QFETCH(int, width);
    LooksWindow window(recordsOfLooks(1'234'567), {width, 330});
    QTRY_COMPARE(window.session.cursor(), 1'234'567u);
    QVERIFY(window.here(1'234'566));
    for (const int column : {RecordsModel::Number, RecordsModel::Op, RecordsModel::Duration,
                             RecordsModel::Name, RecordsModel::DType, RecordsModel::Device})
      QTRY_VERIFY2(window.fits(1'234'566, column),
                   qPrintable(window.cell(1'234'566, column).data().toString()));
    // The ends of shapes are visible, with their result.
    const QTableView* table = window.table();
    QVERIFY(window.fits(1'234'566, RecordsModel::Shapes) ||
            table->columnViewportPosition(RecordsModel::Shapes) + table->columnWidth(RecordsModel::Shapes) <=
                table->viewport()->width());
    QVERIFY(table->columnWidth(RecordsModel::Shapes) >= 90);
    // Number, op and duration are visible without scrolling.
    for (const int column : {RecordsModel::Number, RecordsModel::Op, RecordsModel::Duration})
      QVERIFY(window.table()->columnViewportPosition(column) + window.table()->columnWidth(column) <=
              window.table()->viewport()->width());
    const QLineEdit* filter = window.view.filterEdit();
    QVERIFY(filter->width() >= filter->fontMetrics().horizontalAdvance(filter->placeholderText()) + 20);
    for (const auto* button : window.view.findChildren<QToolButton*>()) {
      if (!button->isVisible() || button->text().isEmpty()) continue;
      QVERIFY(button->width() >= button->sizeHint().width());
      QVERIFY(window.view.rect().contains(QRect(button->mapTo(&window.view, QPoint(0, 0)), button->size())));
    }
    keep(&window.view, QString("ops-%1").arg(width));
  }

  void aBillionRecordsHaveRoomForTheirNumbers() {
    Session session;
    RecordsModel model(&session);
    QTableView table;
    table.setModel(&model);
    inspector::TimelineColumns columns(&table);
    columns.fit(1'000'000'000);
    QFont bold = table.font();
    bold.setBold(true);
    QTRY_VERIFY(table.columnWidth(RecordsModel::Number) >=
                QFontMetrics(bold).horizontalAdvance(QStringLiteral("▶ 1,000,000,000")));
  }

  void aWidthThatWasDraggedStays() {
    int dragged = 0;
    {
      LooksWindow window(recordsOfLooks(50), {900, 330});
      QVERIFY(window.here(40));
      QTRY_VERIFY(window.fits(40, RecordsModel::Op) && window.fits(40, RecordsModel::Shapes));
      QHeaderView* header = window.table()->horizontalHeader();
      const int edge =
          header->sectionViewportPosition(RecordsModel::Op) + header->sectionSize(RecordsModel::Op);
      const QPoint from(edge - 2, header->height() / 2);
      QTest::mousePress(header->viewport(), Qt::LeftButton, {}, from);
      QTest::mouseMove(header->viewport(), from + QPoint(30, 0));
      QTest::mouseMove(header->viewport(), from + QPoint(75, 0));
      QTest::mouseRelease(header->viewport(), Qt::LeftButton, {}, from + QPoint(75, 0));
      dragged = header->sectionSize(RecordsModel::Op);
      QVERIFY2(dragged > 120, qPrintable(QString::number(dragged)));
      window.session.setCursor(3);
      nothingMayHappenFor(20);
      QCOMPARE(header->sectionSize(RecordsModel::Op), dragged);
    }
    LooksWindow next(recordsOfLooks(50), {900, 330});
    QTRY_COMPARE(next.session.cursor(), 50u);
    QCOMPARE(next.table()->columnWidth(RecordsModel::Op), dragged);
    QVERIFY(next.here(40));
    QTRY_VERIFY(next.fits(40, RecordsModel::Shapes));
    // A double click gives the column back.
    QHeaderView* header = next.table()->horizontalHeader();
    const QPoint edge(header->sectionViewportPosition(RecordsModel::Op) + dragged - 2, header->height() / 2);
    QTest::mouseDClick(header->viewport(), Qt::LeftButton, {}, edge);
    QVERIFY(QSettings().allKeys().isEmpty());
  }

  void aTextTooLongForItsColumnKeepsItsEndAndIsInTheTooltip() {
    auto records = recordsOfLooks(3);
    for (int i = 0; i < 12; ++i)
      records[1].inputs.push_back(tensor(10 + static_cast<std::uint64_t>(i), {1000, 1000}));
    LooksWindow window(records, {900, 330});
    QVERIFY(window.here(1));
    (void)settled([&] { return window.table()->columnWidth(RecordsModel::Shapes); });
    const QModelIndex cell = window.cell(1, RecordsModel::Shapes);
    QVERIFY(!window.fits(1, RecordsModel::Shapes));
    keep(&window.view, "ops-long");
    QHelpEvent event(QEvent::ToolTip, window.table()->visualRect(cell).center(),
                     window.table()->viewport()->mapToGlobal(window.table()->visualRect(cell).center()));
    QApplication::sendEvent(window.table()->viewport(), &event);
    QTRY_VERIFY(QToolTip::isVisible());
    QVERIFY2(QToolTip::text().startsWith(cell.data().toString() + '\n'), qPrintable(QToolTip::text()));
  }

  void theSelectedRowIsSeenInBothThemes() {
    LooksWindow window(recordsOfLooks(20), {900, 330});
    QTRY_COMPARE(window.session.cursor(), 20u);
    for (const auto theme : {inspector::Appearance::dark, inspector::Appearance::light}) {
      inspector::applyAppearance(theme);
      window.session.setCursor(7);
      window.table()->verticalScrollBar()->setValue(0);
      QTRY_COMPARE(window.table()->currentIndex().row(), 6);
      const auto ground = [&](int row) {
        const QImage image = window.table()->viewport()->grab().toImage();
        const QRect rect = window.table()->visualRect(window.cell(row, RecordsModel::Op));
        return image.pixelColor(rect.left() + 1, rect.top() + 2);
      };
      QTRY_COMPARE(ground(5).lightness() < 128, theme == inspector::Appearance::dark);
      QVERIFY(std::abs(ground(6).lightness() - ground(5).lightness()) > 25 ||
              std::abs(ground(6).hslSaturation() - ground(5).hslSaturation()) > 60);
      keep(&window.view, theme == inspector::Appearance::dark ? "ops-live-dark" : "ops-live-light");
    }
  }

  void anEmptyPanelSaysWhatToDo() {
    LooksWindow window({}, {420, 250});
    auto* table = static_cast<QWidget*>(window.table());
    const auto says = [table] { return table->property("placeholder").toString(); };
    QTRY_VERIFY2(says().startsWith("No ops yet. Run a cell"), qPrintable(says()));
    window.source.status.recording = false;
    window.source.sendStatus();
    QTRY_VERIFY2(says().startsWith("Recording is off"), qPrintable(says()));
    keep(&window.view, "ops-recording-off");
  }
};

TAPEDECK_TEST(TestTimelineLooks)
#include "tst_timeline_looks.moc"
