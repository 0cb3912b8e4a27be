// Symbolic tensors as Python sees them: those of a graph function that is being traced.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "engine/python/python.h"
#include "engine/tape/variable.h"
#include "engine/tensor/unknown_shape.h"

namespace tapedeck::python {

/// Whether ops of this thread become part of a graph.
bool is_tracing();

/// Whether what this thread calls becomes part of the graph of a program of TensorFlow 1, or of a branch or a
/// loop of it.
bool is_in_program_graph();
/// Called with a variable to which the graph of a program of TensorFlow 1 assigns: what its assign() returns
/// there. None for nothing. Guarded by Python's lock.
void set_assignment_hook(PyObject* hook);
/// What an assignment to the variable returns: the variable itself where there is no such graph.
PyObject* after_assignment(PyObject* variable);

/// The tensor; of a symbolic one its value, where that follows from shapes and constants (as tf.shape(x)[0]).
/// Otherwise a SymbolicValueError, which says that `reader` ("float()") needs a value.
Tensor readable(const Tensor& tensor, const char* reader);

/// A new TensorShape, with None where it is unknown.
PyObject* open_shape_object(const Shape& shape, UnknownShape unknown);
/// What a Python shape (a TensorShape, or what it is made of) says: a sample shape, and what is unknown of
/// it.
std::pair<Shape, UnknownShape> shape_given(PyObject* shape);
/// Has the tensor's shape known as far as the Python shape says it. Throws InvalidArgumentError for a shape
/// that it cannot have.
void narrow_symbolic(const Tensor& tensor, PyObject* shape);
/// A number that the tensor's element gives when the graph runs (GraphTracer::late_number). Nothing where the
/// tensor has no integers, or belongs to no trace of this thread.
std::optional<std::int64_t> late_number(const Tensor& tensor, std::int64_t index);

/// Whether readable() of the symbolic tensor gives a value.
bool has_known_value(const Tensor& tensor);

/// Refuses to give away what a variable holds while a function is traced: the graph would never see it
/// change.
void check_readable(const Variable& variable, const char* reader);

/// "<tf.Tensor 'matmul_7:0' shape=(2, 3) dtype=float32>", and "Tensor("matmul_7:0", shape=…, dtype=…)".
std::string symbolic_repr(const Tensor& tensor);
std::string symbolic_text(const Tensor& tensor);

/// Throws ForeignException where the Python exception that is set says that a tensor has no value yet: it
/// must not be replaced by one that says less.
void keep_symbolic_error();

/// Throws InvalidArgumentError where this thread traces a function that may make no variables now.
void check_creation();
/// Whether functions that this thread traces may make variables; counts what they made.
struct CreationRule {
  bool allowed = true;
  int made = 0;
};
/// Of this thread; nullptr where none is set. Returns the one before.
CreationRule* set_creation_rule(CreationRule* rule);

/// The value of a new variable. While a function is traced it is computed at once. Throws
/// InvalidArgumentError where it depends on an argument of the function.
Tensor initial_value_of(const Tensor& tensor);

}  // namespace tapedeck::python
