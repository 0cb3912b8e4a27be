#include "engine/ops/elementwise/complex.h"

#include "engine/ops/core/cost.h"
#include "engine/ops/elementwise/binary_row.h"
#include "engine/ops/elementwise/unary_row.h"

namespace tapedeck::ops {

Tensor part_view(const Tensor& tensor, int part) {
  Strides strides = tensor.strides();
  for (int axis = 0; axis < strides.rank(); ++axis) strides[axis] *= 2;
  return Tensor::view(tensor.storage(), real_dtype(tensor.dtype()), tensor.shape(), strides,
                      2 * tensor.offset() + (tensor.count() > 0 ? part : 0));
}

Tensor pairs_view(const Tensor& contiguous) {
  Shape pairs = contiguous.shape();
  pairs.push_back(2);
  return Tensor::view(contiguous.storage(), real_dtype(contiguous.dtype()), pairs, contiguous_strides(pairs),
                      2 * contiguous.offset());
}

Tensor from_pairs(const Tensor& pairs) {
  Shape shape = pairs.shape();
  shape.resize(shape.rank() - 1);
  return Tensor::view(pairs.storage(), complex_dtype(pairs.dtype()), shape, contiguous_strides(shape),
                      pairs.offset() / 2);
}

Tensor with_parts(const Tensor& real, const Tensor& imag) {
  Tensor out = Tensor::allocate(complex_dtype(real.dtype()), real.shape());
  if (out.count() == 0) return out;
  const Tensor target = part_view(out, 0);
  place(real, target, real.shape(), real.strides(), target.strides(), 0);
  place(imag, target, imag.shape(), imag.strides(), target.strides(), 1);
  return out;
}

Tensor magnitudes(const Tensor& tensor) {
  const Tensor x = contiguous(tensor);
  Tensor out = Tensor::allocate(real_dtype(x.dtype()), x.shape());
  backend().magnitudes(x.dtype(), x.raw(), out.writable_data<std::byte>(), x.count());
  return out;
}

namespace {

void require_complex(const OpContext& c, std::size_t input) {
  if (!is_complex(c.inputs[input].dtype()))
    fail<TypeMismatchError>(c.op.name, ": ", input_name(c, input), " is ",
                            dtype_name(c.inputs[input].dtype()), "; needs complex64 or complex128");
}

OpDef part_row(const std::string& name, const std::string& what, Forward forward, Vjp vjp,
               const std::string& formula) {
  return {
      .name = name,
      .python_names = {},  // tf.math has them for real numbers, too
      .inputs = {{.name = "input"}},
      .attributes = {},
      .shape_rule =
          [](const OpContext& c) {
            require_complex(c, 0);
            return spec(real_dtype(c.inputs[0].dtype()), c.inputs[0].shape());
          },
      .forward = forward,
      .vjp = vjp,
      .vjp_formula = formula,
      .doc = what +
             "\n\ninput: complex64 or complex128, any shape.\nReturns: float32 or float64, the shape of "
             "input.\nErrors: TypeMismatchError for another dtype.",
      .takes_others = true,
      .gpu_kernel = false,
  };
}

}  // namespace

// ---- complex ----
TAPEDECK_OP(complex_op) = {
    .name = "complex",
    .python_names = {"complex", "dtypes.complex"},
    .inputs = {{.name = "real", .preferred = DType::float32}, {.name = "imag", .preferred = DType::float32}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_same_dtype(c, 0, 1);
          const DType dtype = c.inputs[0].dtype();
          if (dtype != DType::float32 && dtype != DType::float64)
            fail<TypeMismatchError>("complex: real is ", dtype_name(dtype), "; needs float32 or float64");
          return spec(complex_dtype(dtype), broadcast_of_inputs(c));
        },
    .forward =
        [](const OpContext& c) {
          const Shape& shape = c.outputs[0].shape;
          const auto widened_to = [&](const Tensor& part) {
            return view_of(part, shape, broadcast_strides(part, shape));
          };
          return one(with_parts(widened_to(c.inputs[0]), widened_to(c.inputs[1])));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp =
        [](const VjpContext& c) {
          return binary_gradients(
              c, [&] { return real(c.cotangents[0]); }, [&] { return imag(c.cotangents[0]); });
        },
    .vjp_formula = "d(real) = Re dz, d(imag) = Im dz",
    .cost = cost::moves,
    .doc =
        "Complex numbers of real and imaginary parts: real + i·imag.\n\n"
        "real, imag: float32 or float64, one dtype for both; shapes that broadcast by NumPy's rule.\n"
        "Returns: complex64 or complex128, the broadcast shape.\n"
        "Errors: TypeMismatchError for other or different dtypes; InvalidArgumentError for shapes that do "
        "not "
        "broadcast.",
    .takes_others = true,
    .gpu_kernel = false,
};
Tensor complex(const Tensor& real, const Tensor& imag) {
  return run_op1(complex_op, {real, imag});
}

// ---- parts ----
TAPEDECK_OP(real_op, VjpReads::shapes) = part_row(
    "real", "The real parts, without a copy.",
    [](const OpContext& c) { return one(part_view(c.inputs[0], 0)); },
    [](const VjpContext& c) { return one(complex(c.cotangents[0], zeros_shaped_like(c.cotangents[0]))); },
    "dx = dz + 0i");
Tensor real(const Tensor& input) {
  return run_op1(real_op, {input});
}

TAPEDECK_OP(imag_op, VjpReads::shapes) = part_row(
    "imag", "The imaginary parts, without a copy.",
    [](const OpContext& c) { return one(part_view(c.inputs[0], 1)); },
    [](const VjpContext& c) { return one(complex(zeros_shaped_like(c.cotangents[0]), c.cotangents[0])); },
    "dx = 0 + i·dz");
Tensor imag(const Tensor& input) {
  return run_op1(imag_op, {input});
}

TAPEDECK_OP(angle_op, VjpReads::inputs) = part_row(
    "angle", "The angle of each number in the complex plane, in (−π, π]: atan2(Im x, Re x).",
    [](const OpContext& c) {
      return one(run_binary(kernels::Binary::atan2, part_view(c.inputs[0], 1), part_view(c.inputs[0], 0),
                            c.outputs[0]));
    },
    [](const VjpContext& c) {
      const Tensor x = real(c.inputs[0]), y = imag(c.inputs[0]);
      const Tensor scale = c.cotangents[0] / (square(x) + square(y));
      return one(complex(-y * scale, x * scale));
    },
    "dx = dz·(−Im x + i·Re x) / |x|²");

// ---- conj ----
TAPEDECK_OP(conj_op) = {
    .name = "conj",
    .python_names = {},  // tf.math has it for real numbers, too
    .inputs = {{.name = "input"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_complex(c, 0);
          return like_first(c);
        },
    .forward =
        [](const OpContext& c) {
          const Tensor minus = part_view(c.inputs[0], 1);
          Tensor negated = Tensor::allocate(minus.dtype(), minus.shape());
          backend().unary_strided(kernels::Unary::negative, minus.dtype(), operand(minus, minus.shape()),
                                  negated.writable_data<std::byte>(), minus.shape());
          return one(with_parts(part_view(c.inputs[0], 0), negated));
        },
    .vjp_reads = VjpReads::shapes,
    .vjp = [](const VjpContext& c) { return one(conj(c.cotangents[0])); },
    .vjp_formula = "dx = conj(dz)",
    .doc =
        "The conjugate numbers: the imaginary parts change their sign.\n\n"
        "input: complex64 or complex128, any shape.\nReturns: its dtype and shape.\n"
        "Errors: TypeMismatchError for another dtype.",
    .takes_others = true,
    .complex_vjp = true,
    .gpu_kernel = false,
};
Tensor conj(const Tensor& input) {
  return is_complex(input.dtype()) ? run_op1(conj_op, {input}) : input;
}

// ---- gradients ----
namespace {

/// Whether the call mixes real and complex numbers.
bool is_all_complex(const VjpContext& c) {
  bool found = false;
  for (const std::span<const Tensor> tensors : {c.inputs, c.outputs})
    for (const Tensor& tensor : tensors) {
      if (is_floating(tensor.dtype())) return false;
      found = found || is_complex(tensor.dtype());
    }
  return found;
}

}  // namespace

Tensors run_vjp(const VjpContext& c) {
  if (!c.op.vjp)  // an op of another framework, which computed it
    fail<UnimplementedError>(c.op.name, ": its gradients cannot be computed again here");
  // Moving elements is the same for both parts.
  if (c.op.takes_narrow || c.op.complex_vjp || !is_all_complex(c)) [[likely]]
    return c.op.vjp(c);
  Tensors cotangents;
  for (const Tensor& cotangent : c.cotangents) cotangents.push_back(cotangent ? conj(cotangent) : cotangent);
  Tensors gradients = c.op.vjp({c.op, c.inputs, c.attributes, c.outputs, cotangents, c.wanted});
  for (Tensor& gradient : gradients)
    if (gradient) gradient = conj(gradient);
  return gradients;
}

}  // namespace tapedeck::ops
