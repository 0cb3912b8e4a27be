// Find and replace in a notebook: the bar with real keys, the patterns, hits in sources, outputs and
// Markdown.
#include "tests/notebook/find_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

constexpr int hit = 20;
constexpr int current_hit = 21;

QStringList texts(const FindQuery& query, const QString& text) {
  const std::atomic<bool> stop = false;
  QStringList found;
  for (const TextHit& one : FindPattern(query).in(text, stop).hits) found << text.mid(one.start, one.length);
  return found;
}

}  // namespace

class TestFind : public QObject {
  Q_OBJECT

 private slots:
  void patterns() {
    QCOMPARE(texts({"ab"}, "ab AB xabx"), (QStringList{"ab", "AB", "ab"}));
    QCOMPARE(texts({"ab", true}, "ab AB xabx"), (QStringList{"ab", "ab"}));
    QCOMPARE(texts({"ab", false, true}, "ab AB xabx ab_"), (QStringList{"ab", "AB"}));
    QCOMPARE(texts({"a.b"}, "a.b axb"), QStringList{"a.b"});
    QCOMPARE(texts({"a.b", false, false, true}, "a.b axb"), (QStringList{"a.b", "axb"}));
    QCOMPARE(texts({"^x|y$", true, false, true}, "x\nxx y\ny"), (QStringList{"x", "x", "y", "y"}));
    QCOMPARE(texts({"a\\nb", false, false, true}, "a\nb"), QStringList{"a\nb"});
    QCOMPARE(texts({"x*", false, false, true}, "axxb🎞x"), (QStringList{"xx", "x"}));
    QCOMPARE(texts({"größe"}, "GRÖSSE GRÖßE Größe"), (QStringList{"GRÖßE", "Größe"}));
    QCOMPARE(texts({"ab|x", false, true, true}, "ab xx x"), (QStringList{"ab", "x"}));
  }

  void aWrongExpressionIsToldWithItsPlace() {
    QCOMPARE(FindPattern({"(ab", false, true, true}).error(), "missing closing parenthesis, at 3");
    QVERIFY(FindPattern({"a[", false, false, true}).error().endsWith("at 2"));
    QVERIFY(FindPattern({"a[", false, false, false}).error().isEmpty());
  }

  void anExpressionWithoutEndIsGivenUp() {
    const std::atomic<bool> stop = false;
    const FindPattern::Found found =
        FindPattern({"(a|aa)+[cd]", false, false, true}).in(QString(3000, 'a') + QString(3000, 'b'), stop);
    QVERIFY(found.tooHard);
    QVERIFY(found.hits.isEmpty());
  }

  void whatAReplacementBecomes() {
    const auto by = [](const QString& pattern, const QString& text, const QString& with) {
      return FindPattern({pattern, false, false, true}).replaced(text, {0, text.size()}, with);
    };
    QCOMPARE(by("(\\w+) (\\w+)", "one two", "$2-\\1 $0 $$ \\n\\t\\\\").value(), "two-one one two $ \n\t\\");
    QCOMPARE(FindPattern({"a"}).replaced("a", {0, 1}, "$1\\n").value(), "$1\\n");
    QVERIFY(!FindPattern({"a"}).replaced("b", {0, 1}, "x").has_value());
  }

  void hitsAreCountedMarkedAndGoneThrough() {
    FindWindow window({codeCell("a", "alpha = 1\nbeta = alpha"), markdownCell("m", "the *alpha* text"),
                       codeCell("b", "gamma"), codeCell("c", "alphabet")});
    window.find("alpha");
    QTRY_COMPARE(window.summary(), "1 of 4 · cell 1, line 1");
    QCOMPARE(window.marked(0, hit), 5);
    QCOMPARE(window.marked(0, current_hit), 5);
    QCOMPARE(window.marked(3, hit), 5);
    window.key(Qt::Key_Return);
    QCOMPARE(window.summary(), "2 of 4 · cell 1, line 2");
    // A Markdown cell shows its source for the hit in it, and is rendered again behind it.
    QVERIFY(window.cell(1)->editor() == nullptr);
    window.key(Qt::Key_Return);
    QCOMPARE(window.summary(), "3 of 4 · cell 2, line 1");
    QVERIFY(window.cell(1)->editor() != nullptr);
    QCOMPARE(window.marked(1, current_hit), 5);
    window.key(Qt::Key_Return);
    QVERIFY(window.cell(1)->editor() == nullptr);
    window.key(Qt::Key_Return);
    QCOMPARE(window.summary(), "1 of 4 · cell 1, line 1");
    window.key(Qt::Key_Return, Qt::ShiftModifier);
    QCOMPARE(window.summary(), "4 of 4 · cell 4, line 1");
    window.part<QToolButton>("findWord")->click();
    QTRY_VERIFY(window.summary().contains("of 3"));
    QVERIFY(window.field()->hasFocus());
    // Esc goes back to where one was, and nothing is marked.
    window.key(Qt::Key_Escape);
    QVERIFY(!window.bar->isVisible());
    QVERIFY(window.view->hasFocus());
    QCOMPARE(window.view->currentCell(), 0);
    QCOMPARE(window.marked(0, hit) + window.marked(0, current_hit) + window.marked(3, hit), 0);
  }

  void searchBeginsAtTheCursorWithWhatIsSelected() {
    FindWindow window({codeCell("a", "x1 x2 x1"), codeCell("b", "y x1")});
    window.view->setCurrentCell(0, true);
    window.cell(0)->editor()->setSelection(0, 6, 0, 8);
    window.bar->open(false);
    QCOMPARE(window.field()->text(), "x1");
    QTRY_COMPARE(window.summary(), "2 of 3 · cell 1, line 1");
    window.key(Qt::Key_Return);
    window.key(Qt::Key_Return, Qt::ControlModifier);
    QVERIFY(window.cell(1)->editor()->hasFocus());
    QCOMPARE(window.cell(1)->editor()->selectedText(), "x1");
    QVERIFY(window.bar->isVisible());
    // The next one from the text itself, as F3 does.
    window.bar->step(1);
    QVERIFY(window.cell(0)->editor()->hasFocus());
    QCOMPARE(window.summary(), "1 of 3 · cell 1, line 1");
  }

  void outputsAreSearchedWhereOneAsks() {
    FindWindow window(
        {codeCell("a", "print('x')", json::array({stream("first\nneedle \x1b[31mred\x1b[0m\n")}), 1),
         codeCell("b", "needle")});
    window.find("needle");
    QTRY_COMPARE(window.summary(), "1 of 1 · cell 2, line 1");
    QTest::mouseClick(window.part<QCheckBox>("findOutputs"), Qt::LeftButton, Qt::NoModifier, QPoint(8, 8));
    QTRY_VERIFY(window.summary().contains("of 2"));
    window.key(Qt::Key_Return);
    QTRY_COMPARE(window.summary(), "1 of 2 · output of cell 1, line 2");
    auto* shown = window.cell(0)->outputs()->row(0)->findChild<StaticText*>();
    QVERIFY(shown != nullptr);
    QCOMPARE(shown->textCursor().selectedText(), "needle");
    // Colours of terminals are no text.
    window.field()->selectAll();
    QTest::keyClicks(window.field(), "needle red");
    QTRY_COMPARE(window.summary(), "1 of 1 · output of cell 1, line 2");
    // What comes out later is found as well.
    window.document.appendOutput("b", stream("a needle red\n"));
    QTRY_VERIFY(window.summary().contains("of 2"));
    // What was printed stays as it was.
    window.bar->open(true);
    window.by()->setText("pin");
    QTest::mouseClick(window.part<QToolButton>("replaceAll"), Qt::LeftButton);
    QTRY_COMPARE(window.summary(), "Nothing to replace: all matches are in outputs, which are not changed");
  }

  void wrongAndEndlessExpressionsAreTold() {
    FindWindow window({codeCell("a", std::string(3000, 'a') + std::string(3000, 'b'))});
    window.part<QToolButton>("findExpression")->setChecked(true);
    window.find("(a");
    QTRY_COMPARE(window.summary(), "Invalid regular expression: missing closing parenthesis, at 2");
    window.field()->selectAll();
    QTest::keyClicks(window.field(), "(a|aa)+[cd]");
    QTRY_VERIFY2(window.summary().contains("the expression takes too long there"),
                 qPrintable(window.summary()));
    window.field()->selectAll();
    QTest::keyClicks(window.field(), "a+b");
    QTRY_VERIFY2(window.summary().startsWith("1 of 1"), qPrintable(window.summary()));
  }

  void oneHitIsReplacedAndTheNextIsNext() {
    FindWindow window({codeCell("a", "x = x + x"), codeCell("b", "x")});
    window.find("x", true);
    QTRY_VERIFY(window.summary().startsWith("1 of 4"));
    window.by()->setFocus();
    QTest::keyClicks(window.by(), "xx");
    window.key(Qt::Key_Return);
    QCOMPARE(window.sources(), (QStringList{"xx = x + x", "x"}));
    QTRY_COMPARE(window.summary(), "3 of 5 · cell 1, line 1");
    window.key(Qt::Key_Return);
    QCOMPARE(window.sources(), (QStringList{"xx = xx + x", "x"}));
  }

  void replaceAllIsOneStepWithWhatWasTypedBefore() {
    FindWindow window({codeCell("a", "old\nkeep"), codeCell("b", "old + old"), markdownCell("m", "*old*"),
                       codeCell("c", "none")});
    window.view->setCurrentCell(0, true);
    QTest::keyClicks(window.cell(0)->editor(), "z");
    QCOMPARE(window.document.cell(0).source, "zold\nkeep");
    window.find("old", true);
    QTRY_VERIFY(window.summary().contains("of 4"));
    QTest::keyClicks(window.by(), "new");
    QTest::mouseClick(window.part<QToolButton>("replaceAll"), Qt::LeftButton);
    const QStringList replaced{"znew\nkeep", "new + new", "*new*", "none"};
    QCOMPARE(window.sources(), replaced);
    QTRY_COMPARE(window.summary(), "Replaced 4 in 3 cells; Ctrl+Z undoes it");
    const QStringList before{"zold\nkeep", "old + old", "*old*", "none"};
    // In the bar, in a text, and among the cells.
    window.by()->setFocus();
    window.key(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window.sources(), before);
    window.document.redoStructure();
    QCOMPARE(window.sources(), replaced);
    window.view->setCurrentCell(0, true);
    QTest::keyClicks(window.cell(0)->editor(), "q");
    window.key(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window.sources(), replaced);
    window.key(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window.sources(), before);
    window.key(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window.document.cell(0).source, "old\nkeep");
    window.view->setFocus();
    window.key(Qt::Key_Z, Qt::ShiftModifier);
    QCOMPARE(window.document.cell(1).source, "new + new");
    window.key(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window.document.cell(1).source, "old + old");
  }

  void aReplacementThatAddsLinesIsUndoneBeforeWhatWasTyped() {
    FindWindow window({codeCell("a", "one, two\nkeep\nthree, four\nend")});
    window.view->setBreakpoints("a", {{1, 2, BreakpointLook::plain, {}}});
    window.view->setCurrentCell(0, true);
    CodeEditor* editor = window.cell(0)->editor();
    QTest::keyClicks(editor, "z");
    window.part<QToolButton>("findExpression")->setChecked(true);
    window.find(", ", true);
    QTRY_VERIFY(window.summary().contains("of 2"));
    QTest::keyClicks(window.by(), "\\n");
    QTest::mouseClick(window.part<QToolButton>("replaceAll"), Qt::LeftButton);
    const QString typed = "zone, two\nkeep\nthree, four\nend", replaced = "zone\ntwo\nkeep\nthree\nfour\nend";
    QCOMPARE(window.document.cell(0).source, replaced);
    QCOMPARE(editor->source(), replaced);
    // The mark stays with its line.
    QVERIFY(editor->markersAtLine(1) == 0 && editor->markersAtLine(2) != 0);
    window.view->setCurrentCell(0, true);
    const auto undo = [&] { window.key(Qt::Key_Z, Qt::ControlModifier); };
    const auto redo = [&] { window.key(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier); };
    undo();
    QCOMPARE(window.document.cell(0).source, typed);
    QVERIFY(editor->markersAtLine(1) != 0 && editor->markersAtLine(2) == 0);
    undo();
    QCOMPARE(window.document.cell(0).source, "one, two\nkeep\nthree, four\nend");
    redo();
    QCOMPARE(window.document.cell(0).source, typed);
    redo();
    QCOMPARE(window.document.cell(0).source, replaced);
    // And typing behind it comes first.
    QTest::keyClicks(editor, "q");
    undo();
    undo();
    QCOMPARE(window.document.cell(0).source, typed);
  }

  void aReplacementThatTakesLinesAwayIsUndoneBeforeWhatWasTyped() {
    FindWindow window({codeCell("a", "a\n\nb\n\nc\nlast")});
    window.view->setCurrentCell(0, true);
    CodeEditor* editor = window.cell(0)->editor();
    QTest::keyClicks(editor, "z");
    window.part<QToolButton>("findExpression")->setChecked(true);
    window.find("\\n\\n", true);
    QTRY_VERIFY(window.summary().contains("of 2"));
    QTest::keyClicks(window.by(), "\\n");
    QTest::mouseClick(window.part<QToolButton>("replaceAll"), Qt::LeftButton);
    QCOMPARE(window.document.cell(0).source, "za\nb\nc\nlast");
    QCOMPARE(editor->source(), "za\nb\nc\nlast");
    window.view->setCurrentCell(0, true);
    window.key(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window.document.cell(0).source, "za\n\nb\n\nc\nlast");
    window.key(Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window.document.cell(0).source, "a\n\nb\n\nc\nlast");
  }

  void breakpointsStayWhereTheyAre() {
    FindWindow window({codeCell("a", "one\ntwo\none\nfour")});
    window.view->setBreakpoints("a", {{1, 2, BreakpointLook::plain, {}}, {2, 3, BreakpointLook::plain, {}}});
    QSignalSpy moved(window.view, &NotebookView::breakpointsMoved);
    window.find("one", true);
    QTRY_VERIFY(window.summary().contains("of 2"));
    QTest::keyClicks(window.by(), "1");
    QTest::mouseClick(window.part<QToolButton>("replaceAll"), Qt::LeftButton);
    QCOMPARE(window.sources(), QStringList{"1\ntwo\n1\nfour"});
    CodeEditor* editor = window.cell(0)->editor();
    QVERIFY(editor->markersAtLine(1) != 0 && editor->markersAtLine(2) != 0 && editor->markersAtLine(3) == 0);
    window.document.undoStructure();
    QVERIFY(editor->markersAtLine(1) != 0 && editor->markersAtLine(2) != 0 && editor->markersAtLine(3) == 0);
    QVERIFY(moved.isEmpty());
  }

  void aLargeNotebookIsSearchedWhileTheWindowAnswers() {
    json cells = json::array();
    for (int i = 0; i < 1000; ++i)
      cells.push_back(codeCell("c" + std::to_string(i), "value = " + std::to_string(i),
                               json::array({stream(std::string(20'000, 'o') + " tail\n")}), 1));
    FindWindow window(cells);
    window.part<QCheckBox>("findOutputs")->setChecked(true);
    window.find("tail");
    QTRY_VERIFY2(window.summary().startsWith("1 of 1,000"), qPrintable(window.summary()));
    window.field()->selectAll();
    QTest::keyClicks(window.field(), "o");
    QTRY_VERIFY2(window.summary().contains("of more than"), qPrintable(window.summary()));
    window.key(Qt::Key_Escape);
    QVERIFY(!window.bar->isVisible());
  }

  void aHitInAFarCellIsInSight() {
    json cells = json::array();
    for (int i = 0; i < 60; ++i) cells.push_back(codeCell("c" + std::to_string(i), "l1\nl2\nl3"));
    cells.push_back(codeCell("far", "a\nb\nthe needle " + std::string(300, '-') + " end"));
    FindWindow window(cells);
    const int scrolled = window.view->verticalScrollBar()->value();
    window.find("needle");
    QTRY_COMPARE(window.summary(), "1 of 1 · cell 61, line 3");
    CodeEditor* editor = window.cell(60)->editor();
    const int y = editor->mapTo(window.view->viewport(), QPoint(0, editor->yOfLine(3))).y();
    QVERIFY2(y >= 0 && y + editor->lineHeight() <= window.view->viewport()->height(),
             qPrintable(QString::number(y)));
    window.key(Qt::Key_Escape);
    QCOMPARE(window.view->verticalScrollBar()->value(), scrolled);
    QCOMPARE(window.view->currentCell(), 0);
  }
};

TAPEDECK_TEST(TestFind)
#include "tst_find.moc"
