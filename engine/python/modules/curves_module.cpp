#include "engine/python/modules/curves_module.h"

#include <pybind11/stl.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/ops/core/programs_work.h"

namespace tapedeck::python {
namespace {

bool add_histogram(Recorder* recorder, const std::string& name, double step, std::vector<double> limits,
                   std::vector<double> counts, std::uint64_t not_finite) {
  const std::size_t due = counts.empty() ? 0 : counts.size() + 1;
  if (limits.size() != due)
    throw py::value_error("add_histogram: " + std::to_string(limits.size()) + " limits for " +
                          std::to_string(counts.size()) + " counts; must be " + std::to_string(due));
  for (std::size_t i = 1; i < limits.size(); ++i)
    if (!(limits[i - 1] <= limits[i]) || !std::isfinite(limits[i] - limits[i - 1]))
      throw py::value_error("add_histogram: limits[" + std::to_string(i) + "] is " +
                            std::to_string(limits[i]) + " after " + std::to_string(limits[i - 1]) +
                            "; must rise, and be finite");
  if (!recorder || !is_programs_work()) return true;
  protocol::Picture picture;
  picture.name = name;
  picture.step = step;
  picture.limits = std::move(limits);
  picture.counts = std::move(counts);
  picture.not_finite = not_finite;
  return recorder->add_picture(std::move(picture));
}

bool add_images(Recorder* recorder, const std::string& name, double step, std::int64_t width,
                std::int64_t height, std::vector<std::string> pngs) {
  if (width < 1 || height < 1)
    throw py::value_error("add_images: width is " + std::to_string(width) + " and height " +
                          std::to_string(height) + "; must be at least 1");
  if (!recorder || !is_programs_work()) return true;
  protocol::Picture picture;
  picture.name = name;
  picture.step = step;
  picture.width = width;
  picture.height = height;
  picture.pngs = std::move(pngs);
  return recorder->add_picture(std::move(picture));
}

}  // namespace

void bind_curves(py::module_& debug, Recorder* (*recorder)()) {
  debug.def(
      "add_scalar",
      [recorder](const std::string& series, double step, double value, const std::string& x) {
        Recorder* here = recorder();
        if (here && is_programs_work()) here->add_scalar(series, step, value, x);
      },
      py::arg("series"), py::arg("step"), py::arg("value"), py::arg("x") = "step",
      "Adds a point to a curve of the notebook's plots, which the cell that runs has for itself. x: what the "
      "steps are, the name of the axis. Without a recorder it does nothing.");
  debug.def(
      "add_health",
      [recorder](const std::string& name, double value) {
        Recorder* here = recorder();
        if (here && is_programs_work() && !here->add_health(name, value))
          throw py::value_error("debug.add_health: the name is '" + name +
                                "'; it is GROUP/QUANTITY, such as 'L-BFGS/step length'");
      },
      py::arg("name"), py::arg("value"),
      "A number that an optimiser says of itself, for the panel Health: \"L-BFGS/step length\". ValueError "
      "for a name without a group. Without a recorder it does nothing.");
  debug.def(
      "restart_series",
      [recorder](const std::string& series) {
        Recorder* here = recorder();
        if (!here || !is_programs_work()) return;
        here->series().restart(series);
        here->pictures().restart(series);
      },
      py::arg("series"),
      "The points of the cell's curve so far are void, and its histograms and images of that name.");
  debug.def(
      "reopen_series",
      [recorder](const std::string& series, bool again) {
        Recorder* here = recorder();
        if (!here || !is_programs_work()) return;
        here->series().reopen(series, again);
        here->pictures().reopen(series, again);
      },
      py::arg("series"), py::arg("again") = true,
      "What draws the curve runs again: a point whose step lies behind all others goes on with them, any "
      "other makes them void. The same for histograms and images of that name. again False: no longer.");
  debug.def(
      "add_histogram",
      [recorder](const std::string& name, double step, std::vector<double> limits, std::vector<double> counts,
                 std::uint64_t not_finite) {
        return add_histogram(recorder(), name, step, std::move(limits), std::move(counts), not_finite);
      },
      py::arg("name"), py::arg("step"), py::arg("limits"), py::arg("counts"), py::arg("not_finite") = 0,
      "Adds a histogram to the notebook's plots: counts of bins, their rising limits, one more, and how "
      "many values are in no bin. False: it is too large to be kept. ValueError for limits that do not "
      "fit. Without a recorder it does nothing.");
  debug.def(
      "add_images",
      [recorder](const std::string& name, double step, std::int64_t width, std::int64_t height,
                 std::vector<std::string> pngs) {
        return add_images(recorder(), name, step, width, height, std::move(pngs));
      },
      py::arg("name"), py::arg("step"), py::arg("width"), py::arg("height"), py::arg("pngs"),
      "Adds images of one size, PNGs in base64, to the notebook's plots. False: they are too large to be "
      "kept. ValueError for a size below 1. Without a recorder it does nothing.");
}

}  // namespace tapedeck::python
