// The rows of Ops with headings: which row is which record or heading, where groups are folded. No Qt
// objects, no requests.
//
// What is listed are all records, or those that a filter lets through; a position counts them from 0. No
// function iterates over them: a heading knows its position and how many headings are above it, and
// only groups that are folded are subtracted.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_set>
#include <vector>

#include "inspector/model/ops/group_tree.h"

namespace tapedeck::inspector {

/// Rows from `row` on changed: there were `before` rows in all, and there are `after`.
struct RowChange {
  int row = 0, before = 0, after = 0;
};

/// What has rows, in the order of the records.
struct Listing {
  std::uint32_t count = 0;
  std::function<std::uint64_t(std::uint32_t position)> record;
  std::function<std::uint32_t(std::uint64_t record)> before;  ///< how many are listed with lower numbers
};

class HeadingRows {
 public:
  static constexpr std::uint32_t none = GroupTree::none;

  void clear();
  /// The groups of records from `from` on, or the listing from there on, changed.
  RowChange update(const GroupTree& tree, const Listing& listing, std::uint64_t from);

  // Rows that no view shows yet are laid in slices: rewind() is what update() forgets, lay() what it adds.
  /// Starts over with the other's folds.
  void fold_as(const HeadingRows& other);
  void rewind(const GroupTree& tree, const Listing& listing, std::uint64_t from);
  /// Looks at `most` groups that follow each other, or fewer. True: it is at the end of what is known.
  bool lay(const GroupTree& tree, const Listing& listing, std::size_t most);
  /// Positions that have been laid.
  std::uint32_t laid() const { return projected_; }

  int row_count() const;
  /// The heading that the row is; none: it is a record's.
  std::uint32_t heading_at(int row) const;
  /// Of a row that is no heading's.
  std::uint32_t position_at(int row) const;
  /// The row of the position; where it is folded away, that of the outermost heading that hides it.
  int row_of_position(std::uint32_t position) const;
  bool hidden(std::uint32_t position) const;
  /// The row of the heading, or of the one that hides it.
  int row_of(std::uint32_t heading) const;
  /// The innermost heading that the row is in; of a heading's row, the one around it. none: in none.
  std::uint32_t heading_around(int row) const;
  /// The innermost heading that the position is in, folded or not; none: in none.
  std::uint32_t heading_of(std::uint32_t position) const;
  std::uint32_t parent_of(std::uint32_t heading) const;

  std::uint32_t node_of(std::uint32_t heading) const { return items_[heading].node; }
  bool folded(std::uint32_t heading) const { return items_[heading].folded; }
  /// Positions [first, end) are in the group.
  std::uint32_t first_position(std::uint32_t heading) const { return items_[heading].start; }
  std::uint32_t end_position(std::uint32_t heading) const;

  RowChange set_folded(const GroupTree& tree, std::uint32_t heading, bool folded);
  /// All headings of a kind, those that are yet to come among them.
  RowChange set_all_folded(HeadingLevel kind, bool folded);
  bool all_folded(HeadingLevel kind) const { return all_folded_[static_cast<std::size_t>(kind)]; }

 private:
  struct Item {
    std::uint64_t first = 0;     ///< the group's first record, listed or not
    std::uint32_t start = 0;     ///< position
    std::uint32_t headings = 0;  ///< above it
    std::uint32_t parent = none, end = none;
    std::uint32_t node = none;
    HeadingLevel kind = HeadingLevel::none;
    bool heading = false, folded = false;
    bool same_row_as(const Item& other) const {
      return first == other.first && start == other.start && kind == other.kind && parent == other.parent &&
             heading == other.heading && folded == other.folded;
    }
  };
  /// A group that is folded in none that is folded: rows, counted as if nothing was folded.
  struct Hidden {
    std::uint32_t item = none;
    std::uint32_t begin = 0;   ///< the first hidden row
    std::uint32_t before = 0;  ///< rows hidden above it
  };
  /// The first item that changes where the records from `from` on do, the first of them at `position`.
  std::size_t first_changed(const GroupTree& tree, std::uint32_t position, std::uint64_t from) const;
  void keep(std::size_t items);
  void push(const GroupTree& tree, std::uint32_t node, std::uint32_t position, std::uint32_t parent);
  void hide(std::uint32_t item);
  void show_folded(std::uint32_t first, std::uint32_t end, std::vector<Hidden>& shown) const;
  void count_hidden(std::size_t from);

  std::uint32_t open_row(std::uint32_t item) const { return items_[item].start + items_[item].headings; }
  std::uint32_t open_end(std::uint32_t item) const;
  std::uint32_t open_rows() const { return count_ + headings_; }
  std::uint32_t count_of(const Hidden& hidden) const { return open_end(hidden.item) - hidden.begin; }
  const Hidden* hiding(std::uint32_t open_row) const;
  int shown_row(std::uint32_t open_row) const;
  int row_from(std::uint32_t item) const;
  std::uint32_t open_row_at(int row) const;
  std::uint32_t item_at(std::uint32_t open_row) const;
  std::uint32_t item_of(std::uint32_t position) const;

  static std::uint64_t key_of(const GroupTree& tree, std::uint32_t node);
  static HeadingLevel kind_of(const GroupTree::Node& node);
  bool wants_folded(const GroupTree& tree, std::uint32_t node) const;

  std::uint32_t count_ = 0, headings_ = 0;
  std::uint32_t projected_ = 0;  ///< positions that are in items; those behind go on with the last one
  std::vector<Item> items_;
  std::vector<std::uint32_t> folded_;  ///< items, ascending
  std::vector<Hidden> hidden_;
  std::array<bool, 4> all_folded_{};
  /// Of each kind the groups that are otherwise than all.
  std::array<std::unordered_set<std::uint64_t>, 4> others_;
};

}  // namespace tapedeck::inspector
