#include "inspector/panels/vjp/sheet_formula.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QRawFont>
#include <algorithm>
#include <span>

#include "inspector/ui/math/katex.h"

namespace tapedeck::inspector {
namespace {

constexpr double line_indent = 1.4;     ///< of a line that goes on, in em
constexpr double smallest_share = 0.5;  ///< of the em, for a box that is wider than the room
constexpr double leading = 2;

std::span<const MathBox> boxesOf(const FormulaLine& line) {
  return std::span(line.set->lines.front()).subspan(line.first, line.end - line.first);
}

}  // namespace

SharedFormula FormulaFinder::find(const QString& tex) {
  const FormulaSource source{tex, false};
  if (!Katex::missing().isEmpty()) return nullptr;
  SharedFormula found = set_.value(source);
  if (found == nullptr) found = FormulaSetter::known(source);
  if (found == nullptr && std::find(unset_.begin(), unset_.end(), source) == unset_.end())
    unset_.push_back(source);
  return found != nullptr && found->error.isEmpty() && !found->lines.empty() ? found : nullptr;
}

double formulaEm(const QFont& font) {
  return formula_scale * QRawFont::fromFont(font).pixelSize();
}

double widthOf(const FormulaLine& line) {
  double width = 0;
  for (const MathBox& box : boxesOf(line)) width += box.width;
  return width * line.em;
}

std::vector<FormulaLine> breakFormula(const SharedFormula& set, const QFont& font, double em, QPointF at,
                                      double width, double& bottom) {
  std::vector<FormulaLine> lines;
  const std::vector<MathBox>& boxes = set->lines.front();
  std::size_t next = 0;
  while (next < boxes.size()) {
    const double inset = lines.empty() ? 0 : line_indent * em;
    const double room = std::max(1.0, width - inset);
    FormulaLine line{{at.x() + inset, 0}, em, next, next, set};
    double taken = 0;
    while (line.end < boxes.size() && (line.end == next || taken + boxes[line.end].width * em <= room))
      taken += boxes[line.end++].width * em;
    if (taken > room) line.em = em * std::max(smallest_share, room / taken);
    next = line.end;
    lines.push_back(std::move(line));
  }
  const QFontMetricsF metrics(font);
  bottom = at.y();
  for (FormulaLine& line : lines) {
    double ascent = metrics.ascent(), descent = metrics.descent();
    for (const MathBox& box : boxesOf(line)) {
      ascent = std::max(ascent, box.ascent * line.em);
      descent = std::max(descent, box.descent * line.em);
    }
    line.baseline.setY(bottom + ascent);
    bottom += ascent + descent + leading;
  }
  return lines;
}

void paintFormula(QPainter& painter, const SheetFormula& formula, const QColor& color) {
  for (const FormulaLine& line : formula.lines) {
    QPointF at(line.baseline.x(), std::round(line.baseline.y()));
    for (const MathBox& box : boxesOf(line)) {
      box.paint(painter, at, line.em, color);
      at.rx() += box.width * line.em;
    }
  }
}

}  // namespace tapedeck::inspector
