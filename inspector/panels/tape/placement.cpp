#include "inspector/panels/tape/placement.h"

#include <algorithm>
#include <cmath>

#include "inspector/panels/tape/node_style.h"

namespace tapedeck::inspector {

namespace {

constexpr double row_gap = 44, column_gap = 30, beside_gap = 64, leaf_row = 88;
constexpr double frame_padding = 22;

/// Boxes by horizontal bands, to find what is in the way.
class Occupancy {
 public:
  void add(const QRectF& rect) {
    for (int band = bandOf(rect.top()); band <= bandOf(rect.bottom()); ++band) bands_[band].push_back(rect);
  }
  bool free(const QRectF& rect) const {
    const QRectF wide = rect.adjusted(-column_gap, -14, column_gap, 14);
    for (int band = bandOf(wide.top()); band <= bandOf(wide.bottom()); ++band) {
      const auto found = bands_.find(band);
      if (found == bands_.end()) continue;
      for (const QRectF& other : found->second)
        if (other.intersects(wide)) return false;
    }
    return true;
  }

 private:
  static int bandOf(double y) { return static_cast<int>(std::floor(y / 100)); }
  std::unordered_map<int, std::vector<QRectF>> bands_;
};

enum class Aside { both, right };

class Placement {
 public:
  Placement(const TapeGraph& graph, int first, const std::unordered_map<quint64, QRectF>& places)
      : graph_(graph), groups_(graph), first_(first), count_(static_cast<int>(graph.nodes.size())) {
    layout_.nodes.resize(count_);
    layout_.edges.resize(graph.edges.size());
    layout_.left_out = first;
    inputs_.resize(count_);
    for (const GraphEdge& edge : graph.edges)
      if (edge.from >= first && edge.to >= first && !edge.arrives) inputs_[edge.to].push_back(edge.from);
    for (int i = first; i < count_; ++i) {
      const auto known = places.find(nodeKey(graph.nodes[i]));
      if (known == places.end()) continue;
      const QSizeF size = nodeSize(graph.nodes[i]);
      put(i, QRectF(known->second.center() - QPointF(size.width() / 2, size.height() / 2), size));
    }
    for (const QRectF& rect : layout_.nodes)
      if (!rect.isNull()) top_ = std::min(top_, rect.top());
  }

  GraphLayout run() {
    for (int i = first_; i < count_; ++i)
      if (!isLeaf(graph_.nodes[i])) placeWithLeaves(i);
    for (int i = first_; i < count_; ++i)
      if (layout_.nodes[i].isNull()) put(i, aside(i, boxAt(i, {0, top_}), Aside::right));
    addFrames();
    for (std::size_t i = 0; i < graph_.edges.size(); ++i) layout_.edges[i] = route(graph_.edges[i]);
    layout_.bounds = layoutBounds(layout_);
    return std::move(layout_);
  }

 private:
  const GraphNode& node(int i) const { return graph_.nodes[i]; }
  const QRectF& box(int i) const { return layout_.nodes[i]; }
  bool placed(int i) const { return i >= 0 && !layout_.nodes[i].isNull(); }

  void put(int i, const QRectF& rect) {
    layout_.nodes[i] = rect;
    occupancy_.add(rect);
    for (int group = node(i).group; group >= first_; group = node(group).group)
      extents_[group] |= rect.adjusted(-frame_padding, -frame_padding, frame_padding, frame_padding);
  }

  /// The node's own box, or the frame around its ops.
  QRectF extent(int i) const {
    const auto found = extents_.find(i);
    if (found == extents_.end()) return box(i);
    return found->second | box(i).adjusted(-frame_padding, -frame_padding, frame_padding, frame_padding);
  }

  QRectF boxAt(int i, QPointF top_centre) const {
    const QSizeF size = nodeSize(node(i));
    return {QPointF(top_centre.x() - size.width() / 2, top_centre.y()), size};
  }

  bool inGroup(int i, int group) const {
    for (int at = node(i).group; at >= 0; at = node(at).group)
      if (at == group) return true;
    return false;
  }

  /// Nothing stands there, and no frame around ops of a group that the node does not belong to.
  bool free(int i, const QRectF& rect) const {
    if (!occupancy_.free(rect)) return false;
    for (const auto& [group, members] : extents_)
      if (group != i && !inGroup(i, group) && extent(group).adjusted(-14, -14, 14, 14).intersects(rect))
        return false;
    return true;
  }

  QRectF aside(int i, const QRectF& wanted, Aside where) const {
    for (int step = 0; step < 4000; ++step) {
      const QRectF right = wanted.translated(step * 20.0, 0);
      if (free(i, right)) return right;
      const QRectF left = wanted.translated(step * -20.0, 0);
      if (where == Aside::both && free(i, left)) return left;
    }
    return wanted;
  }

  void placeWithLeaves(int i) {
    std::vector<int> leaves;
    for (const int input : inputs_[i])
      if (isLeaf(node(input)) && !placed(input)) leaves.push_back(input);
    if (!placed(i)) placeOp(i, !leaves.empty());
    double width = -column_gap;
    for (const int leaf : leaves) width += nodeSize(node(leaf)).width() + column_gap;
    double x = box(i).center().x() - width / 2;
    for (const int leaf : leaves) {
      if (placed(leaf)) continue;  // read twice
      const QSizeF size = nodeSize(node(leaf));
      int outer = i;  // above the frame, which has its highest box already
      while (node(outer).group >= first_ && placed(node(outer).group)) outer = node(outer).group;
      QPointF at(x + size.width() / 2, box(outer).top() - row_gap - size.height());
      // Above what runs backwards its own result will come.
      if (node(i).backward)
        at = {box(i).left() - beside_gap - size.width() / 2, box(i).center().y() - size.height() / 2};
      put(leaf, aside(leaf, boxAt(leaf, at), Aside::both));
      x += size.width() + column_gap;
    }
  }

  void placeOp(int i, bool has_leaves) {
    const GraphNode& op = node(i);
    if (op.kind == NodeKind::vjp && placed(op.forward)) return placeVjp(i);
    const bool up = op.backward && op.kind != NodeKind::playback;
    const int header = op.group >= first_ && placed(op.group) ? op.group : -1;
    double x = 0, lowest = 0, highest = 0;
    int found = 0;
    for (const int input : inputs_[i]) {
      // A group's ops stand together, wherever what they read from outside may be.
      if (!placed(input) || (header >= 0 && input != header && !inGroup(input, header))) continue;
      const QRectF from = input == header ? box(input) : extent(input);
      x += from.center().x();
      lowest = found ? std::max(lowest, from.bottom()) : from.bottom();
      highest = found ? std::min(highest, from.top()) : from.top();
      ++found;
    }
    if (!found && header >= 0) {
      x = box(header).center().x();
      lowest = box(header).bottom();
      highest = box(header).top();
      found = 1;
    }
    if (!found) return put(i, aside(i, boxAt(i, {0, top_ + (has_leaves ? leaf_row : 0.0)}), Aside::right));
    const double y = up ? highest - row_gap - nodeSize(op).height() : lowest + row_gap;
    put(i, aside(i, boxAt(i, {x / found, y}), up ? Aside::right : Aside::both));
  }

  /// Beside its forward op; beside the end of a custom gradient's frame, from where its own frame grows up.
  void placeVjp(int i) {
    const int forward = node(i).forward;
    int outer = forward;
    while (node(outer).group >= first_) outer = node(outer).group;
    const QPointF corner(extent(outer).right() + beside_gap, box(groups_.exit(forward)).top());
    put(i, aside(i, QRectF(corner, nodeSize(node(i))), Aside::right));
  }

  void addFrames() {
    for (int i = first_; i < count_; ++i) {
      if (extents_.contains(i)) layout_.frames.push_back({i, extent(i)});
    }
  }

  Curve route(const GraphEdge& edge) const {
    const int source = groups_.drawnFrom(edge);
    if (source < first_ || edge.to < first_ || source == edge.to) return {};
    return directCurve(graph_, edge, source, box(source), box(edge.to));
  }

  const TapeGraph& graph_;
  const GroupMembers groups_;
  const int first_, count_;
  GraphLayout layout_;
  Occupancy occupancy_;
  std::vector<std::vector<int>> inputs_;
  std::unordered_map<int, QRectF> extents_;  ///< of the ops in a group
  double top_ = 0;
};

}  // namespace

Curve directCurve(const TapeGraph& graph, const GraphEdge& edge, int source, const QRectF& from,
                  const QRectF& to) {
  const auto port = [](const QRectF& rect, int slot, int count) {
    return rect.left() + rect.width() * (count > 1 ? (slot + 1.0) / (count + 1.0) : 0.5);
  };
  const bool up = to.bottom() < from.top();
  const bool down = from.bottom() < to.top();
  if (!up && !down) {  // side by side
    const bool right = to.center().x() > from.center().x();
    const QPointF start(right ? from.right() : from.left(), from.center().y());
    const QPointF end(right ? to.left() : to.right(), to.center().y());
    const QPointF bend((end.x() - start.x()) / 2, 0);
    return {start, start + bend, end - bend, end};
  }
  const double start_x = port(from, edge.fromSlot, graph.nodes[source].outputs);
  const double end_x = edge.arrives || edge.toSlot < 0 ? to.left() + to.width() * 0.8
                                                       : port(to, edge.toSlot, graph.nodes[edge.to].inputs);
  const QPointF start(std::clamp(start_x, from.left(), from.right()), up ? from.top() : from.bottom());
  const QPointF end(std::clamp(end_x, to.left(), to.right()), up ? to.bottom() : to.top());
  const QPointF bend(0, (up ? -1 : 1) * std::clamp(std::abs(end.y() - start.y()) * 0.5, 16.0, 120.0));
  return {start, start + bend, end - bend, end};
}

GraphLayout placeNodes(const TapeGraph& graph, int first, const std::unordered_map<quint64, QRectF>& places) {
  return Placement(graph, first, places).run();
}

}  // namespace tapedeck::inspector
