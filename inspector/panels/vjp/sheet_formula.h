// Formulas in the sheet of the VJP: asked for, broken into lines, painted.
#pragma once

#include <QFont>
#include <QRectF>
#include <vector>

#include "inspector/ui/math/formula_setter.h"

namespace tapedeck::inspector {

/// Boxes of a formula side by side.
struct FormulaLine {
  QPointF baseline;
  double em = 0;  ///< pixels; smaller than elsewhere where one box is wider than the room
  std::size_t first = 0, end = 0;
  SharedFormula set;
};

struct SheetFormula {
  QRectF rect;
  QString text;  ///< readable without being rendered: for screen readers, and where KaTeX is missing
  QString tex;   ///< to be copied
  /// Empty: it is not rendered, and `text` is shown.
  std::vector<FormulaLine> lines;
};

/// Finds formulas that are rendered already, and collects the others.
class FormulaFinder {
 public:
  explicit FormulaFinder(const SetFormulas& set) : set_(set) {}

  /// Null: not set yet, or it can't be.
  SharedFormula find(const QString& tex);
  std::vector<FormulaSource> takeUnset() { return std::exchange(unset_, {}); }

 private:
  const SetFormulas& set_;
  std::vector<FormulaSource> unset_;
};

/// Letters of a formula beside text of this font, in pixels.
double formulaEm(const QFont& font);

/// Lines no wider than `width`, the first one's top left corner at `at`; those that follow are indented.
/// `bottom`: where the last one ends.
std::vector<FormulaLine> breakFormula(const SharedFormula& set, const QFont& font, double em, QPointF at,
                                      double width, double& bottom);
double widthOf(const FormulaLine& line);

void paintFormula(QPainter& painter, const SheetFormula& formula, const QColor& color);

}  // namespace tapedeck::inspector
