// The notebook in a real window, driven by keys and mouse.
#include <Qsci/qsciscintilla.h>

#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QScrollBar>
#include <QSignalSpy>
#include <QToolButton>
#include <QtTest>

#include "app/notebook/cell_toolbar.h"
#include "app/notebook/cell_widget.h"
#include "app/notebook/code_editor.h"
#include "app/notebook/input_line.h"
#include "app/notebook/notebook_view.h"
#include "app/notebook/output_area.h"
#include "app/notebook/popups.h"
#include "app/notebook/static_text.h"
#include "tests/notebook/sample_notebook.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

/// A notebook in a window, with the keyboard.
struct Window {
  explicit Window(const json& cells, QSize size = {900, 700}) : view(&document) {
    document.parse(notebookOf(cells), "test.ipynb");
    view.resize(size);
    view.show();
    if (!QTest::qWaitForWindowExposed(&view)) qFatal("The window was not shown");
    activate(&view);
    QCoreApplication::processEvents();
  }
  CellWidget* cell(int index) const {
    for (CellWidget* widget : view.findChildren<CellWidget*>()) {
      if (widget->id() == document.cell(index).id && !widget->isHidden()) return widget;
    }
    return nullptr;
  }
  CodeEditor* editor(int index) const { return cell(index)->editor(); }
  static void key(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(QApplication::focusWidget(), static_cast<Qt::Key>(key), modifiers);
  }
  static void type(const QString& text) {
    for (const QChar c : text) {
      if (c == '\n') {
        key(Qt::Key_Return);
      } else {
        QTest::keyClick(QApplication::focusWidget(), c.toLatin1());
      }
    }
  }
  QStringList sources() const {
    QStringList list;
    for (int i = 0; i < document.cellCount(); ++i) list += document.cell(i).source;
    return list;
  }

  Document document;
  NotebookView view;
};

json threeCells() {
  return {codeCell("a", "a = 1"), markdownCell("m", "# Title"), codeCell("b", "b = 2")};
}

}  // namespace

class TestNotebookView : public QObject {
  Q_OBJECT

 private slots:
  void typingGoesIntoTheDocument() {
    Window window({codeCell("a", "")});
    QSignalSpy run(&window.view, &NotebookView::runRequested);
    window.key(Qt::Key_Return);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(window.editor(0)));
    window.type("if x:\ny = 1");
    QCOMPARE(window.document.cell(0).source, "if x:\n    y = 1");
    QVERIFY(window.document.modified());
    window.key(Qt::Key_Return, Qt::ControlModifier);
    QCOMPARE(run.count(), 1);
    QCOMPARE(run[0][0].toStringList(), QStringList{"a"});
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(&window.view));
    QCOMPARE(window.document.cell(0).source, "if x:\n    y = 1");
  }

  void newLinesAreIndented() {
    Window window({codeCell("a", "")});
    window.key(Qt::Key_Return);
    window.type("def f(x):  # why:\nif x:\nreturn 1\nreturn (2,\n3)\ny");
    QCOMPARE(window.document.cell(0).source,
             "def f(x):  # why:\n    if x:\n        return 1\n    return (2,\n    3)\n    y");
    window.key(Qt::Key_Z, Qt::ControlModifier);
    QVERIFY(window.document.cell(0).source.size() > 20);
    QCOMPARE(window.document.cellCount(), 1);
  }

  void shiftEnterRunsAndGoesOn() {
    Window window(threeCells());
    QSignalSpy run(&window.view, &NotebookView::runRequested);
    window.key(Qt::Key_Return, Qt::ShiftModifier);
    QCOMPARE(run.takeFirst()[0].toStringList(), QStringList{"a"});
    QCOMPARE(window.view.currentCell(), 1);
    window.key(Qt::Key_Return, Qt::ShiftModifier);
    QCOMPARE(run.count(), 0);
    QCOMPARE(window.view.currentCell(), 2);
    window.key(Qt::Key_Return, Qt::ShiftModifier);
    QCOMPARE(run.takeFirst()[0].toStringList(), QStringList{"b"});
    QCOMPARE(window.document.cellCount(), 4);
    QCOMPARE(window.view.currentCell(), 3);
    window.type("c");
    QCOMPARE(window.document.cell(3).source, "c");
    window.key(Qt::Key_Return, Qt::AltModifier);
    QCOMPARE(window.document.cellCount(), 5);
    QCOMPARE(window.view.currentCell(), 4);
  }

  void runAllSkipsBlankCells() {
    Window window({codeCell("a", "1"), codeCell("blank", " \n"), markdownCell("m", "x"), codeCell("b", "2")});
    QSignalSpy run(&window.view, &NotebookView::runRequested);
    window.view.runAll();
    QCOMPARE(run.takeFirst()[0].toStringList(), (QStringList{"a", "b"}));
    window.view.setCurrentCell(1, false);
    window.view.runCurrent();
    QCOMPARE(run.count(), 0);
  }

  void commandKeysChangeTheStructure() {
    Window window(threeCells());
    window.key(Qt::Key_B);
    QCOMPARE(window.document.cellCount(), 4);
    QCOMPARE(window.view.currentCell(), 1);
    window.key(Qt::Key_A);
    QCOMPARE(window.document.cellCount(), 5);
    QCOMPARE(window.view.currentCell(), 1);
    window.key(Qt::Key_D);
    QCOMPARE(window.document.cellCount(), 5);
    window.key(Qt::Key_D);
    QCOMPARE(window.document.cellCount(), 4);
    window.key(Qt::Key_Down);
    window.key(Qt::Key_J);
    QCOMPARE(window.view.currentCell(), 3);
    QCOMPARE(window.document.cell(3).source, "b = 2");
    window.key(Qt::Key_Up, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(window.document.cell(2).source, "b = 2");
    QCOMPARE(window.view.currentCell(), 2);
    window.key(Qt::Key_M);
    QCOMPARE(window.document.cell(2).type, CellType::markdown);
    window.key(Qt::Key_Y);
    QCOMPARE(window.document.cell(2).type, CellType::code);
    for (int i = 0; i < 6; ++i) window.key(Qt::Key_Z);
    QCOMPARE(window.sources(), (QStringList{"a = 1", "# Title", "b = 2"}));
    QVERIFY(!window.document.modified());
    window.key(Qt::Key_Z, Qt::ShiftModifier);
    QCOMPARE(window.document.cellCount(), 4);
  }

  void aKeyBetweenTwoDsDeletesNothing() {
    Window window(threeCells());
    window.key(Qt::Key_D);
    window.key(Qt::Key_J);
    window.key(Qt::Key_D);
    QCOMPARE(window.document.cellCount(), 3);
  }

  void cellsAreCutCopiedAndPasted() {
    Window window(threeCells());
    window.key(Qt::Key_X);
    window.key(Qt::Key_V);
    QCOMPARE(window.sources(), (QStringList{"# Title", "a = 1", "b = 2"}));
    window.key(Qt::Key_C);
    window.key(Qt::Key_V);
    QCOMPARE(window.sources(), (QStringList{"# Title", "a = 1", "a = 1", "b = 2"}));
    QVERIFY(window.document.cell(1).id != window.document.cell(2).id);
  }

  void lettersAreTextInEditMode() {
    Window window({codeCell("a", "")});
    window.key(Qt::Key_Return);
    window.type("dd ab zmy");
    QCOMPARE(window.document.cellCount(), 1);
    QCOMPARE(window.document.cell(0).source, "dd ab zmy");
    window.key(Qt::Key_Escape);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(&window.view));
    window.key(Qt::Key_D);
    window.key(Qt::Key_D);
    QCOMPARE(window.document.cellCount(), 0);
    QCOMPARE(window.view.currentCell(), -1);
    window.key(Qt::Key_D);
    window.key(Qt::Key_Return);
    window.key(Qt::Key_Up);
    window.key(Qt::Key_B);
    QCOMPARE(window.document.cellCount(), 1);
    QCOMPARE(window.view.currentCell(), 0);
    window.key(Qt::Key_Z);
    window.key(Qt::Key_Z);
    QCOMPARE(window.document.cell(0).source, "dd ab zmy");
  }

  void arrowsLeaveTheEditorAtItsEnds() {
    Window window({codeCell("a", "1\n2"), codeCell("b", "3")});
    window.view.setCurrentCell(0, true);
    window.key(Qt::Key_Down);
    QCOMPARE(window.view.currentCell(), 0);
    window.key(Qt::Key_Down);
    QCOMPARE(window.view.currentCell(), 1);
    QVERIFY(window.editor(1)->hasFocus());
    window.key(Qt::Key_Up);
    QVERIFY(window.editor(0)->hasFocus());
    int line = 0;
    int column = 0;
    window.editor(0)->getCursorPosition(&line, &column);
    QCOMPARE(line, 1);
  }

  void markdownIsEditedAndRendered() {
    Window window(threeCells());
    QVERIFY(window.cell(1)->rendered() != nullptr);
    QCOMPARE(window.cell(1)->rendered()->toPlainText(), "Title");
    QTest::mouseDClick(window.cell(1)->rendered()->viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(10, 8));
    QCOMPARE(window.view.currentCell(), 1);
    QVERIFY(window.editor(1) != nullptr);
    QVERIFY(window.editor(1)->hasFocus());
    window.key(Qt::Key_End);
    window.type(" two");
    window.key(Qt::Key_Return, Qt::ShiftModifier);
    QVERIFY(window.editor(1) == nullptr);
    QCOMPARE(window.cell(1)->rendered()->toPlainText(), "Title two");
    QCOMPARE(window.view.currentCell(), 2);
    window.key(Qt::Key_K);
    window.key(Qt::Key_Return);
    QVERIFY(window.editor(1)->hasFocus());
    window.key(Qt::Key_Escape);
    QVERIFY2(window.editor(1) != nullptr, "Esc leaves the source shown");
    window.key(Qt::Key_Return, Qt::ControlModifier);
    QVERIFY(window.editor(1) == nullptr);
  }

  void changesOfTheDocumentReachTheEditor() {
    Window window(threeCells());
    CodeEditor* editor = window.editor(0);
    window.document.setSource(0, "changed");
    QCOMPARE(editor->source(), "changed");
    window.document.setSource(1, "## Other");
    QCOMPARE(window.cell(1)->rendered()->toPlainText(), "Other");
    QCOMPARE(window.editor(0), editor);
  }

  void aDocumentWithNulAndUnicodeIsShown() {
    Window window({codeCell("a", std::string("x\0y", 3)), codeCell("u", "s = '🎞 ∂'  # ok")});
    QCOMPARE(window.editor(1)->source(), "s = '🎞 ∂'  # ok");
    QVERIFY(!window.document.modified());
    QCOMPARE(window.editor(0)->source(), QString("x\u2400y"));
  }

  void statesAreShownInWords() {
    Window window(threeCells());
    CellWidget* cell = window.cell(0);
    const QImage idle = cell->grab().toImage();
    for (const auto& [state, word] :
         std::initializer_list<std::pair<CellState, const char*>>{{CellState::queued, "queued"},
                                                                  {CellState::busy, "running"},
                                                                  {CellState::done, "done"},
                                                                  {CellState::failed, "failed"}}) {
      window.view.setCellState("a", state);
      QCOMPARE(window.view.cellState("a"), state);
      QCOMPARE(cell->accessibleName(), QString("Code cell 1, %1").arg(word));
      QVERIFY(cell->grab().toImage() != idle);
    }
    QCOMPARE(window.view.cellState("b"), CellState::idle);
  }

  void theSpinnerTurnsWhileBusy() {
    Window window(threeCells());
    window.view.setCellState("a", CellState::busy);
    const QImage first = window.cell(0)->grab().toImage();
    QTRY_VERIFY(window.cell(0)->grab().toImage() != first);
  }

  void thePausedLineIsMarkedAndInSight() {
    json cells = json::array();
    std::string source;
    for (int i = 1; i <= 60; ++i) source += "x" + std::to_string(i) + " = tf.square(x)\n";
    for (int i = 0; i < 5; ++i) cells.push_back(codeCell("c" + std::to_string(i), source));
    Window window(cells);
    window.view.setPausedLine("c3", 40, true);
    CodeEditor* editor = window.editor(3);
    QCOMPARE(editor->markedLine(), 40);
    const int y = editor->mapTo(window.view.viewport(), QPoint(0, editor->yOfLine(40))).y();
    QVERIFY2(y >= 0 && y + editor->lineHeight() <= window.view.viewport()->height(),
             qPrintable(QString::number(y)));
    const auto label = [editor] {
      for (QLabel* found : editor->findChildren<QLabel*>()) {
        if (found->isVisible()) return found->text();
      }
      return QString();
    };
    QCOMPARE(label(), "◀ paused");
    const unsigned pending = editor->markersAtLine(39);
    window.view.setPausedLine("c3", 40, false);
    QCOMPARE(label(), "◁ cursor");
    QVERIFY(editor->markersAtLine(39) != pending);
    // The mark keeps to its line while lines are added above it.
    editor->insertAt("new line\n", 0, 0);
    QCOMPARE(editor->markedLine(), 41);
    window.view.setPausedLine("c0", 2, true);
    QCOMPARE(editor->markedLine(), 0);
    QCOMPARE(window.editor(0)->markedLine(), 2);
    window.view.setPausedLine({}, 0, false);
    QCOMPARE(window.editor(0)->markedLine(), 0);
    window.view.setPausedLine("gone", 3, true);
  }

  void aClickInTheMarginNamesTheLine() {
    Window window({codeCell("a", "1\n2\n3")});
    QSignalSpy clicked(&window.view, &NotebookView::lineClicked);
    CodeEditor* editor = window.editor(0);
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(10, editor->yOfLine(2) + 4));
    QCOMPARE(clicked.count(), 1);
    QCOMPARE(clicked[0][0].toString(), "a");
    QCOMPARE(clicked[0][1].toInt(), 2);
  }

  void completionsFollowWhatIsTyped() {
    Window window({codeCell("a", "")});
    QSignalSpy wanted(&window.view, &NotebookView::completionRequested);
    window.key(Qt::Key_Return);
    // A character outside Latin-1 takes two units in Qt and one in Jupyter.
    window.editor(0)->setText("s='🎞'; np.lin");
    window.editor(0)->setCursorPosition(0, window.editor(0)->lineLength(0));
    window.key(Qt::Key_Tab);
    QCOMPARE(wanted.count(), 1);
    QCOMPARE(wanted[0][1].toString(), "s='🎞'; np.lin");
    QCOMPARE(wanted[0][2].toInt(), 13);
    const quint64 request = wanted[0][0].toULongLong();
    auto* popup = window.view.findChild<CompletionPopup*>();
    window.view.showCompletions(request + 7, {"np.wrong"}, 7, 13);
    QVERIFY(!popup->isVisible());
    window.view.showCompletions(request, {"np.linalg", "np.linspace", "np.load"}, 7, 13);
    QVERIFY(popup->isVisible());
    QCOMPARE(popup->shown(), (QStringList{"np.linalg", "np.linspace"}));
    window.type("s");
    QTRY_COMPARE(popup->shown(), QStringList{"np.linspace"});
    window.key(Qt::Key_Return);
    QVERIFY(!popup->isVisible());
    QCOMPARE(window.document.cell(0).source, "s='🎞'; np.linspace");
    window.type("(");
    QCOMPARE(window.document.cell(0).source, "s='🎞'; np.linspace(");
  }

  void escapeClosesThePopupFirst() {
    Window window({codeCell("a", "")});
    QSignalSpy wanted(&window.view, &NotebookView::completionRequested);
    window.key(Qt::Key_Return);
    window.type("pr");
    window.key(Qt::Key_Tab);
    window.view.showCompletions(wanted[0][0].toULongLong(), {"print", "property"}, 0, 2);
    auto* popup = window.view.findChild<CompletionPopup*>();
    QVERIFY(popup->isVisible());
    window.key(Qt::Key_Down);
    window.key(Qt::Key_Escape);
    QVERIFY(!popup->isVisible());
    QVERIFY(window.editor(0)->hasFocus());
    window.key(Qt::Key_Tab);
    window.view.showCompletions(wanted[1][0].toULongLong(), {"print", "property"}, 0, 2);
    window.key(Qt::Key_Down);
    window.key(Qt::Key_Tab);
    QCOMPARE(window.document.cell(0).source, "property");
  }

  void tabIndentsWhereNoNameStands() {
    Window window({codeCell("a", "")});
    QSignalSpy wanted(&window.view, &NotebookView::completionRequested);
    window.key(Qt::Key_Return);
    window.key(Qt::Key_Tab);
    window.type("x");
    QCOMPARE(window.document.cell(0).source, "    x");
    QCOMPARE(wanted.count(), 0);
  }

  void helpIsShownAndGoesWhenOneTypes() {
    Window window({codeCell("a", "")});
    QSignalSpy wanted(&window.view, &NotebookView::helpRequested);
    window.key(Qt::Key_Return);
    window.type("print(");
    window.key(Qt::Key_Backtab, Qt::ShiftModifier);
    QCOMPARE(wanted.count(), 1);
    QCOMPARE(wanted[0][2].toInt(), 6);
    window.view.showHelp(wanted[0][0].toULongLong(), "\x1b[0;31mDocstring:\x1b[0m prints");
    auto* popup = window.view.findChild<HelpPopup*>();
    QCOMPARE(popup->shown(), "Docstring: prints");
    window.type("1");
    QVERIFY(!popup->isVisible());
  }

  void commentsAreToggled() {
    Window window({codeCell("a", "if x:\n    y\n\nz")});
    window.view.setCurrentCell(0, true);
    window.editor(0)->selectAll();
    window.key(Qt::Key_Slash, Qt::ControlModifier);
    QCOMPARE(window.document.cell(0).source, "# if x:\n    # y\n\n# z");
    window.editor(0)->selectAll();
    window.key(Qt::Key_Slash, Qt::ControlModifier);
    QCOMPARE(window.document.cell(0).source, "if x:\n    y\n\nz");
  }

  void inputIsAskedBelowTheRunningCell() {
    Window window({codeCell("a", "input('Name: ')")});
    QSignalSpy given(&window.view, &NotebookView::inputGiven);
    window.view.setCellState("a", CellState::busy);
    window.view.askInput("a", "Name: ", false);
    auto* field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    QVERIFY(field != nullptr);
    window.type("Ada dd");
    window.key(Qt::Key_Return);
    QCOMPARE(given.count(), 1);
    QCOMPARE(given[0][0].toString(), "Ada dd");
    QVERIFY(window.cell(0)->inputLine() == nullptr);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(&window.view));
    QCOMPARE(window.document.cell(0).outputs[0]["text"].get<std::string>(), std::string("Name: Ada dd\n"));
    window.view.askInput("a", "Secret: ", true);
    window.type("hidden");
    window.key(Qt::Key_Return);
    QCOMPARE(given[1][0].toString(), "hidden");
    QVERIFY(!window.document.serialize().contains("hidden"));
    window.view.askInput("a", "More: ", false);
    window.view.setCellState("a", CellState::failed);
    QVERIFY(window.cell(0)->inputLine() == nullptr);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(&window.view));
  }

  void toolsOfTheCellUnderTheMouse() {
    Window window(threeCells());
    auto* toolbar = window.view.findChild<CellToolbar*>();
    QVERIFY(toolbar->isVisible());
    QCOMPARE(toolbar->cellId(), "a");
    QVERIFY(!toolbar->button(CellAction::moveUp)->isEnabled());
    QTest::mouseMove(window.cell(2), QPoint(20, 20));
    QTRY_COMPARE(toolbar->cellId(), "b");
    for (QToolButton* button : toolbar->findChildren<QToolButton*>()) {
      QVERIFY(!button->toolTip().isEmpty());
      QVERIFY(!button->accessibleName().isEmpty());
    }
    QTest::mouseClick(toolbar->button(CellAction::moveUp), Qt::LeftButton);
    QCOMPARE(window.sources(), (QStringList{"a = 1", "b = 2", "# Title"}));
    QCOMPARE(window.view.currentCell(), 1);
    QSignalSpy run(&window.view, &NotebookView::runRequested);
    QTest::mouseClick(toolbar->button(CellAction::run), Qt::LeftButton);
    QCOMPARE(run.takeFirst()[0].toStringList(), QStringList{"b"});
    QTest::mouseClick(toolbar->button(CellAction::changeType), Qt::LeftButton);
    QCOMPARE(window.document.cell(1).type, CellType::markdown);
    QTest::mouseClick(toolbar->button(CellAction::remove), Qt::LeftButton);
    QCOMPARE(window.sources(), (QStringList{"a = 1", "# Title"}));
  }

  void buttonsAtTheEndAddCells() {
    Window window(json::array());
    QCOMPARE(window.view.currentCell(), -1);
    for (QToolButton* button : window.view.findChildren<QToolButton*>()) {
      if (button->text() != "Markdown") continue;
      QTest::mouseClick(button, Qt::LeftButton);
      break;
    }
    QCOMPARE(window.document.cellCount(), 1);
    QCOMPARE(window.document.cell(0).type, CellType::markdown);
    window.type("# x");
    QCOMPARE(window.document.cell(0).source, "# x");
  }

  void clicksSelectCells() {
    Window window(threeCells());
    QSignalSpy changed(&window.view, &NotebookView::currentCellChanged);
    QTest::mouseClick(window.cell(2), Qt::LeftButton, Qt::NoModifier, QPoint(15, 12));
    QCOMPARE(window.view.currentCell(), 2);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(&window.view));
    QTest::mouseClick(window.editor(0)->viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(60, 8));
    QCOMPARE(window.view.currentCell(), 0);
    QVERIFY(window.editor(0)->hasFocus());
    QTest::mouseClick(window.cell(1)->rendered()->viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(300, 8));
    QCOMPARE(window.view.currentCell(), 1);
    QCOMPARE(changed.count(), 3);
    // Command keys also work where a rendered text has the focus.
    window.key(Qt::Key_J);
    QCOMPARE(window.view.currentCell(), 2);
  }

  void editorsGrowWithTheirText() {
    Window window(threeCells());
    window.view.setCurrentCell(0, true);
    const int before = window.cell(0)->height();
    const int below = window.cell(1)->y();
    window.key(Qt::Key_End);
    window.type("\n\n\n\n\n\n");
    QTRY_VERIFY(window.cell(0)->height() >= before + 4 * window.editor(0)->lineHeight());
    QCOMPARE(window.cell(1)->y() - below, window.cell(0)->height() - before);
    QCOMPARE(window.editor(0)->verticalScrollBar()->maximum(), 0);
    QCOMPARE(window.editor(0)->firstVisibleLine(), 0);
    window.type("0123456789");
    const QString wide(400, 'x');
    window.editor(0)->insert(wide);
    QTRY_VERIFY(window.editor(0)->height() >= window.editor(0)->contentHeight());
  }

  void outputsArrivingAboveLeaveTheCurrentCellWhereItIs() {
    json cells = json::array();
    for (int i = 0; i < 30; ++i) cells.push_back(codeCell("c" + std::to_string(i), "x\ny\nz"));
    Window window(cells);
    window.view.setCurrentCell(15, false);
    QTest::qWait(50);
    const int before = window.cell(15)->mapTo(window.view.viewport(), QPoint()).y();
    for (int i = 0; i < 40; ++i) window.document.appendOutput("c3", stream("line\n"));
    for (int i = 0; i < 40; ++i) window.document.appendOutput("c14", stream("line\n"));
    QTRY_VERIFY(window.cell(14)->outputs() != nullptr);
    QTest::qWait(50);
    QCOMPARE(window.cell(15)->mapTo(window.view.viewport(), QPoint()).y(), before);
  }

  void twoHundredCellsAreMadeAsTheyAreSeen() {
    json cells = json::array();
    for (int i = 0; i < 200; ++i) {
      cells.push_back(i % 5 == 0 ? markdownCell("m" + std::to_string(i), "## Part " + std::to_string(i))
                                 : codeCell("c" + std::to_string(i),
                                            "x = " + std::to_string(i) + "\ny = x\nprint(y)",
                                            json::array({stream("out\n")}), i));
    }
    Window window(cells);
    QElapsedTimer timer;
    timer.start();
    Document document;
    document.parse(notebookOf(cells), "again.ipynb");
    NotebookView view(&document);
    view.resize(900, 700);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    qInfo("Shown after %lld ms", static_cast<long long>(timer.elapsed()));
    QVERIFY(view.findChildren<CodeEditor*>().size() < 30);
    QVERIFY(view.findChildren<CodeEditor*>().size() > 3);
    activate(&window.view);
    window.key(Qt::Key_End);
    QCOMPARE(window.view.currentCell(), 199);
    QVERIFY(window.editor(199) != nullptr);
    const int y = window.cell(199)->mapTo(window.view.viewport(), QPoint()).y();
    QVERIFY2(y > 0 && y < window.view.viewport()->height(), qPrintable(QString::number(y)));
    for (int i = 0; i < 199; ++i) window.key(Qt::Key_Up);
    QCOMPARE(window.view.currentCell(), 0);
    QCOMPARE(window.cell(0)->mapTo(window.view.viewport(), QPoint()).y() >= 0, true);
    for (int i = 0; i < 200; ++i) QVERIFY2(window.cell(i)->realized(), qPrintable(QString::number(i)));
  }

  void zoomChangesTheFonts() {
    Window window(threeCells());
    const int before = window.editor(0)->lineHeight();
    window.view.zoomIn();
    window.view.zoomIn();
    window.view.zoomIn();
    QVERIFY(window.editor(0)->lineHeight() > before);
    for (int i = 0; i < 3; ++i) window.view.zoomOut();
    QCOMPARE(window.editor(0)->lineHeight(), before);
  }

  void everyPartHasAnAccessibleName() {
    Window window({codeCell("a", "x",
                            json::array({stream("o"), display({{"image/png", picture(20, 20, "PNG")}}),
                                         result(1, {{"text/html", "<b>b</b>"}})})),
                   markdownCell("m", "text"), markdownCell("e", "")});
    window.view.askInput("a", "Name: ", false);
    for (const QWidget* widget : window.view.findChildren<QWidget*>()) {
      const bool named = qobject_cast<const CellWidget*>(widget) != nullptr ||
                         qobject_cast<const CodeEditor*>(widget) != nullptr ||
                         qobject_cast<const StaticText*>(widget) != nullptr ||
                         qobject_cast<const QLineEdit*>(widget) != nullptr ||
                         (qobject_cast<const QToolButton*>(widget) != nullptr && widget->isVisible());
      if (named) QVERIFY2(!widget->accessibleName().isEmpty(), widget->metaObject()->className());
    }
    QCOMPARE(window.view.accessibleName(), "Notebook");
    QCOMPARE(window.editor(0)->accessibleName(), "Source of code cell 1");
  }

  void anotherNotebookReplacesAllCells() {
    Window window(threeCells());
    window.view.setCellState("a", CellState::busy);
    window.document.parse(notebookOf(json::array({codeCell("z", "zz")})), "other.ipynb");
    QCoreApplication::processEvents();
    QCOMPARE(window.view.currentCell(), 0);
    QCOMPARE(window.editor(0)->source(), "zz");
    QCOMPARE(window.view.cellState("a"), CellState::idle);
    QTRY_COMPARE(window.view.findChildren<CellWidget*>().size(), 1);
  }

  void randomUseKeepsViewAndDocumentTogether() {
    Window window(threeCells());
    QRandomGenerator random(99);
    const QList<int> keys = {Qt::Key_A,  Qt::Key_B,    Qt::Key_D,    Qt::Key_D,      Qt::Key_M,
                             Qt::Key_Y,  Qt::Key_R,    Qt::Key_J,    Qt::Key_K,      Qt::Key_Z,
                             Qt::Key_C,  Qt::Key_X,    Qt::Key_V,    Qt::Key_Return, Qt::Key_Escape,
                             Qt::Key_Up, Qt::Key_Down, Qt::Key_Home, Qt::Key_End,    Qt::Key_Space};
    const QList<Qt::KeyboardModifiers> modifiers = {Qt::NoModifier, Qt::NoModifier, Qt::NoModifier,
                                                    Qt::ShiftModifier,
                                                    Qt::ControlModifier | Qt::ShiftModifier};
    for (int i = 0; i < 600; ++i) {
      QWidget* focus = QApplication::focusWidget();
      if (focus == nullptr || !(focus == &window.view || window.view.isAncestorOf(focus))) {
        window.view.setFocus();
        focus = &window.view;
      }
      QTest::keyClick(focus, static_cast<Qt::Key>(keys[random.bounded(static_cast<int>(keys.size()))]),
                      modifiers[random.bounded(static_cast<int>(modifiers.size()))]);
      QVERIFY(window.view.currentCell() < window.document.cellCount());
      QCOMPARE(window.view.currentCell() < 0, window.document.cellCount() == 0);
      if (i % 20 != 0) continue;
      QCoreApplication::processEvents();
      int y = -1;
      for (int cell = 0; cell < window.document.cellCount(); ++cell) {
        QVERIFY(window.cell(cell) != nullptr);
        QVERIFY(window.cell(cell)->y() > y);
        y = window.cell(cell)->y();
        if (window.editor(cell) != nullptr)
          QCOMPARE(window.editor(cell)->source(), window.document.cell(cell).source);
      }
    }
  }
};

QTEST_MAIN(TestNotebookView)
#include "tst_notebook_view.moc"
