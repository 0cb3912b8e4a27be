#include "inspector/ui/icons.h"

#include <QFile>
#include <QGuiApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPalette>
#include <QPixmap>
#include <QSvgRenderer>

// The icons live in a static library, whose resources would not be registered. Outside any namespace, as the
// macro wants it.
static void registerIcons() {
  Q_INIT_RESOURCE(tapedeck);
}

namespace tapedeck::inspector {
namespace {

void render(const QByteArray& svg, const QColor& color, QPainter* painter, const QRectF& rect) {
  QByteArray coloured = svg;
  coloured.replace("currentColor", color.name().toUtf8());
  QSvgRenderer(coloured).render(painter, rect);
}

/// Paints when asked, so that a change of theme needs no new icons.
class PaletteIcon : public QIconEngine {
 public:
  explicit PaletteIcon(QByteArray svg) : svg_(std::move(svg)) {}

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
    const auto group = mode == QIcon::Disabled ? QPalette::Disabled : QPalette::Active;
    painter->save();
    if (mode == QIcon::Disabled) painter->setOpacity(0.45);
    render(svg_, QGuiApplication::palette().color(group, QPalette::ButtonText), painter, QRectF(rect));
    painter->restore();
  }

  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    QPixmap pixmap(size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    paint(&painter, pixmap.rect(), mode, state);
    return pixmap;
  }

  QIconEngine* clone() const override { return new PaletteIcon(svg_); }

 private:
  QByteArray svg_;
};

QByteArray svgOf(const QString& name) {
  static const bool registered = [] {
    registerIcons();
    return true;
  }();
  Q_UNUSED(registered);
  QFile file(":/icons/" + name + ".svg");
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

QIcon icon(const QString& name) {
  const QByteArray svg = svgOf(name);
  return svg.isEmpty() ? QIcon() : QIcon(new PaletteIcon(svg));
}

QPixmap iconPixmap(const QString& name, const QColor& color, int size, qreal devicePixelRatio) {
  const int pixels = qRound(size * devicePixelRatio);
  QPixmap pixmap(pixels, pixels);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  render(svgOf(name), color, &painter, QRectF(0, 0, pixels, pixels));
  painter.end();
  pixmap.setDevicePixelRatio(devicePixelRatio);
  return pixmap;
}

}  // namespace tapedeck::inspector
