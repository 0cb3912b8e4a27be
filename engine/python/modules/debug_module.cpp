#include "engine/python/modules/debug_module.h"

#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <vector>

#include "engine/debug/describe.h"
#include "engine/debug/endpoint.h"
#include "engine/debug/explain.h"
#include "engine/debug/lost_gpu.h"
#include "engine/debug/server.h"
#include "engine/debug/tile.h"
#include "engine/debug/why/why.h"
#include "engine/graph/names.h"
#include "engine/ops/core/front_observer.h"
#include "engine/protocol/codec.h"
#include "engine/python/inspector.h"
#include "engine/python/line_stops.h"
#include "engine/python/modules/curves_module.h"
#include "engine/python/modules/function_list.h"
#include "engine/python/modules/health_module.h"
#include "engine/python/modules/trace_module.h"
#include "engine/python/modules/traced_names.h"
#include "engine/python/source_lines.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/python/torch/torch_tensors.h"
#include "engine/record/recorder.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::python {
namespace {

/// The recorder of this process and its server. Guarded by Python's lock.
struct Session {
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<Inspector> inspector;
  std::unique_ptr<debug::DebugServer> server;
  std::string socket;           ///< the path of the server's
  bool while_attended = false;  ///< it records only while a client is connected
};

Session& session() {
  static auto* one = new Session;  // Python may end after the program's statics
  return *one;
}

/// Other threads may still be inside an op that began while it recorded, so a recorder is never destroyed.
std::vector<std::unique_ptr<Recorder>>& retired() {
  static auto* all = new std::vector<std::unique_ptr<Recorder>>;
  return *all;
}

Recorder& recorder() {
  if (!session().recorder) throw py::value_error("debug: nothing records; call start() or attach() first");
  return *session().recorder;
}

std::string package_folder() {
  const py::list path(py::module_::import("tapedeck").attr("__path__"));
  return py::str(path[0]);
}

void attach(std::uint64_t budget_bytes, bool keep_values, bool recording = true) {
  if (session().recorder) throw py::value_error("debug: a recorder is attached already; call stop() first");
  RecorderOptions options;
  options.keeping.budget_bytes = budget_bytes;
  options.keep_values = keep_values;
  start_capturing_lines(package_folder());
  start_capturing_names();
  torch::keep_torch_values(keep_values);
  session().recorder = std::make_unique<Recorder>(options);
  session().recorder->set_recording(recording);
  watch_program(*session().recorder);
}

void stop() {
  if (!session().recorder) return;
  forget_health();
  leave_program();
  auto server = std::move(session().server);
  auto inspector = std::move(session().inspector);
  auto retiring = std::move(session().recorder);
  {
    const py::gil_scoped_release unlocked;
    server.reset();
    inspector.reset();
    retiring->set_recording(false);
    retiring->values().clear();
  }
  retired().push_back(std::move(retiring));
  session().while_attended = false;
  session().socket.clear();
  stop_capturing_names();
  stop_capturing_lines();
}

void start(const std::string& endpoint, const py::bytes& key, std::uint64_t budget_bytes,
           bool while_attended) {
  attach(budget_bytes, true, !while_attended);
  session().while_attended = while_attended;
  if (while_attended) show_files_as_cells();
  try {
    session().socket = debug::checked_socket_path(endpoint);
    session().inspector = std::make_unique<Inspector>(*session().recorder);
    session().server = std::make_unique<debug::DebugServer>(
        *session().recorder, endpoint, std::string(key), ReplayLimits{}, session().inspector.get(),
        while_attended ? debug::WhenToRecord::while_attended : debug::WhenToRecord::as_chosen);
  } catch (...) {
    stop();
    throw;
  }
}

/// No client debugs the child; clients of this process are notified.
void tell_of_fork() {
  Session& here = session();
  if (!here.server || !here.while_attended) return;
  if (here.recorder->recording())
    here.server->tell(
        "The program made a copy of itself (fork): the copy runs on without a debugger, this one stays "
        "attached.");
}

/// A forked child has none of the threads, and locks that they may have held: it goes on without a recorder.
void forget_in_child() {
  forget_observers();
  set_capture_call_site(nullptr);
  graph::set_capture_names(nullptr);
  leave_program();
  if (!session().socket.empty()) debug::close_inherited(session().socket);
  forget_health();
  [[maybe_unused]] auto* server = session().server.release();
  [[maybe_unused]] auto* inspector = session().inspector.release();
  [[maybe_unused]] auto* recorder = session().recorder.release();
}

/// Ops learn their lines also where no recorder is attached, which sees to it by itself.
void capture_lines(bool on) {
  if (session().recorder) return;
  if (on)
    start_capturing_lines(package_folder());
  else
    stop_capturing_lines();
}

void begin_cell(const std::string& cell, const std::string& filename, std::uint32_t execution) {
  name_cell(cell, filename);
  look_for_line_stops(true);
  if (session().recorder) session().recorder->begin_cell(cell, execution);
}

void end_cell(bool failed) {
  if (session().recorder) session().recorder->end_cell(failed);
  look_for_line_stops();
}

GateCommand command_named(const std::string& name) {
  const auto known = protocol::names(GateCommand{});
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i] == name) return static_cast<GateCommand>(i);
  throw py::value_error("debug.gate: there is no command '" + name + "'");
}

template <class Enumeration>
Enumeration named_value(const std::string& name, const char* what) {
  const auto known = protocol::names(Enumeration{});
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i] == name) return static_cast<Enumeration>(i);
  throw py::value_error(std::string("debug.set_breakpoints: there is no ") + what + " '" + name + "'");
}

/// What each is, by the names of the debug protocol; answers with the problems, None where there is none.
py::list set_breakpoints(const py::list& wanted) {
  protocol::SetBreakpoints request;
  for (const py::handle each : wanted) {
    const auto entry = py::cast<py::dict>(each);
    protocol::Breakpoint breakpoint;
    breakpoint.id = request.breakpoints.size() + 1;
    const auto text = [&](const char* key) {
      return entry.contains(key) ? py::cast<std::string>(entry[key]) : std::string();
    };
    breakpoint.kind = named_value<protocol::BreakpointKind>(text("kind"), "kind");
    breakpoint.cell = text("cell");
    if (entry.contains("line")) breakpoint.line = py::cast<std::uint32_t>(entry["line"]);
    breakpoint.target = text("target");
    breakpoint.condition = text("condition");
    if (entry.contains("from_hit")) breakpoint.from_hit = py::cast<std::uint64_t>(entry["from_hit"]);
    if (entry.contains("action"))
      breakpoint.action = named_value<protocol::BreakpointAction>(text("action"), "action");
    breakpoint.text = text("text");
    request.breakpoints.push_back(std::move(breakpoint));
  }
  py::list problems;
  for (const protocol::BreakpointState& state : recorder().breakpoints().set(request))
    problems.append(state.problem ? py::object(py::str(*state.problem)) : py::object(py::none()));
  look_for_line_stops();
  return problems;
}

std::string records_json(std::uint64_t first, std::uint32_t count) {
  std::string text = "[";
  const Recorder& source = recorder();
  const py::gil_scoped_release unlocked;
  while (count > 0) {
    const auto page = debug::describe_page(source, {first, count, true});
    if (page.records.empty()) break;
    for (const protocol::Record& record : page.records) {
      if (text.size() > 1) text += ",\n ";
      text += protocol::to_json(record);
    }
    first += page.records.size();
    count -= static_cast<std::uint32_t>(page.records.size());
  }
  return text + "]";
}

/// A Because as a dict; where there is no answer, {"failure": why}.
py::dict why(const std::string& question, std::uint64_t tensor, const std::vector<std::int64_t>& element,
             std::uint64_t record) {
  const protocol::Why asked{named_value<protocol::Question>(question, "question"), protocol::if_there(tensor),
                            protocol::if_there(element), protocol::if_there(record)};
  Recorder& source = recorder();
  protocol::Because because;
  std::string failure;
  {
    const py::gil_scoped_release unlocked;
    const CancelFlag cancel{false};
    debug::Past past(source, [&](std::uint64_t id) { return find_value(source, id).value; }, &cancel, {});
    try {
      because = debug::answer(past, asked);
    } catch (const ValueError& error) {
      failure = error.what();
    } catch (const debug::BadRequest& error) {
      failure = error.what();
    }
  }
  py::dict answer;
  if (!failure.empty()) {
    answer["failure"] = failure;
    return answer;
  }
  py::list reasons;
  for (const protocol::Reason& reason : because.reasons) {
    py::dict one;
    one["record"] = reason.record.value_or(0);
    one["op"] = reason.op;
    one["line"] = reason.line;
    one["role"] = reason.role;
    one["sentence"] = reason.sentence;
    one["operands"] = reason.operands;
    one["tensor"] = reason.tensor ? reason.tensor->id : 0;
    one["element"] = reason.element.value_or(std::vector<std::int64_t>());
    one["value"] = reason.value.value_or("");
    one["amount"] = reason.amount_text.value_or("");
    reasons.append(one);
  }
  answer["sentence"] = because.sentence;
  answer["complete"] = because.complete;
  answer["reasons"] = reasons;
  return answer;
}

py::dict status() {
  const protocol::Status now = debug::describe_status(recorder());
  py::dict result;
  result["records"] = now.records;
  result["gate"] = std::string(protocol::names(now.gate).at(static_cast<std::size_t>(now.gate)));
  result["stopped_before"] = now.stopped_before.value_or(0);
  result["stopped_at_line"] = now.stopped_at_line.has_value();
  result["stop"] = protocol::stop_id(now).value_or(0);
  result["line"] = now.line;
  result["stepped_call"] = now.stepped_call.value_or("");
  result["stop_reason"] = now.stop_reason.value_or("");
  result["finished"] = now.finished;
  result["running_cell"] = now.running_cell.value_or("");
  result["recording"] = now.recording;
  result["held_bytes"] = now.held_bytes;
  result["budget_bytes"] = now.budget_bytes;
  result["leaves_dropped"] = now.leaves_dropped;
  result["series_points"] = now.series_points;
  result["pictures"] = now.pictures;
  return result;
}

void bind_session(py::module_& debug) {
  constexpr std::uint64_t default_budget = KeepingOptions{}.budget_bytes;
  debug.def("start", &start, py::arg("endpoint"), py::arg("key"), py::arg("budget_bytes") = default_budget,
            py::arg("while_attended") = false,
            "Records from now on, and serves the debug protocol at `endpoint` (\"ipc:///folder/name\", the "
            "folder of "
            "mode 0700). `key` signs the messages. `budget_bytes`: for values that are held. "
            "`while_attended`: records only while a client is connected; files are reported as cells then, "
            "named by "
            "their paths. RuntimeError "
            "where the "
            "endpoint cannot be used, ValueError where a recorder is attached already.");
  debug.def(
      "attach",
      [](std::uint64_t budget_bytes, bool keep_values, bool files_are_cells) {
        attach(budget_bytes, keep_values);
        if (files_are_cells) show_files_as_cells();
      },
      py::arg("budget_bytes") = default_budget, py::arg("keep_values") = true,
      py::arg("files_are_cells") = false,
      "Records from now on, without a server. keep_values False: records alone, whose values cannot be "
      "looked at. files_are_cells: for a program without cells, whose files are reported as cells.");
  debug.def(
      "end_with_gpu", [](int descriptor) { debug::end_with_gpu(recorder(), descriptor); },
      py::arg("descriptor"),
      "Once a GPU is lost the process ends by itself, when the cell that found out has ended, and writes a "
      "message to the file descriptor. ValueError where nothing records.");
  debug.def("stop", &stop, "Ends the server and the recording; does nothing where there is none.");
  debug.def(
      "attached", [] { return session().recorder != nullptr; },
      "True between start() or attach() and stop().");
  debug.def(
      "begin_cell", &begin_cell, py::arg("cell_id"), py::arg("filename"), py::arg("execution") = 0,
      "A notebook cell begins to run, as Jupyter's execution of that number (0: not known). Code compiled "
      "under `filename` is reported with the cell's id from now on, also when a later cell calls it.");
  debug.def("end_cell", &end_cell, py::arg("failed") = false, "The running cell ended, or failed.");
}

/// A server that records only while a client is connected records always from here on.
void keep_recording() {
  Recorder& here = recorder();
  debug::DebugServer* const server = session().server.get();
  const py::gil_scoped_release unlocked;
  if (server)
    server->keep_recording();
  else
    here.set_recording(true);
}

/// What explain.py turns into words.
py::dict place(const std::string& op, std::uint32_t record, const SourceLocation& location) {
  py::dict entry;
  entry["op"] = op;
  entry["record"] = record;
  entry["cell"] = location.cell;
  entry["file"] = location.file;
  entry["line"] = location.line;
  return entry;
}

py::dict explain(std::uint64_t result, const py::handle source) {
  const bool variable = is_variable(source.ptr());
  const debug::Source wanted{variable ? variable_of(source.ptr()).peek().id()
                                      : required_tensor(source.ptr(), "explain_no_gradient: source").id(),
                             variable ? variable_of(source.ptr()).id() : 0};
  const debug::NoGradient found = [&] {
    const Recorder& records = recorder();
    const py::gil_scoped_release unlocked;
    return debug::explain_no_gradient(records, result, wanted);
  }();
  constexpr const char* reasons[] = {"stopped",  "no_gradient", "integer", "not_taped",
                                     "assigned", "none_given",  "captured"};
  py::list broken, leaves, left;
  for (const debug::BrokenStep& step : found.broken) {
    py::dict entry = place(step.op, step.record, step.location);
    entry["reason"] = reasons[static_cast<std::size_t>(step.reason)];
    broken.append(entry);
  }
  for (const debug::Leaf& leaf : found.leaves) {
    py::dict entry = place(leaf.op, leaf.record, leaf.location);
    entry["text"] = leaf.text;
    leaves.append(entry);
  }
  for (const debug::LeftTape& step : found.left) left.append(place(step.op, step.record, step.location));
  py::dict answer;
  answer["depends"] = found.depends;
  answer["connected"] = found.connected;
  answer["broken"] = broken;
  answer["leaves"] = leaves;
  answer["left"] = left;
  return answer;
}

void bind_recording(py::module_& debug) {
  debug.def("_capture_lines", &capture_lines, py::arg("on"));
  debug.def(
      "set_recording", [](bool on) { recorder().set_recording(on); }, py::arg("on"),
      "Off: ops are not recorded, do not stop at the gate, and cost what they cost without a recorder.");
  debug.def("keep_recording", &keep_recording,
            "Records from now on, even after the last client disconnects.");
  debug.def(
      "recording", [] { return session().recorder && session().recorder->recording(); },
      "True while ops are recorded.");
  debug.def(
      "set_replay_on_cpu", [](bool on) { recorder().set_replay_on_cpu(on); }, py::arg("on"),
      "On: values are computed again on the CPU, not on the device where their ops ran.");
}

void bind_stops(py::module_& debug) {
  debug.def(
      "gate", [](const std::string& command) { recorder().gate().command(command_named(command)); },
      py::arg("command"),
      "\"run\", \"pause\", \"step_op\", \"step_line\", \"step_out\", or \"end\", after which nothing stops "
      "any more and waiting threads are interrupted.");
  debug.def(
      "set_breakpoints", &set_breakpoints, py::arg("breakpoints"),
      "Breakpoints from now on: dicts with kind (\"line\", \"op\", \"read\", \"write\", \"cell\", "
      "\"exception\", \"playback\", \"vjp\", \"condition\"), cell, line, target, condition, from_hit, "
      "action (\"stop\", \"log\", \"point\") and text. Returns a sentence for each that cannot work, else "
      "None.");
  debug.def(
      "breakpoint_hits",
      [] {
        std::map<std::uint64_t, std::uint64_t> hits;
        for (const auto& one : recorder().breakpoints().hits()) hits[one.id] = one.hits;
        py::list list;
        for (const auto& [id, count] : hits) list.append(count);
        return list;
      },
      "How often each breakpoint was hit, in their order.");
}

void bind_records(py::module_& debug) {
  debug.def("explain_no_gradient", &explain, py::arg("result"), py::arg("source"),
            "Where the path of recorded ops from the tensor `result` (an id) back to `source`, a tensor or a "
            "variable, ends, as a dict.");
  debug.def("status", &status, "Records, gate, and what is held, as a dict.");
  debug.def(
      "record_count", [] { return recorder().trace().newest(); }, "Number of the newest record; 0: none.");
  debug.def(
      "_traced_frames",
      [](std::uint64_t number, bool running) {
        RecordView record;
        if (number == 0 || number > Trace::newest_possible ||
            !recorder().trace().read(static_cast<std::uint32_t>(number), record))
          return py::list();
        return traced_frames(number, record.head.thread, running);
      },
      py::arg("record"), py::arg("running") = false,
      "Of a record that the run of a traced function made: its functions, the innermost first, each with "
      "(name, cell, file, line, values). A value: (name, kind, id of the tensor or 0, type, text, items, a "
      "constant or None). running: only while the function runs.");
  debug.def("why", &why, py::arg("question"), py::arg("tensor") = 0,
            py::arg("element") = std::vector<std::int64_t>(), py::arg("record") = 0,
            "The answer to a question of the panel Why.");
  debug.def("records_json", &records_json, py::arg("first") = 1, py::arg("count") = 0xffffffffu,
            "Records from number `first` on, at most `count`, as JSON text: an array of objects whose names "
            "are those "
            "of the debug protocol.");
}

}  // namespace

void bind_debug(py::module_& module) {
  py::module_ debug = module.def_submodule("debug", "The recorder and the debug server of this process.");
  bind_session(debug);
  bind_recording(debug);
  bind_stops(debug);
  bind_records(debug);
  bind_curves(debug, [] { return session().recorder.get(); });
  bind_function_list(debug, [] { return session().recorder.get(); });
  bind_health(debug, &recorder);
  bind_inspector(debug, &recorder);
  bind_trace(debug, &recorder);
  debug.attr("PROTOCOL_VERSION") = protocol::version;
  py::module_::import("atexit").attr("register")(debug.attr("stop"));
  py::module_::import("os").attr("register_at_fork")(
      py::arg("after_in_child") = py::cpp_function(&forget_in_child),
      py::arg("after_in_parent") = py::cpp_function(&tell_of_fork));
}

}  // namespace tapedeck::python
