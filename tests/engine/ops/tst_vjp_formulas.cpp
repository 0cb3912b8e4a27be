// The formulas of the registry can be read, and say what each of their symbols stands for.
#include <QtTest>
#include <map>
#include <random>
#include <set>

#include "engine/debug/vjp/bound_formula.h"
#include "engine/protocol/formula.h"
#include "tests/test_program.h"

using namespace tapedeck;
using protocol::Formula;
using protocol::FormulaError;
using protocol::FormulaNode;
using protocol::FormulaStatement;
using Kind = FormulaNode::Kind;

namespace {

/// The tree as text: kinds by a letter, parts in brackets.
std::string tree(const FormulaNode& node) {
  const char* letters[] = {"", "s:", "d:", "", "w:", "", "group", "frac", "root", "sup", "sub"};
  std::string text = letters[static_cast<std::size_t>(node.kind)] + node.text;
  if (node.parts.empty()) return text;
  text += "{";
  for (std::size_t i = 0; i < node.parts.size(); ++i) text += (i ? " " : "") + tree(node.parts[i]);
  return text + "}";
}

std::string tree(std::string_view expression, const std::vector<std::string>& names = {}) {
  return tree(protocol::parse_expression(expression, names));
}

void collect_gradients(const FormulaNode& node, std::set<std::string>& names) {
  if (node.kind == Kind::gradient) names.insert(node.text);
  for (const FormulaNode& part : node.parts) collect_gradients(part, names);
}

std::string refusal(std::string_view formula) {
  try {
    protocol::parse_formula(formula);
    return {};
  } catch (const FormulaError& error) {
    return error.what();
  }
}

}  // namespace

class TestVjpFormulas : public QObject {
  Q_OBJECT
 private slots:
  void every_formula_of_the_registry_can_be_read_and_leaves_no_symbol_open() {
    QStringList wrong;
    int read = 0;
    for (std::size_t i = 0; i < Registry::instance().size(); ++i) {
      const OpDef& op = Registry::instance().at(static_cast<int>(i));
      if (op.name.starts_with("test_")) continue;
      const std::size_t outputs = std::max<std::size_t>(1, op.results.fields.size());
      const debug::BoundFormula bound =
          debug::bind_formula(op, std::max<std::size_t>(1, op.inputs.size()), outputs);
      for (const std::string& problem : bound.problems)
        wrong << QString::fromStdString(op.name + " | " + op.vjp_formula + " | " + problem);
      if (!op.vjp) continue;
      ++read;
      if (bound.formula.statements.empty()) wrong << QString::fromStdString(op.name + ": no statement");
    }
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
    QVERIFY(read > 100);
  }

  // dy must not be the gradient of the input y here and what came in for the output y there.
  void a_gradient_stands_for_an_input_or_an_output_in_all_formulas_alike() {
    std::map<std::string, std::set<std::string>> of_inputs, of_outputs;
    QStringList wrong;
    int cotangents = 0;
    for (std::size_t i = 0; i < Registry::instance().size(); ++i) {
      const OpDef& op = Registry::instance().at(static_cast<int>(i));
      if (op.name.starts_with("test_") || !op.vjp) continue;
      const std::size_t inputs = std::max<std::size_t>(1, op.inputs.size());
      const std::size_t outputs = std::max<std::size_t>(1, op.results.fields.size());
      const debug::BoundFormula bound = debug::bind_formula(op, inputs, outputs);
      for (std::size_t k = 0; k < inputs; ++k)
        if (bound.gradient_of(k)) of_inputs[bound.subjects[k]].insert(op.name);
      std::set<std::string> named;  // cotangents that the formula has
      for (const FormulaStatement& statement : bound.formula.statements)
        collect_gradients(statement.right, named);
      for (const std::string& output : bound.outputs) {
        const bool declared =
            std::any_of(op.results.fields.begin(), op.results.fields.end(),
                        [&](const std::string& field) { return field.size() > 1 && field == output; });
        if (!declared) of_outputs[output].insert(op.name);  // d(mean) is that of the mean wherever it is
        cotangents += named.contains(output);
        const bool capital = output.size() == 1 && output[0] >= 'A' && output[0] <= 'Z';
        if (op.results.fields.empty() && output != "z" && !capital)
          wrong << QString::fromStdString(op.name + " calls its output " + output + ": " + op.vjp_formula);
      }
      // An input or output that is called as a gradient is.
      std::vector<std::string> declared = op.results.fields;
      for (const InputSpec& input : op.inputs) declared.push_back(input.name);
      for (const std::string& name : declared)
        if (name[0] == 'd' && (name.size() == 2 ||
                               std::find(declared.begin(), declared.end(), name.substr(1)) != declared.end()))
          wrong << QString::fromStdString(op.name + ": " + name + " is called as a gradient");
    }
    for (const auto& [symbol, ops] : of_outputs)
      if (const auto input = of_inputs.find(symbol); input != of_inputs.end())
        wrong << QString::fromStdString("d" + symbol + " is what comes in at " + *ops.begin() +
                                        " and the gradient of an input of " + *input->second.begin());
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
    QVERIFY(cotangents > 100);
    const debug::BoundFormula custom = debug::bind_call(nullptr, 2, 1);
    QCOMPARE(custom.outputs, std::vector<std::string>{"z"});
  }

  void an_expression_becomes_a_tree() {
    QCOMPARE(tree("dC·Bᵀ"), std::string("{d:C · sup{s:B {s:T}}}"));
    QCOMPARE(tree("−dz·z / y"), std::string("{− frac{{d:z · s:z} s:y}}"));
    QCOMPARE(tree("dy·2/n·(x − 1)"), std::string("{d:y · frac{{2} s:n} · group({{s:x − 1}}}"));
    QCOMPARE(tree("dy / √(1 − x²)"), std::string("{frac{{d:y} root{group({{1 − sup{s:x {2}}}}}}}"));
    QCOMPARE(tree("e^(−x²)"), std::string("{sup{s:e {− sup{s:x {2}}}}}"));
    QCOMPARE(tree("Πⱼ≠ᵢ xⱼ"), std::string("{sub{Π {s:j ≠ s:i}} sub{s:x {s:j}}}"));
    QCOMPARE(tree("d(logits)·sigmoid(−x)"), std::string("{d:logits · {w:sigmoid group({{− s:x}}}}"));
    QCOMPARE(tree("dy·cos x"), std::string("{d:y · {w:cos s:x}}"));
    QCOMPARE(tree("alpha·dy where x > 0", {"alpha"}), std::string("{s:alpha · d:y w:where s:x > 0}"));
    QCOMPARE(tree("dC[2,17]·(−1.5e-07)"), std::string("{{d:C group[{{2 , 17}}} · group({{− 1.5e-07}}}"));
  }

  void a_formula_becomes_statements() {
    const Formula formula = protocol::parse_formula(
        "with A matrix, B rhs: dB = A⁻ᵀ·dX, dA = −dB·S, S = B, but 1 where B = 0; "
        "Φ: half of it, none for c and d2");
    QStringList kinds;
    for (const FormulaStatement& statement : formula.statements)
      kinds << QString("%1 %2").arg(static_cast<int>(statement.kind)).arg(statement.subject.c_str());
    QCOMPARE(kinds, QStringList({"3 A", "3 B", "0 B", "0 A", "1 S", "2 Φ", "4 "}));
    QCOMPARE(formula.statements[1].input, std::string("rhs"));
    QCOMPARE(formula.statements.back().names, (std::vector<std::string>{"c", "d2"}));
    QVERIFY(protocol::parse_formula("none").statements.empty());
  }

  void what_is_no_formula_is_refused_with_its_place() {
    QCOMPARE(refusal("dx = (dy"), std::string("formula 'dx = (dy', position 5: a bracket is not closed"));
    QCOMPARE(refusal("dx = dy)"), std::string("formula 'dx = dy)', position 7: a bracket closes nothing"));
    QCOMPARE(refusal("dx = [dy)"),
             std::string("formula 'dx = [dy)', position 8: another bracket was opened"));
    QCOMPARE(refusal("dx = dy / "), std::string("formula 'dx = dy / ', position 8: a fraction lacks a side"));
    QCOMPARE(refusal("dx = "), std::string("formula 'dx = ', position 3: nothing follows"));
    QCOMPARE(refusal("dx = dy § 2"),
             std::string("formula 'dx = dy § 2', position 8: this character cannot occur in a formula"));
    QCOMPARE(refusal("dx = ²"),
             std::string("formula 'dx = ²', position 5: a superscript or subscript has no base"));
    QCOMPARE(refusal(""), std::string("a formula is empty"));
  }

  void whatever_the_text_it_is_read_or_refused() {
    std::mt19937 random(11);
    int refused = 0, rounds = 0;
    const std::string parts[] = {"(", ")", "[",  "|", "√", "^",     "/",         " / ", "ᵀ", "ᵢ",
                                 "≠", "d", "dx", "=", ",", "with ", "none for ", ":",   "⌊"};
    for (std::size_t i = 0; i < Registry::instance().size(); ++i) {
      const std::string whole = Registry::instance().at(static_cast<int>(i)).vjp_formula;
      for (std::size_t size = 0; size < whole.size(); ++size) refusal(whole.substr(0, size));
      for (int k = 0; k < 40; ++k, ++rounds) {
        std::string text = whole;
        for (unsigned n = 0; n <= random() % 3; ++n)
          text.insert(random() % (text.size() + 1), parts[random() % std::size(parts)]);
        refused += !refusal(text).empty();
      }
    }
    QVERIFY(refused > rounds / 10);
    const std::string deep = "dx = " + std::string(100'000, '(') + "1" + std::string(100'000, ')');
    QVERIFY(refusal(deep).find("nested too deeply") != std::string::npos);
    std::string roots = "dx = ";
    for (int i = 0; i < 100'000; ++i) roots += "√";
    QVERIFY(refusal(roots + "2").find("nested too deeply") != std::string::npos);
  }
};

TAPEDECK_TEST(TestVjpFormulas)
#include "tst_vjp_formulas.moc"
