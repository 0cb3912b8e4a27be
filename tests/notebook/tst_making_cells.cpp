// Large notebooks get their cells a few at a time, which shows in nothing that the user does meanwhile.
#include <QScrollBar>
#include <QtTest>

#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

constexpr int count = 1500;

QByteArray largeNotebook() {
  json cells = json::array();
  for (int i = 0; i < count; ++i)
    cells.push_back(codeCell("c" + std::to_string(i), "x = " + std::to_string(i)));
  return notebookOf(cells);
}

QList<CellWidget*> shown(const NotebookView& view) {
  QList<CellWidget*> cells = view.findChildren<CellWidget*>();
  cells.removeIf([](const CellWidget* cell) { return cell->isHidden(); });
  std::stable_sort(cells.begin(), cells.end(),
                   [](const CellWidget* a, const CellWidget* b) { return a->y() < b->y(); });
  return cells;
}

/// In the order of the document, with their numbers.
bool allThere(const Window& window) {
  const QList<CellWidget*> cells = shown(window.view);
  if (cells.size() != window.document.cellCount()) return false;
  for (int i = 0; i < cells.size(); ++i) {
    const QString name = QString("Code cell %1").arg(i + 1);
    if (cells[i]->id() != window.document.cell(i).id) return false;
    if (cells[i]->accessibleName() != name && !cells[i]->accessibleName().startsWith(name + ","))
      return false;
  }
  return true;
}

}  // namespace

class TestMakingCells : public QObject {
  Q_OBJECT

 private slots:
  void theBeginningComesAtOnceAndTheRestWhileTheWindowAnswers() {
    Window window({codeCell("a", "1")});
    window.document.parse(largeNotebook(), "large.ipynb");
    const qsizetype first = shown(window.view).size();
    QVERIFY2(first >= 50 && first < count / 4, qPrintable(QString::number(first)));
    bool some = false;
    QTRY_VERIFY((some = some || (shown(window.view).size() > first && shown(window.view).size() < count),
                 allThere(window)));
    QVERIFY(some);
  }

  void keysReachCellsThatAreNotMadeYet() {
    Window window({codeCell("a", "1")});
    window.view.setFocus();
    window.document.parse(largeNotebook(), "large.ipynb");
    window.key(Qt::Key_End);
    QCOMPARE(window.view.currentCell(), count - 1);
    window.key(Qt::Key_Return);
    window.type("7");
    QCOMPARE(window.document.cell(count - 1).source, QString("7x = %1").arg(count - 1));
    CellWidget* last = window.cell(count - 1);
    QVERIFY(last != nullptr && !last->visibleRegion().isEmpty());
    QTRY_VERIFY(allThere(window));
    QVERIFY(!last->visibleRegion().isEmpty());
  }

  void whatIsScrolledToStaysWhereItIs() {
    Window window({codeCell("a", "1")});
    window.document.parse(largeNotebook(), "large.ipynb");
    QCoreApplication::processEvents();
    QVERIFY(shown(window.view).size() < count);
    QScrollBar* bar = window.view.verticalScrollBar();
    bar->setValue(600);
    const int before = window.cell(30)->mapTo(&window.view, QPoint()).y();
    QTRY_VERIFY(allThere(window));
    QCOMPARE(window.cell(30)->mapTo(&window.view, QPoint()).y(), before);
    QVERIFY(bar->maximum() > count * 20);
  }

  void statesAndMarksReachThemWhenTheyAreMade() {
    Window window({codeCell("a", "1")});
    window.document.parse(largeNotebook(), "large.ipynb");
    window.view.setCellState("c1400", CellState::queued);
    window.view.setCellMark("c1450", CellMark::edited, "Edited since it ran.");
    QVERIFY(shown(window.view).size() < count);
    QTRY_VERIFY(allThere(window));
    QCOMPARE(window.cell(1400)->state(), CellState::queued);
    QCOMPARE(window.cell(1450)->accessibleDescription(), QString("Edited since it ran."));
  }

  void cellsComeGoAndMoveMeanwhile() {
    const QList<std::function<void(Document&)>> changes = {
        [](Document& document) { document.insertCell(3, CellType::code, "new"); },
        [](Document& document) { document.insertCell(count, CellType::code, "last"); },
        [](Document& document) { document.removeCell(5); },
        [](Document& document) { document.removeCell(count - 5); },
        [](Document& document) { document.moveCell(2, count - 3); },
        [](Document& document) { document.moveCell(count - 2, 1); },
        [](Document& document) { document.moveCell(count - 2, count - 7); },
        [](Document& document) { document.setSource(count - 4, "changed"); },
        [](Document& document) { document.parse(notebookOf(threeCodeCells()), "other.ipynb"); }};
    for (const auto& change : changes) {
      Window window({codeCell("a", "1")});
      window.document.parse(largeNotebook(), "large.ipynb");
      QVERIFY(shown(window.view).size() < count);
      change(window.document);
      QTRY_VERIFY(allThere(window));
      QVERIFY(window.view.currentCell() >= 0);
    }
  }

 private:
  static json threeCodeCells() { return {codeCell("p", "1"), codeCell("q", "2"), codeCell("r", "3")}; }
};

TAPEDECK_TEST(TestMakingCells)
#include "tst_making_cells.moc"
