// Determinants. Their first derivatives are polynomials of the matrix, so they exist at singular ones, too.
#include "engine/ops/core/cost.h"
#include "engine/ops/linear_algebra/matrices.h"

namespace tapedeck::ops {

static Tensor matrix_determinant(const Tensor& input);
static std::pair<Tensor, Tensor> slogdet(const Tensor& input);
static Tensor matrix_cofactor(const Tensor& input);
static Tensor matrix_cofactor_derivative(const Tensor& input, const Tensor& direction);

namespace {

Tensor trace_per_matrix(const Tensor& a) {
  return per_matrix(trace(a));
}

/// With B = A⁻¹, X = B·dY and Z = B·E: the remaining factor of the third derivative of det A in the
/// directions E and dY.
Tensor third_derivative(const Tensor& a, const Tensor& b, const Tensor& direction, const Tensor& cotangent) {
  const Tensor x = matmul(b, cotangent), z = matmul(b, direction);
  const Tensor xz = matmul(x, z), zx = matmul(z, x);
  const Tensor of_x = trace_per_matrix(x), of_z = trace_per_matrix(z);
  const Tensor product = (of_x * of_z - trace_per_matrix(xz)) * b - of_x * matmul(z, b) -
                         of_z * matmul(x, b) + matmul(xz + zx, b);
  return per_matrix(matrix_determinant(a)) * matrix_transpose(product);
}

/// The inverse of the input. Throws InvalidArgumentError, naming this VJP's op and the matrix, if it is
/// singular.
Tensor inverse_or_refuse(const VjpContext& c, bool adjoint, const char* reason) {
  try {
    return matrix_inverse(c.inputs[0], adjoint);
  } catch (const InvalidArgumentError&) {
    const std::vector<double> signs = abs(slogdet(c.inputs[0]).first).to_vector();
    const auto singular = std::find(signs.begin(), signs.end(), 0.0);
    if (singular == signs.end()) throw;
    const OpContext call{c.op, c.inputs, c.attributes, {}};
    fail<InvalidArgumentError>(c.op.name, ": ",
                               matrix_name(call, 0, square_shape(call, 0).batch, singular - signs.begin()),
                               " is singular: ", reason);
  }
}

/// The cotangent of ln det A, whose real part is log |det| and whose imaginary part turns the sign: that of
/// the sign of a complex matrix counts, too. Undefined where there is none.
Tensor logarithm_weight(const VjpContext& c) {
  const Tensor& of_log = c.cotangents[1];
  if (!is_complex(c.inputs[0].dtype())) return of_log;
  Tensor weight = of_log ? without_imaginary(of_log) : Tensor();
  if (!c.cotangents[0]) return weight;
  const Tensor turn = imag(c.cotangents[0] * conj(slogdet(c.inputs[0]).first));
  return sum_of(weight, complex(zeros_shaped_like(turn), turn));
}

}  // namespace

// ---- matrix_determinant ----
TAPEDECK_OP(matrix_determinant_op) = {
    .name = "matrix_determinant",
    .python_names = {"matrix_determinant", "linalg.det"},
    .inputs = {{.name = "input"}},
    .attributes = {},
    .shape_rule = [](const OpContext& c) { return spec(c.inputs[0].dtype(), square_shape(c, 0).batch); },
    .forward =
        [](const OpContext& c) {
          const MatrixShape shape = square_shape(c, 0);
          const Tensor input = contiguous(c.inputs[0]);
          Tensor out = allocate_output(c);
          backend().determinant(matrices(input, shape), input.raw(), out.writable_data<std::byte>());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) { return one(per_matrix(c.cotangents[0]) * matrix_cofactor(c.inputs[0])); },
    .vjp_formula = "dA = dz·cof A, the cofactors: z·A⁻ᵀ where A has an inverse",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows;
      return {a.matrices * (2 * n * n * n / 3), cost::traffic(c)};
    },
    .doc = std::string("The determinant of square matrices.\n\ninput: (…, n, n), ") + numbers_doc +
           ".\nReturns: the dtype of input, its shape without the last two axes; 1 for n = 0. Gradient: the "
           "cofactors, also of singular matrices (Stewart 1998, \"On the adjugate matrix\", Linear Algebra "
           "and its "
           "Applications 283), and of those once more; beyond the second order it needs an inverse.\n"
           "Errors: InvalidArgumentError for other shapes; TypeMismatchError for another dtype.",
    .takes_others = true,
};
static Tensor matrix_determinant(const Tensor& input) {
  return run_op1(matrix_determinant_op, {input});
}

// ---- matrix_cofactor ----
TAPEDECK_OP(matrix_cofactor_op) = {
    .name = "matrix_cofactor",
    .python_names = {},  // the gradient of matrix_determinant
    .inputs = {{.name = "input"}},
    .attributes = {},
    .shape_rule = like_square,
    .forward =
        [](const OpContext& c) {
          const Tensor input = contiguous(c.inputs[0]);
          Tensor out = allocate_output(c);
          backend().cofactor(matrices(input, square_shape(c, 0)), input.raw(),
                             out.writable_data<std::byte>());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp = [](const VjpContext& c) { return one(matrix_cofactor_derivative(c.inputs[0], c.cotangents[0])); },
    .vjp_formula = "dA = D, D: the derivative of the cofactors of A in the direction dY",
    .doc =
        std::string(
            "The cofactors of square matrices: the gradient of the determinant, det(A)·A⁻ᵀ where A has "
            "an inverse.\n\ninput: A, (…, n, n), ") +
        numbers_doc +
        ".\nReturns: dtype and shape of input; of a matrix of rank n − 1 one of rank 1, of lower rank 0. By "
        "LU "
        "with partial pivoting, and by the singular values beside a singular matrix (Stewart 1998, \"On the "
        "adjugate matrix\", Linear Algebra and its Applications 283). A matrix that holds NaN or ∞ gives "
        "NaN.\n"
        "Errors: InvalidArgumentError for other shapes; TypeMismatchError for another dtype.",
    .takes_others = true,
    .gpu_kernel = false,
};
static Tensor matrix_cofactor(const Tensor& input) {
  return run_op1(matrix_cofactor_op, {input});
}

// ---- matrix_cofactor_derivative ----
TAPEDECK_OP(matrix_cofactor_derivative_op) = {
    .name = "matrix_cofactor_derivative",
    .python_names = {},  // the second gradient of matrix_determinant
    .inputs = {{.name = "input"}, {.name = "direction"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_same_dtype(c, 0, 1);
          if (c.inputs[0].shape() != c.inputs[1].shape())
            fail<InvalidArgumentError>(c.op.name, ": input ", to_string(c.inputs[0].shape()),
                                       " and direction ", to_string(c.inputs[1].shape()), " differ");
          return like_square(c);
        },
    .forward =
        [](const OpContext& c) {
          const Tensor input = contiguous(c.inputs[0]), direction = contiguous(c.inputs[1]);
          Tensor out = allocate_output(c);
          backend().cofactor_derivative(matrices(input, square_shape(c, 0)), input.raw(), direction.raw(),
                                        out.writable_data<std::byte>());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(2);
          if (c.wanted[1]) gradients[1] = matrix_cofactor_derivative(c.inputs[0], c.cotangents[0]);
          if (!c.wanted[0]) return gradients;
          const Tensor inverse = inverse_or_refuse(
              c, false,
              "derivatives of a determinant beyond the second order need a matrix that has an inverse");
          gradients[0] = third_derivative(c.inputs[0], inverse, c.inputs[1], c.cotangents[0]);
          return gradients;
        },
    .vjp_formula =
        "dE = D, dA = S, with A input, E direction, D: the derivative of the cofactors of A in the direction "
        "dY, "
        "S: their second derivative in the directions E and dY",
    .doc =
        std::string("The derivative of the cofactors of square matrices in a direction, which is linear in "
                    "it.\n\ninput: A, (…, n, n), ") +
        numbers_doc +
        "; direction: E, dtype and shape of input.\n"
        "Returns: dtype and shape of input; det(A)·(tr(A⁻¹·E)·A⁻¹ − A⁻¹·E·A⁻¹)ᵀ where A has an inverse, and "
        "its "
        "continuation elsewhere. A matrix that holds NaN or ∞ gives NaN. Gradient: with respect to A where "
        "it has an inverse (InvalidArgumentError).\n"
        "Errors: InvalidArgumentError for other or different shapes; TypeMismatchError for other or "
        "different "
        "dtypes.",
    .takes_others = true,
    .gpu_kernel = false,
};
static Tensor matrix_cofactor_derivative(const Tensor& input, const Tensor& direction) {
  return run_op1(matrix_cofactor_derivative_op, {input, direction});
}

// ---- log_matrix_determinant ----
TAPEDECK_OP(log_matrix_determinant_op) = {
    .name = "log_matrix_determinant",
    .python_names = {"linalg.slogdet"},
    .inputs = {{.name = "input"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          TensorSpecs specs = spec(c.inputs[0].dtype(), square_shape(c, 0).batch);
          specs.push_back(specs[0]);
          return specs;
        },
    .forward =
        [](const OpContext& c) {
          const MatrixShape shape = square_shape(c, 0);
          const Tensor input = contiguous(c.inputs[0]);
          Tensors outputs = one(allocate_output(c));
          outputs.push_back(allocate_output(c, 1));
          backend().log_determinant(matrices(input, shape), input.raw(),
                                    outputs[0].writable_data<std::byte>(),
                                    outputs[1].writable_data<std::byte>());
          return outputs;
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          const Tensor weight = logarithm_weight(c);
          if (!weight) return zero_gradient(c);
          return one(per_matrix(weight) *
                     inverse_or_refuse(
                         c, true, "log |det| is −∞ there and has no gradient; matrix_determinant has one"));
        },
    .vjp_formula = "dA = d(log_abs_determinant)·A⁻ᵀ",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows;
      return {a.matrices * (2 * n * n * n / 3), cost::traffic(c)};
    },
    .doc =
        std::string("Sign and logarithm of the determinant, det = sign·e^log_abs, where the determinant "
                    "itself might overflow.\n\ninput: (…, n, n), ") +
        numbers_doc +
        ".\nReturns: (sign, log_abs), the dtype of input, its shape without the last two axes; 0 and −∞ for "
        "a "
        "singular matrix. Gradient: Giles 2008, 2.2.4, of log_abs; InvalidArgumentError for a singular "
        "matrix, saying "
        "which.\n"
        "Errors: InvalidArgumentError for other shapes; TypeMismatchError for another dtype.",
    .takes_others = true,
    .complex_vjp = true,
    .results = {.fields = {"sign", "log_abs_determinant"}, .tuple_name = "LogMatrixDeterminant"},
};
static std::pair<Tensor, Tensor> slogdet(const Tensor& input) {
  return run_op2(log_matrix_determinant_op, input);
}

}  // namespace tapedeck::ops
