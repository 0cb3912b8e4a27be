#include "inspector/model/ops/heading_rows.h"

#include <algorithm>

namespace tapedeck::inspector {

using Kind = GroupTree::Kind;

void HeadingRows::clear() {
  count_ = headings_ = projected_ = 0;
  items_.clear();
  folded_.clear();
  hidden_.clear();
}

HeadingLevel HeadingRows::kind_of(const GroupTree::Node& node) {
  if (node.kind == Kind::run) return HeadingLevel::cell;
  return node.kind == Kind::scope || node.kind == Kind::call ? HeadingLevel::scope : HeadingLevel::step;
}

/// What a group keeps when others come around it: its first record, and its depth in its scope.
std::uint64_t HeadingRows::key_of(const GroupTree& tree, std::uint32_t node) {
  std::uint64_t depth = 0;
  const auto& nodes = tree.nodes();
  for (std::uint32_t above = nodes[node].parent; above != none && nodes[above].kind == Kind::scope;
       above = nodes[above].parent)
    ++depth;
  return nodes[node].first << 8 | std::min<std::uint64_t>(depth, 255);
}

bool HeadingRows::wants_folded(const GroupTree& tree, std::uint32_t node) const {
  const auto kind = static_cast<std::size_t>(kind_of(tree.nodes()[node]));
  const auto& others = others_[kind];
  return all_folded_[kind] != (!others.empty() && others.contains(key_of(tree, node)));
}

std::uint32_t HeadingRows::open_end(std::uint32_t item) const {
  const std::uint32_t end = items_[item].end;
  return end == none ? open_rows() : open_row(end);
}

std::uint32_t HeadingRows::end_position(std::uint32_t heading) const {
  const std::uint32_t end = items_[heading].end;
  return end == none ? count_ : items_[end].start;
}

// ---- what there is

std::size_t HeadingRows::first_changed(const GroupTree& tree, std::uint32_t position,
                                       std::uint64_t from) const {
  const auto kept_nodes = static_cast<std::uint32_t>(
      std::ranges::lower_bound(tree.nodes(), from, {}, &GroupTree::Node::first) - tree.nodes().begin());
  const auto changed = std::ranges::partition_point(
      items_, [&](const Item& item) { return item.node < kept_nodes && item.start < position; });
  return static_cast<std::size_t>(changed - items_.begin());
}

void HeadingRows::fold_as(const HeadingRows& other) {
  clear();
  all_folded_ = other.all_folded_;
  others_ = other.others_;
}

void HeadingRows::rewind(const GroupTree& tree, const Listing& listing, std::uint64_t from) {
  const std::uint32_t position = listing.before(from);
  keep(first_changed(tree, position, from));
  count_ = listing.count;
  projected_ = std::min({projected_, position, count_});
}

void HeadingRows::keep(std::size_t items) {
  items_.resize(items);
  const auto size = static_cast<std::uint32_t>(items);
  folded_.erase(std::ranges::lower_bound(folded_, size), folded_.end());
  while (!hidden_.empty() && hidden_.back().item >= size) hidden_.pop_back();
  headings_ = items == 0 ? 0 : items_.back().headings + items_.back().heading;
  for (std::uint32_t item = items == 0 ? none : size - 1; item != none; item = items_[item].parent)
    items_[item].end = none;
}

RowChange HeadingRows::update(const GroupTree& tree, const Listing& listing, std::uint64_t from) {
  RowChange change;
  const std::uint32_t position = listing.before(from);
  change.before = change.row = row_count();
  if (position < count_) change.row = row_of_position(position) + (hidden(position) ? 1 : 0);
  const std::size_t kept = first_changed(tree, position, from);
  const std::vector<Item> old(items_.begin() + static_cast<std::ptrdiff_t>(kept), items_.end());
  std::vector<int> old_rows;
  for (std::size_t i = kept; i < items_.size(); ++i)
    old_rows.push_back(row_from(static_cast<std::uint32_t>(i)));
  rewind(tree, listing, from);
  lay(tree, listing, ~std::size_t{0});
  change.after = row_count();
  // The first that is not where it was.
  std::size_t same = 0;
  while (same < old.size() && kept + same < items_.size() && old[same].same_row_as(items_[kept + same]))
    ++same;
  if (same < old.size()) change.row = std::min(change.row, old_rows[same]);
  if (kept + same < items_.size())
    change.row = std::min(change.row, row_from(static_cast<std::uint32_t>(kept + same)));
  return change;
}

bool HeadingRows::lay(const GroupTree& tree, const Listing& listing, std::size_t most) {
  count_ = listing.count;
  const auto& nodes = tree.nodes();
  std::vector<std::uint32_t> open, wanted;  // items, and nodes, from the outside in
  for (std::uint32_t item = items_.empty() ? none : static_cast<std::uint32_t>(items_.size() - 1);
       item != none; item = items_[item].parent)
    open.push_back(item);
  std::ranges::reverse(open);
  std::uint32_t node = none;
  for (std::size_t looked = 0; projected_ < count_; ++looked) {
    if (looked == most) return false;
    const std::uint64_t record = listing.record(projected_);
    if (record > tree.covered()) break;  // its groups are not known yet
    // Most often the next one, or the one in that.
    int steps = 0;
    while (node != none && node + 1 < nodes.size() && nodes[node + 1].first <= record && ++steps < 8) ++node;
    if (node == none || steps == 8) node = tree.node_of(record);
    if (node == none) break;
    wanted.clear();
    for (std::uint32_t one = node; one != none; one = nodes[one].parent) wanted.push_back(one);
    std::ranges::reverse(wanted);
    std::size_t same = 0;
    while (same < open.size() && same < wanted.size() && items_[open[same]].node == wanted[same]) ++same;
    if (same < wanted.size()) {
      for (std::size_t i = same; i < open.size(); ++i)
        items_[open[i]].end = static_cast<std::uint32_t>(items_.size());
      open.resize(same);
    }
    for (std::size_t i = same; i < wanted.size(); ++i) {
      push(tree, wanted[i], projected_, open.empty() ? none : open.back());
      open.push_back(static_cast<std::uint32_t>(items_.size() - 1));
    }
    const std::uint64_t next = node + 1 < nodes.size() ? nodes[node + 1].first : tree.covered() + 1;
    projected_ = std::max(projected_ + 1, std::min(count_, listing.before(next)));
  }
  return true;
}

void HeadingRows::push(const GroupTree& tree, std::uint32_t node, std::uint32_t position,
                       std::uint32_t parent) {
  Item item;
  item.first = tree.nodes()[node].first;
  item.kind = kind_of(tree.nodes()[node]);
  item.start = position;
  item.headings = headings_;
  item.parent = parent;
  item.node = node;
  item.heading = tree.nodes()[node].kind != Kind::plain;
  item.folded = item.heading && wants_folded(tree, node);
  headings_ += item.heading;
  items_.push_back(item);
  if (!item.folded) return;
  const auto place = static_cast<std::uint32_t>(items_.size() - 1);
  folded_.push_back(place);
  if (hidden_.empty() || items_[hidden_.back().item].end != none) hide(place);
}

/// Behind all that is hidden.
void HeadingRows::hide(std::uint32_t item) {
  const std::uint32_t before = hidden_.empty() ? 0 : hidden_.back().before + count_of(hidden_.back());
  hidden_.push_back({item, open_row(item) + 1, before});
}

// ---- rows

int HeadingRows::row_count() const {
  const std::uint32_t hidden = hidden_.empty() ? 0 : hidden_.back().before + count_of(hidden_.back());
  return static_cast<int>(open_rows() - hidden);
}

const HeadingRows::Hidden* HeadingRows::hiding(std::uint32_t open_row) const {
  const auto after = std::ranges::upper_bound(hidden_, open_row, {}, &Hidden::begin);
  if (after == hidden_.begin()) return nullptr;
  const Hidden& hidden = *std::prev(after);
  return open_row < hidden.begin + count_of(hidden) ? &hidden : nullptr;
}

int HeadingRows::shown_row(std::uint32_t open_row) const {
  const auto after = std::ranges::upper_bound(hidden_, open_row, {}, &Hidden::begin);
  if (after == hidden_.begin()) return static_cast<int>(open_row);
  const Hidden& hidden = *std::prev(after);
  if (open_row < hidden.begin + count_of(hidden)) return static_cast<int>(hidden.begin - 1 - hidden.before);
  return static_cast<int>(open_row - hidden.before - count_of(hidden));
}

std::uint32_t HeadingRows::open_row_at(int row) const {
  const auto shown = static_cast<std::uint32_t>(row);
  const auto after = std::ranges::upper_bound(
      hidden_, shown, {}, [](const Hidden& hidden) { return hidden.begin - hidden.before; });
  if (after == hidden_.begin()) return shown;
  const Hidden& hidden = *std::prev(after);
  return shown + hidden.before + count_of(hidden);
}

std::uint32_t HeadingRows::item_at(std::uint32_t open_row) const {
  const auto after = std::ranges::upper_bound(items_, open_row, {},
                                              [](const Item& item) { return item.start + item.headings; });
  return after == items_.begin() ? none : static_cast<std::uint32_t>(after - items_.begin() - 1);
}

std::uint32_t HeadingRows::item_of(std::uint32_t position) const {
  const auto after = std::ranges::upper_bound(items_, position, {}, &Item::start);
  return after == items_.begin() ? none : static_cast<std::uint32_t>(after - items_.begin() - 1);
}

std::uint32_t HeadingRows::heading_at(int row) const {
  const std::uint32_t open = open_row_at(row);
  const std::uint32_t item = item_at(open);
  return item != none && items_[item].heading && open_row(item) == open ? item : none;
}

std::uint32_t HeadingRows::position_at(int row) const {
  const std::uint32_t open = open_row_at(row);
  const std::uint32_t item = item_at(open);
  return item == none ? open : open - items_[item].headings - items_[item].heading;
}

int HeadingRows::row_of_position(std::uint32_t position) const {
  const std::uint32_t item = item_of(position);
  return shown_row(item == none ? position : position + items_[item].headings + items_[item].heading);
}

bool HeadingRows::hidden(std::uint32_t position) const {
  const std::uint32_t item = item_of(position);
  return item != none && hiding(position + items_[item].headings + items_[item].heading);
}

int HeadingRows::row_of(std::uint32_t heading) const {
  return shown_row(open_row(heading));
}

/// The first row that changes where the item does.
int HeadingRows::row_from(std::uint32_t item) const {
  return row_of(item) + (hiding(open_row(item)) ? 1 : 0);
}

std::uint32_t HeadingRows::parent_of(std::uint32_t heading) const {
  return items_[heading].parent;
}

std::uint32_t HeadingRows::heading_around(int row) const {
  const std::uint32_t open = open_row_at(row);
  const std::uint32_t item = item_at(open);
  if (item == none) return none;
  return items_[item].heading && open_row(item) != open ? item : items_[item].parent;
}

std::uint32_t HeadingRows::heading_of(std::uint32_t position) const {
  const std::uint32_t item = item_of(position);
  return item == none || items_[item].heading ? item : items_[item].parent;
}

// ---- folding

/// Of the folded items in [first, end) those that no other one of them hides.
void HeadingRows::show_folded(std::uint32_t first, std::uint32_t end, std::vector<Hidden>& shown) const {
  auto item = std::ranges::lower_bound(folded_, first);
  while (item != folded_.end() && *item < end) {
    shown.push_back({*item, open_row(*item) + 1, 0});
    const std::uint32_t behind = items_[*item].end;
    if (behind == none) return;
    item = std::lower_bound(item, folded_.end(), behind);
  }
}

void HeadingRows::count_hidden(std::size_t from) {
  for (std::size_t i = from; i < hidden_.size(); ++i)
    hidden_[i].before = i == 0 ? 0 : hidden_[i - 1].before + count_of(hidden_[i - 1]);
}

RowChange HeadingRows::set_folded(const GroupTree& tree, std::uint32_t heading, bool folded) {
  RowChange change;
  change.before = row_count();
  change.row = row_of(heading) + 1;
  Item& item = items_[heading];
  const bool away = hiding(open_row(heading)) != nullptr;
  if (item.folded != folded) {
    item.folded = folded;
    const auto kind = static_cast<std::size_t>(item.kind);
    const std::uint64_t key = key_of(tree, item.node);
    if (folded == all_folded_[kind])
      others_[kind].erase(key);
    else
      others_[kind].insert(key);
    const auto place = std::ranges::lower_bound(folded_, heading);
    if (folded)
      folded_.insert(place, heading);
    else
      folded_.erase(place);
    if (!away) {
      const std::uint32_t end = item.end == none ? static_cast<std::uint32_t>(items_.size()) : item.end;
      const auto first = std::ranges::lower_bound(hidden_, heading, {}, &Hidden::item);
      const auto last = std::ranges::lower_bound(hidden_, end, {}, &Hidden::item);
      const auto at = first - hidden_.begin();
      std::vector<Hidden> shown;
      show_folded(heading, end, shown);
      hidden_.insert(hidden_.erase(first, last), shown.begin(), shown.end());
      count_hidden(static_cast<std::size_t>(at));
    }
  }
  change.after = row_count();
  return change;
}

RowChange HeadingRows::set_all_folded(HeadingLevel kind, bool folded) {
  RowChange change;
  change.before = row_count();
  all_folded_[static_cast<std::size_t>(kind)] = folded;
  others_[static_cast<std::size_t>(kind)].clear();
  folded_.clear();
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    Item& item = items_[i];
    if (item.heading && item.kind == kind) item.folded = folded;
    if (item.folded) folded_.push_back(i);
  }
  hidden_.clear();
  show_folded(0, static_cast<std::uint32_t>(items_.size()), hidden_);
  count_hidden(0);
  change.after = row_count();
  return change;
}

}  // namespace tapedeck::inspector
