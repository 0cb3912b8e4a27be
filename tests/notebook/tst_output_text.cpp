// What turns outputs into something to look at: terminal text, HTML, SVG, formulas. Without widgets.
#include <QRandomGenerator>
#include <QRegularExpression>
#include <QtTest>

#include "app/notebook/output/html/html_sanitizer.h"
#include "app/notebook/output/html/maths.h"
#include "app/notebook/output/html/svg_check.h"
#include "app/notebook/output/notebook_theme.h"
#include "app/notebook/output/text/ansi.h"
#include "tests/notebook/sample_notebook.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

QString plain(const std::vector<AnsiRun>& runs) {
  QString text;
  for (const AnsiRun& run : runs) text += run.text;
  return text;
}

}  // namespace

class TestOutputText : public QObject {
  Q_OBJECT

 private slots:
  void terminalColours() {
    AnsiParser parser;
    const auto runs =
        parser.parse("a\x1b[31mred\x1b[1;44mboth\x1b[0mb\x1b[38;5;208mx\x1b[38;2;1;2;3my\x1b[39;7mz");
    QCOMPARE(plain(runs), "aredbothbxyz");
    QCOMPARE(runs.size(), std::size_t(7));
    QCOMPARE(runs[1].style.foreground, 1);
    QCOMPARE(runs[2].style.foreground, 1);
    QCOMPARE(runs[2].style.background, 4);
    QVERIFY(runs[2].style.bold);
    QCOMPARE(runs[3].style, AnsiStyle());
    QCOMPARE(runs[4].style.foreground, 0x1000000 | 0xff8700);
    QCOMPARE(runs[5].style.foreground, 0x1000000 | 0x010203);
    QVERIFY(runs[6].style.inverse);
  }

  void lettersStandOutFromWhatIsBehindThem() {
    // IPython marks the failing part of a line by a background and leaves its letters the colours of their
    // kinds.
    NotebookTheme theme;
    theme.dark = false;
    theme.ansi.fill(QColor("#eaeaea"));
    theme.ansi[3] = QColor("#8a6100");
    AnsiParser parser;
    const auto runs = parser.parse("\x1b[43;38;5;241m1.\x1b[43;38;5;232mx\x1b[49;38;5;241m2.");
    QCOMPARE(runs[0].style.format(theme).foreground().color(), QColor(Qt::white));
    QCOMPARE(runs[1].style.format(theme).foreground().color(), QColor(8, 8, 8));
    QCOMPARE(runs[2].style.format(theme).foreground().color(), QColor(98, 98, 98));
  }

  void sequencesThatAreCutWaitForTheirRest() {
    const QString whole = "x\x1b[1;32mgreen\x1b]8;;http://a\x1b\\link\x1b[0m end";
    for (qsizetype cut = 0; cut <= whole.size(); ++cut) {
      AnsiParser parser;
      QString text = plain(parser.parse(whole.left(cut)));
      text += plain(parser.parse(whole.mid(cut)));
      QCOMPARE(text, "xgreenlink end");
    }
  }

  void otherSequencesAreDropped() {
    AnsiParser parser;
    QCOMPARE(plain(parser.parse("a\x1b[2Kb\x1b[?25lc\x1b(Bd\x07"
                                "e\x1b[10;2Hf")),
             "abcBdef");
    QCOMPARE(plain(AnsiParser().parse("abc\b\bx\nq\b\bz")), "ax\nz");
    QCOMPARE(plain(AnsiParser().parse("old\rnew\r\nnext")), "new\nnext");
  }

  void anyBytesAreParsed() {
    QRandomGenerator random(3);
    for (int round = 0; round < 3000; ++round) {
      QString text;
      for (int i = 0; i < 60; ++i) text += QChar(u"\x1b[];m0123456789\r\b\nabc\x9b\a\\?"[random.bounded(26)]);
      AnsiParser parser;
      for (const AnsiRun& run : parser.parse(text)) QVERIFY(!run.text.contains(QChar(0x1b)));
    }
  }

  void scriptsAndAddressesAreLeftOut_data() {
    QTest::addColumn<QString>("html");
    QTest::addColumn<QString>("clean");
    const auto row = [](const char* name, const char* html, const QString& clean) {
      QTest::newRow(name) << QString::fromUtf8(html) << clean;
    };
    row("script", "a<script>alert('<b>')</script>b", "ab");
    row("script upper", "a<SCRIPT src=//x>1</ScRiPt >b", "ab");
    row("unclosed script", "a<script>x", "ax");
    row("style", "<style>@import url(http://x)</style>t", "t");
    row("iframe", "<iframe src='http://x'>no</iframe>t", "<i>[embedded page not shown from x]</i>no t");
    row("handler", "<b onclick=\"x()\" onload=y>t</b>", "<b>t</b>");
    row("javascript link", "<a href=\"javascript:x()\">t</a>", "<a>t</a>");
    row("entity link", "<a href=\"java&#115;cript&colon;x()\">t</a>", "<a>t</a>");
    row("file link", "<a href='file:///etc/passwd'>t</a>", "<a>t</a>");
    row("web link", "<a href='https://a.org/?x=1&amp;y'>t</a>", "<a href=\"https://a.org/?x=1&amp;y\">t</a>");
    row("remote picture", "<img src='http://tracker.org/p.png' alt='A plot'>",
        "<i>[picture not loaded from tracker.org: A plot]</i>");
    row("file picture", "<img src=/etc/x.png>", "<i>[picture not loaded]</i>");
    row("svg data", "<img src='data:image/svg+xml;base64,AA'>", "<i>[picture not loaded]</i>");
    row("broken data", "<img src='data:image/png;base64,AA=='>", "<i>[picture not loaded]</i>");
    row("style address", "<p style=\"background:url(http://x); color:red\">t</p>",
        "<p style=\"color:red\">t</p>");
    row("style escape", "<p style=\"background:u\\72l(http://x)\">t</p>", "<p>t</p>");
    row("style position", "<p style=\"position:fixed;top:0\">t</p>", "<p>t</p>");
    row("rgb", "<p style='color: rgb(1,2,3)'>t</p>", "<p style=\"color:rgb(1,2,3)\">t</p>");
    row("unknown", "<figure>wo<my-tag x=1>r</my-tag>d</figure>", "<div>word</div>");
    row("background", "<body background='http://x'><table background=http://y><tr><td>t",
        "<div><table><tr><td>t</td></tr></table></div>");
    row("comment", "a<!-- <script> -->b<!doctype x>c", "abc");
    row("less", "a < b <3", "a &lt; b &lt;3");
    row("link", "<link rel=stylesheet href=http://x>t<base href=http://y><meta http-equiv=refresh>", "t");
    row("cut", "t<a href=\"http", "t&lt;a href=\"http");
    row("no slash", "a<br>b<hr>c<img src=x>d", "a<br>b<hr>c<i>[picture not loaded]</i>d");
    row("less in a tag", "a <b and c < d", "a &lt;b and c &lt; d");
    row("unclosed comment", "a<!-- b", "a&lt;!-- b");
    row("ends left out", "<ul><li>a<li>b</ul><p>c<p>d", "<ul><li>a</li><li>b</li></ul><p>c</p><p>d</p>");
    row("crossed", "<b>a<i>b</b>c</i>", "<b>a<i>b</i></b>c");
    row("text in a table", "<table>a<tr>b<td>c</table>", "a<table><tr><td>b</td><td>c</td></tr></table>");
    row("caption", "<table><caption>a</caption><tr><td>b</table>", "a<table><tr><td>b</td></tr></table>");
    row("cell of no table", "<td>a</td><td>b</td>", "a b");
    row("spans", "<table><tr><td colspan=30000 rowspan=2>a</table>",
        "<table><tr><td colspan=\"50\" rowspan=\"2\">a</td></tr></table>");
    const QString fold =
        "<div><div><a href=\"tapedeck-fold:%1\" title=\"%2 this section "
        "(Enter)\">%3\u00a0<b>%4</b></a></div>";
    const QString folded = fold.arg(0).arg("Expand", "\u25b8", "a") + "</div>";
    const QString body = "<div style=\"margin-left:18px\">";
    row("details", "<details><summary>a</summary>b<p>b</p></details>c", folded + "c");
    row("open details", "<details open><summary>a</summary>b</details>c",
        fold.arg(0).arg("Collapse", "\u25be", "a") + body + "b</div></div>c");
    row("details in details",
        "<details open><summary>a</summary><details><summary>b</summary>x</details>c</details>d",
        fold.arg(0).arg("Collapse", "\u25be", "a") + body + fold.arg(1).arg("Expand", "\u25b8", "b") +
            "</div>c</div></div>d");
    row("details in what is folded", "<details><summary>a</summary><details>x</details>y</details>z",
        folded + "z");
    row("details without a summary", "<details>x</details>y",
        fold.arg(0).arg("Expand", "\u25b8", "Details") + "</div>y");
    row("details that do not end", "<details><summary>a</summary>b", folded);
    row("a link in a summary", "<details><summary><a href='http://h'>a</a></summary>b</details>", folded);
    row("an end in details", "<div><details open><summary>a</summary></div>b</details>c</div>d",
        "<div>" + fold.arg(0).arg("Collapse", "\u25be", "a") + body + "b</div></div>c</div>d");
    row("an end without details", "a</details></summary>b", "ab");
    row("a summary alone", "<summary>a</summary>b", "<div><b>a</b></div>b");
    row("a link like a fold's", "<a href='tapedeck-fold:0'>a</a>", "<a>a</a>");
    const QString box =
        "<table width=\"100%\" border=\"0\"><tr><td valign=\"top\"><a name=\"tapedeck-alert-%1\">"
        "%2</a></td><td>%3</td></tr></table>";
    row("alert", "<div class='alert alert-warning' role=alert>a<p>b</p></div>c",
        box.arg("warning", "\u26a0", "a<p>b</p>") + "c");
    row("alert of old", "<div class=\"alert alert-block alert-error\">a</div>",
        box.arg("danger", "\u2716", "a"));
    row("divisions in an alert", "<div class='alert alert-info'><div>a</div>b</div>c",
        box.arg("info", "\u2139", "<div>a</div>b") + "c");
    row("a name like an alert's", "<a name='tapedeck-alert-info'>a</a>", "<a>a</a>");
    row("choice", "<select><option>a<option>b</select>", "<div>a<div>b</div></div>");
    row("video", "<video src=http://v/x>a</video>b", "<i>[video not shown from v]</i>a b");
    row("picture in words", "<svg><style>s</style><text>a</text></svg>b", "ab");
  }
  void scriptsAndAddressesAreLeftOut() {
    QFETCH(QString, html);
    QFETCH(QString, clean);
    QCOMPARE(sanitizeHtml(html).html, clean);
  }

  void mutatedHtmlStaysClean() {
    const QString whole =
        "<div onclick=a><script>s()</script><img src=http://h/x.png><a href='javascript:j'>t</a>"
        "<p style='background:url(http://u)'>p</p><iframe src=http://i></iframe></div>";
    QRandomGenerator random(11);
    for (int round = 0; round < 5000; ++round) {
      QString html = whole;
      for (int i = 0; i < 4; ++i) {
        const qsizetype at = static_cast<qsizetype>(random.bounded(static_cast<quint32>(html.size())));
        random.bounded(2) == 0 ? html.remove(at, 1 + random.bounded(5))
                               : html.insert(at, QChar(u"<>\"'=/ &;"[random.bounded(9)]));
      }
      QString clean = sanitizeHtml(html).html;
      QVERIFY2(!clean.contains("<script", Qt::CaseInsensitive), qPrintable(html));
      QVERIFY2(!clean.contains("<iframe", Qt::CaseInsensitive), qPrintable(html));
      // The text in the quotes of these is text.
      static const QRegularExpression quoted("(style|alt|title|class)=\"[^\"]*\"");
      static const QRegularExpression reaching("<[^<>]*(src=.?http|href=.?javascript|url\\(|onclick)");
      clean.remove(quoted);
      QVERIFY2(!clean.contains(reaching), qPrintable(html + "\n" + clean));
    }
  }

  void scriptsAloneAreNotVisible() {
    QVERIFY(!sanitizeHtml("<div id=plot></div><script>draw()</script>").visible);
    QVERIFY(sanitizeHtml("<div id=plot></div><script>draw()</script>").scripts);
    QVERIFY(sanitizeHtml("<div>x</div>").visible);
  }

  void svgLosesWhatReachesOutside() {
    QString error;
    const QByteArray svg = sanitizeSvg(
        "<?xml version='1.0'?><!DOCTYPE svg [<!ENTITY e 'text'>]>"
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='9' "
        "onload='x()'>"
        "<script>bad()</script><image href='http://h/a.png'/><image xlink:href='/etc/a.png'/><use "
        "href='other.svg#x'/>"
        "<style>@import url(http://s)</style><foreignObject><b>html</b></foreignObject>"
        "<image xlink:href='data:image/png;base64," +
            QByteArray::fromStdString(picture(4, 4, "PNG")) +
            "'/><image xlink:href='data:image/png;base64,AA=='/><image xlink:href='/etc/b.png' "
            "href='data:image/png;base64," +
            QByteArray::fromStdString(picture(4, 4, "PNG")) +
            "'/><rect id='r' style='fill:url(#g)'/><use "
            "xlink:href='#r'/>"
            "<rect style='fill:url(http://h/g)'/><a href='http://link'><text>&e;</text></a></svg>",
        &error);
    QCOMPARE(error, "");
    for (const char* bad : {"script", "http://h", "/etc", "AA==", "other.svg", "import", "foreign", "html",
                            "onload", "http://link"}) {
      QVERIFY2(!svg.contains(bad), qPrintable(bad + QString(": ") + svg));
    }
    for (const char* good : {"data:image/png", "url(#g)", "\"#r\"", "text</text>", "width=\"9\""})
      QVERIFY2(svg.contains(good), good);
  }

  void svgThatIsTooMuchIsRefused() {
    QString error;
    QByteArray bomb = "<svg xmlns=\"http://www.w3.org/2000/svg\"><g id=\"a0\"><path/></g>";
    for (int i = 1; i < 30; ++i) {
      const QByteArray below = "<use href=\"#a" + QByteArray::number(i - 1) + "\"/>";
      bomb += "<g id=\"a" + QByteArray::number(i) + "\">" + below + below + "</g>";
    }
    QVERIFY(sanitizeSvg(bomb + "</svg>", &error).isEmpty());
    QCOMPARE(error, "it draws more than 500000 elements");
    QVERIFY(sanitizeSvg("<svg><g id=\"x\"><use href=\"#x\"/></g></svg>", &error).isEmpty());
    QCOMPARE(error, "an element of it uses itself");
    QVERIFY(sanitizeSvg("<svg>" + QByteArray("<g>").repeated(5000) + "</svg>", &error).isEmpty());
    QCOMPARE(error, "its elements are nested more than 200 deep");
    QVERIFY(sanitizeSvg("<html/>", &error).isEmpty());
    QCOMPARE(error, "it begins with <html>, not with <svg>");
    QVERIFY(sanitizeSvg("<svg>\n<g>", &error).isEmpty());
    QCOMPARE(error, "it is not well-formed XML, premature end of document (line 2)");
    QVERIFY(sanitizeSvg("", &error).isEmpty());
  }

  void formulasInListsOfHeadingsAreText_data() {
    QTest::addColumn<QString>("tex");
    QTest::addColumn<QString>("text");
    const auto row = [](const char* tex, const char* text) {
      QTest::newRow(tex) << tex << QString::fromUtf8(text);
    };
    row("x^2 + y_{i+1}", "x² + yᵢ₊₁");
    row("\\alpha\\beta", "αβ");
    row("\\frac{a+b}{2}", "(a + b)/2");
    row("\\sqrt{x}", "√x");
    row("\\nabla f(x) \\le -1", "∇f(x) ≤ −1");
    row("\\text{loss} = \\hat{y}", "loss = y\u0302");
    row("{unclosed \\frac", "unclosed/");
    row("\\unknown", "unknown");
    row("1 - \\tanh^2", "1 − tanh²");
    row("^^^_", "");
    row("\\", "");
  }
  void formulasInListsOfHeadingsAreText() {
    QFETCH(QString, tex);
    QFETCH(QString, text);
    QCOMPARE(plainMath(tex).simplified(), text);
  }

  void formulasAreFoundOutsideCode() {
    std::vector<Formula> formulas;
    const QString text =
        extractFormulas("a $x$ `$no$` costs $5 and $6, \\$z\\$ $$\ny\n$$\n```\n$no$\n```\n$a$", formulas);
    QCOMPARE(formulas.size(), std::size_t(3));
    QCOMPARE(formulas[0].tex, "x");
    QCOMPARE(formulas[1].tex, "\ny\n");
    QVERIFY(formulas[1].display);
    QCOMPARE(formulas[2].tex, "a");
    QVERIFY(text.contains("`$no$` costs $5 and $6"));
    QVERIFY(text.contains("```\n$no$\n```"));
    formulas.clear();
    extractFormulas("a \\\\(x\\\\) and \\\\[y\\\\], not \\(z\\)", formulas);
    QCOMPARE(formulas.size(), std::size_t(2));
    QCOMPARE(formulas[0].tex, "x");
    QCOMPARE(formulas[1].tex, "y");
    QVERIFY(formulas[1].display);
    formulas.clear();
    extractHtmlFormulas(u"it is \\(x\\), `$y$`, $$z$$", formulas);
    QCOMPARE(formulas.size(), std::size_t(3));
    QCOMPARE(formulas[0].tex, "x");
    QCOMPARE(formulas[1].tex, "y");
    QVERIFY(formulas[2].display);
    formulas.clear();
    QCOMPARE(extractHtmlFormulas(u"it costs $5 and $6", formulas), "it costs $5 and $6");
    QVERIFY(formulas.empty());
  }

  void anyTexIsFormatted() {
    QRandomGenerator random(5);
    const QStringList parts = {"\\frac", "{",      "}", "^",  "_", "\\sqrt", "\\hat",  "x",
                               "\\text", "\\left", "$", "\\", " ", "-",      "\\alpha"};
    for (int round = 0; round < 3000; ++round) {
      QString tex;
      for (int i = 0; i < 25; ++i) tex += parts[random.bounded(static_cast<int>(parts.size()))];
      plainMath(tex);
      std::vector<Formula> formulas;
      extractFormulas(tex, formulas);
    }
    plainMath(QString("{").repeated(100000));
    plainMath(QString("\\frac").repeated(10000));
    plainMath(QString("^").repeated(1000000));
    plainMath(QString("\\tanh^").repeated(300000));
  }
};

TAPEDECK_TEST(TestOutputText)
#include "tst_output_text.moc"
