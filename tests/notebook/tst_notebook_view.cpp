// The notebook in a real window, driven by keys and mouse: cells, structure, states, scrolling.
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

  void statesAreShownInWords() {
    Window window(threeCells());
    CellWidget* cell = window.cell(0);
    const QImage idle = cell->grab().toImage();
    for (const auto& [state, word] :
         std::initializer_list<std::pair<CellState, const char*>>{{CellState::queued, "queued"},
                                                                  {CellState::busy, "running"},
                                                                  {CellState::done, "done"},
                                                                  {CellState::failed, "failed"},
                                                                  {CellState::killed, "killed"}}) {
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

  void proseHasNoLineNumbers() {
    Window window(threeCells());
    window.key(Qt::Key_R);  // a raw cell
    QCOMPARE(window.document.cell(0).type, CellType::raw);
    CodeEditor* editor = window.editor(0);
    QTRY_VERIFY(editor->isVisible());
    const QImage image = editor->viewport()->grab().toImage();
    const int margin = editor->marginWidth(0);
    QVERIFY(margin > 0);
    QSet<QRgb> colours;
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < margin; ++x) colours.insert(image.pixel(x, y));
    QCOMPARE(colours.size(), 1);
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
    QVERIFY(QTest::qWaitForWindowExposed(&view, tapedeck::patience));
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

TAPEDECK_TEST(TestNotebookView)
#include "tst_notebook_view.moc"
