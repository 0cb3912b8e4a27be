#include "engine/python/modules/health_module.h"

#include <pybind11/stl.h>

#include <chrono>
#include <memory>
#include <thread>

#include "engine/debug/health/health.h"
#include "engine/ops/core/placement.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::python {
namespace {

/// Guarded by Python's lock; who works with it shares it.
std::shared_ptr<debug::HealthReader>& reader_of_recorder() {
  static auto* one = new std::shared_ptr<debug::HealthReader>;  // Python may end after the program's statics
  return *one;
}

std::shared_ptr<debug::HealthReader> reader(Recorder& recorder) {
  auto& known = reader_of_recorder();
  if (!known) known = std::make_shared<debug::HealthReader>(recorder);
  return known;
}

constexpr std::uint32_t rows_at_once = 1000;
constexpr std::uint32_t slice_ms = 500;  // between two looks for Ctrl-C

py::list rows_of(const protocol::Health& table) {
  py::list rows;
  for (const protocol::HealthRow& row : table.rows) {
    py::dict newest;
    for (const protocol::HealthStrip& strip : row.strips) newest[py::str(strip.quantity)] = strip.newest;
    py::dict entry;
    entry["name"] = row.name;
    entry["kind"] = std::string(protocol::names(row.kind).at(static_cast<std::size_t>(row.kind)));
    entry["line"] = row.line;
    entry["newest"] = newest;
    rows.append(entry);
  }
  return rows;
}

py::dict health(Recorder& recorder, std::uint32_t live_ms) {
  const auto read = reader(recorder);
  const protocol::Health table = [&] {
    const py::gil_scoped_release unlocked;
    return read->table({live_ms, 0, rows_at_once, 64}, nullptr);
  }();
  py::dict result;
  for (const protocol::HealthRun& run : table.runs) {
    if (run.number != table.run) continue;
    result["steps"] = run.steps;
    result["sampled"] = run.sampled;
    result["recomputed"] = run.recomputed;
    result["gone"] = run.gone;
  }
  result["run"] = table.run;
  result["every"] = table.every;
  result["rows"] = rows_of(table);
  return result;
}

py::list findings(Recorder& recorder, std::uint32_t steps) {
  const auto read = reader(recorder);
  bool signalled = false;
  const protocol::HealthFindings found = [&] {
    const py::gil_scoped_release unlocked;
    const QuietScope quiet;
    const DeviceScope on_cpu(Device{});
    CancelFlag cancel{false};
    const auto find = [&](std::uint64_t id) { return find_value(recorder, id).value.on_host(); };
    while (steps > 0 && !signalled && !read->sample({steps, slice_ms}, find, &cancel).complete) {
      // Another thread may be sampling: wait for it.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const py::gil_scoped_acquire locked;
      signalled = PyErr_CheckSignals() != 0;
    }
    if (signalled) return protocol::HealthFindings();
    debug::Past past(recorder, find, &cancel, {});
    return read->findings({true}, past);
  }();
  if (signalled) throw py::error_already_set();
  py::list result;
  for (const protocol::HealthFinding& finding : found.findings) {
    py::dict entry;
    entry["rule"] = finding.rule;
    entry["severity"] =
        std::string(protocol::names(finding.severity).at(static_cast<std::size_t>(finding.severity)));
    entry["sentence"] = finding.sentence;
    entry["cure"] = finding.cure;
    entry["run"] = finding.run;
    entry["since"] = finding.since;
    entry["record"] = finding.record;
    entry["op"] = finding.op;
    entry["line"] = finding.line;
    entry["check"] = finding.check;
    result.append(entry);
  }
  return result;
}

}  // namespace

void bind_health(py::module_& debug, Recorder& (*recorder)()) {
  debug.def(
      "health", [recorder](std::uint32_t live_ms) { return health(recorder(), live_ms); },
      py::arg("live_ms") = 0,
      "Gradients, weights and activations of the newest run: a dict of the numbers of steps that "
      "ran "
      "and that were sampled, and rows with the newest samples. live_ms: steps are sampled while they run "
      "for so long.");
  debug.def(
      "health_findings", [recorder](std::uint32_t steps) { return findings(recorder(), steps); },
      py::arg("steps") = 40,
      "The findings, a list of dicts, the most severe first. steps: so many, spread over the run, are "
      "recomputed before where they were not sampled.");
}

void forget_health() {
  reader_of_recorder().reset();
}

}  // namespace tapedeck::python
