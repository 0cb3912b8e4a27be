// The samples that are puzzles about whole runs: each is opened from the start page, run, and solved with the
// panel that its text names, by keys and mouse; the answer is the one that the text gives, and its cure
// helps.
#include <QLabel>
#include <QTreeWidget>

#include "inspector/panels/compare/compare_view.h"
#include "inspector/panels/compare/operands_view.h"
#include "inspector/panels/health/health_view.h"
#include "inspector/panels/memory/memory_view.h"
#include "inspector/panels/time/time_view.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestRunPuzzles : public QObject, SampleWindow {
  Q_OBJECT

  void runCell(const QString& begin) {
    const int cell = cellThatBegins(begin);
    QVERIFY2(cell >= 0, qPrintable(begin));
    click(cell);
    runByKey(cell);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(cell), CellState::done, patience);
  }
  QString outputOf(const QString& begin) const { return outputText(*window_, cellThatBegins(begin)); }
  /// As the notebooks say: by the panel's key alone.
  template <class View>
  View* openBy(Qt::Key key) {
    press(key, Qt::AltModifier);
    View* view = nullptr;
    const auto shown = [&] { return (view = window_->findChild<View*>()) && view->isVisible(); };
    return waitFor(shown, patience) ? view : nullptr;
  }
  const protocol::Record* cursorRecord() { return session().record(session().cursor()); }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void twoUnequalRuns() {
    open("unequal_runs.ipynb");
    const QString train =
        "for variable, value in zip(variables, start):\n    "
        "variable.assign(value)\ntf.set_random_seed(1)\nfor";
    runCell("import numpy");
    runCell(train);
    const QString first = outputOf(train);
    runCell(train);
    QVERIFY(outputOf(train) != first);
    auto* compare = openBy<inspector::CompareView>(Qt::Key_8);
    QVERIFY(compare);
    const auto told = [&](const QString& part) {
      return waitFor([&] { return compare->sentence()->text().contains(part); }, patience);
    };
    QVERIFY2(told("8 ops on the left alone"), qPrintable(compare->sentence()->text()));
    press(Qt::Key_F);
    QVERIFY2(told("The first difference is what op"), qPrintable(compare->sentence()->text()));
    QVERIFY2(told("adam, cell [2] line 9"), qPrintable(compare->sentence()->text()));
    QTreeWidget* operands = compare->operands()->table();
    const auto moment = [&] { return operands->findItems("m", Qt::MatchExactly); };
    QTRY_VERIFY_WITH_TIMEOUT(moment().size() == 1 && moment()[0]->text(1).startsWith("W1/Adam"), patience);
    QVERIFY2(moment()[0]->text(3).contains("64 of 64"), qPrintable(moment()[0]->text(3)));
    screenshot(window_.get(), "puzzle-unequal-runs");
    // The cure: two runs of the last cell are alike.
    const QString mended =
        "for variable, value in zip(variables, start):\n    "
        "variable.assign(value)\ntf.set_random_seed(1)\noptimizer";
    runCell(mended);
    const QString once = outputOf(mended);
    runCell(mended);
    QCOMPARE(outputOf(mended), once);
  }

  void aSlowRun() {
    open("slow_python.ipynb");
    runCell("import numpy");
    runCell("def train");
    auto* time = openBy<inspector::TimeView>(Qt::Key_5);
    QVERIFY(time);
    QTRY_VERIFY2_WITH_TIMEOUT(time->summary()->text().startsWith("Python between ops: "),
                              qPrintable(time->summary()->text()), patience);
    const int share = time->summary()->text().section(": ", 1).section(" %", 0, 0).toInt();
    QVERIFY2(share > 50, qPrintable(time->summary()->text()));
    QVERIFY2(time->summary()->text().contains("between lines 10 and 6"), qPrintable(time->summary()->text()));
    // H goes to the op that the longest of it leads to.
    press(Qt::Key_H);
    QTRY_VERIFY_WITH_TIMEOUT(cursorRecord() && cursorRecord()->line == 6, patience);
    screenshot(window_.get(), "puzzle-slow-python");
    runCell("place = ");
  }

  void memoryThatGrows() {
    open("kept_tapes.ipynb");
    runCell("import numpy");
    runCell("history = []\nfor step in range(60):\n    with tf.GradientTape(persistent");
    auto* memory = openBy<inspector::MemoryView>(Qt::Key_6);
    QVERIFY(memory);
    QTRY_VERIFY2_WITH_TIMEOUT(memory->growth()->text().contains("Kept by the name history (60 items)"),
                              qPrintable(memory->growth()->text()), patience);
    QVERIFY2(memory->growth()->text().contains("Tapes hold them"), qPrintable(memory->growth()->text()));
    press(Qt::Key_P);
    QTRY_VERIFY2_WITH_TIMEOUT(memory->summary()->text().startsWith("At op"),
                              qPrintable(memory->summary()->text()), patience);
    screenshot(window_.get(), "puzzle-kept-tapes");
    runCell("history = []\nfor step in range(60):\n    with tf.GradientTape() as");
    press(Qt::Key_6, Qt::AltModifier);
  }

  void aSilentLayer() {
    open("silent_layer.ipynb");
    runCell("import numpy");
    runCell("for step in range(300)");
    auto* health = openBy<inspector::HealthView>(Qt::Key_7);
    QVERIFY(health);
    QTreeWidget* findings = health->findings();
    const auto all = [&] {
      QStringList texts;
      for (int i = 0; i < findings->topLevelItemCount(); ++i) texts << findings->topLevelItem(i)->text(1);
      return texts.join('\n');
    };
    QTRY_VERIFY2_WITH_TIMEOUT(all().contains("100 % of its 8 units are dead since step 122"),
                              qPrintable(all()), patience);
    QTRY_VERIFY2_WITH_TIMEOUT(all().contains("W1 gets a gradient of exactly 0 since step"), qPrintable(all()),
                              patience);
    int row = 0;
    while (!findings->topLevelItem(row)->text(1).contains("100 % of its 8 units")) ++row;
    QTest::mouseClick(findings->viewport(), Qt::LeftButton, {},
                      findings->visualItemRect(findings->topLevelItem(row)).center());
    findings->setFocus();
    press(Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(
        cursorRecord() && cursorRecord()->op == "relu" && cursorRecord()->scope == "layer1", patience);
    qInfo("%s", qPrintable(all()));
    screenshot(window_.get(), "puzzle-silent-layer");
    const QString mended = "for variable, value in zip(variables, start):";
    runCell(mended);
    QVERIFY2(outputOf(mended).trimmed().toDouble() < 0.3, qPrintable(outputOf(mended)));
  }
};

TAPEDECK_TEST(TestRunPuzzles)
#include "tst_run_puzzles.moc"
