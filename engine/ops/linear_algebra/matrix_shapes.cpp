// Bands and traces of matrices, and their axes swapped.
#include <numeric>

#include "engine/ops/core/cost.h"
#include "engine/ops/linear_algebra/matrices.h"

namespace tapedeck::ops {

// ---- matrix_band_part ----
TAPEDECK_OP(matrix_band_part_op) = {
    .name = "matrix_band_part",
    .python_names = {"matrix_band_part", "linalg.band_part"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "num_lower", .kind = AttributeKind::integer, .fallback = {}, .required = true},
                   {.name = "num_upper", .kind = AttributeKind::integer, .fallback = {}, .required = true}},
    .shape_rule =
        [](const OpContext& c) {
          const MatrixShape shape = matrix_shape(c, 0);
          const std::int64_t lower = integer_of(c, "num_lower");
          const std::int64_t upper = integer_of(c, "num_upper");
          if (lower > shape.rows || upper > shape.columns)
            fail<InvalidArgumentError>("matrix_band_part: num_lower ", lower, " and num_upper ", upper,
                                       " of matrices of ", shape.rows, " × ", shape.columns,
                                       "; neither may be larger than the extent");
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          const MatrixShape shape = matrix_shape(c, 0);
          const std::int64_t given_lower = integer_of(c, "num_lower");
          const std::int64_t given_upper = integer_of(c, "num_upper");
          const std::int64_t lower = given_lower < 0 ? shape.rows : given_lower;
          const std::int64_t upper = given_upper < 0 ? shape.columns : given_upper;
          const Tensor input = contiguous(c.inputs[0]);
          Tensor out = allocate_output(c);
          if (out.count() > 0)
            backend().band_part(item_size(out.dtype()), input.raw(), shape.count(), shape.rows, shape.columns,
                                lower, upper, out.writable_data<std::byte>());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp = [](const VjpContext& c) { return one(run_op1(c.op, {c.cotangents[0]}, c.attributes)); },
    .vjp_formula = "dx = the same band of dz",
    .cost = cost::moves,
    .doc =
        "Matrices with zeros outside a band: x[i, j] stays where i − j ≤ num_lower and j − i ≤ num_upper.\n\n"
        "input: (…, rows, columns), any dtype; num_lower, num_upper: how many diagonals stay below and above "
        "the main one, negative for all. (−1, 0) is the lower triangle, (0, −1) the upper one.\n"
        "Returns: dtype and shape of input.\n"
        "Errors: InvalidArgumentError for fewer than 2 axes, or a number larger than the extent.",
    .takes_others = true,
};
Tensor matrix_band_part(const Tensor& input, std::int64_t num_lower, std::int64_t num_upper) {
  return run_op1(matrix_band_part_op, {input}, {num_lower, num_upper});
}

// ---- trace ----
TAPEDECK_OP(trace_op) = {
    .name = "trace",
    .python_names = {"trace", "linalg.trace"},
    .inputs = {{.name = "x"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 0, Kind::numeric);
          return spec(c.inputs[0].dtype(), matrix_shape(c, 0).batch);
        },
    .forward =
        [](const OpContext& c) {
          const MatrixShape shape = matrix_shape(c, 0);
          const Tensor& x = c.inputs[0];
          const std::int64_t length = std::min(shape.rows, shape.columns);
          Strides strides(x.strides().span().first(static_cast<std::size_t>(shape.batch.rank())));
          strides.push_back(x.strides()[x.rank() - 2] + x.strides()[x.rank() - 1]);
          const Tensor diagonal = contiguous(view_of(x, joined(shape.batch, {length}), strides));
          Tensor out = allocate_output(c);
          // Of complex numbers the sums of both parts.
          backend().reduce(kernels::Reduction::sum, real_dtype(x.dtype()), diagonal.raw(), shape.count(),
                           length, is_complex(x.dtype()) ? 2 : 1, out.writable_data<std::byte>());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& x = c.inputs[0];
          const std::int64_t rows = x.dim(x.rank() - 2);
          const std::int64_t columns = x.dim(x.rank() - 1);
          const Tensor spread = broadcast_to(per_matrix(c.cotangents[0]), x.shape());
          return one(rows == 0 || columns == 0 ? spread : matrix_band_part(spread, 0, 0));
        },
    .vjp_formula = "dx = dz·I",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double diagonal = a.matrices * std::min(a.rows, a.columns);
      const auto size = static_cast<double>(item_size(c.inputs[0].dtype));
      return {diagonal, diagonal * size + cost::bytes(c.outputs[0])};
    },
    .doc =
        "The sum of the main diagonal of matrices.\n\n"
        "x: (…, rows, columns); any numeric dtype.\n"
        "Returns: the dtype of x, its shape without the last two axes.\n"
        "Errors: InvalidArgumentError for fewer than 2 axes; TypeMismatchError for bool.",
    .takes_others = true,
    .uint64_mapping = Uint64Mapping::bits,
};
Tensor trace(const Tensor& x) {
  return run_op1(trace_op, {x});
}

Tensor matrix_transpose(const Tensor& a) {
  Integers order(static_cast<std::size_t>(a.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(a, order);
}

}  // namespace tapedeck::ops
