// Breakpoints as a user sets them: F9, a click in the margin, Run to the cursor, the menu's NaN and
// exceptions; where the session then stops, what the window says, and what is saved with the notebook.
#include <Qsci/qsciscintilla.h>

#include <QComboBox>
#include <QLineEdit>
#include <QTabBar>
#include <QTreeWidget>

#include "app/notebook/view/code_editor.h"
#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestStops : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  void open(const QString& path) {
    window_ = newWindow();
    window_->openNotebook(path);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->document()->path().isEmpty(), patience);
  }
  QString openCells(const QString& name, const QStringList& cells) {
    const QString path = writeNotebook(folder_, name, cells);
    open(path);
    return path;
  }
  QList<CodeEditor*> editors() {
    auto all = window_->notebook()->findChildren<CodeEditor*>();
    std::sort(all.begin(), all.end(), [](CodeEditor* a, CodeEditor* b) {
      return a->mapToGlobal(QPoint()).y() < b->mapToGlobal(QPoint()).y();
    });
    return all;
  }
  /// With the mouse, as a user would.
  void clickLine(int cell, int line) {
    QTRY_VERIFY(editors().value(cell));
    CodeEditor* editor = editors().value(cell);
    const QPoint at(editor->marginWidth(0) + editor->marginWidth(1) + 12,
                    editor->yOfLine(line) + editor->lineHeight() / 2);
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, {}, at);
    QTRY_VERIFY(editor->hasFocus());
  }
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(QApplication::focusWidget(), key, modifiers);
  }
  bool marked(int cell, int line) { return (editors().value(cell)->markersAtLine(line - 1) & 0x1e) != 0; }
  QList<int> lines() {
    QList<int> all;
    for (const auto& entry : window_->breakpoints()->all()) all << static_cast<int>(entry.breakpoint.line);
    return all;
  }
  CellState stateOf(int cell) { return cellStateOf(*window_, cell); }
  QString state() { return window_->findChild<QLabel*>("sessionState")->text(); }
  const protocol::Status& status() { return window_->session()->status(); }

  template <class Widget>
  Widget* part(const char* name) {
    auto* widget = window_->findChild<Widget*>(name);
    return widget && widget->isVisible() ? widget : nullptr;
  }
  /// By its tab, where it is behind another panel; else by its key.
  void showPanel() {
    if (part<QTreeWidget>("breakpoints")) return;
    for (QTabBar* tabs : window_->findChildren<QTabBar*>())
      for (int i = 0; tabs->isVisible() && i < tabs->count(); ++i)
        if (tabs->tabText(i) == "Breakpoints") {
          QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(i).center());
          QTRY_VERIFY_WITH_TIMEOUT(part<QTreeWidget>("breakpoints"), patience);
          return;
        }
    QTest::keyClick(window_.get(), Qt::Key_0, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(part<QTreeWidget>("breakpoints"), patience);
  }
  void type(QLineEdit* line, const QString& text) {
    QVERIFY(line && line->isVisible());
    line->setFocus();
    line->selectAll();
    QTest::keyClicks(line, text);
    QTest::keyClick(line, Qt::Key_Return);
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { window_.reset(); }

  void f9StopsWhereTheLineRuns() {
    openCells("line.ipynb", {"import tapedeck as tf\nx = tf.constant([1., 2.])\ny = x + x\nz = tf.exp(y)\n"
                             "w = z * z"});
    clickLine(0, 4);
    press(Qt::Key_F9);
    QVERIFY(marked(0, 4));
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QCOMPARE(status().line, 4u);
    QTRY_VERIFY2(state().contains("line 4") && state().contains("breakpoint 1: line 4"), qPrintable(state()));
    QVERIFY(!status().stopped_before);  // nothing of the line has run
    QTRY_COMPARE(editors()[0]->markedLine(), 4);
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY2_WITH_TIMEOUT(state().contains("paused before exp"), qPrintable(state()), patience);
    QCOMPARE(status().line, 4u);
    screenshot(window_.get(), "breakpoint-line");
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
    // Once more: off again.
    clickLine(0, 4);
    press(Qt::Key_F9);
    QVERIFY(!marked(0, 4));
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
  }

  void linesWithoutOpsStopToo() {
    openCells("plain.ipynb", {"import tapedeck as tf\ndef double(x):\n    y = x + x\n    return y\n"
                              "count = 1\nout = double(tf.constant(2.))\ncount = 2"});
    for (const int line : {4, 5, 6, 7}) {
      clickLine(0, line);
      press(Qt::Key_F9);
    }
    press(Qt::Key_Return, Qt::ControlModifier);
    for (const int line : {5, 6, 4, 7}) {
      QTRY_VERIFY2_WITH_TIMEOUT(isStopped(*window_) && status().line == static_cast<std::uint32_t>(line),
                                qPrintable(QString("line %1: %2").arg(line).arg(state())), patience);
      QVERIFY(!status().stopped_before);
      QTRY_COMPARE(editors()[0]->markedLine(), line);
      QTRY_VERIFY2(state().contains(QString("line %1").arg(line)) && state().contains("paused before"),
                   qPrintable(state()));
      QTest::keyClick(window_.get(), Qt::Key_F5);
    }
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
  }

  void aConditionMayAskForPythonNames() {
    openCells("names.ipynb", {"import tapedeck as tf\nx = tf.constant([1., 2.])\nfor step in range(40):\n"
                              "    y = x * float(step)\n    z = y + 1."});
    clickLine(0, 4);
    press(Qt::Key_F9);
    showPanel();
    auto* problem = window_->findChild<QLabel*>("breakpointProblem");
    // Refused when it is entered: no session runs yet.
    type(part<QLineEdit>("breakpointCondition"), "step ==");
    QTRY_VERIFY2(problem->isVisible() && problem->text().contains("A number is missing."),
                 qPrintable(problem->text()));
    type(part<QLineEdit>("breakpointCondition"), "step == 30 and max(abs(out)) > 10");
    QTRY_VERIFY(!problem->isVisible());
    clickLine(0, 1);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(isStopped(*window_) && state().contains("it is 60"), qPrintable(state()),
                              patience);
    showPanel();
    type(part<QLineEdit>("breakpointCondition"), "stp == 30");
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY2_WITH_TIMEOUT(
        isStopped(*window_) && state().contains("There is no Python name \"stp\" here."), qPrintable(state()),
        patience);
    QTest::keyClick(window_.get(), Qt::Key_Delete, Qt::AltModifier | Qt::ShiftModifier);  // none is left
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
  }

  void theOtherKeysOfBreakpoints() {
    openCells("keys.ipynb", {"import tapedeck as tf\nx = tf.constant([1., 2.])\ny = x + x"});
    const auto& all = window_->breakpoints()->all();
    clickLine(0, 3);
    press(Qt::Key_F9);
    QVERIFY(marked(0, 3));
    press(Qt::Key_F9, Qt::ShiftModifier);
    QCOMPARE(all.at(0).breakpoint.enabled, false);
    press(Qt::Key_Return, Qt::ControlModifier);  // off: nothing stops
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
    clickLine(0, 3);
    press(Qt::Key_F9, Qt::ShiftModifier);
    QCOMPARE(all.at(0).breakpoint.enabled, true);
    press(Qt::Key_F9, Qt::AltModifier | Qt::ShiftModifier);
    QCOMPARE(all.size(), std::size_t{2});
    QCOMPARE(all.at(1).breakpoint.kind, protocol::BreakpointKind::cell);
    press(Qt::Key_Delete, Qt::AltModifier | Qt::ShiftModifier);
    QVERIFY(all.empty());
    QVERIFY(!marked(0, 3));
  }

  void aClickInTheMarginSetsOneThatMovesWithTheText() {
    openCells("margin.ipynb", {"import tapedeck as tf\nx = tf.constant([1., 2.])\ny = x + x\nz = y * y"});
    CodeEditor* editor = editors()[0];
    const QPoint margin(editor->marginWidth(0) + 5, editor->yOfLine(3) + editor->lineHeight() / 2);
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, {}, margin);
    QTRY_VERIFY(marked(0, 3));
    clickLine(0, 1);
    press(Qt::Key_End);
    press(Qt::Key_Return);
    QTest::keyClicks(editor, "# more");
    QTRY_VERIFY(marked(0, 4) && !marked(0, 3));
    QCOMPARE(window_->breakpoints()->all().at(0).breakpoint.line, 4u);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QCOMPARE(status().line, 4u);
    // A line without code is reported.
    editor = editors()[0];
    const QPoint comment(editor->marginWidth(0) + 5, editor->yOfLine(2) + editor->lineHeight() / 2);
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, {}, comment);
    QTRY_COMPARE(window_->breakpoints()->all().size(), std::size_t{2});
    QCOMPARE(window_->breakpoints()->all().at(1).note, QString("Line 2 is a comment."));
  }

  void neighboursMoveTogetherWithTheText() {
    openCells("neighbours.ipynb", {"import tapedeck as tf\nx = tf.constant([1., 2.])\ny = x + x\nz = y * y"});
    for (const int line : {3, 4}) {
      clickLine(0, line);
      press(Qt::Key_F9);
    }
    clickLine(0, 1);
    press(Qt::Key_End);
    press(Qt::Key_Return);
    QCOMPARE(lines(), (QList<int>{4, 5}));
    QVERIFY(!marked(0, 3) && marked(0, 4) && marked(0, 5));
    press(Qt::Key_Backspace);
    QCOMPARE(lines(), (QList<int>{3, 4}));
    QVERIFY(marked(0, 3) && marked(0, 4) && !marked(0, 5));
    // The two lines become one.
    clickLine(0, 4);
    press(Qt::Key_Home);
    press(Qt::Key_Backspace);
    QCOMPARE(lines(), QList<int>{3});
  }

  void runToTheCursorStopsThereOnce() {
    openCells("cursor.ipynb", {"import tapedeck as tf\nx = tf.constant([1., 2.])\nfor i in range(3):\n"
                               "    x = x + x\n    x = tf.exp(-x)\nz = x * x"});
    clickLine(0, 5);
    press(Qt::Key_F10, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QCOMPARE(status().line, 5u);
    clickLine(0, 6);
    press(Qt::Key_F10, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && status().line == 6, patience);
    QTRY_VERIFY(window_->breakpoints()->all().empty());
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
  }

  void aLineThatIsNotReachedIsNotWaitedForAnyLonger() {
    openCells("unreached.ipynb", {"import tapedeck as tf\nx = tf.constant([1., 2.])\nif False:\n"
                                  "    x = tf.exp(x)\ny = x + x"});
    clickLine(0, 4);
    press(Qt::Key_F10, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(lines(), QList<int>{4});
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
    QTRY_VERIFY(window_->breakpoints()->all().empty());
  }

  void theCursorMayBeInACellThatIsStillToCome() {
    openCells("later.ipynb",
              {"import tapedeck as tf\nx = tf.constant([1., 2.])\ny = x + x", "z = 1", "w = y * y"});
    clickLine(0, 3);
    press(Qt::Key_F9);
    window_->notebook()->runAll();
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    clickLine(2, 1);
    press(Qt::Key_F10, Qt::ControlModifier | Qt::ShiftModifier);
    const std::string later = window_->document()->cell(2).id.toStdString();
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && status().cell == later, patience);
    QCOMPARE(lines(), QList<int>{3});
  }

  void anExceptionStopsAtTheOpWithItsTensors() {
    openCells("exception.ipynb", {"import tapedeck as tf\na = tf.ones([2, 3])\nb = tf.ones([4, 5])\n"
                                  "c = tf.matmul(a, b)"});
    QTest::keyClick(window_.get(), Qt::Key_F8, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(window_->breakpoints()->stopsAtExceptions(), true);
    clickLine(0, 1);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QCOMPARE(status().line, 4u);
    QVERIFY(status().stopped_after);
    QTRY_VERIFY2(state().contains("paused after matmul") && state().contains("exception, matmul"),
                 qPrintable(state()));
    // The tensors that did not fit are there to be looked at.
    const auto* record = window_->session()->record(status().stopped_before.value_or(0));
    QTRY_VERIFY((record = window_->session()->record(status().stopped_before.value_or(0))) != nullptr);
    QVERIFY(record->state == protocol::RecordState::failed);
    QCOMPARE(record->inputs.size(), std::size_t{2});
    QCOMPARE(record->inputs[1].shape, (std::vector<std::int64_t>{4, 5}));
    screenshot(window_.get(), "breakpoint-exception");
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::failed, patience);
    QVERIFY2(outputText(*window_, 0).contains("inner dimensions"), qPrintable(outputText(*window_, 0)));
  }

  void aNanStopsJustAfterTheOpThatMadeIt() {
    openCells("nan.ipynb",
              {"import tapedeck as tf\nx = tf.constant([1., 0., -1.])\ny = tf.math.log(x)\nz = y + y"});
    QTest::keyClick(window_.get(), Qt::Key_F9, Qt::ControlModifier | Qt::ShiftModifier);
    clickLine(0, 1);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QCOMPARE(status().line, 3u);
    QTRY_VERIFY2(state().contains("paused after log") &&
                     state().contains("breakpoint 1: nan(out) or inf(out), 1 of 3 elements"),
                 qPrintable(state()));
    QTest::keyClick(window_.get(), Qt::Key_F9, Qt::ControlModifier | Qt::ShiftModifier);
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
  }

  void thePanelEditsAConditionAndSaysWhatIsWrongWithIt() {
    openCells("condition.ipynb", {"import tapedeck as tf\nx = tf.constant([1., 2.])\nfor i in range(8):\n"
                                  "    x = x + x\nx"});
    clickLine(0, 4);
    press(Qt::Key_F9);
    showPanel();
    auto* list = part<QTreeWidget>("breakpoints");
    QCOMPARE(list->topLevelItemCount(), 1);
    type(part<QLineEdit>("breakpointCondition"), "max(in0) >");
    auto* problem = window_->findChild<QLabel*>("breakpointProblem");
    clickLine(0, 1);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
    QTRY_VERIFY2(problem->text().contains("A number is missing."), qPrintable(problem->text()));
    showPanel();
    type(part<QLineEdit>("breakpointCondition"), "max(in0) > 10");
    QTRY_VERIFY(!problem->isVisible());
    clickLine(0, 1);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QTRY_VERIFY2(state().contains("max(in0) > 10, it is 16"), qPrintable(state()));
    QTRY_VERIFY2(list->topLevelItem(0)->text(0).startsWith("▶ 1 · "),
                 qPrintable(list->topLevelItem(0)->text(0)));
    QTRY_COMPARE(list->topLevelItem(0)->text(2), QString("1"));
    showPanel();
    screenshot(window_.get(), "breakpoints-panel");
    // Off by its box, with the mouse.
    const QRect row = list->visualItemRect(list->topLevelItem(0));
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, QPoint(row.left() + 10, row.center().y()));
    QTRY_COMPARE(window_->breakpoints()->all().at(0).breakpoint.enabled, false);
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
    showPanel();
    list->setFocus();
    QTest::keyClick(list, Qt::Key_Delete);
    QVERIFY(window_->breakpoints()->all().empty());
  }

  void aLogPointWritesAndACurvePointDraws() {
    openCells("log.ipynb", {"import tapedeck as tf\nx = tf.constant([1., 2.])\nfor i in range(3):\n"
                            "    x = x + x\nprint('end')"});
    clickLine(0, 4);
    press(Qt::Key_F9);
    showPanel();
    auto* action = part<QComboBox>("breakpointAction");
    QVERIFY(action);
    action->setFocus();
    QTest::keyClick(action, Qt::Key_Down);
    QTRY_VERIFY(part<QLineEdit>("breakpointText"));
    type(part<QLineEdit>("breakpointText"), "largest {max(out)}");
    clickLine(0, 1);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
    QTRY_VERIFY2(outputText(*window_, 0).contains("largest 4\nlargest 8\nlargest 16\nend"),
                 qPrintable(outputText(*window_, 0)));
    showPanel();
    action->setFocus();
    QTest::keyClick(action, Qt::Key_Down);
    type(part<QLineEdit>("breakpointText"), "growth = norm(out)");
    clickLine(0, 1);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
    const auto points = [&] {
      const auto* growth = window_->series()->series("growth");
      return growth ? growth->size() : std::size_t{0};
    };
    QTRY_COMPARE_WITH_TIMEOUT(points(), std::size_t{3}, patience);
    QCOMPARE(window_->series()->series("growth")->x, QString("hit"));
  }

  void aLogOfALineWithoutOpsWritesAndThePanelSaysWhatItLacked() {
    openCells("plain.ipynb",
              {"import tapedeck as tf\nn = 0\nfor i in range(3):\n    n += i\nprint('end', n)"});
    clickLine(0, 4);
    press(Qt::Key_F9);
    showPanel();
    auto* list = part<QTreeWidget>("breakpoints");
    auto* action = part<QComboBox>("breakpointAction");
    QVERIFY(list && action);
    action->setFocus();
    QTest::keyClick(action, Qt::Key_Down);
    QTRY_VERIFY(part<QLineEdit>("breakpointText"));
    QCOMPARE(part<QLineEdit>("breakpointText")->text(), QString("{op}: {max(out)}"));
    auto* problem = window_->findChild<QLabel*>("breakpointProblem");
    type(part<QLineEdit>("breakpointText"), "{n}");
    QTRY_VERIFY2(problem->isVisible() && problem->text().contains("A log line has no {n}"),
                 qPrintable(problem->text()));
    type(part<QLineEdit>("breakpointText"), "{op}: {max(out)}");
    QTRY_VERIFY(!problem->isVisible());
    clickLine(0, 1);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);
    const QString none = "no op on this line: no value\n";
    QTRY_VERIFY2(outputText(*window_, 0).contains(none + none + none + "end 3"),
                 qPrintable(outputText(*window_, 0)));
    showPanel();
    QTRY_COMPARE_WITH_TIMEOUT(list->topLevelItem(0)->text(2), QString("3"), patience);
    QTRY_VERIFY2(problem->isVisible() && problem->text().startsWith("3 of 3 hits had no op on the line"),
                 qPrintable(problem->text()));
    QVERIFY2(list->topLevelItem(0)->text(0).startsWith("⚠ 1 · "), qPrintable(list->topLevelItem(0)->text(0)));
    screenshot(window_.get(), "breakpoints-without-op");
  }

  void runToTheRecordGoesToTheVjpOfAForwardOp() {
    openCells(
        "playback.ipynb",
        {"import tapedeck as tf\nx = tf.constant([1., 2.])\nwith tf.GradientTape() as tape:\n"
         "    tape.watch(x)\n    y = tf.reduce_sum(tf.exp(tf.sin(tf.square(x))))\ng = tape.gradient(y, x)"});
    clickLine(0, 6);
    press(Qt::Key_F9);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && !status().stopped_before, patience);
    QTest::keyClick(window_.get(), Qt::Key_F10);  // into the playback
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && status().stopped_before, patience);
    inspector::RecordNumber sine = 0;
    const auto find = [&] {
      for (inspector::RecordNumber number = 1; number <= window_->session()->recordCount(); ++number)
        if (const auto* record = window_->session()->record(number);
            record && record->op == "sin" && !record->backward)
          sine = number;
      return sine != 0;
    };
    QTRY_VERIFY_WITH_TIMEOUT(find(), patience);
    window_->session()->setCursor(sine);
    QTRY_VERIFY(window_->session()->cachedRecord(status().stopped_before.value_or(0)));
    QTest::keyClick(window_.get(), Qt::Key_F10, Qt::AltModifier | Qt::ShiftModifier);
    const auto atItsVjp = [&] {
      const auto* record = window_->session()->record(status().stopped_before.value_or(0));
      return isStopped(*window_) && record && record->kind == protocol::RecordKind::vjp &&
             record->forward == sine;
    };
    QTRY_VERIFY_WITH_TIMEOUT(atItsVjp(), patience);
  }

  void breakpointsAreSavedWithTheNotebookAndComeBack() {
    const QString path =
        openCells("saved.ipynb", {"import tapedeck as tf\nx = tf.constant(1.)\ny = x + x", "y"});
    const auto bytes = [&] {
      QFile file(path);
      return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    };
    const QByteArray before = bytes();
    clickLine(0, 3);
    press(Qt::Key_F9);
    QVERIFY(window_->document()->modified());
    press(Qt::Key_F9);
    QVERIFY(!window_->document()->modified());  // as it was
    press(Qt::Key_F9);
    QTest::keyClick(window_.get(), Qt::Key_F9, Qt::ControlModifier | Qt::ShiftModifier);
    QTest::keyClick(window_.get(), Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(bytes() != before, patience);
    const auto saved = nlohmann::json::parse(bytes().toStdString());
    QCOMPARE(saved["cells"][0]["metadata"]["tapedeck"]["breakpoints"][0]["line"].get<int>(), 3);
    QVERIFY(!saved["cells"][1]["metadata"].contains("tapedeck"));
    QCOMPARE(saved["metadata"]["tapedeck"]["breakpoints"][0]["kind"].get<std::string>(),
             std::string("condition"));
    QTRY_VERIFY(!window_->document()->modified());
    window_.reset();
    open(path);
    QTRY_VERIFY(marked(0, 3));
    QVERIFY(window_->breakpoints()->stopsAtNotFinite());
    QVERIFY(!window_->document()->modified());
    QCOMPARE(window_->kernel()->state(), KernelState::stopped);  // opening runs nothing
    clickLine(0, 1);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QCOMPARE(status().line, 3u);
  }
};

TAPEDECK_TEST(TestStops)
#include "tst_stops.moc"
