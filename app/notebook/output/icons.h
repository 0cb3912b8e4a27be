// The notebook's own icons: small vector shapes, drawn in the theme's colours.
#pragma once

#include <QIcon>
#include <QPixmap>

namespace tapedeck::app {

enum class Icon { run, up, down, add, remove, code, markdown, tick, cross, queued, copy, warning, link };

QPixmap iconPixmap(Icon icon, const QColor& color, int size, qreal devicePixelRatio);
/// With a paler variant for disabled actions.
QIcon makeIcon(Icon icon, const QColor& color);

}  // namespace tapedeck::app
