// The program's icons, in the colours of the palette.
#pragma once

#include <QColor>
#include <QIcon>
#include <QPixmap>
#include <QString>

namespace tapedeck::inspector {

/// Icon `name` of resources/icons, painted in the palette's text colour of the moment (dimmed when disabled).
QIcon icon(const QString& name);
/// The same in a colour of the caller's, `size` pixels of the screen's units square.
QPixmap iconPixmap(const QString& name, const QColor& color, int size, qreal devicePixelRatio);

}  // namespace tapedeck::inspector
