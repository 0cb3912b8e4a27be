#include "inspector/model/tape/repeats.h"

#include <algorithm>

namespace tapedeck::inspector {

namespace {

constexpr int longest_block = 512;

/// A stretch that repeats itself with some period: `length` numbers and more, as far as it goes.
struct Stretch {
  int first = 0, end = 0, length = 0;
  int covered() const { return (end - first) / length * length; }
};

void findStretches(std::span<const int> row, int length, std::vector<Stretch>& found) {
  const int count = static_cast<int>(row.size());
  for (int at = 0; at + length < count;) {
    const int first = at;
    while (at + length < count &&
           row[static_cast<std::size_t>(at)] == row[static_cast<std::size_t>(at + length)])
      ++at;
    if (at - first >= length) found.push_back({first, at + length, length});
    if (at == first) ++at;
  }
}

/// The longest part of it that nothing has taken.
Stretch longestFree(const Stretch& whole, const std::vector<bool>& taken) {
  Stretch best{whole.first, whole.first, whole.length};
  for (int at = whole.first; at < whole.end;) {
    const int first = at;
    while (at < whole.end && !taken[static_cast<std::size_t>(at)]) ++at;
    if (at - first > best.end - best.first) best = {first, at, whole.length};
    if (at == first) ++at;
  }
  return best;
}

/// Where in the stretch the blocks begin, and how many there are.
Repeat cut(const Stretch& stretch, const std::function<int(int at)>& cost) {
  const int times = (stretch.end - stretch.first) / stretch.length;
  const int spare = stretch.end - stretch.first - times * stretch.length;
  int best = stretch.first, least = 0;
  for (int first = stretch.first; first <= stretch.first + spare; ++first) {
    int sum = 0;
    for (int block = 1; block < times; ++block) sum += cost(first + block * stretch.length);
    if (first != stretch.first && sum > least) continue;
    least = sum;
    best = first;
  }
  return {best, stretch.length, times};
}

}  // namespace

std::vector<Repeat> findRepeats(std::span<const int> row,
                                const std::function<int(int first, int length)>& least,
                                const std::function<int(int at)>& cost, const std::atomic<bool>* cancelled) {
  std::vector<Stretch> stretches;
  const int longest = std::min(longest_block, static_cast<int>(row.size()) / 2);
  for (int length = 1; length <= longest && !(cancelled && *cancelled); ++length)
    findStretches(row, length, stretches);
  std::stable_sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) {
    return a.covered() != b.covered() ? a.covered() > b.covered() : a.length < b.length;
  });
  std::vector<Repeat> result;
  std::vector<bool> taken(row.size());
  for (const Stretch& stretch : stretches) {
    if (cancelled && *cancelled) break;
    const Stretch free = longestFree(stretch, taken);
    const int times = (free.end - free.first) / free.length;
    if (times < 2 || times < least(free.first, free.length)) continue;
    const Repeat repeat = cut(free, cost);
    std::fill(taken.begin() + repeat.first, taken.begin() + repeat.end(), true);
    result.push_back(repeat);
  }
  std::sort(result.begin(), result.end(), [](const Repeat& a, const Repeat& b) { return a.first < b.first; });
  return result;
}

}  // namespace tapedeck::inspector
