// The test row of an op: calls, and the expected results, computed without the engine.
#pragma once

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "engine/ops/core/op.h"
#include "engine/ops/core/run_op.h"
#include "tests/engine/ops/gradient_check.h"

namespace tapedeck::testing {

/// One call of an op. Real inputs are float64.
struct Call {
  Tensors inputs;
  std::vector<Attribute> attributes = {};
  /// Of the (first) result, for references that need it.
  Shape expected = {};
};

/// A plain array, for references.
struct Array {
  Shape shape;
  std::vector<double> values;

  Array(const Shape& extents, double value = 0.0)
      : shape(extents), values(static_cast<std::size_t>(element_count(extents)), value) {}
  explicit Array(const Tensor& tensor) : shape(tensor.shape()), values(tensor.to_vector()) {}

  std::size_t position(const std::vector<std::int64_t>& index) const {
    std::int64_t at = 0;
    for (int axis = 0; axis < shape.rank(); ++axis)
      at = at * shape[axis] + index[static_cast<std::size_t>(axis)];
    return static_cast<std::size_t>(at);
  }
  double& operator()(const std::vector<std::int64_t>& index) { return values[position(index)]; }
  double operator()(const std::vector<std::int64_t>& index) const { return values[position(index)]; }
  /// Element of the array broadcast to a shape that ends in `index`.
  double broadcast(const std::vector<std::int64_t>& index) const {
    std::vector<std::int64_t> own;
    const std::size_t added = index.size() - static_cast<std::size_t>(shape.rank());
    for (int axis = 0; axis < shape.rank(); ++axis)
      own.push_back(shape[axis] == 1 ? 0 : index[added + static_cast<std::size_t>(axis)]);
    return (*this)(own);
  }
};

/// Calls `f(index)` for every index of `shape`, in row-major order.
template <class F>
void for_each_index(const Shape& shape, F&& f) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t n = element_count(shape); n > 0; --n) {
    f(index);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < shape[axis]) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
  }
}

using Arrays = std::vector<Array>;
using MakeCall = std::function<Call(Random&)>;
using Reference = std::function<Arrays(const Call&)>;

struct Row {
  std::string op;
  std::vector<MakeCall> calls;
  Reference reference;
  double tolerance = 1e-13;
  /// Results that do not depend only on the inputs have no reference: then the reference is empty, and this
  /// names the separate test.
  std::string tested_in = {};
  /// For gradients: transforms the variables before the op sees them, if it reads only a part of its inputs
  /// (the lower triangle) or needs special inputs (symmetric).
  std::function<Tensors(std::span<const Tensor>)> prepare = {};
  /// For a gradient of a distribution instead of the values: the test that checks it.
  std::string gradients_tested_in = {};
  /// Real inputs that are constants for gradients: orders.
  std::set<std::size_t> constants = {};
  /// For gradients at random shapes: makes the first input if values between those of the calls are not
  /// valid.
  std::function<Tensor(Random&, const Shape&)> first_input = {};
  /// As `prepare`, if it depends on the call: an input that is another op's result from the others.
  std::function<Tensors(std::span<const Tensor>, const Call&)> prepare_call = {};
};
using Rows = std::vector<Row>;

inline Tensor integers(const std::vector<std::int64_t>& values, const Shape& shape) {
  return Tensor::from_values<std::int64_t>(values, shape);
}
inline Tensor booleans(const std::vector<int>& values, const Shape& shape) {
  Tensor tensor = Tensor::allocate(DType::bool_, shape);
  for (std::size_t i = 0; i < values.size(); ++i) tensor.writable_data<bool>()[i] = values[i] != 0;
  return tensor;
}
inline Attribute list(std::vector<std::int64_t> values) {
  return values;
}
inline Attribute none() {
  return std::monostate{};
}

/// All inputs except bool and integers are wanted.
inline Tensors run_call(const OpDef& op, const Call& call) {
  return run_op(op, span_of(call.inputs), Attributes(call.attributes));
}

}  // namespace tapedeck::testing
