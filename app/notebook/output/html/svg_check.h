// SVG of unknown origin, cut down to a still picture that refers to nothing outside itself.
#pragma once

#include <QByteArray>
#include <QString>

namespace tapedeck::app {

/// The SVG without scripts, animation, foreign content, and references to files or addresses. Empty where it
/// can't be shown: `error` says why (not XML, at which line; nested too deep; drawn parts that multiply past
/// a limit).
QByteArray sanitizeSvg(const QByteArray& svg, QString* error);

}  // namespace tapedeck::app
