// From hit to hit: where a step begins, and hits in outputs, which are unfolded, selected and visible.
#include "app/notebook/output/text/long_text.h"
#include "app/notebook/output/text/text_output.h"
#include "tests/notebook/find_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

class TestFindSteps : public QObject {
  Q_OBJECT

 private slots:
  void stepsGoOnFromAnUnselectedCursor() {
    FindWindow window({codeCell("a", "x1 x2 x1 x1"), codeCell("b", "x1")});
    window.find("x1");
    QTRY_VERIFY(window.summary().endsWith("of 4 · cell 1, line 1"));
    window.view->setCurrentCell(0, true);
    window.cell(0)->editor()->setCursorPosition(0, 8);  // behind the second one
    window.bar->step(-1);
    QCOMPARE(window.summary(), "2 of 4 · cell 1, line 1");
    window.bar->step(-1);
    QCOMPARE(window.summary(), "1 of 4 · cell 1, line 1");
    window.cell(0)->editor()->setCursorPosition(0, 4);  // between the first one and it
    window.bar->step(1);
    QCOMPARE(window.summary(), "2 of 4 · cell 1, line 1");
    window.cell(0)->editor()->setCursorPosition(0, 9);  // right before the third one
    window.bar->step(1);
    QCOMPARE(window.summary(), "3 of 4 · cell 1, line 1");
    // The same with the bar closed: its words stay.
    window.field()->setFocus();
    window.key(Qt::Key_Escape);
    window.view->setCurrentCell(0, true);
    window.cell(0)->editor()->setCursorPosition(0, 8);
    window.bar->step(-1);
    QTRY_COMPARE(window.summary(), "2 of 4 · cell 1, line 1");
  }

  void stepsFromTheNotebookPassThroughOutputs() {
    FindWindow window({codeCell("a", "needle", json::array({stream("a needle\nand a needle\n")}), 1),
                       codeCell("b", "needle")});
    window.part<QCheckBox>("findOutputs")->setChecked(true);
    window.find("needle");
    QTRY_VERIFY(window.summary().contains("of 4"));
    window.view->setCurrentCell(0, true);
    window.cell(0)->editor()->setCursorPosition(0, 0);
    for (const char* const place : {"1 of 4", "2 of 4", "3 of 4", "4 of 4", "1 of 4"}) {
      window.bar->step(1);
      QVERIFY2(window.summary().startsWith(place), qPrintable(window.summary()));
    }
  }

  void aHitInAnOutputThatScrollsIsSelectedAndInSight() {
    std::string text;
    for (int i = 0; i < 3'000; ++i)
      text += i == 2'500 ? "here is the needle\n"
                         : "line " + std::to_string(i) + std::string(i % 7 * 60, '-') + "\n";
    FindWindow window({codeCell("a", "x"), codeCell("b", "y", json::array({stream(text)}), 1)});
    window.part<QCheckBox>("findOutputs")->setChecked(true);
    window.find("needle");
    QTRY_COMPARE(window.summary(), "1 of 1 · output of cell 2, line 2501");
    LongText* shown = qobject_cast<TextOutput*>(window.cell(1)->outputs()->row(0))->scrolling();
    QVERIFY(shown->textInSight().contains("here is the needle"));
    QVERIFY(shown->hasSelection());
    const QRect place = shown->cursorRect();
    QVERIFY(!place.isEmpty());
    const QRect seen(shown->mapTo(window.view->viewport(), place.topLeft()), place.size());
    QVERIFY(window.view->viewport()->rect().contains(seen));
    // Nothing stays selected when the search is over.
    window.key(Qt::Key_Escape);
    QVERIFY(!shown->hasSelection());
  }

  void aHitInAnOutputBehindTheFirstHundredIsShown() {
    json outputs = json::array();
    for (int i = 0; i < 150; ++i)
      outputs.push_back(display({{"text/plain", i == 140 ? "the needle" : "output " + std::to_string(i)}}));
    FindWindow window({codeCell("a", "x", outputs, 1)});
    window.part<QCheckBox>("findOutputs")->setChecked(true);
    window.find("needle");
    QTRY_COMPARE(window.summary(), "1 of 1 · output of cell 1, line 1");
    QCOMPARE(window.cell(0)->outputs()->count(), 150);
    auto* row = qobject_cast<TextOutput*>(window.cell(0)->outputs()->row(140));
    QCOMPARE(row->view()->textCursor().selectedText(), "needle");
    const int y = row->mapTo(window.view->viewport(), QPoint()).y();
    QVERIFY2(y >= 0 && y < window.view->viewport()->height(), qPrintable(QString::number(y)));
  }

  void aHitInWhatIsFoldedIsUnfolded() {
    const std::string text =
        "before\n\n<details><summary>More</summary>\n\nouter\n\n<details><summary>Still more</summary>\n\n"
        "the needle\n\n</details>\n\n</details>\n\nafter";
    FindWindow window({codeCell("a", "x", json::array({display({{"text/markdown", text}})}), 1)});
    window.part<QCheckBox>("findOutputs")->setChecked(true);
    auto* row = qobject_cast<RichOutput*>(window.cell(0)->outputs()->row(0));
    QTRY_VERIFY(row->view()->toPlainText().contains("after"));
    QVERIFY(!row->view()->toPlainText().contains("needle"));
    window.find("needle");
    QTRY_COMPARE(window.summary(), "1 of 1 · output of cell 1, line 9");
    QVERIFY(row->view()->toPlainText().contains("the needle"));
    QCOMPARE(row->view()->textCursor().selectedText(), "needle");
  }
};

TAPEDECK_TEST(TestFindSteps)
#include "tst_find_steps.moc"
