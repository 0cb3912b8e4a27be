// Formulas: where their glyphs stand compared with KaTeX in a browser, and how they behave in cells and
// outputs.
#include <QAccessible>
#include <QClipboard>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPainter>
#include <QTextBlock>
#include <QtTest>

#include "app/notebook/output/formula_text.h"
#include "inspector/ui/math/formula_layout.h"
#include "inspector/ui/math/katex.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using namespace tapedeck::inspector;
using nlohmann::json;

namespace {

constexpr double tolerance = 0.03;  // em
constexpr double recorded_line = 40;

/// As in formulas/positions.json, in em: glyphs with the left end of their baselines, and the places of
/// rules.
struct Placed {
  struct Glyph {
    QString letter;
    QPointF at;
  };
  std::vector<Glyph> glyphs;
  std::vector<QRectF> rules;
};

Placed placed(const SetFormula& set, bool display) {
  const MathBox box = set.whole(recorded_line);
  double first = 0;
  for (const MathBox& part : set.lines.front()) first += part.width;
  const QPointF left(display ? (box.width - first) / 2 : 0, 0);
  Placed result;
  for (const FormulaInk& ink : box.ink) {
    if (const auto* glyphs = std::get_if<FormulaGlyphs>(&ink)) {
      std::size_t index = 0;
      for (const QChar letter : glyphs->text) {
        const QPointF at = glyphs->at + QPointF(glyphs->offsets[index++], 0) - left;
        if (!letter.isSpace()) result.glyphs.push_back({letter, at});
      }
    } else if (const auto* rule = std::get_if<FormulaRule>(&ink)) {
      result.rules.push_back(rule->rect.translated(-left));
    } else if (const auto* outline = std::get_if<FormulaOutline>(&ink)) {
      result.rules.push_back(outline->frame.translated(-left));
    }
  }
  return result;
}

double distance(QPointF a, QPointF b) {
  return std::max(std::abs(a.x() - b.x()), std::abs(a.y() - b.y()));
}

json outputCell(const json& data) {
  json cell = codeCell("c", "x");
  cell["outputs"] =
      json::array({{{"output_type", "display_data"}, {"data", data}, {"metadata", json::object()}}});
  return cell;
}

RichDocument ready(const QString& source, RichText::Kind kind = RichText::Kind::markdown, int width = 600) {
  const RichLook look = {NotebookTheme::of(QPalette(), 0), width, QTextOption::WordWrap};
  RichText text = {kind, source, {}, {}};
  RichDocument made = makeRichDocument(text, look, {});
  Katex katex;
  for (const FormulaSource& one : made.unset) {
    const Katex::Answer answer = katex.set(one.tex, one.display);
    SetFormula set = answer.error.isEmpty() ? layOutFormula(answer.markup, one.display) : SetFormula();
    set.error = answer.error;
    text.formulas[one] = std::make_shared<const SetFormula>(std::move(set));
  }
  return makeRichDocument(text, look, {});
}

QString textOf(const QTextDocument& document) {
  QTextCursor all(const_cast<QTextDocument*>(&document));
  all.select(QTextCursor::Document);
  return plainTextOf(all);
}

}  // namespace

class TestFormulas : public QObject {
  Q_OBJECT

 private slots:
  void glyphsStandWhereABrowserPutsThem() {
    QFile file(TAPEDECK_SOURCE_DIR "/tests/notebook/formulas/positions.json");
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QJsonArray recorded = QJsonDocument::fromJson(file.readAll()).array();
    QVERIFY(recorded.size() >= 200);
    Katex katex;
    double farthest = 0;
    for (const QJsonValue& row : recorded) {
      const QString tex = row["tex"].toString();
      const bool display = row["display"].toBool();
      const Katex::Answer answer = katex.set(tex, display);
      QVERIFY2(answer.error.isEmpty(), qPrintable(tex + ": " + answer.error));
      const SetFormula set = layOutFormula(answer.markup, display);
      QVERIFY2(set.error.isEmpty(), qPrintable(tex + ": " + set.error));
      Placed mine = placed(set, display);
      const QJsonArray glyphs = row["glyphs"].toArray(), rules = row["rules"].toArray();
      QVERIFY2(
          static_cast<qsizetype>(mine.glyphs.size()) == glyphs.size(),
          qPrintable(QString("%1: %2 glyphs of %3").arg(tex).arg(mine.glyphs.size()).arg(glyphs.size())));
      for (const QJsonValue& glyph : glyphs) {
        const QPointF at(glyph[1].toDouble() / 1000, glyph[2].toDouble() / 1000);
        auto best = mine.glyphs.end();
        for (auto one = mine.glyphs.begin(); one != mine.glyphs.end(); ++one) {
          if (one->letter != glyph[0].toString()) continue;
          if (best == mine.glyphs.end() || distance(one->at, at) < distance(best->at, at)) best = one;
        }
        QVERIFY2(best != mine.glyphs.end(), qPrintable(tex + ": no " + glyph[0].toString()));
        const double off = distance(best->at, at);
        QVERIFY2(off <= tolerance, qPrintable(QString("%1: %2 is %3 em off, at (%4, %5)")
                                                  .arg(tex, best->letter)
                                                  .arg(off)
                                                  .arg(best->at.x())
                                                  .arg(best->at.y())));
        farthest = std::max(farthest, off);
        mine.glyphs.erase(best);
      }
      for (const QJsonValue& rule : rules) {
        const QRectF want(rule[0].toDouble() / 1000, rule[1].toDouble() / 1000, rule[2].toDouble() / 1000,
                          rule[3].toDouble() / 1000);
        const bool found = std::any_of(mine.rules.begin(), mine.rules.end(), [&](const QRectF& one) {
          return distance(one.topLeft(), want.topLeft()) <= tolerance &&
                 distance(one.bottomRight(), want.bottomRight()) <= tolerance;
        });
        QVERIFY2(found, qPrintable(QString("%1: no rule at (%2, %3), %4 by %5")
                                       .arg(tex)
                                       .arg(want.x())
                                       .arg(want.y())
                                       .arg(want.width())
                                       .arg(want.height())));
      }
    }
    qInfo("%lld formulas; farthest glyph %.3f em", static_cast<long long>(recorded.size()), farthest);
  }

  void aCellShowsItsFormulasAndCopiesTheirTex() {
    const QString source =
        "The inverse $A=\\begin{pmatrix}1&0\\\\0&1\\end{pmatrix}^{-1}$ and\n\n$$\\frac{a}{b}$$\n\nend";
    Window window(json::array({markdownCell("m", source.toStdString())}));
    StaticText* text = window.cell()->rendered();
    QTRY_VERIFY(text->document()->toPlainText().contains(QChar(QChar::ObjectReplacementCharacter)));
    QVERIFY(!text->document()->toPlainText().contains("frac"));
    text->selectAll();
    text->copy();
    QCOMPARE(QGuiApplication::clipboard()->text(),
             "The inverse $A=\\begin{pmatrix}1&0\\\\0&1\\end{pmatrix}^{-1}$ and\n$$\\frac{a}{b}$$\nend");
    // A part of the selection that ends in the middle of a formula gives all of it.
    QTextCursor some(text->document());
    some.setPosition(4);
    some.setPosition(13, QTextCursor::KeepAnchor);
    text->setTextCursor(some);
    text->copy();
    QCOMPARE(QGuiApplication::clipboard()->text(),
             "inverse $A=\\begin{pmatrix}1&0\\\\0&1\\end{pmatrix}^{-1}$");
    QAccessibleInterface* accessible = QAccessible::queryAccessibleInterface(text);
    QVERIFY(accessible->text(QAccessible::Value).contains("$$\\frac{a}{b}$$"));
  }

  void aFormulaStandsOnTheBaselineOfItsLine() {
    const RichDocument made = ready("x $x$ y");
    const QTextBlock block = made.document->begin();
    const RichDocument plain = ready("x y");
    const double plainAscent = plain.document->begin().layout()->lineAt(0).ascent();
    // A letter needs no higher line than the text does, and no lower one where it is alone; a fraction needs
    // room above and below.
    const RichDocument alone = ready("$x$");
    for (const QTextDocument* document : {made.document.get(), alone.document.get()}) {
      const double ascent = document->begin().layout()->lineAt(0).ascent();
      QVERIFY2(std::abs(ascent - plainAscent) <= 1, qPrintable(QString::number(ascent)));
    }
    const RichDocument high = ready("x $\\dfrac{a}{b}$ y");
    const QTextLine line = high.document->begin().layout()->lineAt(0);
    const QTextLine low = block.layout()->lineAt(0);
    const QString measured =
        QString("%1 %2, %3 %4").arg(line.ascent()).arg(line.descent()).arg(low.ascent()).arg(low.descent());
    QVERIFY2(line.ascent() > low.ascent() + 4, qPrintable(measured));
    QVERIFY2(line.descent() > low.descent() + 4, qPrintable(measured));
    // Painted: the ink of an "x" as a formula ends on the row of pixels where the text's "x" ends.
    QImage image(200, 60, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    QAbstractTextDocumentLayout::PaintContext context;
    context.palette.setColor(QPalette::Text, Qt::black);
    made.document->documentLayout()->draw(&painter, context);
    painter.end();
    const auto lowest = [&](double from, double to) {
      int row = -1;
      for (int y = 0; y < image.height(); ++y)
        for (int x = qFloor(from); x < qCeil(to); ++x)
          if (qGray(image.pixel(x, y)) < 128) row = y;
      return row;
    };
    const QTextLine drawn = block.layout()->lineAt(0);
    const double margin = made.document->documentMargin();
    const int text = lowest(margin + drawn.cursorToX(0), margin + drawn.cursorToX(1));
    const int formula = lowest(margin + drawn.cursorToX(2), margin + drawn.cursorToX(3));
    QVERIFY(text > 0);
    QVERIFY2(std::abs(text - formula) <= 1, qPrintable(QString("%1 and %2").arg(text).arg(formula)));
  }

  void whatCannotBeSetIsShownAsWrittenAndSaysWhy() {
    Window window(json::array({markdownCell("m", "before $\\unknownmacro x$ after")}));
    StaticText* text = window.cell()->rendered();
    const auto format = [&] { return text->document()->find("unknownmacro").charFormat(); };
    QTRY_VERIFY(format().toolTip().contains("Undefined control sequence: \\unknownmacro"));
    QCOMPARE(format().underlineStyle(), QTextCharFormat::WaveUnderline);
    QCOMPARE(text->toPlainText(), "before $\\unknownmacro x$ after");
    QAccessibleInterface* accessible = QAccessible::queryAccessibleInterface(text);
    QVERIFY(accessible->text(QAccessible::Value)
                .contains("this formula can't be rendered: Undefined control sequence: \\unknownmacro"));
  }

  void hostileFormulasEndWithAnErrorAndTheNextOneIsSet() {
    Katex katex;
    const QStringList hostile = {
        "\\def\\a{\\a\\a}\\a",
        "\\def\\a#1{#1#1#1#1#1#1#1#1}\\a{\\a{\\a{\\a{\\a{\\a{\\a{\\a{x}}}}}}}}",
        QString("{").repeated(9000) + QString("}").repeated(9000),
        QString("\\sqrt{").repeated(2000) + QString("}").repeated(2000),
        QString("x").repeated(20'001),
        "\\begin{matrix}",
        "}{",
        "\\frac",
        "\\rule{1e999em}{1em}",
        QString(QChar(0)) + QChar(0xd800) + QChar(0xffff),
    };
    for (const QString& tex : hostile) {
      const Katex::Answer answer = katex.set(tex, true);
      if (answer.error.isEmpty()) layOutFormula(answer.markup, true);
      const Katex::Answer next = katex.set("x", false);
      QVERIFY2(next.error.isEmpty(), qPrintable(tex.left(40) + " broke KaTeX: " + next.error));
    }
    QVERIFY(katex.set(hostile[0], true).error.contains("Too many expansions"));
    QCOMPARE(katex.set(hostile[2], true).error, "The formula is nested too deeply to be shown.");
    QVERIFY(katex.set(hostile[4], true).error.contains("20001 characters"));
    const QString slow = "\\begin{matrix}" + QString("x^2&").repeated(4000) + "\\end{matrix}";
    QCOMPARE(katex.set(slow, true, std::chrono::milliseconds(1)).error,
             "The formula takes too long to render.");
    QVERIFY(katex.set("x", false).error.isEmpty());
    QVERIFY(!layOutFormula("<span class=\"katex-html\"><span", false).error.isEmpty());
  }

  void aFormulaReachesNothingOutside() {
    Katex katex;
    for (const char* tex : {"\\href{javascript:alert(1)}{x}", "\\url{http://h/a}", "\\htmlData{a=b}{x}",
                            "\\includegraphics{http://h/a.png}", "\\htmlStyle{color:red}{x}"}) {
      const QString markup = katex.set(tex, true).markup;
      for (const char* part : {"<a ", "href=", "<img", "data-", "src="})
        QVERIFY2(!markup.contains(part), qPrintable(markup));
    }
  }

  void whatMathJaxKnowsIsSet() {
    Katex katex;
    for (const char* tex :
         {"\\newcommand{\\R}{\\mathbb{R}}\\R^n", "\\begin{eqnarray}a&=&b\\\\c&=&d\\end{eqnarray}",
          "\\begin{multline}a\\\\b\\end{multline}", "\\begin{equation}\\label{eq:a}a=b\\end{equation}",
          "\\begin{displaymath}x\\end{displaymath}", "\\eqref{eq:a}"})
      QVERIFY2(katex.set(tex, true).error.isEmpty(), tex);
  }

  void latexOutputsAreFormulas_data() {
    QTest::addColumn<QString>("latex");
    QTest::newRow("sympy") << "$\\displaystyle \\frac{x}{2}$";
    QTest::newRow("bare") << "\\frac{x}{2}";
    QTest::newRow("environment") << "\\begin{align}x&=1\\\\y&=2\\end{align}";
  }
  void latexOutputsAreFormulas() {
    QFETCH(QString, latex);
    Window window(json::array({outputCell({{"text/latex", latex.toStdString()}, {"text/plain", "x/2"}})}));
    auto* output = window.output<RichOutput>();
    QVERIFY(output != nullptr);
    QTRY_VERIFY(output->ready());
    QTRY_COMPARE(output->view()->document()->toPlainText().trimmed(),
                 QString(QChar(QChar::ObjectReplacementCharacter)));
    QVERIFY(output->view()->toPlainText().contains(latex));
  }

  void htmlOutputsHaveFormulasOutsideCode() {
    const QString shown = textOf(
        *ready("<p>a $x^2 &lt; 1$ b</p><pre>$y$</pre><code>$z$</code>", RichText::Kind::html).document);
    QCOMPARE(shown.simplified(), "a $x^2 < 1$ b $y$ $z$");
    const QString raw = ready("<p>a $x^2$ b</p><pre>$y$</pre>", RichText::Kind::html).document->toPlainText();
    QVERIFY(!raw.contains("x^2") && raw.contains("$y$"));
  }

  void aTagStandsAtTheRightEndOfTheLine() {
    const RichDocument made = ready("$$E=mc^2\\tag{1}$$");
    const QTextLine line = made.document->begin().layout()->lineAt(0);
    QVERIFY(line.naturalTextWidth() > 500);
    QVERIFY(line.naturalTextWidth() <= 600);
  }

  void aLongFormulaInALineIsBrokenBetweenItsTerms() {
    const QString tex = "$" + QString("a_{12} + ").repeated(40) + "b$";
    const RichDocument made = ready(tex, RichText::Kind::markdown, 300);
    QVERIFY(made.document->begin().layout()->lineCount() > 3);
    QVERIFY(made.document->size().width() <= 301);
    QCOMPARE(textOf(*made.document), tex);
  }

  void formulasTakeTheColourAndSizeOfTheirText() {
    const auto inked = [](const RichDocument& made) {
      QImage image(600, 200, QImage::Format_RGB32);
      image.fill(Qt::white);
      QPainter painter(&image);
      QAbstractTextDocumentLayout::PaintContext context;
      context.palette.setColor(QPalette::Text, QColor(0, 0, 200));
      made.document->documentLayout()->draw(&painter, context);
      QRect area;
      bool blue = true;
      for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
          if (qGray(image.pixel(x, y)) < 200) {
            area |= QRect(x, y, 1, 1);
            blue = blue && qBlue(image.pixel(x, y)) >= qRed(image.pixel(x, y));
          }
      return std::pair(area, blue);
    };
    const auto [small, blue] = inked(ready("$M$"));
    const auto [large, alsoBlue] = inked(ready("# $M$"));
    QVERIFY(blue && alsoBlue);
    QVERIFY2(large.height() > 1.5 * small.height(),
             qPrintable(QString("%1 and %2").arg(small.height()).arg(large.height())));
  }
};

TAPEDECK_TEST(TestFormulas)
#include "tst_formulas.moc"
