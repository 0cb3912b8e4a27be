#include "engine/debug/graph_look.h"

#include <algorithm>

#include "engine/debug/graph_rows.h"
#include "engine/debug/tile.h"
#include "engine/graph/eager.h"
#include "engine/graph/functions.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t most_functions = 200, most_graph_rows = 2000;
constexpr std::size_t most_traces = 100;  // of one function

void check_count(const char* request, std::uint32_t count, std::uint32_t most, const char* what) {
  if (count > most)
    throw BadRequest(std::string(request) + ": " + std::to_string(count) + " " + what +
                     " were asked for, the most is " + std::to_string(most));
}

protocol::FunctionTrace describe_trace(const graph::FunctionEntry::Made& made) {
  protocol::FunctionTrace row;
  row.id = made.trace->id;
  row.signature = made.note.signature;
  row.reasons = made.note.reasons;
  row.calls = made.trace->calls.load(std::memory_order_relaxed);
  row.inlined = made.trace->inlined.load(std::memory_order_relaxed);
  row.nodes = graph::count_nodes(made.trace->running());
  row.traced_nodes = graph::count_nodes(made.trace->traced);
  if (made.note.after != 0) row.after = made.note.after;
  const SourceLocation place = location_of(made.note.location);
  row.cell = place.cell;
  row.file = place.file;
  row.line = place.line;
  for (const graph::OuterGradients::Seen& seen : made.trace->gradients->all())
    row.gradients.push_back(
        {seen.id, seen.inputs, seen.why_played, seen.graph ? graph::count_nodes(seen.graph->running()) : 0});
  return row;
}

protocol::GraphFunctionInfo describe_function(const graph::FunctionEntry& entry,
                                              const std::vector<graph::FunctionEntry::Made>& traces) {
  protocol::GraphFunctionInfo info;
  info.id = entry.id;
  info.name = entry.name;
  const SourceLocation place = location_of(entry.location);
  info.cell = place.cell;
  info.file = place.file;
  info.line = place.line;
  info.total = traces.size();
  for (std::size_t i = traces.size() - std::min(traces.size(), most_traces); i < traces.size(); ++i)
    info.traces.push_back(describe_trace(traces[i]));
  return info;
}

std::vector<protocol::GraphStage> stages_of(const graph::TracedGraph& trace) {
  std::vector<protocol::GraphStage> stages;
  stages.push_back({"as traced", graph::count_nodes(trace.traced)});
  for (const graph::NamedPassed& pass : trace.passes) {
    protocol::GraphStage stage{pass.name, graph::count_nodes(pass.passed.graph)};
    for (const graph::Change& change : pass.passed.changes) {
      stage.folded += change.kind == graph::ChangeKind::folded;
      stage.merged += change.kind == graph::ChangeKind::merged;
      stage.removed += change.kind == graph::ChangeKind::removed;
      stage.fused += change.kind == graph::ChangeKind::fused;
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace

protocol::GraphFunctions describe_functions(const protocol::GetGraphFunctions& request) {
  check_count("get_graph_functions", request.count, most_functions, "functions");
  protocol::GraphFunctions answer;
  answer.run_eagerly = graph::functions_run_eagerly();
  answer.first = request.first;
  for (const auto& entry : graph::traced_functions()) {
    const auto traces = entry->traces();
    if (traces.empty()) continue;
    if (answer.total >= request.first && answer.functions.size() < request.count)
      answer.functions.push_back(describe_function(*entry, traces));
    ++answer.total;
  }
  return answer;
}

protocol::Reply describe_graph(const protocol::GetGraph& request, const CancelFlag* cancel) {
  check_count("get_graph", request.count, most_graph_rows, "rows");
  std::shared_ptr<const graph::TracedGraph> trace = graph::find_trace(request.trace);
  if (const auto gradient = trace ? std::nullopt : graph::find_gradient(request.trace)) {
    const graph::OuterGradients::Seen seen = graph::traced_gradient(*gradient);
    if (!seen.graph)
      return protocol::Failure{
          "A tape plays the VJPs of " + gradient->of->traced.name + " one by one: " + seen.why_played + ".",
          "played"};
    trace = seen.graph;
  }
  if (!trace)
    return protocol::Failure{"Trace " + std::to_string(request.trace) +
                                 " is not there any longer: its function has gone, or traces anew.",
                             "gone"};
  if (request.stage > trace->passes.size())
    throw BadRequest("get_graph: stage is " + std::to_string(request.stage) + "; the trace has " +
                     std::to_string(trace->passes.size()) + " passes");
  protocol::GraphRows answer;
  answer.trace = request.trace;
  answer.stage = request.stage;
  answer.stages = stages_of(*trace);
  answer.first = request.first;
  write_rows(*trace, request.stage, request.count, answer, cancel);
  return answer;
}

}  // namespace tapedeck::debug
