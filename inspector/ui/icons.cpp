#include "inspector/ui/icons.h"

#include <QFile>
#include <QGuiApplication>
#include <QIconEngine>
#include <QPainter>
#include <QPalette>
#include <QPixmap>
#include <QSvgRenderer>

// The icons live in a static library, whose resources nobody would register. Outside any namespace, as the
// macro wants it.
static void registerIcons() {
  Q_INIT_RESOURCE(tapedeck);
}

namespace tapedeck::app {
namespace {

/// Paints when asked, so that a change of theme needs no new icons.
class PaletteIcon : public QIconEngine {
 public:
  explicit PaletteIcon(QByteArray svg, QColor colour = QColor()) : svg_(std::move(svg)), colour_(colour) {}

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
    const auto group = mode == QIcon::Disabled ? QPalette::Disabled : QPalette::Active;
    QByteArray coloured = svg_;
    const QColor colour =
        colour_.isValid() ? colour_ : QGuiApplication::palette().color(group, QPalette::ButtonText);
    coloured.replace("currentColor", colour.name().toUtf8());
    QSvgRenderer renderer(coloured);
    painter->save();
    if (mode == QIcon::Disabled) painter->setOpacity(0.45);
    renderer.render(painter, QRectF(rect));
    painter->restore();
  }

  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    QPixmap pixmap(size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    paint(&painter, pixmap.rect(), mode, state);
    return pixmap;
  }

  QIconEngine* clone() const override { return new PaletteIcon(svg_, colour_); }

 private:
  QByteArray svg_;
  QColor colour_;
};

}  // namespace

QIcon icon(const QString& name) {
  return icon(name, QColor());
}

QIcon icon(const QString& name, const QColor& colour) {
  static const bool registered = [] {
    registerIcons();
    return true;
  }();
  Q_UNUSED(registered);
  QFile file(":/icons/" + name + ".svg");
  if (!file.open(QIODevice::ReadOnly)) return {};
  return QIcon(new PaletteIcon(file.readAll(), colour));
}

}  // namespace tapedeck::app
