#include "app/notebook/output/html/formula_macros.h"

#include <QRegularExpression>
#include <QSet>
#include <set>

#include "inspector/ui/math/katex.h"

namespace tapedeck::app {
namespace {

/// A command that defines the macro which it captures.
const QRegularExpression& definingCommand() {
  static const QRegularExpression command(
      R"(\\(?:(?:new|renew|provide)command|DeclareMathOperator|[gex]?def|let)(?![A-Za-z@])\*?\s*\{?\s*(\\(?:[A-Za-z@]+|[^A-Za-z@\s])))");
  return command;
}

QStringList namesDefinedBy(const QString& tex) {
  QStringList names;
  for (auto match = definingCommand().globalMatch(tex); match.hasNext();) names += match.next().captured(1);
  return names;
}

QStringList commandsIn(const QString& tex) {
  static const QRegularExpression command(R"(\\(?:[A-Za-z@]+|[^A-Za-z@\s]))");
  QStringList commands;
  for (auto match = command.globalMatch(tex); match.hasNext();) commands += match.next().captured();
  commands.removeDuplicates();
  return commands;
}

}  // namespace

FormulaMacros::FormulaMacros(const QStringList& before) {
  for (const QString& tex : before) add(tex);
}

void FormulaMacros::add(const QString& tex) {
  const QStringList names = namesDefinedBy(tex);
  if (names.isEmpty()) return;
  for (const QString& name : names) definedBy_[name].push_back(definitions_.size());
  definitions_.push_back({tex, commandsIn(tex)});
}

QStringList FormulaMacros::neededBy(const QString& tex) const {
  if (definitions_.empty()) return {};
  // One more than KaTeX is given says that there are too many.
  constexpr auto most = static_cast<std::size_t>(inspector::Katex::most_definitions);
  std::set<std::size_t> needed;
  QStringList waiting = commandsIn(tex);
  QSet<QString> seen(waiting.begin(), waiting.end());
  while (!waiting.isEmpty() && needed.size() <= most) {
    const auto found = definedBy_.constFind(waiting.takeLast());
    if (found == definedBy_.constEnd()) continue;
    for (const std::size_t index : *found) {
      if (needed.size() > most) break;
      if (!needed.insert(index).second) continue;
      for (const QString& command : definitions_[index].commands) {
        if (seen.contains(command)) continue;
        seen.insert(command);
        waiting += command;
      }
    }
  }
  QStringList result;
  for (const std::size_t index : needed) result += definitions_[index].tex;
  return result;
}

QStringList definingFormulas(const QString& markdown) {
  QStringList defining;
  if (!markdown.contains('\\') || !markdown.contains(definingCommand())) return defining;
  std::vector<Formula> formulas;
  extractFormulas(markdown, formulas);
  for (const Formula& formula : formulas)
    if (formula.tex.contains(definingCommand())) defining += formula.tex;
  return defining;
}

std::vector<inspector::FormulaSource> formulaSources(const std::vector<Formula>& formulas,
                                                     const QStringList& before) {
  FormulaMacros macros(before);
  std::vector<inspector::FormulaSource> sources;
  sources.reserve(formulas.size());
  for (const Formula& formula : formulas) {
    sources.push_back({formula.tex, formula.display, macros.neededBy(formula.tex)});
    macros.add(formula.tex);
  }
  return sources;
}

}  // namespace tapedeck::app
