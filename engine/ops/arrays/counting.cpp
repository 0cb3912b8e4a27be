// Distinct values and their counts.
#include <string_view>
#include <unordered_map>

#include "engine/ops/core/checks.h"
#include "engine/tensor/narrow.h"
#include "engine/tensor/strings.h"

namespace tapedeck::ops {

// ---- unique_with_counts ----
namespace {

/// A number for each string, equal for equal strings.
Tensor numbered(const Tensor& strings) {
  const std::vector<std::string_view> values = strings_of(strings);
  std::unordered_map<std::string_view, std::int64_t> numbers;
  Tensor out = Tensor::allocate(DType::int64, strings.shape());
  auto* target = out.writable_data<std::int64_t>();
  for (const std::string_view value : values)
    *target++ = numbers.try_emplace(value, std::ssize(numbers)).first->second;
  return out;
}

/// The same bits, equal for equal numbers.
Tensor as_int64(const Tensor& x) {
  return Tensor::view(x.storage(), DType::int64, x.shape(), x.strides(), x.offset());
}

kernels::Distinct distinct_values(const Tensor& any) {
  const Tensor x = contiguous(any.dtype() == DType::string   ? numbered(any)
                              : any.dtype() == DType::uint64 ? as_int64(any)
                                                             : widened(any));
  return backend().distinct_values(x.dtype(), x.raw(), x.count());
}

TensorSpecs unique_shape(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  if (x.rank() != 1)
    fail<InvalidArgumentError>(c.op.name, ": x has shape ", to_string(x.shape()), "; needs one axis");
  if (is_complex(x.dtype()))
    fail<TypeMismatchError>(c.op.name, ": x is ", dtype_name(x.dtype()), ", which it does not support");
  index_dtype_of(c, "out_idx");
  return {};
}

template <bool with_counts>
Tensors unique_forward(const OpContext& c) {
  const Tensor x = contiguous(c.inputs[0]);
  const DType index = index_dtype_of(c, "out_idx");
  const kernels::Distinct distinct = distinct_values(x);
  const Shape distinct_shape{static_cast<std::int64_t>(distinct.first.size())};
  Tensors outputs = one(Tensor::allocate(x.dtype(), distinct_shape));
  backend().gather_rows(x.raw(), 1, x.count(), distinct.first.data(), distinct_shape[0], item_size(x.dtype()),
                        outputs[0].writable_data<std::byte>());
  outputs.push_back(from_integers(distinct.place, {index, x.shape()}));
  if (with_counts) outputs.push_back(from_integers(distinct.counts, {index, distinct_shape}));
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
      .shape_rule = unique_shape,
      .forward = unique_forward<with_counts>,
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
      .takes_narrow = true,
      .results = {.fields = fields, .tuple_name = tuple_name},
      .gpu_kernel = false,
      .shape_of_values = true,
  };
}

}  // namespace

TAPEDECK_OP(unique_op) = unique_row<false>(
    "unique", "Unique",
    "(y, idx): the values, and for each element of x its value's place, so that x = y[idx], of dtype "
    "out_idx.");

TAPEDECK_OP(unique_with_counts_op) = unique_row<true>(
    "unique_with_counts", "UniqueWithCounts",
    "(y, idx, count): the values; for each element of x its value's place, so that x = y[idx]; how often "
    "each value appeared. idx and count have dtype out_idx.");

}  // namespace tapedeck::ops
