// Markdown with HTML and formulas in it: laid out as a notebook shows it.
#include "app/notebook/output/html/formula_macros.h"
#include "app/notebook/output/html/maths.h"
#include "app/notebook/output/rich_document.h"
#include "inspector/ui/math/formula_layout.h"
#include "inspector/ui/math/katex.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/window.h"

using namespace tapedeck::app;

namespace {

/// What each formula needs is before it, in their order.
void check_macros(const std::vector<tapedeck::inspector::FormulaSource>& sources, const QStringList& before) {
  QStringList known = before;
  for (const auto& source : sources) {
    qsizetype at = 0;
    for (const QString& needed : source.before) {
      at = known.indexOf(needed, at);
      fuzz::expect(at >= 0, "a macro is defined before it is needed");
      ++at;
    }
    known << source.tex;
  }
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  const QString markdown = QString::fromUtf8(text_of(bytes).data(), static_cast<qsizetype>(bytes.size()));
  plainMath(markdown);
  std::vector<Formula> formulas;
  const QString extracted = extractFormulas(markdown, formulas);
  QString marksRemoved = markdown;
  marksRemoved.remove(QChar(0xe000)).remove(QChar(0xe001));
  // KaTeX alone takes its time for each; what it returns is laid out whatever it is.
  static auto& katex = *new tapedeck::inspector::Katex;  // its engine does not end behind the application
  tapedeck::inspector::SetFormulas set;
  constexpr std::size_t most_formulas = 8;
  const QStringList defining = definingFormulas(markdown);
  check_macros(formulaSources(formulas, defining), defining);
  for (const auto& source : formulaSources(formulas, {})) {
    if (set.size() >= static_cast<qsizetype>(most_formulas)) break;
    const auto answer =
        katex.set(source.tex, source.display, tapedeck::inspector::Katex::longest_time, source.before);
    expect(answer.error.isEmpty() != answer.markup.isEmpty(), "a formula has boxes or an error");
    auto layout = tapedeck::inspector::layOutFormula(answer.markup, source.display);
    if (answer.error.isEmpty())
      set[source] = std::make_shared<const tapedeck::inspector::SetFormula>(std::move(layout));
  }
  tapedeck::inspector::layOutFormula(markdown, true);
  expect(restoreFormulas(extracted, formulas) == marksRemoved, "formulas come back to their places");
  const RichDocument shown =
      makeRichDocument({RichText::Kind::markdown, markdown, {}, {}, set}, {theme(), 600}, {});
  expect(shown.document != nullptr, "Markdown becomes a document");
}
