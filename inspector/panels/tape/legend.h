// The entries of the tape's legend.
#pragma once

#include <QVector>

#include "inspector/model/tape/tape_graph.h"

namespace tapedeck::inspector {

struct LegendEntry {
  QString text;
  bool edge = false;
  bool backward = false;  ///< of an edge
  GraphNode node;         ///< an example, where it is no edge
  bool bookmark = false;  ///< it has one: not in files
};
const QVector<LegendEntry>& legendEntries();

}  // namespace tapedeck::inspector
