// VJPs' formulas as TeX: what KaTeX gets, that it can set all of them, and how they are broken into lines.
#include <QtTest>

#include "engine/debug/vjp/bound_formula.h"
#include "inspector/panels/vjp/formula_tex.h"
#include "inspector/panels/vjp/sheet_formula.h"
#include "inspector/ui/math/formula_layout.h"
#include "inspector/ui/math/katex.h"
#include "tests/test_program.h"

using namespace tapedeck::inspector;
namespace engine = tapedeck;

namespace {

QString tex(const char* expression, const std::vector<std::string>& names = {}) {
  return expressionTex(engine::protocol::parse_expression(expression, names));
}

/// Why it can't be set; empty: it is.
QString problemOf(Katex& katex, const QString& formula) {
  const Katex::Answer answer = katex.set(formula, false);
  if (!answer.error.isEmpty()) return answer.error;
  const SetFormula set = layOutFormula(answer.markup, false);
  return !set.error.isEmpty()                    ? set.error
         : set.lines.size() != 1 || set.hasTag() ? QString("it has several lines")
         : set.lines.front().empty()             ? QString("it shows nothing")
                                                 : QString();
}

}  // namespace

class TestFormulaTex : public QObject {
  Q_OBJECT

 private slots:
  void anExpressionBecomesTex_data() {
    QTest::addColumn<QString>("expected");
    QTest::newRow("dC·Bᵀ") << "\\mathrm{d}C\\cdot B^{\\top }";
    QTest::newRow("A⁻ᵀ·dX") << "A^{-\\top }\\cdot \\mathrm{d}X";
    QTest::newRow("−dz·z / y") << "-\\dfrac{\\mathrm{d}z\\cdot z}{y}";
    QTest::newRow("dz / √(1 − x²)") << "\\dfrac{\\mathrm{d}z}{\\sqrt{1-x^{2}}}";
    QTest::newRow("dz·(½ / x)") << "\\mathrm{d}z\\cdot \\left(\\dfrac{\\tfrac{1}{2}}{x}\\right)";
    QTest::newRow("e^(−x²)") << "e^{-x^{2}}";
    QTest::newRow("Πⱼ≠ᵢ xⱼ") << "\\prod _{j\\ne i}x_{j}";
    QTest::newRow("Σₖ dC[1,k]·B[1,k]") << "\\sum _{k}\\mathrm{d}C[1{,}k]\\cdot B[1{,}k]";
    QTest::newRow("d(logits)·sigmoid(−x)")
        << "\\mathrm{d}(\\mathrm{logits})\\cdot \\operatorname{sigmoid}(-x)";
    QTest::newRow("Fᵢⱼ = 1 / (sⱼ² − sᵢ²)") << "F_{ij}=\\dfrac{1}{s_{j}^{2}-s_{i}^{2}}";
    QTest::newRow("dz·ln x") << "\\mathrm{d}z\\cdot \\ln x";
    QTest::newRow("dx1 − x2ᵢ") << "\\mathrm{d}x_{1}-{x_{2}}_{i}";
    QTest::newRow("dz where x > 0, else 0")
        << "\\mathrm{d}z\\ \\allowbreak \\text{where}\\ \\allowbreak x\\gt 0,\\ \\allowbreak \\text{else}\\ "
           "\\allowbreak 0";
    QTest::newRow("dz·⌊x / y⌋·|x|")
        << "\\mathrm{d}z\\cdot \\left\\lfloor \\dfrac{x}{y}\\right\\rfloor \\cdot \\lvert x\\rvert ";
    QTest::newRow("dC[2,17]·(−1.5e-07) = 3e+05")
        << "\\mathrm{d}C[2{,}17]\\cdot (-1.5\\mathrm{e}{-}07)=3\\mathrm{e}{+}05";
    QTest::newRow("φ(x)·Φ'") << "\\varphi (x)\\cdot \\Phi {}'";
  }
  void anExpressionBecomesTex() {
    QFETCH(QString, expected);
    QCOMPARE(tex(QTest::currentDataTag()), expected);
    Katex katex;
    QCOMPARE(problemOf(katex, expected), QString());
  }

  void namesStandUprightAndAreNoCommands() {
    QCOMPARE(tex("recurrent_kernel·alpha", {"recurrent_kernel", "alpha"}),
             "\\mathrm{recurrent\\_kernel}\\cdot \\mathrm{alpha}");
    // A mark that KaTeX knows as no accent.
    Katex katex;
    QCOMPARE(problemOf(katex, symbolTex(QString::fromUtf8("wei\u0334ght"), true)), QString());
    QCOMPARE(symbolTex("x", true), "\\mathrm{d}x");
    QCOMPARE(symbolTex("logits", true), "\\mathrm{d}(\\mathrm{logits})");
    QCOMPARE(texToCopy(tex("a where b")), "a\\ \\text{where}\\ b");
  }

  void katexSetsEveryFormulaOfTheRegistry() {
    Katex katex;
    QStringList wrong;
    int set = 0;
    for (std::size_t i = 0; i < engine::Registry::instance().size(); ++i) {
      const engine::OpDef& op = engine::Registry::instance().at(static_cast<int>(i));
      if (op.name.starts_with("test_") || !op.vjp) continue;
      const auto bound = engine::debug::bind_formula(op, std::max<std::size_t>(1, op.inputs.size()),
                                                     std::max<std::size_t>(1, op.results.fields.size()));
      for (const auto& statement : engine::protocol::parse_formula(op.vjp_formula, bound.names).statements) {
        const QString formula = statementTex(statement);
        const QString problem = problemOf(katex, formula);
        if (!problem.isEmpty()) wrong << QString::fromStdString(op.name) + ": " + formula + ": " + problem;
        ++set;
      }
    }
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
    QVERIFY2(set > 150, qPrintable(QString::number(set)));
  }

  void aFormulaIsBrokenIntoLinesThatFit_data() {
    QTest::addColumn<double>("width");
    QTest::newRow("wide") << 900.0;
    QTest::newRow("dock") << 260.0;
    QTest::newRow("narrow") << 120.0;
  }
  void aFormulaIsBrokenIntoLinesThatFit() {
    QFETCH(double, width);
    const QString formula = tex(
        "dz·2(x − mean) / n + dz·(softmax(logits)·Σ labels − labels) put back to where the values came from",
        {"mean", "logits", "labels"});
    Katex katex;
    auto set = std::make_shared<const SetFormula>(layOutFormula(katex.set(formula, false).markup, false));
    const QFont font = QApplication::font();
    double bottom = 0;
    const std::vector<FormulaLine> lines = breakFormula(set, font, formulaEm(font), {10, 20}, width, bottom);
    QVERIFY(!lines.empty());
    if (width > 500)
      QCOMPARE(lines.size(), std::size_t{1});
    else
      QVERIFY(lines.size() > 1);
    std::size_t next = 0;
    double above = 20;
    for (const FormulaLine& line : lines) {
      QCOMPARE(line.first, next);
      next = line.end;
      QVERIFY(line.end > line.first);
      QVERIFY2(line.baseline.x() - 10 + widthOf(line) <= width + 0.01,
               qPrintable(QString::number(widthOf(line))));
      QVERIFY(line.baseline.y() > above);
      above = line.baseline.y();
    }
    QCOMPARE(next, set->lines.front().size());
    QVERIFY(bottom > above);
  }

  void aLargerFontMakesLargerFormulas() {
    QFont font = QApplication::font();
    font.setPixelSize(12);
    const double small = formulaEm(font);
    font.setPixelSize(24);
    QCOMPARE(formulaEm(font), 2 * small);
  }
};

TAPEDECK_TEST(TestFormulaTex)
#include "tst_formula_tex.moc"
