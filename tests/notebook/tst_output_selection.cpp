// What is selected in outputs by the keyboard, and what their user unfolded.
#include <QClipboard>

#include "app/notebook/output/text/long_text.h"
#include "app/notebook/output/text/text_bar.h"
#include "app/notebook/output/text/text_output.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

std::string stepLines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "step " + std::to_string(i) + " loss\n";
  return text;
}

QString copied() {
  QGuiApplication::clipboard()->clear();
  Window::key(Qt::Key_C, Qt::ControlModifier);
  QString text;
  (void)tapedeck::waitFor([&] { return !(text = QGuiApplication::clipboard()->text()).isEmpty(); });
  return text;
}

json details(const std::string& summary, const std::string& text) {
  return display(
      {{"text/html", "<details><summary>" + summary + "</summary><p>" + text + "</p></details><p>end</p>"}});
}

}  // namespace

class TestOutputSelection : public QObject {
  Q_OBJECT

 private slots:
  void shiftAndArrowsSelectInALongText() {
    Window window({codeCell("a", "run()", json::array({stream(stepLines(5'000))}), 1), codeCell("b", "x")});
    window.view.setCurrentCell(0, false);
    window.view.setFocus();
    Window::key(Qt::Key_E);
    LongText* text = window.output<TextOutput>()->scrolling();
    QVERIFY(text->hasFocus());
    Window::key(Qt::Key_Down, Qt::ShiftModifier);
    Window::key(Qt::Key_Right, Qt::ShiftModifier);
    Window::key(Qt::Key_Right, Qt::ShiftModifier);
    QCOMPARE(copied(), "step 0 loss\nst");
    Window::key(Qt::Key_End, Qt::ShiftModifier);
    QCOMPARE(copied(), "step 0 loss\nstep 1 loss");
    Window::key(Qt::Key_Left, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(copied(), "step 0 loss\nstep 1 ");
    Window::key(Qt::Key_Up, Qt::ShiftModifier);
    Window::key(Qt::Key_Home, Qt::ShiftModifier);
    QVERIFY(!text->hasSelection());
    // A page, the end of it all, and back: the cursor is visible.
    Window::key(Qt::Key_PageDown, Qt::ShiftModifier);
    Window::key(Qt::Key_PageDown, Qt::ShiftModifier);
    QVERIFY(text->topRow() > 0);
    QVERIFY(!text->cursorRect().isEmpty() && text->rect().contains(text->cursorRect()));
    Window::key(Qt::Key_End, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(text->textInSight().endsWith("step 4999 loss"));
    QCOMPARE(copied() + "\n", QString::fromStdString(stepLines(5'000)));
    Window::key(Qt::Key_Home, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(!text->hasSelection());
    QCOMPARE(text->topRow(), std::size_t{0});
    QCOMPARE(window.view.currentCell(), 0);
    // Outside of it the same keys select cells.
    Window::key(Qt::Key_Escape);
    Window::key(Qt::Key_Down, Qt::ShiftModifier);
    QCOMPARE(window.view.currentCell(), 1);
    QVERIFY(!text->hasSelection());
  }

  void linesThatAreWrappedAreGoneThroughOneByOne() {
    const std::string wide(400, 'w');
    Window window({codeCell("a", "run()", json::array({stream(wide + "\n" + stepLines(2'000))}), 1)});
    window.view.setFocus();
    Window::key(Qt::Key_E);
    Window::key(Qt::Key_Down, Qt::ShiftModifier);
    const QString first = copied();
    QVERIFY2(first.size() > 20 && first.size() < 400 && !first.contains(u'\n'), qPrintable(first));
    for (int i = 0; i < 20 && !copied().contains(u'\n'); ++i) Window::key(Qt::Key_Down, Qt::ShiftModifier);
    QCOMPARE(copied(), QString::fromStdString(wide + "\n"));
  }

  void shiftAndArrowsSelectInAShortText() {
    Window window(
        {codeCell("a", "run()", json::array({stream("first line\nsecond line\n")}), 1), codeCell("b", "x")});
    window.view.setFocus();
    Window::key(Qt::Key_E);
    StaticText* text = window.output<TextOutput>()->view();
    QVERIFY(text->hasFocus());
    Window::key(Qt::Key_Down, Qt::ShiftModifier);
    Window::key(Qt::Key_Right, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(copied(), "first line\nsecond ");
    QCOMPARE(window.view.currentCell(), 0);
    Window::key(Qt::Key_A, Qt::ControlModifier);
    QCOMPARE(copied().trimmed(), "first line\nsecond line");
    // A click in it enters no text: the keys go on among the cells.
    Window::key(Qt::Key_Escape);
    QTest::mouseClick(text->viewport(), Qt::LeftButton, {}, QPoint(20, 10));
    Window::key(Qt::Key_Down, Qt::ShiftModifier);
    QCOMPARE(window.view.currentCell(), 1);
  }

  void whatIsInSightOfALongTextIsSaid() {
    Window window({codeCell("a", "run()", json::array({stream(stepLines(5'000))}), 1)});
    auto* output = window.output<TextOutput>();
    QTRY_VERIFY2(output->bar()->inSight().startsWith("lines 1 to "), qPrintable(output->bar()->inSight()));
    output->toggleFold();
    const auto last = [&] {
      return QString("to %1 visible").arg(output->scrolling()->rowsInSight().second + 1);
    };
    QTRY_VERIFY2(output->bar()->inSight().endsWith(last()), qPrintable(output->bar()->inSight()));
    output->scrolling()->scrollToEnd();
    QVERIFY2(output->bar()->inSight().endsWith(" to 5,000 visible"), qPrintable(output->bar()->inSight()));
    // One that has its whole height shows all.
    Window small({codeCell("a", "run()", json::array({stream(stepLines(300))}), 1)});
    output = small.output<TextOutput>();
    QTRY_VERIFY(output->bar()->inSight().startsWith("lines 1 to "));
    output->toggleFold();
    QCOMPARE(output->bar()->inSight(), QString());
  }

  void whatWasUnfoldedStaysSoWhenTheCellRunsAgain() {
    Window window({codeCell("a", "run()", json::array({stream("one\n"), details("More", "first")}), 1)});
    const auto shown = [&](int row) {
      auto* output = window.output<RichOutput>(row);
      return output == nullptr ? QString() : output->view()->toPlainText();
    };
    QTRY_VERIFY(shown(1).contains("end"));
    QVERIFY(!shown(1).contains("first"));
    StaticText* text = window.output<RichOutput>(1)->view();
    QTest::mouseClick(text->viewport(), Qt::LeftButton, {}, anchorPoint(text, "More"));
    QTRY_VERIFY(shown(1).contains("first"));
    const auto runAgain = [&](const std::vector<json>& outputs) {
      window.document.clearOutputs("a");
      QTRY_COMPARE(window.cell()->outputs()->count(), 0);
      for (const json& output : outputs) window.document.appendOutput("a", output);
      QTRY_COMPARE(window.cell()->outputs()->count(), static_cast<int>(outputs.size()));
    };
    runAgain({stream("one\n"), stream("a warning\n", "stderr"), details("More", "second")});
    QTRY_VERIFY2(shown(2).contains("second"), qPrintable(shown(2)));
    // All at once, as a quick cell does it.
    window.document.clearOutputs("a");
    window.document.appendOutput("a", details("More", "third"));
    QTRY_VERIFY2(shown(0).contains("third"), qPrintable(shown(0)));
    // Folded again, it stays so; and what reads otherwise is as its author left it.
    text = window.output<RichOutput>(0)->view();
    QTest::mouseClick(text->viewport(), Qt::LeftButton, {}, anchorPoint(text, "More"));
    QTRY_VERIFY(!shown(0).contains("third"));
    runAgain({details("More", "fourth")});
    QTRY_VERIFY(shown(0).contains("end"));
    QVERIFY(!shown(0).contains("fourth"));
    text = window.output<RichOutput>(0)->view();
    QTest::mouseClick(text->viewport(), Qt::LeftButton, {}, anchorPoint(text, "More"));
    QTRY_VERIFY(shown(0).contains("fourth"));
    runAgain({details("Another", "fifth")});
    QTRY_VERIFY(shown(0).contains("end"));
    QVERIFY(!shown(0).contains("fifth"));
  }

  void piecesOfCodeBesideEachOtherAreApart() {
    Window window({markdownCell("m", "```\na = 1\nb = 2\n```\n```\nc = 3\n```")});
    StaticText* text = window.cell()->rendered();
    QTRY_VERIFY(text->toPlainText().contains("c = 3"));
    const auto gap = [&](const QString& above, const QString& below) {
      const QTextCursor first = text->document()->find(above), second = text->document()->find(below);
      return text->cursorRect(second).top() - text->cursorRect(first).bottom();
    };
    QVERIFY2(gap("b = 2", "c = 3") >= gap("a = 1", "b = 2") + 5,
             qPrintable(QString::number(gap("b = 2", "c = 3"))));
    QVERIFY(gap("a = 1", "b = 2") <= 2);
  }
};

TAPEDECK_TEST(TestOutputSelection)
#include "tst_output_selection.moc"
