// Python's operators on tensors and variables: each is an op of the registry.
#include <array>

#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"
#include "engine/python/arguments.h"
#include "engine/python/device_policy.h"
#include "engine/python/errors.h"
#include "engine/python/profile.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/symbolic.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tensor/narrow.h"

namespace tapedeck::python {

namespace {

enum Operator {
  add_,
  subtract_,
  multiply_,
  true_divide_,
  floor_divide_,
  modulo_,
  power_,
  matmul_,
  negative_,
  absolute_,
  and_,
  or_,
  xor_,
  not_,
  bits_and_,
  bits_or_,
  bits_xor_,
  bits_not_,
  left_shift_,
  right_shift_,
  equal_,
  not_equal_,
  less_,
  less_equal_,
  greater_,
  greater_equal_,
  operator_count
};
struct OperatorRow {
  const char* op;
  const char* symbol;
};
constexpr std::array<OperatorRow, operator_count> operator_rows = {{
    {"add", "+"},         {"subtract", "-"},       {"multiply", "*"},
    {"divide", "/"},      {"floordiv", "//"},      {"mod", "%"},
    {"pow", "**"},        {"matmul", "@"},         {"negative", "-"},
    {"abs", "abs"},       {"logical_and", "&"},    {"logical_or", "|"},
    {"logical_xor", "^"}, {"logical_not", "~"},    {"bitwise_and", "&"},
    {"bitwise_or", "|"},  {"bitwise_xor", "^"},    {"invert", "~"},
    {"left_shift", "<<"}, {"right_shift", ">>"},   {"equal", "=="},
    {"not_equal", "!="},  {"less", "<"},           {"less_equal", "<="},
    {"greater", ">"},     {"greater_equal", ">="},
}};
// An operator's op, with its attributes at their defaults.
struct OperatorOp {
  const OpDef* op = nullptr;
  Attributes attributes;
};
std::array<OperatorOp, operator_count> operator_ops;

void find_ops() {
  for (std::size_t i = 0; i < operator_count; ++i) {
    const OpDef* op = Registry::instance().find(operator_rows[i].op);
    if (!op)
      throw std::logic_error(std::string("the engine has no op ") + operator_rows[i].op +
                             ", which operator " + operator_rows[i].symbol + " needs");
    operator_ops[i] = {op, op->attributes.empty() ? Attributes() : named_attributes(*op, {})};
  }
}

PyObject* run(const OperatorOp& row, std::span<const Tensor> inputs) {
  return wrap(run_op1(*row.op, inputs, row.attributes));
}

/// With an operand that is not a tensor.
PyObject* binary_converted(Operator which, PyObject* a, PyObject* b) {
  const OperatorOp& row = operator_ops[which];
  return guarded([&]() -> PyObject* {
    // What is not a tensor value may still have a reflected operator of its own.
    PyObject* other = is_tensor_like(a) ? b : a;
    if (!is_tensor_like(other) && guess_of(other).kind == ValueKind::unsupported) {
      if (PyList_Check(other) || PyTuple_Check(other))
        to_tensor(other, {}, {operator_rows[which].op, nullptr});
      Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject* values[] = {a, b};
    Tensors inputs;
    convert_inputs(*row.op, values, inputs);
    return run(row, inputs);
  });
}

template <Operator which>
PyObject* binary(PyObject* a, PyObject* b) {
  const OperatorOp& row = operator_ops[which];
  return profiled(*row.op, [&] {
    if (!is_tensor(a) || !is_tensor(b)) return binary_converted(which, a, b);
    return guarded([&] {
      const Tensor inputs[] = {tensor_of(a), tensor_of(b)};
      PyObject* const values[] = {a, b};
      check_numbers(*row.op, values, inputs);
      return run(row, inputs);
    });
  });
}

template <Operator which>
PyObject* unary(PyObject* a) {
  return profiled(*operator_ops[which].op, [&] {
    return guarded([&] {
      const Tensor inputs[] = {tensor_like(a)};
      check_numbers(*operator_ops[which].op, &a, inputs);
      return run(operator_ops[which], inputs);
    });
  });
}

void require_no_real_numbers(PyObject* operand, const char* symbol) {
  if (is_tensor_like(operand) && is_floating(tensor_like(operand).dtype()))
    fail<TypeMismatchError>(symbol, ": a tensor of dtype ", dtype_name(tensor_like(operand).dtype()),
                            "; it needs bools or integers");
}

// Of bools the operators are logic, of integers they work on the bits.
template <Operator logical, Operator bits>
PyObject* logic(PyObject* a, PyObject* b) {
  return guarded([&] {
    bool is_bool = false;
    for (PyObject* operand : {a, b}) {
      require_no_real_numbers(operand, operator_rows[logical].symbol);
      is_bool = is_bool || (is_tensor_like(operand) && tensor_like(operand).dtype() == DType::bool_);
    }
    return is_bool ? binary<logical>(a, b) : binary<bits>(a, b);
  });
}

PyObject* invert(PyObject* a) {
  return guarded([&] {
    require_no_real_numbers(a, "~");
    return tensor_like(a).dtype() == DType::bool_ ? unary<not_>(a) : unary<bits_not_>(a);
  });
}

PyObject* divmod(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    const py::object quotient = checked(binary<floor_divide_>(a, b));
    if (quotient.is(py::handle(Py_NotImplemented))) Py_RETURN_NOTIMPLEMENTED;
    return PyTuple_Pack(2, quotient.ptr(), checked(binary<modulo_>(a, b)).ptr());
  });
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow() of tensors takes no modulus");
    return nullptr;
  }
  return binary<power_>(a, b);
}

PyObject* positive(PyObject* a) {
  return guarded([&] { return wrap(tensor_like(a)); });
}

// ---- the one element as a Python number ----

PyObject* number_of(const Tensor& any) {
  if (has_partial_support(any.dtype())) {
    const py::object value = checked(numpy_copy(ops::reshape(any, {})));
    return PyBytes_Check(value.ptr()) ? py::object(value).release().ptr()
                                      : PyObject_CallMethod(value.ptr(), "item", nullptr);
  }
  const Tensor tensor = widened(any);
  return visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T value = *tensor.data<T>();
    if constexpr (is_floating(dtype_of<T>())) return PyFloat_FromDouble(value);
    return PyLong_FromLongLong(static_cast<long long>(value));
  });
}

py::object element(PyObject* self, const char* what) {
  const Tensor tensor = readable(tensor_like(self), what);
  if (tensor.count() != 1)
    fail<TypeMismatchError>("a tensor of shape ", to_string(tensor.shape()), " has ", tensor.count(),
                            " elements; ", what, " needs one");
  leaving(tensor);
  if (tensor.device().kind == DeviceKind::cpu) return checked(number_of(tensor));
  const py::object copy = checked(numpy_copy(tensor));
  return checked(PyObject_CallMethod(copy.ptr(), "item", nullptr));
}

int truth(PyObject* self) {
  return guarded_or(-1, [&] {
    const Tensor tensor = readable(tensor_like(self), "bool()");
    if (tensor.count() != 1)
      fail<InvalidArgumentError>("the truth value of a tensor of shape ", to_string(tensor.shape()), " with ",
                                 tensor.count(),
                                 " elements is ambiguous; use tf.reduce_any or tf.reduce_all");
    if (tensor.device().kind == DeviceKind::cpu && !has_partial_support(tensor.dtype())) {
      leaving(tensor);
      return visit_dtype(compute_dtype(tensor.dtype()), [wide = widened(tensor)](auto tag) {
        using T = typename decltype(tag)::type;
        return *wide.template data<T>() != T{} ? 1 : 0;
      });
    }
    const py::object value = element(self, "bool()");
    return PyObject_IsTrue(value.ptr());
  });
}

PyObject* as_int(PyObject* self) {
  return guarded([&] { return PyNumber_Long(element(self, "int()").ptr()); });
}
PyObject* as_float(PyObject* self) {
  return guarded([&] { return PyNumber_Float(element(self, "float()").ptr()); });
}

PyObject* as_index(PyObject* self) {
  return guarded([&] {
    const Tensor tensor = tensor_like(self);
    if (!is_integer(tensor.dtype()) || tensor.rank() != 0)
      fail<TypeMismatchError>("only an integer scalar can be an index, not a tensor of dtype ",
                              dtype_name(tensor.dtype()), " and shape ", to_string(tensor.shape()));
    return element(self, "an index").release().ptr();
  });
}

// ---- comparisons ----

// == and != ask; other comparisons demand.
bool broadcastable(const Tensor& a, const Tensor& b) {
  if (unknown_of(a) || unknown_of(b)) return true;
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const std::int64_t x = a.dim(a.rank() - i), y = b.dim(b.rank() - i);
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

PyObject* compare_values(const OperatorOp& row, PyObject* a, PyObject* b, int operation) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor_like(b)) {
      const ValueKind kind = guess_of(b).kind;
      if (kind == ValueKind::unsupported) Py_RETURN_NOTIMPLEMENTED;
      // A number is not a string, which is not an error to ask for.
      if (kind == ValueKind::text && (operation == Py_EQ || operation == Py_NE) &&
          tensor_like(a).dtype() != DType::string)
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject* values[] = {a, b};
    Tensors inputs;
    convert_inputs(*row.op, values, inputs);
    if ((operation == Py_EQ || operation == Py_NE) && !broadcastable(inputs[0], inputs[1]))
      return wrap(
          to_tensor(operation == Py_NE ? Py_True : Py_False, DType::bool_, {row.op->name.c_str(), "y"}));
    return run(row, inputs);
  });
}

bool is_symbolic_tensor(PyObject* object) {
  return is_tensor(object) && tensor_of(object).is_symbolic();
}

bool is_same_symbolic(PyObject* a, PyObject* b) {
  return is_symbolic_tensor(a) && is_symbolic_tensor(b) && tensor_of(a).id() == tensor_of(b).id();
}

PyObject* compare(PyObject* a, PyObject* b, int operation) {
  static constexpr Operator of_operation[] = {less_,      less_equal_, equal_,
                                              not_equal_, greater_,    greater_equal_};
  const OperatorOp& row = operator_ops[of_operation[operation]];
  if (v1_behavior.identity_equality && (operation == Py_EQ || operation == Py_NE))
    return PyBool_FromLong((a == b || is_same_symbolic(a, b)) == (operation == Py_EQ));
  // Tensors of the graph of a program of TensorFlow 1 are keys of its feed_dicts.
  if ((operation == Py_EQ || operation == Py_NE) && (is_symbolic_tensor(a) || is_symbolic_tensor(b)) &&
      (!is_tracing() || is_in_program_graph()))
    return PyBool_FromLong(is_same_symbolic(a, b) == (operation == Py_EQ));
  return profiled(*row.op, [&] { return compare_values(row, a, b, operation); });
}

PyNumberMethods number_methods() {
  PyNumberMethods methods{};
  methods.nb_add = binary<add_>;
  methods.nb_subtract = binary<subtract_>;
  methods.nb_multiply = binary<multiply_>;
  methods.nb_true_divide = binary<true_divide_>;
  methods.nb_floor_divide = binary<floor_divide_>;
  methods.nb_remainder = binary<modulo_>;
  methods.nb_matrix_multiply = binary<matmul_>;
  methods.nb_divmod = divmod;
  methods.nb_and = logic<and_, bits_and_>;
  methods.nb_or = logic<or_, bits_or_>;
  methods.nb_xor = logic<xor_, bits_xor_>;
  methods.nb_lshift = binary<left_shift_>;
  methods.nb_rshift = binary<right_shift_>;
  methods.nb_power = power;
  methods.nb_negative = unary<negative_>;
  methods.nb_absolute = unary<absolute_>;
  methods.nb_invert = invert;
  methods.nb_positive = positive;
  methods.nb_bool = truth;
  methods.nb_int = as_int;
  methods.nb_float = as_float;
  methods.nb_index = as_index;
  return methods;
}

}  // namespace

void add_operators(PyTypeObject& type) {
  static PyNumberMethods methods = number_methods();
  find_ops();
  type.tp_as_number = &methods;
  type.tp_richcompare = compare;
}

}  // namespace tapedeck::python
