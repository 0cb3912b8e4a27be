// TeX formulas as plain text with superscripts and subscripts: legible, not typeset.
#pragma once

#include <QString>
#include <vector>

namespace tapedeck::app {

struct MathRun {
  QString text;
  bool italic = false;
  int level = 0;  ///< 1: superscript, -1: subscript
  bool operator==(const MathRun&) const = default;
};

/// `tex`: what stands between the dollars. Commands that are not known keep their name.
std::vector<MathRun> formatMath(const QString& tex);

/// The same as plain text: Unicode's raised and lowered signs where it has them.
QString plainMath(const QString& tex);

struct Formula {
  QString tex;
  bool display = false;  ///< $$…$$: a line of its own
  QString source;        ///< with what delimits it
};

/// Markdown with each formula outside code replaced by a mark that Markdown leaves alone: formulaMark(index).
/// Besides the dollars, \begin{…} and \end{…} of TeX's environments for formulas delimit one.
QString extractFormulas(const QString& markdown, std::vector<Formula>& formulas);
QString formulaMark(std::size_t index);
/// The mark that `text` has at or behind `from`: its position and length, and the formula's index. Length 0:
/// none.
struct FoundMark {
  qsizetype position = 0;
  qsizetype length = 0;
  std::size_t index = 0;
};
FoundMark findFormulaMark(QStringView text, qsizetype from, std::size_t formulas);
/// With the formulas' sources in the marks' places.
QString restoreFormulas(const QString& text, const std::vector<Formula>& formulas);

}  // namespace tapedeck::app
