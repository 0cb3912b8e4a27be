// The editors of the notebook in a real window: typing, completions, help, marks, input, Markdown.
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

#include "app/notebook/output/output_area.h"
#include "app/notebook/output/text/input_line.h"
#include "app/notebook/output/text/static_text.h"
#include "app/notebook/view/cell_toolbar.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/notebook_view.h"
#include "app/notebook/view/popups.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

class TestNotebookEditing : public QObject {
  Q_OBJECT

 private slots:
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

  void breakpointsKeepTheirLinesWhenTheWholeTextIsReplaced() {
    Window window({codeCell("a", "x = 1\ny = 2\nz = 3")});
    const auto mark = [&window](const QString& tip) {
      window.view.setBreakpoints(
          "a", {{1, 1, BreakpointLook::plain, tip}, {2, 3, BreakpointLook::conditional, tip}});
    };
    mark({});
    // What the program says of a line changes with the text.
    connect(&window.document, &Document::cellChanged,
            [&](int index) { mark(window.document.cell(index).source.isEmpty() ? "empty" : "code"); });
    QSignalSpy moved(&window.view, &NotebookView::breakpointsMoved);
    CodeEditor* editor = window.editor(0);
    const auto keep = [&] {
      return moved.isEmpty() && editor->markersAtLine(0) != 0 && editor->markersAtLine(2) != 0 &&
             editor->markersAtLine(editor->lines() - 1) == 0;
    };
    window.key(Qt::Key_Return);
    QVERIFY(editor->hasFocus());
    QGuiApplication::clipboard()->setText("a = 1\nb = 2\nc = 3\nd = 4\ne = 5");
    window.key(Qt::Key_A, Qt::ControlModifier);
    window.key(Qt::Key_V, Qt::ControlModifier);
    QCOMPARE(editor->lines(), 5);
    QVERIFY(keep());
    window.key(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window.document.cell(0).source, "x = 1\ny = 2\nz = 3");
    QVERIFY(moved.isEmpty() && editor->markersAtLine(0) != 0 && editor->markersAtLine(2) != 0);
    window.document.setSource(0, "1\n2\n3\n4");
    QVERIFY(keep());
    // And they move again.
    editor->insertAt("new\n", 0, 0);
    QCOMPARE(moved.size(), 1);
    QCOMPARE((moved[0][0].value<QHash<quint64, int>>()), (QHash<quint64, int>{{1, 2}, {2, 4}}));
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
    QCOMPARE(window.document.cell(0).source, "s='🎞'; np.linspace()");
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
};

TAPEDECK_TEST(TestNotebookEditing)
#include "tst_notebook_editing.moc"
