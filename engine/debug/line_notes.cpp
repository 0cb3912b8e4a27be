#include "engine/debug/line_notes.h"

#include <algorithm>
#include <unordered_map>

#include "engine/graph/calls.h"
#include "engine/graph/eager.h"
#include "engine/graph/functions.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {
namespace {

using graph::FunctionEntry;
using graph::Graph;
using graph::Node;

struct FunctionLine {
  const std::string& cell;
  std::uint32_t number;
  /// Graphs have far more nodes than lines, and location_of copies names.
  mutable std::unordered_map<std::uint32_t, bool> known = {};
  bool is_at(std::uint32_t location) const {
    const auto [found, is_new] = known.try_emplace(location, false);
    if (is_new) {
      const SourceLocation place = location_of(location);
      found->second = place.line == number && (place.cell.empty() ? place.file : place.cell) == cell;
    }
    return found->second;
  }
};

/// Whether a run of the graph makes a record on the line at which a breakpoint stops.
bool stops_on_line(const Graph& graph, const FunctionLine& line) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const bool runs = node.kind == graph::NodeKind::op || node.kind == graph::NodeKind::host ||
                      node.kind == graph::NodeKind::gradient;
    if (runs && line.is_at(node.location)) return true;
    for (const graph::Part* part = node.part.get(); part; part = part->around.get())
      if ((part->is_call || part->vjp_of) && line.is_at(part->location)) return true;
    return std::ranges::any_of(node.graphs, [&](const auto& inner) { return stops_on_line(*inner, line); });
  });
}

/// What a run of the graph does on the line where it has no op there; nullptr: nothing.
const char* done_on_line(const Graph& graph, const FunctionLine& line) {
  for (const Node& node : graph.nodes) {
    if (line.is_at(node.location)) {
      if (node.kind == graph::NodeKind::assign) return "assigns to a variable";
      if (node.kind == graph::NodeKind::branch) return "chooses a branch";
      if (node.kind == graph::NodeKind::loop) return "begins a loop";
      if (node.tape) return "uses a tape";
    }
    for (const auto& inner : node.graphs)
      if (const char* done = done_on_line(*inner, line)) return done;
  }
  return nullptr;
}

std::string line_of_location(std::uint32_t location) {
  const std::uint32_t line = location_of(location).line;
  return line == 0 ? std::string("another line") : "line " + std::to_string(line);
}

/// What the passes made of the line's ops; nothing where it has none.
std::optional<std::string> change_on_line(const graph::TracedGraph& trace, const FunctionLine& line,
                                          const std::string& name) {
  std::optional<std::string> folded, removed;
  for (std::size_t pass = 0; pass < trace.passes.size(); ++pass) {
    const Graph& before = trace.stage(pass);
    for (const graph::Change& change : trace.passes[pass].passed.changes) {
      const Node& node = before.nodes[static_cast<std::size_t>(change.node)];
      if (node.kind == graph::NodeKind::parameter || !line.is_at(node.location)) continue;
      if (change.kind == graph::ChangeKind::fused) continue;
      if (change.kind == graph::ChangeKind::merged) {
        const Node& into = before.nodes[static_cast<std::size_t>(change.into)];
        return "Merged with " + line_of_location(into.location) + ": the graph of " + name +
               " computes both once, there.";
      }
      if (change.kind == graph::ChangeKind::folded)
        folded = "Folded: its value follows from constants, and was computed when " + name + " was traced.";
      else if (node.kind == graph::NodeKind::op)
        removed = "Removed: nothing in the graph of " + name + " reads its result.";
    }
  }
  return folded ? folded : removed;
}

std::optional<std::string> note_on_line(const FunctionEntry& entry,
                                        const std::vector<FunctionEntry::Made>& traces,
                                        const FunctionLine& line) {
  for (auto made = traces.rbegin(); made != traces.rend(); ++made)
    if (auto change = change_on_line(*made->trace, line, entry.name)) return change;
  for (auto made = traces.rbegin(); made != traces.rend(); ++made)
    if (const char* done = done_on_line(made->trace->running(), line))
      return "No op on this line: the graph of " + entry.name + " only " + done + " here.";
  if (std::ranges::binary_search(entry.code_lines, line.number))
    return "Runs only while " + entry.name + " is traced: the graph has no op of this line.";
  return "No op on this line: it has no code.";
}

bool has_line(const FunctionEntry& entry, const FunctionLine& line) {
  const SourceLocation first = location_of(entry.location);
  return !entry.code_lines.empty() && (first.cell.empty() ? first.file : first.cell) == line.cell &&
         entry.code_lines.front() <= line.number && line.number <= entry.code_lines.back();
}

}  // namespace

std::optional<std::string> note_of_line(const std::string& cell, std::uint32_t number) {
  if (graph::functions_run_eagerly()) return std::nullopt;
  const FunctionLine line{cell, number};
  std::optional<std::string> note;
  for (const auto& entry : graph::traced_functions()) {
    if (!has_line(*entry, line)) continue;
    const auto traces = entry->traces();
    if (traces.empty()) return std::nullopt;  // it may have ops there
    if (std::ranges::any_of(traces,
                            [&](const auto& made) { return stops_on_line(made.trace->running(), line); }))
      return std::nullopt;
    note = note_on_line(*entry, traces, line);
  }
  return note;
}

std::optional<std::string> change_of_op(const std::string& cell, std::uint32_t number,
                                        const std::string& op) {
  const FunctionLine line{cell, number};
  for (const auto& entry : graph::traced_functions())
    for (const FunctionEntry::Made& made : entry->traces())
      for (std::size_t pass = 0; pass < made.trace->passes.size(); ++pass) {
        const Graph& before = made.trace->stage(pass);
        for (const graph::Change& change : made.trace->passes[pass].passed.changes) {
          const Node& node = before.nodes[static_cast<std::size_t>(change.node)];
          if (!node.op || node.op->name != op || !line.is_at(node.location)) continue;
          if (change.kind == graph::ChangeKind::fused) continue;  // an observed run has it
          if (change.kind == graph::ChangeKind::folded) return "folded";
          if (change.kind == graph::ChangeKind::removed) return "removed";
          return "merged with " +
                 line_of_location(before.nodes[static_cast<std::size_t>(change.into)].location);
        }
      }
  return std::nullopt;
}

void add_line_notes(const protocol::SetBreakpoints& set, protocol::Breakpoints& states) {
  for (std::size_t i = 0; i < std::min(set.breakpoints.size(), states.states.size()); ++i) {
    const protocol::Breakpoint& breakpoint = set.breakpoints[i];
    protocol::BreakpointState& state = states.states[i];
    if (breakpoint.kind != protocol::BreakpointKind::line || state.problem || state.note) continue;
    state.note = note_of_line(breakpoint.cell, breakpoint.line);
  }
}

}  // namespace tapedeck::debug
