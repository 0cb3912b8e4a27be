// Health, in a real window with a real session process: a network whose first layer dies at a known step, and
// the pairs of L-BFGS, found with keys and the mouse.
#include <QDockWidget>
#include <QRegularExpression>
#include <QTableView>
#include <QToolButton>
#include <QTreeWidget>

#include "inspector/panels/health/health_curves.h"
#include "inspector/panels/health/health_table.h"
#include "inspector/panels/health/health_view.h"
#include "inspector/panels/why/why_view.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::HealthView;

namespace {

const QString network =
    "import numpy as np\n"
    "import tapedeck as tf\n"
    "random = np.random.RandomState(0)\n"
    "x = tf.constant(random.randn(64, 10).astype(np.float32))\n"
    "y = tf.constant(random.randn(64, 1).astype(np.float32))\n"
    "W1 = tf.Variable(tf.constant(.3 * random.randn(10, 16).astype(np.float32)), name='W1')\n"
    "b1 = tf.Variable(tf.zeros([16]), name='b1')\n"
    "W2 = tf.Variable(tf.constant(.3 * random.randn(16, 1).astype(np.float32)), name='W2')\n"
    "optimizer = tf.train.GradientDescentOptimizer(.01)\n"
    "for step in range(1, 201):\n"
    "    if step == 120:\n"
    "        b1.assign(b1 - 100.)\n"
    "    with tf.GradientTape() as tape:\n"
    "        hidden = tf.nn.relu(tf.matmul(x, W1) + b1)\n"
    "        loss = tf.reduce_mean(tf.square(tf.matmul(hidden, W2) - y))\n"
    "    variables = [W1, b1, W2]\n"
    "    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))\n";

}  // namespace

class TestHealthPanel : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  void run(int cell = 0) {
    click(cell);
    runByKey(cell);
  }
  void showHealth() {
    QVERIFY(!health()->isVisible());
    QTest::keyClick(window_.get(), Qt::Key_7, Qt::AltModifier);
    QTRY_VERIFY_WITH_TIMEOUT(health()->isVisible(), patience);
  }
  HealthView* health() const { return window_->findChild<HealthView*>(); }
  QString all() const {
    QStringList texts;
    for (int i = 0; i < health()->findings()->topLevelItemCount(); ++i)
      texts << health()->findings()->topLevelItem(i)->text(1);
    return texts.join('\n');
  }
  /// Which finding says that; waits for it.
  int findingThat(const QString& says) const {
    int found = -1;
    const auto look = [&] {
      for (int i = 0; i < health()->findings()->topLevelItemCount() && found < 0; ++i)
        if (health()->findings()->topLevelItem(i)->text(1).contains(says)) found = i;
      return found >= 0;
    };
    return waitFor(look, patience) ? found : -1;
  }
  /// As findingThat, for numbers that differ.
  int findingLike(const QString& pattern) const {
    const QRegularExpression form(pattern);
    int found = -1;
    const auto look = [&] {
      for (int i = 0; i < health()->findings()->topLevelItemCount() && found < 0; ++i)
        if (form.match(health()->findings()->topLevelItem(i)->text(1)).hasMatch()) found = i;
      return found >= 0;
    };
    return waitFor(look, patience) ? found : -1;
  }
  const protocol::Record* cursorRecord() const { return session().record(session().cursor()); }

  /// A network whose last step is a function with a gradient of the program's own, times `factor`.
  static QString ownGradient(const QString& factor) {
    return QString(
               "import numpy as np\n"
               "import tapedeck as tf\n"
               "@tf.custom_gradient\n"
               "def triple(x):\n"
               "    return 3. * x, lambda upstream: %1 * upstream\n"
               "x = tf.constant(np.random.RandomState(0).randn(16, 2).astype(np.float32))\n"
               "w = tf.Variable(tf.ones([2, 1]), name='w')\n"
               "for step in range(30):\n"
               "    with tf.GradientTape() as tape:\n"
               "        loss = tf.reduce_mean(tf.square(triple(tf.matmul(x, w)) - x[:, :1]))\n"
               "    w.assign_sub(.01 * tape.gradient(loss, w))\n")
        .arg(factor);
  }
  void choose(int row) {
    QTreeWidget* list = health()->findings();
    list->setFocus();
    QTest::keyClick(list, Qt::Key_Home);
    for (int i = 0; i < row; ++i) QTest::keyClick(list, Qt::Key_Down);
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void aLayerThatDiedIsFoundAfterTheRun() {
    openCells(folder_, {network});
    run();
    showHealth();
    const QString sampled =
        " in all \\d+ sampled steps from step 120 on \\(\\d+ of 200 steps were sampled\\)";
    const int dead = findingLike("relu after W1: 100 % of its 16 units are dead" + sampled + ", line 14");
    QVERIFY2(dead >= 0, qPrintable(all()));
    const int stopped = findingLike("W1 gets a gradient of exactly 0" + sampled);
    QVERIFY2(stopped >= 0, qPrintable(all()));
    QTRY_VERIFY2_WITH_TIMEOUT(all().contains("relu is flat below zero"), qPrintable(all()), patience);
    const int height = health()->findings()->visualItemRect(health()->findings()->topLevelItem(0)).height();
    QCOMPARE(health()->findings()->viewport()->height() % height, 0);
    // It says how it sampled: few of the steps, and the step to the day.
    QTRY_VERIFY2_WITH_TIMEOUT(health()->sampling()->text().contains("of 200 steps, recomputed"),
                              qPrintable(health()->sampling()->text()), patience);
    // Enter goes to the op, of step 120: records of a step are alike.
    QTreeWidget* list = health()->findings();
    list->setFocus();
    QTest::keyClick(list, Qt::Key_Home);
    const int at = findingThat("relu after W1: 100 %");
    for (int i = 0; i < at; ++i) QTest::keyClick(list, Qt::Key_Down);
    QVERIFY2(health()->sentence()->text().contains("learning rate"),
             qPrintable(health()->sentence()->text()));
    QTest::keyClick(list, Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(cursorRecord() && cursorRecord()->op == "relu", patience);
    QCOMPARE(cursorRecord()->line, 14U);
    const quint64 shown = cursorRecord()->number;
    QTRY_VERIFY_WITH_TIMEOUT(timeline(*window_)->selectedText().contains("relu"), patience);
    // Its curve is selected, with the cursor's step marked; the keys go from sample to sample.
    QTRY_VERIFY_WITH_TIMEOUT(health()->curves()->description().contains("dead"), patience);
    screenshot(window_.get(), "health-1280");
    health()->curves()->setFocus();
    QTest::keyClick(health()->curves(), Qt::Key_Left);
    QTRY_VERIFY_WITH_TIMEOUT(session().cursor() < shown, patience);
    const quint64 before = session().cursor();
    QTest::keyClick(health()->curves(), Qt::Key_Right);
    QTRY_VERIFY_WITH_TIMEOUT(session().cursor() > before, patience);
    // A click on a sample of another row goes to it.
    auto* table = health()->table();
    int row = 0;
    while (row < table->rows()->rowCount() && table->rows()->index(row, 0).data().toString() != "W2") ++row;
    QVERIFY(row < table->rows()->rowCount());
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                      table->visualRect(table->rows()->index(row, 1)).center());
    QTRY_VERIFY_WITH_TIMEOUT(health()->curves()->description().contains("gradient"), patience);
    // One colour marks all of the row.
    const QPixmap picture = table->viewport()->grab();
    const auto colourIn = [&](int column) {
      const QPointF corner =
          table->visualRect(table->rows()->index(row, column)).bottomRight() - QPoint(3, 3);
      return picture.toImage().pixelColor((corner * picture.devicePixelRatio()).toPoint());
    };
    QCOMPARE(colourIn(0), colourIn(4));
    QVERIFY(colourIn(0) != table->palette().color(QPalette::Base));
    const QPointF place = health()->curves()->placeOf("gradient", 0);
    QVERIFY(!place.isNull());
    QTest::mouseClick(health()->curves(), Qt::LeftButton, {}, place.toPoint());
    QTRY_VERIFY_WITH_TIMEOUT(session().cursor() < before && cursorRecord() && cursorRecord()->backward,
                             patience);
    window_->resize(2560, 1440);
    screenshot(window_.get(), "health-2560");
    screenshotIn(inspector::Appearance::dark, window_.get(), "health-2560-dark");
    window_->resize(1280, 800);
    screenshotIn(inspector::Appearance::dark, window_.get(), "health-1280-dark");
    inspector::applyAppearance(inspector::Appearance::light);
    // M recomputes more.
    const quint64 known = health()->model()->shownRun()->sampled;
    list->setFocus();
    QTest::keyClick(list, Qt::Key_M);
    QTRY_VERIFY_WITH_TIMEOUT(health()->model()->shownRun()->sampled > known, patience);
  }

  void shownWhileItRunsItSamplesLive() {
    openCells(folder_, {"import tapedeck as tf", network});
    run();
    showHealth();
    QTRY_VERIFY_WITH_TIMEOUT(health()->model()->state().every == 1, patience);
    run(1);
    QVERIFY2(findingThat("from step 120 on") >= 0, qPrintable(all()));
    const auto* model = health()->model();
    QTRY_VERIFY_WITH_TIMEOUT(model->shownRun() && model->shownRun()->sampled > model->shownRun()->recomputed,
                             patience);
    QTRY_VERIFY2_WITH_TIMEOUT(health()->sampling()->text().contains("live"),
                              qPrintable(health()->sampling()->text()), patience);
    // Hidden it samples no longer. The panel has the focus first: then its key closes it.
    health()->findings()->setFocus();
    QTest::keyClick(window_.get(), Qt::Key_7, Qt::AltModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!health()->isVisible(), patience);
    QVERIFY(!health()->model()->shown());
  }

  // The findings come after the panel: the key that opened it leads to them all the same.
  void itsKeyLeadsToTheFindingsAndEscBack() {
    openCells(folder_, {network});
    run();
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    showHealth();
    QTreeWidget* list = health()->findings();
    QTRY_VERIFY_WITH_TIMEOUT(list->topLevelItemCount() > 1, patience);
    QTRY_VERIFY2(list->hasFocus(), QApplication::focusWidget()->metaObject()->className());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Down);
    QTRY_COMPARE(list->indexOfTopLevelItem(list->currentItem()), 1);
    // Esc ends a computation first.
    QTRY_VERIFY_WITH_TIMEOUT(!health()->model()->recomputing(), patience);
    QTest::keyClick(list, Qt::Key_Escape);
    QTRY_VERIFY(window_->notebook() == QApplication::focusWidget() ||
                window_->notebook()->isAncestorOf(QApplication::focusWidget()));
    // Who goes through the layers is left there, whatever is found.
    health()->table()->setFocus(Qt::TabFocusReason);
    QTest::keyClick(health()->table(), Qt::Key_Down);
    QTest::keyClick(health()->table(), Qt::Key_M);
    QTRY_VERIFY_WITH_TIMEOUT(!health()->model()->recomputing(), patience);
    QVERIFY(health()->table()->hasFocus());
  }

  // Where nothing is found, the key goes to the layers.
  void whatIsHealthyIsLookedThroughByKey() {
    QString healthy = network;
    openCells(folder_, {healthy.replace("step == 120", "step == 1000")});
    run();
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    showHealth();
    QTRY_VERIFY_WITH_TIMEOUT(health()->table()->model()->rowCount() > 2, patience);
    QTRY_VERIFY_WITH_TIMEOUT(health()->sentence()->text().startsWith("✔"), patience);
    QVERIFY2(health()->findings()->isHidden(), qPrintable(all()));
    QTRY_VERIFY_WITH_TIMEOUT(health()->isAncestorOf(QApplication::focusWidget()), patience);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Down);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Down);
    QTRY_VERIFY(health()->table()->currentIndex().row() > 0);
    QTest::keyClick(window_.get(), Qt::Key_7, Qt::AltModifier);
    QTRY_VERIFY(!health()->isVisible());
  }

  // A run that draws a curve brings the workspace Plots, which has no Health: it shares the height with the
  // curves.
  void besideTheCurvesItsLayersAreSeen() {
    openCells(folder_, {QString(network) + "    tf.summary.scalar('loss', loss, step)\n"});
    window_->resize(1280, 800);
    run();
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    auto* plots = window_->findChild<QDockWidget*>("panel.plots");
    QTRY_VERIFY_WITH_TIMEOUT(plots && plots->isVisible(), patience);
    showHealth();
    auto* table = health()->table();
    QTRY_VERIFY_WITH_TIMEOUT(table->model()->rowCount() > 2, patience);
    const auto isInSight = [&](int row) {
      return table->viewport()->rect().contains(table->visualRect(table->model()->index(row, 0)));
    };
    QTRY_VERIFY(isInSight(0) && isInSight(2));
    QVERIFY(plots->isVisible() && plots->height() > 200);
  }

  // The norms are those of the finite elements: 0 would say that all is still.
  void whatIsNaNSaysSoInItsCell() {
    QString diverging = network;
    openCells(folder_, {diverging.replace("Optimizer(.01)", "Optimizer(1e20)")});
    run();
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    showHealth();
    QVERIFY2(findingLike(
                 "W1: its (gradient|value after the update|gradient and its value after the update) ha(s|ve) "
                 "\\d+ elements that are NaN or infinite at step \\d+") >= 0,
             qPrintable(all()));
    QVERIFY2(!all().contains("exactly 0") && !all().contains("keeps its value"), qPrintable(all()));
    const auto* rows = health()->table()->rows();
    const auto gradientOfW1 = [&] {
      for (int row = 0; row < rows->rowCount(); ++row)
        if (rows->index(row, 0).data().toString() == "W1") return rows->index(row, 1).data().toString();
      return QString();
    };
    QTRY_COMPARE_WITH_TIMEOUT(gradientOfW1(), QString("NaN/inf"), patience);
    screenshot(window_.get(), "health-nan");
  }

  void aCustomGradientIsCheckedFromHere() {
    openCells(folder_, {ownGradient("3.")});
    run();
    showHealth();
    const int unchecked = findingThat("The program wrote the gradient of triple, line 10, itself");
    QVERIFY2(unchecked >= 0, qPrintable(all()));
    choose(unchecked);
    auto* button = health()->findChild<QToolButton*>("healthCheckNow");
    QTRY_VERIFY_WITH_TIMEOUT(button->isVisible() && button->isEnabled(), patience);
    // The sentence follows the list at once, with the button beside it.
    const auto bottomOf = [&](QWidget* widget) {
      return widget->mapTo(health(), QPoint(0, widget->height())).y();
    };
    QTRY_VERIFY_WITH_TIMEOUT(button->mapTo(health(), QPoint()).y() - bottomOf(health()->findings()) < 12,
                             patience);
    shots(window_.get(), "health-check-now");
    QTest::mouseClick(button, Qt::LeftButton);
    auto* why = window_->findChild<inspector::WhyView*>();
    QTRY_VERIFY_WITH_TIMEOUT(why->isVisible() && why->sentence()->text().contains("is right"), patience);
    QTRY_VERIFY2_WITH_TIMEOUT(!all().contains("wrote the gradient of triple"), qPrintable(all()), patience);
    QTRY_VERIFY_WITH_TIMEOUT(!button->isVisible(), patience);
  }

  void aWrongCustomGradientStaysAFinding() {
    openCells(folder_, {ownGradient("6.")});
    run();
    showHealth();
    const int unchecked = findingThat("The program wrote the gradient of triple, line 10, itself");
    QVERIFY2(unchecked >= 0, qPrintable(all()));
    choose(unchecked);
    QTest::keyClick(health()->findings(), Qt::Key_C);
    QVERIFY2(findingThat("The custom gradient of triple, line 10 disagrees with finite differences.") >= 0,
             qPrintable(all()));
    QVERIFY2(all().contains("×2 in every element"), qPrintable(all()));
    shots(window_.get(), "health-wrong-gradient");
  }

  void theAxisOfACurveWithoutNumbersHasNone() {
    openCells(folder_, {"import tapedeck as tf\n"
                        "w = tf.Variable(0., name='w')\n"
                        "for step in range(10):\n"
                        "    with tf.GradientTape() as tape:\n"
                        "        loss = tf.sqrt(w * w)\n"
                        "    w.assign_sub(tape.gradient(loss, w))\n"});
    run();
    showHealth();
    auto* table = health()->table();
    const auto row = [&] { return table->rows()->index(table->rows()->rowCount() - 1, 0); };
    QTRY_COMPARE_WITH_TIMEOUT(row().data().toString(), QString("w"), patience);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(row()).center());
    auto* curves = health()->curves();
    QTRY_VERIFY2_WITH_TIMEOUT(curves->description().startsWith("gradient: from NaN"),
                              qPrintable(curves->description()), patience);
    QCOMPARE(session().cursor(), session().recordCount());
    const QImage picture = curves->grab().toImage();
    const int beside = curves->fontMetrics().horizontalAdvance("8.88e-08");
    const auto charts = curves->description().count("; ") + 1;  // one below the other
    const auto below = (curves->rect().height() - curves->fontMetrics().lineSpacing()) / charts - 4;
    for (int y = 4; y < below; ++y)
      for (int x = 4; x < beside; ++x) QCOMPARE(picture.pixelColor(x, y), picture.pixelColor(4, 4));
  }

  void thePairsOfLbfgs() {
    openCells(folder_, {"import numpy as np\n"
                        "import tapedeck as tf\n"
                        "w = tf.Variable(tf.constant([-1.2, 1.], tf.float64), name='w')\n"
                        "def rosenbrock():\n"
                        "    return 100. * (w[1] - w[0] ** 2) ** 2 + (1. - w[0]) ** 2\n"
                        "optimizer = tf.train.LBFGS(line_search='strong_wolfe')\n"
                        "losses = optimizer.minimize(rosenbrock, [w], iterations=30)\n"
                        "tf.debugging.health('my method/s·y', -1.)\n"});
    run();
    showHealth();
    QTRY_VERIFY_WITH_TIMEOUT(health()->model()->published().size() == 2, patience);
    QTRY_VERIFY_WITH_TIMEOUT(health()->isAncestorOf(QApplication::focusWidget()), patience);
    QVERIFY2(findingThat("my method: s·y is not positive") >= 0, qPrintable(all()));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_B);
    QTRY_VERIFY_WITH_TIMEOUT(health()->pairs()->isVisible(), patience);
    const auto columns = [&] {
      QStringList names;
      for (int i = 0; i < health()->pairs()->model()->columnCount(); ++i)
        names << health()->pairs()->model()->headerData(i, Qt::Horizontal).toString();
      return names.join(' ');
    };
    if (!waitFor([&] { return columns().contains("rho"); }, 5000))
      QTest::keyClick(health()->pairs(), Qt::Key_B);  // the next group
    QTRY_VERIFY2_WITH_TIMEOUT(columns().contains("s·y") && columns().contains("rho") &&
                                  columns().contains("step length") && columns().contains("curvature") &&
                                  columns().contains("evaluations"),
                              qPrintable(columns()), patience);
    QVERIFY(health()->pairs()->model()->rowCount() > 10);
    const quint64 cursor = session().cursor();
    QTest::mouseClick(health()->pairs()->viewport(), Qt::LeftButton, {},
                      health()->pairs()->visualRect(health()->pairs()->model()->index(2, 1)).center());
    QTRY_VERIFY_WITH_TIMEOUT(session().cursor() < cursor, patience);
    screenshot(window_.get(), "health-lbfgs-1280");
    window_->resize(2560, 1440);
    screenshot(window_.get(), "health-lbfgs-2560");
    QTest::keyClick(health()->pairs(), Qt::Key_V);
    QTRY_VERIFY(health()->table()->isVisible());
  }
};

TAPEDECK_TEST(TestHealthPanel)
#include "tst_health_panel.moc"
