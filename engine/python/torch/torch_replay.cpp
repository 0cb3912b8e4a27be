#include "engine/python/torch/torch_replay.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <map>

#include "engine/ops/core/observer.h"
#include "engine/python/errors.h"
#include "engine/python/torch/torch_devices.h"
#include "engine/python/torch/torch_results.h"
#include "engine/python/torch/torch_tensors.h"
#include "engine/tensor/foreign_devices.h"

namespace tapedeck::python::torch {
namespace {

/// Beyond that a kind of op is tried at a later call. Until it has been tried, its results are held as
/// leaves, which costs more than the one trial: so the feature maps of a network for pictures are below.
constexpr std::size_t most_tried_bytes = 256 << 20;
constexpr std::uint8_t most_failed_tries = 4;

py::object torch_attribute(const char* name) {
  return checked(PyObject_GetAttrString(library()->module, name)).cast<py::object>();
}

py::tuple tuple_of(const Dims& dims) {
  py::tuple tuple(static_cast<std::size_t>(dims.rank()));
  for (int axis = 0; axis < dims.rank(); ++axis) tuple[static_cast<std::size_t>(axis)] = dims[axis];
  return tuple;
}

/// A torch.Tensor with a copy of the values, in the same layout: sums of another layout may round otherwise.
py::object torch_tensor(const Tensor& tensor) {
  PyObject* dtype = dtype_object(*library(), tensor.dtype());
  if (!dtype) fail<UnimplementedError>("PyTorch has no dtype ", dtype_name(tensor.dtype()));
  if (!tensor.storage()) fail<UnimplementedError>("an input has no value");
  if (is_foreign(tensor.device())) return torch_tensor_there(tensor);
  std::int64_t low = 0, high = 0;
  for (int axis = 0; axis < tensor.rank(); ++axis)
    (tensor.strides()[axis] < 0 ? low : high) += tensor.strides()[axis] * (tensor.dim(axis) - 1);
  const std::int64_t items = tensor.count() == 0 ? 0 : high - low + 1;
  const auto size = static_cast<std::int64_t>(item_size(tensor.dtype()));
  py::dict how;
  how["dtype"] = py::handle(dtype);
  how["device"] = "cpu";
  const py::object flat = torch_attribute("empty")(py::make_tuple(items), **how);
  if (items > 0) {
    const auto address =
        checked(PyObject_CallOneArg(library()->data_pointer, flat.ptr())).cast<std::uintptr_t>();
    std::memcpy(reinterpret_cast<void*>(address), tensor.raw() + low * size,
                static_cast<std::size_t>(items * size));
  }
  return torch_attribute("as_strided")(flat, tuple_of(tensor.shape()), tuple_of(tensor.strides()), -low);
}

py::object number_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::bool_) return py::bool_(*tensor.data<bool>());
  if (tensor.dtype() == DType::int64) return py::int_(*tensor.data<std::int64_t>());
  if (tensor.dtype() == DType::complex128) {
    const std::complex<double> number = *tensor.data<std::complex<double>>();
    return checked(PyComplex_FromDoubles(number.real(), number.imag()));
  }
  return py::float_(tensor.item());
}

std::string after_dot(const std::string& text) {
  const std::size_t dot = text.rfind('.');
  return dot == std::string::npos ? text : text.substr(dot + 1);
}

/// What was only kept as a text.
py::object from_text(const ForeignValue& argument, const std::string& text) {
  const std::string type = argument.type.substr(0, argument.type.find_first_of("?["));
  if (type == "str") return py::str(text);
  if (type == "Device") return torch_attribute("device")(text);
  if (type == "ScalarType" || type == "Layout" || type == "MemoryFormat")
    return torch_attribute(after_dot(text).c_str());
  if (type == "float" || type == "bool" || type == "int" || type == "SymInt" || type == "Scalar" ||
      type == "number" || type == "complex")
    return py::module_::import("ast").attr("literal_eval")(text);
  fail<UnimplementedError>("the argument ", argument.name, " of type ", argument.type, " was not kept");
}

py::object attribute_value(const ForeignValue& argument, const Attribute& attribute) {
  struct Reader {
    const ForeignValue& argument;
    py::object operator()(std::monostate) const { return py::none(); }
    py::object operator()(bool value) const { return py::bool_(value); }
    py::object operator()(std::int64_t value) const { return py::int_(value); }
    py::object operator()(double value) const { return py::float_(value); }
    py::object operator()(const std::string& value) const { return from_text(argument, value); }
    py::object operator()(DType value) const {
      PyObject* dtype = dtype_object(*library(), value);
      if (!dtype) fail<UnimplementedError>("PyTorch has no dtype ", dtype_name(value));
      return py::reinterpret_borrow<py::object>(dtype);
    }
    py::object operator()(const std::vector<std::int64_t>& values) const { return py::cast(values); }
  };
  return std::visit(Reader{argument}, attribute);
}

/// The arguments of a call, from a record's inputs and attributes.
class Arguments {
 public:
  /// `wanted`: inputs that shall require a gradient.
  Arguments(const ForeignOp& op, std::span<const Tensor> inputs, const Attributes& attributes,
            std::span<const bool> wanted = {})
      : op_(op), inputs_(inputs), attributes_(attributes), wanted_(wanted) {
    hidden_ = hidden_place(op);
    if (attributes.size() > hidden_) facts_ = foreign_facts(*op.row, attributes);
    ++hidden_;
    std::vector<py::object> values;
    std::size_t positional = 0;
    for (std::size_t i = 0; i < op.arguments.size(); ++i) {
      values.push_back(value(op.arguments[i], i));
      const bool given = op.arguments[i].is_tensor || !is_default(op.arguments[i]);
      if (given && !op.arguments[i].by_name) positional = i + 1;
      if (given && op.arguments[i].by_name) by_name[op.arguments[i].name.c_str()] = values.back();
    }
    for (std::size_t i = 0; i < positional; ++i) by_place.append(values[i]);
  }

  py::list by_place;
  py::dict by_name;
  std::vector<py::object> written;
  std::map<std::size_t, py::object> leaves;  ///< that require a gradient, by input

 private:
  bool is_default(const ForeignValue& argument) const {
    return argument.has_default &&
           attributes_[argument.place] == op_.row->attributes[argument.place].fallback;
  }

  py::object value(const ForeignValue& argument, std::size_t place) {
    if (!argument.is_tensor) {
      // A default is never passed on where its text alone is known.
      if (is_default(argument) && std::holds_alternative<std::string>(attributes_[argument.place]))
        return py::none();
      return attribute_value(argument, attributes_[argument.place]);
    }
    if (!argument.is_list) return one(argument, place);
    const std::int64_t length =
        attributes_.size() > hidden_ ? std::get<std::int64_t>(attributes_[hidden_++]) : std::int64_t{-1};
    if (length < 0) return py::none();
    py::list list;
    for (std::int64_t i = 0; i < length; ++i) list.append(one(argument, place));
    return list;
  }

  py::object one(const ForeignValue& argument, std::size_t place) {
    if (next_ >= inputs_.size()) fail<UnimplementedError>("the record lacks the argument ", argument.name);
    const Tensor& input = inputs_[next_++];
    if (!input) return py::none();
    if (ForeignFacts::is_number(facts_, place)) return number_of(input);
    py::object tensor = torch_tensor(input);
    if (next_ <= wanted_.size() && wanted_[next_ - 1]) {
      leaves[next_ - 1] = tensor.attr("requires_grad_")();
      if (argument.written) tensor = tensor.attr("clone")();  // PyTorch refuses writes into a leaf
    }
    if (argument.written) written.push_back(tensor);
    return tensor;
  }

  const ForeignOp& op_;
  std::span<const Tensor> inputs_;
  const Attributes& attributes_;
  const std::span<const bool> wanted_;
  std::size_t hidden_ = 0, next_ = 0;
  std::int64_t facts_ = 0;
};

/// Gradients are on or off on this thread while it lives.
class GradientMode {
 public:
  explicit GradientMode(bool on) : set_(py::module_::import("torch._C").attr("_set_grad_enabled")) {
    before_ = torch_attribute("is_grad_enabled")();
    set_(on);
  }
  ~GradientMode() {
    const py::error_scope raised;
    if (!PyObject_CallOneArg(set_.ptr(), before_.ptr())) PyErr_Clear();
  }
  GradientMode(const GradientMode&) = delete;

 private:
  py::object set_, before_;
};

/// PyTorch's generators are, after this, as they were: the program must not draw other numbers for an attempt
/// here. On the CPU only functions in C are called, in which no signal's handler runs.
class GeneratorStates {
 public:
  explicit GeneratorStates(std::span<const Tensor> tensors)
      : generator_(torch_attribute("default_generator")),
        before_(generator_.attr("get_state")()),
        there_(random_state_there(tensors)) {}
  ~GeneratorStates() {
    const py::error_scope raised;
    const auto set = py::reinterpret_steal<py::object>(PyObject_GetAttrString(generator_.ptr(), "set_state"));
    const auto done =
        py::reinterpret_steal<py::object>(set ? PyObject_CallOneArg(set.ptr(), before_.ptr()) : nullptr);
    if (!done) PyErr_Clear();
    if (there_.is_none()) return;
    const auto restored =
        py::reinterpret_steal<py::object>(PyObject_CallMethod(there_.ptr(), "restore", nullptr));
    if (!restored) PyErr_Clear();
  }
  GeneratorStates(const GeneratorStates&) = delete;

  bool has_changed() const {
    return !torch_attribute("equal")(before_, generator_.attr("get_state")()).cast<bool>() ||
           (!there_.is_none() && there_.attr("has_changed")().cast<bool>());
  }

 private:
  const py::object generator_, before_, there_;
};

/// Without values nothing can be compared: the kind stays unknown.
bool has_values(std::span<const Tensor> tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const Tensor& tensor) { return !tensor || tensor.storage(); });
}

bool is_same(const Tensor& left, const Tensor& right) {
  if (bool(left) != bool(right)) return false;
  if (!left) return true;
  if (left.dtype() != right.dtype() || left.shape() != right.shape() || !left.storage() || !right.storage())
    return false;
  if (left.device() != right.device()) return false;
  if (is_foreign(left.device())) return is_same_there(left, right);
  const Tensor a = left.make_contiguous(), b = right.make_contiguous();
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

/// Whether the call drew nothing: attention without dropout.
bool drew_nothing(const ForeignOp& op, const Attributes& attributes) {
  for (const ForeignValue& argument : op.arguments)
    if (!argument.is_tensor && argument.name == "dropout_p" && argument.place < attributes.size())
      return attributes[argument.place] == Attribute(0.0);
  return false;
}

const Row& repeatable_row(const ForeignOp& op, std::span<const Tensor> inputs, const Attributes& attributes) {
  const Row* row = row_of(op);
  if (!row) fail<UnimplementedError>(op.row->name, ": PyTorch has no such op here");
  if (row->random && drew_nothing(op, attributes)) return *row;
  if (row->random)
    fail<RandomOpError>(op.row->name,
                        ": draws random numbers, so its value can only be seen where it was kept");
  const bool elsewhere = std::any_of(inputs.begin(), inputs.end(),
                                     [](const Tensor& input) { return input && is_foreign(input.device()); });
  if (row->repeats[elsewhere] == Repeats::no)
    fail<UnimplementedError>(op.row->name,
                             ": is not reproducible, so its value can only be seen where it was kept");
  return *row;
}

int raise_for_program(void* exception) {
  const auto raised = py::reinterpret_steal<py::object>(static_cast<PyObject*>(exception));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
  return -1;
}

/// An interrupt, or an exit that a signal's handler asked for, is the program's: it is raised there when
/// Python goes on. Handlers run on the main thread, as pending calls do.
[[noreturn]] void fail_as(const py::error_already_set& error) {
  if (error.matches(PyExc_Exception)) fail<FailedPreconditionError>(error.what());
  PyObject* const kept = Py_NewRef(error.value().ptr());
  if (Py_AddPendingCall(&raise_for_program, kept) != 0) Py_DECREF(kept);  // others wait there already
  throw Interrupted();
}

/// Runs `work`, and makes errors of PyTorch's exceptions.
template <class Work>
auto with_errors(Work&& work) {
  try {
    return work();
  } catch (py::error_already_set& error) {
    fail_as(error);
  } catch (const ForeignException&) {
    const py::error_already_set error;
    fail_as(error);
  }
}

Tensors run_on_any_thread(const ForeignOp& op, const OpContext& context) {
  const py::gil_scoped_acquire locked;
  const Row& row = repeatable_row(op, context.inputs, context.attributes);
  return with_errors([&] { return run_row(row, context.inputs, context.attributes); });
}

/// By PyTorch's own derivative: the op runs on leaves, and autograd goes back from its results.
Tensors differentiate(const Row& row, const VjpContext& context) {
  const GradientMode on(true);
  const Arguments arguments(*row.op, context.inputs, context.attributes, context.wanted);
  const py::tuple by_place(arguments.by_place);
  const py::object returned = checked(PyObject_Call(row.callable, by_place.ptr(), arguments.by_name.ptr()));
  py::list results, cotangents, leaves;
  std::size_t place = 0;
  for_each_result(*row.op, returned.ptr(), [&](PyObject* value, const ForeignValue&) {
    const Tensor cotangent = place < context.cotangents.size() ? context.cotangents[place] : Tensor();
    ++place;
    if (!value || !cotangent) return;
    const auto result = py::reinterpret_borrow<py::object>(value);
    if (!result.attr("requires_grad").cast<bool>()) return;
    results.append(result);
    cotangents.append(torch_tensor(cotangent));
  });
  for (const auto& [unused, leaf] : arguments.leaves) leaves.append(leaf);
  Tensors gradients(context.inputs.size());
  if (results.empty() || leaves.empty()) return gradients;
  py::dict options;
  options["allow_unused"] = true;
  const py::tuple found = torch_attribute("autograd").attr("grad")(results, leaves, cotangents, **options);
  std::size_t next = 0;
  for (const auto& [input, unused] : arguments.leaves) {
    const py::object gradient = found[next++];
    if (!gradient.is_none()) gradients[input] = copy_of(gradient.ptr());
  }
  return gradients;
}

Tensors differentiate_on_any_thread(const ForeignOp& op, const VjpContext& context) {
  const QuietScope quiet;
  const py::gil_scoped_acquire locked;
  const Row& row = repeatable_row(op, context.inputs, context.attributes);
  return with_errors([&] { return differentiate(row, context); });
}

}  // namespace

Tensors run_row(const Row& row, std::span<const Tensor> inputs, const Attributes& attributes) {
  const GradientMode off(false);
  const Arguments arguments(*row.op, inputs, attributes);
  const py::tuple by_place(arguments.by_place);
  const py::object result = checked(PyObject_Call(row.callable, by_place.ptr(), arguments.by_name.ptr()));
  Tensors outputs;
  std::vector<PyObject*> seen;
  for_each_result(*row.op, result.ptr(), [&](PyObject* value, const ForeignValue&) {
    outputs.push_back(value ? copy_of(value) : Tensor());
    seen.push_back(value);
  });
  for (const py::object& tensor : arguments.written)
    if (std::find(seen.begin(), seen.end(), tensor.ptr()) == seen.end())
      outputs.push_back(copy_of(tensor.ptr()));
  return outputs;
}

void try_repetition(Row& row, Repeats& repeats, const Call& call, std::span<const Tensor> outputs) {
  if (!has_values(call.inputs) || !has_values(outputs)) return;
  std::size_t bytes = 0;
  for (const Tensor& input : call.inputs) bytes += input ? input.bytes() : 0;
  for (const Tensor& output : outputs) bytes += output ? output.bytes() : 0;
  if (bytes > most_tried_bytes) return;
  const py::error_scope raised_before;
  try {
    with_errors([&] {
      const GeneratorStates random(call.inputs);
      const Tensors again = run_row(row, call.inputs, call.attributes);
      bool same = again.size() == outputs.size() && !random.has_changed();
      for (std::size_t i = 0; same && i < again.size(); ++i) same = is_same(again[i], outputs[i]);
      repeats = same ? Repeats::yes : Repeats::no;
    });
  } catch (const Interrupted&) {
  } catch (const std::exception&) {
    // An argument that was not understood, or no memory, says nothing about the kind.
    if (++row.failed_tries == most_failed_tries) repeats = Repeats::no;
  }
}

void install_replay() {
  set_foreign_forward(&run_on_any_thread);
  set_foreign_gradients(&differentiate_on_any_thread);
}

}  // namespace tapedeck::python::torch
