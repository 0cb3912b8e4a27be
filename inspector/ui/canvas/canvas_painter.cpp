#include "inspector/ui/canvas/canvas_painter.h"

#include <QLineF>
#include <cmath>

#include "inspector/ui/canvas/canvas_textures.h"
#include "inspector/ui/canvas/glyph_atlas.h"
#include "inspector/ui/canvas/imgui_types.h"

namespace tapedeck::inspector {

namespace {

/// Corners on half pixels, so that lines one pixel wide are sharp.
ImVec2 sharp(QPointF point) {
  return {static_cast<float>(std::floor(point.x()) + 0.5), static_cast<float>(std::floor(point.y()) + 0.5)};
}

}  // namespace

void CanvasPainter::fill(const QRectF& rect, const QColor& color, double radius) {
  list_->AddRectFilled(toImGui(rect.topLeft()), toImGui(rect.bottomRight()), toImGui(color),
                       static_cast<float>(radius));
}

void CanvasPainter::outline(const QRectF& rect, const QColor& color, double width, double radius) {
  list_->AddRect(sharp(rect.topLeft()), sharp(rect.bottomRight()), toImGui(color), static_cast<float>(radius),
                 0, static_cast<float>(width));
}

void CanvasPainter::dashedOutline(const QRectF& rect, const QColor& color, double width, double dash) {
  const QPointF corners[] = {rect.topLeft(), rect.topRight(), rect.bottomRight(), rect.bottomLeft(),
                             rect.topLeft()};
  dashed(corners, color, width, dash, dash * 0.8);
}

void CanvasPainter::line(QPointF from, QPointF to, const QColor& color, double width) {
  list_->AddLine(toImGui(from), toImGui(to), toImGui(color), static_cast<float>(width));
}

void CanvasPainter::polyline(std::span<const QPointF> points, const QColor& color, double width) {
  if (points.size() < 2) return;
  for (const QPointF& point : points) list_->PathLineTo(toImGui(point));
  list_->PathStroke(toImGui(color), 0, static_cast<float>(width));
}

void CanvasPainter::dashed(std::span<const QPointF> points, const QColor& color, double width, double dash,
                           double gap) {
  double done = 0;  // distance walked in the present dash or gap
  bool drawing = true;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const QLineF segment(points[i - 1], points[i]);
    const double length = segment.length();
    double at = 0;
    while (at < length) {
      const double until = std::min(length, at + (drawing ? dash : gap) - done);
      if (drawing) line(segment.pointAt(at / length), segment.pointAt(until / length), color, width);
      done += until - at;
      at = until;
      if (done >= (drawing ? dash : gap) - 1e-9) {
        drawing = !drawing;
        done = 0;
      }
    }
  }
}

void CanvasPainter::triangle(QPointF a, QPointF b, QPointF c, const QColor& color) {
  list_->AddTriangleFilled(toImGui(a), toImGui(b), toImGui(c), toImGui(color));
}

void CanvasPainter::triangleOutline(QPointF a, QPointF b, QPointF c, const QColor& color, double width) {
  list_->AddTriangleFilled(toImGui(a), toImGui(b), toImGui(c), toImGui(theme_.background));
  list_->AddTriangle(toImGui(a), toImGui(b), toImGui(c), toImGui(color), static_cast<float>(width));
}

void CanvasPainter::hatch(const QRectF& rect, const QColor& color, double spacing) {
  clip(rect);
  for (double x = rect.left() - rect.height(); x < rect.right(); x += spacing)
    line({x, rect.bottom()}, {x + rect.height(), rect.top()}, color, 1);
  unclip();
}

double CanvasPainter::text(QPointF at, const QString& text, double size, const QColor& color, FontRole role) {
  const CanvasFonts& fonts = glyphs_.fonts();
  const int pixels = CanvasFonts::pixels(size, ratio_);
  const double inset = (fonts.lineHeight(role, size) * ratio_ - fonts.lineHeight(role, pixels)) / 2;
  const int baseline = static_cast<int>(std::lround(at.y() * ratio_ + inset + fonts.ascent(role, pixels)));
  const auto start = static_cast<double>(std::lround(at.x() * ratio_));
  const ImU32 tint = toImGui(color);
  const auto logical = [this](double x, double y) { return toImGui(QPointF(x / ratio_, y / ratio_)); };
  double pen = start;
  for (const uint character : text.toUcs4()) {
    const auto quarters = static_cast<int>(std::floor(pen * 4 + 0.5));
    const int x = quarters >> 2;
    const GlyphAtlas::Glyph& glyph = glyphs_.glyph(role, pixels, character, quarters & 3);
    if (!glyph.box.isNull()) {
      const int left = x + glyph.box.left(), top = baseline + glyph.box.top();
      list_->PrimReserve(6, 4);
      list_->PrimRectUV(logical(left, top), logical(left + glyph.box.width(), top + glyph.box.height()),
                        glyph.uv0, glyph.uv1, tint);
    }
    pen += fonts.shape(role, pixels, character).advance;
  }
  return (pen - start) / ratio_;
}

void CanvasPainter::textIn(const QRectF& rect, const QString& string, double size, const QColor& color,
                           Qt::Alignment alignment, FontRole role) {
  const QString shown = elided(string, rect.width(), size, role);
  const double width = textWidth(shown, size, role);
  double x = rect.left();
  if (alignment & Qt::AlignRight) x = rect.right() - width;
  if (alignment & Qt::AlignHCenter) x = rect.center().x() - width / 2;
  text({x, rect.center().y() - glyphs_.fonts().lineHeight(role, size) * 0.5}, shown, size, color, role);
}

void CanvasPainter::paragraph(const QRectF& rect, const QString& text, double size, const QColor& color) {
  QStringList lines(QString{});
  for (const QString& word : text.split(QLatin1Char(' '))) {
    const QString longer = lines.last().isEmpty() ? word : lines.last() + QLatin1Char(' ') + word;
    if (lines.last().isEmpty() || textWidth(longer, size) <= rect.width())
      lines.last() = longer;
    else
      lines << word;
  }
  const double leading = size * 1.5;
  QRectF row(rect.left(), rect.center().y() - leading * static_cast<double>(lines.size()) / 2, rect.width(),
             leading);
  for (const QString& line : lines) {
    textIn(row, line, size, color);
    row.translate(0, leading);
  }
}

double CanvasPainter::textWidth(const QString& text, double size, FontRole role) const {
  return glyphs_.fonts().textWidth(role, size, ratio_, text);
}

QString CanvasPainter::elided(const QString& text, double width, double size, FontRole role) const {
  if (textWidth(text, size, role) <= width + 0.5) return text;
  qsizetype low = 0, high = text.size();  // the longest head that fits with the ellipsis
  while (low < high) {
    const qsizetype middle = (low + high + 1) / 2;
    if (textWidth(text.left(middle) + QChar(0x2026), size, role) <= width)
      low = middle;
    else
      high = middle - 1;
  }
  return low > 0 ? text.left(low) + QChar(0x2026) : QString();
}

void CanvasPainter::image(const QRectF& rect, const QImage& image, double opacity) {
  if (image.isNull()) return;
  list_->AddImage(textures_.texture(image), toImGui(rect.topLeft()), toImGui(rect.bottomRight()), {0, 0},
                  {1, 1}, toImGui(Qt::white, opacity));
}

void CanvasPainter::tooltip(QPointF at, const QStringList& lines) {
  constexpr double height = 12, leading = 18, margin = 9, limit = 460;
  if (lines.isEmpty()) return;
  double keys = 0, values = textWidth(lines.front(), height, FontRole::bold);
  for (const QString& line : lines.mid(1)) {
    const qsizetype tab = line.indexOf(QLatin1Char('\t'));
    if (tab >= 0) keys = std::max(keys, textWidth(line.left(tab), height) + 12);
  }
  for (const QString& line : lines.mid(1)) {
    const qsizetype tab = line.indexOf(QLatin1Char('\t'));
    values = std::max(values, textWidth(line.mid(tab + 1), height) + (tab >= 0 ? keys : 0));
  }
  const QSizeF box(std::min({values, limit, size_.width() - 4 * margin}) + 2 * margin,
                   static_cast<double>(lines.size()) * leading + 2 * margin - 4);
  QPointF corner = at + QPointF(16, 18);
  if (corner.x() + box.width() > size_.width() - 4) corner.setX(at.x() - box.width() - 8);
  if (corner.y() + box.height() > size_.height() - 4) corner.setY(at.y() - box.height() - 8);
  corner = {std::max(4.0, corner.x()), std::max(4.0, corner.y())};
  CanvasPainter front(ImGui::GetForegroundDrawList(), glyphs_, textures_, theme_, size_, ratio_);
  const QRectF rect(corner, box);
  QColor shadow(0, 0, 0, theme_.dark ? 110 : 40);
  front.fill(rect.translated(0, 2).adjusted(-1, -1, 1, 1), shadow, 6);
  front.fill(rect, theme_.panel, 5);
  front.outline(rect, theme_.border, 1, 5);
  QRectF row(corner.x() + margin, corner.y() + margin - 2, box.width() - 2 * margin, leading);
  for (qsizetype i = 0; i < lines.size(); ++i, row.translate(0, leading)) {
    const qsizetype tab = i ? lines[i].indexOf(QLatin1Char('\t')) : -1;
    const QRectF rest = tab >= 0 ? row.adjusted(keys, 0, 0, 0) : row;
    if (tab >= 0) front.textIn(row, lines[i].left(tab), height, theme_.faintText, Qt::AlignLeft);
    front.textIn(rest, lines[i].mid(tab + 1), height, theme_.text, Qt::AlignLeft,
                 i ? FontRole::regular : FontRole::bold);
  }
}

void CanvasPainter::clip(const QRectF& rect) {
  list_->PushClipRect(toImGui(rect.topLeft()), toImGui(rect.bottomRight()), true);
}

void CanvasPainter::unclip() {
  list_->PopClipRect();
}

}  // namespace tapedeck::inspector
