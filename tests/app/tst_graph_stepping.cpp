// Graph functions stepped by keys, from a notebook whose function has a branch and a loop: F10 over a call,
// F11 into it, Shift+F11 out, Shift+F10 back; breakpoints in it; its headings in Ops; and the switch in the
// Session menu.
#include <QAction>
#include <QLabel>
#include <QScrollBar>

#include "inspector/model/format.h"
#include "inspector/panels/ops/headings_view.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;
using protocol::RecordKind;

namespace {

const QStringList function_cells = {
    "import tapedeck as tf\n"
    "tf.config.run_functions_eagerly(False)\n"
    "w = tf.Variable([1., 2., 3.], name='w')\n"
    "@tf.function\n"
    "def f(x):\n"
    "    y = x * w\n"
    "    if tf.reduce_sum(y) > 1.:\n"
    "        y = tf.tanh(y)\n"
    "    else:\n"
    "        y = -y\n"
    "    for i in tf.range(2):\n"
    "        y = y + y\n"
    "    return y",
    "x = tf.ones([3])\n"
    "a = f(x)\n"
    "b = tf.exp(a)",
    "tf.config.run_functions_eagerly(False)"};
const QString call = "f(x: float32 (3,))";
/// Its call has more rows than Ops shows at once, and almost half of them are headings.
const QStringList long_loop_cells = {
    "import tapedeck as tf\n"
    "tf.config.run_functions_eagerly(False)\n"
    "@tf.function\n"
    "def f(x):\n"
    "    for i in tf.range(40):\n"
    "        x = tf.tanh(x)\n"
    "    return x",
    "x = tf.ones([3])\n"
    "a = f(x)\n"
    "b = tf.exp(a)\n"
    "c = tf.square(b)"};

}  // namespace

class TestGraphStepping : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  QString state() const { return window_->findChild<QLabel*>("sessionState")->text(); }
  std::uint32_t line() const { return session().status().line; }
  QAction* eagerly() const { return window_->findChild<QAction*>("session.functions_eagerly"); }
  void open(const QStringList& cells = function_cells) {
    openCells(folder_, cells);
    click(0);
    runByKey(0);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
    click(1);
  }
  void stepBy(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    const auto before = session().stop();
    press(key, modifiers);
    QTRY_VERIFY2_WITH_TIMEOUT(isStopped(*window_) && session().stop() != before, qPrintable(state()),
                              patience);
    QTRY_VERIFY_WITH_TIMEOUT(
        session().status().stopped_at_line || session().cachedRecord(session().stoppedBefore()), patience);
  }
  /// By F10 to where the status line says so.
  void stepUntil(const QString& words) {
    for (int i = 0; i < 40 && !state().contains(words); ++i) {
      stepBy(Qt::Key_F10);
      if (QTest::currentTestFailed()) return;
    }
    QVERIFY2(state().contains(words), qPrintable("never: " + words + "; " + state()));
  }
  /// Ops between two records.
  int opsBetween(inspector::RecordNumber first, inspector::RecordNumber last) const {
    int ops = 0;
    for (auto number = first + 1; number < last; ++number) {
      const protocol::Record* record = nullptr;
      waitFor([&] { return (record = session().record(number)) != nullptr; });
      if (record && record->kind == RecordKind::op) ++ops;
    }
    return ops;
  }
  void clickLine(int cell, int at) {
    QTRY_VERIFY(editorOf(cell));
    CodeEditor* editor = editorOf(cell);
    const QPoint point(editor->marginWidth(0) + editor->marginWidth(1) + 12,
                       editor->yOfLine(at) + editor->lineHeight() / 2);
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, {}, point);
    QTRY_VERIFY(editor->hasFocus());
  }
  RecordsModel& rows() const { return *timeline(*window_)->model(); }
  QTableView* table() const { return timeline(*window_)->table(); }
  QStringList headings() const {
    QStringList all;
    for (int row = 0; row < rows().rowCount(); ++row)
      if (const auto heading = rows().headingAt(row)) all << heading->text();
    return all;
  }
  int rowOfHeading(const QString& name) const {
    for (int row = 0; row < rows().rowCount(); ++row)
      if (const auto heading = rows().headingAt(row); heading && heading->name == name) return row;
    return -1;
  }
  bool cursorIsWholeInView() const {
    const int row = rows().rowOf(session().cursor());
    const QRect shown = table()->visualRect(rows().index(row, 0));
    return rows().recordAt(row) == session().cursor() && table()->currentIndex().row() == row &&
           shown.isValid() && shown.top() >= 0 && shown.bottom() < table()->viewport()->height();
  }
  /// For a failure's message.
  QString place() const {
    return QString("cursor %1 in row %2, shown are rows %3 to %4 of %5")
        .arg(session().cursor())
        .arg(rows().rowOf(session().cursor()))
        .arg(table()->rowAt(0))
        .arg(table()->rowAt(table()->viewport()->height() - 1))
        .arg(rows().rowCount());
  }
  QString groupsOfFirstRow() const {
    const int first = table()->rowAt(0);
    QList<int> around = rows().headingsAround(first);
    if (rows().headingAt(first)) around << first;
    QStringList names;
    for (const int row : around) names << rows().headingAt(row)->name;
    return names.join(" › ");
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void f10GoesOverACallAndSaysWhatRan() {
    open();
    stepUntil("paused before " + call);
    const auto at = session().stoppedBefore();
    stepBy(Qt::Key_F10);
    QTRY_VERIFY2(state().contains("paused before exp"), qPrintable(state()));
    const int ops = opsBetween(at, session().stoppedBefore());
    QVERIFY(ops >= 5);
    QVERIFY2(state().contains(QString("f ran, %1 ops").arg(ops)), qPrintable(state()));
    // Its results are there.
    const protocol::Record* ran = nullptr;
    QTRY_VERIFY((ran = session().record(at)) && ran->state == protocol::RecordState::done);
    QCOMPARE(ran->outputs.size(), std::size_t{1});
    screenshot(window_.get(), "graph-stepped-over");
  }

  void f11GoesIntoACallAndShiftF11OutOfIt() {
    open();
    stepUntil("paused before " + call);
    stepBy(Qt::Key_F11);
    QTRY_VERIFY2(state().contains("paused before multiply"), qPrintable(state()));
    QCOMPARE(line(), 6u);
    QTRY_COMPARE(editorOf(0)->markedLine(), 6);
    stepBy(Qt::Key_F11);
    QCOMPARE(line(), 7u);
    stepUntil("paused before tanh");
    QCOMPARE(line(), 8u);
    stepUntil("paused before add");
    QCOMPARE(line(), 12u);
    // Back, and on again.
    const auto stop = session().stoppedBefore();
    press(Qt::Key_F10, Qt::ShiftModifier);
    QTRY_COMPARE(session().cursor(), stop - 1);
    press(Qt::Key_F10, Qt::ShiftModifier);
    QTRY_COMPARE(session().cursor(), stop - 2);
    QVERIFY(isStopped(*window_) && session().stoppedBefore() == stop);
    press(Qt::Key_F10);
    press(Qt::Key_F10);
    QTRY_COMPARE(session().cursor(), stop);
    screenshot(window_.get(), "graph-stepped-into");
    stepBy(Qt::Key_F11, Qt::ShiftModifier);
    QTRY_VERIFY2(state().contains("paused before exp"), qPrintable(state()));
    QVERIFY2(state().contains("f ran, "), qPrintable(state()));
  }

  void breakpointsStopInABranchAndInEachIteration() {
    open();
    for (const int at : {8, 10, 12}) {
      clickLine(0, at);
      press(Qt::Key_F9);
    }
    click(1);
    press(Qt::Key_Return, Qt::ControlModifier);
    std::uint64_t before = 0;
    for (const std::uint32_t at : {8u, 12u, 12u}) {
      QTRY_VERIFY2_WITH_TIMEOUT(isStopped(*window_) && session().stop() != before && line() == at,
                                qPrintable(state()), patience);
      before = session().stop();
      QVERIFY(state().contains("breakpoint"));
      press(Qt::Key_F5);
      QTRY_VERIFY_WITH_TIMEOUT(!isStopped(*window_) || session().stop() != before, patience);
    }
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(1) == CellState::done, patience);
  }

  void opsHasTheCallAsAHeading() {
    open();
    runByKey(1);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(1) == CellState::done, patience);
    showAllRecords();
    QTRY_VERIFY2_WITH_TIMEOUT(rowOfHeading(call) >= 0, qPrintable(headings().join('\n')), patience);
    for (const char* part : {"if line 7: true", "loop line 11", "iteration 1", "iteration 2"})
      QVERIFY2(rowOfHeading(part) > rowOfHeading(call), qPrintable(headings().join('\n')));
    QVERIFY2(headings().contains("if line 7: true · 1 op"), qPrintable(headings().join('\n')));
    shots(window_.get(), "ops-graph-call");
    const int all = rows().rowCount();
    const int row = rowOfHeading(call);
    table()->scrollTo(rows().index(row, 0));
    QTest::mouseClick(table()->viewport(), Qt::LeftButton, {},
                      table()->visualRect(rows().index(row, 1)).center());
    QTRY_VERIFY(rows().headingAt(row)->folded);
    QVERIFY(rows().rowCount() < all && rowOfHeading("iteration 1") < 0);
    QTest::keyClick(table(), Qt::Key_Right);
    QTRY_COMPARE(rows().rowCount(), all);
  }

  // Rows and headings come after the cursor moved: it is still in view when they are there.
  void opsShowsTheCursorWhenTheHeadingsAreThere() {
    open(long_loop_cells);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    click(1);
    const auto check = [&] {
      QTRY_VERIFY2_WITH_TIMEOUT(rowOfHeading("iteration 40") > rowOfHeading(call),
                                qPrintable(headings().join('\n')), patience);
      QVERIFY(table()->verticalScrollBar()->maximum() > 0);
      QTRY_VERIFY2_WITH_TIMEOUT(cursorIsWholeInView(), qPrintable(place()), patience);
      auto* trail = window_->findChild<inspector::HeadingTrail*>();
      QVERIFY(trail && trail->isVisible());
      QTRY_COMPARE(trail->text(), groupsOfFirstRow());
      QVERIFY2(cursorIsWholeInView(), qPrintable(place()));
    };
    stepUntil("paused before " + call);
    stepBy(Qt::Key_F10);
    QTRY_VERIFY2(state().contains("paused before exp"), qPrintable(state()));
    check();
    if (QTest::currentTestFailed()) return;
    screenshot(window_.get(), "ops-after-a-graph-call");
    stepBy(Qt::Key_F10);
    check();
    if (QTest::currentTestFailed()) return;
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(1) == CellState::done && knowsAllRecords(*window_), patience);
    QTRY_COMPARE_WITH_TIMEOUT(session().cursor(), session().recordCount(), patience);
    check();
  }

  void theSessionMenuRunsFunctionsEagerly() {
    open();
    QTRY_VERIFY_WITH_TIMEOUT(!session().status().functions_eagerly && !eagerly()->isChecked(), patience);
    QCOMPARE(chooseInMenus(window_.get(), "session.functions_eagerly"), QString());
    QTRY_VERIFY_WITH_TIMEOUT(session().status().functions_eagerly && eagerly()->isChecked(), patience);
    click(1);
    const auto before = session().recordCount();
    runByKey(1);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(1) == CellState::done && knowsAllRecords(*window_), patience);
    QVERIFY(session().recordCount() > before);
    for (auto number = before + 1; number <= session().recordCount(); ++number) {
      const protocol::Record* record = nullptr;
      QTRY_VERIFY((record = session().record(number)) != nullptr);
      QVERIFY(record->kind != RecordKind::call);
    }
    // The program's own call counts, and the entry says so; another switch leaves it.
    click(2);
    runByKey(2);
    QTRY_VERIFY_WITH_TIMEOUT(!session().status().functions_eagerly && !eagerly()->isChecked(), patience);
    QCOMPARE(chooseInMenus(window_.get(), "session.break_at_cell"), QString());
    QTRY_VERIFY_WITH_TIMEOUT(session().status().break_at_cell_start, patience);
    QVERIFY(!session().status().functions_eagerly && !eagerly()->isChecked());
  }
};

TAPEDECK_TEST(TestGraphStepping)
#include "tst_graph_stepping.moc"
