// Records to nodes and edges; see the header for what is shown how.
#include "inspector/model/tape/tape_graph.h"

#include <QRegularExpression>
#include <algorithm>
#include <set>
#include <unordered_map>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

using protocol::Record;
using protocol::RecordKind;
using protocol::RecordState;
using protocol::TensorInfo;

namespace {

struct Slot {
  int node = -1;
  int slot = 0;
};

class Builder {
 public:
  Builder(std::span<const Record> records, RecordNumber cursor, const TapeExtent& extent, Moment moment)
      : cursor_(cursor), extent_(extent), moment_(moment) {
    graph_.cursor = cursor;
    for (const Record& record : records) {
      if (record.number > cursor) continue;
      if (record.kind == RecordKind::call)
        callParents_[record.number] = record.parent;
      else
        records_[record.number] = &record;
    }
  }

  TapeGraph build() {
    findCursor();
    addMore(extent_.before, false);
    for (const auto& [number, record] : records_) {
      if (record->kind == RecordKind::playback && more_ < 0) addMore(extent_.after, true);
      const RecordNumber shown = hiddenBehind(*record);
      if (shown != number) {
        const int node = graph_.shownAs.at(shown);
        graph_.shownAs[number] = node;
        addHiddenOutputs(*record, node);
        continue;
      }
      addNode(*record);
    }
    if (more_ < 0) addMore(extent_.after, true);
    addArrivals();
    count();
    if (const int current = graph_.nodeOf(cursor_); current >= 0) node(current).current = true;
    return std::move(graph_);
  }

 private:
  GraphNode& node(int index) { return graph_.nodes[static_cast<std::size_t>(index)]; }

  const Record* recordOf(RecordNumber number) const {
    const auto found = records_.find(number);
    return found == records_.end() ? nullptr : found->second;
  }

  /// nullptr also for a parent that can't be one: numbers grow inwards.
  const Record* parentOf(const Record& record) const {
    const RecordNumber parent = parentNumber(record);
    return parent < record.number ? recordOf(parent) : nullptr;
  }
  /// Calls of graph functions are no part of a tape: what they ran is.
  RecordNumber parentNumber(const Record& record) const {
    RecordNumber parent = record.parent, below = record.number;
    for (auto call = callParents_.find(parent); call != callParents_.end() && parent < below;
         call = callParents_.find(parent)) {
      below = parent;
      parent = call->second;
    }
    return parent;
  }

  void findCursor() {
    const Record* record = recordOf(cursor_);
    if (!record) return;
    cursorStart_ = record->start_ns;
    for (const Record* at = parentOf(*record); at; at = parentOf(*at)) around_.insert(at->number);
  }

  /// Adds a node that represents the ops of the tape before or after the loaded ones.
  void addMore(quint64 count, bool after) {
    if (count == 0) return;
    GraphNode more;
    more.kind = NodeKind::more;
    more.op =
        (after ? QStringLiteral("… %1 more below") : QStringLiteral("… %1 more above")).arg(countText(count));
    more.below = after;
    for (const auto& [number, record] : records_) {
      if (!record->tape || (record->kind != RecordKind::op && record->kind != RecordKind::custom)) continue;
      more.page = number;
      if (!after) break;
    }
    if (after) more_ = static_cast<int>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(more));
  }

  bool anyInside(const Record& record, bool (*what)(const Record&)) const {
    if (what(record)) return true;
    for (const Record* at = parentOf(record); at; at = parentOf(*at))
      if (what(*at)) return true;
    return false;
  }

  RecordState stateOf(const Record& record) const {
    if (record.number == cursor_ || moment_ == Moment::now) return record.state;
    if (record.state == RecordState::pending || record.state == RecordState::running) return record.state;
    const bool unfinished = around_.contains(record.number) ||
                            (cursorStart_ > 0 && record.start_ns + record.call_ns > cursorStart_);
    return unfinished ? RecordState::running : record.state;
  }

  /// The outermost built-in VJP that the record ran inside of; else the record itself.
  RecordNumber hiddenBehind(const Record& record) const {
    RecordNumber shown = record.number;
    for (const Record* at = parentOf(record); at; at = parentOf(*at))
      if (at->kind == RecordKind::vjp && !at->custom_gradient) shown = at->number;
    if (shown == record.number && startsPlayback(record)) return record.parent;
    return shown;
  }

  /// It makes the ones that a playback starts with: it runs there, but reads nothing that was made there.
  bool startsPlayback(const Record& record) const {
    const Record* parent = parentOf(record);
    return parent && parent->kind == RecordKind::playback && record.kind == RecordKind::op &&
           std::none_of(record.inputs.begin(), record.inputs.end(),
                        [&](const TensorInfo& input) { return input.producer > parent->number; });
  }

  void addHiddenOutputs(const Record& record, int behind) {
    if (stateOf(record) != RecordState::done) return;
    const bool starts = node(behind).kind == NodeKind::playback;
    for (const TensorInfo& output : record.outputs) {
      if (!output.id) continue;
      if (starts)
        seeds_[output.id] = {behind, node(behind).outputs++};
      else
        hiddenMakers_[output.id] = {behind, 0};
    }
  }

  void addNode(const Record& record) {
    const bool ready = stateOf(record) == RecordState::done;
    std::vector<Slot> makers;
    for (const TensorInfo& input : record.inputs) makers.push_back(input.id ? maker(input, record) : Slot{});

    const int index = static_cast<int>(graph_.nodes.size());
    graph_.shownAs[record.number] = index;
    graph_.nodes.push_back(describe(record));
    nodeRecords_[index] = &record;
    if (const int group = node(index).group; group >= 0) node(group).expanded = true;
    for (std::size_t slot = 0; slot < makers.size(); ++slot)
      addEdge(makers[slot], index, static_cast<int>(slot), record.inputs[slot]);
    aim(record, index, ready);
    // A playback's outputs are the VJPs' own; what enters it comes out again as gradients of ones.
    if (!ready || record.kind == RecordKind::playback) return;
    for (std::size_t slot = 0; slot < record.outputs.size(); ++slot)
      if (record.outputs[slot].id)
        makers_[record.outputs[slot].id].push_back({index, static_cast<int>(slot)});
  }

  GraphNode describe(const Record& record) {
    GraphNode result;
    result.kind = record.kind == RecordKind::custom     ? NodeKind::custom
                  : record.kind == RecordKind::playback ? NodeKind::playback
                  : record.kind == RecordKind::vjp      ? NodeKind::vjp
                                                        : NodeKind::op;
    result.record = record.number;
    result.op = opText(record);
    result.copies = !deviceCopy(record).device.isEmpty();
    result.state = stateOf(record);
    result.backward = anyInside(record, [](const Record& at) {
      return at.kind == RecordKind::playback || at.kind == RecordKind::vjp;
    });
    result.offTape = !anyInside(record, [](const Record& at) { return at.tape != 0; });
    result.customGradient = record.custom_gradient || record.kind == RecordKind::custom;
    result.formula = QString::fromStdString(record.vjp_formula);
    result.error = QString::fromStdString(record.error);
    result.scope = QString::fromStdString(record.scope);
    result.cell = QString::fromStdString(record.cell.empty() ? record.file : record.cell);
    result.line = record.line;
    result.inputs = static_cast<int>(record.inputs.size());
    result.outputs = record.kind == RecordKind::playback ? 0 : static_cast<int>(record.outputs.size());
    if (record.kind == RecordKind::vjp) result.forward = graph_.nodeOf(record.forward);
    const Record* parent = parentOf(record);
    if (parent && parent->kind != RecordKind::playback) result.group = graph_.nodeOf(parent->number);
    const bool made = result.state == RecordState::done;
    for (const TensorInfo& output : record.outputs) {
      if (output.dtype.empty() && output.id == 0) continue;
      result.tensor = made ? output.id : 0;
      result.name = QString::fromStdString(output.name);
      result.shape = shapeText(output.shape);
      result.dtype = QString::fromStdString(output.dtype);
      result.device = deviceText(output.device);
      if (made) result.preview = QString::fromStdString(output.preview);
      result.odd = saysOdd(result.preview);
      break;
    }
    return result;
  }

  std::set<RecordNumber> ancestors(const Record& record) const {
    std::set<RecordNumber> result{0};
    for (const Record* at = parentOf(record); at; at = parentOf(*at)) result.insert(at->number);
    return result;
  }

  /// Who made an input: the outermost record that the reader can see from where it runs, else a hidden one,
  /// else the playback that it belongs to, else a leaf (made here).
  Slot maker(const TensorInfo& tensor, const Record& reader) {
    if (const Slot entry = entrance(tensor, reader); entry.node >= 0) return entry;
    const std::set<RecordNumber> around = ancestors(reader);
    if (const auto found = seeds_.find(tensor.id); found != seeds_.end()) return found->second;
    if (const auto found = makers_.find(tensor.id); found != makers_.end()) {
      Slot any;
      for (auto slot = found->second.rbegin(); slot != found->second.rend(); ++slot) {
        const Record* made = nodeRecords_.at(slot->node);
        if (around.contains(made->number)) continue;
        if (around.contains(parentNumber(*made))) return *slot;
        if (any.node < 0) any = *slot;
      }
      if (any.node >= 0) return any;
    }
    if (const auto found = hiddenMakers_.find(tensor.id); found != hiddenMakers_.end())
      if (!around.contains(node(found->second.node).record)) return found->second;
    if (more_ >= 0 && reader.kind == RecordKind::vjp && tensor.producer > reader.parent) return {more_, 0};
    if (reader.kind == RecordKind::vjp && tensor.producer == 0) {
      const int turn = graph_.nodeOf(reader.parent);
      if (turn >= 0 && node(turn).kind == NodeKind::playback) return {turn, 0};
    }
    return leaf(tensor);
  }

  /// What a function with a custom gradient, or its VJP, was called with comes to the ops inside from its
  /// box.
  Slot entrance(const TensorInfo& tensor, const Record& reader) const {
    const Record* group = parentOf(reader);
    if (!group || group->kind == RecordKind::playback) return {};
    const int index = graph_.nodeOf(group->number);
    for (std::size_t slot = 0; index >= 0 && slot < group->inputs.size(); ++slot)
      if (group->inputs[slot].id == tensor.id) return {index, static_cast<int>(slot)};
    return entrance(tensor, *group);
  }

  Slot leaf(const TensorInfo& tensor) {
    if (const auto found = leaves_.find(tensor.id); found != leaves_.end()) return {found->second, 0};
    GraphNode made;
    made.kind = tensor.name.empty() ? NodeKind::constant : NodeKind::variable;
    made.tensor = tensor.id;
    made.leaf = tensor;
    made.name = QString::fromStdString(tensor.name);
    made.op = !made.name.isEmpty() ? made.name
              : tensor.producer    ? QStringLiteral("from op %1").arg(countText(tensor.producer))
                                   : QStringLiteral("constant");
    made.shape = shapeText(tensor.shape);
    made.dtype = QString::fromStdString(tensor.dtype);
    made.device = deviceText(tensor.device);
    made.preview = QString::fromStdString(tensor.preview);
    made.odd = saysOdd(made.preview);
    made.outputs = 1;
    const int index = static_cast<int>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(made));
    leaves_[tensor.id] = index;
    return {index, 0};
  }

  void addEdge(Slot from, int to, int toSlot, const TensorInfo& tensor) {
    if (from.node < 0) return;
    GraphEdge edge;
    edge.from = from.node;
    edge.fromSlot = from.slot;
    edge.to = to;
    edge.toSlot = toSlot;
    edge.tensor = tensor.id;
    edge.backward = node(to).backward && node(to).kind != NodeKind::playback &&
                    (node(from.node).backward || node(from.node).kind == NodeKind::playback ||
                     node(from.node).kind == NodeKind::more);
    edge.label = tensor.preview.empty() ? shapeText(tensor.shape) : QString::fromStdString(tensor.preview);
    if (edge.backward && !insideOf(to, from.node)) taken_.insert(tensor.id);
    feeds_[{to, toSlot}] = from.node;
    graph_.edges.push_back(std::move(edge));
  }

  bool insideOf(int index, int group) {
    for (int at = node(index).group; at >= 0; at = node(at).group)
      if (at == group) return true;
    return false;
  }

  /// Notes where the gradients that a record makes are on their way to.
  void aim(const Record& record, int index, bool ready) {
    if (!node(index).backward || record.kind == RecordKind::playback) return;
    if (record.kind == RecordKind::op && node(index).group < 0)
      for (const TensorInfo& input : record.inputs)
        if (const auto found = targets_.find(input.id); found != targets_.end() && node(index).goal < 0)
          node(index).goal = found->second;
    if (!ready) return;
    for (std::size_t slot = 0; slot < record.outputs.size(); ++slot)
      if (const int goal = goalOf(index, record, slot); goal >= 0 && record.outputs[slot].id)
        targets_[record.outputs[slot].id] = goal;
  }

  int goalOf(int index, const Record& record, std::size_t slot) {
    // A sum of gradients goes where its parts would have gone; what runs inside of a VJP goes nowhere by
    // itself.
    if (record.kind != RecordKind::vjp) return node(index).goal;
    const Record* forward = recordOf(record.forward);
    if (!forward || slot >= forward->inputs.size()) return -1;
    const auto fed = feeds_.find({graph_.nodeOf(record.forward), static_cast<int>(slot)});
    return fed == feeds_.end() ? -1 : fed->second;
  }

  /// Gradients that no VJP has taken up: they rest at what their forward input came from.
  void addArrivals() {
    std::vector<GraphEdge> arrivals;
    for (int index = 0; index < static_cast<int>(graph_.nodes.size()); ++index) {
      const auto found = nodeRecords_.find(index);
      if (found == nodeRecords_.end() || !node(index).backward || node(index).state != RecordState::done ||
          node(index).kind == NodeKind::playback)
        continue;
      const Record& record = *found->second;
      for (std::size_t slot = 0; slot < record.outputs.size(); ++slot) {
        const TensorInfo& gradient = record.outputs[slot];
        const int goal = gradient.id ? goalOf(index, record, slot) : -1;
        if (goal < 0 || taken_.contains(gradient.id)) continue;
        GraphEdge edge;
        edge.from = index;
        edge.fromSlot = static_cast<int>(slot);
        edge.to = goal;
        edge.toSlot = -1;
        edge.backward = edge.arrives = true;
        edge.tensor = gradient.id;
        edge.label =
            gradient.preview.empty() ? shapeText(gradient.shape) : QString::fromStdString(gradient.preview);
        arrivals.push_back(std::move(edge));
      }
    }
    graph_.edges.insert(graph_.edges.end(), arrivals.begin(), arrivals.end());
  }

  void count() {
    bool taped = false;
    for (const auto& [index, record] : nodeRecords_) taped = taped || record->tape != 0;
    for (GraphNode& node : graph_.nodes) {
      node.offTape = node.offTape && taped && node.record;
      const bool op = node.kind == NodeKind::op || node.kind == NodeKind::custom;
      graph_.ops += op && !node.backward && !node.offTape && node.group < 0;
      graph_.vjps += node.kind == NodeKind::vjp;
      graph_.offTape += op && node.offTape;
    }
    graph_.ops = std::max(graph_.ops, extent_.ops);
    graph_.vjps = std::max(graph_.vjps, extent_.vjps);
  }

  TapeGraph graph_;
  RecordNumber cursor_;
  TapeExtent extent_;
  Moment moment_;
  int more_ = -1;  ///< the node for the ops after the ones that are here
  std::int64_t cursorStart_ = 0;
  std::set<RecordNumber> around_;  ///< what the cursor's record runs inside of
  std::map<RecordNumber, const Record*> records_;
  std::map<RecordNumber, RecordNumber> callParents_;
  std::unordered_map<int, const Record*> nodeRecords_;
  std::unordered_map<TensorId, std::vector<Slot>> makers_;
  std::unordered_map<TensorId, Slot> hiddenMakers_;
  std::unordered_map<TensorId, Slot> seeds_;   ///< the gradients that playbacks start with
  std::unordered_map<TensorId, int> targets_;  ///< gradients: the node that they are on their way to
  std::unordered_map<TensorId, int> leaves_;
  std::map<std::pair<int, int>, int> feeds_;  ///< node and input: the node that feeds it
  std::set<TensorId> taken_;                  ///< gradients that something backward reads
};

}  // namespace

bool saysOdd(const QString& preview) {
  static const QRegularExpression odd(QStringLiteral("\\b(nan|inf)\\b"),
                                      QRegularExpression::CaseInsensitiveOption);
  return !preview.contains(QLatin1Char('"')) && !preview.contains(QLatin1Char('\'')) && preview.contains(odd);
}

int TapeGraph::nodeOf(RecordNumber record) const {
  const auto found = shownAs.find(record);
  return found == shownAs.end() ? -1 : found->second;
}

TapeGraph buildTapeGraph(std::span<const Record> records, RecordNumber cursor, const TapeExtent& extent,
                         Moment moment) {
  return Builder(records, cursor, extent, moment).build();
}

}  // namespace tapedeck::inspector
