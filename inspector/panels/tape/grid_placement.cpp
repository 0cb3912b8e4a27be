#include "inspector/panels/tape/grid_placement.h"

#include <algorithm>
#include <cstdlib>

#include "inspector/panels/tape/node_style.h"

namespace tapedeck::inspector {

namespace {

constexpr int most_aside = 8;  ///< columns to either side; then a row is full

}  // namespace

void CellBox::add(GridCell cell) {
  if (empty()) {
    top = bottom = cell.row;
    left = right = cell.column;
    return;
  }
  top = std::min(top, cell.row);
  bottom = std::max(bottom, cell.row);
  left = std::min(left, cell.column);
  right = std::max(right, cell.column);
}

GridPlacement::GridPlacement(const TapeGraph& graph, const std::atomic<bool>* cancelled)
    : graph_(graph),
      groups_(graph),
      cells_(graph.nodes.size()),
      placed_(graph.nodes.size()),
      inputs_(graph.nodes.size()) {
  for (const GraphEdge& edge : graph.edges)
    if (!edge.arrives) inputs_[static_cast<std::size_t>(edge.to)].push_back(edge.from);
  const int count = static_cast<int>(graph.nodes.size());
  for (int i = 0; i < count && !(cancelled && *cancelled); ++i) {
    if (isLeaf(node(i))) continue;
    place(i);
    placeLeaves(i);
  }
  for (int i = 0; i < count; ++i)  // leaves that nothing reads
    if (!placed(i)) put(i, rightwards(i, {0, 0}));
}

void GridPlacement::put(int i, GridCell at) {
  cell(i) = at;
  placed_[static_cast<std::size_t>(i)] = true;
  taken_[{at.row, at.column}] = i;
  highest_ = std::min(highest_, at.row);
  lowest_ = std::max(lowest_, at.row);
  rightmost_ = std::max(rightmost_, at.column);
  for (int group = node(i).group; group >= 0; group = node(group).group) {
    CellBox& frame = frames_[group];
    if (frame.empty() && placed(group)) frame.add(cell(group));
    frame.add(at);
  }
}

bool GridPlacement::inGroup(int i, int group) const {
  for (int at = node(i).group; at >= 0; at = node(at).group)
    if (at == group) return true;
  return false;
}

int GridPlacement::outermost(int i) const {
  while (node(i).group >= 0 && placed(node(i).group)) i = node(i).group;
  return i;
}

/// The node's own cell, or its frame.
CellBox GridPlacement::extent(int i) const {
  const auto frame = frames_.find(i);
  CellBox box = frame == frames_.end() ? CellBox{} : frame->second;
  if (placed(i)) box.add(cells_[static_cast<std::size_t>(i)]);
  return box;
}

bool GridPlacement::free(int i, GridCell at) const {
  if (taken_.contains({at.row, at.column}) || apart_ == at) return false;
  for (const auto& [group, frame] : frames_)
    if (group != i && frame.contains(at) && !inGroup(i, group)) return false;
  return true;
}

/// With the node there, no frame around it surrounds a stranger.
bool GridPlacement::fitsItsGroups(int i, GridCell at) const {
  for (int group = node(i).group; group >= 0; group = node(group).group) {
    CellBox frame = extent(group);
    frame.add(at);
    for (auto taken = taken_.lower_bound({frame.top, frame.left});
         taken != taken_.end() && taken->first.first <= frame.bottom; ++taken) {
      const int other = taken->second;
      if (frame.contains({taken->first.first, taken->first.second}) && other != group &&
          !inGroup(other, group))
        return false;
    }
  }
  return true;
}

std::optional<GridCell> GridPlacement::nearest(int i, GridCell wanted, int least, int most, int first) const {
  if (least > most) return std::nullopt;
  wanted.column = std::clamp(wanted.column, least, most);
  for (int away = 0; away <= 2 * most_aside; ++away) {
    for (const int column : {wanted.column + first * away, wanted.column - first * away}) {
      const GridCell at{wanted.row, column};
      if (column >= least && column <= most && free(i, at) && fitsItsGroups(i, at)) return at;
    }
  }
  return std::nullopt;
}

GridCell GridPlacement::rightwards(int i, GridCell wanted) const {
  while (!free(i, wanted) || !fitsItsGroups(i, wanted)) {
    ++wanted.column;
    if (wanted.column > rightmost_ + 1 && free(i, wanted)) break;  // a frame with strangers in it
  }
  return wanted;
}

void GridPlacement::place(int i) {
  const GraphNode& op = node(i);
  if (op.group >= 0 && placed(op.group)) return placeMember(i);
  if (op.kind == NodeKind::playback) return placePlayback(i);
  if (op.kind == NodeKind::vjp && placed(op.forward)) return placeVjp(i);
  if (op.kind == NodeKind::more && i == 0) return put(i, {-1, 0});
  if (runsBack(op)) return placeBackward(i);
  placeForward(i);
}

/// Inside of a custom gradient: on from what it reads there, away from the header.
void GridPlacement::placeMember(int i) {
  const int group = node(i).group;
  const bool up = runsBack(node(group));
  GridCell at = cell(group);
  bool found = false;
  for (const int input : inputs_[static_cast<std::size_t>(i)]) {
    if (!placed(input) || !inGroup(input, group)) continue;
    const CellBox box = extent(input);
    if (!found) at = {up ? box.top : box.bottom, cell(input).column};
    at.row = up ? std::min(at.row, box.top) : std::max(at.row, box.bottom);
    found = true;
  }
  at.row += up ? -1 : 1;
  const int least = up && first_back_ ? first_back_ : at.column - most_aside;
  // What stands beside the frame, a constant that its ops read, lets it grow no wider in that row.
  GridCell wanted = at;
  for (int away = 0; away <= most_aside; ++away, wanted.row += up ? -1 : 1)
    if (const auto near = nearest(i, wanted, least, at.column + most_aside, up ? 1 : -1))
      return put(i, *near);
  put(i, rightwards(i, at));
}

/// In the row of its op; of a framed one, in the frame's last row: there the function's result went out.
void GridPlacement::placeVjp(int i) {
  const int forward = node(i).forward;
  const int row = extent(forward).bottom;
  const int outer = outermost(forward);
  const int column = runsBack(node(outer)) || !first_back_ ? std::max(extent(outer).right + 1, first_back_)
                                                           : first_back_ + std::abs(cell(outer).column);
  put(i, rightwards(i, {row, column}));
}

/// Below the targets, right of everything: there the tape turns round.
void GridPlacement::placePlayback(int i) {
  int row = 0;
  bool found = false;
  for (const int input : inputs_[static_cast<std::size_t>(i)]) {
    if (!placed(input)) continue;
    row = found ? std::max(row, extent(input).bottom) : extent(input).bottom;
    found = true;
  }
  first_back_ = std::max(rightmost_ + 1, 1);
  put(i, rightwards(i, {(found ? row : lowest_) + 1, first_back_}));
}

/// Ops that run backwards outside of any VJP: a sum of gradients is in the row that it goes to.
void GridPlacement::placeBackward(int i) {
  const int goal = node(i).goal;
  if (placed(goal)) {
    const GraphNode& target = node(goal);
    const int column =
        first_back_ + 1 + (isLeaf(target) || runsBack(target) ? 0 : std::abs(cell(outermost(goal)).column));
    return put(i, rightwards(i, {extent(goal).bottom, std::max(column, cell(goal).column + 1)}));
  }
  int row = 0;
  bool found = false;
  for (const int input : inputs_[static_cast<std::size_t>(i)]) {
    if (!placed(input) || !runsBack(node(input))) continue;
    row = found ? std::min(row, extent(input).top) : extent(input).top;
    found = true;
  }
  put(i, rightwards(i, {found ? row - 1 : lowest_, first_back_ + 1}));
}

void GridPlacement::placeForward(int i) {
  const bool off = node(i).offTape;
  if (off && !apart_) {
    apart_ = GridCell{lowest_ + 1, 0};
    ++lowest_;
  }
  const int first_row = off ? apart_->row + 1 : 0;
  int row = first_row - 1, column = 0;
  bool found = false, leaves = false;
  for (const int input : inputs_[static_cast<std::size_t>(i)]) {
    if (isLeaf(node(input)) && !placed(input)) leaves = true;
    if (!placed(input) || (off && !node(input).offTape)) continue;
    const int bottom = extent(input).bottom;
    const bool below = !isLeaf(node(input)) && !runsBack(node(input));
    if (below && (!found || bottom > row)) column = cell(outermost(input)).column;
    found = found || below;
    row = std::max(row, bottom);
  }
  row = std::max(row + 1, first_row + (leaves && !found ? 1 : 0));
  if (node(i).kind == NodeKind::more) row = lowest_ + 1;
  const int most = first_back_ ? first_back_ - 1 : most_aside;
  for (; row <= lowest_ + 1; ++row)
    if (const auto at = nearest(i, {row, column}, -most_aside, most, -1)) return put(i, *at);
  put(i, rightwards(i, {row, column}));  // below everything: only a frame with strangers in it refuses that
}

/// Leaves stand above their first reader; beside it where that runs backwards.
void GridPlacement::placeLeaves(int i) {
  for (const int leaf : inputs_[static_cast<std::size_t>(i)]) {
    if (!isLeaf(node(leaf)) || placed(leaf)) continue;
    const CellBox outer = extent(outermost(i));
    if (runsBack(node(i))) {
      put(leaf, rightwards(leaf, {cell(i).row, outer.right + 1}));
      continue;
    }
    const int most = first_back_ ? first_back_ - 1 : most_aside;
    std::optional<GridCell> at;
    for (int row = outer.top - 1; !at && row >= std::min(highest_, outer.top) - 1; --row)
      at = nearest(leaf, {row, cell(i).column}, -most_aside, most, 1);
    put(leaf, at ? *at : rightwards(leaf, {cell(i).row, outer.right + 1}));
  }
}

}  // namespace tapedeck::inspector
