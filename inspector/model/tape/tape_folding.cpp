#include "inspector/model/tape/tape_folding.h"

#include <algorithm>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

constexpr int few_ops = 24;        ///< a tape of so many is shown whole
constexpr int fitting_items = 16;  ///< forward ops and groups that a panel shows readably

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

class Folder {
 public:
  Folder(const TapeGraph& graph, const TapeGroups& groups, const Folding& folding)
      : graph_(graph), groups_(groups), folding_(folding), open_(openGroups(groups, folding)) {
    for (std::size_t i = 0; i < groups.all().size(); ++i) {
      const int parent = groups.all()[i].parent;
      const int outer = parent < 0 ? -1 : closed_[at(parent)];
      closed_.push_back(outer >= 0 ? outer : open_[i] ? -1 : static_cast<int>(i));
    }
  }

  FoldedTape fold() {
    result_.graph.tape = graph_.tape;
    result_.graph.cursor = graph_.cursor;
    result_.graph.dropped = graph_.dropped;
    result_.graph.ops = graph_.ops;
    result_.graph.vjps = graph_.vjps;
    result_.graph.offTape = graph_.offTape;
    addNodes();
    for (GraphNode& node : result_.graph.nodes) {
      node.group = shown(node.group);
      node.forward = shown(node.forward);
      node.goal = shown(node.goal);
    }
    for (const auto& [fold, forward] : forward_of_)
      if (const auto found = folds_.find({fold.first, 0}); found != folds_.end())
        result_.graph.nodes[at(forward)].forward = found->second;
    for (const auto& [record, node] : graph_.shownAs)
      if (const int now = shown(node); now >= 0) result_.graph.shownAs[record] = now;
    addEdges();
    result_.shown = std::move(now_);
    return std::move(result_);
  }

 private:
  using Key = std::pair<int, int>;  ///< group and side: 0 forward, else which playback

  const GraphNode& node(int i) const { return graph_.nodes[at(i)]; }
  int shown(int node) const { return node < 0 ? -1 : now_[at(node)]; }

  int closed(int i) const {
    const int group = groups_.groupOf(i);
    return group < 0 ? -1 : closed_[at(group)];
  }

  void addNodes() {
    int playbacks = 0;
    now_.assign(graph_.nodes.size(), -1);
    QSet<int> folded;
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      playbacks += node(i).kind == NodeKind::playback;
      if (folding_.only && !folding_.only->contains(nodeKey(node(i)))) {
        ++result_.left_out;
        continue;
      }
      const int group = closed(i);
      if (group < 0) {
        now_[at(i)] = static_cast<int>(result_.graph.nodes.size());
        result_.graph.nodes.push_back(node(i));
        const int around = groups_.groupOf(i);
        result_.around.push_back(around < 0 ? QString() : groups_.group(around).key);
        continue;
      }
      folded.insert(group);
      const Key key{group, node(i).backward ? std::max(1, playbacks) : 0};
      const auto found = folds_.find(key);
      now_[at(i)] = found != folds_.end() ? found->second : addFold(key);
      join(result_.graph.nodes[at(now_[at(i)])], node(i));
    }
    result_.folds = static_cast<int>(folded.size());
  }

  int addFold(const Key& key) {
    const TapeGroup& group = groups_.group(key.first);
    GraphNode fold;
    fold.kind = key.second ? NodeKind::vjp : NodeKind::op;
    fold.op = group.title;
    fold.scope = group.scope;
    fold.fold = group.key;
    fold.backward = key.second > 0;
    fold.offTape = true;  // until something in it is not
    fold.outputs = 1;
    const int index = static_cast<int>(result_.graph.nodes.size());
    result_.graph.nodes.push_back(std::move(fold));
    result_.around.push_back(group.parent < 0 ? QString() : groups_.group(group.parent).key);
    folds_[key] = index;
    if (key.second) forward_of_[key] = index;
    return index;
  }

  /// Adds what a node says to the fold that it is in.
  static void join(GraphNode& fold, const GraphNode& node) {
    fold.current = fold.current || node.current;
    fold.odd = fold.odd || node.odd;
    fold.complete = fold.complete || node.complete;
    if (!node.record) return;
    if (!fold.record) fold.record = node.record;
    if (node.current) fold.here = node.kind == NodeKind::vjp ? QStringLiteral("∂ ") + node.op : node.op;
    fold.offTape = fold.offTape && node.offTape;
    fold.inputs += node.inputs;
    if (node.group < 0) ++fold.folded;
    using State = protocol::RecordState;
    const auto weight = [](State state) {
      return state == State::failed ? 3 : state == State::running ? 2 : state == State::pending ? 1 : 0;
    };
    if (weight(node.state) > weight(fold.state)) fold.state = node.state;
    if (!node.error.isEmpty()) fold.error = node.error;
    if (node.group >= 0) return;
    fold.tensor = node.tensor;  // of the last one: what goes out
    fold.shape = node.shape;
    fold.dtype = node.dtype;
    fold.device = node.device;
    fold.cell = node.cell;
    fold.line = node.line;
  }

  bool isFold(int shown) const { return !result_.graph.nodes[at(shown)].fold.isEmpty(); }

  void addEdges() {
    struct Ends {
      int from, slot, to, to_slot;
      bool backward, arrives;
      auto operator<=>(const Ends&) const = default;
    };
    std::map<Ends, int> drawn;
    std::map<Ends, QSet<TensorId>> tensors;
    for (const GraphEdge& edge : graph_.edges) {
      GraphEdge now = edge;
      now.from = shown(edge.from);
      now.to = shown(edge.to);
      if (now.from < 0 || now.to < 0) continue;
      const bool inside = closed(edge.from) >= 0 && closed(edge.from) == closed(edge.to);
      if (inside && (now.from == now.to || edge.arrives)) continue;
      if (isFold(now.from)) now.fromSlot = 0;
      if (isFold(now.to)) now.toSlot = edge.arrives ? -1 : 0;
      if (!isFold(now.from) && !isFold(now.to)) {
        result_.graph.edges.push_back(std::move(now));
        continue;
      }
      const Ends ends{now.from, now.fromSlot, now.to, now.toSlot, now.backward, now.arrives};
      QSet<TensorId>& carried = tensors[ends];
      carried.insert(edge.tensor);
      const auto [place, added] = drawn.try_emplace(ends, static_cast<int>(result_.graph.edges.size()));
      if (added)
        result_.graph.edges.push_back(std::move(now));
      else if (carried.size() > 1)
        result_.graph.edges[at(place->second)].label =
            QStringLiteral("%1 tensors").arg(countText(static_cast<quint64>(carried.size())));
    }
  }

  const TapeGraph& graph_;
  const TapeGroups& groups_;
  const Folding& folding_;
  std::vector<bool> open_;
  std::vector<int> closed_;  ///< by group: the outermost folded one around it, or itself; -1: it is open
  FoldedTape result_;
  std::vector<int> now_;  ///< by node of the whole graph: where it is shown; -1: nowhere
  std::map<Key, int> folds_;
  std::map<Key, int> forward_of_;
};

std::vector<int> reached(const TapeGraph& graph, std::span<const int> nodes, bool down) {
  std::vector<std::vector<int>> next(graph.nodes.size());
  for (const GraphEdge& edge : graph.edges)
    if (!edge.arrives) next[at(down ? edge.from : edge.to)].push_back(down ? edge.to : edge.from);
  std::vector<bool> seen(graph.nodes.size());
  std::vector<int> open;
  for (const int node : nodes)
    if (node >= 0 && !seen[at(node)]) {
      seen[at(node)] = true;
      open.push_back(node);
    }
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    for (const int other : next[at(node)])
      if (!seen[at(other)]) {
        seen[at(other)] = true;
        open.push_back(other);
      }
  }
  std::vector<int> result;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i]) result.push_back(static_cast<int>(i));
  return result;
}

}  // namespace

quint64 nodeKey(const GraphNode& node) {
  if (node.kind == NodeKind::more) return node.below ? 3 : 1;
  const bool leaf = node.kind == NodeKind::variable || node.kind == NodeKind::constant;
  return leaf ? node.tensor * 2 + 1 : node.record * 2;
}

std::vector<bool> openGroups(const TapeGroups& groups, const Folding& folding) {
  const auto count = groups.all().size();
  int ops = groups.outside();
  for (const TapeGroup& group : groups.all())
    if (group.parent < 0) ops += group.ops - 1;
  std::vector<bool> open(count, folding.all || ops <= few_ops);
  // Level by level, as long as it fits. What repeats stays one node.
  int shown = groups.outside();
  for (int depth = 0; !folding.all && ops > few_ops; ++depth) {
    int more = 0;
    std::vector<std::size_t> level;
    for (std::size_t i = 0; i < count; ++i) {
      const TapeGroup& group = groups.all()[i];
      const bool reached = group.parent < 0 || open[at(group.parent)];
      if (group.depth != depth || !reached || group.kind == TapeGroup::Kind::repeat) continue;
      level.push_back(i);
      more += group.items - 1;
    }
    if (level.empty() || shown + more > fitting_items) break;
    for (const std::size_t group : level) open[group] = true;
    shown += more;
  }
  for (std::size_t i = 0; i < count; ++i)
    if (const auto chosen = folding.chosen.constFind(groups.all()[i].key); chosen != folding.chosen.cend())
      open[i] = *chosen;
  return open;
}

FoldedTape foldTape(const TapeGraph& graph, const TapeGroups& groups, const Folding& folding) {
  return Folder(graph, groups, folding).fold();
}

std::vector<int> ancestors(const TapeGraph& graph, std::span<const int> nodes) {
  return reached(graph, nodes, false);
}

std::vector<int> descendants(const TapeGraph& graph, std::span<const int> nodes) {
  return reached(graph, nodes, true);
}

std::vector<int> findNodes(const TapeGraph& graph, const QString& text) {
  const QStringList words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  std::vector<int> found;
  if (words.isEmpty()) return found;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    if (node.kind == NodeKind::more) continue;
    QStringList parts{node.op, node.name, node.scope, node.shape, node.dtype, node.preview};
    if (node.kind == NodeKind::vjp) parts << QStringLiteral("∂") << QStringLiteral("vjp");
    if (node.record) parts << QString::number(node.record);
    if (node.odd) parts << QStringLiteral("nan inf");
    const QString all = parts.join(QLatin1Char('\n'));
    if (std::all_of(words.begin(), words.end(),
                    [&all](const QString& word) { return all.contains(word, Qt::CaseInsensitive); }))
      found.push_back(static_cast<int>(i));
  }
  return found;
}

}  // namespace tapedeck::inspector
