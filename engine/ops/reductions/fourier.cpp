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
    .vjp_formula = "dx = conj(fft(conj(dy)))",
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

}  // namespace tapedeck::ops
