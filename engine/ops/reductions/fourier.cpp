// Discrete Fourier transforms.
#include <algorithm>
#include <cmath>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"
#include "engine/ops/elementwise/complex.h"

namespace tapedeck::ops {
namespace {

TensorSpecs fft_shape(const OpContext& c) {
  const Tensor& input = c.inputs[0];
  if (!is_complex(input.dtype()))
    fail<TypeMismatchError>("fft: input is ", dtype_name(input.dtype()), "; needs complex64 or complex128");
  const std::int64_t axes = integer_of(c, "axes");
  if (axes < 1 || axes > 3) fail<InvalidArgumentError>("fft: axes is ", axes, "; must be 1, 2 or 3");
  if (input.rank() < axes)
    fail<InvalidArgumentError>("fft: input has shape ", to_string(input.shape()), "; needs at least ", axes,
                               axes == 1 ? " axis" : " axes");
  return like_first(c);
}

}  // namespace

TAPEDECK_OP(fft_op) = {
    .name = "fft",
    .python_names = {},  // tf.signal names each number of axes
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "axes", .kind = AttributeKind::integer, .fallback = std::int64_t{1}},
                   {.name = "inverse", .kind = AttributeKind::boolean, .fallback = false}},
    .shape_rule = fft_shape,
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          if (out.count() == 0) return one(std::move(out));
          const Tensor& x = c.inputs[0];
          place(x, out, x.shape(), x.strides(), out.strides(), 0);
          std::int64_t inner = 1;
          for (int axis = out.rank() - 1; axis >= out.rank() - integer_of(c, "axes"); --axis) {
            const std::int64_t count = out.dim(axis);
            backend().fourier(c.get<bool>("inverse"), out.dtype(), out.writable_data<std::byte>(),
                              out.count() / (count * inner), count, inner);
            inner *= count;
          }
          return one(std::move(out));
        },
    // The matrix of the transform is symmetric: applied to a cotangent it is the transform again.
    .vjp_reads = VjpReads::shapes,
    .vjp = [](const VjpContext& c) { return one(run_op1(c.op, {c.cotangents[0]}, c.attributes)); },
    .vjp_formula = "dx = conj(fft(conj(dz)))",
    .cost = [](const CostContext& c) -> OpCost {
      const TensorSpec& x = c.inputs[0];
      double turns = 0;  // log₂ of the extents
      const std::int64_t axes = cost::integer(c, "axes", 1);
      for (int axis = x.shape.rank() - 1; axis >= std::max<std::int64_t>(0, x.shape.rank() - axes); --axis)
        turns += std::log2(static_cast<double>(std::max<std::int64_t>(1, x.shape[axis])));
      return {5 * cost::count(x) * turns, cost::traffic(c)};
    },
    .doc =
        "The discrete Fourier transform along the last axes: yₖ = Σₙ xₙ·e^(−2πi·kn/N) for each of them.\n\n"
        "input: complex64 or complex128; axes: how many of the last axes, 1 to 3; inverse: e^(+2πi·kn/N) and "
        "divided by N, so that it undoes the transform.\n"
        "Returns: the dtype and shape of input. Any extents; those with large prime factors take longer.\n"
        "Errors: InvalidArgumentError for fewer axes than that; TypeMismatchError for another dtype.",
    .takes_others = true,
    .gpu_kernel = false,
};

// ---- rfft ----
TAPEDECK_OP(rfft_op) = {
    .name = "rfft",
    .python_names = {},  // tf.signal.rfft, which cuts and fills the axis
    .inputs = {{.name = "input"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          const Tensor& input = c.inputs[0];
          if (input.dtype() != DType::float32 && input.dtype() != DType::float64)
            fail<TypeMismatchError>("rfft: input is ", dtype_name(input.dtype()),
                                    "; needs float32 or float64");
          Shape shape = input.shape();
          if (shape.rank() == 0 || shape[shape.rank() - 1] == 0)
            fail<InvalidArgumentError>("rfft: input has shape ", to_string(shape),
                                       "; needs at least one number along a last axis");
          shape[shape.rank() - 1] = shape[shape.rank() - 1] / 2 + 1;
          return spec(complex_dtype(input.dtype()), shape);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor x = contiguous(c.inputs[0]);
          const std::int64_t count = x.dim(x.rank() - 1);
          if (out.count() > 0)
            backend().real_fourier(x.dtype(), x.raw(), x.count() / count, count,
                                   out.writable_data<std::byte>());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          // Σₖ dyₖ·e^(2πi·kn/N) over the first half: the inverse transform, without its division by N.
          const Tensor& x = c.inputs[0];
          const Tensor& dy = c.cotangents[0];
          const std::int64_t count = x.dim(x.rank() - 1);
          Integers paddings(2 * static_cast<std::size_t>(x.rank()), 0);
          paddings.back() = count - dy.dim(dy.rank() - 1);
          const Tensor whole = run_op1(fft_op, {pad(dy, paddings)}, {std::int64_t{1}, true});
          return one(real(whole) * static_cast<double>(count));
        },
    .vjp_formula = "dx = the real part of the inverse transform of dz, not divided",
    .cost = [](const CostContext& c) -> OpCost {
      const TensorSpec& x = c.inputs[0];
      const auto extent = static_cast<double>(x.shape[x.shape.rank() - 1]);
      return {2.5 * cost::count(x) * std::log2(std::max(1.0, extent)), cost::traffic(c)};
    },
    .doc =
        "The discrete Fourier transform of real numbers along the last axis: yₖ = Σₙ xₙ·e^(−2πi·kn/N) for k "
        "up to N/2. The "
        "others are the conjugates of these.\n\n"
        "input: float32 or float64, (…, N).\n"
        "Returns: complex64 or complex128, (…, N // 2 + 1). Any extent; those with large prime factors take "
        "longer.\n"
        "Errors: InvalidArgumentError for a scalar or an empty axis; TypeMismatchError for another dtype.",
    .takes_others = true,
    .gpu_kernel = false,
};

}  // namespace tapedeck::ops
