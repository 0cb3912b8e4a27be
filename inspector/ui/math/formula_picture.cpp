#include "inspector/ui/math/formula_picture.h"

#include <QFont>
#include <QFontMetricsF>
#include <QGlyphRun>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <utility>

#include "inspector/ui/math/formula_fonts.h"

namespace tapedeck::inspector {
namespace {

/// In whole pixels of the device, one at least: a thin rule between two rows of pixels would be two grey
/// ones.
QRectF sharp(const QPainter& painter, const QRectF& rect) {
  const QTransform transform = painter.deviceTransform();
  if (transform.type() > QTransform::TxScale || !transform.isInvertible()) return rect;
  const QRectF device = transform.mapRect(rect);
  const double width = std::max(1.0, std::round(device.width()));
  const double height = std::max(1.0, std::round(device.height()));
  const QRectF snapped(std::round(device.left()), std::round(device.center().y() - height / 2), width,
                       height);
  return transform.inverted().mapRect(snapped);
}

void paintGlyphs(QPainter& painter, const FormulaGlyphs& glyphs, QPointF baseline, double em) {
  const QPointF at = baseline + em * glyphs.at;
  if (!glyphs.shadow.isNull()) {
    FormulaGlyphs again = glyphs;
    again.at += std::exchange(again.shadow, {});
    paintGlyphs(painter, again, baseline, em);
  }
  if (glyphs.face < 0) {
    QFont font = painter.font();
    font.setPixelSize(std::max(1, qRound(em * glyphs.size / formula_scale)));
    painter.setFont(font);
    painter.drawText(at, glyphs.text);
    return;
  }
  QGlyphRun run;
  run.setRawFont(formulaFont(glyphs.face, em * glyphs.size));
  QList<QPointF> positions;
  for (const double offset : glyphs.offsets) positions += QPointF(em * offset, 0);
  run.setGlyphIndexes({glyphs.indexes.begin(), glyphs.indexes.end()});
  run.setPositions(positions);
  painter.drawGlyphRun(at, run);
}

void paintRule(QPainter& painter, const FormulaRule& rule, const QRectF& rect, const QColor& color) {
  if (!rule.dashed) {
    painter.fillRect(sharp(painter, rect), color);
    return;
  }
  const bool across = rect.width() > rect.height();
  const double thickness = across ? rect.height() : rect.width();
  QPen pen(color, thickness, Qt::CustomDashLine, Qt::FlatCap);
  pen.setDashPattern({3, 2});
  painter.setPen(pen);
  const QPointF middle = rect.center();
  across ? painter.drawLine(QPointF(rect.left(), middle.y()), QPointF(rect.right(), middle.y()))
         : painter.drawLine(QPointF(middle.x(), rect.top()), QPointF(middle.x(), rect.bottom()));
}

}  // namespace

void moveInk(FormulaInk& ink, QPointF by) {
  if (auto* glyphs = std::get_if<FormulaGlyphs>(&ink)) {
    glyphs->at += by;
  } else if (auto* rule = std::get_if<FormulaRule>(&ink)) {
    rule->rect.translate(by);
  } else if (auto* outline = std::get_if<FormulaOutline>(&ink)) {
    outline->path.translate(by);
    outline->frame.translate(by);
  }
}

void MathBox::add(const MathBox& other, QPointF offset) {
  width = std::max(width, offset.x() + other.width);
  ascent = std::max(ascent, other.ascent - offset.y());
  descent = std::max(descent, other.descent + offset.y());
  for (FormulaInk one : other.ink) {
    moveInk(one, offset);
    ink.push_back(std::move(one));
  }
}

void MathBox::paint(QPainter& painter, QPointF baseline, double em, const QColor& color) const {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setRenderHint(QPainter::TextAntialiasing);
  const auto colorOf = [&](const QColor& own) { return own.isValid() ? own : color; };
  const auto placed = [&](const QRectF& rect) {
    return QRectF(baseline + em * rect.topLeft(), em * rect.size());
  };
  for (const FormulaInk& one : ink) {
    if (const auto* glyphs = std::get_if<FormulaGlyphs>(&one)) {
      painter.setPen(colorOf(glyphs->color));
      paintGlyphs(painter, *glyphs, baseline, em);
    } else if (const auto* rule = std::get_if<FormulaRule>(&one)) {
      paintRule(painter, *rule, placed(rule->rect), colorOf(rule->color));
    } else if (const auto* outline = std::get_if<FormulaOutline>(&one)) {
      QTransform transform;
      transform.translate(baseline.x(), baseline.y());
      transform.scale(em, em);
      painter.setPen(Qt::NoPen);
      painter.setBrush(colorOf(outline->color));
      painter.drawPath(transform.map(outline->path));
    }
  }
  painter.restore();
}

MathBox SetFormula::whole(double line) const {
  // Lines are as far apart as their letters need, as lines of text are.
  constexpr double line_ascent = 0.98, line_descent = 0.28, tag_gap = 1;
  std::vector<MathBox> rows;
  double width = 0;
  for (const std::vector<MathBox>& boxes : lines) {
    MathBox row;
    for (const MathBox& box : boxes) {
      const double left = row.width;
      row.add(box, {left, 0});
      row.width = left + box.width;
    }
    width = std::max(width, row.width);
    rows.push_back(std::move(row));
  }
  const double tagged = width + 2 * (tag_gap + tag.width);
  const double all = !hasTag() ? width : std::max(line, tagged);
  MathBox box;
  double y = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) y += std::max(rows[i - 1].descent, line_descent) + std::max(rows[i].ascent, line_ascent);
    box.add(rows[i], {(all - rows[i].width) / 2, y});
  }
  if (hasTag()) box.add(tag, {all - tag.width, 0});
  box.width = all;
  return box;
}

}  // namespace tapedeck::inspector
