// Slices joined by number: sums, products and extremes of those that share one.
#include <limits>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/narrow_values.h"

namespace tapedeck::ops {
namespace {

using kernels::Segment;

TensorSpecs segment_shape(const OpContext& c) {
  require_kind(c, 0, Kind::numeric);
  require_kind(c, 1, Kind::index);
  const Shape& data = c.inputs[0].shape();
  const Shape& ids = c.inputs[1].shape();
  const std::int64_t segments = integer_of(c, "num_segments");
  if (segments < 0) fail<InvalidArgumentError>(c.op.name, ": num_segments is ", segments);
  bool fits = ids.rank() <= data.rank();
  for (int i = 0; fits && i < ids.rank(); ++i) fits = ids[i] == data[i];
  if (!fits)
    fail<InvalidArgumentError>(c.op.name, ": segment_ids ", to_string(ids), " is not a prefix of data ",
                               to_string(data));
  Shape shape{segments};
  for (int i = ids.rank(); i < data.rank(); ++i) shape.push_back(data[i]);
  return spec(c.inputs[0].dtype(), shape);
}

/// Slices with negative numbers are skipped, as in TensorFlow.
Tensor segment_numbers(const OpContext& c) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  const std::int64_t count = integer_of(c, "num_segments");
  const Tensor ids = contiguous(widen(c.inputs[1]));
  Tensor numbers = Tensor::allocate(DType::int64, ids.shape());
  const auto bad =
      backend().check_indices(ids.dtype(), ids.raw(), ids.count(), lowest, count,
                              numbers.writable_data<std::int64_t>(), c.op.name + ": segment_ids");
  if (bad)
    fail<OutOfRangeError>(c.op.name, ": segment_ids[", bad->place, "] is ", bad->value,
                          "; must be below num_segments, ", count);
  return numbers;
}

template <Segment op>
Tensors segment_forward(const OpContext& c) {
  const Tensor segments = segment_numbers(c);
  Tensor out = allocate_output(c);
  const std::int64_t parts = is_complex(out.dtype()) ? 2 : 1;  // which add up one by one
  backend().segment_neutral(op, real_dtype(out.dtype()), out.writable_data<std::byte>(), parts * out.count());
  const Tensor data = contiguous(c.inputs[0]);
  if (data.count() > 0)
    backend().segment_rows(op, real_dtype(data.dtype()), data.raw(), segments.data<std::int64_t>(),
                           segments.count(), parts * data.count() / segments.count(),
                           out.writable_data<std::byte>());
  return one(std::move(out));
}

/// For every slice of data the value of its segment; 0 if the slice was skipped.
Tensor of_segment(const VjpContext& c, const Tensor& by_segment) {
  const Tensor& ids = c.inputs[1];
  const Tensor zero = number(0.0, ids.dtype());
  const Tensor values = gather(by_segment, maximum(ids, zero));
  Shape shape = ids.shape();
  while (shape.rank() < values.rank()) shape.push_back(1);
  return where(reshape(greater_equal(ids, zero), shape), values, number(0.0, values.dtype()));
}

std::int64_t segment_count(const VjpContext& c) {
  return integer_of({c.op, c.inputs, c.attributes, {}}, "num_segments");
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

Tensors segment_sum_vjp(const VjpContext& c) {
  if (nothing_to_do(c)) return nothing(c);
  return {of_segment(c, c.cotangents[0]), Tensor()};
}

/// The rows of data in the order of their segments, so that those of one segment are adjacent.
struct SegmentOrder {
  Tensor rows;            ///< position of each in data
  Tensor segments;        ///< negative for a skipped one
  Tensor before, behind;  ///< how many of its segment come before it, and after it

  explicit SegmentOrder(const Tensor& ids) {
    const Tensor numbers = cast(reshape(ids, {ids.count()}), DType::int64);
    rows = argsort(numbers, -1, "ASCENDING", true);
    segments = gather(numbers, rows);
    const Tensor places = range(0.0, static_cast<double>(ids.count()), 1.0, DType::int64);
    before = places - searchsorted(segments, segments, "left", DType::int64);
    behind = searchsorted(segments, segments, "right", DType::int64) - (places + 1.0);
  }
};

enum class Side : std::uint8_t { before, behind };

/// For each row of x the product of the `depth` rows next to it on one side, in log₂ doublings, without a
/// division, so that zeros are like other numbers and it differentiates again. As many doublings as the rows
/// may need: only their device knows how many they do.
Tensor products_beside(const Tensor& x, const Tensor& depth, Side side) {
  const std::int64_t rows = x.dim(0);
  const Tensor unit = number(1.0, x.dtype());
  const auto moved = [&](const Tensor& values, std::int64_t step) {
    const Tensor is_there = greater_equal(depth, number(static_cast<double>(step), DType::int64));
    return where(reshape(is_there, {rows, 1}), roll(values, {side == Side::before ? step : -step}, {0}),
                 unit);
  };
  Tensor product = moved(x, 1);
  for (std::int64_t step = 1; step < rows - 1; step *= 2) product = product * moved(product, step);
  return product;
}

Tensors segment_prod_vjp(const VjpContext& c) {
  if (nothing_to_do(c)) return nothing(c);
  const SegmentOrder order(c.inputs[1]);
  const Tensor& data = c.inputs[0];
  const std::int64_t count = c.inputs[1].count();
  const std::int64_t width = data.count() / count;
  const Tensor first = number(0.0, DType::int64);
  const Tensor is_kept = reshape(greater_equal(order.segments, first), {count, 1});
  const Tensor x =
      where(is_kept, gather(reshape(data, {count, width}), order.rows), number(1.0, data.dtype()));
  const Tensor others =
      products_beside(x, order.before, Side::before) * products_beside(x, order.behind, Side::behind);
  const Tensor dy =
      gather(reshape(c.cotangents[0], {segment_count(c), width}), maximum(order.segments, first));
  const Tensor gradient = where(is_kept, dy * others, number(0.0, data.dtype()));
  return {reshape(unsorted_segment_sum(gradient, order.rows, count), data.shape()), Tensor()};
}

/// The gradient goes to the extreme elements, in equal parts if several are equal.
Tensors segment_extreme_vjp(const VjpContext& c) {
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
          "\n\ndata: any numeric dtype; segment_ids: any integer dtype, values below "
          "num_segments, its "
          "shape a beginning of that of data; slices with a number below 0 are left out.\nReturns: the dtype "
          "of "
          "data, (num_segments,) + the rest of its shape.\nErrors: OutOfRangeError for a number of at least "
          "num_segments; InvalidArgumentError for shapes that do not fit; TypeMismatchError for other "
          "dtypes.",
      .takes_others = what == "sum",
      .uint64_mapping = what == "sum" || what == "prod"  ? Uint64Mapping::bits
                        : what == "max" || what == "min" ? Uint64Mapping::order
                                                         : Uint64Mapping::none,
      .saturates = what == "max" || what == "min",
  };
}

}  // namespace

TAPEDECK_OP(unsorted_segment_sum_op, VjpReads::inputs) = segment_row(
    "sum",
    "Sums slices that have the same number: z[s] = Σ data[i] over the i with segment_ids[i] = s, in order of "
    "i; 0 if there is none.",
    "d(data) = gather(dz, segment_ids)", segment_forward<Segment::sum>, segment_sum_vjp);
Tensor unsorted_segment_sum(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments) {
  return run_op1(unsorted_segment_sum_op, {data, segment_ids}, {num_segments});
}

TAPEDECK_OP(unsorted_segment_prod_op, VjpReads::inputs) = segment_row(
    "prod",
    "Multiplies slices that have the same number: z[s] = Π data[i] over the i with segment_ids[i] = s; 1 "
    "if there is none.",
    "d(data)[i] = dz[s]·Π data[j] over the other j of segment s", segment_forward<Segment::prod>,
    segment_prod_vjp);

TAPEDECK_OP(unsorted_segment_max_op) = segment_row(
    "max",
    "The largest of the slices that have the same number: z[s] = max data[i] over the i with segment_ids[i] "
    "= s; the lowest finite number if there is none, NaN if any value is NaN.",
    "d(data) = gather(dz, segment_ids) where data = gather(z, segment_ids), divided by the number of such, "
    "else 0",
    segment_forward<Segment::max>, segment_extreme_vjp);

TAPEDECK_OP(unsorted_segment_min_op) = segment_row(
    "min",
    "The smallest of the slices that have the same number: z[s] = min data[i] over the i with "
    "segment_ids[i] = s; the highest finite number if there is none, NaN if any value is NaN.",
    "d(data) = gather(dz, segment_ids) where data = gather(z, segment_ids), divided by the number of such, "
    "else 0",
    segment_forward<Segment::min>, segment_extreme_vjp);

}  // namespace tapedeck::ops
