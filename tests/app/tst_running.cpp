// Runs of several cells in a window with a real session: what is said when they stop, what is asked before
// they are ended, and what cells say of their runs.
#include <QAbstractButton>
#include <QHelpEvent>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QScrollBar>
#include <QToolTip>

#include "app/control/interrupt_watch.h"
#include "app/control/notebook_breakpoints.h"
#include "app/kernel/process/reaper.h"
#include "app/notebook/output/output_area.h"
#include "app/notebook/view/cell_widget.h"
#include "app/shell/opening/file_control.h"
#include "app/shell/opening/kept_windows.h"
#include "app/shell/window/message_bar.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

constexpr auto control_shift = Qt::ControlModifier | Qt::ShiftModifier;
constexpr auto control_alt = Qt::ControlModifier | Qt::AltModifier;

/// Presses a button of the next question, by the keyboard: its name, or "" for Escape.
class Answer : public QObject {
 public:
  explicit Answer(const QString& button) {
    connect(&timer_, &QTimer::timeout, this, [this, button] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (!box || !box->isVisible() || !question.isEmpty()) return;
      question = box->text() + " " + box->informativeText();
      auto* pressed = button.isEmpty() ? nullptr : box->findChild<QPushButton*>(button);
      QTimer::singleShot(0, box, [box, pressed] {
        if (!pressed) return QTest::keyClick(box, Qt::Key_Escape);
        pressed->setFocus();
        QTest::keyClick(pressed, Qt::Key_Space);
      });
    });
    timer_.start(20);
  }
  QString question;

 private:
  QTimer timer_;
};

}  // namespace

class TestRunning : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<MainWindow> window_;
  QTemporaryDir folder_;

  QString open(const QStringList& cells, const QString& name = "running.ipynb") {
    window_ = newWindow();
    const QString path = writeNotebook(folder_, name, cells);
    window_->openNotebook(path);
    [&] { QTRY_COMPARE(window_->document()->cellCount(), static_cast<int>(cells.size())); }();
    window_->notebook()->setFocus();
    return path;
  }
  static void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QVERIFY(QApplication::focusWidget());
    QTest::keyClick(QApplication::focusWidget(), key, modifiers);
  }
  CellState state(int cell) const { return cellStateOf(*window_, cell); }
  bool waitFor(int cell, CellState wanted) const {
    return tapedeck::waitFor([&] { return state(cell) == wanted; }, patience);
  }
  QList<CellState> states() const {
    QList<CellState> list;
    for (int i = 0; i < window_->document()->cellCount(); ++i) list << state(i);
    return list;
  }
  CellMark mark(int cell) const { return window_->notebook()->cellMark(window_->document()->cell(cell).id); }
  CellWidget* widget(int cell) const {
    for (auto* each : window_->notebook()->findChildren<CellWidget*>())
      if (each->id() == window_->document()->cell(cell).id && !each->isHidden()) return each;
    return nullptr;
  }
  QString tip(int cell) const {
    CellWidget* at = widget(cell);
    const QPoint place(10, 20);
    QHelpEvent help(QEvent::ToolTip, place, at->mapToGlobal(place));
    QApplication::sendEvent(at, &help);
    return QToolTip::text();
  }
  QAbstractButton* choice(const QString& text) const {
    for (auto* button : window_->messages()->findChildren<QAbstractButton*>())
      if (QString(button->text()).remove('&') == text) return button;
    return nullptr;
  }
  /// From a question: without a window manager nothing else gives the keyboard back.
  void comeBack() {
    window_->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(window_.get(), patience));
    QTRY_VERIFY(QApplication::focusWidget());
  }
  void runForever() {
    open({"print('before')\nimport time\nwhile True: time.sleep(.02)", "print('second')"});
    press(Qt::Key_Return, control_shift);
    QVERIFY(waitFor(0, CellState::busy));
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() { window_.reset(); }

  void aFailedRunLeadsToTheCellAndOffersTheRest() {
    QStringList cells{"a = 1"};
    for (int i = 0; i < 30; ++i) cells << QString("# %1\n%1\n%1").arg(i);
    cells << "import os\nif not os.path.exists('there'): 1 / 0"
          << "print('one')"
          << "print('two')";
    open(cells);
    const int bad = 31;
    press(Qt::Key_Return, control_shift);
    QVERIFY(waitFor(bad, CellState::failed));
    QTRY_COMPARE(window_->notebook()->currentCell(), bad);
    const QString told = window_->messages()->text();
    QVERIFY2(told.contains("failed with ZeroDivisionError. 2 cells after it were skipped."),
             qPrintable(told));
    // In sight, with its error.
    const auto seen = [&] {
      const int top = window_->notebook()->verticalScrollBar()->value();
      const int bottom = top + window_->notebook()->viewport()->height();
      const OutputArea* outputs = widget(bad)->outputs();
      return outputs && outputs->count() > 0 && outputs->row(0)->width() > 400 && widget(bad)->y() >= top &&
             widget(bad)->y() + widget(bad)->height() <= bottom;
    };
    QTRY_VERIFY(seen());
    screenshot(window_.get(), "running-stopped");
    // What was skipped runs by the keyboard.
    QAbstractButton* run = choice("Run the 2 cells");
    QVERIFY(run);
    press(Qt::Key_F8);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(run));
    press(Qt::Key_Space);
    QVERIFY(waitFor(bad + 2, CellState::done));
    QCOMPARE(outputText(*window_, bad + 1), QString("one\n"));
    QCOMPARE(outputText(*window_, bad + 2), QString("two\n"));
    QVERIFY(!window_->messages()->text().contains("skipped"));
  }

  /// A user who types in another cell meanwhile keeps the text cursor, and the message leads to the cell.
  void aFailureLeavesTheTextCursorAlone() {
    open({"import time\ntime.sleep(.3)\n1 / 0", "2", ""});
    press(Qt::Key_Return, control_shift);
    window_->notebook()->setCurrentCell(2, true);
    QVERIFY(waitFor(0, CellState::failed));
    QTRY_VERIFY(choice("Go to cell [1]"));
    QCOMPARE(window_->notebook()->currentCell(), 2);
    QTest::mouseClick(choice("Go to cell [1]"), Qt::LeftButton);
    QCOMPARE(window_->notebook()->currentCell(), 0);
  }

  void partsOfTheNotebookAreRun() {
    open({"print(0)", "print(1)", "print(2)", "print(3)"});
    using S = CellState;
    press(Qt::Key_Down);
    press(Qt::Key_PageUp, control_alt);
    QVERIFY(waitFor(0, S::done));
    QTRY_VERIFY(!window_->runner()->busy());
    QCOMPARE(states(), (QList<S>{S::done, S::idle, S::idle, S::idle}));
    press(Qt::Key_Down);
    press(Qt::Key_Return, control_alt);
    QVERIFY(waitFor(2, S::done));
    QCOMPARE(states(), (QList<S>{S::done, S::done, S::done, S::idle}));
    QCOMPARE(window_->document()->cell(0).executionCount, 2);
    press(Qt::Key_PageDown, control_alt);
    QVERIFY(waitFor(3, S::done));
    QTRY_COMPARE(window_->document()->cell(2).executionCount, 5);
    QCOMPARE(window_->document()->cell(1).executionCount, 3);
    press(Qt::Key_Up);
    press(Qt::Key_Return, Qt::AltModifier | Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(window_->document()->cell(1).executionCount, 7, patience);
  }

  void cellsSayWhyTheyMayNotHold() {
    open({"rate = 1", "print(rate)", "print('other')"});
    press(Qt::Key_Return, control_shift);
    QVERIFY(waitFor(2, CellState::done));
    QTRY_VERIFY(!window_->runner()->busy());
    for (int i = 0; i < 3; ++i) QCOMPARE(mark(i), CellMark::none);
    QVERIFY2(widget(1)->accessibleName().contains("done in "), qPrintable(widget(1)->accessibleName()));
    QVERIFY2(tip(1).contains("started ") && tip(1).contains("ended "), qPrintable(tip(1)));

    press(Qt::Key_Return);  // into the first cell
    press(Qt::Key_End);
    QTest::keyClick(QApplication::focusWidget(), '5');
    QCOMPARE(mark(0), CellMark::edited);
    QVERIFY(widget(0)->accessibleName().contains("edited since it ran"));
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE_WITH_TIMEOUT(mark(1), CellMark::outdated, patience);
    QCOMPARE(mark(0), CellMark::none);
    QCOMPARE(mark(2), CellMark::none);
    QVERIFY2(tip(1).contains("it reads rate, which cell [4] assigned"), qPrintable(tip(1)));
    QVERIFY(widget(1)->accessibleDescription().contains("it reads rate"));
    shots(window_.get(), "running-marks");
    press(Qt::Key_Return, control_alt | Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(mark(1), CellMark::none, patience);
    QTRY_COMPARE_WITH_TIMEOUT(outputText(*window_, 1), QString("15\n"), patience);
    QTRY_VERIFY(!window_->runner()->busy());
    QCOMPARE(window_->document()->cell(2).executionCount, 3);  // it was not run again

    // A fresh session has none of it: all run again, in their order.
    press(Qt::Key_R, control_shift);
    for (int i = 0; i < 3; ++i) QTRY_COMPARE_WITH_TIMEOUT(mark(i), CellMark::earlier, patience);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
    press(Qt::Key_Return, control_alt | Qt::ShiftModifier);
    QVERIFY(waitFor(2, CellState::done));
    for (int i = 0; i < 3; ++i) QTRY_COMPARE_WITH_TIMEOUT(mark(i), CellMark::none, patience);
    QCOMPARE(window_->document()->cell(2).executionCount, 3);
  }

  void timesAreSavedAndShownAsThoseOfAnEarlierSession() {
    const QString path = open({"import time\ntime.sleep(.25)"});
    press(Qt::Key_Return, Qt::ControlModifier);
    QVERIFY(waitFor(0, CellState::done));
    press(Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->document()->modified() && !window_->files()->busy(), patience);
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const auto saved = nlohmann::json::parse(file.readAll().toStdString());
    const auto& times = saved["cells"][0]["metadata"]["execution"];
    for (const char* name : {"iopub.execute_input", "shell.execute_reply", "iopub.status.idle"})
      QVERIFY2(times.contains(name) && times[name].is_string(), name);
    window_ = newWindow();
    window_->openNotebook(path);
    QTRY_COMPARE(mark(0), CellMark::earlier);
    QVERIFY2(tip(0).contains("in 0.") && tip(0).contains("earlier session"), qPrintable(tip(0)));
  }

  void aRestartAsksWhileACellRuns() {
    runForever();
    const qint64 process = window_->kernel()->processId();
    {
      const Answer stay("");
      press(Qt::Key_R, control_shift);
      QVERIFY2(stay.question.startsWith("Cell [1] is running, and a cell waits behind it."),
               qPrintable(stay.question));
    }
    comeBack();
    QCOMPARE(state(0), CellState::busy);
    QCOMPARE(window_->kernel()->processId(), process);
    {
      const Answer go("restartSession");
      press(Qt::Key_R, control_shift);
    }
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_) && window_->kernel()->processId() != process, patience);
    comeBack();
    QCOMPARE(state(0), CellState::killed);
    QVERIFY(!window_->messages()->text().contains("skipped"));
    // Nothing runs: nothing is asked.
    const Answer none("");
    press(Qt::Key_R, control_shift);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
    QVERIFY(none.question.isEmpty());
  }

  void restartAndRunAllRunsInTheFreshSession() {
    open({"try: n += 1\nexcept NameError: n = 1\nprint(n)", "import time\ntime.sleep(0 if n == 1 else 60)"});
    press(Qt::Key_Return, control_shift);
    QVERIFY(waitFor(1, CellState::done));
    press(Qt::Key_Return, control_shift);  // n is 2 now: the second cell runs for long
    QTRY_COMPARE_WITH_TIMEOUT(outputText(*window_, 0), QString("2\n"), patience);
    QVERIFY(waitFor(1, CellState::busy));
    const Answer go("restartSession");
    press(Qt::Key_R, control_alt | Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(outputText(*window_, 0), QString("1\n"), patience);
    QVERIFY(waitFor(1, CellState::done));
    QCOMPARE(window_->document()->cell(1).executionCount, 2);
  }

  void aStoppedProgramEndsWhereItStands_data() {
    QTest::addColumn<QString>("how");
    for (const char* how : {"restart", "restart and run all", "close", "window destroyed"})
      QTest::newRow(how) << QString(how);
  }
  /// Paused before a loop: its session is ended, and none of its rounds runs.
  void aStoppedProgramEndsWhereItStands() {
    QFETCH(QString, how);
    const QString name = QString(how).replace(' ', '-');
    const QString lines = folder_.filePath(name + ".lines"), tidied = folder_.filePath(name + ".tidied");
    open({QString("open('%1.lines', 'a').close()\ntry:\n    for i in range(1000):\n"
                  "        with open('%1.lines', 'a') as file: file.write('round\\n')\n    print('end')\n"
                  "finally:\n    open('%1.tidied', 'w').close()")
              .arg(name)},
         name + ".ipynb");
    press(Qt::Key_Return);  // into the cell
    press(Qt::Key_Home, Qt::ControlModifier);
    for (int i = 0; i < 2; ++i) press(Qt::Key_Down);
    press(Qt::Key_F9);
    for (int i = 0; i < 4; ++i) press(Qt::Key_Down);
    press(Qt::Key_F9);  // what tidies up does not stop there while the session ends
    QCOMPARE(window_->breakpoints()->all().size(), 2);
    press(Qt::Key_F5);
    const auto standsBeforeTheLoop = [this] {
      return isStopped(*window_) && window_->session()->status().line == 3;
    };
    QTRY_VERIFY_WITH_TIMEOUT(standsBeforeTheLoop(), patience);
    QTRY_COMPARE_WITH_TIMEOUT(state(0), CellState::busy, patience);
    const auto rounds = [&lines] {
      QFile file(lines);
      return file.open(QIODevice::ReadOnly) ? file.readAll().count('\n') : -1;
    };
    QCOMPARE(rounds(), 0);
    const qint64 process = window_->kernel()->processId();
    if (how.startsWith("restart")) {
      const Answer go("restartSession");
      press(Qt::Key_R, how == "restart" ? control_shift : control_alt | Qt::ShiftModifier);
      QVERIFY2(go.question.startsWith("Cell [1] is running. A restart ends it"), qPrintable(go.question));
      QTRY_VERIFY_WITH_TIMEOUT(window_->session()->live() && window_->kernel()->processId() != process,
                               patience);
      if (how == "restart") {
        QCOMPARE(state(0), CellState::killed);
        QVERIFY2(!outputText(*window_, 0).contains("KeyboardInterrupt"), qPrintable(outputText(*window_, 0)));
      } else {
        QTRY_VERIFY_WITH_TIMEOUT(standsBeforeTheLoop(), patience);
      }
    } else if (how == "close") {
      const Answer end("endSession");
      press(Qt::Key_W, Qt::ControlModifier);
      QTRY_VERIFY_WITH_TIMEOUT(window_->kernel()->state() == KernelState::stopped, patience);
    } else {
      window_.reset();
      QTRY_COMPARE_WITH_TIMEOUT(Reaper::instance().left(), 0, patience);
    }
    QCOMPARE(rounds(), 0);
    if (!window_) return;
    QVERIFY(QFile::exists(tidied));
    QVERIFY(!outputText(*window_, 0).contains("end\n"));
  }

  void closingAsksWhileACellRuns() {
    runForever();
    {
      const Answer stay("");
      press(Qt::Key_W, Qt::ControlModifier);
      QVERIFY2(stay.question.contains("cell [1] is running") && stay.question.contains("unsaved changes"),
               qPrintable(stay.question));
    }
    comeBack();
    QCOMPARE(state(0), CellState::busy);
    const Answer end("endSession");
    press(Qt::Key_W, Qt::ControlModifier);
    QTRY_VERIFY(!window_->isVisible());
    QTRY_COMPARE_WITH_TIMEOUT(window_->kernel()->state(), KernelState::stopped, patience);
  }

  void closingSavesWhatTheSessionLeft() {
    runForever();
    QTRY_VERIFY(outputText(*window_, 0).contains("before"));
    const Answer save("saveAndEnd");
    press(Qt::Key_W, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->isVisible(), patience);
    Document saved;
    saved.load(folder_.filePath("running.ipynb"));
    QVERIFY(saved.cell(0).outputs.dump().find("before") != std::string::npos);
    QVERIFY(!window_->document()->modified());
  }

  void aClosedNotebookRunsOnAndIsOpenedAgain() {
    const QString path =
        open({"print('first')\nopen('go', 'w').close()\nimport os, time\n"
              "while not os.path.exists('on'): time.sleep(.02)\nprint('meanwhile')",
              "print('second')"});
    const QString on = folder_.filePath("on");
    press(Qt::Key_Return, control_shift);
    QTRY_VERIFY_WITH_TIMEOUT(outputText(*window_, 0).contains("first"), patience);
    {
      const Answer keep("keepRunning");
      press(Qt::Key_W, Qt::ControlModifier);
    }
    QTRY_VERIFY(!window_->isVisible());
    QCOMPARE(keptWindows(), QList<MainWindow*>{window_.get()});
    // The start page took its place: the program goes on.
    MainWindow* start = otherWindow(window_.get());
    QVERIFY(start);
    QTRY_VERIFY(start->isActiveWindow());
    QFile(on).open(QIODevice::WriteOnly);
    QTRY_VERIFY_WITH_TIMEOUT(start->messages()->text().contains("running.ipynb has run all its cells"),
                             patience);
    screenshot(start, "running-kept");
    // The list has it, and so does the file's path.
    QTest::keyClick(start, Qt::Key_K, control_alt | Qt::ShiftModifier);
    QMenu* list = nullptr;
    QTRY_VERIFY(list = qobject_cast<QMenu*>(QApplication::activePopupWidget()));
    QCOMPARE(list->actions().size(), 1);
    QVERIFY2(list->actions()[0]->text().startsWith("running.ipynb"), qPrintable(list->actions()[0]->text()));
    QTest::keyClick(list, Qt::Key_Escape);
    start->openNotebook(path);
    QTRY_VERIFY(window_->isVisible());
    QVERIFY(keptWindows().isEmpty());
    QCOMPARE(outputText(*window_, 0), QString("first\nmeanwhile\n"));
    QCOMPARE(outputText(*window_, 1), QString("second\n"));
    QFile::remove(on);
    start->close();
    QTRY_COMPARE(otherWindow(window_.get()), nullptr);
  }

  /// With the last visible window the program ends: what runs on without one is asked about.
  void quittingAsksAboutWhatWasKept() {
    runForever();
    {
      const Answer keep("keepRunning");
      press(Qt::Key_W, Qt::ControlModifier);
    }
    QTRY_VERIFY(!window_->isVisible());
    QPointer<MainWindow> start = otherWindow(window_.get());
    QVERIFY(start);
    {
      const Answer stay("");
      FileControl::quit();
      QTRY_VERIFY(stay.question.contains("Quitting ends its session"));
    }
    QVERIFY(window_->isVisible());
    QCOMPARE(state(0), CellState::busy);
    const Answer end("endSession");
    FileControl::quit();
    QTRY_VERIFY(!window_->isVisible() && (!start || !start->isVisible()));
  }

  void aProgramThatIgnoresInterruptsGetsTheOfferOfARestart() {
    open(
        {"import time\nprint('runs')\nwhile True:\n  try: time.sleep(.02)\n  except KeyboardInterrupt: "
         "pass"});
    auto* watch = window_->findChild<InterruptWatch*>();
    QVERIFY(watch);
    watch->setPatience(300);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(outputText(*window_, 0).contains("runs"), patience);
    const qint64 process = window_->kernel()->processId();
    press(Qt::Key_I, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(window_->messages()->text().contains("is still running after the interrupt"),
                             patience);
    screenshot(window_.get(), "running-ignored");
    press(Qt::Key_F8);
    auto* restart = qobject_cast<QAbstractButton*>(QApplication::focusWidget());
    QVERIFY(restart && QString(restart->text()).remove('&') == "Restart session");
    press(Qt::Key_Space);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_) && window_->kernel()->processId() != process, patience);
    QCOMPARE(state(0), CellState::killed);
    QVERIFY(!window_->messages()->text().contains("interrupted"));
  }

  void aCellThatEndsTakesTheOfferAway() {
    open(
        {"import time\nn = 0\nprint('runs')\nwhile n < 2:\n  try:\n    while True: time.sleep(.02)\n"
         "  except KeyboardInterrupt: n += 1"});
    window_->findChild<InterruptWatch*>()->setPatience(200);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(outputText(*window_, 0).contains("runs"), patience);
    press(Qt::Key_I, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(choice("Wait"), patience);
    QTest::mouseClick(choice("Wait"), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(choice("Wait"), patience);  // and asks again
    press(Qt::Key_I, Qt::ControlModifier);
    QVERIFY(waitFor(0, CellState::done));
    QTRY_VERIFY(!choice("Wait"));
  }
};

TAPEDECK_TEST(TestRunning)
#include "tst_running.moc"
