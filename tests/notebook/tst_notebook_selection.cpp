// Several cells at once, by keys and mouse: select, run, delete, move, convert, split, merge, copy, clear.
#include <QClipboard>
#include <QSignalSpy>
#include <QWindow>

#include "app/notebook/document/cell_clipboard.h"
#include "app/notebook/document/nbformat.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

json fiveCells() {
  json cells = json::array();
  for (const char* name : {"a", "b", "c", "d", "e"})
    cells.push_back(codeCell(name, name, json::array({stream(std::string(name) + " out\n")}), 1));
  return cells;
}

/// Through the window, as a mouse comes.
void click(Window& window, QWidget* target, QPoint at, Qt::KeyboardModifiers modifiers) {
  QTest::mouseClick(window.view.windowHandle(), Qt::LeftButton, modifiers, target->mapTo(&window.view, at));
}

}  // namespace

class TestNotebookSelection : public QObject {
  Q_OBJECT

 private slots:
  void shiftAndArrowsSelectAndPlainOnesNoLonger() {
    Window window(fiveCells());
    window.key(Qt::Key_Down);
    window.key(Qt::Key_J, Qt::ShiftModifier);
    window.key(Qt::Key_Down, Qt::ShiftModifier);
    QCOMPARE(window.view.selectedCells(), (QList<int>{1, 2, 3}));
    QCOMPARE(window.view.currentCell(), 3);
    QCOMPARE(window.cell(1)->accessibleName(), "Code cell 2, selected");
    QCOMPARE(window.cell(0)->accessibleName(), "Code cell 1");
    QCOMPARE(window.view.accessibleDescription(), "3 cells are selected");
    window.key(Qt::Key_K, Qt::ShiftModifier);
    QCOMPARE(window.view.selectedCells(), (QList<int>{1, 2}));
    window.key(Qt::Key_Up, Qt::ShiftModifier);
    window.key(Qt::Key_Up, Qt::ShiftModifier);
    QCOMPARE(window.view.selectedCells(), (QList<int>{0, 1}));
    window.key(Qt::Key_Up, Qt::ShiftModifier);
    QCOMPARE(window.view.selectedCells(), (QList<int>{0, 1}));
    window.key(Qt::Key_Escape);
    QCOMPARE(window.view.selectedCells(), QList<int>{0});
    QCOMPARE(window.cell(1)->accessibleName(), "Code cell 2");
    window.key(Qt::Key_A, Qt::ControlModifier);
    QCOMPARE(window.view.selectedCells().size(), 5);
    window.key(Qt::Key_Up);
    QCOMPARE(window.view.selectedCells(), QList<int>{3});
    QCOMPARE(window.view.accessibleDescription(), "");
  }

  void aSelectedCellLooksOtherwiseThanTheOthersBesideIt() {
    Window window(fiveCells());
    const QImage before = window.cell(1)->grab().toImage();
    window.key(Qt::Key_Down, Qt::ShiftModifier);
    window.key(Qt::Key_Down, Qt::ShiftModifier);
    const QImage selected = window.cell(1)->grab().toImage();
    QVERIFY(selected != before);
    // Not by colour alone: grey of them differs in form, as the broken line brings edges.
    const auto edges = [](const QImage& image) {
      int count = 0;
      const int y = image.height() - 1;
      for (int x = 1; x < image.width(); ++x)
        count += std::abs(qGray(image.pixel(x, y)) - qGray(image.pixel(x - 1, y))) > 20;
      return count;
    };
    QVERIFY2(edges(selected) > edges(before) + 20,
             qPrintable(QString("%1 %2").arg(edges(selected)).arg(edges(before))));
  }

  void shiftAndAClickSelectUpToTheClickedCell() {
    Window window(fiveCells());
    click(window, window.cell(3), QPoint(10, 10), Qt::ShiftModifier);
    QCOMPARE(window.view.selectedCells(), (QList<int>{0, 1, 2, 3}));
    // On a text, which a plain click edits.
    click(window, window.editor(1)->viewport(), QPoint(60, 8), Qt::ShiftModifier);
    QCOMPARE(window.view.selectedCells(), (QList<int>{0, 1}));
    QVERIFY(window.view.hasFocus());
    click(window, window.editor(2)->viewport(), QPoint(60, 8), Qt::NoModifier);
    QCOMPARE(window.view.selectedCells(), QList<int>{2});
    QVERIFY(window.editor(2)->hasFocus());
    // In the text that is edited it selects text.
    window.key(Qt::Key_Home);
    click(window, window.editor(2)->viewport(), QPoint(120, 8), Qt::ShiftModifier);
    QCOMPARE(window.view.selectedCells(), QList<int>{2});
    QVERIFY(window.editor(2)->hasSelectedText());
  }

  void commandsActOnAllOfThem() {
    Window window(fiveCells());
    QSignalSpy run(&window.view, &NotebookView::runRequested);
    window.key(Qt::Key_Down);
    window.key(Qt::Key_Down, Qt::ShiftModifier);
    window.key(Qt::Key_Return, Qt::ControlModifier);
    QCOMPARE(run.count(), 1);
    QCOMPARE(run[0][0].toStringList(), (QStringList{"b", "c"}));
    window.key(Qt::Key_Up, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(window.sources(), (QStringList{"b", "c", "a", "d", "e"}));
    QCOMPARE(window.view.selectedCells(), (QList<int>{0, 1}));
    window.key(Qt::Key_Down, Qt::ControlModifier | Qt::ShiftModifier);
    window.key(Qt::Key_Down, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(window.sources(), (QStringList{"a", "d", "b", "c", "e"}));
    window.key(Qt::Key_M);
    QCOMPARE(window.document.cell(2).type, CellType::markdown);
    QCOMPARE(window.document.cell(3).type, CellType::markdown);
    QCOMPARE(window.document.cell(1).type, CellType::code);
    window.key(Qt::Key_Z);
    QCOMPARE(window.document.cell(2).type, CellType::code);
    QCOMPARE(window.document.cell(3).type, CellType::code);
    window.key(Qt::Key_Down, Qt::ShiftModifier);
    window.key(Qt::Key_D);
    window.key(Qt::Key_D);
    QVERIFY(window.document.cellCount() < 4);
    window.key(Qt::Key_Z);
    QCOMPARE(window.sources(), (QStringList{"a", "d", "b", "c", "e"}));
    window.key(Qt::Key_Z, Qt::ShiftModifier);
    QVERIFY(window.document.cellCount() < 4);
  }

  void shiftEnterRunsThemAndGoesBehindThem() {
    Window window(fiveCells());
    QSignalSpy run(&window.view, &NotebookView::runRequested);
    window.key(Qt::Key_Down, Qt::ShiftModifier);
    window.key(Qt::Key_Down, Qt::ShiftModifier);
    window.key(Qt::Key_Return, Qt::ShiftModifier);
    QCOMPARE(run[0][0].toStringList(), (QStringList{"a", "b", "c"}));
    QCOMPARE(window.view.selectedCells(), QList<int>{3});
  }

  void aCellIsSplitAtTheCursorAndMergedAgain() {
    Window window({codeCell("a", "x = 1\ny = '∂🎞'\nz = 3", json::array({stream("out\n")}), 7),
                   codeCell("b", "b")});
    window.view.setCurrentCell(0, true);
    window.editor(0)->setCursorPosition(2, 0);
    window.view.splitCurrent();
    QCOMPARE(window.sources(), (QStringList{"x = 1\ny = '∂🎞'", "z = 3", "b"}));
    QCOMPARE(window.document.cell(0).id, "a");
    QVERIFY(window.document.cell(0).outputs.empty());
    QCOMPARE(window.document.cell(1).outputs.size(), std::size_t{1});
    QCOMPARE(window.document.cell(1).executionCount, 7);
    QCOMPARE(window.view.currentCell(), 1);
    QVERIFY(window.editor(1)->hasFocus());
    window.key(Qt::Key_Escape);
    window.key(Qt::Key_Up);
    window.key(Qt::Key_M, Qt::ShiftModifier);
    QCOMPARE(window.sources(), (QStringList{"x = 1\ny = '∂🎞'\nz = 3", "b"}));
    window.key(Qt::Key_Z);
    QCOMPARE(window.sources(), (QStringList{"x = 1\ny = '∂🎞'", "z = 3", "b"}));
    QCOMPARE(window.document.cell(1).outputs.size(), std::size_t{1});
    window.key(Qt::Key_Z);
    QCOMPARE(window.sources(), (QStringList{"x = 1\ny = '∂🎞'\nz = 3", "b"}));
    QCOMPARE(window.document.cell(0).outputs.size(), std::size_t{1});
    QCOMPARE(window.document.cell(0).executionCount, 7);
    QVERIFY(!window.document.modified());
    window.key(Qt::Key_Y, Qt::ControlModifier);
    window.key(Qt::Key_Y, Qt::ControlModifier);
    QCOMPARE(window.sources(), (QStringList{"x = 1\ny = '∂🎞'\nz = 3", "b"}));
    QVERIFY(window.document.cell(0).outputs.empty());
  }

  void whatIsSelectedInATextBecomesACellOfItsOwn() {
    Window window({codeCell("a", "one\ntwo\nthree")});
    window.view.setCurrentCell(0, true);
    window.editor(0)->setSelection(1, 0, 1, 3);
    window.view.splitCurrent();
    QCOMPARE(window.sources(), (QStringList{"one", "two", "three"}));
    QCOMPARE(window.view.currentCell(), 1);
    window.document.undoStructure();
    QCOMPARE(window.sources(), QStringList{"one\ntwo\nthree"});
  }

  void selectedCellsAreMergedWithTheirPictures() {
    json first = markdownCell("m", "![](attachment:p.png)");
    json second = markdownCell("n", "![](attachment:q.png)");
    first["attachments"] = {{"p.png", {{"image/png", "AAAA"}}}};
    second["attachments"] = {{"q.png", {{"image/png", "BBBB"}}}};
    Window window(json::array({first, second, codeCell("c", "code")}));
    window.key(Qt::Key_A, Qt::ControlModifier);
    window.key(Qt::Key_M, Qt::ShiftModifier);
    QCOMPARE(window.sources(), QStringList{"![](attachment:p.png)\n\n![](attachment:q.png)\n\ncode"});
    QCOMPARE(window.document.cell(0).type, CellType::markdown);
    QCOMPARE(window.document.cellMembers(0)["attachments"].size(), std::size_t{2});
    QSignalSpy told(&window.view, &NotebookView::told);
    window.key(Qt::Key_M, Qt::ShiftModifier);
    QCOMPARE(told.count(), 1);
    QCOMPARE(told[0][0].toString(), "There is no cell below to merge this one with");
    window.key(Qt::Key_Z);
    QCOMPARE(window.document.cellCount(), 3);
    QVERIFY(!window.document.modified());
  }

  void clearedOutputsComeBack() {
    Window window(fiveCells());
    window.view.setCellState("b", CellState::done);
    window.view.clearAllOutputs();
    for (int i = 0; i < 5; ++i) QVERIFY(window.document.cell(i).outputs.empty());
    QCOMPARE(window.view.cellState("b"), CellState::idle);
    // A cell that has run since keeps what came out.
    window.document.appendOutput("c", stream("new\n"));
    window.key(Qt::Key_Z);
    QCOMPARE(window.document.cell(0).outputs[0]["text"].get<std::string>(), std::string("a out\n"));
    QCOMPARE(window.document.cell(0).executionCount, 1);
    QCOMPARE(window.document.cell(2).outputs[0]["text"].get<std::string>(), std::string("new\n"));
    window.key(Qt::Key_Down, Qt::ShiftModifier);
    window.view.clearOutputs();
    QVERIFY(window.document.cell(1).outputs.empty());
    QVERIFY(!window.document.cell(3).outputs.empty());
  }

  void cellsGoToAnotherWindowWithTheirOutputs() {
    Window window(fiveCells());
    window.key(Qt::Key_Down);
    window.key(Qt::Key_Down, Qt::ShiftModifier);
    window.key(Qt::Key_C);
    QCOMPARE(QApplication::clipboard()->text(), "b\n\nc");
    Window other({codeCell("b", "mine")});
    other.key(Qt::Key_V);
    QCOMPARE(other.sources(), (QStringList{"mine", "b", "c"}));
    QVERIFY(other.document.cell(1).id != "b");
    QCOMPARE(other.document.cell(2).id, "c");
    QCOMPARE(other.document.cell(2).outputs[0]["text"].get<std::string>(), std::string("c out\n"));
    QCOMPARE(other.view.selectedCells(), (QList<int>{1, 2}));
    other.key(Qt::Key_X);
    QCOMPARE(other.sources(), QStringList{"mine"});
    other.key(Qt::Key_V, Qt::ControlModifier);
    other.key(Qt::Key_Z);
    QCOMPARE(other.sources(), QStringList{"mine"});
  }

  // Another process gets bytes.
  void cellsGoToAnotherProgramAsBytes() {
    Window window(fiveCells());
    window.key(Qt::Key_C);
    auto* bytes = new QMimeData;
    bytes->setData(cells_mime_type, QApplication::clipboard()->mimeData()->data(cells_mime_type));
    QVERIFY(bytes->data(cells_mime_type).startsWith('{'));
    QApplication::clipboard()->setMimeData(bytes);
    window.key(Qt::Key_V);
    QCOMPARE(window.sources(), (QStringList{"a", "a", "b", "c", "d", "e"}));
    QCOMPARE(window.document.cell(1).outputs.size(), std::size_t{1});
    // The copy is one of its own.
    window.document.setSource(1, "changed");
    QCOMPARE(window.document.cell(0).source, "a");
    QVERIFY(window.document.cell(0).id != window.document.cell(1).id);
  }

  void textBecomesACodeCellAndDamageIsTold() {
    Window window({codeCell("a", "a")});
    QSignalSpy told(&window.view, &NotebookView::told);
    QApplication::clipboard()->setText("x = 1\r\ny = 2");
    window.key(Qt::Key_V);
    QCOMPARE(window.sources(), (QStringList{"a", "x = 1\ny = 2"}));
    for (const QByteArray& damage :
         {QByteArray("{\"cells\": ["), QByteArray("[[[[["), QByteArray("{\"nbformat\": 3}"),
          QByteArray("\xff\xfe\0", 3), QByteArray(200'000, '[')}) {
      auto* data = new QMimeData;
      data->setData(cells_mime_type, damage);
      QApplication::clipboard()->setMimeData(data);
      told.clear();
      window.key(Qt::Key_V);
      QCOMPARE(window.document.cellCount(), 2);
      QCOMPARE(told.count(), 1);
      QVERIFY2(told[0][0].toString().contains("clipboard"), qPrintable(told[0][0].toString()));
    }
    QApplication::clipboard()->setText(" ");
    told.clear();
    window.key(Qt::Key_V);
    QCOMPARE(told[0][0].toString(), "The clipboard has no cells and no text");
  }

  void aThousandCellsAreDeletedAsOneStep() {
    json cells = json::array();
    for (int i = 0; i < 1000; ++i) cells.push_back(codeCell("c" + std::to_string(i), "x"));
    Window window(cells);
    window.key(Qt::Key_A, Qt::ControlModifier);
    window.key(Qt::Key_D);
    window.key(Qt::Key_D);
    QCOMPARE(window.document.cellCount(), 0);
    window.document.undoStructure();
    QCOMPARE(window.document.cellCount(), 1000);
    QVERIFY(!window.document.canUndoStructure());
    QVERIFY(!window.document.modified());
  }
};

TAPEDECK_TEST(TestNotebookSelection)
#include "tst_notebook_selection.moc"
