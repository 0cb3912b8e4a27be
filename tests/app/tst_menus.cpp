// The debugger's commands from the menus, by the mouse: each does what its key does.
#include <QDialog>
#include <QDockWidget>
#include <QStatusBar>

#include "inspector/model/session/session.h"
#include "inspector/panels/why/why_view.h"
#include "tests/app/panels/what_if_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

const char* const training =
    "import tapedeck as tf\n"
    "x = tf.Variable([1., 2.], name='x')\n"
    "for i in range(3):\n"
    "    with tf.GradientTape() as tape:\n"
    "        y = tf.reduce_sum(x * x)\n"
    "    g = tape.gradient(y, x)\n"
    "    z = g + 1.";
const char* const longWork = "for i in range(100_000_000): z = tf.sin(z)";

}  // namespace

#define CHOOSE(entry)                                            \
  do {                                                           \
    const QString trouble = chooseInMenus(window_.get(), entry); \
    QVERIFY2(trouble.isEmpty(), qPrintable(trouble));            \
  } while (false)

class TestMenus : public QObject, WhatIfWindow {
  Q_OBJECT

  const protocol::Status& status() { return session().status(); }
  const std::vector<inspector::BreakpointEntry>& breakpoints() { return window_->breakpoints()->all(); }

  /// Waits for a stop that is another one than before.
  quint64 stopAfter(quint64 before) {
    const auto elsewhere = [&] { return isStopped(*window_) && session().stop() != before; };
    return waitFor(elsewhere, patience) ? session().stop() : 0;
  }
  inspector::WhyView* why() { return window_->findChild<inspector::WhyView*>(); }
  bool answered(const QString& part) {
    return waitFor([&] { return why()->isVisible() && why()->sentence()->text().contains(part); }, patience);
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void stepping() {
    openCells(folder_, {training, longWork});
    CHOOSE("step.op");
    const quint64 first = stopAfter(0);
    QVERIFY(first > 0);
    CHOOSE("step.op");
    const quint64 second = stopAfter(first);
    QCOMPARE(second, first + 1);
    const auto line = status().line;
    CHOOSE("step.line");
    QVERIFY(stopAfter(second) > second);
    QVERIFY(status().line != line);
    // Into the playback, and out of it.
    const auto inPlayback = [&] {
      const protocol::Record* record = session().record(status().stopped_before.value_or(0));
      return record && record->kind == protocol::RecordKind::vjp;
    };
    for (int i = 0; i < 20 && !inPlayback(); ++i) {
      const quint64 before = status().stopped_before.value_or(0);
      CHOOSE("step.op");
      QVERIFY(stopAfter(before) > before);
      QTRY_VERIFY(session().record(status().stopped_before.value_or(0)));
    }
    QVERIFY(inPlayback());
    quint64 before = status().stopped_before.value_or(0);
    CHOOSE("step.out");
    QVERIFY(stopAfter(before) > before);
    QCOMPARE(status().line, 7u);
    QVERIFY(!inPlayback());
    // What was.
    const auto newest = session().recordCount();
    QTRY_COMPARE(session().cursor(), newest);
    CHOOSE("step.back");
    QTRY_COMPARE(session().cursor(), newest - 1);
    CHOOSE("step.previous");
    QTRY_COMPARE(session().cursor(), newest - 2);
    CHOOSE("step.next");
    QTRY_COMPARE(session().cursor(), newest - 1);
    CHOOSE("step.first");
    QTRY_COMPARE(session().cursor(), quint64{1});
    CHOOSE("step.last");
    QTRY_COMPARE(session().cursor(), newest);
    CHOOSE("step.reverse");
    QTRY_VERIFY(window_->statusBar()->currentMessage().contains("There is no breakpoint"));
    CHOOSE("step.search_past");
    QTRY_VERIFY(window_->findChild<QDialog*>("pastDialog"));
    QTRY_VERIFY(window_->findChild<QDialog*>("pastDialog")->isVisible());
    window_->findChild<QDialog*>("pastDialog")->close();
    // On to the end; then the running program is paused, and continued.
    CHOOSE("step.continue");
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    click(1);
    before = status().stopped_before.value_or(0);
    CHOOSE("cell.run");
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::busy, patience);
    CHOOSE("step.pause");
    before = stopAfter(before);
    QVERIFY(before > 0);
    CHOOSE("step.continue");
    QTRY_VERIFY_WITH_TIMEOUT(!isStopped(*window_), patience);
    CHOOSE("session.interrupt");
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::failed, patience);
  }

  void breakpointsOfLinesAndCells() {
    openCells(folder_, {training});
    clickLine(7);
    CHOOSE("step.breakpoint");
    QCOMPARE(breakpoints().size(), std::size_t{1});
    QCOMPARE(breakpoints()[0].breakpoint.line, 7u);
    CHOOSE("step.breakpoint_enabled");
    QVERIFY(!breakpoints()[0].breakpoint.enabled);
    CHOOSE("step.breakpoint_enabled");
    QVERIFY(breakpoints()[0].breakpoint.enabled);
    CHOOSE("cell.run");
    const quint64 first = stopAfter(0);
    QVERIFY(first > 0);
    QCOMPARE(status().line, 7u);
    // The next round comes to line 5, and to 7 again.
    clickLine(5);
    CHOOSE("step.run_to");
    const quint64 second = stopAfter(first);
    QVERIFY(second > first);
    QCOMPARE(status().line, 5u);
    CHOOSE("step.remove_breakpoints");
    QVERIFY(breakpoints().empty());
    // From its first op on, line 5 comes again in the next round.
    CHOOSE("step.op");
    const quint64 op = stopAfter(second);
    QTRY_VERIFY(session().record(op));
    QCOMPARE(session().record(op)->op, std::string("multiply"));
    CHOOSE("step.run_to_record");
    const quint64 third = stopAfter(op);
    QVERIFY(third != 0 && !status().stopped_before);
    QCOMPARE(status().line, 5u);
    CHOOSE("step.op");
    const quint64 again = stopAfter(third);
    QVERIFY(again > op + 1);
    QTRY_VERIFY(session().record(again));
    QCOMPARE(session().record(again)->op, std::string("multiply"));
    CHOOSE("step.continue");
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    CHOOSE("step.breakpoint_cell");
    QCOMPARE(breakpoints().size(), std::size_t{1});
    QCOMPARE(breakpoints()[0].breakpoint.kind, protocol::BreakpointKind::cell);
    CHOOSE("cell.run");
    QVERIFY(stopAfter(0) > 0);
    QCOMPARE(status().line, 5u);  // a variable is no op
  }

  void stopsAtNaNAndExceptions() {
    openCells(folder_,
              {"import tapedeck as tf\nx = tf.math.log([-1.])\ny = tf.matmul([[1.]], [[1.], [2.]])"});
    CHOOSE("step.stop_nan");
    QVERIFY(window_->findChild<QAction*>("step.stop_nan")->isChecked());
    CHOOSE("step.stop_exceptions");
    CHOOSE("cell.run");
    const quint64 first = stopAfter(0);
    QVERIFY(first > 0);
    QCOMPARE(status().line, 2u);
    QVERIFY(status().stopped_after);
    CHOOSE("step.continue");
    QVERIFY(stopAfter(first) > first);
    QCOMPARE(status().line, 3u);
    const std::string reason = status().stop_reason.value_or("");
    QVERIFY2(QString::fromStdString(reason).contains("exception"), reason.data());
    CHOOSE("step.stop_nan");
    CHOOSE("step.stop_exceptions");
    QVERIFY(breakpoints().empty());
    CHOOSE("step.continue");
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::failed, patience);
  }

  void theQuestions() {
    run(
        {"import tapedeck as tf\n"
         "w = tf.Variable([1., 20., 3.], name='w')\n"
         "with tf.GradientTape() as tape:\n"
         "    y = tf.reduce_sum(w * w)\n"
         "g = tape.gradient(y, w)\n"
         "with tf.GradientTape() as tape:\n"
         "    z = tf.reduce_sum(tf.nn.relu(w - 50.))\n"
         "h = tape.gradient(z, w)\n"
         "n = tf.math.log(w - 20.)"});
    show("log", 1);
    CHOOSE("why.birth");
    QVERIFY2(answered("was born in log"), qPrintable(why()->sentence()->text()));
    CHOOSE("why.exactness");
    QVERIFY2(answered("float64"), qPrintable(why()->sentence()->text()));
    show("gradient", 0);
    CHOOSE("why.gradient");
    QVERIFY2(answered("swallowed in relu"), qPrintable(why()->sentence()->text()));
    show("relu", 0);  // its VJP is the last of that name
    CHOOSE("why.check");
    QVERIFY2(answered("finite differences"), qPrintable(why()->sentence()->text()));
    show("log", 0);
    CHOOSE("why.contributions");
    QVERIFY2(answered("was made by subtract"), qPrintable(why()->sentence()->text()));
    CHOOSE("why.size");
    QVERIFY2(answered("the norm grew"), qPrintable(why()->sentence()->text()));
    // The panel's own: the answer before, the next one, and the record of a reason.
    const QString newest = why()->sentence()->text();
    CHOOSE("Why/The previous answer");
    QTRY_VERIFY(why()->sentence()->text().contains("was made by subtract"));
    CHOOSE("Why/The next answer");
    QTRY_COMPARE(why()->sentence()->text(), newest);
    session().setCursor(1);
    CHOOSE("Why/Show");
    QTRY_VERIFY(session().cursor() != 1);
  }

  void whatIfTheInputWereAnother() {
    run(
        {"import tapedeck as tf\n"
         "x = tf.Variable([1., 2.], name='x')\n"
         "x.assign(x * 3.)\n"
         "y = tf.reduce_sum(x + 1.)\n"
         "tf.summary.scalar('y', y, 1)"});
    show("multiply", 0);
    CHOOSE("what_if.ask");
    QTRY_VERIFY(whatIf()->isVisible() && whatIf()->form()->isVisible());
    choose("Set one element");
    field<QLineEdit>("changeElement")->setFocus();
    typeInForm("0\t");
    typeInForm("10\n");
    QCOMPARE(changes(), QStringList{"x:0[0] = 10"});
    CHOOSE("what_if.replay");
    QVERIFY2(told("depend on the change"), qPrintable(whatIf()->sentence()->text()));
    show("add", 0);
    CHOOSE("what_if.branch");
    QCOMPARE(values(), (std::vector<double>{30, 6}));
    CHOOSE("what_if.difference");
    QCOMPARE(values(), (std::vector<double>{27, 0}));
    CHOOSE("what_if.original");
    QCOMPARE(values(), (std::vector<double>{3, 6}));
    CHOOSE("what_if.branch");
    CHOOSE("what_if.take_over");
    QTRY_VERIFY2_WITH_TIMEOUT(window_->statusBar()->currentMessage().contains("x:0 took over"),
                              qPrintable(window_->statusBar()->currentMessage()), patience);
    QCOMPARE(changes().size(), 1);
    // The panel's own.
    CHOOSE("What if/Show the result");
    QCOMPARE(changes().size(), 1);
    CHOOSE("What if/Edit the change");
    QTRY_VERIFY(whatIf()->form()->isVisible());
    QCOMPARE(changes().size(), 1);
    CHOOSE("What if/Cancel");
    QTRY_VERIFY(!whatIf()->form()->isVisible());
    QCOMPARE(changes().size(), 1);
    CHOOSE("what_if.forget");
    QTRY_VERIFY(strips().isEmpty());
    QCOMPARE(changes().size(), 1);
    CHOOSE("What if/Remove the change");
    QTRY_VERIFY(changes().isEmpty());
    show("multiply", 0);
    CHOOSE("What if/Add a change…");
    QTRY_VERIFY(whatIf()->form()->isVisible());
    choose("Set one element");
    field<QLineEdit>("changeElement")->setFocus();
    typeInForm("1\t");
    typeInForm("5\n");
    QTRY_COMPARE(changes().size(), 1);
    CHOOSE("What if/Remove all changes");
    QTRY_VERIFY(changes().isEmpty());
    CHOOSE("what_if.ask_set");
    auto* ops = field<QLineEdit>("setFilter");
    QTRY_VERIFY(ops->hasFocus());
    ops->selectAll();
    QTest::keyClicks(ops, "op:multiply");
    field<QComboBox>("setSubject")->setEditText("out");
    field<QLineEdit>("setValue")->setText("2");
    QTest::keyClick(field<QLineEdit>("setValue"), Qt::Key_Return);
    QTRY_COMPARE(changes().size(), 1);
    CHOOSE("what_if.replay");
    QVERIFY2(told("1 op is changed: multiply."), qPrintable(whatIf()->sentence()->text()));
    CHOOSE("what_if.curves");
    QTRY_VERIFY(app::plots(*window_)->isVisible());
  }

  // With the panel shut, too: it comes.
  void everyPanelComesAndGoes() {
    openCells(folder_, {training});
    runByKey(0);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    int panels = 0;
    for (QDockWidget* dock : window_->findChildren<QDockWidget*>()) {
      if (!dock->objectName().startsWith("panel.")) continue;
      ++panels;
      QAction* toggle = dock->toggleViewAction();
      const bool was = toggle->isChecked();
      const QString entry = toggle->objectName().isEmpty()
                                ? dock->windowTitle() + '/' + toggle->text().remove('&')
                                : toggle->objectName();
      CHOOSE(entry);
      QTRY_COMPARE(toggle->isChecked(), !was);
      CHOOSE(entry);
      QTRY_COMPARE(toggle->isChecked(), was);
    }
    QVERIFY(panels >= 10);
  }

 private:
  void clickLine(int line) {
    QTRY_VERIFY(editorOf(0));
    CodeEditor* editor = editorOf(0);
    const QPoint at(editor->marginWidth(0) + editor->marginWidth(1) + 12,
                    editor->yOfLine(line) + editor->lineHeight() / 2);
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, {}, at);
    QTRY_VERIFY(editor->hasFocus());
  }
};

TAPEDECK_TEST(TestMenus)
#include "tst_menus.moc"
