// Macros that a formula defines hold in the formulas below it, whatever was rendered first; and what becomes
// of formulas where KaTeX is missing.
#include <QClipboard>
#include <QTextBlock>
#include <QtTest>

#include "app/notebook/output/formula_text.h"
#include "app/notebook/output/html/formula_macros.h"
#include "inspector/ui/math/formula_layout.h"
#include "inspector/ui/math/katex.h"
#include "tests/notebook/notebook_window.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using namespace tapedeck::inspector;
using nlohmann::json;

namespace {

QTextDocument* documentOf(const Window& window, int cell) {
  StaticText* text = window.cell(cell)->rendered();
  return text == nullptr ? nullptr : text->document();
}

/// No formula is being rendered, and none is shown as its source.
bool isSet(const Window& window, int cell) {
  return window.cell(cell)->richText() != nullptr && window.cell(cell)->richText()->ready() &&
         !documentOf(window, cell)->toPlainText().contains('$');
}

double lineWidth(const QTextDocument& document) {
  return document.begin().layout()->lineAt(0).naturalTextWidth();
}

QString errorOf(const Window& window, int cell) {
  return documentOf(window, cell)->find("$").charFormat().toolTip();
}

/// By double click and keys, as a user does.
void rewrite(Window& window, int cell, const QString& source) {
  QTest::mouseDClick(window.cell(cell)->rendered()->viewport(), Qt::LeftButton, Qt::NoModifier, {6, 8});
  QTRY_VERIFY(window.cell(cell)->hasEditorFocus());
  QGuiApplication::clipboard()->setText(source);
  Window::key(Qt::Key_A, Qt::ControlModifier);
  Window::key(Qt::Key_V, Qt::ControlModifier);
  Window::key(Qt::Key_Return, Qt::ControlModifier);
  QTRY_VERIFY(window.cell(cell)->rendered() != nullptr);
  QCOMPARE(window.document.cell(cell).source, source);
}

SetFormula setOf(const Katex::Answer& answer) {
  return answer.error.isEmpty() ? layOutFormula(answer.markup, true) : SetFormula();
}

QString lettersOf(const SetFormula& set) {
  QString letters;
  for (const FormulaInk& ink : set.whole(0).ink)
    if (const auto* glyphs = std::get_if<FormulaGlyphs>(&ink)) letters += glyphs->text;
  return letters;
}

}  // namespace

class TestFormulaMacros : public QObject {
  Q_OBJECT

 private slots:
  void aMacroHoldsInAllCellsBelowAndInTheirOutputs() {
    json outputs = json::array({{{"output_type", "display_data"},
                                 {"data", {{"text/latex", "$\\half$"}}},
                                 {"metadata", json::object()}}});
    Window window(json::array({markdownCell("above", "a $\\half$"),
                               markdownCell("defines", "b $\\newcommand{\\half}{\\frac12}\\half$ $\\half$"),
                               codeCell("code", "x", outputs), markdownCell("below", "c $\\half$")}));
    QTRY_VERIFY(isSet(window, 1) && isSet(window, 3));
    QTRY_VERIFY(errorOf(window, 0).contains("Undefined control sequence: \\half"));
    auto* output = window.output<RichOutput>(0, 2);
    QTRY_VERIFY(output->ready());
    QVERIFY(!output->view()->document()->toPlainText().contains('$'));
    // Copied, it is what was written.
    window.cell(3)->rendered()->selectAll();
    window.cell(3)->rendered()->copy();
    QCOMPARE(QGuiApplication::clipboard()->text(), "c $\\half$");
  }

  void aChangedMacroChangesTheFormulasThatUseItAlone() {
    Window window(json::array(
        {markdownCell("defines", "b $\\def\\rrr{R}\\def\\sss{S}$ end"), markdownCell("uses", "$\\rrr$"),
         markdownCell("through", "$\\gdef\\ttt{\\rrr\\rrr}\\ttt$"), markdownCell("other", "$Q$")}));
    QTRY_VERIFY(isSet(window, 0) && isSet(window, 1) && isSet(window, 2) && isSet(window, 3));
    const double one = lineWidth(*documentOf(window, 1)), two = lineWidth(*documentOf(window, 2));
    QTextDocument* other = documentOf(window, 3);
    rewrite(window, 0, "b $\\def\\rrr{RRRR}$ end");
    QTRY_VERIFY(isSet(window, 1) && lineWidth(*documentOf(window, 1)) > 2 * one);
    QTRY_VERIFY(isSet(window, 2) && lineWidth(*documentOf(window, 2)) > 2 * two);
    QCOMPARE(documentOf(window, 3), other);
    // Below the formula that uses it, it is none any more; back again, it is one.
    rewrite(window, 0, "no macro");
    QTRY_VERIFY(errorOf(window, 1).contains("\\rrr"));
    rewrite(window, 0, "b $\\def\\rrr{R}$ end");
    QTRY_VERIFY(isSet(window, 1));
    QCOMPARE(lineWidth(*documentOf(window, 1)), one);
  }

  void theOrderOfTheCellsDecidesNotThatOfRendering() {
    Window window(json::array({markdownCell("first", "$\\def\\A{x}$"),
                               markdownCell("second", "$\\def\\A{xxxxxx}$"), markdownCell("uses", "$\\A$")}));
    QTRY_VERIFY(isSet(window, 2));
    const double wide = lineWidth(*documentOf(window, 2));
    // The first one is rendered once more, later than the second.
    rewrite(window, 0, "$\\def\\A{y}$");
    QTRY_VERIFY(isSet(window, 0));
    QTRY_VERIFY(isSet(window, 2));
    QCOMPARE(lineWidth(*documentOf(window, 2)), wide);
    // Moved up by keys, the second one comes first.
    window.view.setFocus();
    window.view.setCurrentCell(1, false);
    Window::key(Qt::Key_Up, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(window.document.cell(0).id, "second");
    QTRY_VERIFY(isSet(window, 2) && lineWidth(*documentOf(window, 2)) < wide / 2);
    // Deleted, the other one alone is left.
    window.view.setCurrentCell(1, false);
    Window::key(Qt::Key_D);
    Window::key(Qt::Key_D);
    QCOMPARE(window.document.cellCount(), 2);
    QTRY_VERIFY(isSet(window, 1) && lineWidth(*documentOf(window, 1)) == wide);
  }

  void aFormulaNeedsOnlyTheDefinitionsThatItUses() {
    FormulaMacros macros({"\\def\\a{1}", "\\newcommand{\\b}[2]{\\a #1#2}", "x", "\\let\\c=\\b",
                          "\\DeclareMathOperator*{\\argmax}{arg\\,max}", "\\left(\\letter"});
    QCOMPARE(macros.neededBy("x^2"), QStringList());
    QCOMPARE(macros.neededBy("\\a"), QStringList{"\\def\\a{1}"});
    QCOMPARE(macros.neededBy("\\ab+\\left("), QStringList());
    QCOMPARE(macros.neededBy("\\c{x}{y}"),
             (QStringList{"\\def\\a{1}", "\\newcommand{\\b}[2]{\\a #1#2}", "\\let\\c=\\b"}));
    QCOMPARE(macros.neededBy("\\argmax_x"), QStringList{"\\DeclareMathOperator*{\\argmax}{arg\\,max}"});
    QCOMPARE(definingFormulas("`$\\def\\a{1}$` and $\\def\\b{2}$, $x$ \\def\\c{3}"),
             QStringList{"\\def\\b{2}"});
    QCOMPARE(formulaSources({{"\\def\\a{1}", false, {}}, {"\\a", true, {}}}, {})[1],
             (FormulaSource{"\\a", true, {"\\def\\a{1}"}}));
  }

  void whatMathJaxKnowsOfMacrosIsKnown_data() {
    QTest::addColumn<QStringList>("before");
    QTest::addColumn<QString>("tex");
    QTest::addColumn<QString>("letters");
    QTest::newRow("arguments") << QStringList{"\\newcommand{\\f}[2]{#2+#1}"} << "\\f{a}{b}"
                               << "b+a";
    QTest::newRow("default") << QStringList{"\\newcommand\\f[2][x]{#2+#1}"} << "\\f{a}\\f[b]{c}"
                             << "a+xc+b";
    QTest::newRow("def") << QStringList{"\\def\\f#1#2{#2#1}"} << "\\f ab"
                         << "ba";
    QTest::newRow("in a group") << QStringList{"{\\def\\f{a}}"} << "\\f"
                                << "a";
    QTest::newRow("gdef") << QStringList{"\\gdef\\f{a}"} << "\\f"
                          << "a";
    QTest::newRow("let") << QStringList{"\\def\\f{a}\\let\\g=\\f", "\\def\\f{b}"} << "\\g\\f"
                         << "ab";
    QTest::newRow("again") << QStringList{"\\newcommand{\\f}{a}", "\\newcommand{\\f}{b}"} << "\\f"
                           << "b";
    QTest::newRow("provided") << QStringList{"\\newcommand{\\f}{a}", "\\providecommand{\\f}{b}"} << "\\f"
                              << "a";
    QTest::newRow("renewed") << QStringList{"\\renewcommand{\\bar}[1]{#1#1}"} << "\\bar a"
                             << "aa";
    QTest::newRow("operator") << QStringList{"\\DeclareMathOperator{\\tr}{tr}"} << "\\tr A"
                              << "trA";
    QTest::newRow("require") << QStringList{"\\require{AMSmath}"} << "a"
                             << "a";
    QTest::newRow("broken before") << QStringList{"\\def\\f{a}\\unknown", "\\newcommand{"} << "\\f"
                                   << "a";
  }
  void whatMathJaxKnowsOfMacrosIsKnown() {
    QFETCH(QStringList, before);
    QFETCH(QString, tex);
    QFETCH(QString, letters);
    Katex katex;
    const Katex::Answer answer = katex.set(tex, true, Katex::longest_time, before);
    QCOMPARE(answer.error, QString());
    QCOMPARE(lettersOf(setOf(answer)), letters);
    QVERIFY(!katex.set("\\f\\tr", true).error.isEmpty());  // they do not stay
  }

  void badDefinitionsHaveAnError() {
    Katex katex;
    QCOMPARE(katex.set("\\newcommand{x}{y}", true).error, "'x' is not a macro name");
    QCOMPARE(katex.set("\\newcommand{\\a}[n]{y}", true).error, "'n' is not a number of arguments");
    const QStringList endless = {"\\newcommand{\\a}{\\a\\a}"};
    QVERIFY(katex.set("\\a", true, Katex::longest_time, endless).error.contains("Too many expansions"));
    const QStringList large(7, "\\def\\a{1}" + QString("x").repeated(19'000));
    QVERIFY(katex.set("\\a", true, Katex::longest_time, large).error.contains("more than 100000"));
    // However many formulas define and use a macro, each is looked at with a few of them alone.
    std::vector<Formula> formulas(5'000, {"\\def\\a{\\a}", false, {}});
    const auto sources = formulaSources(formulas, {});
    QCOMPARE(sources.back().before.size(), Katex::most_definitions + 1);
    QVERIFY(katex.set("\\a", true, Katex::longest_time, sources.back().before)
                .error.contains("more than 100 formulas"));
  }

  // MathJax's `tags` is none in JupyterLab: equations have the numbers alone that \tag gives them.
  void environmentsAreNotNumbered() {
    Katex katex;
    for (const char* tex : {"\\begin{align}a&=b\\label{x}\\\\c&=d\\end{align}",
                            "\\begin{equation}a=b\\end{equation}", "\\begin{gather}a\\\\b\\end{gather}"}) {
      const SetFormula set = setOf(katex.set(tex, true));
      QVERIFY2(!set.lines.empty() && !set.hasTag(), tex);
      QVERIFY2(!lettersOf(set).contains('1'), tex);
    }
    QVERIFY(setOf(katex.set("\\begin{equation}a=b\\tag{7}\\end{equation}", true)).hasTag());
  }

  void pmbIsBold() {
    Katex katex;
    const auto ink = [&](const char* tex) {
      QImage image(80, 80, QImage::Format_RGB32);
      image.fill(Qt::white);
      QPainter painter(&image);
      setOf(katex.set(tex, true)).whole(0).paint(painter, {10, 60}, 60, Qt::black);
      painter.end();
      int dark = 0;
      for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) dark += 255 - qGray(image.pixel(x, y));
      return dark;
    };
    const int plain = ink("x"), bold = ink("\\pmb{x}");
    QVERIFY2(bold > plain * 1.15, qPrintable(QString("%1 and %2").arg(bold).arg(plain)));
    QVERIFY2(ink("\\pmb{} x") == plain, "\\pmb holds for its argument alone");
  }

  void withoutKatexFormulasAreTheirSourceAndThePackagesAreNamed() {
    qputenv("TAPEDECK_KATEX", "/nowhere");
    const auto restore = qScopeGuard([] { qunsetenv("TAPEDECK_KATEX"); });
    const QString source = "The fraction $\\frac{a}{b}$ and\n\n$$\\sqrt{x}$$";
    Window window(json::array({markdownCell("m", source.toStdString()), markdownCell("n", "no formula")}));
    QTRY_VERIFY(window.cell(0)->richText()->ready());
    QCOMPARE(window.cell(0)->rendered()->toPlainText(), "The fraction $\\frac{a}{b}$ and\n$$\\sqrt{x}$$");
    QCOMPARE(window.cell(0)->richText()->told(),
             "Formulas are shown as their source until you install the Debian packages libjs-katex and "
             "fonts-katex.");
    QCOMPARE(window.cell(1)->richText()->told(), QString());
    // It is no error of the formula.
    const QTextCharFormat format = documentOf(window, 0)->find("frac").charFormat();
    QCOMPARE(format.underlineStyle(), QTextCharFormat::NoUnderline);
    QVERIFY(format.toolTip().isEmpty());
    QCOMPARE(Katex().set("x", false).error, window.cell(0)->richText()->told());
  }
};

TAPEDECK_TEST(TestFormulaMacros)
#include "tst_formula_macros.moc"
