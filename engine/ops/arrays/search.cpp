// Positions of values.
#include <algorithm>

#include "engine/ops/reductions/reduction_row.h"

namespace tapedeck::ops {

// ---- where_indices ----
TAPEDECK_OP(where_indices_op) = {
    .name = "where_indices",
    .python_names = {},  // tf.where(condition)
    .inputs = {{.name = "condition", .preferred = DType::bool_}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 0, Kind::boolean);
          return TensorSpecs{};
        },
    // Another owner of the memory (a NumPy array) may write to it between counting and writing.
    .forward =
        [](const OpContext& c) {
          const Tensor condition = contiguous(c.inputs[0]);
          const bool* flags = condition.data<bool>();
          const std::int64_t room = backend().count_true(flags, condition.count());
          const int rank = condition.rank();
          Tensor out = Tensor::allocate(DType::int64, {room, rank});
          const std::int64_t found =
              backend().true_coordinates(flags, condition.shape(), room, out.writable_data<std::int64_t>());
          return one(found == room ? std::move(out) : view_of(out, {found, rank}, out.strides()));
        },
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc =
        "The coordinates of the elements that hold, in row-major order.\n\n"
        "condition: bool, any shape.\nReturns: int64, (number of elements that hold, rank of condition).\n"
        "Errors: TypeMismatchError for another dtype.",
    .shape_of_values = true,
};

// ---- searchsorted ----
namespace {

bool from_right(const OpContext& c) {
  const std::string& side = c.get<std::string>("side");
  if (side != "left" && side != "right")
    fail<InvalidArgumentError>("searchsorted: side is '", side, "'; it is 'left' or 'right'");
  return side == "right";
}

TensorSpecs searchsorted_shape(const OpContext& c) {
  require_kind(c, 0, Kind::numeric);
  require_same_dtype(c, 0, 1);
  from_right(c);
  const DType out_type = index_dtype_of(c, "out_type");
  const Shape& sequence = c.inputs[0].shape();
  const Shape& values = c.inputs[1].shape();
  bool fits = sequence.rank() == 1 || (sequence.rank() > 1 && values.rank() == sequence.rank());
  for (int i = 0; fits && sequence.rank() > 1 && i + 1 < sequence.rank(); ++i)
    fits = sequence[i] == values[i];
  if (!fits)
    fail<InvalidArgumentError>("searchsorted: sorted_sequence ", to_string(sequence), " and values ",
                               to_string(values), " differ in more than the last axis");
  return spec(out_type, values);
}

Tensors searchsorted_forward(const OpContext& c) {
  const Tensor sequence = contiguous(c.inputs[0]);
  const Tensor values = contiguous(c.inputs[1]);
  const std::int64_t per_row = sequence.rank() == 1 ? values.count() : values.dim(values.rank() - 1);
  Tensor out = allocate_output(c);
  backend().search_rows(from_right(c), sequence.dtype(), sequence.raw(), sequence.dim(sequence.rank() - 1),
                        values.raw(), values.count(), std::max<std::int64_t>(1, per_row), out.dtype(),
                        out.writable_data<std::byte>());
  return one(std::move(out));
}

}  // namespace

TAPEDECK_OP(searchsorted_op) = {
    .name = "searchsorted",
    .python_names = {"searchsorted"},
    .inputs = {{.name = "sorted_sequence"}, {.name = "values"}},
    .attributes = {{.name = "side", .kind = AttributeKind::text, .fallback = std::string("left")},
                   {.name = "out_type", .kind = AttributeKind::dtype, .fallback = DType::int32}},
    .shape_rule = searchsorted_shape,
    .forward = searchsorted_forward,
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc =
        "Where values would have to be put into a sorted sequence for it to stay sorted, by bisection.\n\n"
        "sorted_sequence: any numeric dtype, each row of its last axis in rising order; "
        "values: of the same dtype, all axes but the last as in sorted_sequence (any shape where that has "
        "one axis); side: 'left' before equal elements, 'right' behind them; out_type: int32 or int64.\n"
        "Returns: out_type, the shape of values.\n"
        "Errors: InvalidArgumentError for shapes that do not fit, another side or out_type; "
        "TypeMismatchError for other or different dtypes.",
};
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, const std::string& side,
                    DType out_type) {
  return run_op1(searchsorted_op, {sorted_sequence, values}, {side, out_type});
}

// ---- invert_permutation ----
TAPEDECK_OP(invert_permutation_op) = {
    .name = "invert_permutation",
    .python_names = {"math.invert_permutation", "invert_permutation"},
    .inputs = {{.name = "x"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 0, Kind::integer);
          if (c.inputs[0].rank() != 1)
            fail<InvalidArgumentError>("invert_permutation: x has shape ", to_string(c.inputs[0].shape()),
                                       "; needs one axis");
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          const Tensor x = checked_indices(c, 0, c.inputs[0].dim(0));
          const Tensor inverse = Tensor::allocate(DType::int64, x.shape());
          const auto* numbers = x.data<std::int64_t>();
          auto* places = inverse.writable_data<std::int64_t>();
          const auto twice = backend().invert_permutation(numbers, x.count(), places,
                                                          "invert_permutation: x holds a number twice");
          if (twice)
            fail<InvalidArgumentError>("invert_permutation: x holds ", numbers[*twice], " twice, at ",
                                       places[numbers[*twice]], " and ", *twice);
          return one(cast_integers(inverse, c.outputs[0].dtype));
        },
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc =
        "The inverse of a permutation: y[x[i]] = i.\n\n"
        "x: any integer dtype, one axis, each number from 0 to its length − 1 once.\n"
        "Returns: the dtype and shape of x.\n"
        "Errors: OutOfRangeError for a number outside; InvalidArgumentError for one that occurs twice; "
        "TypeMismatchError for another dtype.",
};

}  // namespace tapedeck::ops
