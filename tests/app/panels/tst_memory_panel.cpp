// Memory, in a real window with a real session process: a loop keeps its tapes in a list; the panel says so,
// shows the peak, and leads to the line.
#include <QLabel>
#include <QRegularExpression>
#include <QToolButton>
#include <QTreeWidget>

#include "app/shell/panels/workspaces.h"
#include "inspector/panels/memory/memory_chart.h"
#include "inspector/panels/memory/memory_view.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

const char* const leak =
    "import tapedeck as tf\n"
    "w = tf.Variable(tf.ones([128, 128]), name='w')\n"
    "x = tf.ones([128, 128])\n"
    "history = []\n"
    "for step in range(12):\n"
    "    with tf.GradientTape(persistent=True) as tape:\n"
    "        h = tf.nn.relu(tf.matmul(x, w))\n"
    "        loss = tf.reduce_mean(h * h)\n"
    "    gradient = tape.gradient(loss, w)\n"
    "    w.assign_sub(0.1 * gradient)\n"
    "    history.append({'loss': loss, 'tape': tape})\n"
    "print(len(history))";

const char* const blocks =
    "import tapedeck as tf\n"
    "x = tf.ones([100, 100])\n"
    "def block(y):\n"
    "    with tf.name_scope('block'):\n"
    "        for i in range(4):\n"
    "            y = tf.exp(-y * y)\n"
    "    return y\n"
    "with tf.GradientTape() as tape:\n"
    "    tape.watch(x)\n"
    "    loss = tf.reduce_sum(block(x) ** 2)\n"
    "g = tape.gradient(loss, x)";

}  // namespace

class TestMemoryPanel : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  inspector::MemoryView* memory() const { return window_->findChild<inspector::MemoryView*>(); }
  void run(const QStringList& cells) {
    openCells(folder_, cells);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
  }
  /// By its key, as a user does.
  void showMemory() {
    QTest::keyClick(window_.get(), Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    QTRY_COMPARE(window_->workspaces()->current().id, QString("analyze"));
    QTest::keyClick(window_.get(), Qt::Key_6, Qt::AltModifier);
    QTRY_VERIFY_WITH_TIMEOUT(memory() && memory()->isVisible(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(memory()->model()->curve() && memory()->model()->state(), patience);
    memory()->setFocus();
  }
  QStringList rows() const {
    QStringList rows;
    for (int i = 0; i < memory()->table()->topLevelItemCount(); ++i) {
      QStringList cells;
      for (int column = 0; column < 5; ++column) cells << memory()->table()->topLevelItem(i)->text(column);
      rows << cells.join(" | ");
    }
    return rows;
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void aListThatKeepsTapesIsFound() {
    run({leak});
    QVERIFY(!memory() || !memory()->isVisible());
    showMemory();
    // The sentence names what grows, by how much, in which line, and the name that keeps it.
    QTRY_VERIFY2_WITH_TIMEOUT(
        memory()->growth()->text().contains("Kept alive by the name history (12 items)"),
        qPrintable(memory()->growth()->text()), patience);
    const QString told = memory()->growth()->text();
    QVERIFY2(told.contains("Memory grows by") && told.contains("with each step") &&
                 told.contains("Tapes hold them") && told.contains(" line "),
             qPrintable(told));
    // Twelve tapes, each with its path; the variable by its name.
    const auto mentions = [&](const QString& part) { return !rows().filter(part).isEmpty(); };
    QTRY_VERIFY2_WITH_TIMEOUT(mentions("history[11]['tape']"), qPrintable(rows().join("\n")), patience);
    QVERIFY2(mentions("variable w:0"), qPrintable(rows().join("\n")));
    QVERIFY2(
        memory()->summary()->text().startsWith("Now: ") && memory()->summary()->text().contains("+1 tape"),
        qPrintable(memory()->summary()->text()));
    shots(window_.get(), "memory-leak");
    // P goes to the peak: the newest tapes are there.
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_P);
    const auto peak = memory()->model()->curve()->peak_record;
    QTRY_COMPARE(session().cursor(), peak);
    const auto most = static_cast<double>(memory()->model()->curve()->peak_bytes);
    const QString atPeak = QString("At op %1: %2 in ").arg(peak).arg(inspector::memoryText(most));
    QTRY_VERIFY2_WITH_TIMEOUT(memory()->summary()->text().startsWith(atPeak),
                              qPrintable(memory()->summary()->text()), patience);
    // A click into the curve moves the cursor there.
    auto* chart = memory()->chart();
    QTest::mouseClick(chart, Qt::LeftButton, {},
                      QPoint(static_cast<int>(chart->xOf(20)), chart->height() / 2));
    QTRY_VERIFY(session().cursor() >= 19 && session().cursor() <= 21);
    QTRY_VERIFY2_WITH_TIMEOUT(
        memory()->summary()->text().startsWith(QString("At op %1: ").arg(session().cursor())),
        qPrintable(memory()->summary()->text()), patience);
    // G, and a click on the sentence, go to the newest op of what grows.
    memory()->setFocus();
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_G);
    QTRY_COMPARE(session().cursor(), memory()->model()->curve()->growth[0].record);
    session().setCursor(5);
    QTest::mouseClick(memory()->growth(), Qt::LeftButton);
    QTRY_COMPARE(session().cursor(), memory()->model()->curve()->growth[0].record);
  }

  void whatALaterCellFreedIsStillTold() {
    run({leak, "history.clear()\nprint(len(history))\ny = tf.square(x)"});
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::done, patience);
    showMemory();
    QTRY_VERIFY2_WITH_TIMEOUT(memory()->growth()->text().contains("Memory grew by"),
                              qPrintable(memory()->growth()->text()), patience);
    const QString told = memory()->growth()->text();
    QVERIFY2(told.contains("with each step until op ") &&
                 told.contains("Tapes held them. They were freed after op "),
             qPrintable(told));
    QVERIFY(memory()->menuActions()[1]->isEnabled());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_G);
    QTRY_COMPARE(session().cursor(), memory()->model()->curve()->growth[0].record);
    shots(window_.get(), "memory-grew");
  }

  void theRecordersNumberIsTheSameEverywhere() {
    run({leak});
    QTRY_VERIFY_WITH_TIMEOUT(session().recordCount() > 0 && knowsAllRecords(*window_), patience);
    QTRY_VERIFY_WITH_TIMEOUT(session().status().held_bytes > 0, patience);
    const auto held = session().status().held_bytes;
    showMemory();
    const auto inStatusBar = [&] {
      const QRegularExpression words(R"(recording ([\d.]+ \w+) of ([\d.]+ \w+))");
      const auto match = words.match(window_->findChild<QLabel*>("sessionState")->text());
      return match.captured(1) + " of its " + match.captured(2);
    };
    const auto inSentence = [&] {
      const QRegularExpression words(R"(The recorder takes ([\d.]+ \w+ of its [\d.]+ \w+))");
      return words.match(memory()->summary()->text()).captured(1);
    };
    const auto inCurve = [&] { return inspector::memoryText(memory()->model()->curve()->recorder.back()); };
    QTRY_VERIFY2_WITH_TIMEOUT(inSentence().endsWith(" of its 2.00 GB") && inSentence() == inStatusBar() &&
                                  inSentence().startsWith(inCurve()),
                              qPrintable(QString("%1 | %2 | %3").arg(inSentence(), inStatusBar(), inCurve())),
                              patience);
    // What Analyze looks at is no part of it.
    QCOMPARE(session().status().held_bytes, held);
    // The chart shows the program; the recorder has a scale of its own, by key.
    auto* chart = memory()->chart();
    const auto peak = static_cast<double>(memory()->model()->curve()->peak_bytes);
    QVERIFY(chart->most() >= peak && chart->most() < 1.2 * peak);
    QVERIFY(!chart->recorderShown());
    shots(window_.get(), "memory-program");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_D);
    QVERIFY(chart->recorderShown());
    QVERIFY(chart->most() < 1.2 * peak);
    QVERIFY(chart->mostOfRecorder() >= memory()->model()->curve()->recorder.back());
    shots(window_.get(), "memory-recorder");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_D);
    QVERIFY(!chart->recorderShown());
  }

  void theTableIsGroupedByKeyAndEnterGoesToTheOp() {
    run({leak});
    showMemory();
    const auto button = [&] { return memory()->menuActions()[2]->iconText(); };
    QTRY_VERIFY_WITH_TIMEOUT(!rows().isEmpty(), patience);
    QCOMPARE(button(), QString("Holders"));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_B);
    QCOMPARE(button(), QString("Lines"));
    QTRY_VERIFY2_WITH_TIMEOUT(!rows().filter(QRegularExpression("line 7 \\(\\d+ storages\\)")).isEmpty(),
                              qPrintable(rows().join("\n")), patience);
    shots(window_.get(), "memory-lines");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_B);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_B);
    QCOMPARE(button(), QString("Tensors"));
    QTRY_VERIFY2_WITH_TIMEOUT(!rows().filter("w:0").isEmpty(), qPrintable(rows().join("\n")), patience);
    // Enter goes to the op that made the row.
    QTreeWidget* table = memory()->table();
    table->setFocus();
    int row = 0;
    while (!table->topLevelItem(row)->text(2).startsWith("matmul")) ++row;
    table->setCurrentItem(table->topLevelItem(row));
    const QString number = table->topLevelItem(row)->text(2).section("op ", 1);
    QTest::keyClick(table, Qt::Key_Return);
    QTRY_COMPARE(QString::number(session().cursor()), number);
  }

  void recomputingAScopeIsToldWithItsPrice() {
    run({blocks});
    showMemory();
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_R);
    QTreeWidget* savings = memory()->savings();
    QTRY_VERIFY_WITH_TIMEOUT(savings->isVisible() && savings->topLevelItemCount() > 0, patience);
    QCOMPARE(savings->topLevelItem(0)->text(0), QString("block"));
    const auto* text = memory()->findChild<QLabel*>("memorySavingsText");
    QVERIFY2(text->text().startsWith("recompute_grad around block would save "), qPrintable(text->text()));
    shots(window_.get(), "memory-recompute");
    // Buttons have words, and the scale has room for what it says of a few bytes, too.
    for (const auto* button : memory()->findChildren<QToolButton*>())
      QVERIFY2(button->text().isEmpty() || button->text()[0].isLetter(), qPrintable(button->text()));
    const auto* chart = memory()->findChild<inspector::MemoryChart*>();
    QVERIFY(chart->plot().left() > chart->fontMetrics().horizontalAdvance(inspector::memoryText(888)));
    // A span by its keys.
    session().setCursor(2);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_BracketLeft);
    session().setCursor(6);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_BracketRight);
    QTRY_COMPARE_WITH_TIMEOUT(savings->topLevelItemCount() ? savings->topLevelItem(0)->text(0) : QString(),
                              QString("ops 2 to 6"), patience);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_S);
    QTRY_COMPARE_WITH_TIMEOUT(savings->topLevelItemCount() ? savings->topLevelItem(0)->text(0) : QString(),
                              QString("block"), patience);
  }

  void nothingIsAskedWhileItIsClosed() {
    run({leak});
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    QTRY_COMPARE(window_->workspaces()->current().id, QString("debug"));
    nothingMayHappenFor(700);  // it would ask twice a second
    QVERIFY(!memory() || !memory()->model()->curve());
    showMemory();
    QVERIFY(memory()->model()->curve());
  }
};

TAPEDECK_TEST(TestMemoryPanel)
#include "tst_memory_panel.moc"
