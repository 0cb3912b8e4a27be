// Whatever a text is made of, its words are there to be read; and nothing that is done to one breaks the
// window.
#include <QApplication>
#include <QLoggingCategory>
#include <QRandomGenerator>
#include <QTemporaryDir>
#include <QTextBlock>
#include <QTextList>
#include <QTextTable>
#include <QXmlStreamReader>
#include <QtTest>

#include "app/notebook/output/html/maths.h"
#include "app/notebook/output/html/svg_check.h"
#include "app/notebook/output/image_output.h"
#include "app/notebook/output/rich_document.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

QString rendered(const QString& source, RichText::Kind kind = RichText::Kind::markdown) {
  const RichLook look = {NotebookTheme::of(QPalette(), 0), 600, QTextOption::WordWrap};
  return makeRichDocument({kind, source, {}, {}}, look, {}).document->toPlainText();
}

/// Random documents, with the words that a reader must find again.
class Generator {
 public:
  explicit Generator(quint32 seed) : random_(seed) {}

  QStringList words;

  QString word() {
    words += QString("w%1z").arg(words.size());
    return words.back();
  }

  QString inlines(int depth = 0) {
    QString out;
    for (int i = 0, count = 1 + random_.bounded(4); i < count; ++i) out += piece(depth) + " ";
    return out;
  }

  QString markdown(int depth = 0) {
    switch (random_.bounded(depth > 2 ? 4 : 15)) {
      case 0:
        return inlines();
      case 1:
        return "# " + inlines();
      case 2:
        return word() + "\n" + word() + "  \n" + word();
      case 3:
        return "```python\n" + word() + " < " + word() + "\n\n" + word() + "\n```";
      case 4:
        return "- " + inlines() + "\n  - " + inlines() + "\n    1. " + inlines() + "\n- [x] " + word();
      case 5:
        return "> " + inlines() + "\n> > " + inlines();
      case 6:
        return "| " + word() + " | " + inlines() + " |\n|---|:-:|\n| " + word() + "<br>" + word() + " | <b>" +
               word() + "</b> |\n| " + word() + " |";
      case 7:
        return "<details open>\n<summary>" + word() + "</summary>\n\n" + markdown(depth + 1) +
               "\n\n</details>";
      case 8:
        return "<center>\n" + word() + "\n<font size=5>" + word() + "</font></center>";
      case 9:
        return "<table><caption>" + word() + "<tr><th>" + word() + "<td>" + word() + "<tr>" + word() +
               "<td colspan=9>" + word() + "<table><tr><td>" + word() + "</table></table>" + word();
      case 10:
        return "<div class='a\nb'>\n" + word() + "\n<p>" + word() + "<section>" + word() + "\n";
      case 11:
        return "<style>p { color: hidden1 }</style>\n\n" + word() + "\n\n<script>\nhidden2()\n</script>\n\n" +
               word();
      case 12:
        return "<!-- hidden3\n\nhidden4 -->\n\n" + word();
      case 13:
        return "    " + word() + "\n    <b>" + word();
      default:
        return "***\n\n" + word() + "\n---\n\n<hr>" + word() + "\n\n" + word() + "<hr>";
    }
  }

 private:
  QString piece(int depth) {
    switch (random_.bounded(depth > 2 ? 3 : 22)) {
      case 0:
      case 1:
        return word();
      case 2:
        return "`" + word() + "`";
      case 3:
        return "*" + word() + "* **" + word() + "** ~~" + word() + "~~";
      case 4:
        return "<br>" + word();
      case 5:
        return word() + "<img src=\"http://h/p.png\" alt=\"" + word() + "\">" + word();
      case 6:
        return "![" + word() + "](missing.png)";
      case 7:
        return "[" + word() + "](http://h/x 'title')";
      case 8:
        return "<unknown-tag a=1>" + word() + "</unknown-tag>";
      case 9:
        return "<b>" + word() + "<i>" + word() + "</b>" + word();
      case 10:
        return "</div>" + word() + "</p></span>";
      case 11:
        return "a < b " + word() + " <3 & &amp; &eacute;" + word();
      case 12:
        return "<!-- hidden5 -->" + word();
      case 13:
        return "$" + word() + "$";
      case 14:
        return "$$\\text{" + word() + "} + \\frac{" + word() + "}{\\hat{" + word() + "}}$$";
      case 15:
        return "<span style='color:red'>" + inlines(depth + 1) + "</span>";
      case 16:
        return "<video src=x>" + word() + "</video>";
      case 17:
        return "<button>" + word() + "</button><select><option>" + word() + "<option>" + word() + "</select>";
      case 18:
        return "<kbd>" + word() + "</kbd><mark>" + word() + "</mark><sup>" + word() + "</sup>";
      case 19:
        return "costs 5$ and " + word();
      case 20:
        return "<svg><text>" + word() + "</text><style>hidden6</style></svg>";
      default:
        return "![x](attachment:gone.png) <br/>" + word() + "<hr>";
    }
  }

  QRandomGenerator random_;
};

/// A few places changed, doubled, cut or taken out.
QString mutated(QString text, QRandomGenerator& random, QStringView letters) {
  for (int i = 0; i < 4 && !text.isEmpty(); ++i) {
    const qsizetype at = random.bounded(static_cast<int>(text.size()));
    switch (random.bounded(4)) {
      case 0:
        text.remove(at, 1 + random.bounded(9));
        break;
      case 1:
        text.insert(at, letters[random.bounded(static_cast<int>(letters.size()))]);
        break;
      case 2:
        text.insert(at, text.mid(random.bounded(static_cast<int>(text.size())), random.bounded(40)));
        break;
      default:
        if (random.bounded(8) == 0) text.truncate(at);
    }
  }
  return text;
}

}  // namespace

class TestLegibleText : public QObject {
  Q_OBJECT

 private slots:
  void textAfterVoidElementsStays_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("text");
    QTest::newRow("br") << "One<br>two *three*\n\nfour"
                        << "One\ntwo three\nfour";
    QTest::newRow("br in a list") << "- a<br>b\n- c"
                                  << "a\nb\nc";
    QTest::newRow("hr") << "a\n\n<hr>\n\nb"
                        << "a\n\nb";
    QTest::newRow("img") << "<img src='http://h/logo.png' width=40>\n\n# Introduction\n\nWelcome."
                         << "[picture not loaded from h]\nIntroduction\nWelcome.";
    QTest::newRow("alt") << "![A plot](gone.png)"
                         << "[picture not loaded: A plot]";
    QTest::newRow("unclosed") << "<p align=center>a <b>b\n\nc"
                              << "a b\nc";
    QTest::newRow("comment") << "a <!-- b --> c"
                             << "a c";
    QTest::newRow("comment that never ends") << "a\n\n<!-- b\n\nc"
                                             << "a\n<!-- b c";
    QTest::newRow("entities") << "a &lt; b &amp; c &copy; &#65; &unknown;"
                              << "a < b & c © A &unknown;";
    QTest::newRow("script") << "a\n\n<script>\nx()\n\ny()\n</script>\n\nb"
                            << "a\nb";
    QTest::newRow("script that never ends") << "a\n\n<script>\nx()"
                                            << "a\nx()";
    QTest::newRow("environment") << "\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}"
                                 << "\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}";
    QTest::newRow("formula in a list") << "- a $$x$$ b\n- c"
                                       << "a\n$$x$$\nb\nc";
  }
  void textAfterVoidElementsStays() {
    QFETCH(QString, source);
    QFETCH(QString, text);
    // As a user has it: a cell of a notebook file that is opened in a window.
    QTemporaryDir folder;
    const QString path = folder.filePath("book.ipynb");
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(notebookOf(json::array({markdownCell("m", source.toStdString())})));
    file.close();
    Window window;
    window.open(path);
    QString shown = window.cell()->rendered()->toPlainText();
    shown.replace(QChar::LineSeparator, '\n').replace(QChar::Nbsp, ' ');
    shown.replace(" \n", "\n");
    QCOMPARE(shown.trimmed(), text);
  }

  void everyVisibleWordIsShown() {
    for (quint32 seed = 1; seed <= 400; ++seed) {
      Generator generator(seed);
      QString source;
      for (int i = 0; i < 6; ++i) source += generator.markdown() + "\n\n";
      const QString shown = rendered(source);
      for (const QString& word : generator.words)
        QVERIFY2(shown.contains(word),
                 qPrintable(QString("seed %1: %2 of\n%3\nis not in\n%4").arg(seed).arg(word, source, shown)));
      QVERIFY2(!shown.contains("hidden"), qPrintable(source + "\n" + shown));
    }
  }

  void aListBeginsWithTheNumberThatWasWritten() {
    const QString text = rendered("3. three\n4. four\n   - inner\n   1. one\n5. five\n\nrest");
    QVERIFY2(text.contains("3. three") && text.contains("4. four") && text.contains("5. five"),
             qPrintable(text));
    QVERIFY(!text.contains("1. "));  // Qt's own number
    QVERIFY(!rendered("1. one\n2. two").contains("1."));
    const QString html = rendered("<ol start='0'><li>none</li><li>one</li></ol>", RichText::Kind::html);
    QVERIFY2(html.contains("0. none") && html.contains("1. one"), qPrintable(html));
    QVERIFY(rendered("<ol start='99999999999'><li>a</li></ol>", RichText::Kind::html).contains("a"));
  }
  void headingsListsAndTablesKeepTheirKind() {
    const RichLook look = {NotebookTheme::of(QPalette(), 0), 600, QTextOption::WordWrap};
    const RichDocument made = makeRichDocument(
        {RichText::Kind::markdown,
         "# Head\n\n1. one\n   - deep\n\n| a | b |\n|--:|---|\n| 1 | `c` |\n\n```\ncode\n```\n"
         "[web](https://h/a) [file](file:///etc/passwd)",
         {},
         {}},
        look, {});
    QTextDocument& document = *made.document;
    QCOMPARE(document.find("Head").block().blockFormat().headingLevel(), 1);
    QCOMPARE(document.find("one").block().textList()->itemText(document.find("one").block()), "1.");
    QVERIFY(document.find("deep").block().textList()->format().indent() > 1);
    QVERIFY(document.find("1").currentTable() != nullptr);
    QCOMPARE(document.find("1").blockFormat().alignment() & Qt::AlignRight, Qt::AlignRight);
    QVERIFY(document.find("code").blockFormat().nonBreakableLines());
    QCOMPARE(document.find("web").charFormat().anchorHref(), "https://h/a");
    QCOMPARE(document.find("file").charFormat().anchorHref(), "");
  }

  void mutatedTextsAreRendered() {
    QRandomGenerator random(21);
    for (quint32 seed = 1; seed <= 300; ++seed) {
      Generator generator(seed);
      const QString source = generator.markdown() + "\n\n" + generator.markdown();
      const QString changed = mutated(source, random, u"<>\"'=/ &;`$*_[]()|\\\n-#!{}^");
      rendered(changed);
      rendered(changed, RichText::Kind::html);
      std::vector<Formula> formulas;
      extractFormulas(changed, formulas);
      for (const Formula& formula : formulas) plainMath(formula.tex);
    }
  }

  void everyBeginningOfATextIsRendered() {
    Generator generator(5);
    QString source;
    for (int i = 0; i < 5; ++i) source += generator.markdown() + "\n\n";
    for (qsizetype cut = 0; cut < source.size(); cut += 3) {
      rendered(source.left(cut));
      rendered(source.left(cut), RichText::Kind::html);
    }
  }

  void mutatedSvgIsCleanOrRefused() {
    QLoggingCategory::setFilterRules("qt.svg*=false");
    const QString whole =
        "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20' onload='x()'><style>@import "
        "url(http://t)</style><script>x()</script><g id='a'><image href='http://t/p.png'/><text>t</text></g>"
        "<use href='#a'/><rect style='fill:url(http://t#g)' onclick='x()'/></svg>";
    QRandomGenerator random(8);
    for (int round = 0; round < 2000; ++round) {
      QString error;
      const QByteArray clean = sanitizeSvg(mutated(whole, random, u"<>\"'=/ &;#:").toUtf8(), &error);
      QCOMPARE(clean.isEmpty(), !error.isEmpty());
      QXmlStreamReader reader(clean);
      while (!reader.atEnd()) {
        if (reader.readNext() != QXmlStreamReader::StartElement) continue;
        QVERIFY2(reader.name() != QLatin1String("script"), clean.constData());
        for (const QXmlStreamAttribute& attribute : reader.attributes()) {
          QVERIFY2(!attribute.name().startsWith(QLatin1String("on")), clean.constData());
          QVERIFY2(attribute.name() != QLatin1String("href") || attribute.value().startsWith('#'),
                   clean.constData());
        }
        if (reader.name() == QLatin1String("style")) {
          QVERIFY2(!reader.readElementText(QXmlStreamReader::SkipChildElements).contains("@import"),
                   clean.constData());
        }
      }
    }
  }
};

TAPEDECK_TEST(TestLegibleText)
#include "tst_legible_text.moc"
