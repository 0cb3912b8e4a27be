#include "app/shell/window/fuzzy_match.h"

#include <QSet>
#include <algorithm>
#include <vector>

namespace tapedeck::app {
namespace {

constexpr int unreached = -1'000'000;

bool beginsWord(const QString& line, int at) {
  if (at == 0) return true;
  const QChar before = line[at - 1];
  return !before.isLetterOrNumber() || (before.isLower() && line[at].isUpper());
}

/// The best way to find the word's letters in the line: for each letter and place, the best score of a way
/// that ends there.
FuzzyMatch matchWord(const QString& line, const QString& word) {
  const int n = static_cast<int>(line.size());
  const int m = static_cast<int>(word.size());
  std::vector<std::vector<int>> best(static_cast<std::size_t>(m),
                                     std::vector<int>(static_cast<std::size_t>(n), unreached));
  std::vector<std::vector<int>> from = best;
  for (int i = 0; i < m; ++i) {
    int reached = unreached;  // the best of the letter before, not directly before
    int reached_at = -1;
    for (int j = 0; j < n; ++j) {
      const auto row = static_cast<std::size_t>(i);
      const auto at = static_cast<std::size_t>(j);
      if (i > 0 && j > 1 && best[row - 1][at - 2] > reached) {
        reached = best[row - 1][at - 2];
        reached_at = j - 2;
      }
      if (line[j].toCaseFolded() != word[i].toCaseFolded()) continue;
      const int own = beginsWord(line, j) ? 8 : 1;
      if (i == 0) {
        best[row][at] = own;
        continue;
      }
      const int beside = j > 0 && best[row - 1][at - 1] > unreached ? best[row - 1][at - 1] + 6 : unreached;
      const int apart = reached > unreached ? reached - 1 : unreached;
      if (beside == unreached && apart == unreached) continue;
      best[row][at] = std::max(beside, apart) + own;
      from[row][at] = beside >= apart ? j - 1 : reached_at;
    }
  }
  FuzzyMatch match;
  if (m == 0 || n == 0) return match;
  const auto& last = best.back();
  const auto end = std::max_element(last.begin(), last.end());
  if (*end == unreached) return match;
  match.score = std::max(1, *end);
  int at = static_cast<int>(end - last.begin());
  for (int i = m - 1; i >= 0; --i) {
    match.places.prepend(at);
    at = from[static_cast<std::size_t>(i)][static_cast<std::size_t>(at)];
  }
  return match;
}

}  // namespace

FuzzyMatch fuzzyMatch(const QString& line, const QString& typed) {
  FuzzyMatch whole;
  QSet<int> places;
  for (const QString& word : typed.split(u' ', Qt::SkipEmptyParts)) {
    const FuzzyMatch match = matchWord(line, word.left(64));
    if (match.score == 0) return {};
    whole.score += match.score;
    places.unite(QSet<int>(match.places.begin(), match.places.end()));
  }
  if (whole.score == 0) return {};
  // Of lines that fit as well the shorter says more.
  whole.score = 100 * whole.score - static_cast<int>(std::min<qsizetype>(line.size(), 99));
  whole.places = places.values();
  std::sort(whole.places.begin(), whole.places.end());
  return whole;
}

}  // namespace tapedeck::app
