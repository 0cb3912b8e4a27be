// Runs of cells keep their names, curves and pictures: cells are run again by key in a real window with a
// real session process, and what panels say of the runs before stays as it was.
#include <QComboBox>
#include <QLegendMarker>
#include <QLineEdit>
#include <QTableView>

#include "app/shell/panels/workspaces.h"
#include "inspector/model/ops/records_model.h"
#include "inspector/panels/compare/compare_bar.h"
#include "inspector/panels/compare/compare_view.h"
#include "inspector/panels/compare/curves_view.h"
#include "inspector/panels/time/profile_table.h"
#include "inspector/panels/time/run_choice.h"
#include "inspector/panels/time/time_view.h"
#include "inspector/panels/time/track_canvas.h"
#include "plots/image_steps.h"
#include "plots/picture_pages.h"
#include "plots/plot_canvas.h"
#include "plots/plot_chart.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;

class TestRunNames : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  RecordsModel& rows() const { return *timeline(*window_)->model(); }
  /// The places of all rows of Ops.
  QStringList places() const {
    QStringList found;
    for (int row = 0; row < rows().rowCount(); ++row)
      if (rows().recordAt(row)) found << rows().index(row, RecordsModel::Place).data().toString();
    return found;
  }
  QStringList legend() const {
    QStringList names;
    for (const QLegendMarker* marker : app::plots(*window_)->chart()->legend()->markers())
      if (marker->isVisible()) names << marker->label();
    return names;
  }
  void run(const QList<int>& cells) {
    for (const int cell : cells) {
      click(cell);
      runByKey(cell);
    }
  }
  void showPlots() {
    QTest::keyClick(window_.get(), Qt::Key_3, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY_WITH_TIMEOUT(app::plots(*window_) && app::plots(*window_)->isVisible(), patience);
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void aRecordKeepsTheNameOfItsExecution() {
    openCells(folder_,
              {"import tapedeck as tf\ndef double(x):\n    return x + x", "y = double(tf.constant(2.))"});
    run({0, 1, 1, 0, 1});  // [1], [2], [3], [4], [5]
    showAllRecords();
    // The function's line belongs to the execution that defined it.
    QTRY_COMPARE_WITH_TIMEOUT(places(), QStringList({"cell [1]:3", "cell [1]:3", "cell [4]:3"}), patience);
    auto* edit = timeline(*window_)->filterEdit();
    QTest::mouseClick(edit, Qt::LeftButton);
    QTest::keyClicks(edit, "cell:[4]");
    QTest::keyClick(edit, Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(rows().filterText() == "cell:[4]" && !rows().scanning(), patience);
    QTRY_COMPARE(places(), QStringList({"cell [4]:3"}));
  }

  void runsInTimeAndCompareKeepTheirNames() {
    const QString training =
        "w = tf.Variable([1.])\nfor step in range(3):\n    with tf.GradientTape() as tape:\n"
        "        loss = w * w\n    w.assign_sub(0.1 * tape.gradient(loss, w))\n"
        "    tf.summary.scalar('loss', loss[0], step)\n    tf.summary.scalar('weight', w[0], step)";
    openCells(folder_, {"import tapedeck as tf", training, "total = 1 + 1"});
    run({0, 1, 1, 2});  // the last one has no ops
    QTest::keyClick(window_.get(), Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    auto* time = window_->findChild<inspector::TimeView*>();
    QTRY_VERIFY_WITH_TIMEOUT(time && time->isVisible(), patience);
    QTRY_VERIFY2_WITH_TIMEOUT(time->summary()->text().contains("of cell [3]’s"),
                              qPrintable(time->summary()->text()), patience);
    QVERIFY2(time->summary()->text().contains(" 3 steps: "), qPrintable(time->summary()->text()));
    auto* box = window_->findChild<QComboBox*>("timeRuns");
    QTRY_VERIFY2_WITH_TIMEOUT(box->currentText().startsWith("cell [3] ("), qPrintable(box->currentText()),
                              patience);
    QStringList texts;
    for (int i = 0; i < box->count(); ++i) texts << box->itemText(i).section(" (", 0, 0);
    QCOMPARE(texts, QStringList({"Everything", "cell [1]", "cell [2]", "cell [3]", "cell [4]"}));
    QVERIFY2(box->itemText(4).endsWith("no ops)"), qPrintable(box->itemText(4)));

    QTest::keyClick(window_.get(), Qt::Key_8, Qt::AltModifier);
    auto* compare = window_->findChild<inspector::CompareView*>();
    QTRY_VERIFY_WITH_TIMEOUT(compare && compare->isVisible(), patience);
    QTRY_VERIFY2_WITH_TIMEOUT(compare->bar()->left()->currentText().startsWith("cell [2], run 1 of 2"),
                              qPrintable(compare->bar()->left()->currentText()), patience);
    QVERIFY(compare->bar()->right()->currentText().startsWith("cell [3], run 2 of 2"));
    // Curves of two names over each other, by key.
    QTRY_VERIFY_WITH_TIMEOUT(compare->model()->curves().size() == 2, patience);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_C);
    auto* right = window_->findChild<QComboBox*>("compareRightCurve");
    auto* chart = window_->findChild<QWidget*>("compareChart");
    QTRY_VERIFY_WITH_TIMEOUT(right && right->isVisible(), patience);
    QVERIFY2(chart->accessibleName().startsWith("Curve loss: left 3 points"),
             qPrintable(chart->accessibleName()));
    right->setFocus();
    QTest::keyClick(right, Qt::Key_Down);
    QTRY_VERIFY2(chart->accessibleName().contains("; right weight, 3 points"),
                 qPrintable(chart->accessibleName()));
  }

  void timeShowsTheLinesAsTheyRan() {
    openCells(folder_, {"import tapedeck as tf", "y = tf.exp(2.)"});
    run({0, 1});
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::done, patience);
    click(1);
    QTest::keyClick(editorOf(1), Qt::Key_A, Qt::ControlModifier);
    type("z = 'nothing of before'");
    QTRY_VERIFY(document().cell(1).source.startsWith("z = "));
    QTest::keyClick(window_.get(), Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    auto* time = window_->findChild<inspector::TimeView*>();
    QTRY_VERIFY_WITH_TIMEOUT(time && time->isVisible() && time->model()->overview(), patience);
    time->setFocus();
    press(Qt::Key_O);
    auto* rows = qobject_cast<inspector::ProfileTable*>(time->table()->model());
    QTRY_VERIFY_WITH_TIMEOUT(time->table()->isVisible() && rows->rowCount() > 0, patience);
    QTest::keyClick(time->table(), Qt::Key_G);
    QTRY_VERIFY2_WITH_TIMEOUT(rows->text(0).endsWith("1: y = tf.exp(2.)"), qPrintable(rows->text(0)),
                              patience);
  }

  void timeAtTheGateIsNoPartOfARunsDuration() {
    openCells(folder_, {"import tapedeck as tf\nx = tf.constant(2.)\nfor i in range(4):\n    x = x * x"});
    click(0);
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    nothingMayHappenFor(700);
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
    QTest::keyClick(window_.get(), Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    auto* time = window_->findChild<inspector::TimeView*>();
    QTRY_VERIFY_WITH_TIMEOUT(time && time->isVisible() && time->model()->overview() &&
                                 time->model()->overviewFits() && !time->model()->runs().empty(),
                             patience);
    const protocol::ProfileRun& run = time->model()->runs().back();
    QVERIFY(run.paused_ns >= 600'000'000);
    auto* box = window_->findChild<QComboBox*>("timeRuns");
    QTRY_VERIFY2_WITH_TIMEOUT(
        box->currentText().contains(" without ") && box->currentText().contains(" at the gate"),
        qPrintable(box->currentText()), patience);
    // The pause takes no room in the track.
    const double width = time->track()->canvasSize().width();
    const auto& pauses = time->model()->overview()->pauses;
    QVERIFY(!pauses.empty());
    const double from = time->track()->xOf(static_cast<double>(pauses[0].from_ns)),
                 to = time->track()->xOf(static_cast<double>(pauses[0].to_ns));
    QVERIFY2(std::abs(to - from) < 1 && from >= 0 && to <= width, qPrintable(QString::number(to - from)));
  }

  void twoCellsThatWriteOneNameHaveACurveEach() {
    const QString loop =
        "for step in range(4):\n    tf.square(1.)\n    tf.summary.scalar('loss', %1 / (step + 1.), step)";
    openCells(folder_, {"import tapedeck as tf", loop.arg(1), loop.arg(2)});
    run({0, 1, 2});
    showPlots();
    QTRY_COMPARE_WITH_TIMEOUT(legend(), QStringList({"loss, cell [2]", "loss, cell [3]"}), patience);
    const auto markers = app::plots(*window_)->chart()->legend()->markers();
    QVERIFY(markers[0]->pen() != markers[1]->pen() || markers[0]->brush() != markers[1]->brush());
    // Its name is that of the run that drew it.
    run({1});
    QTRY_COMPARE_WITH_TIMEOUT(legend(), QStringList({"loss, cell [4]", "loss, cell [3]"}), patience);
    QTRY_COMPARE(window_->series()->series("loss")->size(), std::size_t{4});
  }

  void aCurveIsOverWhatTheProgramSays() {
    openCells(folder_, {"import tapedeck as tf\nimport numpy as np\nts = np.linspace(-2., 2., 5)\n"
                        "tf.debugging.plot('along', ts**2, ts, x_name='t')",
                        "[4., 3., 2.]",
                        "for step in range(10):\n    tf.summary.scalar('loss', 1. / (step + 1), step)"});
    run({0});
    showPlots();
    QTRY_COMPARE_WITH_TIMEOUT(app::plots(*window_)->chart()->axis(), QString("t"), patience);
    QTRY_COMPARE(app::plots(*window_)->chart()->stepsShown().from, -2.);
    QCOMPARE(app::plots(*window_)->chart()->stepsShown().to, 2.);
    run({1});
    QTRY_COMPARE_WITH_TIMEOUT(app::plots(*window_)->chart()->axis(), QString("index"), patience);
    run({2});  // the curve that began last decides which axis is shown
    QTRY_COMPARE_WITH_TIMEOUT(app::plots(*window_)->chart()->axis(), QString("step"), patience);
    QTRY_COMPARE_WITH_TIMEOUT(legend(), QStringList({"loss"}), patience);
    QTest::mouseClick(app::plots(*window_)->canvas()->viewport(), Qt::LeftButton);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_X);
    QTRY_COMPARE(app::plots(*window_)->chart()->axis(), QString("t"));
    QTRY_COMPARE(legend(), QStringList({"along"}));
    screenshot(window_.get(), "plots-over-t");
  }

  void imagesOfTheNextRunAreNamedAndFollowed() {
    openCells(folder_, {"import tapedeck as tf",
                        "for step in range(6):\n    x = tf.ones([1, 4, 4, 1]) * (step / 6.)\n"
                        "    tf.summary.image('digits', x, step)"});
    run({0, 1});
    showPlots();
    auto* images = app::plots(*window_)->pictures()->images();
    QTRY_COMPARE_WITH_TIMEOUT(images->caption(), QString("step 5 · cell [2] · 4×4"), patience);
    QTest::mouseClick(images, Qt::LeftButton, {}, images->rect().center());
    for (int i = 0; i < 3; ++i) QTest::keyClick(QApplication::focusWidget(), Qt::Key_Left);
    QTRY_COMPARE(images->caption(), QString("step 2 · cell [2] · 4×4"));
    QVERIFY(!session().following());
    run({1});
    QTRY_COMPARE_WITH_TIMEOUT(images->caption(), QString("step 5 · cell [3] · 4×4"), patience);
    QVERIFY(session().following());
    QTRY_COMPARE_WITH_TIMEOUT(session().cursor(), session().recordCount(), patience);
  }
};

TAPEDECK_TEST(TestRunNames)
#include "tst_run_names.moc"
