// A trace as a file, from a real window: saved by key from a session, opened by key in a window of its own,
// looked through both ways; what is no trace says so.
#include <QComboBox>
#include <QFileDialog>
#include <QLineEdit>
#include <QMimeData>
#include <QPointer>
#include <QPushButton>
#include <QScrollBar>
#include <QSlider>
#include <QStatusBar>
#include <QTimer>
#include <QToolBar>
#include <QToolButton>

#include "app/kernel/debug/trace_session.h"
#include "app/notebook/view/code_editor.h"
#include "app/shell/opening/file_control.h"
#include "app/shell/opening/trace_control.h"
#include "app/shell/window/playback_bar.h"
#include "app/shell/window/start_page.h"
#include "inspector/panels/compare/compare_bar.h"
#include "inspector/panels/compare/compare_view.h"
#include "inspector/panels/graph/graph_view.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "inspector/ui/row_table.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

// x·x + x: 4 · 4 + 4 = 20, with the slope 9.
const QStringList cells = {
    "import tapedeck as tf\nx = tf.Variable(4., name='x')\nm = tf.constant([[1., 2.], [3., 4.]])",
    "with tf.GradientTape() as tape:\n"
    "    y = x * x + x\n"
    "slope = tape.gradient(y, x)\n"
    "n = tf.matmul(m, m)\n"
    "print(float(y), float(slope))"};

}  // namespace

class TestTraceWindow : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    useOwnSettingsInLight();
    QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    QVERIFY(folder_.isValid());
  }

  void cleanup() {
    closeWindows();
    QSettings().clear();
  }

  void aTraceIsSavedByKeyAndOpenedAgain() {
    const QString path = save();
    if (path.isEmpty()) QFAIL("it was not saved");
    // Without the session: the window is closed before.
    closeWindows();

    QPointer<MainWindow> start = new MainWindow;
    QVERIFY(showActive(start));
    chooseFile(path);
    QTest::keyClick(start, Qt::Key_O, Qt::ControlModifier);
    MainWindow* window = shown();
    QVERIFY(window);
    QTRY_VERIFY(!start);
    QVERIFY2(window->windowTitle().startsWith("noisy.tapetrace"), qPrintable(window->windowTitle()));
    // The notebook with its outputs, as it was.
    QCOMPARE(window->document()->cellCount(), 2);
    QCOMPARE(window->document()->cell(1).source, cells[1]);
    QCOMPARE(outputText(*window, 1).trimmed(), QString("20.0 9.0"));
    QVERIFY(window->document()->locked());
    // The cursor is at the last record, and every panel shows it.
    const auto last = window->session()->recordCount();
    QVERIFY(last > 3);
    QTRY_COMPARE(window->session()->cursor(), last);
    QTRY_VERIFY(timeline(*window) && timeline(*window)->isVisible());
    QTRY_COMPARE(record(window), QString("matmul"));
    QTRY_VERIFY(tensor(*window)->isVisible());
    // Ops has the headings that it had in the session.
    const inspector::RecordsModel& rows = *timeline(*window)->model();
    QTRY_VERIFY(rows.headingAt(0));
    QCOMPARE(rows.headingAt(0)->text(), QString("Cell [2] · %1 ops").arg(last));
    QTRY_COMPARE(markedLineOf(window), 4);
    window->resize(1280, 800);
    waitForFrames(window);
    screenshot(window, "trace_window");
    // [[1, 2], [3, 4]]² has 22 in its corner: recomputed, or held in the file.
    QTRY_COMPARE(firstOutput(window), QString("[[ 7. 10.] [15. 22.]]"));

    // Back by key, by the slider, and forward again.
    QTest::keyClick(window, Qt::Key_F10, Qt::ShiftModifier);
    QTRY_COMPARE(window->session()->cursor(), last - 1);
    auto* slider = window->findChild<PlaybackBar*>()->findChild<QSlider*>();
    QVERIFY(slider);
    slider->setFocus();
    QTest::keyClick(slider, Qt::Key_Home);
    QTRY_COMPARE(window->session()->cursor(), inspector::RecordNumber{1});
    QTRY_COMPARE(record(window), QString("multiply"));
    QTRY_COMPARE(firstOutput(window), QString("16.0"));
    QTest::keyClick(window, Qt::Key_F10);
    QTRY_COMPARE(window->session()->cursor(), inspector::RecordNumber{2});
    QTRY_COMPARE(firstOutput(window), QString("20.0"));
    QTest::keyClick(window, Qt::Key_End, Qt::AltModifier);
    QTRY_COMPARE(window->session()->cursor(), last);

    // Nothing runs in it.
    QTest::keyClick(window, Qt::Key_F10);
    QTRY_VERIFY2(window->statusBar()->currentMessage().contains("A trace can't be run"),
                 qPrintable(window->statusBar()->currentMessage()));
    for (const char* id : {"cell.run", "cell.run_all", "cell.insert_below", "file.save", "file.save_trace",
                           "session.restart", "session.recording", "step.pause"}) {
      auto* action = window->findChild<QAction*>(id);
      QVERIFY2(action && !action->isEnabled(), id);
      QVERIFY2(action->toolTip().contains("is a trace"), qPrintable(action->toolTip()));
    }
    window->notebook()->setCurrentCell(1, false);
    window->notebook()->setFocus();
    QTest::keyClick(window->notebook(), Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY2(window->statusBar()->currentMessage().contains("is a trace"),
                 qPrintable(window->statusBar()->currentMessage()));
    QVERIFY(window->findChild<QLabel*>("sessionState")->text().startsWith("noisy.tapetrace: "));
    // It is among the recent files, and is not opened twice.
    window->openNotebook(path);
    nothingMayHappenFor(200);
    QCOMPARE(traceWindows().size(), 1);
    // Graph says that there is none, and does not wait for one.
    QTest::keyClick(window, Qt::Key_9, Qt::AltModifier);
    const auto graph = [&] { return window->findChild<inspector::GraphView*>(); };
    QTRY_VERIFY(graph() && graph()->isVisible());
    QTRY_VERIFY2(graph()->emptyText()->text().startsWith("A trace file has the ops that ran, and no graphs"),
                 qPrintable(graph()->emptyText()->text()));
    QPointer<MainWindow> closing = window;
    QVERIFY(window->close());
    QTRY_VERIFY(!closing);
    auto* again = new MainWindow;
    QVERIFY(showActive(again));
    QVERIFY(again->findChild<QWidget*>("open:noisy.tapetrace"));
  }

  void compareOffersTheTraceThatIsOpen() {
    const QString path = save();
    if (path.isEmpty()) QFAIL("it was not saved");
    closeWindows();
    const QString other = folder_.filePath("other.tapetrace");
    QFile::remove(other);
    QVERIFY(QFile::copy(path, other));
    auto* start = new MainWindow;
    QVERIFY(showActive(start));
    start->openNotebook(path);
    MainWindow* window = shown();
    QVERIFY(window);
    QTest::keyClick(window, Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    QTest::keyClick(window, Qt::Key_8, Qt::AltModifier);
    auto* compare = window->findChild<inspector::CompareView*>();
    QTRY_VERIFY(compare && compare->isVisible());
    const auto sentence = [&] { return compare->sentence()->text(); };
    QTRY_VERIFY2(sentence().contains("this trace (Shift+H left, H right)"), qPrintable(sentence()));
    // By name, on either side, and by mouse or key.
    const QString title =
        QString("This trace: noisy.tapetrace, %1 records").arg(window->session()->recordCount());
    QComboBox *left = compare->bar()->left(), *right = compare->bar()->right();
    QTRY_VERIFY(left->findText(title) >= 0 && right->findText(title) >= 0);
    left->setFocus();
    QTest::keyClick(left, Qt::Key_Home);  // a run
    for (int i = 0; i < left->count() && left->currentText() != title; ++i)
      QTest::keyClick(left, Qt::Key_Down);
    QTRY_COMPARE(left->currentText(), title);
    QVERIFY(compare->model()->left() && compare->model()->left()->whole);
    const auto file = [&] {
      chooseFile(other);
      compare->table()->setFocus();
      QTest::keyClick(compare->table(), Qt::Key_T);
      window->activateWindow();  // no window manager does it once the dialog has closed
    };
    file();
    QTRY_VERIFY2_WITH_TIMEOUT(compare->model()->compared(), qPrintable(sentence()), patience);
    QVERIFY(compare->model()->compared()->rows > 3);
    QCOMPARE(compare->model()->compared()->same, compare->model()->compared()->rows);
    QCOMPARE(left->currentText(), title);
    QCOMPARE(right->currentText(), QString("Trace file other.tapetrace"));
    window->resize(1280, 800);
    screenshot(window, "compare-this-trace");
    QTRY_VERIFY(window->isActiveWindow());
    compare->table()->setFocus();
    QTest::keyClick(compare->table(), Qt::Key_H);
    QTRY_COMPARE(right->currentText(), title);
    // A file beside nothing: the other side is this trace.
    closeWindows();
    start = new MainWindow;
    QVERIFY(showActive(start));
    start->openNotebook(path);
    window = shown();
    QVERIFY(window);
    QTest::keyClick(window, Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    QTest::keyClick(window, Qt::Key_8, Qt::AltModifier);
    compare = window->findChild<inspector::CompareView*>();
    QTRY_VERIFY(compare && compare->isVisible());
    QTRY_VERIFY(compare->model()->thisTrace());
    file();
    QTRY_VERIFY2_WITH_TIMEOUT(compare->model()->compared(), qPrintable(sentence()), patience);
    QCOMPARE(compare->bar()->left()->currentText(), title);
  }

  void whatIsNoTraceSaysSoOnTheStartPage_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("empty") << QByteArray() << "it is empty";
    QTest::newRow("text") << QByteArray("this is no trace, but some text that is long enough to be one\n")
                          << "it is not a trace file";
  }
  void whatIsNoTraceSaysSoOnTheStartPage() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, sentence);
    openWrong(bytes, sentence);
  }

  void aTraceThatIsCutOffOrOfAnotherVersionSaysSo() {
    const QString path = save();
    if (path.isEmpty()) QFAIL("it was not saved");
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray bytes = file.readAll();
    openWrong(bytes.left(bytes.size() / 3), "it is truncated: it has");
    QByteArray newer = bytes;  // SQLite's user_version, which has the format's version
    newer[63] = 99;
    openWrong(newer, "it has version 99 of the format");
    openWrong({}, "No such file or directory", "nowhere.tapetrace");
  }

  void aTraceThatIsDroppedOpensWhateverItIsCalled() {
    const QString saved = save(true), path = folder_.filePath("noisy.run");
    if (saved.isEmpty()) QFAIL("it was not saved");
    QVERIFY(QFile::rename(saved, path));
    QPointer<MainWindow> start = new MainWindow;
    QVERIFY(showActive(start));
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path)});
    // Qt gives a drop to the widget that it came into.
    QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(start, &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(start, &drop);
    QVERIFY(drop.isAccepted());
    QVERIFY(shown());
  }

  void aTraceWithALargeNotebookShowsAllOfIt() {
    QPointer<MainWindow> window = ran();
    QVERIFY(window);
    const QString large =
        "# " + QString("of many words ").repeated(200'000);  // 2.8 MB: read in another thread
    window->document()->append("large", large);
    const QString path = folder_.filePath("large.tapetrace");
    window->traces()->saveTo(path);
    QTRY_VERIFY_WITH_TIMEOUT(!window->traces()->saving(), patience);
    delete window;
    auto* start = new MainWindow;
    QVERIFY(showActive(start));
    start->openNotebook(path);
    MainWindow* trace = shown();
    QVERIFY(trace);
    QTRY_COMPARE(trace->document()->cellCount(), 3);
    QCOMPARE(trace->document()->cell(2).source, large);
    QVERIFY(trace->document()->locked());
    QVERIFY(!trace->document()->modified());
    QTRY_VERIFY2(!trace->messages()->text().contains("Reading"), qPrintable(trace->messages()->text()));
  }

  void opsOfAnOpenedTraceShowsTheCursor() {
    QPointer<MainWindow> window = new MainWindow;
    QVERIFY(showActive(window));
    window->openNotebook(writeNotebook(folder_, "steps.ipynb",
                                       {"import tapedeck as tf\nw = tf.Variable([2., 3.])\n"
                                        "for i in range(30):\n    with tf.GradientTape() as tape:\n"
                                        "        y = tf.reduce_sum(tf.square(w))\n"
                                        "    w.assign(w - 0.1 * tape.gradient(y, w))\nprint('done')"}));
    QTest::keyClick(window, Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(outputText(*window, 0).trimmed() == "done" && isReady(*window));
    QVERIFY(knowsAllRecords(*window));
    const QString path = folder_.filePath("steps.tapetrace");
    window->traces()->saveTo(path);
    QTRY_VERIFY(!window->traces()->saving());
    delete window;
    auto* start = new MainWindow;
    QVERIFY(showActive(start));
    start->openNotebook(path);
    MainWindow* trace = shown();
    QVERIFY(trace);
    const auto last = trace->session()->recordCount();
    QTRY_COMPARE(trace->session()->cursor(), last);
    QTRY_VERIFY(timeline(*trace) && timeline(*trace)->isVisible());
    const inspector::RecordsModel& rows = *timeline(*trace)->model();
    const QTableView* table = timeline(*trace)->table();
    QTRY_VERIFY(rows.rowCount() >= static_cast<int>(last) + 30);  // a heading for each step
    QVERIFY(table->verticalScrollBar()->maximum() > 0);
    const auto wholeInView = [&] {
      const int row = rows.rowOf(last);
      const QRect shown = table->visualRect(rows.index(row, 0));
      return rows.recordAt(row) == last && shown.isValid() && shown.top() >= 0 &&
             shown.bottom() < table->viewport()->height();
    };
    QTRY_VERIFY(wholeInView());
    waitForFrames(trace);
    QVERIFY(wholeInView());
  }

  void aWindowThatIsClosedWaitsForTheTraceThatItSaves() {
    QPointer<MainWindow> window = ran();
    QVERIFY(window);
    window->files()->save();
    QTRY_VERIFY(!window->document()->modified());
    const QString path = folder_.filePath("closed.tapetrace");
    window->traces()->saveTo(path);
    QVERIFY(!window->close());
    QVERIFY(window->traces()->saving());
    QTRY_VERIFY_WITH_TIMEOUT(!window, patience);
    QVERIFY(QFileInfo(path).size() > 4096);
    // Where it can't be saved, the window stays and says so.
    window = ran();
    QVERIFY(window);
    window->files()->save();
    QTRY_VERIFY(!window->document()->modified());
    window->traces()->saveTo("/proc/nowhere/t.tapetrace");
    QVERIFY(!window->close());
    QTRY_VERIFY2(window->messages()->text().contains("/proc/nowhere/t.tapetrace"),
                 qPrintable(window->messages()->text()));
    QVERIFY(window->isVisible());
    QVERIFY(window->close());
  }

  void aFolderThatCantBeWrittenIsToldAndNothingIsLost() {
    MainWindow* window = ran();
    QVERIFY(window);
    window->traces()->saveTo("/proc/nowhere/t.tapetrace");
    QTRY_VERIFY2(window->messages()->text().contains("/proc/nowhere/t.tapetrace"),
                 qPrintable(window->messages()->text()));
    QVERIFY(!window->traces()->saving());
    QTRY_VERIFY(window->session()->recordCount() > 3);
    // Without a record there is nothing to save.
    auto* empty = new MainWindow;
    QVERIFY(showActive(empty));
    empty->newNotebook();
    QTest::keyClick(empty, Qt::Key_E, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY2(empty->statusBar()->currentMessage().contains("no op has been recorded"),
                 qPrintable(empty->statusBar()->currentMessage()));
  }

 private:
  /// Their menus are top-level widgets, too, and go with them.
  static void closeWindows() {
    QList<QPointer<MainWindow>> windows;
    for (QWidget* widget : QApplication::topLevelWidgets())
      if (auto* window = qobject_cast<MainWindow*>(widget)) windows << window;
    for (const auto& window : windows) delete window;
  }

  MainWindow* ran() {
    auto* window = new MainWindow;
    if (!showActive(window)) return nullptr;
    window->openNotebook(writeNotebook(folder_, "noisy.ipynb", cells));
    QTest::keyClick(window, Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
    const bool done =
        waitFor([&] { return outputText(*window, 1).trimmed() == "20.0 9.0" && isReady(*window); }, patience);
    return done ? window : nullptr;
  }

  /// Answers the next file dialog by keyboard.
  void chooseFile(const QString& path) {
    auto* timer = new QTimer(this);
    connect(timer, &QTimer::timeout, this, [timer, path] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      if (!dialog) return;
      timer->deleteLater();
      timer->stop();
      auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
      name->setText(path);
      QTimer::singleShot(0, name, [name] { QTest::keyClick(name, Qt::Key_Return); });
    });
    timer->start(100);
  }

  /// From a session that ran, by Ctrl+Alt+E or by mouse; the path.
  QString save(bool byMouse = false) {
    const QString path = folder_.filePath("noisy.tapetrace");
    QFile::remove(path);
    MainWindow* window = ran();
    if (!window) return {};
    chooseFile(path);
    if (byMouse) {
      const QString trouble = chooseInMenus(window, "file.save_trace");
      if (!trouble.isEmpty()) qWarning("%s", qPrintable(trouble));
    } else {
      QTest::keyClick(window, Qt::Key_E, Qt::ControlModifier | Qt::AltModifier);
    }
    const auto said = [&] {
      return window->statusBar()->currentMessage().startsWith("Saved " + path + ": records 1 to ");
    };
    bool told = waitFor(said, patience);
    // The tips of what the mouse passes do not take its place.
    if (told) {
      const auto buttons = window->findChild<QToolBar*>("toolbar.playback")->findChildren<QToolButton*>();
      for (QToolButton* button : buttons) QTest::mouseMove(button);
      QTest::mouseMove(window->notebook());
      told = said();
    }
    if (!told)
      qWarning("%s / %s", qPrintable(window->statusBar()->currentMessage()),
               qPrintable(window->messages()->text()));
    delete window;  // it would ask about the outputs, which are not saved
    return told && QFileInfo(path).size() > 4096 ? path : QString();
  }

  void openWrong(const QByteArray& bytes, const QString& sentence, const QString& name = "wrong.tapetrace") {
    const QString path = folder_.filePath(name);
    if (name == "wrong.tapetrace") {
      QFile file(path);
      QVERIFY(file.open(QIODevice::WriteOnly));
      file.write(bytes);
    }
    auto* start = new MainWindow;
    QVERIFY(showActive(start));
    start->openNotebook(path);
    QTRY_VERIFY2_WITH_TIMEOUT(start->messages()->text().contains(sentence),
                              qPrintable(start->messages()->text()), patience);
    QVERIFY2(start->messages()->text().contains(name), qPrintable(start->messages()->text()));
    QVERIFY(start->findChild<StartPage*>()->isVisible());
    QVERIFY(traceWindows().isEmpty());
    start->close();
  }

  static QList<MainWindow*> traceWindows() {
    QList<MainWindow*> windows;
    for (QWidget* window : QApplication::topLevelWidgets())
      if (auto* main = qobject_cast<MainWindow*>(window); main && qobject_cast<TraceSession*>(main->source()))
        windows << main;
    return windows;
  }

  static MainWindow* shown() {
    if (!waitFor([] { return !traceWindows().isEmpty(); }, patience)) return nullptr;
    MainWindow* window = traceWindows().first();
    return showActive(window) && waitFor([&] { return window->session()->recordCount() > 0; }, patience)
               ? window
               : nullptr;
  }

  static int markedLineOf(MainWindow* window) {
    for (const CodeEditor* editor : window->notebook()->findChildren<CodeEditor*>())
      if (editor->markedLine()) return editor->markedLine();
    return 0;
  }

  static QString record(MainWindow* window) {
    const auto* record = window->session()->cachedRecord(window->session()->cursor());
    return record ? QString::fromStdString(record->op) : QString();
  }
  static QString firstOutput(MainWindow* window) {
    const auto* record = window->session()->cachedRecord(window->session()->cursor());
    return record && !record->outputs.empty() ? QString::fromStdString(record->outputs[0].preview)
                                              : QString();
  }

  QTemporaryDir folder_;
};

TAPEDECK_TEST(TestTraceWindow)
#include "tst_trace_window.moc"
