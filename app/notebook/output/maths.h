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

struct Formula {
  QString tex;
  bool display = false;  ///< $$…$$: a line of its own
};

/// Markdown with each formula outside code replaced by formulaMark(index), which Markdown leaves alone.
QString extractFormulas(const QString& markdown, std::vector<Formula>& formulas);
QString formulaMark(std::size_t index);
/// Matches formulaMark; captures the index.
QString formulaPattern();

}  // namespace tapedeck::app
