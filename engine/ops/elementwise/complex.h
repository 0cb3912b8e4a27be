// Complex numbers: their parts, and gradients through functions of them.
//
// TensorFlow's convention: the gradient of a real L with respect to z = x + iy is ∂L/∂x + i·∂L/∂y. Through
// w = f(z) with f complex-differentiable it is dz = dw·conj(f′(z)). Source: the chain rule for the real and
// the imaginary part, with the Cauchy-Riemann equations.
#pragma once

#include "engine/ops/core/op.h"

namespace tapedeck::ops {

/// Complex numbers from real and imaginary parts: both float32 or both float64, with shapes that broadcast.
Tensor complex(const Tensor& real, const Tensor& imag);
/// One part of each number, in the dtype of the parts. Only for complex tensors.
Tensor real(const Tensor& input);
Tensor imag(const Tensor& input);
/// Real tensors are returned unchanged.
Tensor conj(const Tensor& input);

/// For kernels: a view of the real parts (0) or the imaginary parts (1), and of both along a last axis.
Tensor part_view(const Tensor& tensor, int part);
Tensor pairs_view(const Tensor& contiguous);
/// The inverse of pairs_view.
Tensor from_pairs(const Tensor& pairs);
/// For kernels: √(Re² + Im²) of each number.
Tensor magnitudes(const Tensor& tensor);
/// For kernels: a new complex tensor from these parts, which have its shape.
Tensor with_parts(const Tensor& real, const Tensor& imag);

/// A row whose VJP is already valid for complex numbers: OpDef::complex_vjp.
inline OpDef with_complex_vjp(OpDef row) {
  row.complex_vjp = true;
  return row;
}

/// Runs the op's VJP. Most formulas are those of real numbers, dx = dy·f′(x); where all numbers are complex,
/// dz = conj(conj(dw)·f′(z)), so the cotangents and the results are conjugated, unless the row's VJP does so
/// itself.
Tensors run_vjp(const VjpContext& context);

}  // namespace tapedeck::ops
