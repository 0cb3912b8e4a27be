// Markdown with HTML and formulas in it: laid out as a notebook shows it.
#include "app/notebook/output/html/maths.h"
#include "app/notebook/output/rich_document.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/window.h"

using namespace tapedeck::app;

void fuzz::parse(Bytes bytes) {
  const QString markdown = QString::fromUtf8(text_of(bytes).data(), static_cast<qsizetype>(bytes.size()));
  plainMath(markdown);
  std::vector<Formula> formulas;
  const QString extracted = extractFormulas(markdown, formulas);
  QString marksRemoved = markdown;
  marksRemoved.remove(QChar(0xe000)).remove(QChar(0xe001));
  expect(restoreFormulas(extracted, formulas) == marksRemoved, "formulas come back to their places");
  const RichDocument shown =
      makeRichDocument({RichText::Kind::markdown, markdown, {}, {}}, {theme(), 600}, {});
  expect(shown.document != nullptr, "Markdown becomes a document");
}
