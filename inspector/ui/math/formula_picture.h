// A rendered formula: glyphs, rules and outlines around its baseline, ready to be painted at any size.
#pragma once

#include <QColor>
#include <QHashFunctions>
#include <QPainterPath>
#include <QPointF>
#include <QRectF>
#include <QString>
#include <QStringList>
#include <memory>
#include <variant>
#include <vector>

class QPainter;

namespace tapedeck::inspector {

/// What was written: the TeX between the dollars, on a line of its own or in a line of text. `before`: the
/// formulas that define macros which this one uses, in their order: of others it does not depend.
struct FormulaSource {
  QString tex;
  bool display = false;
  QStringList before = {};
  bool operator==(const FormulaSource&) const = default;
};
inline size_t qHash(const FormulaSource& source, size_t seed = 0) {
  return qHashMulti(seed, source.tex, source.display, source.before);
}

/// Letters of one font, side by side. All lengths here are in the formula's em; y counts downwards from its
/// baseline.
struct FormulaGlyphs {
  QPointF at;  ///< left end of the baseline
  QString text;
  int face = -1;  ///< of formula_fonts.h; -1: none of KaTeX's fonts has it, the text's own font does
  double size = 1;
  std::vector<quint32> indexes;
  std::vector<double> offsets;  ///< of each glyph from `at`
  QColor color;                 ///< not valid: the text's
  QPointF shadow = {};          ///< painted once more there, as \pmb makes letters bold; null: not
};

struct FormulaRule {
  QRectF rect;
  QColor color;
  bool dashed = false;
};

/// An outline that is filled.
struct FormulaOutline {
  QPainterPath path;
  QRectF frame;  ///< of the drawing that it is all or a part of
  QColor color;
};

using FormulaInk = std::variant<FormulaGlyphs, FormulaRule, FormulaOutline>;
void moveInk(FormulaInk& ink, QPointF by);

/// What is never broken across lines, around the left end of its baseline.
struct MathBox {
  double width = 0, ascent = 0, descent = 0;
  std::vector<FormulaInk> ink;

  double height() const { return ascent + descent; }
  void add(const MathBox& other, QPointF offset);
  /// `em`: the length of the formula's em in the painter's units; `color`: of what has none of its own.
  void paint(QPainter& painter, QPointF baseline, double em, const QColor& color) const;
};

struct SetFormula {
  /// Lines of boxes; a line may be broken between two of them.
  std::vector<std::vector<MathBox>> lines;
  MathBox tag;    ///< at the right end of the line; empty: none
  QString error;  ///< why it could not be rendered, in a sentence; then there are no lines

  bool hasTag() const { return !tag.ink.empty(); }
  /// All of it as one box; with a tag as wide as `line` where that has room for both.
  MathBox whole(double line) const;
};
using SharedFormula = std::shared_ptr<const SetFormula>;

/// KaTeX's fonts are small beside others of the same size: a formula's em in a text with letters of that
/// size.
constexpr double formula_scale = 1.21;

}  // namespace tapedeck::inspector
