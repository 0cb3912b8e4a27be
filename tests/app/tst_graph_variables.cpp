// What the window shows of a traced function's own names, by keys, from a notebook whose function has a loop:
// at stops in a call, in the past, and on the marks of breakpoints that cannot be hit.
#include <QLabel>

#include "inspector/model/breakpoints/breakpoints_model.h"
#include "tests/app/panels/variable_rows.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::ValueTree;

namespace {

const QStringList traced_cells = {
    "import tapedeck as tf\n"
    "tf.config.run_functions_eagerly(False)\n"
    "w = tf.Variable([1., 2., 3.], name='w')\n"
    "@tf.function\n"
    "def f(x, k=2):\n"
    "    y = x * w\n"
    "    again = x * w\n"
    "    note = 'traced'\n"
    "    for i in tf.range(3):\n"
    "        y = y + again\n"
    "    z = tf.tanh(y)\n"
    "    return z",
    "a = f(tf.ones([3]))\n"
    "b = tf.exp(a)"};

}  // namespace

class TestGraphVariables : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  QString state() const { return window_->findChild<QLabel*>("sessionState")->text(); }
  inspector::VariablesView* panel() { return window_->findChild<inspector::VariablesView*>(); }
  QString shown(const QString& name, int column = ValueTree::Value) {
    return variableRow(panel(), name).siblingAtColumn(column).data().toString();
  }
  void open() {
    openCells(folder_, traced_cells);
    click(0);
    runByKey(0);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
    click(1);
  }
  void stepBy(Qt::Key key) {
    const auto before = session().stop();
    press(key);
    QTRY_VERIFY2_WITH_TIMEOUT(isStopped(*window_) && session().stop() != before, qPrintable(state()),
                              patience);
  }
  /// To the addition in the loop, at its nth iteration.
  void stepToIteration(int number) {
    for (int i = 0; i < 40 && number > 0; ++i) {
      stepBy(state().contains("paused before f(") ? Qt::Key_F11 : Qt::Key_F10);
      if (QTest::currentTestFailed()) return;
      if (state().contains("paused before add") && session().status().line == 10) --number;
    }
    QVERIFY2(number == 0, qPrintable(state()));
  }
  void toggleLine(int line) {
    CodeEditor* editor = editorOf(0);
    const QPoint point(editor->marginWidth(0) + editor->marginWidth(1) + 12,
                       editor->yOfLine(line) + editor->lineHeight() / 2);
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, {}, point);
    QTRY_VERIFY(editor->hasFocus());
    press(Qt::Key_F9);
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void variablesAreTheFunctionsOwnInEachIterationAndInThePast() {
    open();
    raisePanel(*window_, "Variables", Qt::Key_7, panel());
    click(1);
    stepToIteration(1);
    if (QTest::currentTestFailed()) return;
    // By i, for y is the same at the stop before, where i has no value yet.
    QTRY_COMPARE_WITH_TIMEOUT(shown("i"), QString("0"), patience);
    QCOMPARE(shown("y"), QString("[1., 2., 3.]"));
    QCOMPARE(shown("x"), QString("[1., 1., 1.]"));
    QCOMPARE(shown("k"), QString("2 · while tracing"));
    QVERIFY2(shown("z").contains("no value yet"), qPrintable(shown("z")));
    stepToIteration(2);
    if (QTest::currentTestFailed()) return;
    QTRY_COMPARE_WITH_TIMEOUT(shown("i"), QString("2"), patience);
    QCOMPARE(shown("y"), QString("[3., 6., 9.]"));
    shots(window_.get(), "variables-in-a-graph-function");
    // Back to the iteration before, whose record is in the past.
    const auto stop = session().stoppedBefore();
    while (session().cursor() == stop || !session().record(session().cursor()) ||
           session().record(session().cursor())->op != "add" ||
           session().record(session().cursor())->line != 10) {
      const auto before = session().cursor();
      press(Qt::Key_F10, Qt::ShiftModifier);
      QTRY_VERIFY_WITH_TIMEOUT(session().cursor() != before && session().record(session().cursor()),
                               patience);
    }
    QTRY_COMPARE_WITH_TIMEOUT(shown("y"), QString("[2., 4., 6.]"), patience);
    QCOMPARE(shown("i"), QString("1"));
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(1) == CellState::done, patience);
  }

  void breakpointsSayWhyTheirLinesCannotBeHit() {
    open();
    for (const int line : {7, 8, 11}) toggleLine(line);
    click(1);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(isStopped(*window_) && session().status().line == 11, qPrintable(state()),
                              patience);
    const auto* breakpoints = window_->findChild<inspector::BreakpointsModel*>();
    QVERIFY(breakpoints);
    const auto note = [&](std::size_t at) { return breakpoints->all()[at].note; };
    QTRY_VERIFY2_WITH_TIMEOUT(note(0).startsWith("Merged with line 6"), qPrintable(note(0)), patience);
    QVERIFY2(note(1).startsWith("Runs only while f is traced"), qPrintable(note(1)));
    QCOMPARE(note(2), QString());
    QVERIFY(breakpoints->all()[0].unreachable && !breakpoints->all()[2].unreachable);
    shots(window_.get(), "breakpoints-that-cannot-be-hit");
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(1) == CellState::done, patience);
  }
};

TAPEDECK_TEST(TestGraphVariables)
#include "tst_graph_variables.moc"
