#include "engine/debug/compare/align.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <unordered_map>

namespace tapedeck::debug {
namespace {

constexpr std::size_t anchor_window = 12;
constexpr std::int64_t fewest_edits = 48, most_edits = 2048;
constexpr std::uint64_t most_slides = 20'000'000;
constexpr std::size_t longest_slide = 10'000;

/// Half-open ranges of both sequences.
struct Stretch {
  std::uint32_t left_begin = 0, left_end = 0, right_begin = 0, right_end = 0;
};

/// Hash of each window of `anchor_window` ops, by its first op. Short sequences have none.
std::vector<std::uint64_t> windows(std::span<const OpKey> keys) {
  constexpr std::uint64_t base = 0x9e3779b97f4a7c15ull;
  if (keys.size() < anchor_window) return {};
  std::uint64_t highest = 1, hash = 0;
  for (std::size_t i = 1; i < anchor_window; ++i) highest *= base;
  std::vector<std::uint64_t> hashes;
  hashes.reserve(keys.size() - anchor_window + 1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    hash = hash * base + keys[i].place;
    if (i + 1 < anchor_window) continue;
    hashes.push_back(hash);
    hash -= keys[i + 1 - anchor_window].place * highest;
  }
  return hashes;
}

/// Pairs of positions whose hash is unique on both sides.
std::vector<Alignment> unique_pairs(std::span<const std::uint64_t> left,
                                    std::span<const std::uint64_t> right) {
  struct Seen {
    std::uint32_t left = no_op, right = no_op;
    std::uint32_t lefts = 0, rights = 0;
  };
  std::unordered_map<std::uint64_t, Seen> seen;
  seen.reserve(left.size() / 4);
  for (std::uint32_t i = 0; i < left.size(); ++i) {
    Seen& one = seen[left[i]];
    one.left = i;
    ++one.lefts;
  }
  for (std::uint32_t i = 0; i < right.size(); ++i)
    if (const auto found = seen.find(right[i]); found != seen.end()) {
      found->second.right = i;
      ++found->second.rights;
    }
  std::vector<Alignment> pairs;
  for (const auto& [hash, one] : seen)
    if (one.lefts == 1 && one.rights == 1) pairs.push_back({one.left, one.right});
  std::ranges::sort(pairs, {}, &Alignment::left);
  return pairs;
}

/// The longest chain of pairs that rise on both sides ("patience").
std::vector<Alignment> longest_chain(const std::vector<Alignment>& pairs) {
  std::vector<std::uint32_t> ends;  // of the best chain of each length: its last pair
  std::vector<std::uint32_t> before(pairs.size(), no_op);
  for (std::uint32_t i = 0; i < pairs.size(); ++i) {
    const auto at = std::ranges::lower_bound(ends, pairs[i].right, {},
                                             [&](std::uint32_t end) { return pairs[end].right; });
    if (at != ends.begin()) before[i] = *(at - 1);
    if (at == ends.end())
      ends.push_back(i);
    else
      *at = i;
  }
  std::vector<Alignment> chain;
  for (std::uint32_t at = ends.empty() ? no_op : ends.back(); at != no_op; at = before[at])
    chain.push_back(pairs[at]);
  std::ranges::reverse(chain);
  return chain;
}

class Aligner {
 public:
  Aligner(std::span<const OpKey> left, std::span<const OpKey> right, const CancelFlag* cancel,
          const AlignProgress& progress, const AlignLimits& limits)
      : left_(left), right_(right), cancel_(cancel), progress_(progress), steps_left_(limits.steps) {
    rows_.reserve(std::max(left.size(), right.size()) + 1);
  }

  std::vector<Alignment> run() {
    Stretch all{0, static_cast<std::uint32_t>(left_.size()), 0, static_cast<std::uint32_t>(right_.size())};
    take_common_begin(all);
    Stretch middle = all;
    while (middle.left_end > middle.left_begin && middle.right_end > middle.right_begin &&
           same(middle.left_end - 1, middle.right_end - 1))
      --middle.left_end, --middle.right_end;
    if (middle.left_begin < middle.left_end && middle.right_begin < middle.right_end)
      between_anchors(middle);
    else
      leave(middle);
    take_common_begin({middle.left_end, all.left_end, middle.right_end, all.right_end});
    lefts_first();
    slide_gaps();
    lefts_first();
    return std::move(rows_);
  }

 private:
  bool same(std::uint32_t left, std::uint32_t right) const {
    return left_[left].place == right_[right].place;
  }

  void tell() {
    check_cancelled(cancel_);
    if (progress_) progress_(done_);
  }
  void pair(std::uint32_t left, std::uint32_t right) {
    rows_.push_back({left, right});
    if (((done_ += 2) & 0xfffe) == 0) tell();
  }
  void leave(const Stretch& part) {
    for (std::uint32_t i = part.left_begin; i < part.left_end; ++i) rows_.push_back({i, no_op});
    for (std::uint32_t i = part.right_begin; i < part.right_end; ++i) rows_.push_back({no_op, i});
    done_ += part.left_end - part.left_begin + part.right_end - part.right_begin;
  }
  /// Pairs the ops that are the same at the part's start, and takes them off it.
  Stretch& take_common_begin(Stretch&& part) { return take_common_begin(part); }
  Stretch& take_common_begin(Stretch& part) {
    while (part.left_begin < part.left_end && part.right_begin < part.right_end &&
           same(part.left_begin, part.right_begin))
      pair(part.left_begin++, part.right_begin++);
    return part;
  }

  /// Where the shortest edit is too long to be searched for: cuts the part at what occurs once on each side,
  /// an op, or a row of ops.
  void between_anchors(Stretch part) {
    tell();
    if (stage(part, affordable_edits(part), false)) return;
    const auto left = left_.subspan(part.left_begin, part.left_end - part.left_begin);
    const auto right = right_.subspan(part.right_begin, part.right_end - part.right_begin);
    const auto places = [](std::span<const OpKey> keys) {
      std::vector<std::uint64_t> hashes;
      hashes.reserve(keys.size());
      for (const OpKey& key : keys) hashes.push_back(key.place);
      return hashes;
    };
    std::vector<Alignment> chain = longest_chain(unique_pairs(places(left), places(right)));
    tell();
    if (chain.empty()) chain = longest_chain(unique_pairs(windows(left), windows(right)));
    tell();
    const std::uint32_t left_base = part.left_begin, right_base = part.right_begin;
    for (const Alignment& anchor : chain) {
      const std::uint32_t at_left = left_base + anchor.left, at_right = right_base + anchor.right;
      if (at_left < part.left_begin || at_right < part.right_begin) continue;  // paired by now
      in_stages({part.left_begin, at_left, part.right_begin, at_right});
      part.left_begin = at_left;
      part.right_begin = at_right;
      take_common_begin(part);
    }
    in_stages(part);
  }

  /// The shortest edit (Myers, "An O(ND) difference algorithm and its variations", 1986); where it has more
  /// edits than the limit, the way that came farthest is kept, and the search begins anew at its end.
  void in_stages(Stretch part) {
    while (true) {
      check_cancelled(cancel_);
      take_common_begin(part);
      if (part.left_begin == part.left_end || part.right_begin == part.right_end) return leave(part);
      stage(part, affordable_edits(part), true);
    }
  }

  std::int64_t affordable_edits(const Stretch& part) const {
    const std::uint64_t length = part.left_end - part.left_begin + (part.right_end - part.right_begin);
    return std::clamp(static_cast<std::int64_t>(steps_left_ / (2 * (length + 1))), fewest_edits, most_edits);
  }

  /// Moves the part's start on by one stage; to its end, or, unless `in_part`, not at all. True: to its end.
  bool stage(Stretch& part, std::int64_t most, bool in_part) {
    const std::int64_t lefts = part.left_end - part.left_begin, rights = part.right_end - part.right_begin;
    most = std::min(most, lefts + rights);
    const auto middle = static_cast<std::size_t>(most + 1);
    farthest_.assign(2 * middle + 1, 0);
    trail_.clear();
    std::int64_t end = 0, best = -1, edits = most;
    for (std::int64_t d = 0; d <= most; ++d) {
      for (std::int64_t k = -d; k <= d; k += 2) {
        const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(middle) + k);
        std::int64_t x = k == -d || (k != d && farthest_[at - 1] < farthest_[at + 1]) ? farthest_[at + 1]
                                                                                      : farthest_[at - 1] + 1;
        std::int64_t y = x - k;
        while (x < lefts && y < rights && same(place(part.left_begin, x), place(part.right_begin, y)))
          ++x, ++y;
        farthest_[at] = static_cast<std::int32_t>(x);
        if (x > lefts || y > rights) continue;
        if (x == lefts && y == rights) {
          edits = d;
          end = k;
          best = x + y;
          break;
        }
        if (d == most && x + y > best) {
          best = x + y;
          end = k;
        }
      }
      const auto width = static_cast<std::size_t>(2 * d + 1);
      const auto from = farthest_.begin() + static_cast<std::ptrdiff_t>(middle) - d;
      trail_.insert(trail_.end(), from, from + static_cast<std::ptrdiff_t>(width));
      if (edits == d && best == lefts + rights) break;
      if ((d & 0xff) == 0) check_cancelled(cancel_);
    }
    const auto spent = static_cast<std::uint64_t>(edits) * static_cast<std::uint64_t>(edits) / 2 + 64;
    steps_left_ -= std::min(steps_left_, spent);
    const bool whole = best == lefts + rights;
    if (whole || in_part) walk_back(part, edits, end);
    return whole;
  }

  static std::uint32_t place(std::uint32_t begin, std::int64_t offset) {
    return begin + static_cast<std::uint32_t>(offset);
  }
  /// x on diagonal k after d edits.
  std::int64_t trail(std::int64_t d, std::int64_t k) const {
    return trail_[static_cast<std::size_t>(d * d + k + d)];  // d² entries come before those of d
  }

  void walk_back(Stretch& part, std::int64_t edits, std::int64_t k) {
    std::vector<Alignment> back;
    std::int64_t x = trail(edits, k), y = x - k;
    const std::int64_t end_x = x, end_y = y;
    for (std::int64_t d = edits; d > 0; --d) {
      const bool down = k == -d || (k != d && trail(d - 1, k - 1) < trail(d - 1, k + 1));
      const std::int64_t k_before = down ? k + 1 : k - 1;
      const std::int64_t x_before = trail(d - 1, k_before), y_before = x_before - k_before;
      const std::int64_t x_edited = down ? x_before : x_before + 1;
      while (x > x_edited) back.push_back({place(part.left_begin, --x), place(part.right_begin, --y)});
      if (down)
        back.push_back({no_op, place(part.right_begin, y_before)});
      else
        back.push_back({place(part.left_begin, x_before), no_op});
      x = x_before;
      y = y_before;
      k = k_before;
    }
    while (x > 0) back.push_back({place(part.left_begin, --x), place(part.right_begin, --y)});
    rows_.insert(rows_.end(), back.rbegin(), back.rend());
    part.left_begin = place(part.left_begin, end_x);
    part.right_begin = place(part.right_begin, end_y);
    done_ += static_cast<std::uint64_t>(end_x + end_y);
    tell();
  }

  /// Between two pairs: what the left side has alone comes first.
  void lefts_first() {
    for (auto at = rows_.begin(); at != rows_.end();) {
      if (at->paired()) {
        ++at;
        continue;
      }
      auto end = at;
      while (end != rows_.end() && !end->paired()) ++end;
      std::stable_partition(at, end, [](const Alignment& row) { return row.right == no_op; });
      at = end;
    }
  }

  int likeness(const Alignment& row) const {
    const OpKey &left = left_[row.left], &right = right_[row.right];
    return 2 * (left.line == right.line) + (left.attributes == right.attributes) +
           (left.shapes == right.shapes);
  }

  /// Of a run of ops that one side has alone, whichever of them are alike may be the ones that are paired:
  /// the gap slides up to where lines, attributes and shapes fit best.
  void slide_gaps() {
    for (std::size_t at = 0; at < rows_.size();) {
      if (rows_[at].paired()) {
        ++at;
        continue;
      }
      std::size_t end = at;
      const bool right_alone = rows_[at].left == no_op;
      while (end < rows_.size() && !rows_[end].paired() && (rows_[end].left == no_op) == right_alone) ++end;
      const bool one_sided = end == rows_.size() || rows_[end].paired();
      if (one_sided && (at == 0 || rows_[at - 1].paired())) slide_up(at, end, right_alone);
      at = end;
    }
  }

  /// The rows [begin, end) are on one side only.
  void slide_up(std::size_t begin, std::size_t end, bool right_alone) {
    const auto alone = [&](std::size_t row) -> std::uint32_t& {
      return right_alone ? rows_[row].right : rows_[row].left;
    };
    const std::span<const OpKey> keys = right_alone ? right_ : left_;
    // Sliding up by one: the last op of the gap takes the place of the one before the gap. All ops of that
    // side are adjacent, so the one that is taken for row `begin - 1 - n` is `n` before the gap's last.
    const std::uint32_t last = alone(end - 1);
    int gain = 0, best = 0;
    std::size_t best_count = 0, count = 0;
    while (count < begin && rows_[begin - 1 - count].paired() && count < longest_slide &&
           slides_ < most_slides) {
      const Alignment& row = rows_[begin - 1 - count];
      const std::uint32_t instead = last - static_cast<std::uint32_t>(count);
      if (keys[right_alone ? row.right : row.left].place != keys[instead].place) break;
      const Alignment slid = right_alone ? Alignment{row.left, instead} : Alignment{instead, row.right};
      gain += likeness(slid) - likeness(row);
      ++count;
      ++slides_;
      if (gain > best) {
        best = gain;
        best_count = count;
      }
    }
    if (best_count == 0) return;
    const std::size_t top = begin - best_count;
    const std::uint32_t first = alone(top);
    std::vector<std::uint32_t> others;  // of the other side, in order
    for (std::size_t row = top; row < begin; ++row)
      others.push_back(right_alone ? rows_[row].left : rows_[row].right);
    const std::size_t gap = end - begin;
    for (std::size_t i = 0; i < gap + best_count; ++i) {
      const std::uint32_t mine = first + static_cast<std::uint32_t>(i);
      const std::uint32_t other = i < gap ? no_op : others[i - gap];
      rows_[top + i] = right_alone ? Alignment{other, mine} : Alignment{mine, other};
    }
  }

  const std::span<const OpKey> left_, right_;
  const CancelFlag* const cancel_;
  const AlignProgress& progress_;
  std::uint64_t steps_left_, slides_ = 0, done_ = 0;
  std::vector<Alignment> rows_;
  std::vector<std::int32_t> farthest_, trail_;
};

}  // namespace

std::vector<Alignment> align(std::span<const OpKey> left, std::span<const OpKey> right,
                             const CancelFlag* cancel, const AlignProgress& progress,
                             const AlignLimits& limits) {
  return Aligner(left, right, cancel, progress, limits).run();
}

}  // namespace tapedeck::debug
