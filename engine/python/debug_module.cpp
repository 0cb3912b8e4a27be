#include "engine/python/debug_module.h"

#include <memory>
#include <vector>

#include "engine/debug/describe.h"
#include "engine/debug/explain.h"
#include "engine/debug/server.h"
#include "engine/protocol/codec.h"
#include "engine/python/inspector.h"
#include "engine/python/source_lines.h"
#include "engine/python/tensor_object.h"
#include "engine/record/recorder.h"
#include "engine/record/source_location.h"

namespace tapedeck::python {
namespace {

/// The recorder of this process and its server. Guarded by Python's lock.
struct Session {
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<Inspector> inspector;
  std::unique_ptr<debug::DebugServer> server;
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

void attach(std::uint64_t budget_bytes, bool keep_values) {
  if (session().recorder) throw py::value_error("debug: a recorder is attached already; call stop() first");
  RecorderOptions options;
  options.keeping.budget_bytes = budget_bytes;
  options.keep_values = keep_values;
  const py::list path(py::module_::import("tapedeck").attr("__path__"));
  start_capturing_lines(py::str(path[0]));
  session().recorder = std::make_unique<Recorder>(options);
  session().recorder->set_recording(true);
}

void stop() {
  if (!session().recorder) return;
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
  stop_capturing_lines();
}

void start(const std::string& endpoint, const py::bytes& key, std::uint64_t budget_bytes) {
  attach(budget_bytes, true);
  try {
    session().inspector = std::make_unique<Inspector>(*session().recorder);
    session().server = std::make_unique<debug::DebugServer>(*session().recorder, endpoint, std::string(key),
                                                            ReplayLimits{}, session().inspector.get());
  } catch (...) {
    stop();
    throw;
  }
}

/// A forked child has none of the threads, and locks that they may have held: it goes on without a recorder.
void forget_in_child() {
  set_observer(nullptr);
  set_capture_location(nullptr);
  [[maybe_unused]] auto* server = session().server.release();
  [[maybe_unused]] auto* inspector = session().inspector.release();
  [[maybe_unused]] auto* recorder = session().recorder.release();
}

void begin_cell(const std::string& cell, const std::string& filename) {
  name_cell(cell, filename);
  if (session().recorder) session().recorder->begin_cell(cell);
}

void end_cell() {
  if (session().recorder) session().recorder->end_cell();
}

GateCommand command_named(const std::string& name) {
  const auto known = protocol::names(GateCommand{});
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i] == name) return static_cast<GateCommand>(i);
  throw py::value_error("debug.gate: there is no command '" + name + "'");
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

py::dict status() {
  const protocol::Status now = debug::describe_status(recorder());
  py::dict result;
  result["records"] = now.records;
  result["gate"] = std::string(protocol::names(now.gate).at(static_cast<std::size_t>(now.gate)));
  result["stopped_before"] = now.stopped_before;
  result["finished"] = now.finished;
  result["running_cell"] = now.running_cell;
  result["recording"] = now.recording;
  result["held_bytes"] = now.held_bytes;
  result["budget_bytes"] = now.budget_bytes;
  result["leaves_dropped"] = now.leaves_dropped;
  result["series_points"] = now.series_points;
  return result;
}

void bind_session(py::module_& debug) {
  constexpr std::uint64_t default_budget = KeepingOptions{}.budget_bytes;
  debug.def("start", &start, py::arg("endpoint"), py::arg("key"), py::arg("budget_bytes") = default_budget,
            "Records from now on, and serves the debug protocol at `endpoint` (\"ipc:///folder/name\", the "
            "folder of "
            "mode 0700). `key` signs the messages. `budget_bytes`: for values that are held. RuntimeError "
            "where the "
            "endpoint can not be used, ValueError where a recorder is attached already.");
  debug.def(
      "attach", &attach, py::arg("budget_bytes") = default_budget, py::arg("keep_values") = true,
      "Records from now on, without a server. keep_values False: records alone, whose values can not be "
      "looked at.");
  debug.def("stop", &stop, "Ends the server and the recording; does nothing where there is none.");
  debug.def(
      "attached", [] { return session().recorder != nullptr; },
      "True between start() or attach() and stop().");
  debug.def("begin_cell", &begin_cell, py::arg("cell_id"), py::arg("filename"),
            "A notebook cell begins to run. Code compiled under `filename` is reported with the cell's id "
            "from now on, "
            "also when a later cell calls it.");
  debug.def("end_cell", &end_cell, "The running cell ended.");
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
  const debug::Source wanted{variable ? variable_of(source.ptr()).peek().id() : tensor_of(source.ptr()).id(),
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
  debug.def(
      "set_recording", [](bool on) { recorder().set_recording(on); }, py::arg("on"),
      "Off: ops are not recorded, do not stop at the gate, and cost what they cost without a recorder.");
  debug.def(
      "recording", [] { return session().recorder && session().recorder->recording(); },
      "True while ops are recorded.");
  debug.def(
      "add_scalar",
      [](const std::string& series, double step, double value) {
        if (session().recorder) session().recorder->add_scalar(series, step, value);
      },
      py::arg("series"), py::arg("step"), py::arg("value"),
      "Adds a point to a curve of the notebook's plots. Without a recorder it does nothing.");
  debug.def(
      "restart_series",
      [](const std::string& series) {
        if (session().recorder) session().recorder->series().restart(series);
      },
      py::arg("series"), "The curve's points so far are void.");
  debug.def(
      "gate", [](const std::string& command) { recorder().gate().command(command_named(command)); },
      py::arg("command"), "\"run\", \"pause\", \"step_op\", \"step_line\" or \"step_out\".");
  debug.def("explain_no_gradient", &explain, py::arg("result"), py::arg("source"),
            "Where the path of recorded ops from the tensor `result` (an id) back to `source`, a tensor or a "
            "variable, ends, as a dict.");
  debug.def("status", &status, "Records, gate, and what is held, as a dict.");
  debug.def(
      "record_count", [] { return recorder().trace().newest(); }, "Number of the newest record; 0: none.");
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
  bind_inspector(debug);
  py::module_::import("atexit").attr("register")(debug.attr("stop"));
  py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") =
                                                         py::cpp_function(&forget_in_child));
}

}  // namespace tapedeck::python
