// Places in a text that a search found.
#pragma once

#include <QList>

namespace tapedeck::app {

/// In UTF-16 units, as QString counts.
struct TextHit {
  qsizetype start = 0;
  qsizetype length = 0;
  bool operator==(const TextHit&) const = default;
};

/// Those in the source of a cell.
struct SourceHits {
  QList<TextHit> hits;
  qsizetype current = -1;  ///< the one that the search is at
};

}  // namespace tapedeck::app
