#include "inspector/panels/tape/dot_layout.h"

#include <gvc.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "inspector/panels/tape/node_style.h"
#include "inspector/panels/tape/placement.h"

namespace tapedeck::inspector {

namespace {

constexpr double points_per_inch = 72;

void set(void* object, const char* name, const std::string& value) {
  agsafeset(object, const_cast<char*>(name), const_cast<char*>(value.c_str()), const_cast<char*>(""));
}

void setDefault(Agraph_t* graph, int kind, const char* name, const char* value) {
  agattr(graph, kind, const_cast<char*>(name), const_cast<char*>(value));
}

std::string inches(double points) {
  return std::to_string(points / points_per_inch);
}

// dot makes a hidden node for every rank that an edge crosses, and its time grows with the square of those.
constexpr int maximum_crossings = 3000;
constexpr int long_edge = 10;  ///< ranks; those go first where there are too many crossings

/// About the rank that dot will give each node.
std::vector<int> estimatedRanks(const TapeGraph& graph) {
  std::vector<int> ranks(graph.nodes.size(), 0), first_reader(graph.nodes.size(), -1);
  std::vector<std::vector<const GraphEdge*>> incoming(graph.nodes.size());
  for (const GraphEdge& edge : graph.edges)
    if (!edge.arrives && edge.from < edge.to) incoming[edge.to].push_back(&edge);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    if (node.kind == NodeKind::vjp && node.forward >= 0 && node.forward < static_cast<int>(i)) {
      ranks[i] = ranks[node.forward];
      continue;
    }
    bool found = false;
    for (const GraphEdge* edge : incoming[i]) {
      if (isLeaf(graph.nodes[edge->from])) continue;
      const int rank = ranks[edge->from] + (edge->backward ? -1 : 1);
      ranks[i] = !found ? rank : edge->backward ? std::min(ranks[i], rank) : std::max(ranks[i], rank);
      found = true;
    }
    for (const GraphEdge* edge : incoming[i])
      if (isLeaf(graph.nodes[edge->from]) && first_reader[edge->from] < 0) {
        first_reader[edge->from] = static_cast<int>(i);
        ranks[edge->from] = ranks[i] - 1;
      }
  }
  return ranks;
}

class DotGraph {
 public:
  explicit DotGraph(const TapeGraph& tape) : tape_(tape), groups_(tape) {
    graph_ = agopen(const_cast<char*>("tape"), Agdirected, nullptr);
    const bool large = tape.nodes.size() > 300;
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
             {"newrank", "true"},  // clusters and rank=same together
             {"ranksep", "0.62"},
             {"nodesep", "0.42"},
             {"nslimit", large ? "2" : ""},
             {"nslimit1", large ? "2" : ""},
             {"mclimit", large ? "0.3" : "1"}})
      setDefault(graph_, AGRAPH, name, value);
    setDefault(graph_, AGRAPH, "rank", "");
    setDefault(graph_, AGRAPH, "margin", "22");
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
             {"shape", "box"}, {"fixedsize", "true"}, {"label", ""}, {"width", "1"}, {"height", "0.5"}})
      setDefault(graph_, AGNODE, name, value);
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
             {"arrowhead", "none"}, {"style", ""}, {"constraint", "true"}, {"weight", "1"}})
      setDefault(graph_, AGEDGE, name, value);
    clusters_.resize(tape.nodes.size(), nullptr);
    for (std::size_t i = 0; i < tape.nodes.size(); ++i) addNode(static_cast<int>(i));
    const std::vector<int> ranks = estimatedRanks(tape);
    const auto span = [&ranks](const GraphEdge& edge) { return std::abs(ranks[edge.from] - ranks[edge.to]); };
    int crossings = 0, short_crossings = 0;
    for (const GraphEdge& edge : tape.edges) {
      crossings += span(edge);
      if (span(edge) <= long_edge) short_crossings += span(edge);
    }
    const bool all = crossings <= maximum_crossings;
    too_much_ = !all && short_crossings > maximum_crossings;
    for (const GraphEdge& edge : tape.edges)
      if (all || span(edge) <= long_edge)
        addEdge(edge);
      else
        edges_.push_back(nullptr);
    for (std::size_t i = 0; i < tape.nodes.size(); ++i) pinHeader(static_cast<int>(i));
    for (std::size_t i = 0; i < tape.nodes.size(); ++i) addPair(static_cast<int>(i));
  }
  ~DotGraph() { agclose(graph_); }
  DotGraph(const DotGraph&) = delete;

  Agraph_t* graph() { return graph_; }
  bool tooMuch() const { return too_much_; }

  GraphLayout positions() const {
    GraphLayout layout;
    const double height = GD_bb(graph_).UR.y;
    const auto point = [height](pointf at) { return QPointF(at.x, height - at.y); };
    for (Agnode_t* node : nodes_) {
      const QSizeF size(ND_width(node) * points_per_inch, ND_height(node) * points_per_inch);
      layout.nodes.emplace_back(point(ND_coord(node)) - QPointF(size.width() / 2, size.height() / 2), size);
    }
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      Curve curve;
      const splines* path = edges_[i] ? ED_spl(edges_[i]) : nullptr;
      if (path && path->size > 0)
        for (std::size_t k = 0; k < static_cast<std::size_t>(path->list[0].size); ++k)
          curve.push_back(point(path->list[0].list[k]));
      if (reversed(tape_.edges[i])) std::reverse(curve.begin(), curve.end());
      const GraphEdge& edge = tape_.edges[i];
      const int source = groups_.drawnFrom(edge);
      if (curve.size() < 4 && source != edge.to)  // left out, or dot lost it
        curve = directCurve(tape_, edge, source, layout.nodes[source], layout.nodes[edge.to]);
      layout.edges.push_back(std::move(curve));
    }
    for (std::size_t i = 0; i < clusters_.size(); ++i) {
      if (!clusters_[i]) continue;
      const boxf box = GD_bb(clusters_[i]);
      layout.frames.push_back(
          {static_cast<int>(i), QRectF(point({box.LL.x, box.UR.y}), point({box.UR.x, box.LL.y}))});
    }
    layout.bounds = layoutBounds(layout);
    return layout;
  }

 private:
  /// Gradients run up: dot, which ranks tails above heads, gets them the other way round.
  static bool reversed(const GraphEdge& edge) { return edge.backward; }

  Agraph_t* clusterOf(int group) {
    if (group < 0) return graph_;
    if (!clusters_[group]) {
      Agraph_t* const parent = clusterOf(tape_.nodes[group].group);
      clusters_[group] = agsubg(parent, ("cluster_" + std::to_string(group)).data(), 1);
      agsubnode(clusters_[group], nodes_[group], 1);
    }
    return clusters_[group];
  }

  void addNode(int index) {
    const GraphNode& node = tape_.nodes[index];
    Agnode_t* const made = agnode(graph_, ("n" + std::to_string(index)).data(), 1);
    const QSizeF size = nodeSize(node);
    set(made, "width", inches(size.width()));
    set(made, "height", inches(size.height()));
    nodes_.push_back(made);
    if (node.group >= 0 && node.group < index) agsubnode(clusterOf(node.group), made, 1);
  }

  void addEdge(const GraphEdge& edge) {
    const int from = groups_.drawnFrom(edge);
    const int tail = reversed(edge) ? edge.to : from;
    const int head = reversed(edge) ? from : edge.to;
    Agedge_t* made = nullptr;
    if (tail != head) made = agedge(graph_, nodes_[tail], nodes_[head], nullptr, 1);
    if (made) set(made, "weight", weight(edge));
    edges_.push_back(made);
  }

  /// What must be straight: the way of the ops, the turn at the playback, then the way of the gradients.
  const char* weight(const GraphEdge& edge) const {
    if (tape_.nodes[edge.to].kind == NodeKind::playback) return "8";
    if (edge.arrives || isLeaf(tape_.nodes[edge.from])) return "1";
    return edge.backward ? "2" : "4";
  }

  void addHidden(int tail, int head, bool constraint) {
    Agedge_t* const made = agedge(graph_, nodes_[tail], nodes_[head], const_cast<char*>("hidden"), 1);
    set(made, "style", "invis");
    if (!constraint) set(made, "constraint", "false");
  }

  /// A group's own box stands at the end of its frame where things come in: above its ops, below what runs
  /// backwards.
  void pinHeader(int group) {
    const bool up = tape_.nodes[group].backward;
    for (const int member : groups_.of(group))
      if (up)
        addHidden(member, group, true);
      else
        addHidden(group, member, true);
  }

  /// A VJP beside its forward op.
  void addPair(int index) {
    const GraphNode& node = tape_.nodes[index];
    if (node.kind != NodeKind::vjp || node.forward < 0) return;
    const int forward = groups_.exit(node.forward);
    addHidden(forward, index, !tape_.nodes[forward].backward);
    if (tape_.nodes[forward].backward) return;  // of a second playback: its place follows from its edges
    Agraph_t* const pair = agsubg(graph_, ("pair" + std::to_string(index)).data(), 1);
    set(pair, "rank", "same");
    agsubnode(pair, nodes_[forward], 1);
    agsubnode(pair, nodes_[index], 1);
  }

  const TapeGraph& tape_;
  const GroupMembers groups_;
  Agraph_t* graph_ = nullptr;
  bool too_much_ = false;
  std::vector<Agnode_t*> nodes_;
  std::vector<Agedge_t*> edges_;
  std::vector<Agraph_t*> clusters_;
};

}  // namespace

std::optional<GraphLayout> dotLayout(const TapeGraph& graph) {
  static std::mutex turn;
  const std::lock_guard lock(turn);
  static GVC_t* const context = [] {
    agseterr(AGMAX);  // its remarks on cycles and lost edges would go to the terminal
    return gvContext();
  }();
  if (!context) return std::nullopt;
  if (graph.nodes.empty()) return GraphLayout{};
  DotGraph dot(graph);
  if (dot.tooMuch()) return std::nullopt;
  if (gvLayout(context, dot.graph(), "dot") != 0) return std::nullopt;
  GraphLayout layout = dot.positions();
  gvFreeLayout(context, dot.graph());
  return layout;
}

}  // namespace tapedeck::inspector
