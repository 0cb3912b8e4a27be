// The tape as a picture in a file.
#pragma once

#include <QByteArray>

#include "inspector/panels/tape/graph_layout.h"

namespace tapedeck::inspector {

/// A whole SVG 1.1 document on white, with a legend: text stays text, so that it can be selected and
/// searched. Needs neither a window nor OpenGL nor fonts. `title`: the document's title, for readers and
/// tooltips.
QByteArray tapeGraphSvg(const TapeGraph& graph, const GraphLayout& layout, const QString& title = {});

}  // namespace tapedeck::inspector
