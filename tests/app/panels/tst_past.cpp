// What the panels show while the cursor is in the past, which moment they name, and what moves the cursor.
#include <QLabel>
#include <QPlainTextEdit>
#include <QStatusBar>

#include "app/control/session_text.h"
#include "inspector/panels/console/console_input.h"
#include "inspector/panels/console/console_view.h"
#include "inspector/panels/variables/value_delegate.h"
#include "tests/app/panels/variable_rows.h"
#include "tests/app/panels/what_if_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::TensorRole;
using inspector::ValueTree;

namespace {

const QString run_of_training =
    "import tapedeck as tf\nw = tf.Variable([1., 2.], name='w')\nfor step in range(4):\n"
    "    w.assign(w * .5)\n";
const QString calls =
    "def f(h, k):\n    a = h * 2.\n    b = a + 1.\n    return b * a\n\n"
    "import tapedeck as tf\nout = f(tf.constant([1., 2.]), 3)\n";

// Of each step: a product and an assignment; w1 = 1, 0.5, 0.25, 0.125 before them.
const QString run_of_network =
    "import tapedeck as tf\nclass Net:\n    pass\nnet = Net()\nnet.w1 = tf.Variable(1., name='w1')\nnet.rate "
    "= 0.5\n"
    "alone = net.w1\n"
    "for step in range(4):\n    net.w1.assign(net.w1 * net.rate)\n    wide = [float(step)] * 40\n";

/// What the view's delegate paints.
struct Painted : inspector::ValueDelegate {
  QString text(const QTreeView* table, const QModelIndex& index) const {
    QStyleOptionViewItem option;
    option.initFrom(table);
    option.widget = table;
    option.rect = table->visualRect(index);
    initStyleOption(&option, index);
    return option.text;
  }
};

}  // namespace

class TestPast : public QObject, WhatIfWindow {
  Q_OBJECT

  inspector::VariablesView* panel() { return window_->findChild<inspector::VariablesView*>(); }
  inspector::ConsoleView* console() { return window_->findChild<inspector::ConsoleView*>(); }
  const inspector::TensorModel& shownTensor() { return *tensor(*window_)->model(); }
  QString place() { return window_->findChild<QLabel*>("variablesPlace")->text(); }

  /// F10 in the current cell, until the gate stops elsewhere.
  void step() {
    const auto before = session().stoppedBefore();
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && session().stoppedBefore() != before, patience);
    QTRY_COMPARE_WITH_TIMEOUT(session().cursor(), session().stoppedBefore(), patience);
  }
  /// Shift+F10, until the cursor is there.
  void back(inspector::RecordNumber record) {
    for (int i = 0; i < 100 && session().cursor() > record; ++i)
      QTest::keyClick(window_.get(), Qt::Key_F10, Qt::ShiftModifier);
    QCOMPARE(session().cursor(), record);
  }
  /// The `which`th record of the op, from 0 on.
  inspector::RecordNumber numberOf(const std::string& op, int which) {
    inspector::RecordNumber found = 0;
    const auto look = [&] {
      int left = which;
      for (inspector::RecordNumber number = 1; number <= session().recordCount(); ++number) {
        const auto* record = window_->session()->record(number);
        if (!record) return false;
        if (record->op == op && left-- == 0) return found = number, true;
      }
      return false;
    };
    return waitFor(look, patience) ? found : 0;
  }
  void showPanel(const QString& title, Qt::Key key, QWidget* shown) {
    raisePanel(*window_, title, key, shown);
  }
  void showVariables() { showPanel("Variables", Qt::Key_7, panel()); }

  QModelIndex row(const QString& name, const QString& group = {}) {
    return variableRow(panel(), name, group);
  }
  QString shown(const QString& name) { return row(name).siblingAtColumn(ValueTree::Value).data().toString(); }
  void clickRow(const QString& name, int column = ValueTree::Name) {
    auto* table = panel()->table();
    const QModelIndex at = row(name).siblingAtColumn(column);
    table->scrollTo(at);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(at).center());
  }
  void edit(const QString& name, const QString& text) {
    clickRow(name, ValueTree::Value);
    QTest::mouseDClick(panel()->table()->viewport(), Qt::LeftButton, {},
                       panel()->table()->visualRect(row(name).siblingAtColumn(ValueTree::Value)).center());
    QTRY_VERIFY(qobject_cast<QLineEdit*>(QApplication::focusWidget()));
    auto* editor = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    editor->selectAll();
    QTest::keyClicks(editor, text);
    QTest::keyClick(editor, Qt::Key_Return);
  }
  QString lastTab() { return shownTensor().chips().empty() ? QString() : shownTensor().chips().back().label; }
  void watch(const QString& expression) {
    panel()->watchEdit()->setFocus();
    QTest::keyClicks(panel()->watchEdit(), expression);
    QTest::keyClick(panel()->watchEdit(), Qt::Key_Return);
  }
  QString watched(int row) {
    return panel()->watchTable()->model()->index(row, ValueTree::Value).data().toString();
  }
  void goOn() {
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() { window_.reset(); }

  void variablesWatchesAndConsoleHaveTheValuesOfTheCursorsMoment() {
    run({run_of_training});
    showVariables();
    QTRY_COMPARE_WITH_TIMEOUT(shown("w"), QString("[0.0625, 0.125 ]"), patience);
    watch("float(w[1])");
    watch("step");
    QTRY_COMPARE_WITH_TIMEOUT(watched(1), QString("3"), patience);
    const auto second = numberOf("multiply", 1);
    QVERIFY(second != 0);
    back(second);
    QTRY_COMPARE_WITH_TIMEOUT(shown("w"), QString("[0.5, 1. ]"), patience);
    QCOMPARE(shown("step"), QString("3 · now"));
    QTRY_VERIFY2(place().startsWith(QString("At op %1, in the past: ").arg(second)) &&
                     place().contains("as of the beginning of cell [1]"),
                 qPrintable(place()));
    QTRY_COMPARE_WITH_TIMEOUT(watched(0), QString("1.0 · at op %1").arg(second), patience);
    QTRY_COMPARE_WITH_TIMEOUT(watched(1), QString("3 · now"), patience);
    screenshot(window_.get(), "variables-in-the-past");
    // A click shows the value of that moment, and its tab goes along with the cursor.
    clickRow("w");
    QTRY_COMPARE_WITH_TIMEOUT(lastTab(), QString("w · at op %1").arg(second), patience);
    QCOMPARE(values(), (std::vector<double>{.5, 1.}));
    showPanel("Console", Qt::Key_8, console());
    const auto* where = console()->findChild<QLabel*>("consolePlace");
    QVERIFY2(where->text().contains("beginning of cell [1]"), qPrintable(where->text()));
    QTRY_VERIFY(where->height() >= where->heightForWidth(where->width()));  // nothing of it is cut off
    auto* input = console()->input();
    input->setFocus();
    QTest::keyClicks(input, "float(w[0]) + 1.");
    QTest::keyClick(input, Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(
        console()->output()->toPlainText().endsWith(QString("1.5\nat op %1").arg(second)), patience);
    QTest::keyClicks(input, "step = 77");
    QTest::keyClick(input, Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(console()->output()->toPlainText().contains("is not kept"), patience);
    showVariables();
    QTest::keyClick(window_.get(), Qt::Key_End, Qt::AltModifier);
    QTRY_COMPARE_WITH_TIMEOUT(shown("w"), QString("[0.0625, 0.125 ]"), patience);
    QCOMPARE(shown("step"), QString("3"));
    QTRY_COMPARE_WITH_TIMEOUT(watched(0), QString("0.125"), patience);
    QTRY_COMPARE_WITH_TIMEOUT(lastTab(), QString("w"), patience);
  }

  void theWayToAVariableLeadsToItsValueAtTheMoment() {
    run({run_of_network});
    showVariables();
    for (const char* expression : {"net.w1", "net.rate", "alone.name", "float(net.w1) * net.rate", "wide"})
      watch(expression);
    QTRY_COMPARE_WITH_TIMEOUT(watched(0), QString("0.0625"), patience);
    QTRY_COMPARE_WITH_TIMEOUT(watched(4).left(5), QString("[3.0,"), patience);
    const auto second = numberOf("multiply", 1);
    QVERIFY(second != 0);
    back(second);
    QTRY_COMPARE_WITH_TIMEOUT(watched(0), QString("0.5 · at op %1").arg(second), patience);
    QTRY_COMPARE_WITH_TIMEOUT(watched(1), QString("0.5 · now"), patience);
    QTRY_COMPARE_WITH_TIMEOUT(watched(2), QString("'w1:0' · at op %1").arg(second), patience);
    QTRY_COMPARE_WITH_TIMEOUT(watched(3), QString("0.25 · at op %1; net.rate as now").arg(second), patience);
    // In Variables the object is of now, and the variable below it says that it is not.
    QTRY_VERIFY_WITH_TIMEOUT(shown("net").endsWith(" · now"), patience);
    clickRow("net");
    QTest::keyClick(panel()->table(), Qt::Key_Right);
    const auto below = [&] {
      const QModelIndex net = row("net");
      for (int i = 0; i < panel()->table()->model()->rowCount(net); ++i)
        if (const QModelIndex at = panel()->table()->model()->index(i, 0, net); at.data().toString() == ".w1")
          return at.siblingAtColumn(ValueTree::Value).data().toString();
      return QString();
    };
    QTRY_COMPARE_WITH_TIMEOUT(below(), QString("0.5 · at op %1").arg(second), patience);
    // A value that is cut off keeps its mark, in both tables.
    QTRY_VERIFY_WITH_TIMEOUT(shown("wide").endsWith(" · now"), patience);
    const Painted painted;
    QVERIFY(qobject_cast<inspector::ValueDelegate*>(panel()->table()->itemDelegate()));
    const QString cut = painted.text(panel()->table(), row("wide").siblingAtColumn(ValueTree::Value));
    QVERIFY2(cut.endsWith(QString::fromUtf8("… · now")), qPrintable(cut));
    const QString cutWatch =
        painted.text(panel()->watchTable(), panel()->watchTable()->model()->index(4, ValueTree::Value));
    QVERIFY2(cutWatch.endsWith(QString::fromUtf8("… · now")), qPrintable(cutWatch));
    screenshot(window_.get(), "variables-in-the-past-objects");
    showPanel("Console", Qt::Key_8, console());
    auto* input = console()->input();
    input->setFocus();
    QTest::keyClicks(input, "net.w1.assign(3.)");
    QTest::keyClick(input, Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(
        console()->output()->toPlainText().contains(
            QString("net.w1 is shown as it was at op %1, and the past is not assigned to").arg(second)),
        patience);
    QTest::keyClicks(input, "net.rate = 7");
    QTest::keyClick(input, Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(console()->output()->toPlainText().contains("net is known as it is now only"),
                             patience);
    showVariables();
    QTest::keyClick(window_.get(), Qt::Key_End, Qt::AltModifier);
    QTRY_COMPARE_WITH_TIMEOUT(watched(0), QString("0.0625"), patience);
    QTRY_COMPARE_WITH_TIMEOUT(watched(1), QString("0.5"), patience);
  }

  // The program has stopped in the function, and the cursor goes to what ran before that.
  void localsBeforeTheFirstStopAreSaidToBeUnknown() {
    openCells(folder_, {calls});
    click(0);
    protocol::Breakpoint breakpoint;
    breakpoint.kind = protocol::BreakpointKind::condition;
    breakpoint.condition = "op:multiply min(out) > 5";  // b * a
    window_->breakpoints()->add(breakpoint);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->breakpoints()->onTheirWay(), patience);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    showVariables();
    QTRY_VERIFY_WITH_TIMEOUT(row("a", "Locals").isValid(), patience);
    watch("a");
    const auto sum = numberOf("add", 0);
    QVERIFY(sum != 0);
    QTRY_VERIFY_WITH_TIMEOUT(session().cursor() == session().stoppedBefore(), patience);
    back(sum);
    const QString why = "no stop had been made there by then";
    QTRY_COMPARE_WITH_TIMEOUT(panel()->table()->model()->index(0, 0).data().toString(),
                              QString("Locals of f · not known: %1").arg(why), patience);
    QVERIFY2(place().endsWith("; the locals of f are not known: " + why), qPrintable(place()));
    const QString sentence = QString(
                                 "a is a local of f, and what it had at op %1 is not known: locals are noted "
                                 "where the program stops, "
                                 "and %2")
                                 .arg(sum)
                                 .arg(why);
    QTRY_VERIFY2_WITH_TIMEOUT(watched(0).contains(sentence), qPrintable(watched(0)), patience);
    showPanel("Console", Qt::Key_8, console());
    console()->input()->setFocus();
    QTest::keyClicks(console()->input(), "a + 1.");
    QTest::keyClick(console()->input(), Qt::Key_Return);
    QTRY_VERIFY2_WITH_TIMEOUT(console()->output()->toPlainText().contains(sentence),
                              qPrintable(console()->output()->toPlainText()), patience);
    QVERIFY(!console()->output()->toPlainText().contains("NameError"));
    window_->breakpoints()->removeAll();
    goOn();
  }

  void localsAreThoseOfTheNearestEarlierStopAndAreNotEdited() {
    openCells(folder_, {calls});
    click(0);
    step();
    step();
    step();  // b * a
    showVariables();
    QTRY_VERIFY_WITH_TIMEOUT(row("b", "Locals").isValid(), patience);
    const auto sum = session().stoppedBefore() - 1;
    back(sum);
    QTRY_COMPARE_WITH_TIMEOUT(panel()->table()->model()->index(0, 0).data().toString(),
                              QString("Locals of f · as of the stop before op %1").arg(sum), patience);
    QTRY_VERIFY_WITH_TIMEOUT(!row("b", "Locals").isValid() && row("a", "Locals").isValid(), patience);
    QTRY_COMPARE_WITH_TIMEOUT(shown("a"), QString("[2., 4.]"), patience);
    QCOMPARE(shown("k"), QString("3"));
    clickRow("k", ValueTree::Value);
    QTest::keyClick(panel()->table(), Qt::Key_F2);
    QTRY_VERIFY_WITH_TIMEOUT(window_->messages()->text().contains("the past is not edited"), patience);
    goOn();
  }

  void aStopMovesTheCursorFromWhereverItWas() {
    openCells(folder_, {"import tapedeck as tf\nx = tf.constant([1., 2.])\ny = x * x + x",
                        "a = tf.constant([1., 0.])\nb = tf.math.log(a)\nc = b * 2."});
    QTest::keyClick(window_.get(), Qt::Key_F9, Qt::ControlModifier | Qt::ShiftModifier);
    click(0);
    runByKey(0);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    QTRY_VERIFY_WITH_TIMEOUT(session().recordCount() > 1, patience);
    QTest::keyClick(window_.get(), Qt::Key_Home, Qt::AltModifier);
    QCOMPARE(session().cursor(), 1ull);
    QVERIFY(!session().following());
    click(1);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QTRY_COMPARE_WITH_TIMEOUT(session().cursor(), session().stoppedBefore(), patience);
    QTRY_COMPARE(editorOf(1)->markedLine(), 2);
    const auto stopped = session().stoppedBefore();
    QTRY_VERIFY_WITH_TIMEOUT(shownTensor().chip() && shownTensor().chip()->record == stopped, patience);
    // The next key steps the program, and not through the old run.
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && session().stoppedBefore() > stopped, patience);
    QTRY_COMPARE_WITH_TIMEOUT(session().cursor(), session().stoppedBefore(), patience);
    // The next infinity does so again, from the first record.
    const auto waiting = session().stoppedBefore();
    QTest::keyClick(window_.get(), Qt::Key_Home, Qt::AltModifier);
    QCOMPARE(session().cursor(), 1ull);
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(session().status().stopped_after, patience);
    QTRY_COMPARE_WITH_TIMEOUT(session().cursor(), waiting, patience);
    QTest::keyClick(window_.get(), Qt::Key_F9, Qt::ControlModifier | Qt::ShiftModifier);
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::done, patience);
  }

  void anotherRecordIsShownWhateverVariableWasBefore() {
    run({run_of_training});
    showVariables();
    QTRY_VERIFY_WITH_TIMEOUT(row("w").isValid(), patience);
    clickRow("w");
    QTRY_VERIFY_WITH_TIMEOUT(shownTensor().chip() && shownTensor().chip()->role == TensorRole::chosen,
                             patience);
    goTo("op:multiply and record < " + QString::number(numberOf("multiply", 1)));
    const auto first = numberOf("multiply", 0);
    QTRY_COMPARE(session().cursor(), first);
    QTRY_VERIFY_WITH_TIMEOUT(shownTensor().chip() && shownTensor().chip()->record == first, patience);
    QCOMPARE(shownTensor().chip()->role, TensorRole::output);
    // What F4 changes is that record's, and the variable is a click away, as it was before that op.
    QTRY_COMPARE_WITH_TIMEOUT(lastTab(), QString("w · at op %1").arg(first), patience);
    QTabBar* tabs = tensor(*window_)->chips();
    QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(tabs->count() - 1).center());
    QTRY_COMPARE(shownTensor().chip()->role, TensorRole::chosen);
    QCOMPARE(values(), (std::vector<double>{1., 2.}));
  }

  void anEditSaysWhoHasReadTheVariableAndTensorShowsItAtOnce() {
    openCells(folder_, {"import tapedeck as tf\n"
                        "def f(x, k):\n    y = tf.subtract(x, tf.square(x))\n    return y * k\n"
                        "print(f(tf.constant(2.), tf.constant(1.)).numpy())"});
    click(0);
    step();
    showVariables();
    QTRY_COMPARE_WITH_TIMEOUT(shown("x"), QString("2."), patience);
    edit("x", "3.");
    QTRY_COMPARE_WITH_TIMEOUT(shown("x"), QString("3."), patience);
    QTRY_VERIFY2(window_->statusBar()->currentMessage().startsWith("Line 3 of f has read x already"),
                 qPrintable(window_->statusBar()->currentMessage()));
    QTRY_VERIFY_WITH_TIMEOUT(shownTensor().chip() && shownTensor().chip()->label == "x", patience);
    QTRY_COMPARE_WITH_TIMEOUT(values(), (std::vector<double>{3.}), patience);
    edit("k", "10.");
    QTRY_COMPARE_WITH_TIMEOUT(shown("k"), QString("10."), patience);
    QTRY_COMPARE(window_->statusBar()->currentMessage(), QString("What comes after sees the new value."));
    goOn();
    QTRY_COMPARE_WITH_TIMEOUT(outputText(*window_, 0), QString("-20.0\n"), patience);
  }
};

TAPEDECK_TEST(TestPast)
#include "tst_past.moc"
