#include "plots/plot_style.h"

#include <QPolygonF>
#include <array>

namespace tapedeck::plots {

QColor curveColor(const inspector::Theme& theme, int series) {
  // Each at least 3:1 against its background, and in an order in which neighbours differ in lightness too.
  static constexpr std::array<QRgb, 8> light{0x1f5fbf, 0xb5460f, 0x2e7d32, 0x8e24aa,
                                             0x00727a, 0xad1457, 0x6d5b00, 0x455a64};
  static constexpr std::array<QRgb, 8> dark{0x7ab3ff, 0xffa366, 0x81d684, 0xd99bec,
                                            0x5fd3dc, 0xff8fb8, 0xe3cf6b, 0xb0c4ce};
  return QColor::fromRgb((theme.dark ? dark : light)[static_cast<std::size_t>(series) % 8]);
}

QPen curvePen(const inspector::Theme& theme, int series) {
  static const std::array<QList<qreal>, 5> dashes{
      QList<qreal>{}, {5, 2.5}, {1.2, 2}, {7, 2, 1.2, 2}, {3, 1.5, 3, 4}};
  QPen pen(curveColor(theme, series), 2.2);
  pen.setJoinStyle(Qt::BevelJoin);  // a mitre would make spikes taller than they are
  pen.setCapStyle(Qt::FlatCap);
  const QList<qreal>& dash = dashes[static_cast<std::size_t>(series) % dashes.size()];
  if (!dash.isEmpty()) pen.setDashPattern(dash);
  return pen;
}

QPen branchPen(const inspector::Theme& theme, int series) {
  QPen pen(curveColor(theme, series), 2);
  pen.setJoinStyle(Qt::BevelJoin);
  pen.setCapStyle(Qt::FlatCap);
  pen.setDashPattern({2.5, 1.7});  // the legend's short line shows two dashes, too
  return pen;
}

QPainterPath curveMarker(int series) {
  QPainterPath path;
  switch (series % 5) {
    case 0:
      path.addEllipse(QPointF(0, 0), 3.2, 3.2);
      break;
    case 1:
      path.addRect(-3, -3, 6, 6);
      break;
    case 2:
      path.addPolygon(QPolygonF({{0, -4}, {3.8, 3}, {-3.8, 3}}));
      break;
    case 3:
      path.addPolygon(QPolygonF({{0, -4.2}, {4.2, 0}, {0, 4.2}, {-4.2, 0}}));
      break;
    default:
      path.addPolygon(QPolygonF({{-3.8, -3}, {3.8, -3}, {0, 4}}));
  }
  path.closeSubpath();
  return path;
}

}  // namespace tapedeck::plots
