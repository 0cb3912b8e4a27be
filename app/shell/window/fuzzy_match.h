// How well a few typed letters fit a line.
#pragma once

#include <QList>
#include <QString>

namespace tapedeck::app {

struct FuzzyMatch {
  int score = 0;      ///< 0: it does not fit; larger is better
  QList<int> places;  ///< the letters of the line that were typed, in order
};

/// Fits where the letters of each word of `typed` occur in the line in their order, with any text between.
/// Beginnings of words, letters side by side and short lines are better. Case does not matter.
FuzzyMatch fuzzyMatch(const QString& line, const QString& typed);

}  // namespace tapedeck::app
