#include "engine/python/modules/traced_names.h"

#include <algorithm>
#include <map>

#include "engine/graph/run_log.h"
#include "engine/python/inspector.h"
#include "engine/python/source_lines.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::python {
namespace {

using graph::NamedValue;
using graph::Names;
using graph::NamesFrame;

constexpr std::size_t most_names = 200;  // of a function
constexpr std::size_t most_items = 16;   // of a list
constexpr int deepest_list = 3;
constexpr Py_ssize_t longest_text = 200;
constexpr std::size_t small_constant = std::size_t{64} << 10;  // bytes

thread_local PyFrameObject* first_frame = nullptr;  ///< what traces; the function's frames are deeper
/// The frames of this thread's last capture, the outermost first: most nodes find the same names again.
thread_local std::vector<Names> captured_before;

NamedValue named_value_of(std::string name, PyObject* value, int depth);

std::string repr_of(PyObject* value) {
  const auto text = py::reinterpret_steal<py::object>(PyObject_Repr(value));
  Py_ssize_t size = 0;
  const char* bytes = text ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
  if (bytes) return std::string(bytes, static_cast<std::size_t>(size));
  PyErr_Clear();
  return {};
}

/// Of Python's own types, whose repr calls no code of the user's.
bool is_plain_value(PyObject* value) {
  if (value == Py_None || PyBool_Check(value) || PyFloat_CheckExact(value) || PyComplex_CheckExact(value))
    return true;
  if (PyLong_CheckExact(value)) return _PyLong_NumBits(value) <= 256;
  if (PyUnicode_CheckExact(value)) return PyUnicode_GET_LENGTH(value) <= longest_text;
  return PyBytes_CheckExact(value) && PyBytes_GET_SIZE(value) <= longest_text;
}

void add_items(NamedValue& to, PyObject* value, int depth) {
  to.kind = NamedValue::Kind::items;
  if (PyDict_CheckExact(value)) {
    PyObject *key = nullptr, *item = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item);)
      to.items.push_back(
          named_value_of("[" + (is_plain_value(key) ? repr_of(key) : "…") + "]", item, depth + 1));
    return;
  }
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
  for (Py_ssize_t i = 0; i < size; ++i)
    to.items.push_back(
        named_value_of("[" + std::to_string(i) + "]", PySequence_Fast_GET_ITEM(value, i), depth + 1));
}

NamedValue named_value_of(std::string name, PyObject* value, int depth) {
  NamedValue result;
  result.name = std::move(name);
  result.type = Py_TYPE(value)->tp_name;
  if (const std::size_t dot = result.type.rfind('.'); dot != std::string::npos) result.type.erase(0, dot + 1);
  if (is_tensor(value)) {
    const Tensor& tensor = tensor_of(value);
    result.kind = NamedValue::Kind::tensor;
    result.symbolic = tensor.is_symbolic();
    result.tensor = tensor.id();
    if (!result.symbolic && tensor.bytes() <= small_constant) result.held = tensor;
  } else if (is_variable(value)) {
    result.kind = NamedValue::Kind::variable;
    const Tensor now = variable_of(value).peek();
    result.tensor = now ? now.id() : 0;
  } else if (is_plain_value(value)) {
    result.text = repr_of(value);
  } else if (depth < deepest_list &&
             (PyList_CheckExact(value) || PyTuple_CheckExact(value) || PyDict_CheckExact(value))) {
    const auto size = static_cast<std::size_t>(PyObject_Size(value));
    if (size <= most_items)
      add_items(result, value, depth);
    else
      result.text = std::to_string(size) + " items";
  }
  return result;
}

bool is_hidden(const std::string& name) {
  return name.empty() || name[0] == '.' || name.starts_with("ag__");
}

std::string text_of_name(PyObject* text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &size) : nullptr;
  if (!bytes) PyErr_Clear();
  return bytes ? std::string(bytes, static_cast<std::size_t>(size)) : std::string();
}

bool has_inside(PyCodeObject* around, PyCodeObject* code) {
  const Py_ssize_t count = PyTuple_GET_SIZE(around->co_consts);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* one = PyTuple_GET_ITEM(around->co_consts, i);
    if (!PyCode_Check(one)) continue;
    if (one == reinterpret_cast<PyObject*>(code)) return true;
    if (has_inside(reinterpret_cast<PyCodeObject*>(one), code)) return true;
  }
  return false;
}

std::map<std::pair<PyCodeObject*, PyCodeObject*>, bool>& known_parts() {
  static auto* known = new std::map<std::pair<PyCodeObject*, PyCodeObject*>, bool>;
  return *known;
}

/// Whether the code is a part of that function, as the program has it: the function of a branch's side that
/// AutoGraph made, or a comprehension. Both codes are kept by source_lines.h.
bool is_part_of(PyCodeObject* code, PyCodeObject* function) {
  const auto [found, is_new] = known_parts().try_emplace({function, code}, false);
  if (!is_new) return found->second;
  const std::string name = text_of_name(code->co_name);
  const bool comprehends =
      name == "<listcomp>" || name == "<genexpr>" || name == "<dictcomp>" || name == "<setcomp>";
  const bool same = PyUnicode_Compare(qualified_name(code), qualified_name(function)) == 0;
  return found->second = (comprehends || same) && has_inside(function, code);
}

void put_name(std::vector<NamedValue>& values, NamedValue value) {
  for (NamedValue& one : values)
    if (one.name == value.name) {
      one = std::move(value);
      return;
    }
  if (values.size() < most_names) values.push_back(std::move(value));
}

void add_unassigned(std::vector<NamedValue>& values, PyObject* names) {
  const auto list = py::reinterpret_steal<py::object>(names);
  if (!list) return PyErr_Clear();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list.ptr()); ++i) {
    NamedValue value;
    value.name = text_of_name(PyTuple_GET_ITEM(list.ptr(), i));
    value.kind = NamedValue::Kind::unassigned;
    const bool is_there =
        std::ranges::any_of(values, [&](const NamedValue& one) { return one.name == value.name; });
    if (!is_hidden(value.name) && !is_there) put_name(values, std::move(value));
  }
}

void add_names(std::vector<NamedValue>& values, PyFrameObject* frame) {
  const py::dict locals = frame_locals(py::handle(reinterpret_cast<PyObject*>(frame)));
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(locals.ptr(), &at, &key, &value);) {
    std::string name = text_of_name(key);
    if (!is_hidden(name)) put_name(values, named_value_of(std::move(name), value, 0));
  }
}

struct UserFrame {
  py::object frame;
  PyCodeObject* code = nullptr;
  PyFrameObject* raw() const { return reinterpret_cast<PyFrameObject*>(frame.ptr()); }
};

/// Of functions of the user's, the outermost first.
std::vector<UserFrame> frames_of_trace() {
  std::vector<UserFrame> frames;
  auto frame = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame && frame.ptr() != reinterpret_cast<PyObject*>(first_frame)) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    PyCodeObject* code = PyFrame_GetCode(raw);
    Py_DECREF(code);  // the frame holds it
    auto next = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
    if ((code->co_flags & CO_OPTIMIZED) != 0 && is_users(code)) frames.push_back({std::move(frame), code});
    frame = std::move(next);
  }
  std::ranges::reverse(frames);
  return frames;
}

Names names_of(const std::vector<UserFrame>& frames, std::size_t first, std::size_t end,
               const Names& around) {
  auto made = std::make_shared<NamesFrame>();
  made->around = around;
  made->function = text_of_name(qualified_name(frames[first].code));
  if (const std::size_t inner = made->function.rfind("<locals>."); inner != std::string::npos)
    made->function.erase(0, inner + std::string_view("<locals>.").size());
  PyFrameObject* innermost = frames[end - 1].raw();
  made->location = location_in_code(frames[end - 1].code, PyFrame_GetLasti(innermost));
  for (std::size_t i = first; i < end; ++i) add_names(made->values, frames[i].raw());
  add_unassigned(made->values, PyCode_GetVarnames(frames[first].code));
  add_unassigned(made->values, PyCode_GetCellvars(frames[first].code));
  return made;
}

Names capture_frame_names() {
  if (!first_frame || !PyGILState_Check()) return nullptr;
  const py::error_scope raised_before;
  Names names;
  try {
    const std::vector<UserFrame> frames = frames_of_trace();
    std::size_t depth = 0;
    for (std::size_t first = 0; first < frames.size(); ++depth) {
      std::size_t end = first + 1;
      while (end < frames.size() && is_part_of(frames[end].code, frames[first].code)) ++end;
      Names made = names_of(frames, first, end, names);
      if (captured_before.size() <= depth) captured_before.resize(depth + 1);
      Names& before = captured_before[depth];
      const bool same = before && before->around == made->around && before->function == made->function &&
                        before->location == made->location && before->values == made->values;
      if (!same) before = std::move(made);
      names = before;
      first = end;
    }
    captured_before.resize(depth);
  } catch (py::error_already_set&) {  // names are a help: the trace goes on
    return nullptr;
  }
  return names;
}

py::tuple value_object(const NamedValue& value) {
  constexpr const char* kinds[] = {"tensor", "variable", "host", "items", "unassigned"};
  py::list items;
  for (const NamedValue& item : value.items) items.append(value_object(item));
  const py::object held =
      value.held ? py::reinterpret_steal<py::object>(wrap(value.held)) : py::object(py::none());
  return py::make_tuple(value.name, kinds[static_cast<std::size_t>(value.kind)], value.tensor, value.type,
                        value.text, items, held);
}

}  // namespace

TracedFramesScope::TracedFramesScope() : before_(first_frame) {
  first_frame = PyThreadState_GetFrame(PyThreadState_Get());
}
TracedFramesScope::~TracedFramesScope() {
  Py_XDECREF(reinterpret_cast<PyObject*>(first_frame));
  first_frame = before_;
  captured_before.clear();
}

void start_capturing_names() {
  graph::set_capture_names(&capture_frame_names);
}

void stop_capturing_names() {
  graph::set_capture_names(nullptr);
  graph::forget_runs();
  known_parts().clear();
}

py::list traced_frames(std::uint64_t record, std::uint16_t thread, bool running) {
  py::list list;
  const std::optional<Names> names = graph::names_at(record, thread, running);
  if (!names) return list;
  for (const NamesFrame* frame = names->get(); frame; frame = frame->around.get()) {
    const SourceLocation place = location_of(frame->location);
    py::list values;
    for (const NamedValue& value : frame->values) values.append(value_object(value));
    list.append(py::make_tuple(frame->function, place.cell, place.file, place.line, values));
  }
  return list;
}

}  // namespace tapedeck::python
