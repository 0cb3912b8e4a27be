#include "engine/python/modules/checkpoint_module.h"

#include <pybind11/stl.h>

#include <memory>

#include "engine/data/data_error.h"
#include "engine/data/safetensors.h"
#include "engine/python/errors.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::python {

namespace {

using data::SafetensorsFile;

/// Names of files are bytes, which need not be UTF-8.
py::object fs_text(const std::string& text) {
  return checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

/// Classes that the package defines, so that the engine has none of their names.
void translate_file_errors() {
  py::register_exception_translator([](std::exception_ptr error) {
    const auto raise = [](const char* name, const std::exception& cause) {
      const py::object type = py::module_::import("tapedeck.errors").attr(name);
      PyErr_SetObject(type.ptr(), fs_text(cause.what()).ptr());
    };
    try {
      if (error) std::rethrow_exception(error);
    } catch (const data::DataLossError& cause) {
      raise("DataLossError", cause);
    } catch (const data::PermissionDeniedError& cause) {
      raise("PermissionDeniedError", cause);
    }
  });
}

/// As the file system has it: bytes that are not UTF-8 too.
std::string path_of(const py::handle path) {
  PyObject* bytes = nullptr;
  if (!PyUnicode_FSConverter(path.ptr(), &bytes)) throw py::error_already_set();
  return py::reinterpret_steal<py::bytes>(bytes);
}

std::string text_of(const py::handle text, const char* what) {
  Py_ssize_t size = 0;
  const char* letters = PyUnicode_Check(text.ptr()) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
  if (letters) return {letters, static_cast<std::size_t>(size)};
  PyErr_Clear();
  fail<InvalidArgumentError>("write_safetensors: ", what, " is ", short_repr(text.ptr()),
                             "; needs a string in UTF-8");
}

data::Metadata metadata_of(const py::dict& given) {
  data::Metadata metadata;
  for (const auto& [key, value] : given)
    metadata[text_of(key, "a key of metadata")] = text_of(value, "a value of metadata");
  return metadata;
}

void write(const py::handle path, const py::dict& given, const py::dict& metadata_given) {
  std::vector<data::NamedTensor> tensors;
  for (const auto& [name, value] : given) {
    if (!is_tensor_like(value.ptr()))
      fail<TypeMismatchError>("write_safetensors: ", short_repr(name.ptr()), " is ", short_repr(value.ptr()),
                              "; needs a tensor or a variable");
    // peek: no tape watches what is saved.
    tensors.push_back({text_of(name, "a tensor's name"),
                       is_tensor(value.ptr()) ? tensor_of(value.ptr()) : variable_of(value.ptr()).peek()});
  }
  const std::string place = path_of(path);
  const data::Metadata metadata = metadata_of(metadata_given);
  const HostUnlock unlock;
  data::write_safetensors(place, tensors, metadata);
}

void write_text(const py::handle path, const py::bytes& bytes) {
  const std::string place = path_of(path), text = bytes;
  const HostUnlock unlock;
  data::WholeFile file(place);
  file.write(text);
  file.commit();
}

std::unique_ptr<SafetensorsFile> open_file(const py::handle path) {
  const std::string place = path_of(path);
  const HostUnlock unlock;
  return std::make_unique<SafetensorsFile>(place);
}

py::object read(const SafetensorsFile& file, const std::string& name) {
  Tensor tensor;
  {
    const HostUnlock unlock;
    tensor = file.read(name);
  }
  announce_leaf(tensor);
  return checked(wrap(std::move(tensor)));
}

/// {name: (the dtype's name in the engine, or in the file where tensors do not have it; shape)}
py::dict tensors_of(const SafetensorsFile& file) {
  py::dict all;
  for (const data::StoredTensor& each : file.tensors()) {
    const auto dtype = data::dtype_of_safetensors_name(each.dtype);
    const std::string name(dtype ? dtype_name(*dtype) : std::string_view(each.dtype));
    all[fs_text(each.name)] = py::make_tuple(name, py::tuple(py::cast(each.shape)));
  }
  return all;
}

}  // namespace

void bind_checkpoint(py::module_& module) {
  translate_file_errors();
  module.def("write_safetensors", &write, py::arg("path"), py::arg("tensors"), py::arg("metadata"),
             "Writes {name: tensor or variable} and {text: text} to a file, which appears under the path "
             "when it is whole.");
  module.def("write_whole_file", &write_text, py::arg("path"), py::arg("bytes"),
             "Writes a file, which appears under the path when it is whole.");
  py::class_<SafetensorsFile>(module, "SafetensorsFile", "An open file in the safetensors format.")
      .def(py::init(&open_file), py::arg("path"))
      .def_property_readonly("tensors", &tensors_of, "{name: (dtype's name, shape)}, in the file's order.")
      .def_property_readonly("metadata", [](const SafetensorsFile& file) { return file.metadata(); })
      .def("read", &read, py::arg("name"), "A tensor of the file, read now.");
}

}  // namespace tapedeck::python
