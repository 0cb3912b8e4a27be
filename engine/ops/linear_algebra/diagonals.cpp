// Diagonals extracted from matrices, and inserted into them.
#include "engine/ops/core/cost.h"
#include "engine/ops/linear_algebra/matrices.h"

namespace tapedeck::ops {
namespace {

struct Band : kernels::DiagonalBand {
  bool one;  ///< `k` was one number: the packed form has no axis for the diagonals

  Shape packed(const Shape& batch) const {
    return one ? joined(batch, {length()}) : joined(batch, {count(), length()});
  }
};

constexpr std::int64_t largest = std::int64_t{1} << 60;  // sums of several do not overflow

std::vector<AttributeSpec> diagonal_attributes() {
  return {{.name = "k", .kind = AttributeKind::integers, .fallback = std::int64_t{0}},
          {.name = "align", .kind = AttributeKind::text, .fallback = std::string("RIGHT_LEFT")}};
}

Band band_of(const OpContext& c, std::int64_t rows, std::int64_t columns) {
  const Integers k = integers_of(c.attribute("k"));
  const bool countable = !k.empty() && k.front() >= -largest && k.back() <= largest;
  if (!countable || k.size() > 2 || k.front() > k.back())
    fail<InvalidArgumentError>(c.op.name, ": k is ", to_string(c.attribute("k")),
                               "; needs one diagonal, or the lowest and the highest one");
  const auto& align = c.get<std::string>("align");
  const bool known =
      align == "RIGHT_LEFT" || align == "LEFT_RIGHT" || align == "LEFT_LEFT" || align == "RIGHT_RIGHT";
  if (!known)
    fail<InvalidArgumentError>(c.op.name, ": align is '", align,
                               "'; must be RIGHT_LEFT, LEFT_RIGHT, LEFT_LEFT or RIGHT_RIGHT");
  return {
      {rows, columns, k.front(), k.back(), align.starts_with("RIGHT"), align.ends_with("_RIGHT")},
      k.front() == k.back(),
  };
}

void require_inside(const OpContext& c, const Band& band) {
  const auto outside = [&](std::int64_t d) { return d != 0 && (d <= -band.rows || d >= band.columns); };
  if (outside(band.lowest) || outside(band.highest))
    fail<InvalidArgumentError>(c.op.name, ": k is ", to_string(c.attribute("k")), "; matrices of ", band.rows,
                               " × ", band.columns, " have diagonals ", 1 - band.rows, " to ",
                               band.columns - 1);
}

/// The same, checked against given matrices.
Band band_in(const OpContext& c) {
  const MatrixShape shape = matrix_shape(c, 0);
  const Band band = band_of(c, shape.rows, shape.columns);
  require_inside(c, band);
  return band;
}

constexpr const char* diagonals_doc =
    "k: one diagonal (0 the main one, 1 the one above it), or (lowest, highest), packed as rows with the "
    "highest first; align: where shorter ones are put, those above the main one before the underscore, "
    "'RIGHT' "
    "or 'LEFT', those below it behind it.\n";

/// An output full of the padding value.
Tensor padded_output(const OpContext& c) {
  Tensor out = allocate_output(c);
  const Tensor padding = scalar_of(c, "padding_value", out.dtype());
  backend().fill(item_size(out.dtype()), padding.raw(), out.writable_data<std::byte>(), out.count());
  return out;
}

/// Writes the diagonals into existing matrices.
void unpack(const Band& band, const Tensor& packed, const Tensor& matrices) {
  const std::int64_t matrix = band.rows * band.columns;
  if (matrix > 0)
    backend().unpack_diagonals(item_size(packed.dtype()), band, packed.raw(), matrices.count() / matrix,
                               matrices.writable_data<std::byte>());
}

}  // namespace

// ---- matrix_diag_part ----
TAPEDECK_OP(matrix_diag_part_op) = {
    .name = "matrix_diag_part",
    .python_names = {"matrix_diag_part", "linalg.diag_part"},
    .inputs = {{.name = "input"}},
    .attributes =
        [] {
          std::vector<AttributeSpec> attributes = diagonal_attributes();
          attributes.push_back({.name = "padding_value", .kind = AttributeKind::real, .fallback = 0.0});
          return attributes;
        }(),
    .shape_rule =
        [](const OpContext& c) {
          return spec(c.inputs[0].dtype(), band_in(c).packed(matrix_shape(c, 0).batch));
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = padded_output(c);
          const Tensor input = contiguous(c.inputs[0]);
          if (const Band band = band_in(c); band.rows * band.columns > 0)
            backend().pack_diagonals(item_size(out.dtype()), band, input.raw(),
                                     input.count() / (band.rows * band.columns),
                                     out.writable_data<std::byte>());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& x = c.inputs[0];
          return one(matrix_diag(c.cotangents[0],
                                 {integers_of(c.attribute("k")), c.get<std::string>("align")},
                                 x.dim(x.rank() - 2), x.dim(x.rank() - 1)));
        },
    .vjp_formula = "dx = dz on the diagonals, 0 elsewhere",
    .cost = cost::picks,
    .doc =
        std::string("The diagonals of matrices.\n\ninput: (…, rows, columns), any dtype; ") + diagonals_doc +
        "padding_value: beside the shorter ones.\n"
        "Returns: the dtype of input, (…, length) for one diagonal, (…, diagonals, longest length) for "
        "several.\n"
        "Errors: InvalidArgumentError for fewer than 2 axes, a diagonal outside the matrix, another align, a "
        "padding_value that the dtype cannot hold.",
    .python_order = {"input", "name", "k", "padding_value", "align"},
    .takes_others = true,
};
Tensor matrix_diag_part(const Tensor& input, const Diagonals& d, double padding_value) {
  return run_op1(matrix_diag_part_op, {input}, {d.k, d.align, padding_value});
}

// ---- matrix_diag ----
namespace {

/// The band whose packed form the input is; extents that were not given are the smallest that hold it.
Band band_around(const OpContext& c) {
  const Shape& shape = c.inputs[0].shape();
  Band band = band_of(c, 0, 0);
  const int needed = band.one ? 1 : 2;
  if (shape.rank() < needed || (!band.one && shape[shape.rank() - 2] != band.count()))
    fail<InvalidArgumentError>(c.op.name, ": diagonal has shape ", to_string(shape), "; k ",
                               to_string(c.attribute("k")), " needs ",
                               band.one ? "(…, length)" : "(…, diagonals, length) with ",
                               band.one ? "" : std::to_string(band.count()) + " diagonals");
  const std::int64_t length = shape[shape.rank() - 1];
  const std::int64_t least_rows = length - std::min<std::int64_t>(band.highest, 0);
  const std::int64_t least_columns = length + std::max<std::int64_t>(band.lowest, 0);
  const std::int64_t rows = integer_of(c, "num_rows");
  const std::int64_t columns = integer_of(c, "num_cols");
  if (rows > largest || columns > largest || length > largest)
    fail<InvalidArgumentError>(c.op.name, ": num_rows ", rows, " and num_cols ", columns,
                               " for diagonals of ", length, " are larger than can be counted");
  band.rows = rows >= 0 ? rows : columns >= 0 ? least_rows : std::max(least_rows, least_columns);
  band.columns = columns >= 0 ? columns : rows >= 0 ? least_columns : std::max(least_rows, least_columns);
  if (band.rows < least_rows || band.columns < least_columns || band.length() != length)
    fail<InvalidArgumentError>(c.op.name, ": diagonals of length ", length, " do not fit k ",
                               to_string(c.attribute("k")), " of ", band.rows, " × ", band.columns,
                               " matrices, whose longest has ", band.length());
  require_inside(c, band);
  return band;
}

}  // namespace

TAPEDECK_OP(matrix_diag_op) = {
    .name = "matrix_diag",
    .python_names = {"matrix_diag", "linalg.diag"},
    .inputs = {{.name = "diagonal"}},
    .attributes =
        [] {
          std::vector<AttributeSpec> attributes = diagonal_attributes();
          attributes.push_back(
              {.name = "num_rows", .kind = AttributeKind::integer, .fallback = std::int64_t{-1}});
          attributes.push_back(
              {.name = "num_cols", .kind = AttributeKind::integer, .fallback = std::int64_t{-1}});
          attributes.push_back({.name = "padding_value", .kind = AttributeKind::real, .fallback = 0.0});
          return attributes;
        }(),
    .shape_rule =
        [](const OpContext& c) {
          const Band band = band_around(c);
          const Shape& shape = c.inputs[0].shape();
          const auto batch = static_cast<std::size_t>(shape.rank() - (band.one ? 1 : 2));
          return spec(c.inputs[0].dtype(),
                      joined(Shape(shape.span().first(batch)), {band.rows, band.columns}));
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = padded_output(c);
          unpack(band_around(c), contiguous(c.inputs[0]), out);
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          return one(matrix_diag_part(c.cotangents[0],
                                      {integers_of(c.attribute("k")), c.get<std::string>("align")}));
        },
    .vjp_formula = "d(diagonal) = the diagonals of dz",
    .cost = cost::moves,
    .doc =
        std::string("Matrices with given diagonals.\n\ndiagonal: (…, length) for one, (…, diagonals, longest "
                    "length) for several, any dtype; ") +
        diagonals_doc +
        "num_rows, num_cols: extents of the matrices, −1 for the smallest that hold the diagonals (square "
        "where both are −1); padding_value: everywhere else.\n"
        "Returns: the dtype of diagonal, (…, num_rows, num_cols).\n"
        "Errors: InvalidArgumentError for diagonals that do not fit, another align, a padding_value that the "
        "dtype cannot hold.",
    .python_order = {"diagonal", "name", "k", "num_rows", "num_cols", "padding_value", "align"},
    .takes_others = true,
};
Tensor matrix_diag(const Tensor& diagonal, const Diagonals& d, std::int64_t num_rows, std::int64_t num_cols,
                   double padding_value) {
  return run_op1(matrix_diag_op, {diagonal}, {d.k, d.align, num_rows, num_cols, padding_value});
}

// ---- matrix_set_diag ----
TAPEDECK_OP(matrix_set_diag_op) = {
    .name = "matrix_set_diag",
    .python_names = {"matrix_set_diag", "linalg.set_diag"},
    .inputs = {{.name = "input"}, {.name = "diagonal"}},
    .attributes = diagonal_attributes(),
    .shape_rule =
        [](const OpContext& c) {
          require_same_dtype(c, 0, 1);
          const Shape wanted = band_in(c).packed(matrix_shape(c, 0).batch);
          if (c.inputs[1].shape() != wanted)
            fail<InvalidArgumentError>("matrix_set_diag: diagonal has shape ", to_string(c.inputs[1].shape()),
                                       "; k ", to_string(c.attribute("k")), " of input ",
                                       to_string(c.inputs[0].shape()), " needs ", to_string(wanted));
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          place(c.inputs[0], out, out.shape(), c.inputs[0].strides(), out.strides(), 0);
          unpack(band_in(c), contiguous(c.inputs[1]), out);
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          const Diagonals d{integers_of(c.attribute("k")), c.get<std::string>("align")};
          Tensors gradients(2);
          if (c.wanted[0]) gradients[0] = matrix_set_diag(c.cotangents[0], zeros_shaped_like(c.inputs[1]), d);
          if (c.wanted[1]) gradients[1] = matrix_diag_part(c.cotangents[0], d);
          return gradients;
        },
    .vjp_formula = "d(input) = dz, but 0 on the diagonals, d(diagonal) = the diagonals of dz",
    .cost = cost::moves,
    .doc = std::string("Matrices with some diagonals replaced.\n\ninput: (…, rows, columns), any dtype; "
                       "diagonal: the same dtype, (…, length) for one, (…, diagonals, longest length) for "
                       "several; ") +
           diagonals_doc +
           "Returns: dtype and shape of input.\n"
           "Errors: InvalidArgumentError for shapes that do not fit, another align; TypeMismatchError for "
           "different dtypes.",
    .python_order = {"input", "diagonal", "name", "k", "align"},
    .takes_others = true,
};
Tensor matrix_set_diag(const Tensor& input, const Tensor& diagonal, const Diagonals& d) {
  return run_op1(matrix_set_diag_op, {input, diagonal}, {d.k, d.align});
}

}  // namespace tapedeck::ops
