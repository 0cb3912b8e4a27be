// Outputs in a real window: each type, and long ones.

#include <QApplication>
#include <QClipboard>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTextBlock>
#include <QTextTable>
#include <QToolButton>
#include <QtTest>

#include "app/notebook/output/image_output.h"
#include "app/notebook/output/output_area.h"
#include "app/notebook/output/rich_output.h"
#include "app/notebook/output/text/long_text.h"
#include "app/notebook/output/text/static_text.h"
#include "app/notebook/output/text/text_output.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/notebook_view.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

json withOutputs(const json& outputs) {
  return codeCell("c", "run()", outputs, 3);
}

}  // namespace

class TestNotebookOutputs : public QObject {
  Q_OBJECT

 private slots:
  void streamsKeepTheirColours() {
    Window window(withOutputs({stream("plain \x1b[1;31mred\x1b[0m end\n"), stream("warn\n", "stderr")}));
    QCOMPARE(window.output<TextOutput>()->shownText(), "plain red end");
    QCOMPARE(window.output<TextOutput>(1)->shownText(), "warn");
    auto* text = window.output<TextOutput>()->findChild<StaticText*>();
    const QTextCursor red = text->document()->find("red");
    QCOMPARE(red.charFormat().fontWeight(), static_cast<int>(QFont::Bold));
    QVERIFY(red.charFormat().foreground().color().red() > 150);
    QVERIFY(text->document()->find("plain").charFormat().foreground().color() !=
            red.charFormat().foreground().color());
    text->setFocus();
    QTest::keyClick(text, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClick(text, Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(QGuiApplication::clipboard()->text(), "plain red end");
  }

  void streamsGrowInPlace() {
    Window window(withOutputs({display({{"image/png", picture(60, 30, "PNG")}}), stream("one\n")}));
    Block* image = window.output<ImageOutput>(0);
    Block* text = window.output<TextOutput>(1);
    for (int i = 0; i < 15; ++i)
      window.document.appendOutput("c", stream("more " + std::to_string(i) + "\n"));
    QTRY_VERIFY(window.output<TextOutput>(1)->shownText().endsWith("more 14"));
    QVERIFY(window.output<TextOutput>(1)->shownText().startsWith("one\nmore 0\n"));
    QCOMPARE(static_cast<Block*>(window.output<ImageOutput>(0)), image);
    QCOMPARE(static_cast<Block*>(window.output<TextOutput>(1)), text);
    auto* view = text->findChild<StaticText*>();
    QTRY_COMPARE(view->verticalScrollBar()->maximum(), 0);
    window.document.clearOutputs("c");
    QTRY_COMPARE(window.cell()->outputs()->count(), 0);
  }

  void oneEndlessLineScrolls() {
    Window window(withOutputs(json::array({stream("begin" + std::string(5'000'000, 'x') + "end")})));
    auto* output = window.output<TextOutput>();
    QVERIFY(output->folded());
    QCOMPARE(output->size(), std::size_t{5'000'008});
    QVERIFY(output->shownText().startsWith("beginxxx"));
    QVERIFY(output->shownText().size() < 40'000);
    output->scrolling()->scrollToEnd();
    QVERIFY(output->shownText().endsWith("xxxend"));
  }

  void manyOutputsAreShownOnDemand() {
    json outputs = json::array();
    for (int i = 0; i < 150; ++i) outputs.push_back(display({{"text/plain", "value " + std::to_string(i)}}));
    Window window(withOutputs(outputs));
    QCOMPARE(window.cell()->outputs()->count(), 100);
    for (QToolButton* button : window.cell()->outputs()->findChildren<QToolButton*>()) {
      if (button->text() == "Show 50 more outputs") button->click();
    }
    QCOMPARE(window.cell()->outputs()->count(), 150);
  }

  void tracebacksLeadToTheirLine() {
    const json error = {{"output_type", "error"},
                        {"ename", "E"},
                        {"evalue", "v"},
                        {"traceback", {"\x1b[0;31mE\x1b[0m", "Cell \x1b[0;32mIn [3], line 2\x1b[0m, in f"}}};
    json cells = json::array({codeCell("c", "def f():\n    raise E", json::array({error}), 3),
                              codeCell("d", "x", json::array(), 4)});
    Window window(cells);
    window.view.setCurrentCell(1, false);
    auto* text = window.output<TextOutput>()->findChild<StaticText*>();
    QCOMPARE(text->accessibleName(), "Traceback");
    QTest::mouseClick(text->viewport(), Qt::LeftButton, Qt::NoModifier, anchorPoint(text, "In [3]"));
    QCOMPARE(window.view.currentCell(), 0);
    int line = -1;
    int column = -1;
    window.cell(0)->editor()->getCursorPosition(&line, &column);
    QCOMPARE(line, 1);
  }

  void picturesKeepTheirShape() {
    Window window(withOutputs({display({{"image/png", picture(400, 100, "PNG")}}),
                               display({{"image/jpeg", picture(3000, 1000, "JPG")}})}));
    QCOMPARE(window.output<ImageOutput>(0)->shownSize(), QSize(400, 100));
    const QSize shown = window.output<ImageOutput>(1)->shownSize();
    QVERIFY(shown.width() < 900 && shown.width() > 700);
    QVERIFY(std::abs(shown.width() / 3 - shown.height()) <= 1);
    QVERIFY(window.output<ImageOutput>(1)->height() >= shown.height());
    const QImage image = window.output<ImageOutput>(0)->grab().toImage();
    QVERIFY(image.pixelColor(300, 80).blue() > image.pixelColor(300, 80).red());
    window.view.resize(500, 700);
    QTRY_VERIFY(window.output<ImageOutput>(1)->shownSize().width() < 450);
  }

  void picturesTakeTheSizeOfTheirMetadata() {
    json output = display({{"image/png", picture(400, 200, "PNG")}});
    output["metadata"]["image/png"] = {{"width", 200}, {"height", 100}};
    Window window(withOutputs(json::array({output})));
    QCOMPARE(window.output<ImageOutput>()->shownSize(), QSize(200, 100));
  }

  void brokenPicturesSaySo() {
    Window window(
        withOutputs({display({{"image/png", "bm90IGEgcGljdHVyZQ=="}}),
                     display({{"image/svg+xml", "<svg><g>"}}), display({{"image/png", ""}}),
                     display({{"image/png", "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4="}})}));
    QCOMPARE(window.output<ImageOutput>(0)->error(),
             "This picture can't be shown: it is not a PNG, JPEG, GIF or BMP.");
    QTRY_VERIFY_WITH_TIMEOUT(!window.output<ImageOutput>(1)->error().isEmpty(), tapedeck::patience);
    QCOMPARE(
        window.output<ImageOutput>(1)->error(),
        "This SVG picture can't be shown: it is not well-formed XML, premature end of document (line 1).");
    QVERIFY(!window.output<ImageOutput>(2)->error().isEmpty());
    QVERIFY(!window.output<ImageOutput>(3)->error().isEmpty());
    QVERIFY(window.output<ImageOutput>(0)->height() > 10);
  }

  void svgIsDrawn() {
    Window window(withOutputs(
        json::array({display({{"image/svg+xml",
                               "<svg xmlns='http://www.w3.org/2000/svg' width='100' height='50'><rect "
                               "width='100' height='50' fill='#ff0000'/></svg>"}})})));
    auto* image = window.output<ImageOutput>();
    QTRY_COMPARE_WITH_TIMEOUT(image->shownSize(), QSize(100, 50), tapedeck::patience);
    QCOMPARE(image->grab().toImage().pixelColor(50, 25), QColor(255, 0, 0));
  }

  void tablesAreShown() {
    Window window(withOutputs(json::array(
        {result(3, {{"text/html",
                     "<table border=1 "
                     "class=dataframe><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2.5</td></tr></table>"},
                    {"text/plain", "plain"}})})));
    auto* output = window.output<RichOutput>();
    QVERIFY(output != nullptr);
    QTextCursor cursor = output->view()->document()->find("2.5");
    QVERIFY(cursor.currentTable() != nullptr);
    QCOMPARE(cursor.currentTable()->columns(), 2);
  }

  void theRichestTypeThatCanBeShownIsShown() {
    Window window(withOutputs({result(1, {{"text/html", "<script>x()</script>"}, {"text/plain", "the text"}}),
                               display({{"text/html", "<script>x()</script>"}}),
                               display({{"application/x-thing", "?"}}),
                               display({{"application/json", {{"k", {1, 2.5}}}}}),
                               display(json::object()),
                               display({{"text/latex", "$\\alpha^2$"}}),
                               display({{"text/markdown", "**bold**"}}),
                               {{"output_type", "hologram"}}}));
    QCOMPARE(window.output<TextOutput>(0)->shownText(), "the text");
    QCOMPARE(window.output<RichOutput>(1)->view()->toPlainText(),
             "This output is drawn by a script; scripts are not run.");
    QCOMPARE(window.output<RichOutput>(2)->view()->toPlainText(),
             "This output can't be shown here. Its type is application/x-thing.");
    QCOMPARE(window.output<TextOutput>(3)->shownText(), "{\n \"k\": [\n  1,\n  2.5\n ]\n}");
    QCOMPARE(window.output<RichOutput>(4)->view()->toPlainText(), "This output is empty.");
    QCOMPARE(window.output<RichOutput>(5)->view()->toPlainText().trimmed(), "$\\alpha^2$");
    QCOMPARE(window.output<RichOutput>(6)->view()->toPlainText(), "bold");
    QCOMPARE(window.output<RichOutput>(7)->view()->toPlainText(),
             "An output of the unknown kind “hologram” is kept in the file and not shown.");
  }

  void updatedDisplaysChangeInPlace() {
    Window window(withOutputs(json::array()));
    json bar = display({{"text/plain", "0 %"}});
    bar["transient"] = {{"display_id", "d"}};
    window.document.appendOutput("c", bar);
    QTRY_VERIFY(window.cell()->outputs() != nullptr);
    window.document.updateDisplay("d", {{"text/plain", "100 %"}}, json::object());
    QTRY_COMPARE(window.output<TextOutput>()->shownText(), "100 %");
  }
};

TAPEDECK_TEST(TestNotebookOutputs)
#include "tst_notebook_outputs.moc"
