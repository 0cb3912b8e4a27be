// What screen readers find in the panels' pictures and tables: elements with names, values and places.
#include <QAccessible>
#include <QTableView>

#include "inspector/model/ops/records_model.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "inspector/panels/time/track_canvas.h"
#include "plots/plot_canvas.h"
#include "tests/app/panels/reader.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using test::onScreen;
using test::readerOf;
using test::readIn;

class TestScreenReaders : public QObject, private SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  void showTensor(Qt::Key mode) {
    QTest::keyClick(window_.get(), Qt::Key_3, Qt::ControlModifier);
    QTest::keyClick(window_.get(), mode, Qt::AltModifier);
    auto* canvas = tensor(*window_)->canvas();
    QTRY_VERIFY_WITH_TIMEOUT(canvas->isVisible() && canvas->sentence().isEmpty(), patience);
    waitForFrames(window_.get());
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void init() {
    openCells(folder_, {"import tapedeck as tf\nx = tf.constant([[1., 2.], [3., 4.]])\ny = x + x",
                        "losses = [2.5, 1.25, 0.5]\nlosses"});
    runAll();
  }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void theCellsOfTheHeatMapAreElements() {
    showTensor(Qt::Key_2);
    auto* canvas = tensor(*window_)->canvas();
    QAccessibleInterface* picture = readerOf(canvas);
    QTRY_COMPARE(picture->childCount(), 4);
    QCOMPARE(readIn(canvas), QStringList({"[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]"}));
    QList<double> values;
    QList<QRect> rects;
    for (int i = 0; i < 4; ++i) {
      QAccessibleInterface* cell = picture->child(i);
      QVERIFY(cell->isValid());
      QCOMPARE(cell->parent(), picture);
      QCOMPARE(picture->indexOfChild(cell), i);
      QCOMPARE(cell->role(), QAccessible::Cell);
      values << cell->text(QAccessible::Value).toDouble();
      rects << cell->rect();
      QVERIFY(!cell->rect().isEmpty() && onScreen(canvas).contains(cell->rect()));
      QCOMPARE(picture->childAt(cell->rect().center().x(), cell->rect().center().y()), cell);
    }
    QCOMPARE(values, QList<double>({2, 4, 6, 8}));
    QVERIFY(rects[0].center().x() < rects[1].center().x() && rects[0].center().y() < rects[2].center().y());
  }

  void arrowsMoveACellCursorInTheHeatMap() {
    showTensor(Qt::Key_2);
    auto* canvas = tensor(*window_)->canvas();
    QAccessibleInterface* picture = readerOf(canvas);
    QTRY_COMPARE(picture->childCount(), 4);
    canvas->setFocus();
    QCOMPARE(canvas->currentAccessiblePart(), -1);
    press(Qt::Key_Right);  // the first key chooses a visible cell
    QCOMPARE(canvas->readout(), QString("[0, 0] = 2"));
    press(Qt::Key_Right);
    press(Qt::Key_Down);
    QCOMPARE(canvas->readout(), QString("[1, 1] = 8"));
    QVERIFY(picture->focusChild());
    QCOMPARE(picture->focusChild()->text(QAccessible::Name), QString("[1, 1]"));
    QCOMPARE(picture->focusChild()->text(QAccessible::Value).toDouble(), 8.0);
    QVERIFY(picture->focusChild()->state().focused);
    QCOMPARE(picture->text(QAccessible::Description), QString("[1, 1] = 8"));
    press(Qt::Key_Down);  // the last row stays
    QCOMPARE(canvas->readout(), QString("[1, 1] = 8"));
    waitForFrames(window_.get());
    screenshot(window_.get(), "tensor-heat-cursor");
    // Zoomed in, the map follows the cursor; Shift moves the map alone.
    for (int i = 0; i < 12; ++i) press(Qt::Key_Plus);
    press(Qt::Key_Left);
    press(Qt::Key_Up);
    QCOMPARE(canvas->readout(), QString("[0, 0] = 2"));
    const QRectF cell = canvas->heatMap().cellRect(0, 0);
    QVERIFY(QRectF(canvas->rect()).contains(cell.center()));
    press(Qt::Key_Right, Qt::ShiftModifier);
    QCOMPARE(canvas->readout(), QString("[0, 0] = 2"));
    QVERIFY(canvas->heatMap().cellRect(0, 0).left() < cell.left());
  }

  void theNumbersAreElementsAndTheSelectedOneHasTheFocus() {
    showTensor(Qt::Key_1);
    auto* canvas = tensor(*window_)->canvas();
    QAccessibleInterface* picture = readerOf(canvas);
    QTRY_COMPARE(picture->childCount(), 4);
    const QPoint last = picture->child(3)->rect().center() - onScreen(canvas).topLeft();
    QTest::mouseClick(canvas, Qt::LeftButton, {}, last);
    waitForFrames(window_.get());
    QVERIFY(picture->focusChild());
    QCOMPARE(picture->focusChild()->text(QAccessible::Name), QString("[1, 1]"));
    QTest::keyClick(canvas, Qt::Key_Up);
    waitForFrames(window_.get());
    QCOMPARE(picture->focusChild()->text(QAccessible::Name), QString("[0, 1]"));
    QCOMPARE(picture->focusChild()->text(QAccessible::Value).toDouble(), 4.0);
    QVERIFY(picture->focusChild()->state().focused);
  }

  void theBarsOfTheHistogramAreElements() {
    showTensor(Qt::Key_3);
    QStringList values;
    QAccessibleInterface* picture = readerOf(tensor(*window_)->canvas());
    QTRY_VERIFY(picture->childCount() > 3);
    for (int i = 0; i < picture->childCount(); ++i) values << picture->child(i)->text(QAccessible::Value);
    QCOMPARE(values.filter("1 values, 25.0 %").size(), 4);
    QVERIFY(picture->child(0)->text(QAccessible::Name).contains(" to "));
  }

  void theCurvesAreElements() {
    QTest::keyClick(window_.get(), Qt::Key_4, Qt::ControlModifier);
    auto* canvas = window_->findChild<plots::PlotCanvas*>();
    QTRY_VERIFY_WITH_TIMEOUT(canvas->isVisible() && readerOf(canvas)->childCount() > 0, patience);
    QTRY_VERIFY_WITH_TIMEOUT(readIn(canvas).contains("losses"), patience);
    QAccessibleInterface* curve = readerOf(canvas)->child(static_cast<int>(readIn(canvas).indexOf("losses")));
    QTRY_VERIFY2(curve->text(QAccessible::Value).startsWith("3 points, index 0 to 2, "),
                 qPrintable(curve->text(QAccessible::Value)));
    QVERIFY(curve->text(QAccessible::Value).endsWith("between 0.5 and 2.5, the newest 0.5"));
    QTRY_VERIFY(!curve->rect().isEmpty() && onScreen(canvas).contains(curve->rect()));
  }

  void theLanesOfTimeAreElements() {
    QTest::keyClick(window_.get(), Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);  // Analyze
    auto* canvas = window_->findChild<inspector::TrackCanvas*>();
    QTRY_VERIFY_WITH_TIMEOUT(canvas->isVisible() && readerOf(canvas)->childCount() > 0, patience);
    QAccessibleInterface* lane = readerOf(canvas)->child(0);
    QTRY_VERIFY2(lane->text(QAccessible::Name).contains(", depth 0"),
                 qPrintable(lane->text(QAccessible::Name)));
    QTRY_VERIFY2(lane->text(QAccessible::Value).contains(" ops in this part of the run"),
                 qPrintable(lane->text(QAccessible::Value)));
    QVERIFY(!lane->rect().isEmpty() && onScreen(canvas).intersects(lane->rect()));
  }

  void aCellOfOpsHasItsOwnName() {
    using inspector::RecordsModel;
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier);
    QTableView* table = timeline(*window_)->table();
    const auto* model = table->model();
    QVERIFY(knowsAllRecords(*window_));
    QTRY_VERIFY(timeline(*window_)->model()->rowCount() > 0 && timeline(*window_)->model()->recordAt(0) == 0);
    const int row = model->rowCount() - 1;  // below the headings
    QTRY_VERIFY(model->index(row, 0).data(RecordsModel::HereRole).toBool());
    QAccessibleTableInterface* cells = readerOf(table)->tableInterface();
    QVERIFY(cells);
    QSet<QString> names;
    for (int column = 0; column < RecordsModel::ColumnCount; ++column)
      names << cells->cellAt(row, column)->text(QAccessible::Name);
    QCOMPARE(names.size(), qsizetype{RecordsModel::ColumnCount});
    QCOMPARE(cells->cellAt(row, RecordsModel::Op)->text(QAccessible::Name), QString("Op: add"));
    QCOMPARE(cells->cellAt(row, RecordsModel::Shapes)->text(QAccessible::Name),
             QString("Shapes: 2×2, 2×2 → 2×2"));
    QVERIFY(cells->cellAt(row, RecordsModel::Op)->text(QAccessible::Description).contains("forward op"));
  }
};

TAPEDECK_TEST(TestScreenReaders)
#include "tst_screen_readers.moc"
