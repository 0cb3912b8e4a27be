// Selection between tensors, and the sum of many.
#include "engine/ops/core/cost.h"
#include "engine/ops/elementwise/binary_row.h"

namespace tapedeck::ops {

// ---- where ----
TAPEDECK_OP(where_op) = {
    .name = "where",
    .python_names = {},  // tf.where, which without x and y is where_indices
    .inputs = {{.name = "condition", .group = '\0', .preferred = DType::bool_}, {.name = "x"}, {.name = "y"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 0, Kind::boolean);
          require_same_dtype(c, 1, 2);
          const Shape both = broadcast_shapes(c.inputs[1].shape(), c.inputs[2].shape(), "where");
          return spec(c.inputs[1].dtype(), broadcast_shapes(c.inputs[0].shape(), both, "where"));
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Shape& shape = out.shape();
          backend().select(out.dtype(), operand(c.inputs[0], shape), operand(c.inputs[1], shape),
                           operand(c.inputs[2], shape), out.writable_data<std::byte>(), shape);
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(3);
          const Tensor zero = number(0.0, c.inputs[1].dtype());
          if (c.wanted[1])
            gradients[1] = unbroadcast(where(c.inputs[0], c.cotangents[0], zero), c.inputs[1].shape());
          if (c.wanted[2])
            gradients[2] = unbroadcast(where(c.inputs[0], zero, c.cotangents[0]), c.inputs[2].shape());
          return gradients;
        },
    .vjp_formula = "dx = dz where condition, else 0; dy = 0 where condition, else dz",
    .doc =
        "Takes from x where the condition holds, and from y elsewhere.\n\n"
        "condition: bool; x, y: any dtype, the same for both; the three shapes broadcast by NumPy's rule.\n"
        "Returns: the dtype of x and y, the broadcast shape.\n"
        "Errors: TypeMismatchError for a condition that is not bool, or different dtypes; "
        "InvalidArgumentError for "
        "shapes that do not broadcast.",
    .takes_narrow = true,
    .immediates = true,
};
TAPEDECK_FACTS(where_op) = {.flat = "the condition chose the other side there"};
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  return run_op1(where_op, {condition, x, y});
}

// ---- clip_by_value ----
TAPEDECK_OP(clip_by_value_op) = {
    .name = "clip_by_value",
    .python_names = {"clip_by_value"},
    .inputs = {{.name = "t"}, {.name = "clip_value_min"}, {.name = "clip_value_max"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 0, Kind::numeric);
          for (std::size_t bound : {1, 2}) {
            require_same_dtype(c, 0, bound);
            const Shape& shape = c.inputs[bound].shape();
            if (broadcast_shapes(c.inputs[0].shape(), shape, "clip_by_value") != c.inputs[0].shape())
              fail<InvalidArgumentError>("clip_by_value: ", input_name(c, bound), " ", to_string(shape),
                                         " does not broadcast to t ", to_string(c.inputs[0].shape()));
          }
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          if (c.inputs[1].count() == 1 && c.inputs[2].count() == 1) {
            const Tensor t = on_op_device(contiguous(c.inputs[0]));
            Tensor out = allocate_output(c);
            backend().clip(t.dtype(), t.raw(), single(c.inputs[1]), single(c.inputs[2]),
                           out.writable_data<std::byte>(), t.count());
            return one(std::move(out));
          }
          const Tensor raised = run_binary(kernels::Binary::maximum, c.inputs[0], c.inputs[1], c.outputs[0]);
          return one(run_binary(kernels::Binary::minimum, raised, c.inputs[2], c.outputs[0]));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& g = c.cotangents[0];
          const Tensor zero = number(0.0, g.dtype());
          const Tensor above = greater(c.inputs[0], c.inputs[2]);
          const Tensor below = logical_and(less(c.inputs[0], c.inputs[1]), logical_not(above));
          Tensors gradients(3);
          if (c.wanted[0]) gradients[0] = where(logical_or(below, above), zero, g);
          if (c.wanted[1]) gradients[1] = unbroadcast(where(below, g, zero), c.inputs[1].shape());
          if (c.wanted[2]) gradients[2] = unbroadcast(where(above, g, zero), c.inputs[2].shape());
          return gradients;
        },
    .vjp_formula =
        "dt = dz where clip_value_min ≤ t ≤ clip_value_max, else 0, d(clip_value_min) = Σ dz where t < "
        "clip_value_min, else 0, d(clip_value_max) = Σ dz where t > clip_value_max, else 0",
    .doc =
        "Limits values to a range: min(max(t, clip_value_min), clip_value_max).\n\n"
        "t: any numeric dtype; the bounds have its dtype and broadcast to its shape.\n"
        "Returns: dtype and shape of t. NaN stays NaN.\n"
        "Errors: TypeMismatchError for other or different dtypes; InvalidArgumentError for a bound that does "
        "not "
        "broadcast to t.",
    .uint64_mapping = Uint64Mapping::order,
    .immediates = true,
};
TAPEDECK_FACTS(clip_by_value_op) = {.flat = facts::not_chosen};

// ---- add_n ----
TAPEDECK_OP(add_n_op) = {
    .name = "add_n",
    .python_names = {"add_n", "math.add_n"},
    .inputs = {{.name = "inputs", .variadic = true}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          if (c.inputs.empty())
            fail<InvalidArgumentError>("add_n: inputs is empty; needs at least one tensor");
          require_kind(c, 0, Kind::numeric);
          for (std::size_t i = 1; i < c.inputs.size(); ++i) {
            require_same_dtype(c, 0, i);
            if (c.inputs[i].shape() != c.inputs[0].shape())
              fail<InvalidArgumentError>("add_n: inputs[", i, "] ", to_string(c.inputs[i].shape()),
                                         " differs from inputs[0] ", to_string(c.inputs[0].shape()));
          }
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          Tensor sum = c.inputs.size() == 1
                           ? view_of(c.inputs[0], c.inputs[0].shape(), c.inputs[0].strides())
                           : run_binary(kernels::Binary::add, c.inputs[0], c.inputs[1], c.outputs[0]);
          for (std::size_t i = 2; i < c.inputs.size(); ++i)
            sum = run_binary(kernels::Binary::add, sum, c.inputs[i], c.outputs[0]);
          return one(std::move(sum));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(c.inputs.size());
          for (std::size_t i = 0; i < gradients.size(); ++i)
            if (c.wanted[i]) gradients[i] = c.cotangents[0];
          return gradients;
        },
    .vjp_formula = "dxᵢ = dz for every i",
    .cost = cost::sums_all,
    .doc =
        "The sum of a list of tensors, added from left to right.\n\n"
        "inputs: any numeric dtype, one for all, and one shape; no broadcasting.\n"
        "Returns: their dtype and shape.\n"
        "Errors: InvalidArgumentError for an empty list or different shapes; TypeMismatchError for other or "
        "different dtypes.",
    .takes_others = true,
};

}  // namespace tapedeck::ops
