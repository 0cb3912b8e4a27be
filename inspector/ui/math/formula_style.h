// What KaTeX's style sheet says about its elements, as far as it moves or changes what is painted.
#pragma once

#include <QColor>

#include "inspector/ui/math/formula_fonts.h"
#include "inspector/ui/math/formula_markup.h"

namespace tapedeck::inspector {

/// What an element passes on to its children.
struct FormulaStyle {
  enum class Align { left, center, right };
  double size = 1;  ///< of the letters, in the formula's em
  FormulaFamily family = FormulaFamily::main;
  bool bold = false, italic = false;
  bool hidden = false;  ///< takes its room and shows nothing
  QColor color;         ///< not valid: the text's
  QPointF shadow;       ///< of the letters, in the formula's em
  Align align = Align::left;
};

FormulaStyle styleOf(const FormulaElement& element, const FormulaElement* parent, FormulaStyle inherited);

/// Lengths of the element in its own em.
struct FormulaMargins {
  double left = 0, right = 0;                ///< outside
  double leftPadding = 0, rightPadding = 0;  ///< inside
};
FormulaMargins marginsOf(const FormulaElement& element, const FormulaElement* parent);

/// As wide as what it is in: lines of fractions, roots, arrows, frames.
bool fillsWidth(const FormulaElement& element);

}  // namespace tapedeck::inspector
