// Getting about in the notebook: the wheel, the cell's tools, the place where the session waits, the outline.
#include <QLabel>
#include <QScrollBar>
#include <QSignalSpy>
#include <QToolButton>
#include <QTreeWidget>

#include "app/notebook/output/rich_output.h"
#include "app/notebook/output/text/static_text.h"
#include "app/notebook/view/cell_toolbar.h"
#include "app/notebook/view/notebook_keys.h"
#include "app/notebook/view/outline.h"
#include "app/notebook/view/outline_model.h"
#include "inspector/ui/appearance.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

/// As the window system sends it: to whatever widget is under the pointer, and on to those around it.
void turnWheel(QWidget* window, const QPoint& global, const QPoint& angle,
               Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
  QWidget* target = window->childAt(window->mapFromGlobal(global));
  QWheelEvent event(target->mapFromGlobal(global), global, {}, angle, Qt::NoButton, modifiers,
                    Qt::NoScrollPhase, false);
  QSpontaneKeyEvent::setSpontaneous(&event);
  qApp->notify(target, &event);  // sendEvent() would take it for one that is not passed on
}

json wideCells() {
  std::string wide = "x = [";
  for (int i = 0; i < 300; ++i) wide += std::to_string(i) + ", ";
  json cells = json::array();
  std::string table = "| a |\n| --- |\n| `" + std::string(600, 'w') + "` |";
  for (int i = 0; i < 12; ++i) {
    cells.push_back(codeCell("c" + std::to_string(i), wide + "]\ny = 1\nz = 2"));
    cells.push_back(markdownCell("m" + std::to_string(i), table));
  }
  return cells;
}

/// Everything that shows text, in the window's coordinates.
QList<QRect> textsOf(const Window& window) {
  QList<QRect> texts;
  for (int i = 0; i < window.document.cellCount(); ++i) {
    const CellWidget* cell = window.cell(i);
    for (const QWidget* part :
         {static_cast<const QWidget*>(cell->editor()), static_cast<const QWidget*>(cell->rendered()),
          static_cast<const QWidget*>(cell->outputs())}) {
      if (part != nullptr) texts += QRect(part->mapTo(&window.view, QPoint()), part->size());
    }
  }
  return texts;
}

}  // namespace

class TestNotebookNavigation : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QDir().mkpath(TAPEDECK_BUILD_DIR "/screenshots"); }

  void theWheelGoesPastScrollBarsUnderThePointer() {
    Window window(wideCells());
    QScrollBar* notebook = window.view.verticalScrollBar();
    CodeEditor* editor = window.editor(2);
    QScrollBar* bar = editor->horizontalScrollBar();
    QTRY_VERIFY(bar->isVisible());
    for (QWidget* under : {static_cast<QWidget*>(bar), editor->viewport()}) {
      window.view.verticalScrollBar()->setValue(window.cell(2)->y() - 100);
      QCoreApplication::processEvents();
      const int before = notebook->value();
      const int sideways = bar->value();
      turnWheel(&window.view, under->mapToGlobal(under->rect().center()), {0, -120});
      QVERIFY(notebook->value() > before);
      QCOMPARE(bar->value(), sideways);
    }
    // From the top to the end without leaving the column of pixels that crosses every bar.
    notebook->setValue(0);
    const QPoint pointer = window.view.viewport()->mapToGlobal(QPoint(300, 350));
    for (int turns = 0; notebook->value() < notebook->maximum(); ++turns) {
      const int before = notebook->value();
      turnWheel(&window.view, pointer, {0, -120});
      QCoreApplication::processEvents();
      QVERIFY2(notebook->value() > before, qPrintable(QString("stuck at %1").arg(before)));
      QVERIFY(turns < 2000);
    }
  }

  void sidewaysTheWheelScrollsTheCode() {
    Window window(wideCells());
    CodeEditor* editor = window.editor(0);
    QScrollBar* bar = editor->horizontalScrollBar();
    QTRY_VERIFY(bar->maximum() > 0);
    const QPoint over = editor->viewport()->mapToGlobal(QPoint(200, 8));
    turnWheel(&window.view, over, {0, -120}, Qt::ShiftModifier);
    const int shifted = bar->value();
    QVERIFY(shifted > 0);
    turnWheel(&window.view, over, {-120, 0});
    QVERIFY(bar->value() > shifted);
    turnWheel(&window.view, over, {120, 0});
    turnWheel(&window.view, over, {120, 0});
    QCOMPARE(bar->value(), 0);
    QCOMPARE(window.view.verticalScrollBar()->value(), 0);
  }

  void theToolsCoverNoText_data() {
    QTest::addColumn<int>("width");
    QTest::addColumn<bool>("dark");
    QTest::newRow("narrow") << 490 << false;
    QTest::newRow("wide") << 1200 << false;
    QTest::newRow("narrow, dark") << 490 << true;
  }

  void theToolsCoverNoText() {
    QFETCH(int, width);
    QFETCH(bool, dark);
    tapedeck::inspector::applyAppearance(dark ? tapedeck::inspector::Appearance::dark
                                              : tapedeck::inspector::Appearance::light);
    const std::string line(220, 'a');
    Window window(
        {codeCell("a", line + "\nb = '🎞 wide'", json::array({stream(line + "\n" + line + "\n")})),
         codeCell("b", line, json::array({stream("last line of an output\n")}), 3),
         markdownCell("m",
                      "Text that fills its line to the very end, and then goes on in the next one. " + line),
         codeCell("c", "c = 1")},
        {width, 620});
    auto* tools = window.view.findChild<CellToolbar*>();
    for (int i = 0; i < 4; ++i) {
      window.view.setCurrentCell(i, i == 1);
      QCoreApplication::processEvents();
      QVERIFY(tools->isVisible());
      QCOMPARE(tools->cellId(), window.document.cell(i).id);
      const QRect place(tools->mapTo(&window.view, QPoint()), tools->size());
      QVERIFY2(QRect(QPoint(), window.view.size()).contains(place), qPrintable(QString::number(i)));
      for (const QRect& text : textsOf(window)) QVERIFY(!text.intersects(place));
      if (i == 1)
        window.view.grab().save(
            QString("%1/screenshots/cell-tools-%2.png").arg(TAPEDECK_BUILD_DIR, QTest::currentDataTag()));
    }
    tapedeck::inspector::applyAppearance(tapedeck::inspector::Appearance::light);
  }

  /// Switched while the notebook is open, the theme reaches all cells, made or not,
  /// visible or not.
  void theThemeReachesAllCells() {
    json cells = json::array();
    for (int i = 0; i < 40; ++i) {
      const std::string n = std::to_string(i);
      cells.push_back(codeCell("c" + n, "x = 1\ny = 2\nz = '🎞'", json::array({stream("out\n")})));
      cells.push_back(markdownCell("m" + n, "## Part\n\ntext"));
    }
    tapedeck::inspector::applyAppearance(tapedeck::inspector::Appearance::light);
    Window window(cells);
    for (int i = 0; i < 6; ++i) window.key(Qt::Key_PageDown);
    window.view.askInput("c0", "Name: ", false);
    tapedeck::inspector::applyAppearance(tapedeck::inspector::Appearance::dark);
    QCoreApplication::processEvents();
    for (int i = 0; i < window.document.cellCount(); ++i) {
      window.view.setCurrentCell(i, false);
      QCoreApplication::processEvents();
      const QImage picture = window.cell(i)->grab().toImage();
      // No light ground is left: of each cell, most is dark.
      int light = 0;
      for (int y = 0; y < picture.height(); y += 2) {
        for (int x = 0; x < picture.width(); x += 2) light += picture.pixelColor(x, y).lightness() > 150;
      }
      QVERIFY2(light * 8 < picture.width() * picture.height() / 4, qPrintable(QString::number(i)));
    }
    window.view.grab().save(TAPEDECK_BUILD_DIR "/screenshots/notebook-switched-to-dark.png");
    tapedeck::inspector::applyAppearance(tapedeck::inspector::Appearance::light);
  }

  void theToolsAreReachedByKeys() {
    Window window(threeCells());
    auto* tools = window.view.findChild<CellToolbar*>();
    window.key(Qt::Key_J);
    window.key(Qt::Key_T);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(tools->button(CellAction::run)));
    QCOMPARE(tools->cellId(), "m");
    window.key(Qt::Key_Right);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(tools->button(CellAction::moveUp)));
    window.key(Qt::Key_Return);
    QCOMPARE(window.sources(), (QStringList{"# Title", "a = 1", "b = 2"}));
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(&window.view));
    // Now in the first place: the tool that would move it up is passed over.
    window.key(Qt::Key_T);
    window.key(Qt::Key_Right);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(tools->button(CellAction::moveDown)));
    window.key(Qt::Key_Escape);
    QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(&window.view));
    QCOMPARE(window.view.currentCell(), 0);
    for (const CellAction action : {CellAction::run, CellAction::moveUp, CellAction::moveDown,
                                    CellAction::insertBelow, CellAction::changeType, CellAction::remove}) {
      QVERIFY2(tools->button(action)->toolTip().contains(QRegularExpression("\\(.+\\)$")),
               qPrintable(tools->button(action)->toolTip()));
    }
  }

  /// The list of keys comes from the table that the keys go by.
  void everyListedKeyDoesSomething() {
    QVERIFY(commandModeKeys().size() >= 25);
    QSet<QString> seen;
    for (const KeyHelp& row : commandModeKeys()) {
      QVERIFY2(!row.text.isEmpty() && !row.keys.isEmpty(), qPrintable(row.keys));
      for (const QString& key : row.keys.split(" or ")) {
        QVERIFY2(!seen.contains(key), qPrintable(key));
        seen += key;
        const QKeyCombination pressed = QKeySequence(key.section(", ", 0, 0))[0];
        QKeyEvent event(QEvent::KeyPress, pressed.key(), pressed.keyboardModifiers());
        QVERIFY2(notebookCommand(event).has_value(), qPrintable(key));
      }
    }
    QVERIFY(seen.contains("D, D"));
    for (const KeyHelp& row : editorKeys()) {
      const QKeyCombination pressed = QKeySequence(row.keys)[0];
      QKeyEvent event(QEvent::KeyPress, pressed.key(), pressed.keyboardModifiers());
      QVERIFY2(editorCommand(event).has_value(), qPrintable(row.keys));
    }
  }

  void theWindowsKeysReachItFromTheEditor() {
    Window window({codeCell("a", "line = 1\nother = 2")});
    QAction action;
    action.setShortcuts({QKeySequence("Ctrl+L"), QKeySequence("Ctrl+Shift+T"), QKeySequence("Ctrl+D")});
    window.view.addAction(&action);
    QSignalSpy triggered(&action, &QAction::triggered);
    window.view.setCurrentCell(0, true);
    window.key(Qt::Key_L, Qt::ControlModifier);
    window.key(Qt::Key_T, Qt::ControlModifier | Qt::ShiftModifier);
    window.key(Qt::Key_D, Qt::ControlModifier);
    QCOMPARE(triggered.count(), 3);
    QCOMPARE(window.document.cell(0).source, "line = 1\nother = 2");
  }

  void onlyANewStopScrolls() {
    std::string source;
    for (int i = 1; i <= 80; ++i) source += "x" + std::to_string(i) + " = 1\n";
    Window window({codeCell("a", source), codeCell("b", source)});
    QScrollBar* bar = window.view.verticalScrollBar();
    window.view.setPausedLine("b", 70, true);
    const int shown = bar->value();
    QVERIFY(shown > 0);
    turnWheel(&window.view, window.view.viewport()->mapToGlobal(QPoint(200, 300)), {0, 1200});
    const int wanted = bar->value();
    QVERIFY(wanted < shown);
    // The heartbeat tells the same over and over.
    for (int i = 0; i < 3; ++i) window.view.setPausedLine("b", 70, true);
    QCOMPARE(bar->value(), wanted);
    window.view.setPausedLine("b", 71, true);
    QVERIFY(bar->value() > wanted);
  }

  void headingsAreFound() {
    const auto texts = [](const QString& markdown) {
      QStringList found;
      for (const Heading& heading : headingsOf(markdown))
        found += QString("%1 %2").arg(heading.level).arg(heading.text);
      return found;
    };
    QCOMPARE(texts("# One\n\ntext\n### *Three* and `code` ###\n#no\n####### seven"),
             (QStringList{"1 One", "3 Three and code"}));
    QCOMPARE(texts("Under\n=====\n\nTwo [link](http://x)\n---\n\n---\n- item\n---"),
             (QStringList{"1 Under", "2 Two link"}));
    QCOMPARE(texts("```python\n# a comment\n```\n    # code\n# Real 🎞\n~~~\n# no"),
             QStringList{"1 Real 🎞"});
    QCOMPARE(texts("# snake_case and 2 * 3 * 4"), QStringList{"1 snake_case and 2 * 3 * 4"});
    QCOMPARE(texts("# $10^{15}$, $x_i^2$ of `$no$`"), QStringList{"1 10¹⁵, xᵢ² of $no$"});
    QCOMPARE(texts("#"), QStringList());
    QVERIFY(texts("# " + QString(1'000'000, 'x')).first().size() < 300);
  }

  void theOutlineGoesToItsHeadings() {
    json cells = json::array({markdownCell("intro", "# Intro")});
    for (int i = 0; i < 30; ++i) {
      cells.push_back(codeCell("c" + std::to_string(i), "x = 1\ny = 2\nz = 3\n"));
      const std::string n = std::to_string(i);
      cells.push_back(markdownCell("m" + n, "## Part " + n + "\n\ntext\n\n### Detail " + n));
    }
    Window window(cells);
    OutlineView outline(&window.view, &window.document);
    outline.resize(220, 600);
    outline.show();
    QVERIFY(QTest::qWaitForWindowExposed(&outline, tapedeck::patience));
    QTreeWidget* list = outline.list();
    QCOMPARE(list->topLevelItemCount(), 1);
    QTreeWidgetItem* intro = list->topLevelItem(0);
    QCOMPARE(intro->childCount(), 30);
    QCOMPARE(intro->child(3)->child(0)->text(0), "Detail 3");
    QCOMPARE(list->currentItem(), intro);

    list->scrollToItem(intro->child(7));
    QTest::mouseClick(list->viewport(), Qt::LeftButton, Qt::NoModifier,
                      list->visualItemRect(intro->child(7)).center());
    QCOMPARE(window.document.cell(window.view.currentCell()).id, "m7");
    const int y = window.cell(window.view.currentCell())->mapTo(&window.view, QPoint()).y();
    QVERIFY2(y >= 0 && y < 60, qPrintable(QString::number(y)));
    // By keys: the next heading is another one of the same cell, then the next cell's.
    activate(&outline);
    list->setFocus();
    QTest::keyClick(list, Qt::Key_Down);
    QCOMPARE(list->currentItem()->text(0), "Detail 7");
    QCOMPARE(window.document.cell(window.view.currentCell()).id, "m7");
    QTest::keyClick(list, Qt::Key_Down);
    QCOMPARE(window.document.cell(window.view.currentCell()).id, "m8");
    QVERIFY(list->hasFocus());

    // It follows the notebook, and what is typed.
    window.view.setCurrentCell(0, false);
    QCOMPARE(list->currentItem(), intro);
    window.document.setSource(0, "# Intro\n" + QString("text\n\n").repeated(40) + "## Up to $2^{10}$\n\n" +
                                     QString("more\n\n").repeated(40));
    QTRY_COMPARE(list->topLevelItem(0)->child(0)->text(0), "Up to 2¹⁰");
    QTest::mouseClick(list->viewport(), Qt::LeftButton, Qt::NoModifier,
                      list->visualItemRect(list->topLevelItem(0)->child(0)).center());
    const CellWidget* tall = window.cell(0);
    const int heading = tall->mapTo(&window.view, QPoint(0, tall->yOfText("Up to 2¹⁰"))).y();
    QVERIFY2(heading >= 0 && heading < 60 && tall->yOfText("Up to 2¹⁰") > 400,
             qPrintable(QString::number(heading)));
    window.document.setSource(0, "# Intro\n# Second");
    QTRY_COMPARE(list->topLevelItemCount(), 2);
    window.document.parse(notebookOf(json::array({codeCell("a", "# a comment")})), "other.ipynb");
    QTRY_COMPARE(list->topLevelItemCount(), 0);
    QVERIFY(outline.findChild<QLabel*>()->isVisible());
  }
};

TAPEDECK_TEST(TestNotebookNavigation)
#include "tst_notebook_navigation.moc"
