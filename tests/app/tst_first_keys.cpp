// The first keys that a new user presses: from the start page, with nothing preselected.
#include <signal.h>

#include <QAbstractButton>
#include <QRegularExpression>
#include <QScrollBar>
#include <QStatusBar>
#include <QTimer>
#include <QToolButton>

#include "app/shell/window/start_page.h"
#include "tests/app/window_fixture.h"
#include "tests/no_engine.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using protocol::GateState;

class TestFirstKeys : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  void openWindow() { window_ = newWindow(); }
  void open(const QString& path) {
    openWindow();
    window_->openNotebook(path);
  }
  /// To whatever has the focus, as a keyboard does.
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWidget* focus = QApplication::focusWidget();
    QTest::keyClick(focus ? focus : window_.get(), key, modifiers);
  }
  QString state() { return window_->findChild<QLabel*>("sessionState")->text(); }
  QString refusal() { return window_->statusBar()->currentMessage(); }
  CellState cellState(int index) { return cellStateOf(*window_, index); }
  void click(const char* action) {
    for (auto* button : window_->findChildren<QToolButton*>())
      if (button->isVisible() && button->defaultAction() && button->defaultAction()->objectName() == action)
        return QTest::mouseClick(button, Qt::LeftButton);
    QFAIL(action);
  }
  QString writeMixed(const QString& name, const QList<Code>& cells) {
    nlohmann::json notebook = {
        {"nbformat", 4}, {"nbformat_minor", 5}, {"metadata", nlohmann::json::object()}};
    for (int i = 0; i < cells.size(); ++i) {
      nlohmann::json cell = {{"cell_type", cells[i].type.toStdString()},
                             {"id", "cell-" + std::to_string(i)},
                             {"metadata", nlohmann::json::object()},
                             {"source", cells[i].source.toStdString()}};
      if (cells[i].type == "code")
        cell["outputs"] = nlohmann::json::array(), cell["execution_count"] = nullptr;
      notebook["cells"].push_back(cell);
    }
    QFile file(folder_.filePath(name));
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
    file.write(QByteArray::fromStdString(notebook.dump(1)));
    return file.fileName();
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { window_.reset(); }

  void theReadmesFirstStepsByKeysAlone() {
    openWindow();
    const auto onSample = [] {
      return QApplication::focusWidget() &&
             QApplication::focusWidget()->objectName() == "open:noisy_square.ipynb";
    };
    for (int i = 0; i < 60 && !onSample(); ++i) press(Qt::Key_Tab);
    QVERIFY(onSample());
    press(Qt::Key_Space);
    QTRY_VERIFY(window_->notebook()->isVisible());
    // Opening it ran nothing, not even a process.
    QCOMPARE(window_->kernel()->state(), KernelState::stopped);
    QCOMPARE(window_->kernel()->processId(), qint64{0});
    QCOMPARE(state(), QString("no session: it starts with the first run"));
    QCOMPARE(window_->document()->cell(window_->notebook()->currentCell()).type, CellType::markdown);

    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QCOMPARE(window_->notebook()->currentCell(), 1);
    QTRY_VERIFY2(state().contains("paused before multiply, cell [1] line "), qPrintable(state()));
    screenshot(window_.get(), "first-keys-paused");
    for (int i = 0; i < 3; ++i) {
      const auto before = window_->session()->stop();
      press(Qt::Key_F10);
      QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && window_->session()->stop() > before, patience);
    }
    press(Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(1), CellState::done, patience);
    QTRY_COMPARE_WITH_TIMEOUT(window_->stepper()->state(), StepperState::idle, patience);
    QTRY_COMPARE(state().section(" · ", 0, 0), QString("session: ready"));
    // A plain run afterwards does not pause.
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(1), CellState::done, patience);
    QCOMPARE(window_->session()->status().gate, GateState::open);
  }

  void aStepThroughACellWithoutOpsLeavesTheGateOpen() {
    open(writeNotebook(folder_, "no-ops.ipynb", {"x = 1", "import tapedeck as tf\ntf.ones(3) + 1."}));
    press(Qt::Key_F10);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(0), CellState::done, patience);
    QTRY_VERIFY_WITH_TIMEOUT(
        window_->session()->live() && window_->session()->status().gate == GateState::open, patience);
    window_->notebook()->setCurrentCell(1, false);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(1), CellState::done, patience);
  }

  void shiftEnterOnTextGoesOnAndTheRunButtonRunsTheNextCode() {
    const QList<Code> cells = {{"# Title", "markdown"}, {"more", "raw"}, {"print('ran')"}, {"'last'"}};
    open(writeMixed("text.ipynb", cells));
    press(Qt::Key_Return, Qt::ShiftModifier);
    QCOMPARE(window_->notebook()->currentCell(), 1);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QCOMPARE(window_->notebook()->currentCell(), 2);
    QCOMPARE(window_->kernel()->state(), KernelState::stopped);

    window_->notebook()->setCurrentCell(0, false);
    click("cell.run_advance");
    QCOMPARE(window_->notebook()->currentCell(), 3);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(2), CellState::done, patience);
    QVERIFY(outputText(*window_, 2).contains("ran"));
    QCOMPARE(window_->document()->cell(3).executionCount, 0);
  }

  void whereNoCodeFollowsASentenceSaysSo() {
    open(writeMixed("only-text.ipynb", {{"# Only text", "markdown"}, {" ", "code"}}));
    for (const Qt::Key key : {Qt::Key_F10, Qt::Key_F11, Qt::Key_F5}) {
      window_->statusBar()->clearMessage();
      press(key);
      QVERIFY2(refusal().startsWith("There is no code to run"), qPrintable(refusal()));
    }
    window_->statusBar()->clearMessage();
    click("cell.run_advance");
    QVERIFY2(refusal().startsWith("There is no code to run"), qPrintable(refusal()));
    QCOMPARE(window_->kernel()->state(), KernelState::stopped);
    screenshot(window_.get(), "first-keys-no-code");
  }

  void whilePausedTheNotebookStaysWhereTheUserScrolled() {
    QStringList cells = {"import tapedeck as tf\nx = tf.ones(3)\nfor i in range(20):\n    x = x + 1."};
    for (int i = 0; i < 30; ++i) cells << QString("# a cell further down\nprint(%1)\n\n\n").arg(i);
    open(writeNotebook(folder_, "long.ipynb", cells));
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QScrollBar* bar = window_->notebook()->verticalScrollBar();
    QWidget* viewport = window_->notebook()->viewport();
    const QPointF centre = viewport->rect().center();
    for (int i = 0; i < 40; ++i) {
      QWheelEvent wheel(centre, viewport->mapToGlobal(centre), QPoint(), QPoint(0, -240), Qt::NoButton,
                        Qt::NoModifier, Qt::NoScrollPhase, false);
      QApplication::sendEvent(viewport, &wheel);
    }
    const int there = bar->value();
    QVERIFY(there > 400);
    int told = 0;
    connect(window_->kernel()->debugSource(), &inspector::Source::received, this,
            [&](quint64, const protocol::Reply& reply) {
              told += protocol::holds_alternative<protocol::Status>(reply);
            });
    QTRY_VERIFY_WITH_TIMEOUT(told >= 3, patience);
    QCOMPARE(bar->value(), there);
    // The next stop is another matter.
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(bar->value() < 200, patience);
  }

  void whatIsChosenBeforeTheFirstRunHoldsInIt() {
    open(writeNotebook(folder_, "options.ipynb", {"import tapedeck as tf\ntf.ones(3) + 1."}));
    const auto action = [this](const char* id) { return window_->findChild<QAction*>(id); };
    QVERIFY(action("session.recording")->isChecked());
    QVERIFY(!action("session.break_at_cell")->isChecked());
    action("session.break_at_cell")->trigger();
    QVERIFY(action("session.break_at_cell")->isChecked());
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    action("session.break_at_cell")->trigger();
    press(Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(0), CellState::done, patience);
    const auto records = window_->session()->recordCount();
    QVERIFY(records > 0);
    // Switched off it stays so in the next session.
    action("session.recording")->trigger();
    action("session.restart")->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_) && !window_->session()->status().recording, patience);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(0), CellState::done, patience);
    QCOMPARE(window_->session()->recordCount(), quint64{0});
    QVERIFY(!action("session.recording")->isChecked());
  }

  void theRecordsTakeMemoryThatIsTold() {
    open(writeNotebook(folder_, "memory.ipynb",
                       {"import tapedeck as tf\nx = tf.constant(1.)\nfor i in range(400): x = tf.tanh(x)"}));
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(0), CellState::done, patience);
    QTRY_VERIFY_WITH_TIMEOUT(window_->session()->recordCount() >= 400, patience);
    static const QRegularExpression told("recording [1-9][0-9.,]* (kB|MB) ");
    QTRY_VERIFY2_WITH_TIMEOUT(state().contains(told), qPrintable(state()), patience);
  }

  void completionStartsTheSessionThatItNeeds() {
    open(writeNotebook(folder_, "complete.ipynb", {"impor"}));
    window_->notebook()->setCurrentCell(0, true);
    press(Qt::Key_End);
    press(Qt::Key_Tab);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
    QCOMPARE(cellState(0), CellState::idle);
  }

  void aSilentSessionIsToldAndTakenBack() {
    openWindow();
    KernelLaunch launch;
    launch.silenceLimitMs = 3000;
    window_->kernel()->setLaunch(launch);
    window_->openNotebook(writeNotebook(folder_, "silent.ipynb", {"1 + 1"}));
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(0), CellState::done, patience);
    ::kill(pid_t(window_->kernel()->processId()), SIGSTOP);
    QTRY_VERIFY_WITH_TIMEOUT(window_->messages()->text().startsWith("The session process does not answer"),
                             patience);
    screenshot(window_.get(), "first-keys-silent");
    ::kill(pid_t(window_->kernel()->processId()), SIGCONT);
    QTRY_VERIFY_WITH_TIMEOUT(window_->messages()->text().isEmpty(), patience);
  }

  void aSessionWithoutTheEngineIsTold() {
    const QTemporaryDir folder, modules;
    tapedeck::test::refuseEngine(modules.path());
    openWindow();
    KernelLaunch launch;
    launch.environment["PYTHONPATH"] = modules.path();
    window_->kernel()->setLaunch(launch);
    window_->openNotebook(writeNotebook(folder, "plain.ipynb", {"print(6 * 7)"}));
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(
        window_->messages()->text().contains("runs without it: ImportError: it is for another"), patience);
    QVERIFY2(refusal().contains("no Tapedeck engine"), qPrintable(refusal()));
    QCOMPARE(state(), QString("session: ready, without the engine"));
    screenshot(window_.get(), "first-keys-without-engine");
    press(Qt::Key_F5);  // cells run all the same
    QTRY_COMPARE_WITH_TIMEOUT(cellState(0), CellState::done, patience);
    QVERIFY(outputText(*window_, 0).contains("42"));
    QVERIFY(!window_->messages()->text().isEmpty());
  }

  void closingTheLastWindowLetsTheSessionEndByItself() {
    const QString note = folder_.filePath("ended.txt");
    open(writeNotebook(
        folder_, "ends.ipynb",
        {QString("import atexit\natexit.register(lambda: open('%1', 'w').write('ended'))").arg(note)}));
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(0), CellState::done, patience);
    press(Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(!window_->document()->modified());
    const qint64 process = window_->kernel()->processId();
    QTimer::singleShot(0, window_.get(), &QWidget::close);
    QApplication::exec();  // the program goes on until nothing is left of the session
    QVERIFY(!window_->isVisible());
    QVERIFY(QFile::exists(note));
    QVERIFY(::kill(pid_t(process), 0) != 0);
  }

  void theKilledCellIsMarked() {
    open(writeNotebook(folder_, "killed.ipynb",
                       {"import tapedeck as tf\ntf.ones(3) + 1.", "import os\nos.kill(os.getpid(), 9)"}));
    click("cell.run_all");
    QTRY_COMPARE_WITH_TIMEOUT(window_->kernel()->state(), KernelState::dead, patience);
    QTRY_COMPARE_WITH_TIMEOUT(cellState(1), CellState::killed, patience);
    QCOMPARE(cellState(0), CellState::done);
    QVERIFY2(outputText(*window_, 1).startsWith("The session ended while this cell ran."),
             qPrintable(outputText(*window_, 1)));
    bool named = false;
    for (const QWidget* widget : window_->notebook()->findChildren<QWidget*>())
      named = named || widget->accessibleName() == "Code cell 2, killed";
    QVERIFY(named);
    QCOMPARE(state().section(" · ", 0, 0), QString("session: ended; what it showed is still here"));
    screenshot(window_.get(), "first-keys-killed");
  }
};

TAPEDECK_TEST(TestFirstKeys)
#include "tst_first_keys.moc"
