// Leads the edges of a placed tape through the lanes of the grid.
#pragma once

#include <map>

#include "inspector/panels/tape/grid_placement.h"

namespace tapedeck::inspector {

/// Edges of one tensor share their way. A way is: out of the node into the channel beside its row, along it,
/// where needed through a gap between columns to another channel, into the node. Each tensor has a lane of
/// its own in every channel and gap that it uses, so no two lie on each other; where there are many lanes
/// they lie closer.
class EdgeRouter {
 public:
  EdgeRouter(const TapeGraph& graph, const GridPlacement& placement, const std::vector<QRectF>& nodes);

  /// One per edge.
  std::vector<Curve> curves() const;
  std::vector<QRectF> labels() const;

 private:
  enum class Side { top, bottom, left, right };
  struct Port {
    int node = -1;
    Side side = Side::top;
    double x = 0, y = 0;
    double from = 0, to = 0;  ///< top: the part of the strip above the node that is its own
  };
  struct Way {
    bool drawn = false;
    int net = -1;
    int out = -1, in = -1;                    ///< ports
    int first_channel = 0, last_channel = 0;  ///< rows that they are above
    int gap = no_gap;                         ///< column that it is left of
  };
  static constexpr int no_gap = 1 << 30;
  /// What one net takes of a channel or gap; lanes are given to these.
  struct Stretch {
    double from = 0, to = 0;
    int lane = 0;
    int lanes = 1;  ///< of the whole channel or gap
  };
  using Stretches = std::map<int, std::map<int, Stretch>>;  ///< by channel or gap, by net

  void findPorts();
  int outPort(int source, int slot, const GridCell& towards);
  int inPort(const GraphEdge& edge, int source, int net);
  void spreadPorts();
  void spread(std::vector<int>& ports, double left, double right);
  void partPorts();
  void chooseGaps();
  int cheapestGap(const Way& way, double from, double to);
  void takeLanes();
  static void claim(Stretches& stretches, int where, int net, double a, double b);
  /// `apart`: what must lie between the end of one stretch and the beginning of the next in a lane.
  static void assign(Stretches& stretches, double apart);
  double channelY(int channel, int net) const;
  double gapX(int gap, int net) const;

  const GridCell& cell(int node) const { return cells_[static_cast<std::size_t>(node)]; }
  const GraphNode& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }

  const TapeGraph& graph_;
  const std::vector<GridCell>& cells_;
  const std::vector<QRectF>& nodes_;
  std::vector<Way> ways_;
  std::vector<Port> ports_;
  std::vector<GridCell> towards_;  ///< by port: where its edge goes to or comes from
  std::vector<int> port_net_;
  std::map<std::pair<int, int>, int> out_ports_;  ///< source and slot: port, which is the net too
  std::map<std::pair<int, int>, int> occupied_;   ///< row and column: node
  Stretches channels_, gaps_;
};

}  // namespace tapedeck::inspector
