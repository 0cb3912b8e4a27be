// The joint norm of many tensors, and their multiples: the parts of clipping by the global norm.
#include "engine/ops/core/checks.h"
#include "engine/ops/core/core_ops.h"
#include "engine/ops/core/cost.h"
#include "engine/ops/elementwise/binary_row.h"
#include "engine/ops/linear_algebra/matrices.h"

namespace tapedeck::ops {
namespace {

void require_floating_list(const OpContext& c, std::size_t first) {
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    require_kind(c, i, Kind::floating);
    require_same_dtype(c, 0, i);
  }
  if (c.inputs.size() == first)
    fail<InvalidArgumentError>(c.op.name, ": t_list is empty; at least one tensor is needed");
}

Tensor converted(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const Tensor out = Tensor::allocate(dtype, x.shape());
  backend().cast(x.dtype(), dtype, operand(x, x.shape()), out.writable_data<std::byte>(), x.shape());
  return out;
}

/// One number for each input, which write(input, where it goes) computes, as a vector of the inputs' dtype.
template <class Write>
Tensor for_each_input(const OpContext& c, Write write) {
  const DType dtype = c.outputs[0].dtype;
  const auto count = static_cast<std::int64_t>(c.inputs.size());
  const Tensor numbers = Tensor::allocate(dtype, {count});
  for (std::int64_t i = 0; i < count; ++i)
    write(contiguous(c.inputs[static_cast<std::size_t>(i)]),
          numbers.writable_data<std::byte>() + i * static_cast<std::int64_t>(item_size(dtype)));
  return numbers;
}

Tensor reduced(kernels::Reduction reduction, const Tensor& numbers) {
  const Tensor out = Tensor::allocate(numbers.dtype(), {});
  backend().reduce(reduction, numbers.dtype(), numbers.raw(), 1, numbers.count(), 1,
                   out.writable_data<std::byte>());
  return out;
}

/// The sum of all squares, of the elements times `scale` if given, in float64.
Tensor sum_of_squares(const OpContext& c, const Tensor& scale) {
  const Tensor squares = for_each_input(c, [&](Tensor x, std::byte* to) {
    if (scale) x = run_binary(kernels::Binary::multiply, x, scale, {x.dtype(), x.shape()});
    backend().dot(x.dtype(), x.raw(), x.raw(), x.count(), to);
  });
  return reduced(kernels::Reduction::sum, converted(squares, DType::float64));
}

Tensor length_of(const Tensor& sum) {
  const Tensor root = Tensor::allocate(sum.dtype(), {});
  backend().unary(kernels::Unary::sqrt, sum.dtype(), sum.raw(), root.writable_data<std::byte>(), 1);
  return root;
}

bool is_sound(const Tensor& sum) {
  bool sound = false;
  visit_real(sum.dtype(), [&]<class T>(T) { sound = kernels::keeps_digits(*sum.data<T>()); });
  return sound;
}

/// √(Σ x²), where squares overflow or underflow of x·2⁻ᵉ with the exponent e of the largest |x|. A GPU does
/// not wait to find out: it always scales, usually by 1.
Tensor norm_of(const OpContext& c) {
  const DType dtype = c.outputs[0].dtype;
  const Tensor sum = sum_of_squares(c, {});
  const Tensor narrow_sum = converted(sum, dtype);
  if (narrow_sum.on_cpu() && is_sound(narrow_sum)) return converted(length_of(sum), dtype);
  const Tensor sizes = for_each_input(c, [&](const Tensor& x, std::byte* to) {
    const Tensor size = Tensor::allocate(dtype, x.shape());
    backend().unary(kernels::Unary::abs, dtype, x.raw(), size.writable_data<std::byte>(), x.count());
    backend().reduce(kernels::Reduction::max, dtype, size.raw(), 1, x.count(), 1, to);
  });
  const Tensor largest = reduced(kernels::Reduction::max, sizes), scale = Tensor::allocate(dtype, {});
  backend().length_scales(dtype, narrow_sum.raw(), largest.raw(), 1, scale.writable_data<std::byte>());
  const TensorSpec number{DType::float64, {}};
  return converted(run_binary(kernels::Binary::divide, length_of(sum_of_squares(c, scale)),
                              converted(scale, DType::float64), number),
                   dtype);
}

}  // namespace

// ---- global_norm ----
TAPEDECK_OP(global_norm_op) = {
    .name = "global_norm",
    .python_names = {},
    .inputs = {{.name = "t_list", .variadic = true}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_floating_list(c, 0);
          return spec(c.inputs[0].dtype(), {});
        },
    .forward = [](const OpContext& c) { return one(norm_of(c)); },
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(c.inputs.size());
          for (std::size_t i = 0; i < c.inputs.size(); ++i)  // 1 / n may be infinite
            if (c.wanted[i]) gradients[i] = c.cotangents[0] * divide_no_nan(c.inputs[i], c.outputs[0]);
          return gradients;
        },
    .vjp_formula = "dxᵢ = dz·xᵢ / z, 0 where the norm z is 0",
    .cost = [](const CostContext& c) -> OpCost {
      return {2 * cost::per_all_inputs(c).flops, cost::traffic(c)};
    },
    .doc =
        "The root of the sum of the squares of all elements of several tensors. Squares may overflow and "
        "underflow.\n\n"
        "t_list: tensors of one floating dtype, any shapes.\n"
        "Returns: a scalar of that dtype.\n"
        "Errors: InvalidArgumentError for an empty list; TypeMismatchError for other or different dtypes.",
};

// ---- scale_all ----
TAPEDECK_OP(scale_all_op) = {
    .name = "scale_all",
    .python_names = {},
    .inputs = {{.name = "scale"}, {.name = "t_list", .variadic = true}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_floating_list(c, 1);
          if (c.inputs[0].rank() != 0)
            fail<InvalidArgumentError>("scale_all: scale has the shape ", to_string(c.inputs[0].shape()),
                                       "; a scalar is needed");
          TensorSpecs specs;
          for (const Tensor& input : c.inputs.subspan(1)) specs.push_back({input.dtype(), input.shape()});
          return specs;
        },
    .forward =
        [](const OpContext& c) {
          Tensors scaled;
          const bool same = c.inputs[0].on_cpu() && c.inputs[0].item() == 1.0;  // does not wait for a GPU's
          for (std::size_t i = 1; i < c.inputs.size(); ++i) {
            const Tensor x = contiguous(c.inputs[i]);
            scaled.push_back(same ? c.inputs[i] : allocate_output(c, i - 1));
            if (!same)
              backend().binary(kernels::Binary::multiply, x.dtype(), {x.raw()}, single(c.inputs[0]),
                               scaled.back().writable_data<std::byte>(), x.count());
          }
          return scaled;
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(c.inputs.size());
          for (std::size_t i = 1; i < c.inputs.size(); ++i) {
            const Tensor& dy = c.cotangents[i - 1];
            if (!dy) continue;
            if (c.wanted[i]) gradients[i] = c.inputs[0] * dy;
            if (!c.wanted[0]) continue;
            const Tensor part = dot(dy, c.inputs[i]);
            gradients[0] = gradients[0] ? gradients[0] + part : part;
          }
          return gradients;
        },
    .vjp_formula = "d(t_list)ᵢ = scale·dzᵢ, d(scale) = Σ dzᵢ·t_listᵢ",
    .cost = cost::per_all_inputs,
    .doc =
        "Several tensors times one number; those themselves where that is 1.\n\n"
        "scale: a scalar; t_list: tensors of its dtype, a floating one, any shapes.\n"
        "Returns: a list of tensors of the same shapes.\n"
        "Errors: InvalidArgumentError for an empty list, and a scale that is no scalar; TypeMismatchError "
        "for "
        "other or different dtypes.",
    .returns_list = true,
};

}  // namespace tapedeck::ops
