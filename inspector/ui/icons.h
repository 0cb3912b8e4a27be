// The program's icons, in the colours of the palette.
#pragma once

#include <QColor>
#include <QIcon>
#include <QString>

namespace tapedeck::app {

/// Icon `name` of resources/icons, painted in the palette's text colour of the moment (dimmed when disabled).
QIcon icon(const QString& name);

/// The same in one colour, for a meaning that has one.
QIcon icon(const QString& name, const QColor& colour);

}  // namespace tapedeck::app
