#include "app/notebook/output/icons.h"

#include <QPainter>
#include <QSvgRenderer>

namespace tapedeck::app {
namespace {

/// Path data in a square of 16 units; strokes are 1.6 wide with round ends.
struct Shape {
  const char* stroked;
  const char* filled;
};

Shape shapeOf(Icon icon) {
  switch (icon) {
    case Icon::run:
      return {"", "M4.5 2.6 L13 8 L4.5 13.4 Z"};
    case Icon::up:
      return {"M8 13 V3.5 M3.8 7.5 L8 3.2 L12.2 7.5", ""};
    case Icon::down:
      return {"M8 3 V12.5 M3.8 8.5 L8 12.8 L12.2 8.5", ""};
    case Icon::add:
      return {"M8 3 V13 M3 8 H13", ""};
    case Icon::remove:
      return {"M2.8 4.3 H13.2 M6 4.2 V2.6 H10 V4.2 M4.2 4.6 L4.9 13.4 H11.1 L11.8 4.6 M6.9 7 V11 M9.1 7 V11",
              ""};
    case Icon::code:
      return {"M5.2 4.2 L1.8 8 L5.2 11.8 M10.8 4.2 L14.2 8 L10.8 11.8 M9.2 3 L6.8 13", ""};
    case Icon::markdown:
      return {"M1.8 12 V4.2 L5 8.4 L8.2 4.2 V12 M12 4.2 V11.4 M9.9 9.4 L12 11.7 L14.1 9.4", ""};
    case Icon::tick:
      return {"M2.8 8.6 L6.4 12.2 L13.2 4.4", ""};
    case Icon::cross:
      return {"M3.6 3.6 L12.4 12.4 M12.4 3.6 L3.6 12.4", ""};
    case Icon::queued:
      return {"M8 2 A6 6 0 1 1 7.99 2 Z M8 4.8 V8 L10.4 9.6", ""};
    case Icon::copy:
      return {"M5.6 5.6 H13.4 V13.4 H5.6 Z M10.4 5.4 V2.6 H2.6 V10.4 H5.4", ""};
    case Icon::warning:
      return {"M8 2.4 L14.4 13.4 H1.6 Z M8 6.6 V9.6 M8 11.4 V11.6", ""};
    case Icon::link:
      return {
          "M6.6 9.4 L9.4 6.6 M7.4 4.8 L9.2 3 A2.7 2.7 0 0 1 13 6.8 L11.2 8.6 M8.6 11.2 L6.8 13 A2.7 2.7 0 0 "
          "1 3 "
          "9.2 L4.8 7.4",
          ""};
  }
  return {"", ""};
}

}  // namespace

QPixmap iconPixmap(Icon icon, const QColor& color, int size, qreal devicePixelRatio) {
  const Shape shape = shapeOf(icon);
  const QString svg =
      QString(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="%1" fill="none" )"
              R"(stroke="%3" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"/>)"
              R"(<path d="%2" fill="%3"/></svg>)")
          .arg(shape.stroked, shape.filled, color.name());
  QSvgRenderer renderer(svg.toUtf8());
  const int pixels = qRound(size * devicePixelRatio);
  QPixmap pixmap(pixels, pixels);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  renderer.render(&painter, QRectF(0, 0, pixels, pixels));
  painter.end();
  pixmap.setDevicePixelRatio(devicePixelRatio);
  return pixmap;
}

QIcon makeIcon(Icon icon, const QColor& color) {
  QIcon result;
  for (const qreal ratio : {1.0, 2.0}) {
    result.addPixmap(iconPixmap(icon, color, 16, ratio), QIcon::Normal);
    QPixmap faint(iconPixmap(icon, color, 16, ratio).size());
    faint.setDevicePixelRatio(ratio);
    faint.fill(Qt::transparent);
    QPainter painter(&faint);
    painter.setOpacity(0.35);
    painter.drawPixmap(0, 0, iconPixmap(icon, color, 16, ratio));
    painter.end();
    result.addPixmap(faint, QIcon::Disabled);
  }
  return result;
}

}  // namespace tapedeck::app
