#include "engine/python/modules/lockstep_module.h"

#include <pybind11/stl.h>

#include <memory>

#include "engine/ops/core/floating.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/record/lockstep/lockstep.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::python {
namespace {

const char* kind_of(const LockstepEvent& event) {
  constexpr const char* names[] = {"op", "custom gradient", "playback", "vjp"};
  return names[static_cast<std::size_t>(event.kind)];
}

py::list tensors_of(const Tensors& tensors) {
  py::list list;
  for (const Tensor& tensor : tensors) list.append(checked(wrap(tensor)));
  return list;
}

py::dict event_object(const LockstepEvent& event) {
  const SourceLocation location = location_of(event.location);
  py::dict entry;
  entry["kind"] = kind_of(event);
  entry["name"] = event.op ? event.op->name : event.name;
  entry["op"] = event.number;
  entry["record"] = event.record;
  entry["cell"] = location.cell;
  entry["file"] = location.file;
  entry["line"] = location.line;
  entry["inputs"] = event.inputs_held ? py::object(tensors_of(event.inputs)) : py::object(py::none());
  entry["outputs"] = event.outputs_held ? py::object(tensors_of(event.outputs)) : py::object(py::none());
  py::list specs;
  for (const Digest& digest : event.digests) {
    py::dict statistics;
    statistics["dtype"] = std::string(dtype_name(digest.dtype));
    statistics["shape"] = py::cast(std::vector<std::int64_t>(digest.shape.begin(), digest.shape.end()));
    statistics["minimum"] = digest.minimum;
    statistics["maximum"] = digest.maximum;
    statistics["norm"] = digest.norm;
    statistics["not_finite"] = digest.not_finite;
    specs.append(statistics);
  }
  entry["statistics"] = specs;
  return entry;
}

py::dict values_object(const TensorDifference& values) {
  py::dict entry;
  entry["wrong"] = values.wrong;
  entry["index"] = values.index;
  entry["absolute"] = values.absolute;
  entry["relative"] = values.relative;
  entry["first"] = values.first;
  entry["second"] = values.second;
  return entry;
}

py::dict difference_object(const LockstepDifference& difference) {
  constexpr const char* reasons[] = {"value", "shape", "sequence", "failure", "longer", "shorter"};
  py::dict entry;
  entry["reason"] = reasons[static_cast<std::size_t>(difference.reason)];
  entry["first"] = event_object(difference.first);
  entry["second"] = event_object(difference.second);
  entry["output"] = difference.output;
  entry["values"] = values_object(difference.values);
  entry["rtol"] = difference.tolerance.rtol;
  entry["atol"] = difference.tolerance.atol;
  entry["share"] = difference.tolerance.share;
  entry["statistics_only"] = difference.statistics_only;
  entry["inputs_apart"] = difference.inputs_apart;
  return entry;
}

py::dict finish(bool complete) {
  const LockstepReport report = Lockstep::instance().finish(complete);
  py::dict entry;
  entry["ops"] = report.ops;
  entry["statistics_only"] = report.statistics_only;
  entry["held_bytes"] = report.held_bytes;
  entry["largest"] = report.largest;
  entry["where"] = values_object(report.where);
  entry["first"] = event_object(report.first);
  entry["second"] = event_object(report.second);
  entry["output"] = report.output;
  entry["difference"] =
      report.difference ? py::object(difference_object(*report.difference)) : py::object(py::none());
  return entry;
}

/// The dtype in which this thread computes what is of floating point.
thread_local std::unique_ptr<FloatingScope> floating_here;

void open_floating(const py::handle dtype) {
  floating_here.reset();
  floating_here = std::make_unique<FloatingScope>(to_dtype(dtype.ptr(), {"lockstep", "dtype"}));
}

}  // namespace

void bind_lockstep(py::module_& module) {
  py::module_ lockstep = module.def_submodule("lockstep", "What tf.debugging.lockstep is made of.");
  lockstep.def(
      "start",
      [](std::optional<double> rtol, std::optional<double> atol, bool loose, const py::handle narrowest,
         std::uint64_t limit_bytes) {
        Lockstep::instance().start(
            {rtol, atol, loose, to_dtype(narrowest.ptr(), {"lockstep", "dtype"}), limit_bytes});
      },
      py::arg("rtol"), py::arg("atol"), py::arg("loose"), py::arg("narrowest"), py::arg("limit_bytes"));
  lockstep.def("start_again", [] { Lockstep::instance().start_again(); });
  lockstep.def("pause", [] { Lockstep::instance().pause(); });
  lockstep.def("second_run", [] { Lockstep::instance().second_run(); });
  lockstep.def("runs", [] { return Lockstep::instance().runs(); });
  lockstep.def("finish", &finish, py::arg("complete"));
  lockstep.def("open_floating", &open_floating, py::arg("dtype"));
  lockstep.def("close_floating", [] { floating_here.reset(); });
}

}  // namespace tapedeck::python
