#include "engine/python/tensor/symbolic.h"

#include "engine/graph/tracer.h"
#include "engine/python/errors.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/record/trace/source_location.h"
#include "engine/tensor/symbolic_error.h"

namespace tapedeck::python {
namespace {

graph::GraphTracer* graph_tracer() {
  return dynamic_cast<graph::GraphTracer*>(current_tracer());
}

/// Of the graph of a program of TensorFlow 1; "" for another tensor.
std::string name_in_program_graph(const Tensor& tensor) {
  const py::object object = checked(wrap(tensor));
  const auto name = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object.ptr(), "name"));
  if (name && PyUnicode_Check(name.ptr())) return py::cast<std::string>(name);
  PyErr_Clear();
  return {};
}

std::string name_of_symbolic(const Tensor& tensor) {
  const graph::GraphTracer* tracer = graph_tracer();
  if (!tracer || tracer->is_in_program_graph())
    if (const std::string name = name_in_program_graph(tensor); !name.empty()) return name;
  const std::string name = tracer ? tracer->name_of(tensor) : "";
  return name.empty() ? "of a trace that has ended" : name;
}

std::string form_of(const Tensor& tensor) {
  return "shape=" + shape_text(tensor) + " dtype=" + std::string(dtype_name(tensor.dtype()));
}

thread_local CreationRule* creation_rule = nullptr;

PyObject* assignment_hook = nullptr;

constexpr const char* what_to_do =
    "compute with ops (tf.cond, tf.while_loop, tf.where, tf.print), or call "
    "tf.config.run_functions_eagerly(True)";

}  // namespace

bool is_tracing() {
  return current_tracer() != nullptr;
}

bool is_in_program_graph() {
  const graph::GraphTracer* tracer = graph_tracer();
  return tracer && tracer->is_in_program_graph();
}

void set_assignment_hook(PyObject* hook) {
  Py_XINCREF(hook);
  Py_XSETREF(assignment_hook, hook);
}

PyObject* after_assignment(PyObject* variable) {
  const graph::GraphTracer* tracer = assignment_hook ? graph_tracer() : nullptr;
  if (tracer && tracer->is_program_graph()) [[unlikely]]
    return checked(PyObject_CallOneArg(assignment_hook, variable)).release().ptr();
  Py_INCREF(variable);
  return variable;
}

Tensor readable(const Tensor& tensor, const char* reader) {
  if (!tensor.is_symbolic()) [[likely]]
    return tensor;
  const graph::GraphTracer* tracer = graph_tracer();
  if (tracer)
    if (auto known = tracer->known_value(tensor)) return *known;
  const std::string name = tracer ? tracer->name_of(tensor) : "";
  const std::string in_graph =
      name.empty() || tracer->is_in_program_graph() ? name_in_program_graph(tensor) : "";
  if (!in_graph.empty())
    fail<SymbolicValueError>(
        reader, " needs a value, which the tensor '", in_graph, "' with ", form_of(tensor),
        " does not have: it belongs to a graph, and gets one each time a session runs it; ask for it "
        "with Session.run() or Tensor.eval()");
  if (name.empty())
    fail<SymbolicValueError>(reader, " needs a value, which a tensor with ", form_of(tensor),
                             " never has: it belongs to the trace of a graph function, which has ended; "
                             "return it from the function to use it outside");
  fail<SymbolicValueError>(
      reader, " needs a value, which the tensor '", name, "' with ", form_of(tensor),
      " does not have yet: it belongs to a graph function that is being traced, and gets "
      "one each time the function runs; ",
      what_to_do);
}

PyObject* open_shape_object(const Shape& shape, UnknownShape unknown) {
  const py::object known = checked(shape_object(shape));
  if (!unknown) return py::object(known).release().ptr();
  const py::type type = py::type::of(known);
  if (unknown.rank) return type(py::none()).release().ptr();
  py::list extents;
  for (int axis = 0; axis < shape.rank(); ++axis)
    extents.append(unknown.has(axis) ? py::object(py::none()) : py::object(py::int_(shape[axis])));
  return type(extents).release().ptr();
}

std::pair<Shape, UnknownShape> shape_given(PyObject* given) {
  const py::object none = checked(shape_object({}));
  const py::object shape = py::type::of(none)(py::handle(given));  // a TensorShape
  if (shape.attr("rank").is_none()) return {{}, {0, true}};
  Shape sample;
  UnknownShape unknown;
  for (const py::handle extent : shape) {
    if (extent.is_none()) unknown.axes |= std::uint32_t{1} << sample.rank();
    sample.push_back(extent.is_none() ? 1 : py::cast<std::int64_t>(extent));
  }
  return {sample, unknown};
}

void narrow_symbolic(const Tensor& tensor, PyObject* given) {
  const auto [shape, unknown] = shape_given(given);
  graph::GraphTracer* tracer = graph_tracer();
  if (!tracer)
    fail<InvalidArgumentError>("set_shape: a tensor of shape ", shape_text(tensor),
                               " belongs to the trace of a graph function, which has ended");
  tracer->narrow(tensor, shape, unknown);
}

std::optional<std::int64_t> late_number(const Tensor& tensor, std::int64_t index) {
  graph::GraphTracer* tracer = graph_tracer();
  if (!tracer || (tensor.dtype() != DType::int32 && tensor.dtype() != DType::int64) ||
      tracer->name_of(tensor).empty())
    return std::nullopt;
  return tracer->late_number(tensor, index);
}

bool has_known_value(const Tensor& tensor) {
  const graph::GraphTracer* tracer = graph_tracer();
  return tracer && tracer->known_value(tensor);
}

void check_readable(const Variable& variable, const char* reader) {
  if (!is_tracing()) [[likely]]
    return;
  fail<SymbolicValueError>(reader, " needs the value of ", variable.name(),
                           ", which a function that is being traced reads anew each time it runs; ",
                           what_to_do);
}

std::string symbolic_repr(const Tensor& tensor) {
  return "<tf.Tensor '" + name_of_symbolic(tensor) + "' " + form_of(tensor) + ">";
}

std::string symbolic_text(const Tensor& tensor) {
  return "Tensor(\"" + name_of_symbolic(tensor) + "\", shape=" + shape_text(tensor) +
         ", dtype=" + std::string(dtype_name(tensor.dtype())) + ")";
}

void keep_symbolic_error() {
  if (PyErr_Occurred() && PyErr_ExceptionMatches(symbolic_value_error())) throw ForeignException{};
}

CreationRule* set_creation_rule(CreationRule* rule) {
  return std::exchange(creation_rule, rule);
}

void check_creation() {
  if (!creation_rule || !is_tracing()) return;
  if (!creation_rule->allowed) {
    const graph::GraphTracer* tracer = graph_tracer();
    const std::uint32_t line = tracer ? location_of(tracer->call_site().location).line : 0;
    fail<InvalidArgumentError>(
        "tf.function only supports singleton tf.Variables created on the first call. Make sure the "
        "tf.Variable "
        "is only created once or created outside tf.function. See "
        "https://www.tensorflow.org/guide/function#creating_tfvariables for more information.",
        line == 0 ? std::string() : " (line " + std::to_string(line) + ")");
  }
  ++creation_rule->made;
}

Tensor initial_value_of(const Tensor& tensor) {
  if (!tensor.is_symbolic()) [[likely]]
    return tensor;
  graph::GraphTracer* tracer = graph_tracer();
  std::optional<Tensor> value;
  if (tracer) value = tracer->computed_now(tensor);
  if (!value && (!tracer || tracer->name_of(tensor).empty()))
    fail<InvalidArgumentError>(
        "Variable: its initial value belongs to the trace of a graph function, which has ended");
  if (!value)
    fail<InvalidArgumentError>("Variable: its initial value '", name_of_symbolic(tensor),
                               "' depends on an argument of the function that is being traced; a variable "
                               "that a function makes needs "
                               "a value that is known then");
  return *value;
}

}  // namespace tapedeck::python
