// What Markdown has beside text: code in its colours, boxes of several kinds, what can be folded.
#include <QRandomGenerator>
#include <QTextBlock>
#include <QTextTable>

#include "app/notebook/output/alert_boxes.h"
#include "app/notebook/output/html/code_colours.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

QTextDocument* textOf(const Window& window, int cell = 0) {
  return window.cell(cell)->rendered()->document();
}

QTextCharFormat formatOf(const Window& window, const QString& text) {
  return textOf(window)->find(text, 0, QTextDocument::FindCaseSensitively).charFormat();
}

QList<QTextTable*> boxesOf(const Window& window) {
  QList<QTextTable*> boxes;
  for (QTextFrame* frame : textOf(window)->rootFrame()->childFrames())
    if (auto* table = qobject_cast<QTextTable*>(frame); table && alertOfTable(table)) boxes << table;
  return boxes;
}

QString cellText(const QTextTable* table, int column) {
  const QTextTableCell cell = table->cellAt(0, column);
  QTextCursor cursor = cell.firstCursorPosition();
  cursor.setPosition(cell.lastCursorPosition().position(), QTextCursor::KeepAnchor);
  return cursor.selection().toPlainText();
}

constexpr char folds[] =
    "before\n\n<details>\n<summary>First **one**</summary>\n\ninside the *first*\n\n<details>\n"
    "<summary>Second</summary>\n\ninside the second\n\n</details>\n\n</details>\n\nafter";

}  // namespace

class TestMarkdownBoxes : public QObject {
  Q_OBJECT

 private slots:
  void fencedCodeHasTheEditorsColours() {
    const Window window({markdownCell(
        "m",
        "```python\n@wraps\ndef fun(x):\n    return print('text', 0x1F)  # remark\nclass Kind: pass\n```\n\n"
        "```unheard-of\nimport nothing\n```\n\n    import indented\n")});
    const NotebookTheme theme = NotebookTheme::of(window.view.palette(), 0);
    const std::pair<const char*, QColor> expected[] = {
        {"@wraps", theme.decorator}, {"def", theme.keyword},      {"fun", theme.definition},
        {"return", theme.keyword},   {"print", theme.builtin},    {"'text'", theme.string},
        {"0x1F", theme.number},      {"# remark", theme.comment}, {"Kind", theme.definition}};
    for (const auto& [word, colour] : expected) {
      const QTextCharFormat format = formatOf(window, word);
      QVERIFY2(format.foreground().color() == colour, word);
      QVERIFY2(format.fontFamilies().toStringList().contains(theme.codeFont.family()), word);
    }
    QCOMPARE(formatOf(window, "def").fontWeight(), int(QFont::DemiBold));
    QVERIFY(formatOf(window, "# remark").fontItalic());
    for (const char* word : {"import nothing", "import indented"})
      QVERIFY2(formatOf(window, word).foreground().style() == Qt::NoBrush, word);
    QVERIFY(textOf(window)->toPlainText().contains(
        "def fun(x):\n    return print('text', 0x1F)  # remark\nclass Kind: pass\n"));
  }

  void whatAFenceIsCalled() {
    for (const char* name : {"python", "py", "Python3", "{.python}", "{python}", "python,linenos", "ipython3",
                             "c++", "cpp", "bash", "json", "yaml", "sql", "js"})
      QVERIFY2(isKnownCode(name), name);
    for (const char* name : {"", "text", "pyth", "mermaid"}) QVERIFY2(!isKnownCode(name), name);
  }

  void piecesAreAllOfAnyCode() {
    const QString whole =
        "def f(a, *b):\n  '''doc\n  string''' # c\n  return r\"x\\\"\" + b'\\'' + 1e-3 /* c */ // d\n@x.y\n"
        "echo \"a $b\" 'c' `d` | grep x # e\nkey: \"v\" ; SELECT * FROM t -- f\n\"\"\"open";
    QRandomGenerator random(5);
    for (int round = 0; round < 3000; ++round) {
      QString code = whole;
      for (int change = 0; change < round % 6; ++change) {
        const auto at = static_cast<qsizetype>(random.bounded(static_cast<quint32>(code.size())));
        random.bounded(2) == 0 ? code.remove(at, random.bounded(20))
                               : code.insert(at, QChar(u"\"'`\\#/*@\n\u00e9"[random.bounded(10)]));
        if (code.isEmpty()) code = "x";
      }
      for (const char* language : {"python", "cpp", "js", "bash", "yaml", "sql"}) {
        qsizetype length = 0;
        for (const CodePiece& piece : colourCode(code, language)) {
          QVERIFY(piece.length > 0);
          length += piece.length;
        }
        QCOMPARE(length, code.size());
      }
    }
    // What never ends is looked for once.
    for (const char* text : {"'", "`", "\"\"\"", "/*", "'\\", "f'"})
      (void)colourCode(QString(text).repeated(200'000), "js");
  }

  void alertBoxesHaveASignAndAColour() {
    const Window window({markdownCell(
        "m",
        "<div class=\"alert alert-block alert-info\">\n\n**Look** at `this`\n\n- one\n\n</div>\n\n"
        "<div class=\"alert alert-danger\">gone</div>\n\nbetween\n\n"
        "> [!NOTE]\n> noted\n>\n> twice\n\n> [!tip]\n> tipped\n\n> [!IMPORTANT]\n\n> [!WARNING]\n> warned\n\n"
        "> [!CAUTION]\n> - listed\n\n> a quote\n\n> [!NOTE] is no box\n\n> [!nothing]\n> of the kind\n")});
    const QList<QTextTable*> boxes = boxesOf(window);
    QStringList said;
    QSet<QRgb> colours;
    for (const QTextTable* box : boxes) {
      said << cellText(box, 0) + " " + cellText(box, 1).simplified();
      colours.insert(box->format().background().color().rgb());
    }
    QCOMPARE(said, QStringList({"\u2139 Look at this one", "\u2716 gone", "\u2139 Note noted twice",
                                "\u2714 Tip tipped", "\u2139 Important", "\u26a0 Warning warned",
                                "\u2716 Caution listed"}));
    QCOMPARE(colours.size(), 4);
    const QString text = textOf(window)->toPlainText();
    for (const char* whole : {"between", "a quote", "[!NOTE] is no box", "[!nothing]"})
      QVERIFY2(text.contains(whole), whole);
    QVERIFY(!text.contains("[!WARNING]"));
    // A table of its own keeps its looks.
    const Window tables({markdownCell("t", "| a | b |\n|---|---|\n| c | d |")});
    QVERIFY(boxesOf(tables).isEmpty());
    QCOMPARE(textOf(tables)->rootFrame()->childFrames().size(), 1);
  }

  void boxesInHtmlOutputsAreTheSame() {
    const Window window({codeCell(
        "c", "1",
        nlohmann::json::array({display({{"text/html", "<div class='alert alert-success'>well</div>"}})}))});
    const QTextDocument* document = window.output<RichOutput>()->view()->document();
    auto* table = qobject_cast<QTextTable*>(document->rootFrame()->childFrames().value(0));
    QVERIFY(table && alertOfTable(table) == AlertKind::success);
    QVERIFY(table->format().background().style() != Qt::NoBrush);
  }

  void detailsAreFoldedByTheMouse() {
    Window window({markdownCell("m", folds)});
    StaticText* view = window.cell()->rendered();
    const auto has = [&](const char* text) { return view->toPlainText().contains(text); };
    QVERIFY(has("First **one**") && has("before") && has("after") && !has("inside the first") &&
            !has("Second"));
    const int folded = window.cell()->height();
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, anchorPoint(view, "First"));
    QVERIFY(has("inside the first") && has("Second") && !has("inside the second") && has("after"));
    QTRY_VERIFY(window.cell()->height() > folded);
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, anchorPoint(view, "Second"));
    QVERIFY(has("inside the second"));
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, anchorPoint(view, "First"));
    QVERIFY(!has("inside the first") && has("after"));
    QTRY_COMPARE(window.cell()->height(), folded);
    // What was unfolded in it is so again.
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, anchorPoint(view, "First"));
    QVERIFY(has("inside the second"));
  }

  void detailsAreFoldedByTheKeyboardAndStaySoWhileTheTextIsEdited() {
    Window window({markdownCell("m", folds)});
    StaticText* view = window.cell()->rendered();
    view->setFocus(Qt::TabFocusReason);
    QTest::keyClick(view, Qt::Key_Tab);
    QVERIFY(view->chosenLink().startsWith("tapedeck-fold:"));
    QVERIFY2(view->accessibleDescription().contains("Expand"), qPrintable(view->accessibleDescription()));
    QTest::keyClick(view, Qt::Key_Return);
    QVERIFY(view->toPlainText().contains("inside the first"));
    // The keyboard stays where it was: pressed again, it folds; Tab goes on from there.
    QVERIFY(view->hasFocus());
    QTest::keyClick(view, Qt::Key_Space);
    QVERIFY(!view->toPlainText().contains("inside the first"));
    QTest::keyClick(view, Qt::Key_Return);
    QTest::keyClick(view, Qt::Key_Tab);
    QTest::keyClick(view, Qt::Key_Return);
    QVERIFY(view->toPlainText().contains("inside the second"));
    window.cell()->edit();
    window.document.setSource(0, QString(folds).replace("after", "afterwards"));
    window.cell()->renderMarkdown();
    view = window.cell()->rendered();
    QTRY_VERIFY(view->toPlainText().contains("afterwards"));
    QVERIFY(view->toPlainText().contains("inside the first") &&
            view->toPlainText().contains("inside the second"));
  }
};

TAPEDECK_TEST(TestMarkdownBoxes)
#include "tst_markdown_boxes.moc"
