// SVG of unknown origin, reduced to a still picture without external references.
#pragma once

#include <QByteArray>
#include <QSize>
#include <QString>

namespace tapedeck::app {

/// The SVG without scripts, animation, foreign content, and references to files or addresses. Empty where it
/// can't be shown: `error` says why (not XML, at which line; nested too deep; drawn parts that multiply past
/// a limit).
QByteArray sanitizeSvg(const QByteArray& svg, QString* error);

/// The size in pixels that its first element asks for, found in the first kilobytes; empty where it is not
/// there. Cheap: the room for a picture that is still to be drawn.
QSize svgSize(const QByteArray& svg);

}  // namespace tapedeck::app
