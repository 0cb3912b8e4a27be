// The outlines of SVG's path element.
#pragma once

#include <QPainterPath>
#include <QStringView>

namespace tapedeck::inspector {

/// Lines and curves of `data`, up to the first thing in it that is neither; arcs are not among KaTeX's.
QPainterPath outlinePath(QStringView data);

}  // namespace tapedeck::inspector
