// Formulas set in type: fractions, roots, raised and lowered letters, brackets that grow.
#pragma once

#include <QFont>
#include <QLineF>
#include <QPointF>
#include <QString>
#include <vector>

#include "engine/protocol/formula.h"

class QPainter;

namespace tapedeck::inspector {

/// What is to be drawn, around the left end of its baseline.
struct FormulaBox {
  struct Letters {
    QPointF at;  ///< baseline
    QString text;
    QFont font;
  };
  double width = 0, ascent = 0, descent = 0;
  std::vector<Letters> letters;
  std::vector<QLineF> lines;

  double height() const { return ascent + descent; }
  /// With the pen's colour.
  void draw(QPainter& painter, QPointF baseline) const;
  /// Adds another one at this offset.
  void add(const FormulaBox& other, QPointF offset);
};

FormulaBox formulaBox(const protocol::FormulaNode& node, const QFont& font);

/// The formula, a statement a line and more where it would be wider than `width`.
std::vector<FormulaBox> formulaLines(const protocol::Formula& formula, const QFont& font, double width);
/// An expression that is broken the same way.
std::vector<FormulaBox> expressionLines(const protocol::FormulaNode& expression, const QFont& font,
                                        double width);

}  // namespace tapedeck::inspector
