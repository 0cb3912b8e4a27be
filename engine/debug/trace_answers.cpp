#include "engine/debug/trace_answers.h"

#include <algorithm>
#include <type_traits>

#include "engine/debug/host_inspector.h"
#include "engine/record/breakpoints/breakpoint_set.h"
#include "engine/record/trace_file/save.h"

namespace tapedeck::debug {
namespace {

constexpr const char* nothing_runs = "This is a trace file: nothing runs in it.";
constexpr const char* looked_for_alone =
    "This is a trace file: nothing runs in it. Reverse continue goes back to where it would have stopped.";

template <class Message>
bool would_run(const Message& message) {
  if constexpr (std::is_same_v<Message, protocol::SetGate>)
    return message.command != protocol::GateCommand::run;
  else if constexpr (std::is_same_v<Message, protocol::SetOptions>)
    return message.recording == true;
  else
    return std::is_same_v<Message, protocol::TakeOver> || std::is_constructible_v<HostRequest, Message>;
}

/// A file that may be damaged, or mean harm, is not read where the user's variables are.
std::optional<protocol::Reply> refused_by_session(const protocol::Request& request) {
  const auto* make = protocol::get_if<protocol::MakeComparison>(&request);
  if (!make || !(make->left.path || make->right.path)) return std::nullopt;
  return protocol::Failure{
      "make_comparison: trace files are compared in the process that reads them, not in a session.",
      "bad_request"};
}

}  // namespace

std::optional<protocol::Reply> refused_by_file(const Recorder& recorder, const protocol::Request& request) {
  if (!recorder.file()) return refused_by_session(request);
  if (protocol::visit([](const auto& message) { return would_run(message); }, request))
    return protocol::Failure{nothing_runs, "trace_file"};
  if (protocol::holds_alternative<protocol::SaveTrace>(request))
    return protocol::Failure{"This is a trace file already: " + recorder.file()->path() + " can be copied.",
                             "trace_file"};
  if (protocol::holds_alternative<protocol::GetGraphFunctions>(request) ||
      protocol::holds_alternative<protocol::GetGraph>(request))
    return protocol::Failure{"This is a trace file: it has the ops that ran, and no graphs of functions.",
                             "trace_file"};
  if (const auto* set = protocol::get_if<protocol::SetBreakpoints>(&request)) {
    protocol::Breakpoints answer;
    const BreakpointSet compiled(*set, recorder.cell_runs(), nullptr, 0, answer.states);
    for (protocol::BreakpointState& state : answer.states) state.note = looked_for_alone;
    return answer;
  }
  return std::nullopt;
}

protocol::Reply save_trace(const Recorder& recorder, const protocol::SaveTrace& request,
                           const CancelFlag& cancel, const Jobs::Report& report) {
  try {
    return trace_file::save(recorder, request, &cancel, [&](std::uint64_t done, std::uint64_t total) {
      report(protocol::Progress{done, total});
    });
  } catch (const trace_file::TraceFileError& error) {
    return protocol::Failure{error.what(), "not_saved"};
  }
}

protocol::Reply describe_file(const Recorder& recorder) {
  if (!recorder.file())
    return protocol::Failure{"get_trace_file: this is a live session, not a trace file.", "bad_request"};
  return recorder.file()->info();
}

protocol::Reply source_of(const Recorder& recorder, const protocol::GetSource& request) {
  if (!recorder.file())
    return protocol::Failure{"get_source: this is a live session, not a trace file.", "bad_request"};
  auto text = recorder.file()->source_text(request.cell, request.file);
  if (!text)
    return protocol::Failure{"The trace file does not have the text of " +
                                 (request.cell.empty() ? request.file : "cell " + request.cell) + ".",
                             "gone"};
  return protocol::SourceText{request.cell, request.file, std::move(*text)};
}

}  // namespace tapedeck::debug
