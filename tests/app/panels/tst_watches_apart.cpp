// Watches and Console run beside the program: the same notebook gives the same numbers, names and records
// with them and without.
#include <QPlainTextEdit>
#include <QTabBar>

#include "inspector/model/variables/watch_model.h"
#include "inspector/panels/console/console_input.h"
#include "inspector/panels/console/console_view.h"
#include "inspector/panels/variables/value_view.h"
#include "inspector/panels/variables/variables_view.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::ValueTree;

namespace {

const QStringList watched_program = {
    "import tapedeck as tf\nimport numpy as np\nimport random\ntfe = tf.contrib.eager\n\n"
    "def square(x):\n    return x * x",
    "tf.random.set_seed(3); random.seed(3); np.random.seed(3)\nw = tf.Variable([1., 2., 3.], name='w')\n"
    "curve, seen = [], []\nfor step in range(4):\n    noise = tf.random.uniform([3]) + random.random()\n"
    "    loss = tf.reduce_sum(w * noise + np.random.rand())\n    curve.append(float(loss))\n"
    "print(curve, seen, tf.keras.layers.Dense(1).name, w.numpy())"};

}  // namespace

class TestWatchesApart : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  inspector::VariablesView* variables() { return window_->findChild<inspector::VariablesView*>(); }
  QAbstractItemModel* watches() { return variables()->watchTable()->model(); }
  QString valueOf(int row) { return watches()->index(row, ValueTree::Value).data().toString(); }

  void showPart(QWidget* part, Qt::Key key) {
    const auto inSight = [part] { return part->isVisible() && !part->visibleRegion().isEmpty(); };
    for (QTabBar* tabs : window_->findChildren<QTabBar*>())
      for (int i = 0; !inSight() && tabs->isVisible() && i < tabs->count(); ++i)
        if (part->parentWidget() && tabs->tabText(i) == (key == Qt::Key_7 ? "Variables" : "Console"))
          QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(i).center());
    if (!inSight()) QTest::keyClick(window_.get(), key, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(inSight(), patience);
  }

  void stepOp() {
    const auto before = session().stop();
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && session().stop() != before, patience);
  }

  /// Everything that is to be the same: what the cell printed, and its records.
  QStringList run(const QStringList& expressions, bool waits = true) {
    QStringList all;
    [&] {
      openCells(folder_, watched_program);
      click(0);
      runByKey(0);
      showPart(variables(), Qt::Key_7);
      for (const QString& expression : expressions) {
        variables()->watchEdit()->setFocus();
        QTest::keyClicks(variables()->watchEdit(), expression);
        QTest::keyClick(variables()->watchEdit(), Qt::Key_Return);
      }
      QTRY_COMPARE(watches()->rowCount(), static_cast<int>(expressions.size()));
      click(1);
      for (int step = 0; step < 5; ++step) {
        stepOp();
        for (int row = 0; waits && row < watches()->rowCount(); ++row)
          QTRY_VERIFY2_WITH_TIMEOUT(!valueOf(row).isEmpty(), qPrintable(expressions.at(row)), patience);
      }
      QTest::keyClick(window_.get(), Qt::Key_F5);
      QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::done, patience);
      QVERIFY(knowsAllRecords(*window_));
      all << outputText(*window_, 1);
      for (inspector::RecordNumber number = 1; number <= session().recordCount(); ++number) {
        QTRY_VERIFY_WITH_TIMEOUT(session().record(number), patience);
        const auto* record = session().record(number);
        QString text =
            QString("%1 %2 %3").arg(number).arg(QString::fromStdString(record->op)).arg(record->line);
        for (const auto& tensor : record->outputs)
          text += ' ' + QString::fromStdString(tensor.name) + ' ' + QString::fromStdString(tensor.preview);
        all << text;
      }
    }();
    return all;
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() { window_.reset(); }

  void watchesChangeNothing() {
    const QStringList plain = run({});
    QVERIFY2(plain.size() > 10 && plain.first().contains("dense"), qPrintable(plain.join('\n')));
    const QStringList watched =
        run({"tf.random.uniform(())", "random.random()", "np.random.rand(2)", "tf.keras.layers.Dense(2).name",
             "seen.append(1) or len(seen)", "float(w.assign_add([1., 1., 1.])[0])"});
    QCOMPARE(watched, plain);
  }

  // Each F10 comes while the first one is being evaluated.
  void aStepWaitsForTheWatchesOrEndsThem() {
    const QStringList plain = run({});
    const QStringList watched = run(
        {"sum([random.random() for i in range(2000000)])", "np.random.rand(2)", "random.random()"}, false);
    QCOMPARE(watched, plain);
  }

  void gradientsWorkInConsole() {
    openCells(folder_, watched_program);
    click(0);
    runByKey(0);
    click(1);
    stepOp();
    auto* console = window_->findChild<inspector::ConsoleView*>();
    showPart(console, Qt::Key_8);
    QTest::mouseClick(console->input()->viewport(), Qt::LeftButton, {}, QPoint(5, 5));
    QTRY_VERIFY(console->input()->hasFocus());
    QTest::keyClicks(console->input(), "float(tfe.gradients_function(square)(tf.constant(3.))[0]) + 0.25");
    QTest::keyClick(console->input(), Qt::Key_Return);
    QTRY_VERIFY2_WITH_TIMEOUT(console->output()->toPlainText().contains("6.25"),
                              qPrintable(console->output()->toPlainText()), patience);
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::done, patience);
  }
};

TAPEDECK_TEST(TestWatchesApart)
#include "tst_watches_apart.moc"
