// Which values there are, and how often. The shape of the results depends on the values, so
// the shape rules read them.
#include <algorithm>
#include <unordered_map>

#include "engine/ops/checks.h"
#include "engine/ops/families.h"
#include "engine/tensor/narrow.h"

namespace tapedeck::ops {

// ---- unique_with_counts ----
namespace {

struct Distinct {
  std::vector<std::int64_t> first;   ///< where each value appeared first
  std::vector<std::int64_t> place;   ///< of each element among the values
  std::vector<std::int64_t> counts;  ///< how often each value appeared
};

/// NaN equals nothing, so each one is a value of its own; −0 equals 0.
Distinct distinct_values(const Tensor& any) {
  const Tensor x = contiguous(widened(any));
  Distinct distinct;
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* values = x.data<T>();
    std::unordered_map<T, std::int64_t> places;
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const auto next = static_cast<std::int64_t>(distinct.first.size());
      // Every NaN has the same hash and none is found again: each would be compared with all before it.
      const bool is_nan = values[i] != values[i];
      const std::int64_t place = is_nan ? next : places.try_emplace(values[i], next).first->second;
      if (place == next) {
        distinct.first.push_back(i);
        distinct.counts.push_back(0);
      }
      distinct.place.push_back(place);
      ++distinct.counts[static_cast<std::size_t>(place)];
    }
  });
  return distinct;
}

template <bool with_counts>
TensorSpecs unique_shape(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  if (x.rank() != 1)
    fail<InvalidArgumentError>(c.op.name, ": x has shape ", to_string(x.shape()), "; needs one axis");
  const DType dtype = index_dtype_of(c, 0);
  const auto count = static_cast<std::int64_t>(distinct_values(x).first.size());
  TensorSpecs specs = spec(x.dtype(), {count});
  specs.push_back({dtype, x.shape()});
  if (with_counts) specs.push_back({dtype, {count}});
  return specs;
}

// Found anew: between the shape rule and here the op may wait at the gate, and whoever shares the memory (a
// NumPy array) may write to it.
Tensors unique_forward(const OpContext& c) {
  const Tensor x = contiguous(c.inputs[0]);
  const Distinct distinct = distinct_values(x);
  const Shape distinct_shape{static_cast<std::int64_t>(distinct.first.size())};
  Tensors outputs = one(Tensor::allocate(x.dtype(), distinct_shape));
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::transform(distinct.first.begin(), distinct.first.end(), outputs[0].writable_data<T>(),
                   [&](std::int64_t i) { return x.data<T>()[i]; });
  });
  outputs.push_back(from_integers(distinct.place, c.outputs[1]));
  if (c.outputs.size() == 3)
    outputs.push_back(from_integers(distinct.counts, {c.outputs[2].dtype, distinct_shape}));
  return outputs;
}

template <bool with_counts>
OpDef unique_row(const std::string& name, const std::string& tuple_name, const std::string& returns) {
  std::vector<std::string> fields = {"y", "idx"};
  if (with_counts) fields.push_back("count");
  return {
      .name = name,
      .python_names = {name},
      .inputs = {{.name = "x"}},
      .attributes = {{.name = "out_idx", .kind = AttributeKind::dtype, .fallback = DType::int32}},
      .shape_rule = unique_shape<with_counts>,
      .forward = unique_forward,
      .vjp = nullptr,
      .vjp_formula = "none",
      .doc =
          "The values of x, each once, in the order of their first appearance.\n\n"
          "x: any dtype, one axis; out_idx: int32 or int64. NaN equals nothing, so each one counts for "
          "itself.\n"
          "Returns: " +
          returns +
          "\n"
          "Errors: InvalidArgumentError for another number of axes or another out_idx.",
      .results = {.fields = fields, .tuple_name = tuple_name},
  };
}

}  // namespace

TAPEDECK_OP(unique_op) = unique_row<false>(
    "unique", "Unique",
    "(y, idx): the values, and for each element of x its value's place, so that x = y[idx], of dtype "
    "out_idx.");
std::pair<Tensor, Tensor> unique(const Tensor& x, DType out_idx) {
  return run_op2(unique_op, x, {out_idx});
}

TAPEDECK_OP(unique_with_counts_op) = unique_row<true>(
    "unique_with_counts", "UniqueWithCounts",
    "(y, idx, count): the values; for each element of x its value's place, so that x = y[idx]; how often "
    "each value appeared. idx and count have dtype out_idx.");
Tensors unique_with_counts(const Tensor& x, DType out_idx) {
  return run_op(unique_with_counts_op, {&x, 1}, {out_idx});
}

void link_counting() {}

}  // namespace tapedeck::ops
