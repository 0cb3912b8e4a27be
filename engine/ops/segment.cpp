// Slices joined by number: sums, products and extremes of those that share one.
#include "engine/cpu/segment.h"

#include <algorithm>

#include "engine/ops/checks.h"
#include "engine/ops/families.h"

namespace tapedeck::ops {
namespace {

using cpu::Segment;

TensorSpecs segment_shape(const OpContext& c) {
  require_kind(c, 0, Kind::numeric);
  require_kind(c, 1, Kind::integer);
  const Shape& data = c.inputs[0].shape();
  const Shape& ids = c.inputs[1].shape();
  const std::int64_t segments = integer_of(c, 0);
  if (segments < 0) fail<InvalidArgumentError>(c.op.name, ": num_segments is ", segments);
  bool fits = ids.rank() <= data.rank();
  for (int i = 0; fits && i < ids.rank(); ++i) fits = ids[i] == data[i];
  if (!fits)
    fail<InvalidArgumentError>(c.op.name, ": segment_ids ", to_string(ids), " is no beginning of data ",
                               to_string(data));
  Shape shape{segments};
  for (int i = ids.rank(); i < data.rank(); ++i) shape.push_back(data[i]);
  return spec(c.inputs[0].dtype(), shape);
}

/// Numbers below 0 leave their slice out, as in TensorFlow.
std::vector<std::int64_t> segment_numbers(const OpContext& c) {
  const std::int64_t count = integer_of(c, 0);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(c.inputs[1].count()));
  const Tensor ids = contiguous(c.inputs[1]);
  visit_dtype(ids.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::transform(ids.data<T>(), ids.data<T>() + ids.count(), numbers.begin(),
                   [](T id) { return static_cast<std::int64_t>(id); });
  });
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] >= count)
      fail<OutOfRangeError>(c.op.name, ": segment_ids[", i, "] is ", numbers[i],
                            "; must be below num_segments, ", count);
  return numbers;
}

template <Segment op>
Tensors segment_forward(const OpContext& c) {
  const std::vector<std::int64_t> segments = segment_numbers(c);
  Tensor out = allocate_output(c);
  cpu::segment_neutral(op, out.dtype(), out.writable_data<std::byte>(), out.count());
  const Tensor data = contiguous(c.inputs[0]);
  const auto rows = static_cast<std::int64_t>(segments.size());
  if (data.count() > 0)
    cpu::segment_rows(op, data.dtype(), data.raw(), segments.data(), rows, data.count() / rows,
                      out.writable_data<std::byte>());
  return one(std::move(out));
}

/// For every slice of data the value of its segment; 0 where the slice was left out.
Tensor of_segment(const VjpContext& c, const Tensor& by_segment) {
  const Tensor& ids = c.inputs[1];
  const Tensor zero = number(0.0, ids.dtype());
  const Tensor values = gather(by_segment, maximum(ids, zero));
  Shape shape = ids.shape();
  while (shape.rank() < values.rank()) shape.push_back(1);
  return where(reshape(greater_equal(ids, zero), shape), values, number(0.0, values.dtype()));
}

std::int64_t segment_count(const VjpContext& c) {
  return integer_of({c.op, c.inputs, c.attributes, {}}, 0);
}

/// Nothing to differentiate, and no segment that `gather` could read.
bool nothing_to_do(const VjpContext& c) {
  return !c.wanted[0] || c.inputs[0].count() == 0 || segment_count(c) == 0;
}
Tensors nothing(const VjpContext& c) {
  Tensors gradients(2);
  if (c.wanted[0]) gradients[0] = zeros_like(c.inputs[0]);
  return gradients;
}

Tensors sum_vjp(const VjpContext& c) {
  if (nothing_to_do(c)) return nothing(c);
  return {of_segment(c, c.cotangents[0]), Tensor()};
}

/// The product of the factors beside each one that are 0 (of `beside` there are as many), as a function of
/// them, so that the gradient's own derivatives are right where factors are 0. Of more than three the
/// derivatives up to fourth order are 0 anyway. By Newton's identities, from sums of powers.
Tensor zero_factors_beside(const VjpContext& c, const Tensor& is_zero, const Tensor& beside) {
  const Tensor& x = c.inputs[0];
  const auto count_is = [&](int count) { return equal(beside, number(count, x.dtype())); };
  const Tensor factor = where(is_zero, x, number(0.0, x.dtype()));
  const int most = std::min(3, static_cast<int>(reduce_max(beside).item()));
  Tensor product = cast(count_is(0), x.dtype()), power = factor;
  std::vector<Tensor> symmetric = {number(1.0, x.dtype())}, sums;  // elementary polynomials, sums of powers
  for (int k = 1; k <= most; ++k) {
    sums.push_back(of_segment(c, unsorted_segment_sum(power, c.inputs[1], segment_count(c))) - power);
    power = power * factor;
    Tensor next = number(0.0, x.dtype());
    for (int i = 1; i <= k; ++i) {
      const Tensor term = symmetric[static_cast<std::size_t>(k - i)] * sums[static_cast<std::size_t>(i - 1)];
      next = i % 2 == 1 ? next + term : next - term;
    }
    symmetric.push_back(next * (1.0 / k));
    product = where(count_is(k), symmetric.back(), product);
  }
  return product;
}

Tensors prod_vjp(const VjpContext& c) {
  if (nothing_to_do(c)) return nothing(c);
  const Tensor& x = c.inputs[0];
  const Tensor is_zero = equal(x, number(0.0, x.dtype()));
  const Tensor others = where(is_zero, number(1.0, x.dtype()), x);
  const Tensor zeros = unsorted_segment_sum(cast(is_zero, x.dtype()), c.inputs[1], segment_count(c));
  const Tensor product = of_segment(c, unsorted_segment_prod(others, c.inputs[1], segment_count(c)));
  const Tensor beside = of_segment(c, zeros) - cast(is_zero, x.dtype());
  const Tensor slope = product / others * zero_factors_beside(c, is_zero, beside);
  return {of_segment(c, c.cotangents[0]) * slope, Tensor()};
}

/// The gradient goes to the extreme elements, in equal parts where several are equal.
Tensors extreme_vjp(const VjpContext& c) {
  if (nothing_to_do(c)) return nothing(c);
  const Tensor& x = c.inputs[0];
  const Tensor hits = cast(equal(x, of_segment(c, c.outputs[0])), x.dtype());
  const Tensor ties = unsorted_segment_sum(hits, c.inputs[1], segment_count(c));
  return {of_segment(c, divide_no_nan(c.cotangents[0], ties)) * hits, Tensor()};
}

OpDef segment_row(const std::string& what, const std::string& doc, const std::string& formula,
                  Forward forward, Vjp vjp) {
  const std::string name = "unsorted_segment_" + what;
  return {
      .name = name,
      .python_names = {name, "math." + name},
      .inputs = {{.name = "data"}, {.name = "segment_ids", .group = '\0', .preferred = DType::int32}},
      .attributes =
          {{.name = "num_segments", .kind = AttributeKind::integer, .fallback = {}, .required = true}},
      .shape_rule = segment_shape,
      .forward = forward,
      .vjp = vjp,
      .vjp_formula = formula,
      .doc =
          doc +
          "\n\ndata: int32, int64, float32 or float64; segment_ids: int32 or int64, values below "
          "num_segments, its "
          "shape a beginning of that of data; slices with a number below 0 are left out.\nReturns: the dtype "
          "of "
          "data, (num_segments,) + the rest of its shape.\nErrors: OutOfRangeError for a number of at least "
          "num_segments; InvalidArgumentError for shapes that do not fit; TypeMismatchError for other "
          "dtypes.",
      .saturates = what == "max" || what == "min",
  };
}

}  // namespace

TAPEDECK_OP(unsorted_segment_sum_op) = segment_row(
    "sum",
    "Sums slices that have the same number: y[s] = Σ data[i] over the i with segment_ids[i] = s, in order of "
    "i; 0 where there is none.",
    "d(data) = gather(dy, segment_ids)", segment_forward<Segment::sum>, sum_vjp);
Tensor unsorted_segment_sum(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments) {
  return run_op1(unsorted_segment_sum_op, {data, segment_ids}, {num_segments});
}

TAPEDECK_OP(unsorted_segment_prod_op) = segment_row(
    "prod",
    "Multiplies slices that have the same number: y[s] = Π data[i] over the i with segment_ids[i] = s; 1 "
    "where there is none.",
    "d(data)[i] = dy[s]·Π data[j] over the other j with s", segment_forward<Segment::prod>, prod_vjp);
Tensor unsorted_segment_prod(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments) {
  return run_op1(unsorted_segment_prod_op, {data, segment_ids}, {num_segments});
}

TAPEDECK_OP(unsorted_segment_max_op) = segment_row(
    "max",
    "The largest of the slices that have the same number: y[s] = max data[i] over the i with segment_ids[i] "
    "= s; the lowest finite number where there is none, NaN where one is among them.",
    "d(data) = gather(dy, segment_ids) where data = gather(y, segment_ids), divided by the number of such, "
    "else 0",
    segment_forward<Segment::max>, extreme_vjp);
Tensor unsorted_segment_max(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments) {
  return run_op1(unsorted_segment_max_op, {data, segment_ids}, {num_segments});
}

TAPEDECK_OP(unsorted_segment_min_op) = segment_row(
    "min",
    "The smallest of the slices that have the same number: y[s] = min data[i] over the i with "
    "segment_ids[i] = s; the highest finite number where there is none, NaN where one is among them.",
    "d(data) = gather(dy, segment_ids) where data = gather(y, segment_ids), divided by the number of such, "
    "else 0",
    segment_forward<Segment::min>, extreme_vjp);
Tensor unsorted_segment_min(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments) {
  return run_op1(unsorted_segment_min_op, {data, segment_ids}, {num_segments});
}

void link_segment() {}

}  // namespace tapedeck::ops
