#include "inspector/model/tape/tape_groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "inspector/model/tape/repeats.h"

namespace tapedeck::inspector {

namespace {

constexpr int least_single = 4;    ///< times that one op of a line must come to be a repeat
constexpr int least_times = 3;     ///< of calls, and of iterations of several ops
constexpr int deepest_group = 64;  ///< what is deeper stays in the group around it

bool isOfTree(const GraphNode& node) {
  const bool op = node.kind == NodeKind::op || node.kind == NodeKind::custom;
  return op && !node.backward && node.group < 0;
}

}  // namespace

class TapeGrouping {
 public:
  TapeGrouping(const TapeGraph& graph, const std::atomic<bool>* cancelled, TapeGroups& out)
      : graph_(graph), cancelled_(cancelled), out_(out) {
    out_.of_.assign(graph.nodes.size(), -1);
    segments_.resize(graph.nodes.size());
    last_reader_.resize(graph.nodes.size());
    std::iota(last_reader_.begin(), last_reader_.end(), 0);
    for (const GraphEdge& edge : graph.edges)
      if (!edge.arrives && !node(edge.to).backward)
        last_reader_[at(edge.from)] = std::max(last_reader_[at(edge.from)], edge.to);
  }

  void group() {
    std::vector<int> on, off;
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      if (!isOfTree(node(i))) continue;
      segments_[at(i)] = node(i).scope.split(QLatin1Char('/'), Qt::SkipEmptyParts);
      (node(i).offTape ? off : on).push_back(i);
    }
    out_.outside_ = add(itemsOf(on, 0), -1, QString());
    out_.outside_ += add(itemsOf(off, 0), -1, QStringLiteral("off:"));
    placeFollowers();
    placeLeaves();
  }

 private:
  /// One op, or the ops of one call of a scope. Nodes are in order.
  struct Item {
    std::vector<int> nodes;
    int depth = 0;  ///< scope: how many segments lead to it; 0: an op
    int alike = 0;  ///< the same number: alike
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  const GraphNode& node(int i) const { return graph_.nodes[at(i)]; }
  bool stopped() const { return cancelled_ && *cancelled_; }

  /// `depth`: how many segments of the scope the group around has.
  std::vector<Item> itemsOf(const std::vector<int>& nodes, int depth) {
    std::vector<Item> items;
    for (const int i : nodes) {
      const QStringList& scope = segments_[at(i)];
      if (scope.size() <= depth || depth >= deepest_group) {
        items.push_back({{i}, 0, 0});
        continue;
      }
      const bool same = !items.empty() && items.back().depth == depth + 1 &&
                        segments_[at(items.back().nodes.back())][depth] == scope[depth];
      if (same)
        items.back().nodes.push_back(i);
      else
        items.push_back({{i}, depth + 1, 0});
    }
    for (Item& item : items) item.alike = alikeness(item);
    return items;
  }

  /// Ops by name and line, calls by their names without numbers and what is in them.
  int alikeness(const Item& item) {
    QString text;
    for (const int i : item.nodes) {
      const GraphNode& op = node(i);
      if (!text.isEmpty()) text += QLatin1Char('\n');
      for (qsizetype part = std::max(0, item.depth - 1); part < segments_[at(i)].size(); ++part)
        text += withoutNumber(segments_[at(i)][part]) + QLatin1Char('/');
      text += op.op + QLatin1Char(':') + op.cell + QLatin1Char(':') + QString::number(op.line);
    }
    return alike_.try_emplace(text, static_cast<int>(alike_.size()) + 1).first->second;
  }

  QString nameOf(const Item& item) const {
    const int first = item.nodes.front();
    return item.depth ? segments_[at(first)][item.depth - 1] : node(first).op;
  }

  static bool isGroup(const Item& item) { return item.depth && item.nodes.size() > 1; }

  /// Adds the groups of these items; returns how many things that makes in the group around them.
  int add(const std::vector<Item>& items, int parent, const QString& prefix) {
    if (stopped()) return 0;
    std::vector<int> row;
    for (const Item& item : items) row.push_back(item.alike);
    const std::vector<int> crossing = crossings(items);
    const std::vector<Repeat> repeats = findRepeats(
        row, [&](int first, int length) { return least(items, first, length); },
        [&](int where) { return crossing[at(where)]; }, cancelled_);
    std::map<QString, int> named;  // how many of a name there were
    const auto key = [&](const QString& name) {
      const int number = named[name]++;
      return prefix + (number ? QStringLiteral("%1#%2").arg(name).arg(number) : name);
    };
    int count = 0;
    auto repeat = repeats.begin();
    for (int i = 0; i < static_cast<int>(items.size()); ++count) {
      if (repeat != repeats.end() && repeat->first == i) {
        addRepeat(std::span(items).subspan(at(i), at(repeat->length * repeat->times)), *repeat, parent,
                  key(QStringLiteral("×") + withoutNumber(nameOf(items[at(i)]))));
        i = repeat++->end();
      } else {
        addItem(items[at(i)], parent, key(nameOf(items[at(i)])));
        ++i;
      }
    }
    return count;
  }

  static int least(const std::vector<Item>& items, int first, int length) {
    return length == 1 && !isGroup(items[at(first)]) ? least_single : least_times;
  }

  /// How many values lead over the border before each item.
  std::vector<int> crossings(const std::vector<Item>& items) const {
    std::map<int, int> item_of;
    for (int i = 0; i < static_cast<int>(items.size()); ++i)
      for (const int op : items[at(i)].nodes) item_of[op] = i;
    std::vector<int> steps(items.size() + 1);
    for (const auto& [op, item] : item_of) {
      const int reader = last_reader_[at(op)];
      if (reader == op) continue;
      const auto found = item_of.find(reader);
      const int last = found == item_of.end() ? static_cast<int>(items.size()) - 1 : found->second;
      if (last <= item) continue;
      ++steps[at(item) + 1];
      --steps[at(last) + 1];
    }
    std::partial_sum(steps.begin(), steps.end(), steps.begin());
    return steps;
  }

  int addGroup(TapeGroup group, std::span<const Item> items) {
    group.depth = group.parent < 0 ? 0 : out_.group(group.parent).depth + 1;
    const int index = static_cast<int>(out_.groups_.size());
    for (const Item& item : items) {
      group.ops += static_cast<int>(item.nodes.size());
      for (const int i : item.nodes) out_.of_[at(i)] = index;
    }
    out_.groups_.push_back(std::move(group));
    return index;
  }

  void addItem(const Item& item, int parent, const QString& key) {
    if (!isGroup(item)) return;
    TapeGroup group;
    group.key = key;
    group.title = nameOf(item);
    group.scope = segments_[at(item.nodes.front())].mid(0, item.depth - 1).join(QLatin1Char('/'));
    group.parent = parent;
    const int index = addGroup(group, std::span(&item, 1));
    const int inside = add(itemsOf(item.nodes, item.depth), index, key + QLatin1Char('/'));
    out_.groups_[at(index)].items = inside;
  }

  void addRepeat(std::span<const Item> items, const Repeat& repeat, int parent, const QString& key) {
    TapeGroup group;
    group.kind = TapeGroup::Kind::repeat;
    group.key = key;
    group.times = repeat.times;
    group.title = QStringLiteral("%1 × %2").arg(titleOf(items.first(at(repeat.length)))).arg(repeat.times);
    group.scope = scopeAround(items.front());
    group.parent = parent;
    group.items = repeat.times;
    const int index = addGroup(group, items);
    for (int turn = 0; turn < repeat.times; ++turn) {
      const std::span<const Item> block = items.subspan(at(turn * repeat.length), at(repeat.length));
      const QString inside = QStringLiteral("%1/%2").arg(key).arg(turn + 1);
      if (repeat.length == 1) {
        addItem(block.front(), index, inside);
        continue;
      }
      TapeGroup iteration;
      iteration.kind = TapeGroup::Kind::iteration;
      iteration.key = inside;
      iteration.title = QStringLiteral("iteration %1").arg(turn + 1);
      iteration.scope = group.scope;
      iteration.parent = index;
      const int made = addGroup(iteration, block);
      const int count = add({block.begin(), block.end()}, made, inside + QLatin1Char('/'));
      out_.groups_[at(made)].items = count;
    }
  }

  QString scopeAround(const Item& item) const {
    const QStringList& scope = segments_[at(item.nodes.front())];
    return (item.depth ? scope.mid(0, item.depth - 1) : scope).join(QLatin1Char('/'));
  }

  /// "block", "lines 4–6", "conv2d … relu".
  QString titleOf(std::span<const Item> block) const {
    const auto name = [this](const Item& item) { return withoutNumber(nameOf(item)); };
    if (block.size() == 1) return name(block.front());
    std::uint32_t first = 0, last = 0;
    bool lines = true;
    for (const Item& item : block) {
      const GraphNode& op = node(item.nodes.front());
      lines = lines && !item.depth && op.line && op.cell == node(block.front().nodes.front()).cell;
      first = first ? std::min(first, op.line) : op.line;
      last = std::max(last, op.line);
    }
    if (!lines) return name(block.front()) + QStringLiteral(" … ") + name(block.back());
    return first == last ? QStringLiteral("line %1").arg(first)
                         : QStringLiteral("lines %1–%2").arg(first).arg(last);
  }

  int& of(int i) { return out_.of_[at(i)]; }

  /// What belongs where another node does.
  void placeFollowers() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      const GraphNode& follower = node(i);
      if (isOfTree(follower)) continue;
      const int leader = follower.group >= 0              ? follower.group
                         : follower.kind == NodeKind::vjp ? follower.forward
                                                          : follower.goal;
      if (leader >= 0 && leader < i) of(i) = of(leader);
    }
  }

  /// Whose reading says where a leaf belongs: what the optimizer reads later stays with its layer.
  int rank(const GraphNode& reader) const { return reader.backward ? 2 : reader.offTape ? 1 : 0; }

  /// The sums of gradients that a leaf gets come after it, so they follow it in a second round.
  void placeLeaves() {
    constexpr int unread = 3;
    std::vector<int> ranks(graph_.nodes.size(), unread);
    for (const GraphEdge& edge : graph_.edges) {
      const GraphNode& from = node(edge.from);
      if (edge.arrives || (from.kind != NodeKind::variable && from.kind != NodeKind::constant)) continue;
      const int found = rank(node(edge.to)), best = ranks[at(edge.from)];
      if (found > best) continue;
      of(edge.from) = found < best ? of(edge.to) : common(of(edge.from), of(edge.to));
      ranks[at(edge.from)] = found;
    }
    placeFollowers();
  }

  int common(int a, int b) const {
    while (a != b && a >= 0 && b >= 0) {
      const int deeper = out_.group(a).depth - out_.group(b).depth;
      if (deeper >= 0) a = out_.group(a).parent;
      if (deeper <= 0) b = out_.group(b).parent;
    }
    return a == b ? a : -1;
  }

  const TapeGraph& graph_;
  const std::atomic<bool>* cancelled_;
  TapeGroups& out_;
  std::vector<QStringList> segments_;  ///< of the scope, by node
  std::vector<int> last_reader_;       ///< by node, going forward; itself: none
  std::map<QString, int> alike_;
};

TapeGroups::TapeGroups(const TapeGraph& graph, const std::atomic<bool>* cancelled) {
  TapeGrouping(graph, cancelled, *this).group();
}

int TapeGroups::find(const QString& key) const {
  for (std::size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i].key == key) return static_cast<int>(i);
  return -1;
}

QStringList TapeGroups::around(int node) const {
  QStringList keys;
  for (int at = groupOf(node); at >= 0; at = group(at).parent) keys.prepend(group(at).key);
  return keys;
}

QString withoutNumber(const QString& name) {
  qsizetype end = name.size();
  while (end > 0 && name[end - 1].isDigit()) --end;
  return end > 1 && end < name.size() && name[end - 1] == QLatin1Char('_') ? name.left(end - 1) : name;
}

}  // namespace tapedeck::inspector
