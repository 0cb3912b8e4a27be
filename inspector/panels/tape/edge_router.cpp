#include "inspector/panels/tape/edge_router.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "inspector/panels/tape/grid.h"
#include "inspector/panels/tape/node_style.h"

namespace tapedeck::inspector {

namespace {

constexpr double lane_distance = 9, lane_margin = 8;
constexpr double least_apart = 6;   ///< between the ends of two edges above one another
constexpr double badge_width = 70;  ///< kept free at both ends of a node's foot that has a badge
constexpr double corner_radius = 7;
constexpr double label_height = 14;
constexpr double crowd_price = 14;  ///< pixels of detour that one more lane in a gap is worth

bool hasBadge(const GraphNode& node) {
  const NodeText text = nodeText(node);
  return !text.badge.isEmpty() || !text.state.isEmpty();
}

/// Right-angled lines with round corners.
Curve rounded(const std::vector<QPointF>& corners) {
  std::vector<QPointF> points;
  for (const QPointF& corner : corners)
    if (points.empty() || std::hypot(corner.x() - points.back().x(), corner.y() - points.back().y()) > 0.01)
      points.push_back(corner);
  if (points.size() < 2) return {};
  Curve curve{points.front()};
  const auto straight = [&curve](QPointF to) {
    const QPointF from = curve.back();
    curve.insert(curve.end(), {from + (to - from) / 3, from + (to - from) * (2.0 / 3), to});
  };
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const QPointF in = points[i] - points[i - 1], out = points[i + 1] - points[i];
    const double in_length = std::hypot(in.x(), in.y()), out_length = std::hypot(out.x(), out.y());
    const double radius = std::min({corner_radius, in_length / 2, out_length / 2});
    const QPointF before = points[i] - in / in_length * radius, after = points[i] + out / out_length * radius;
    straight(before);
    curve.insert(curve.end(),
                 {before + (points[i] - before) * 0.6, after + (points[i] - after) * 0.6, after});
  }
  straight(points.back());
  return curve;
}

}  // namespace

EdgeRouter::EdgeRouter(const TapeGraph& graph, const GridPlacement& placement,
                       const std::vector<QRectF>& nodes)
    : graph_(graph), cells_(placement.cells()), nodes_(nodes), ways_(graph.edges.size()) {
  for (std::size_t i = 0; i < cells_.size(); ++i)
    occupied_[{cells_[i].row, cells_[i].column}] = static_cast<int>(i);
  findPorts();
  spreadPorts();
  partPorts();
  chooseGaps();
  takeLanes();
}

void EdgeRouter::findPorts() {
  const GroupMembers groups(graph_);
  for (std::size_t i = 0; i < graph_.edges.size(); ++i) {
    const GraphEdge& edge = graph_.edges[i];
    const int source = groups.drawnFrom(edge);
    if (source == edge.to) continue;
    Way& way = ways_[i];
    way.drawn = true;
    // The exit of a group has slots of its own: what goes out there is a net by its tensor.
    const int slot = source == edge.from ? edge.fromSlot : 1000 + edge.fromSlot;
    way.out = way.net = outPort(source, slot, cell(edge.to));
    way.in = inPort(edge, source, way.net);
    const Port &out = ports_[static_cast<std::size_t>(way.out)],
               &in = ports_[static_cast<std::size_t>(way.in)];
    way.first_channel = cell(source).row + (out.side == Side::bottom ? 1 : 0);
    way.last_channel = cell(edge.to).row + (in.side == Side::bottom ? 1 : 0);
    if (in.side == Side::left) way.gap = cell(edge.to).column;
    if (in.side == Side::right) way.gap = cell(edge.to).column + 1;
  }
}

int EdgeRouter::outPort(int source, int slot, const GridCell& towards) {
  const auto [found, made] = out_ports_.try_emplace({source, slot}, static_cast<int>(ports_.size()));
  if (made) {
    // The playback's seeds come out where gradients do.
    const bool up = node(source).backward;
    ports_.push_back({source, up ? Side::top : Side::bottom});
    towards_.push_back(towards);
    port_net_.push_back(found->second);
  }
  return found->second;
}

int EdgeRouter::inPort(const GraphEdge& edge, int source, int net) {
  const GridCell &from = cell(source), &to = cell(edge.to);
  const GraphNode& target = node(edge.to);
  Side side = runsBack(target) ? Side::bottom : Side::top;
  if (edge.arrives && !runsBack(target))
    side = from.column > to.column ? Side::right : Side::left;
  else if (target.kind == NodeKind::playback)
    side = from.column < to.column ? Side::left : Side::right;
  else if (runsBack(target) && edge.backward && from.row <= to.row)
    side = from.column > to.column ? Side::right : Side::left;
  ports_.push_back({edge.to, side});
  towards_.push_back(from);
  port_net_.push_back(net);
  return static_cast<int>(ports_.size()) - 1;
}

/// Along each side of each node: what comes from the left at the left, what is straight above or below in
/// the middle.
void EdgeRouter::spreadPorts() {
  std::map<std::pair<int, Side>, std::vector<int>> sides;
  for (std::size_t i = 0; i < ports_.size(); ++i)
    sides[{ports_[i].node, ports_[i].side}].push_back(static_cast<int>(i));
  for (auto& [key, ports] : sides) {
    const auto& [owner, side] = key;
    const QRectF& rect = nodes_[static_cast<std::size_t>(owner)];
    if (side == Side::left || side == Side::right) {
      // Two that end on both sides of one gap stand at different heights.
      const double step = std::min(12.0, (rect.height() - 12) / static_cast<double>(ports.size()));
      double y = rect.center().y() + (side == Side::left ? 5 : -5) -
                 step * (static_cast<double>(ports.size()) - 1) / 2;
      for (const int i : ports) {
        Port& port = ports_[static_cast<std::size_t>(i)];
        port.x = side == Side::left ? rect.left() : rect.right();
        port.y = std::exchange(y, y + step);
      }
      continue;
    }
    const bool badge = side == Side::bottom && hasBadge(node(owner));
    const double inset = badge ? std::min(badge_width, rect.width() / 2 - 6) : 0;
    spread(ports, rect.left() + inset, rect.right() - inset);
    for (const int i : ports)
      ports_[static_cast<std::size_t>(i)].y = side == Side::top ? rect.top() : rect.bottom();
  }
}

void EdgeRouter::spread(std::vector<int>& ports, double left, double right) {
  const auto direction = [this](int i) {
    const GridCell &here = cell(ports_[static_cast<std::size_t>(i)].node),
                   &there = towards_[static_cast<std::size_t>(i)];
    if (there.column != here.column) return there.column < here.column ? -1 : 1;
    return 0;
  };
  std::stable_sort(ports.begin(), ports.end(), [&](int a, int b) { return direction(a) < direction(b); });
  const auto count = [&](int side) {
    return static_cast<int>(
        std::count_if(ports.begin(), ports.end(), [&](int i) { return direction(i) == side; }));
  };
  const int before = count(-1), straight = count(0), after = count(1);
  const double middle = (left + right) / 2;
  int index = 0;
  for (const int i : ports) {
    Port& port = ports_[static_cast<std::size_t>(i)];
    const int k = index++;
    if (straight != 1)
      port.x = left + (right - left) * (k + 1.0) / (static_cast<double>(ports.size()) + 1.0);
    else if (k < before)
      port.x = left + (middle - left) * (k + 1.0) / (before + 1.0);
    else if (k == before)
      port.x = middle;
    else
      port.x = middle + (right - middle) * (k - before) / (after + 1.0);
  }
}

/// Where one edge ends below a node and another begins above the next node in the same column, at one x, they
/// would lie on each other.
void EdgeRouter::partPorts() {
  std::map<std::pair<int, int>, std::vector<int>> below;  // channel and column: ports at its upper side
  for (std::size_t i = 0; i < ports_.size(); ++i)
    if (ports_[i].side == Side::bottom)
      below[{cell(ports_[i].node).row + 1, cell(ports_[i].node).column}].push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    Port& port = ports_[i];
    if (port.side != Side::top) continue;
    const QRectF& rect = nodes_[static_cast<std::size_t>(port.node)];
    const auto upper = below.find({cell(port.node).row, cell(port.node).column});
    const auto meets = [&](double x) {
      return upper != below.end() && std::any_of(upper->second.begin(), upper->second.end(), [&](int other) {
               return port_net_[static_cast<std::size_t>(other)] != port_net_[i] &&
                      std::abs(ports_[static_cast<std::size_t>(other)].x - x) < least_apart;
             });
    };
    const double wanted = port.x;
    for (int away = 1; away < 24 && meets(port.x); ++away) {
      const double x = wanted + (away % 2 ? -1 : 1) * (away + 1) / 2 * 5.0;
      if (x > rect.left() + 3 && x < rect.right() - 3) port.x = x;
    }
  }
  std::map<int, std::vector<Port*>> tops;
  for (Port& port : ports_)
    if (port.side == Side::top) tops[port.node].push_back(&port);
  for (auto& [owner, row] : tops) {
    std::sort(row.begin(), row.end(), [](const Port* a, const Port* b) { return a->x < b->x; });
    const double left = grid::columnLeft(cell(owner).column), right = left + grid::column_width;
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i]->from = i ? (row[i - 1]->x + row[i]->x) / 2 : left;
      row[i]->to = i + 1 < row.size() ? (row[i]->x + row[i + 1]->x) / 2 : right;
    }
  }
}

void EdgeRouter::claim(Stretches& stretches, int where, int net, double a, double b) {
  const auto [found, made] = stretches[where].try_emplace(net, Stretch{std::min(a, b), std::max(a, b)});
  if (made) return;
  found->second.from = std::min({found->second.from, a, b});
  found->second.to = std::max({found->second.to, a, b});
}

int EdgeRouter::cheapestGap(const Way& way, double from, double to) {
  const int low = static_cast<int>(std::floor(std::min(from, to) / grid::column_pitch));
  const int high = static_cast<int>(std::floor(std::max(from, to) / grid::column_pitch)) + 1;
  int best = low;
  double least = 0;
  for (int gap = low; gap <= high; ++gap) {
    const double x = grid::gapLeft(gap) + grid::column_gap / 2;
    int crowd = 0;
    bool own = false;
    if (const auto here = gaps_.find(gap); here != gaps_.end()) {
      for (const auto& [net, stretch] : here->second) {
        own = own || net == way.net;
        crowd += stretch.to >= 2 * std::min(way.first_channel, way.last_channel) &&
                 stretch.from <= 2 * std::max(way.first_channel, way.last_channel);
      }
    }
    const double price = std::abs(x - from) + std::abs(x - to) + (own ? -60 : crowd_price * crowd);
    if (gap == low || price < least) {
      least = price;
      best = gap;
    }
  }
  return best;
}

/// Heights in a gap are counted in half rows: 2·r the channel above row r, 2·r + 1 the row.
void EdgeRouter::chooseGaps() {
  for (Way& way : ways_) {
    if (!way.drawn) continue;
    const Port &out = ports_[static_cast<std::size_t>(way.out)],
               &in = ports_[static_cast<std::size_t>(way.in)];
    const bool aside = in.side == Side::left || in.side == Side::right;
    if (!aside && way.first_channel == way.last_channel) continue;
    if (!aside) way.gap = cheapestGap(way, out.x, in.x);
    const int end = aside ? 2 * cell(in.node).row + 1 : 2 * way.last_channel;
    claim(gaps_, way.gap, way.net, 2 * way.first_channel, end);
  }
  assign(gaps_, 0.5);
}

void EdgeRouter::takeLanes() {
  for (const Way& way : ways_) {
    if (!way.drawn) continue;
    const Port &out = ports_[static_cast<std::size_t>(way.out)],
               &in = ports_[static_cast<std::size_t>(way.in)];
    if (way.gap == no_gap) {
      claim(channels_, way.first_channel, way.net, out.x, in.x);
      continue;
    }
    const double x = gapX(way.gap, way.net);
    claim(channels_, way.first_channel, way.net, out.x, x);
    if (in.side == Side::top || in.side == Side::bottom) claim(channels_, way.last_channel, way.net, x, in.x);
  }
  assign(channels_, least_apart);
}

/// The lowest free lane there.
void EdgeRouter::assign(Stretches& stretches, double apart) {
  for (auto& [where, nets] : stretches) {
    std::vector<Stretch*> order;
    for (auto& [net, stretch] : nets) order.push_back(&stretch);
    std::stable_sort(order.begin(), order.end(),
                     [](const Stretch* a, const Stretch* b) { return a->from < b->from; });
    std::vector<double> ends;
    for (Stretch* stretch : order) {
      std::size_t lane = 0;
      while (lane < ends.size() && ends[lane] + apart > stretch->from) ++lane;
      if (lane == ends.size()) ends.push_back(0);
      ends[lane] = stretch->to;
      stretch->lane = static_cast<int>(lane);
    }
    for (Stretch* stretch : order) stretch->lanes = static_cast<int>(ends.size());
  }
}

namespace {

double laneOffset(int lane, int lanes, double room) {
  const double distance = std::min(lane_distance, room / lanes);
  return room / 2 + distance * (lane - (lanes - 1) / 2.0);
}

}  // namespace

double EdgeRouter::channelY(int channel, int net) const {
  const Stretch& stretch = channels_.at(channel).at(net);
  return grid::channelTop(channel) + laneOffset(stretch.lane, stretch.lanes, grid::channel_height);
}

double EdgeRouter::gapX(int gap, int net) const {
  const Stretch& stretch = gaps_.at(gap).at(net);
  return grid::gapLeft(gap) + lane_margin +
         laneOffset(stretch.lane, stretch.lanes, grid::column_gap - 2 * lane_margin);
}

std::vector<Curve> EdgeRouter::curves() const {
  std::vector<Curve> result;
  for (const Way& way : ways_) {
    if (!way.drawn) {
      result.emplace_back();
      continue;
    }
    const Port &out = ports_[static_cast<std::size_t>(way.out)],
               &in = ports_[static_cast<std::size_t>(way.in)];
    const QPointF start(out.x, out.y), end(in.x, in.y);
    const double y = channelY(way.first_channel, way.net);
    std::vector<QPointF> corners{start, {start.x(), y}};
    if (way.gap != no_gap) {
      const double x = gapX(way.gap, way.net);
      const bool aside = in.side == Side::left || in.side == Side::right;
      const double turn = aside ? end.y() : channelY(way.last_channel, way.net);
      corners.insert(corners.end(), {{x, y}, {x, turn}});
      if (!aside) corners.emplace_back(end.x(), turn);
    } else {
      corners.emplace_back(end.x(), y);
    }
    corners.push_back(end);
    // Corners on a straight line are none.
    std::vector<QPointF> bent;
    for (const QPointF& corner : corners) {
      while (bent.size() > 1 && ((std::abs(bent.back().x() - corner.x()) < 0.01 &&
                                  std::abs(bent[bent.size() - 2].x() - corner.x()) < 0.01) ||
                                 (std::abs(bent.back().y() - corner.y()) < 0.01 &&
                                  std::abs(bent[bent.size() - 2].y() - corner.y()) < 0.01)))
        bent.pop_back();
      bent.push_back(corner);
    }
    result.push_back(rounded(bent));
  }
  return result;
}

/// In the strip above a node: a gradient's where it leaves, a value's where it comes in.
std::vector<QRectF> EdgeRouter::labels() const {
  std::vector<QRectF> result(ways_.size());
  std::set<int> named;
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const Way& way = ways_[i];
    if (!way.drawn) continue;
    const Port &out = ports_[static_cast<std::size_t>(way.out)],
               &in = ports_[static_cast<std::size_t>(way.in)];
    const Port& port = out.side == Side::top ? out : in;
    if (port.side != Side::top) continue;
    if (out.side == Side::top && !named.insert(way.net).second) continue;
    const double width = nominalTextWidth(edgeLabel(graph_.edges[i]), edge_label_size, false) + 8;
    const double room = port.to - port.from - 4;
    if (room < 16) continue;
    const double wide = std::min(width, room);
    const double left = std::clamp(port.x - wide / 2, port.from + 2, port.to - 2 - wide);
    const double top = grid::rowTop(cell(port.node).row) - grid::label_strip + 1;
    result[i] = QRectF(left, top, wide, label_height);
  }
  return result;
}

}  // namespace tapedeck::inspector
