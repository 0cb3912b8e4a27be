#include "plots/curves_item.h"

#include <QFontMetricsF>
#include <QGraphicsScene>
#include <QPainter>

namespace tapedeck::plots {

namespace {

constexpr double apart = 14;  ///< pixels between points from which on each has a marker of its own

void paintMarker(QPainter* painter, QPointF at, const CurvePicture::Line& line, const inspector::Theme& theme,
                 double scale) {
  const QColor color = curveColor(theme, line.style);
  painter->save();
  painter->translate(at);
  painter->scale(scale, scale);
  painter->setPen(line.branch ? QPen(color, 1.4) : QPen(Qt::NoPen));
  painter->setBrush(line.branch ? theme.background : color);
  painter->drawPath(curveMarker(line.style));
  painter->restore();
}

}  // namespace

bool hasMarkers(const QList<QPointF>& run) {
  if (run.size() < 2) return true;
  const double width = run.last().x() - run.first().x();
  return width / static_cast<double>(run.size() - 1) >= apart;
}

CurvesItem::CurvesItem(QGraphicsItem* parent) : QGraphicsItem(parent) {
  setZValue(20);  // above the grid and the axes
  setAcceptedMouseButtons(Qt::NoButton);
}

void CurvesItem::setPicture(CurvePicture picture, const inspector::Theme& theme) {
  if (picture.area != picture_.area) prepareGeometryChange();
  picture_ = std::move(picture);
  theme_ = theme;
  update();
}

void CurvesItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
  painter->save();
  painter->setClipRect(picture_.area);
  painter->setRenderHint(QPainter::Antialiasing);
  if (scene()) painter->setFont(scene()->font());
  if (picture_.cursorX) {
    painter->setPen(QPen(theme_.accent, 1.5, Qt::DashDotLine));
    painter->drawLine(QPointF(*picture_.cursorX, picture_.area.top()),
                      QPointF(*picture_.cursorX, picture_.area.bottom()));
  }
  for (const CurvePicture::Line& line : picture_.lines) paintRuns(painter, line);
  // Whole also at the edge, where the newest point is.
  painter->setClipping(false);
  for (const CurvePicture::Line& line : picture_.lines) paintMarkers(painter, line);
  for (const CurvePicture::Line& line : picture_.lines) paintLost(painter, line);
  for (const CurvePicture::Line& line : picture_.lines) paintCursor(painter, line);
  paintNotice(painter);
  paintReadOut(painter);
  painter->restore();
}

bool CurvesItem::shows(QPointF point) const {
  return picture_.area.adjusted(-1, -1, 1, 1).contains(point);
}

void CurvesItem::paintRuns(QPainter* painter, const CurvePicture::Line& line) {
  painter->setPen(line.branch ? branchPen(theme_, line.style) : curvePen(theme_, line.style));
  painter->setBrush(Qt::NoBrush);
  for (const QList<QPointF>& run : line.runs)
    if (run.size() > 1) painter->drawPolyline(run.data(), static_cast<int>(run.size()));
}

void CurvesItem::paintMarkers(QPainter* painter, const CurvePicture::Line& line) {
  for (const QList<QPointF>& run : line.runs) {
    if (!hasMarkers(run)) continue;
    for (const QPointF& point : run)
      if (shows(point)) paintMarker(painter, point, line, theme_, 0.9);
  }
  if (line.hover) paintMarker(painter, *line.hover, line, theme_, 1.4);
}

void CurvesItem::paintCursor(QPainter* painter, const CurvePicture::Line& line) {
  if (!line.cursor || !shows(*line.cursor)) return;
  painter->setPen(QPen(theme_.accent, 2));
  painter->setBrush(theme_.background);
  painter->drawEllipse(*line.cursor, 6, 6);
  paintMarker(painter, *line.cursor, line, theme_, 1);
}

void CurvesItem::paintLost(QPainter* painter, const CurvePicture::Line& line) {
  painter->setPen(QPen(theme_.error.stroke, 2));
  painter->setBrush(Qt::NoBrush);
  for (const auto& [x, kind] : line.lost) {
    const bool top = kind == LostKind::positiveInfinity;
    const QPointF at(x, top ? picture_.area.top() + 8 : picture_.area.bottom() - 8);
    if (!shows(at)) continue;
    if (kind == LostKind::nan) {
      painter->drawLine(at + QPointF(-4, -4), at + QPointF(4, 4));
      painter->drawLine(at + QPointF(-4, 4), at + QPointF(4, -4));
    } else {
      const double tip = top ? -5 : 5;
      const QPointF arrow[] = {at + QPointF(-4, 0), at + QPointF(0, tip), at + QPointF(4, 0)};
      painter->drawPolyline(arrow, 3);
    }
  }
}

void CurvesItem::paintNotice(QPainter* painter) {
  if (picture_.notice.isEmpty()) return;
  const QFontMetricsF metrics(painter->font());
  const QRectF room = picture_.area.adjusted(8, 6, -8, -6);
  const QRectF text =
      metrics.boundingRect(room, Qt::AlignTop | Qt::AlignRight | Qt::TextWordWrap, picture_.notice);
  painter->setPen(Qt::NoPen);
  QColor box = theme_.panel;
  box.setAlphaF(0.92f);
  painter->setBrush(box);
  painter->drawRoundedRect(text.adjusted(-5, -3, 5, 3), 3, 3);
  painter->setPen(theme_.error.stroke);
  painter->drawText(room, Qt::AlignTop | Qt::AlignRight | Qt::TextWordWrap, picture_.notice);
}

void CurvesItem::paintReadOut(QPainter* painter) {
  if (!picture_.hoverX || picture_.readOut.isEmpty()) return;
  painter->setPen(QPen(theme_.axis, 1));
  painter->drawLine(QPointF(*picture_.hoverX, picture_.area.top()),
                    QPointF(*picture_.hoverX, picture_.area.bottom()));
  const QFontMetricsF metrics(painter->font());
  const double swatch = 16, line = metrics.height();
  double width = 0;
  for (const QString& text : picture_.readOut) width = std::max(width, metrics.horizontalAdvance(text));
  QRectF box(0, 0, width + swatch + 14, line * static_cast<double>(picture_.readOut.size()) + 8);
  box.moveTopLeft({*picture_.hoverX + 12, picture_.area.top() + 10});
  if (box.right() > picture_.area.right()) box.moveRight(*picture_.hoverX - 12);
  if (box.left() < picture_.area.left()) box.moveLeft(picture_.area.left());
  painter->setPen(QPen(theme_.axis, 1));
  painter->setBrush(theme_.panel);
  painter->drawRoundedRect(box, 4, 4);
  double y = box.top() + 4;
  for (qsizetype row = 0; row < picture_.readOut.size(); ++row, y += line) {
    if (row > 0) {
      const std::size_t of = picture_.readOutLines[static_cast<std::size_t>(row - 1)];
      paintMarker(painter, {box.left() + 11, y + line / 2}, picture_.lines[of], theme_, 1);
    }
    painter->setPen(row > 0 ? theme_.text : theme_.faintText);
    painter->drawText(QPointF(box.left() + (row > 0 ? swatch + 6 : 7), y + metrics.ascent()),
                      picture_.readOut[row]);
  }
}

}  // namespace tapedeck::plots
