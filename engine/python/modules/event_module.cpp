#include "engine/python/modules/event_module.h"

#include <pybind11/stl.h>

#include <chrono>

#include "engine/data/event_file.h"
#include "engine/data/event_message.h"
#include "engine/data/image_codec.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/programs_work.h"
#include "engine/python/tensor/convert.h"

namespace tapedeck::python {

namespace {

Tensor event_tensor(const py::handle value, const char* argument) {
  const DefaultDeviceScope on_cpu(Device{});
  return to_tensor(value.ptr(), {}, {"summary", argument}).on_host();
}

double wall_time(const std::optional<double>& given) {
  if (given) return *given;
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Code that the debugger runs at a stop writes nothing into the program's files.
void add(data::EventFile& file, std::string event) {
  if (!is_programs_work()) return;
  const py::gil_scoped_release unlocked;
  file.add(std::move(event));
}

std::unique_ptr<data::EventFile> open_event_file(const std::string& directory, std::size_t most_waiting,
                                                 std::int64_t flush_millis, std::string suffix,
                                                 bool make_parents) {
  const py::gil_scoped_release unlocked;
  return std::make_unique<data::EventFile>(
      directory, data::EventFileOptions{most_waiting, std::chrono::milliseconds(flush_millis),
                                        std::move(suffix), make_parents});
}

void bind_file(py::module_& events) {
  py::class_<data::EventFile>(events, "EventFile",
                              "A file of TensorBoard's events, written by a thread of its own.")
      .def(py::init(&open_event_file), py::arg("directory"), py::arg("most_waiting"), py::arg("flush_millis"),
           py::arg("suffix"), py::arg("make_parents"))
      .def(
          "add_values",
          [](data::EventFile& file, std::int64_t step, const std::vector<py::bytes>& values,
             std::optional<double> time) {
            const std::vector<std::string> texts(values.begin(), values.end());
            add(file, data::summary_event(wall_time(time), step, texts));
          },
          py::arg("step"), py::arg("values"), py::arg("wall_time") = py::none(),
          "Adds an event of a summary of values: bytes that the functions of this module make.")
      .def(
          "add_message",
          [](data::EventFile& file, std::int64_t step, int field, const std::string& message) {
            add(file, data::event_of(wall_time({}), step, field, message));
          },
          py::arg("step"), py::arg("field"), py::arg("message"),
          "Adds an event of one message: field 4 is a graph, 5 a whole summary, 7 a session's state.")
      .def("add_event", &add, py::arg("event"), "Adds the bytes of an event.")
      .def("flush", &data::EventFile::flush, py::call_guard<py::gil_scoped_release>(),
           "Returns when all events are in the file.")
      .def("close", &data::EventFile::close, py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("closed", &data::EventFile::closed)
      .def_property_readonly("path", &data::EventFile::path);
}

}  // namespace

void bind_events(py::module_& module) {
  py::module_ events = module.def_submodule("events", "TensorBoard's events, as bytes and in files.");
  bind_file(events);
  events.def("scalar_value",
             [](const std::string& tag, float value) { return py::bytes(data::scalar_value(tag, value)); });
  events.def("histogram_value", [](const std::string& tag, const py::handle values) {
    return py::bytes(data::histogram_value(tag, data::histogram_of(event_tensor(values, "values"))));
  });
  events.def("image_value", [](const std::string& tag, std::int64_t height, std::int64_t width, int channels,
                               const std::string& png) {
    return py::bytes(data::image_value(tag, height, width, channels, png));
  });
  events.def("audio_value", [](const std::string& tag, float sample_rate, int channels, std::int64_t frames,
                               const std::string& wav) {
    return py::bytes(data::audio_value(tag, sample_rate, channels, frames, wav));
  });
  events.def("tensor_value",
             [](const std::string& tag, const std::string& tensor, const std::string& metadata) {
               return py::bytes(data::tensor_value(tag, tensor, metadata));
             });
  events.def("metadata", [](const std::string& plugin, const std::string& content,
                            const std::string& description, int data_class) {
    return py::bytes(data::SummaryMetadata{plugin, content, description, data_class}.message());
  });
  events.def("tensor_message", [](const py::handle value) {
    return py::bytes(data::tensor_message(event_tensor(value, "tensor")));
  });
  events.def("text_message", [](const std::vector<std::int64_t>& shape, const std::vector<py::bytes>& texts) {
    const std::vector<std::string> all(texts.begin(), texts.end());
    return py::bytes(data::text_message(shape, all));
  });
  events.def("encode_png", [](const py::handle image) {
    return py::bytes(data::encode_png(event_tensor(image, "image")));
  });
}

}  // namespace tapedeck::python
