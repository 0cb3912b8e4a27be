// The samples that are puzzles about whole runs: each is opened from the start page, run, and solved with the
// panel that its text names, by keys and mouse; the answer is the one that the text gives, and its cure
// helps.
#include <QComboBox>
#include <QLabel>
#include <QRegularExpression>
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
    QVERIFY2(told("8 ops on the left only"), qPrintable(compare->sentence()->text()));
    press(Qt::Key_F);
    QVERIFY2(told("The first difference is an input of op"), qPrintable(compare->sentence()->text()));
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
    QTRY_VERIFY2_WITH_TIMEOUT(time->summary()->text().startsWith("Python took "),
                              qPrintable(time->summary()->text()), patience);
    const int share = time->summary()->text().section("took ", 1).section(" %", 0, 0).toInt();
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
    QTRY_VERIFY2_WITH_TIMEOUT(memory->growth()->text().contains("Kept alive by the name history (60 items)"),
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
    const QRegularExpression dead(
        "100 % of its 8 units are dead in (all \\d+|\\d+ of the \\d+) sampled steps from step 122 on");
    QTRY_VERIFY2_WITH_TIMEOUT(all().contains(dead), qPrintable(all()), patience);
    const QRegularExpression still(
        "W1 gets a gradient of exactly 0 in (all \\d+|\\d+ of the \\d+) sampled steps from step 122 on "
        "\\(\\d+ of 300 steps were sampled\\)");
    QTRY_VERIFY2_WITH_TIMEOUT(all().contains(still), qPrintable(all()), patience);
    QTRY_VERIFY_WITH_TIMEOUT(!health->model()->recomputing(), patience);
    int row = 0;
    while (!findings->topLevelItem(row)->text(1).contains("100 % of its 8 units")) ++row;
    findings->scrollToItem(findings->topLevelItem(row));
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

  // All cells ran: the findings of the run that died are its own, and the mended one has none.
  void aSilentLayerAfterRunAll() {
    open("silent_layer.ipynb");
    runAll();
    auto* health = openBy<inspector::HealthView>(Qt::Key_7);
    QVERIFY(health);
    QTreeWidget* findings = health->findings();
    const auto all = [&] {
      QStringList texts;
      for (int i = 0; i < findings->topLevelItemCount(); ++i)
        texts << findings->topLevelItem(i)->text(0) + ' ' + findings->topLevelItem(i)->text(1);
      return texts.join('\n');
    };
    const auto rowLike = [&](const QRegularExpression& form) {
      for (int i = 0; i < findings->topLevelItemCount(); ++i)
        if (findings->topLevelItem(i)->text(1).contains(form)) return i;
      return -1;
    };
    const auto model = [&] { return health->model(); };
    const QRegularExpression dead(
        "^layer1 \\(relu\\): .*100 % of its 8 units are dead in .* from step 122 on");
    QTRY_VERIFY2_WITH_TIMEOUT(rowLike(dead) >= 0 && !model()->recomputing(), qPrintable(all()), patience);
    QCOMPARE(model()->runs().size(), std::size_t{2});
    QVERIFY(health->runs()->isVisible());
    QCOMPARE(health->runs()->count(), 3);
    // The cause comes first: the batch that was not scaled, and then the step that it made.
    // What the layers got is computed again for it, and may come behind the others.
    QTRY_VERIFY2_WITH_TIMEOUT(findings->topLevelItem(0)->text(1).contains(" gets inputs (32×2) from "),
                              qPrintable(all()), patience);
    QVERIFY2(findings->topLevelItem(0)->text(1).contains("at step 121"), qPrintable(all()));
    QVERIFY2(findings->topLevelItem(1)->text(1).contains("its gradient's norm is"), qPrintable(all()));
    QVERIFY2(rowLike(dead) == 2, qPrintable(all()));
    for (int i = 0; i < findings->topLevelItemCount(); ++i)
      QCOMPARE(model()->findings()[static_cast<std::size_t>(i)].run, model()->runs()[0].number);
    // What it says of W1's gradient is what the samples are, some small ones among the zeros included.
    const QRegularExpression still(
        "^W1 gets a gradient of exactly 0 in (?:all )?(\\d+)(?: of the (\\d+))? sampled steps "
        "from step 122 on \\((\\d+) of 300 steps were sampled\\)");
    QTRY_VERIFY2_WITH_TIMEOUT(rowLike(still) >= 0, qPrintable(all()), patience);
    const int row = rowLike(still);
    findings->setFocus();
    press(Qt::Key_Home);
    for (int i = 0; i < row; ++i) press(Qt::Key_Down);
    press(Qt::Key_Return);
    const auto gradients = [&]() -> const protocol::HealthCurve* {
      for (const protocol::HealthCurve* curve : model()->curves())
        if (curve->quantity == "gradient" && curve->run == model()->runs()[0].number) return curve;
      return nullptr;
    };
    QTRY_VERIFY_WITH_TIMEOUT(
        model()->shownRun() && model()->shownRun()->number == model()->runs()[0].number && gradients(),
        patience);
    const auto match = still.match(findings->topLevelItem(row)->text(1));
    int zeros = 0, samples = 0;
    for (std::size_t i = 0; i < gradients()->steps.size(); ++i) {
      if (gradients()->steps[i] < 122) continue;
      ++samples;
      zeros += gradients()->values[i] == 0;
    }
    QCOMPARE(match.captured(1).toInt(), zeros);
    QCOMPARE(match.captured(2).isEmpty() ? zeros : match.captured(2).toInt(), samples);
    QCOMPARE(match.captured(3).toULongLong(), model()->runs()[0].sampled);
    QVERIFY2(health->sampling()->text().contains("of 300 steps"), qPrintable(health->sampling()->text()));
    screenshot(window_.get(), "puzzle-silent-layer-all");
    // N: the newest run, which has no findings; P: the one before; E: both again.
    findings->setFocus();
    press(Qt::Key_N);
    QTRY_VERIFY2_WITH_TIMEOUT(model()->run() == 1 && health->sentence()->text().startsWith("✔"),
                              qPrintable(all()), patience);
    QTRY_VERIFY_WITH_TIMEOUT(model()->shownRun()->number == model()->runs()[1].number, patience);
    QVERIFY2(health->sentence()->text().contains("of 300 steps were sampled"),
             qPrintable(health->sentence()->text()));
    press(Qt::Key_P);
    QTRY_VERIFY2_WITH_TIMEOUT(model()->run() == 0 && rowLike(dead) >= 0, qPrintable(all()), patience);
    press(Qt::Key_E);
    QTRY_VERIFY_WITH_TIMEOUT(model()->run() == -1 && health->runs()->currentIndex() == 0, patience);
  }
};

TAPEDECK_TEST(TestRunPuzzles)
#include "tst_run_puzzles.moc"
