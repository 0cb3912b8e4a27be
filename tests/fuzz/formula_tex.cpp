// The formulas of VJPs as TeX, which KaTeX can set.
#include "inspector/panels/vjp/formula_tex.h"

#include "inspector/ui/math/formula_layout.h"
#include "inspector/ui/math/katex.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/window.h"

using namespace tapedeck;
using namespace tapedeck::inspector;

namespace {

void check(const QString& tex) {
  int depth = 0;
  for (qsizetype i = 0; i < tex.size(); ++i) {
    if (tex[i] == '\\') {
      ++i;
      continue;
    }
    depth += tex[i] == '{' ? 1 : tex[i] == '}' ? -1 : 0;
    fuzz::expect(depth >= 0, "no brace ends what it did not begin");
  }
  fuzz::expect(depth == 0, "each brace ends");
  fuzz::expect(!texToCopy(tex).contains("\\allowbreak"), "what is copied says nothing of the ends of lines");
  if (tex.size() > Katex::longest_tex) return;
  static auto& katex = *new Katex;  // its engine does not end behind the application
  const Katex::Answer answer = katex.set(tex, false);
  if (!answer.error.isEmpty()) std::fprintf(stderr, "%s\n%s\n", qPrintable(tex), qPrintable(answer.error));
  fuzz::expect(answer.error.isEmpty(), "KaTeX sets what is written for it");
  fuzz::expect(layOutFormula(answer.markup, false).error.isEmpty(), "and it can be laid out");
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  static const std::vector<std::string> names = {"x", "logits", "data", "axis", "a_b"};
  may_refuse<protocol::FormulaError>(
      [&] { check(expressionTex(protocol::parse_expression(text_of(bytes), names))); });
  may_refuse<protocol::FormulaError>([&] {
    for (const auto& statement : protocol::parse_formula(text_of(bytes), names).statements)
      check(statementTex(statement));
  });
  const QString text = QString::fromUtf8(text_of(bytes).data(), static_cast<qsizetype>(bytes.size()));
  for (const bool gradient : {false, true}) check(symbolTex(text, gradient));
}
