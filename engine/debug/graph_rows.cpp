#include "engine/debug/graph_rows.h"

#include <numeric>

#include "engine/debug/describe.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {
namespace {

constexpr std::int64_t shown_elements = 8;  // of a constant
constexpr std::size_t shown_letters = 80;

using Numbers = std::vector<std::int32_t>;

/// What a pass did to each node of the graph before it: its change, or nullptr.
std::vector<const graph::Change*> changes_by_node(const graph::Passed& passed, std::size_t nodes) {
  std::vector<const graph::Change*> changes(nodes, nullptr);
  for (const graph::Change& change : passed.changes)
    if (const auto node = static_cast<std::size_t>(change.node); node < nodes) changes[node] = &change;
  return changes;
}

bool stays(const graph::Change* change) {
  return !change || change->kind == graph::ChangeKind::folded || change->kind == graph::ChangeKind::fused;
}

/// Whether the pass left the nodes that stay in their order, and added none.
bool keeps_order(const std::vector<const graph::Change*>& changes, const graph::Graph& after) {
  return static_cast<std::size_t>(std::ranges::count_if(changes, stays)) == after.nodes.size();
}

/// The numbers that the stage's nodes had when they were traced. Behind a pass that makes new nodes, numbers
/// of their own above those.
Numbers traced_numbers(const graph::TracedGraph& trace, std::size_t stage) {
  Numbers numbers(trace.traced.nodes.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::int32_t next = static_cast<std::int32_t>(numbers.size());
  for (std::size_t pass = 0; pass < stage; ++pass) {
    const graph::Passed& passed = trace.passes[pass].passed;
    const auto changes = changes_by_node(passed, numbers.size());
    Numbers after;
    if (keeps_order(changes, passed.graph)) {
      for (std::size_t i = 0; i < numbers.size(); ++i)
        if (stays(changes[i])) after.push_back(numbers[i]);
    } else {
      after.resize(passed.graph.nodes.size());
      std::iota(after.begin(), after.end(), next);
      next += static_cast<std::int32_t>(after.size());
    }
    numbers = std::move(after);
  }
  return numbers;
}

/// A graph whose nodes go by these numbers.
struct Named {
  const graph::Graph& graph;
  const Numbers& numbers;

  std::int64_t number(std::int32_t node) const { return numbers[static_cast<std::size_t>(node)]; }
  std::string name(std::int32_t node) const {
    const graph::Node& named = graph.nodes[static_cast<std::size_t>(node)];
    return named.kind == graph::NodeKind::parameter ? named.name : "%" + std::to_string(number(node));
  }
  std::string name(graph::Value value) const {
    const graph::Node& node = graph.nodes[static_cast<std::size_t>(value.node)];
    return name(value.node) + (node.results.size() > 1 ? ":" + std::to_string(value.result) : "");
  }
};

std::string cut_off(std::string text) {
  if (text.size() <= shown_letters) return text;
  std::size_t end = shown_letters;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

void append_to(std::string& list, const std::string& text) {
  list += (list.empty() ? "" : ", ") + text;
}

std::string op_text(const graph::Graph& graph, const graph::Node& node, std::size_t place) {
  switch (node.kind) {
    case graph::NodeKind::parameter:
      return place < graph.arguments ? "argument" : "captured";
    case graph::NodeKind::constant:
      return "constant";
    case graph::NodeKind::read:
      return "read";
    case graph::NodeKind::assign:
      return "assign";
    case graph::NodeKind::op:
      return node.op->name;
    case graph::NodeKind::branch:
      return "branch";
    case graph::NodeKind::loop:
      return "loop";
    case graph::NodeKind::unwind:
      return "unwind";
    case graph::NodeKind::absent:
      return "absent";
    case graph::NodeKind::custom:
      return "custom gradient";
    case graph::NodeKind::host:
      return "call";
    case graph::NodeKind::tape_start:
      return "start tape";
    case graph::NodeKind::tape_stop:
      return "stop tape";
    case graph::NodeKind::tape_watch:
      return "watch";
    case graph::NodeKind::gradient:
      return "gradient";
  }
  return "node";
}

std::string constant_text(const Tensor& constant) {
  if (constant.is_symbolic() || !constant.on_cpu() || element_count(constant.shape()) > shown_elements)
    return {};
  return cut_off(preview(constant));
}

std::string attributes_of(const Named& in, const graph::Node& node) {
  std::string text;
  for (std::size_t i = 0; node.op && i < node.attributes.size(); ++i)
    if (const AttributeSpec& spec = node.op->attributes[i];
        node.attributes[i] != spec.fallback || graph::is_late(node, i))
      append_to(text, spec.name + "=" +
                          cut_off(graph::attribute_text(in.graph, node, i,
                                                        [&](graph::Value value) { return in.name(value); })));
  if (node.kind == graph::NodeKind::constant) text = constant_text(node.constant);
  if (node.variable) append_to(text, node.variable->name());
  if (node.host) append_to(text, node.host->name);
  if (node.own_gradient) append_to(text, "of " + node.own_gradient->name);
  if (node.tape) append_to(text, "tape " + std::to_string(node.tape->tape));
  if (node.draw_of >= 0) append_to(text, "draws as " + in.name(node.draw_of));
  if (node.device) append_to(text, "on " + to_string(*node.device));
  return text;
}

std::string result_of(const graph::Graph& graph, std::size_t place) {
  std::string text;
  for (std::size_t i = 0; i < graph.nodes[place].results.size(); ++i)
    append_to(text,
              to_string(graph.value_spec({static_cast<std::int32_t>(place), static_cast<std::int32_t>(i)})));
  return text;
}

std::vector<std::string> titles_of(graph::NodeKind kind) {
  switch (kind) {
    case graph::NodeKind::branch:
      return {"if true", "if false"};
    case graph::NodeKind::loop:
      return {"while", "do"};
    case graph::NodeKind::unwind:
      return {"do"};
    default:
      return {"its gradient"};
  }
}

/// Counts rows, and makes those of the page.
class Writer {
 public:
  Writer(std::size_t count, protocol::GraphRows& answer, const CancelFlag* cancel)
      : answer_(answer), last_(answer.first + count), cancel_(cancel) {}

  void write_graph(const graph::Graph& graph, std::uint32_t depth) {
    Numbers numbers(graph.nodes.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    const Named in{graph, numbers};
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) write_node(in, i, depth);
    write_return(in, depth);
  }

  void write_stage(const graph::TracedGraph& trace, std::size_t stage) {
    const Numbers numbers = traced_numbers(trace, stage);
    const Named after{trace.stage(stage), numbers};
    if (stage == 0) return write_graph(trace.traced, 0);
    const Numbers numbers_before = traced_numbers(trace, stage - 1);
    const Named before{trace.stage(stage - 1), numbers_before};
    const auto changes = changes_by_node(trace.passes[stage - 1].passed, before.graph.nodes.size());
    if (keeps_order(changes, after.graph)) {
      std::size_t next = 0;
      for (std::size_t i = 0; i < changes.size(); ++i)
        if (stays(changes[i]))
          write_node(after, next++, 0, changes[i] ? &before : nullptr, changes[i]);
        else
          write_node(before, i, 0, &before, changes[i]);
    } else {
      for (std::size_t i = 0; i < after.graph.nodes.size(); ++i) write_node(after, i, 0);
    }
    write_return(after, 0);
  }

  std::uint32_t rows() const { return static_cast<std::uint32_t>(at_); }

 private:
  /// Whether the next row is one of the page.
  bool takes() {
    if (at_ % 256 == 0) check_cancelled(cancel_);
    const std::size_t row = at_++;
    return row >= answer_.first && row < last_;
  }

  void write_node(const Named& in, std::size_t place, std::uint32_t depth, const Named* before = nullptr,
                  const graph::Change* change = nullptr) {
    const graph::Node& node = in.graph.nodes[place];
    if (takes()) {
      protocol::GraphRow row = row_of(in, place, depth);
      if (change) note_change(*before, *change, row);
      answer_.rows.push_back(std::move(row));
    }
    const auto titles = titles_of(node.kind);
    for (std::size_t i = 0; i < node.graphs.size(); ++i) {
      if (takes()) {
        protocol::GraphRow heading;
        heading.depth = depth + 1;
        heading.op = titles[std::min(i, titles.size() - 1)];
        answer_.rows.push_back(std::move(heading));
      }
      write_graph(*node.graphs[i], depth + 2);
    }
  }

  void write_return(const Named& in, std::uint32_t depth) {
    if (!takes()) return;
    protocol::GraphRow row;
    row.depth = depth;
    row.op = "return";
    for (const graph::Value value : in.graph.results) {
      row.inputs.push_back({in.name(value), in.number(value.node)});
      append_to(row.result, to_string(in.graph.value_spec(value)));
    }
    answer_.rows.push_back(std::move(row));
  }

  static protocol::GraphRow row_of(const Named& in, std::size_t place, std::uint32_t depth) {
    const graph::Node& node = in.graph.nodes[place];
    protocol::GraphRow row;
    row.depth = depth;
    row.number = in.number(static_cast<std::int32_t>(place));
    row.name = in.name(static_cast<std::int32_t>(place));
    row.op = op_text(in.graph, node, place);
    for (const graph::Value input : node.inputs)
      row.inputs.push_back({in.name(input), in.number(input.node)});
    row.attributes = attributes_of(in, node);
    row.result = result_of(in.graph, place);
    const SourceLocation at = location_of(node.location);
    row.cell = at.cell;
    row.file = at.file;
    row.line = at.line;
    row.scope = scope_text(node.scope);
    return row;
  }

  static void note_change(const Named& before, const graph::Change& change, protocol::GraphRow& row) {
    const graph::Node& was = before.graph.nodes[static_cast<std::size_t>(change.node)];
    switch (change.kind) {
      case graph::ChangeKind::folded: {
        std::string inputs;
        for (const graph::Value input : was.inputs) append_to(inputs, before.name(input));
        if (const std::string attributes = attributes_of(before, was); !attributes.empty())
          append_to(inputs, attributes);
        row.change = protocol::NodeChange::folded;
        row.note = "folded: was " + op_text(before.graph, was, static_cast<std::size_t>(change.node)) + "(" +
                   inputs + ")";
        break;
      }
      case graph::ChangeKind::merged:
        row.change = protocol::NodeChange::merged;
        row.note = "merged: the same as " + before.name(change.into);
        break;
      case graph::ChangeKind::removed:
        row.change = protocol::NodeChange::removed;
        row.note = "removed: nothing reads it";
        break;
      case graph::ChangeKind::fused:
        row.change = protocol::NodeChange::fused;
        row.note = "fused: one loop computes it with ";
        row.note += change.node == change.into ? "those before it" : "others, at " + before.name(change.into);
        break;
    }
  }

  protocol::GraphRows& answer_;
  const std::size_t last_;
  const CancelFlag* cancel_;
  std::size_t at_ = 0;
};

}  // namespace

void write_rows(const graph::TracedGraph& trace, std::size_t stage, std::size_t count,
                protocol::GraphRows& answer, const CancelFlag* cancel) {
  Writer writer(count, answer, cancel);
  writer.write_stage(trace, stage);
  answer.total = writer.rows();
}

}  // namespace tapedeck::debug
