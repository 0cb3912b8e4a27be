// Charts that panels draw, as screen readers and keys walk through them: each curve, point and picture is an
// element with a name, what it shows, and its place.
#include "inspector/panels/compare/compare_view.h"
#include "inspector/panels/health/health_curves.h"
#include "inspector/panels/health/health_table.h"
#include "inspector/panels/health/health_view.h"
#include "inspector/panels/memory/memory_chart.h"
#include "inspector/panels/memory/memory_view.h"
#include "inspector/panels/time/flame_canvas.h"
#include "inspector/panels/time/roofline_canvas.h"
#include "inspector/panels/time/time_view.h"
#include "plots/histogram_ridges.h"
#include "plots/image_grid.h"
#include "plots/image_steps.h"
#include "plots/picture_pages.h"
#include "tests/app/panels/reader.h"
#include "tests/app/panels/tape_of_sample.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using test::partsAreInside;
using test::readerOf;
using test::readIn;
using test::valueOf;

class TestAccessibleCharts : public QObject, TapeOfSample {
  Q_OBJECT

  QTemporaryDir folder_;

  void run(const QStringList& cells, const QList<int>& order) {
    openCells(folder_, cells);
    for (const int cell : order) {
      click(cell);
      runByKey(cell);
      QTRY_COMPARE_WITH_TIMEOUT(stateOf(cell), CellState::done, patience);
    }
  }
  void analyze() { QTest::keyClick(window_.get(), Qt::Key_5, Qt::ControlModifier | Qt::AltModifier); }

  const QString training_ =
      "w = tf.Variable([1.])\nfor step in range(3):\n    with tf.GradientTape() as tape:\n"
      "        with tf.name_scope('square'):\n            loss = w * w\n"
      "    w.assign_sub(0.25 * tape.gradient(loss, w))\n    tf.summary.scalar('loss', loss[0], step)";

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void theCurvesOfCompareAreElements() {
    run({"import tapedeck as tf", training_}, {0, 1, 1});
    QTest::keyClick(window_.get(), Qt::Key_8, Qt::AltModifier);
    auto* compare = window_->findChild<inspector::CompareView*>();
    QTRY_VERIFY_WITH_TIMEOUT(compare && compare->isVisible() && compare->model()->curves().size() == 1,
                             patience);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_C);
    auto* chart = window_->findChild<QWidget*>("compareChart");
    QTRY_VERIFY_WITH_TIMEOUT(chart && chart->isVisible(), patience);
    QTRY_COMPARE(readIn(chart), QStringList({"left: loss", "right: loss"}));
    QCOMPARE(valueOf(chart, "left: loss"),
             QString("3 points, step 0 to 2, between 0.0625 and 1, the last 0.0625"));
    QVERIFY(partsAreInside(chart, 2));
    chart->setFocus();
    press(Qt::Key_Right);
    press(Qt::Key_Right);
    QCOMPARE(readerOf(chart)->focusChild()->text(QAccessible::Name), QString("step 1"));
    QCOMPARE(readerOf(chart)->focusChild()->text(QAccessible::Value),
             QString("left 0.25, right 0.25, right − left 0"));
    QVERIFY(partsAreInside(chart, 3));
  }

  void theCurvesOfMemoryAndTheirPeakAreElements() {
    run({"import tapedeck as tf\nw = tf.Variable(tf.ones([1000]))\ny = [w * 2. for _ in range(8)]\ndel y\n"
         "z = w + 1."},
        {0});
    analyze();
    QTest::keyClick(window_.get(), Qt::Key_6, Qt::AltModifier);
    auto* memory = window_->findChild<inspector::MemoryView*>();
    QTRY_VERIFY_WITH_TIMEOUT(memory && memory->isVisible() && memory->model()->curve(), patience);
    auto* chart = window_->findChild<inspector::MemoryChart*>();
    QTRY_VERIFY_WITH_TIMEOUT(readIn(chart).contains("peak of the program"), patience);
    QCOMPARE(readerOf(chart)->childCount(), 5);  // three holders, the peak, the cursor
    const QString variables = valueOf(chart, readIn(chart).first());
    QVERIFY2(variables.startsWith("ops 1 to ") && variables.endsWith("at the end 4.00 kB"),
             qPrintable(variables));
    QVERIFY(valueOf(chart, "peak of the program").contains(", at op "));
    QVERIFY(partsAreInside(chart, 5));
    // The arrows move the cursor: screen readers get the values at its op.
    chart->setFocus();
    press(Qt::Key_Left);
    QTRY_VERIFY(readerOf(chart)->focusChild());
    const QString before = readerOf(chart)->focusChild()->text(QAccessible::Name);
    QVERIFY2(before.startsWith("around op "), qPrintable(before));
    QVERIFY(readerOf(chart)->focusChild()->text(QAccessible::Value).startsWith("variables 4.00 kB, tapes "));
    press(Qt::Key_Left);
    QTRY_VERIFY(readerOf(chart)->focusChild()->text(QAccessible::Name) != before);
  }

  void theOpsUnderTheRoofAndTheFlameAreElements() {
    run({"import tapedeck as tf", training_}, {0, 1});
    analyze();
    auto* time = window_->findChild<inspector::TimeView*>();
    QTRY_VERIFY_WITH_TIMEOUT(time && time->isVisible() && time->model()->overview(), patience);
    time->setFocus();
    press(Qt::Key_R);
    auto* roofline = time->roofline();
    QTRY_VERIFY_WITH_TIMEOUT(roofline->isVisible() && !roofline->points().empty(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(readIn(roofline).contains("Roof: memory"), patience);
    const auto points = static_cast<int>(roofline->points().size());
    QCOMPARE(readerOf(roofline)->childCount(), points + 4);
    QVERIFY(!readIn(roofline).filter("multiply").isEmpty());
    const QString value = readIn(roofline, QAccessible::Value).first();
    QVERIFY2(value.startsWith("time ") && value.contains(" calls, rate "), qPrintable(value));
    QVERIFY(valueOf(roofline, "Roof: memory").endsWith("B/s"));
    QVERIFY(partsAreInside(roofline, points));
    roofline->setFocus();
    press(Qt::Key_Right);
    QCOMPARE(readerOf(roofline)->focusChild()->text(QAccessible::Name), readIn(roofline).first());

    press(Qt::Key_L);
    auto* flame = time->flame();
    QTRY_VERIFY_WITH_TIMEOUT(flame->isVisible() && readIn(flame).contains("square"), patience);
    QVERIFY2(valueOf(flame, "square").endsWith(" calls"), qPrintable(valueOf(flame, "square")));
    QCOMPARE(readerOf(flame)->child(0)->role(), QAccessible::TreeItem);
    QCOMPARE(readIn(flame).first(), QString("all"));
    flame->setFocus();
    press(Qt::Key_Down);
    QTRY_VERIFY(readerOf(flame)->focusChild());
    QVERIFY(readerOf(flame)->focusChild()->text(QAccessible::Name) != "all");
  }

  void theRidgesAndTheImagesAreElementsByStep() {
    run({"import numpy as np\nimport tapedeck as tf\nfor step in range(4):\n"
         "    tf.summary.histogram('weights', np.linspace(-1., 1. + step, 100), step)\n"
         "    tf.summary.image('digits', np.zeros([2, 8, 8, 1], np.float32), step)"},
        {0});
    QTest::keyClick(window_.get(), Qt::Key_3, Qt::ControlModifier | Qt::AltModifier);
    auto* pages = app::plots(*window_)->pictures();
    auto* ridges = pages->ridges();
    QTRY_VERIFY_WITH_TIMEOUT(ridges->isVisible() && readerOf(ridges)->childCount() == 4, patience);
    QCOMPARE(readIn(ridges),
             QStringList({"weights, step 0", "weights, step 1", "weights, step 2", "weights, step 3"}));
    const QString value = valueOf(ridges, "weights, step 3");
    QVERIFY2(value.startsWith("100 values from -1 to 4, most in "), qPrintable(value));
    QVERIFY2(value.endsWith(" of 100 values"), qPrintable(value));
    QVERIFY(partsAreInside(ridges, 4));
    ridges->setFocus();
    press(Qt::Key_Up);
    press(Qt::Key_Up);
    QVERIFY(readerOf(ridges)->focusChild());
    const QString chosen = readerOf(ridges)->focusChild()->text(QAccessible::Name);
    QVERIFY2(ridges->readOut().startsWith(chosen.section(", ", 1)), qPrintable(chosen));

    press(Qt::Key_I);
    auto* grid = pages->images()->grid();
    QTRY_VERIFY_WITH_TIMEOUT(grid->isVisible() && readerOf(grid)->childCount() == 2, patience);
    QCOMPARE(readIn(grid).first().section(", ", 0, 0), QString("digits"));
    QVERIFY(readIn(grid).first().endsWith(", image 0"));
    QCOMPARE(readIn(grid, QAccessible::Value).first(), QString("8 × 8 pixels, grey"));
    QVERIFY(partsAreInside(grid, 2));
    const QString step = readIn(grid).first().section(", ", 1, 1);
    press(Qt::Key_Left);
    QTRY_VERIFY_WITH_TIMEOUT(readIn(grid).first().section(", ", 1, 1) != step, patience);
  }

  void theCurvesOfHealthAreElements() {
    run({"import tapedeck as tf", training_ + "\n    # a step"}, {0, 1});
    QTest::keyClick(window_.get(), Qt::Key_7, Qt::AltModifier);
    auto* health = window_->findChild<inspector::HealthView*>();
    QTRY_VERIFY_WITH_TIMEOUT(health && health->isVisible(), patience);
    auto* curves = health->curves();
    QTRY_VERIFY_WITH_TIMEOUT(health->table()->rows()->rowCount() > 0, patience);
    QTest::mouseClick(health->table()->viewport(), Qt::LeftButton, {},
                      health->table()->visualRect(health->table()->rows()->index(0, 1)).center());
    QTRY_VERIFY_WITH_TIMEOUT(readerOf(curves)->childCount() > 0, patience);
    const int count = readerOf(curves)->childCount();
    for (const QString& name : readIn(curves)) QVERIFY(!name.isEmpty());
    for (const QString& value : readIn(curves, QAccessible::Value))
      QVERIFY2(value.contains(" samples, from "), qPrintable(value));
    QTRY_VERIFY(partsAreInside(curves, count));
  }

  void theNodesAndScopesOfTheTapeAreElements() {
    run({"import tapedeck as tf", training_}, {0, 1});
    showAllRecords();
    QTest::keyClick(window_.get(), Qt::Key_1, Qt::ControlModifier);
    goTo("op:multiply and forward and record<4");
    QTRY_VERIFY_WITH_TIMEOUT(canvas().laidOut() && nodeNamed("multiply") >= 0, patience);
    QAccessibleInterface* picture = readerOf(&canvas());
    const auto nodes = static_cast<int>(graph().nodes.size());
    QVERIFY(picture->childCount() >= nodes);
    const QString name = readIn(&canvas())[nodeNamed("multiply")];
    QVERIFY2(name.contains("multiply"), qPrintable(name));
    QVERIFY(readIn(&canvas()).contains("scope square"));
    QCOMPARE(picture->child(nodes)->role(), QAccessible::Grouping);
    QTRY_VERIFY_WITH_TIMEOUT(!picture->child(nodeNamed("multiply"))->rect().isEmpty(), patience);
  }
};

TAPEDECK_TEST(TestAccessibleCharts)
#include "tst_accessible_charts.moc"
