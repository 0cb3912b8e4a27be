// Programs that run by themselves, looked into from a real window: chosen from the list by keyboard, paused,
// stepped, detached. They are real processes, which end, hang and fork.
#include <signal.h>

#include <QDialog>
#include <QMenuBar>
#include <QPointer>
#include <QProcess>
#include <QStatusBar>
#include <QTimer>
#include <QTreeWidget>
#include <set>

#include "app/kernel/debug/attached_program.h"
#include "app/notebook/view/code_editor.h"
#include "app/shell/opening/attach_dialog.h"
#include "inspector/model/breakpoints/breakpoints_model.h"
#include "inspector/model/variables/frames_model.h"
#include "tests/app/window_fixture.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

// It goes on until there is a file `stop`; line 11 is the loss. It takes 1 off w[0] a step: the result says
// whether every step was done once.
const char* const program = R"(import os, sys, time
import tapedeck as tf
from own_step import shifted

folder = os.path.dirname(os.path.abspath(__file__))
w = tf.Variable([0., 2.], name="w")
x = tf.constant([[1., 2.], [3., 4.]])
steps = 0
while not os.path.exists(folder + "/stop"):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.matmul(x, tf.expand_dims(w, 1)))
        penalty = tf.reduce_max(w)
    shifted(w)
    steps += 1
    with open(folder + "/steps", "w") as file:
        file.write(str(steps))
    if os.path.exists(folder + "/fork"):
        os.remove(folder + "/fork")
        if os.fork() == 0:
            os._exit(float(tf.constant(1.) + 1.) != 2.)
    if os.path.exists(folder + "/hang"):
        os.rename(folder + "/hang", folder + "/hangs")
        while not os.path.exists(folder + "/go"):
            time.sleep(0.02)
    time.sleep(0.002)
with open(folder + "/result", "w") as file:
    file.write(f"{steps} {float(w[0])}")
)";

const char* const module = R"(import tapedeck as tf


def shifted(variable):
    variable.assign_sub([1., 0.])
)";

}  // namespace

class TestAttach : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    useOwnSettingsInLight();
    QVERIFY(runtime_.isValid());
    qputenv("XDG_RUNTIME_DIR", runtime_.path().toUtf8());
    QFile::setPermissions(runtime_.path(), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  }

  void cleanup() {
    closeWindows();
    for (const auto& process : processes_) {
      process->kill();
      process->waitForFinished();
    }
    processes_.clear();
    folder_.reset();
    QSettings().clear();
  }

  void aTrainingLoopIsChosenByKeyPausedSteppedAndLetGo() {
    QProcess* process = start();
    QPointer<MainWindow> first = new MainWindow;
    QVERIFY(showActive(first));
    MainWindow* window = attachByKeys(first);
    QVERIFY(window);
    QTRY_VERIFY(!first);  // the start page has done its work
    const QString title = QString("train.py (pid %1)").arg(process->processId());
    QVERIFY2(window->windowTitle().startsWith(title), qPrintable(window->windowTitle()));
    QCOMPARE(window->document()->cellCount(), 1);
    QCOMPARE(window->document()->cell(0).source.trimmed(), QString(program).trimmed());
    QTRY_VERIFY(state(window).startsWith(title + ": attached, running"));
    QTRY_VERIFY(window->session()->recordCount() > 20);

    // Pause: the line, the op's tensors, the variables.
    QTest::keyClick(window, Qt::Key_F6);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window), patience);
    QTRY_VERIFY2(state(window).contains("paused before"), qPrintable(state(window)));
    QVERIFY(breakAt(window, 11));
    QTest::keyClick(window, Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window) && window->session()->status().line == 11 &&
                                 !window->session()->status().stop_breakpoints.empty(),
                             patience);
    QTRY_COMPARE(markedLineOf(window),
                 std::pair(QString("loss = tf.reduce_sum(tf.matmul(x, tf.expand_dims(w, 1)))"), 11));
    QTRY_VERIFY2(state(window).contains("train.py line 11"), qPrintable(state(window)));
    // To the matmul, with what was made before anybody looked.
    for (int i = 0; i < 3 && stoppedBefore(window) != "matmul"; ++i) QVERIFY(step(window, Qt::Key_F10));
    QCOMPARE(stoppedBefore(window), QString("matmul"));
    auto* values = tensor(*window);
    QTRY_VERIFY_WITH_TIMEOUT(values && values->isVisible(), patience);
    const auto* record =
        window->session()->cachedRecord(window->session()->status().stopped_before.value_or(0));
    QVERIFY(record);
    QCOMPARE(record->inputs[0].preview, std::string("[[1. 2.] [3. 4.]]"));
    const auto before = window->session()->status().stopped_before.value_or(0);
    QVERIFY(step(window, Qt::Key_F10));
    QCOMPARE(stoppedBefore(window), QString("reduce_sum"));
    shots(window, "attach_paused");
    // The line of another file brings that file.
    QVERIFY(step(window, Qt::Key_F11));
    QCOMPARE(window->session()->status().line, 12u);
    QVERIFY(step(window, Qt::Key_F11));
    QTRY_VERIFY_WITH_TIMEOUT(window->document()->cellCount() == 2, patience);
    QCOMPARE(window->document()->cell(1).source.trimmed(), QString(module).trimmed());
    QTRY_COMPARE(markedLineOf(window), std::pair(QString("variable.assign_sub([1., 0.])"), 5));
    shots(window, "attach_module");

    // Detached it goes on, and what was fetched stays.
    const auto records = window->session()->recordCount();
    const int stepsThen = steps();
    QTest::keyClick(window, Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(state(window).contains("detached and still running"));
    QTRY_VERIFY_WITH_TIMEOUT(steps() > stepsThen + 50, patience);
    QVERIFY(window->session()->recordCount() >= records);
    QVERIFY(window->session()->cachedRecord(before));
    QTest::keyClick(window, Qt::Key_F10, Qt::ShiftModifier);
    QTRY_VERIFY(window->session()->cursor() < records);
    QTest::keyClick(window, Qt::Key_F6);
    QTRY_VERIFY2(window->statusBar()->currentMessage().contains("no longer attached"),
                 qPrintable(window->statusBar()->currentMessage()));
    finish(process);
  }

  void itsCellsCantBeRunOrChangedAndSayWhy() {
    QProcess* process = start();
    MainWindow* window = attach(process);
    QVERIFY(window);
    for (const char* id : {"cell.run", "cell.run_all", "cell.insert_below", "cell.delete", "file.save",
                           "session.interrupt", "session.restart"}) {
      auto* action = window->findChild<QAction*>(id);
      QVERIFY2(action && !action->isEnabled(), id);
      QVERIFY2(action->toolTip().contains("runs on its own"), qPrintable(action->toolTip()));
    }
    window->notebook()->setCurrentCell(0, true);
    QTest::keyClicks(QApplication::focusWidget(), "rubbish");
    QCOMPARE(window->document()->cell(0).source.trimmed(), QString(program).trimmed());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY2(window->statusBar()->currentMessage().contains("can't be run"),
                 qPrintable(window->statusBar()->currentMessage()));
    QVERIFY(!window->document()->modified());
    QCOMPARE(window->document()->cellCount(), 1);
    // Closing asks nothing, and lets the program go.
    const int then = steps();
    QPointer<MainWindow> closing = window;
    QVERIFY(window->close());
    QTRY_VERIFY(!closing);
    QTRY_VERIFY_WITH_TIMEOUT(steps() > then + 20, patience);
    finish(process);
  }

  void aProgramThatIsKilledLeavesASentenceAndWhatWasFetched() {
    QProcess* process = start();
    MainWindow* window = attach(process);
    QVERIFY(window);
    QTest::keyClick(window, Qt::Key_F6);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window), patience);
    const auto cursor = window->session()->cursor();
    QVERIFY(window->session()->cachedRecord(cursor));
    process->kill();
    const QString title = QString("train.py (pid %1)").arg(process->processId());
    process->waitForFinished();
    QTRY_VERIFY2(window->messages()->text().contains(" has ended. What was fetched from it stays here."),
                 qPrintable(window->messages()->text()));
    QVERIFY(window->messages()->text().startsWith("train.py (pid"));
    QTRY_VERIFY(state(window).contains("ended; what it showed is still here"));
    QVERIFY(window->session()->cachedRecord(cursor));
    QCOMPARE(window->document()->cellCount() >= 1, true);
    shots(window, "attach_ended");
  }

  void aProgramThatForksStaysAttached() {
    QProcess* process = start();
    MainWindow* window = attach(process);
    QVERIFY(window);
    touch("fork");
    QTRY_VERIFY2_WITH_TIMEOUT(window->messages()->text().contains("made a copy of itself (fork)"),
                              qPrintable(window->messages()->text()), patience);
    const auto records = window->session()->recordCount();
    QTRY_VERIFY_WITH_TIMEOUT(window->session()->recordCount() > records + 50, patience);
    // Let go by mouse.
    QCOMPARE(chooseInMenus(window, "session.detach"), QString());
    QTRY_VERIFY(state(window).contains("detached and still running"));
    QVERIFY2(window->windowTitle().contains(", detached"), qPrintable(window->windowTitle()));
    QVERIFY(!window->findChild<QAction*>("session.detach")->isEnabled());
    finish(process);
  }

  void attachingTwiceOpensOneWindow() {
    QProcess* process = start();
    auto* first = new MainWindow;
    first->attachTo(process->processId());
    first->attachTo(process->processId());
    QVERIFY(shown());
    nothingMayHappenFor(500);
    int windows = 0;
    for (QWidget* widget : QApplication::topLevelWidgets())
      if (const auto* main = qobject_cast<MainWindow*>(widget))
        windows += qobject_cast<AttachedProgram*>(main->source()) != nullptr;
    QCOMPARE(windows, 1);
    finish(process);
  }

  void aProgramThatIsStoppedIsToldAndAnswersAgain() {
    QProcess* process = start();
    MainWindow* window = attach(process);
    QVERIFY(window);
    qobject_cast<AttachedProgram*>(window->source())->setSilenceLimit(std::chrono::seconds(2));
    QCOMPARE(::kill(static_cast<pid_t>(process->processId()), SIGSTOP), 0);
    QTRY_VERIFY2_WITH_TIMEOUT(window->messages()->text().contains("does not answer: it is stopped"),
                              qPrintable(window->messages()->text()), patience);
    const auto records = window->session()->recordCount();
    QCOMPARE(::kill(static_cast<pid_t>(process->processId()), SIGCONT), 0);
    QTRY_VERIFY_WITH_TIMEOUT(window->session()->recordCount() > records + 50, patience);
    QTRY_VERIFY(!window->messages()->text().contains("does not answer"));
    finish(process);
  }

  void aProgramThatHangsIsWaitedForInWords() {
    QProcess* process = start();
    MainWindow* window = attach(process);
    QVERIFY(window);
    touch("hang");
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(folder() + "/hangs"), patience);
    QTest::keyClick(window, Qt::Key_F6);
    QTRY_VERIFY2(state(window).contains("pausing before its next op"), qPrintable(state(window)));
    QTRY_VERIFY2_WITH_TIMEOUT(window->messages()->text().contains("can't pause yet: it has reached no op"),
                              qPrintable(window->messages()->text()), patience);
    shots(window, "attach_hangs");
    touch("go");
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window), patience);
    QTRY_VERIFY(!window->messages()->text().contains("can't pause yet"));
    finish(process, window);
  }

  void withoutAProgramTheListSaysHowToStartOne() {
    auto* first = new MainWindow;
    QVERIFY(showActive(first));
    answer([this](AttachDialog* dialog) {
      auto* sentence = dialog->findChild<QLabel*>("noPrograms");
      QVERIFY(sentence->isVisible());
      QVERIFY(sentence->text().contains("TAPEDECK_DEBUG=1 python3 program.py"));
      screenshot(dialog, "attach_none");
      // It refreshes itself.
      QProcess* process = start();
      QTRY_VERIFY_WITH_TIMEOUT(dialog->list()->topLevelItemCount() == 1, patience);
      QVERIFY(dialog->list()->isVisible());
      QCOMPARE(dialog->list()->topLevelItem(0)->text(1), QString::number(process->processId()));
      screenshot(dialog, "attach_list");
      finish(process);
      QTRY_VERIFY_WITH_TIMEOUT(sentence->isVisible(), patience);
      QTest::keyClick(dialog, Qt::Key_Escape);
    });
    QCOMPARE(chooseInMenus(first, "session.attach"), QString());
    first->attachTo(1);
    QTRY_VERIFY(first->messages()->text().contains("No program with PID 1 can be attached to"));
  }

 private:
  /// Their menus are top-level widgets, too, and go with them.
  static void closeWindows() {
    QList<QPointer<MainWindow>> windows;
    for (QWidget* widget : QApplication::topLevelWidgets())
      if (auto* window = qobject_cast<MainWindow*>(widget)) windows << window;
    for (const auto& window : windows) delete window;
  }

  QProcess* start() {
    if (!folder_) folder_ = std::make_unique<QTemporaryDir>();
    write("train.py", program);
    write("own_step.py", module);
    auto process = std::make_unique<QProcess>();
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.insert("TAPEDECK_DEBUG", "1");
    environment.insert("PYTHONPATH", TAPEDECK_BUILD_DIR "/python");
    process->setProcessEnvironment(environment);
    process->setProcessChannelMode(QProcess::ForwardedChannels);
    process->setStandardInputFile(QProcess::nullDevice());
    process->setWorkingDirectory(folder());
    process->start(TAPEDECK_PYTHON, {folder() + "/train.py"});
    processes_.push_back(std::move(process));
    if (!waitFor([this] { return steps() > 0; }, patience)) qWarning("the program did not start");
    return processes_.back().get();
  }

  void write(const QString& name, const char* text) { tapedeck::test::write(folder() + '/' + name, text); }
  void touch(const QString& name) { write(name, ""); }
  QString folder() const { return QFileInfo(folder_->path()).canonicalFilePath(); }

  int steps() const {
    QFile file(folder() + "/steps");
    return file.open(QIODevice::ReadOnly) ? file.readAll().toInt() : 0;
  }

  /// It goes on to its end, with the result that it has without anybody looking.
  void finish(QProcess* process, MainWindow* paused = nullptr) {
    touch("stop");
    if (paused) QTest::keyClick(paused, Qt::Key_F5);
    QVERIFY(waitFor([&] { return process->state() == QProcess::NotRunning; }, patience));
    QCOMPARE(process->exitCode(), 0);
    QFile file(folder() + "/result");
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QList<QByteArray> result = file.readAll().split(' ');
    QCOMPARE(result.size(), 2);
    QVERIFY(result[0].toInt() > 0);
    QCOMPARE(result[1].toDouble(), -result[0].toDouble());
  }

  static MainWindow* attachedWindow() {
    for (QWidget* window : QApplication::topLevelWidgets())
      if (auto* main = qobject_cast<MainWindow*>(window);
          main && qobject_cast<AttachedProgram*>(main->source()))
        return main;
    return nullptr;
  }

  MainWindow* shown() {
    if (!waitFor([] { return attachedWindow() != nullptr; }, patience)) return nullptr;
    MainWindow* window = attachedWindow();
    return showActive(window) && waitFor([&] { return window->session()->recordCount() > 0; }, patience)
               ? window
               : nullptr;
  }

  /// Does that with the next list of programs that is shown, and closes it where that failed.
  void answer(const std::function<void(AttachDialog*)>& act) {
    auto* timer = new QTimer(this);
    connect(timer, &QTimer::timeout, this, [timer, act] {
      QPointer<AttachDialog> dialog = qobject_cast<AttachDialog*>(QApplication::activeModalWidget());
      if (!dialog || !dialog->isVisible()) return;
      timer->stop();
      timer->deleteLater();
      act(dialog);
      if (dialog && dialog->isVisible() && QTest::currentTestFailed()) dialog->reject();
    });
    timer->start(50);
  }

  MainWindow* attachByKeys(MainWindow* from) {
    answer([](AttachDialog* dialog) {
      QTRY_VERIFY_WITH_TIMEOUT(dialog->chosen(), patience);
      QTest::keyClick(dialog->list(), Qt::Key_Return);
    });
    QTest::keyClick(from, Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
    return shown();
  }

  MainWindow* attach(QProcess* process) {
    auto* first = new MainWindow;
    first->attachTo(process->processId());
    return shown();
  }

  static QString state(const MainWindow* window) {
    return window->findChild<QLabel*>("sessionState")->text();
  }
  static QString stoppedBefore(const MainWindow* window) {
    const auto* record =
        window->session()->cachedRecord(window->session()->status().stopped_before.value_or(0));
    return record ? QString::fromStdString(record->op) : QString();
  }

  static bool step(MainWindow* window, Qt::Key key) {
    const auto before = window->session()->stop();
    QTest::keyClick(window, key);
    return waitFor(
        [&] {
          const auto* session = window->session();
          const auto record = session->stoppedBefore();  // 0: before a line
          return session->stop() != 0 && session->stop() != before &&
                 (record == 0 || session->cachedRecord(record));
        },
        patience);
  }

  bool breakAt(MainWindow* window, int line) {
    window->notebook()->goToLine(folder() + "/train.py", line);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_F9);
    return waitFor([&] { return window->breakpoints()->atLine(folder() + "/train.py", line) != nullptr; },
                   patience);
  }

  /// What the editors mark: the code of the line, and its number.
  static std::pair<QString, int> markedLineOf(MainWindow* window) {
    for (const CodeEditor* editor : window->notebook()->findChildren<CodeEditor*>())
      if (const int line = editor->markedLine())
        return {editor->source().section('\n', line - 1, line - 1).trimmed(), line};
    return {};
  }

  void shots(MainWindow* window, const QString& name) {
    window->resize(1280, 800);
    waitForFrames(window);
    screenshot(window, name);
  }

  QTemporaryDir runtime_{QDir::tempPath() + "/td-XXXXXX"};
  std::unique_ptr<QTemporaryDir> folder_;
  std::vector<std::unique_ptr<QProcess>> processes_;
};

TAPEDECK_TEST(TestAttach)
#include "tst_attach.moc"
