// The program's icons, in the colours of the palette.
#pragma once

#include <QIcon>
#include <QString>

namespace tapedeck::app {

/// Icon `name` of resources/icons, painted in the palette's text colour of the moment (dimmed when disabled).
QIcon icon(const QString& name);

}  // namespace tapedeck::app
