// Gives each node of a tape its cell in the grid.
#pragma once

#include <atomic>
#include <map>
#include <optional>

#include "inspector/panels/tape/graph_layout.h"

namespace tapedeck::inspector {

/// The cells that a group's nodes take, both ends included.
struct CellBox {
  int top = 0, bottom = -1, left = 0, right = -1;
  bool empty() const { return bottom < top; }
  bool contains(GridCell cell) const {
    return cell.row >= top && cell.row <= bottom && cell.column >= left && cell.column <= right;
  }
  void add(GridCell cell);
};

/// One node after the other, in the graph's order; see layoutTapeGraph for the rules.
class GridPlacement {
 public:
  explicit GridPlacement(const TapeGraph& graph, const std::atomic<bool>* cancelled);

  const std::vector<GridCell>& cells() const { return cells_; }
  /// Frames by their group's node, outer ones before inner ones.
  const std::map<int, CellBox>& frames() const { return frames_; }
  /// The position of the title of the ops that are not on the tape.
  std::optional<GridCell> apart() const { return apart_; }

 private:
  const GraphNode& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }
  bool placed(int i) const { return i >= 0 && placed_[static_cast<std::size_t>(i)]; }
  GridCell& cell(int i) { return cells_[static_cast<std::size_t>(i)]; }
  void put(int i, GridCell at);
  bool free(int i, GridCell at) const;
  bool fitsItsGroups(int i, GridCell at) const;
  bool inGroup(int i, int group) const;
  int outermost(int i) const;
  CellBox extent(int i) const;
  /// The nearest free cell of the row between two columns; of two as near the one on the side `first` (-1:
  /// left).
  std::optional<GridCell> nearest(int i, GridCell wanted, int least, int most, int first) const;
  GridCell rightwards(int i, GridCell wanted) const;

  void place(int i);
  void placeMember(int i);
  void placeVjp(int i);
  void placePlayback(int i);
  void placeBackward(int i);
  void placeForward(int i);
  void placeLeaves(int i);

  const TapeGraph& graph_;
  const GroupMembers groups_;
  std::vector<GridCell> cells_;
  std::vector<bool> placed_;
  std::vector<std::vector<int>> inputs_;
  std::map<std::pair<int, int>, int> taken_;  ///< row and column: the node
  std::map<int, CellBox> frames_;
  std::optional<GridCell> apart_;
  int highest_ = 0;     ///< row
  int lowest_ = 0;      ///< row
  int rightmost_ = 0;   ///< column
  int first_back_ = 0;  ///< column where the newest playback's VJPs begin; 0: none yet
};

}  // namespace tapedeck::inspector
