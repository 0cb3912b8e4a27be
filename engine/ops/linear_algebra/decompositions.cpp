// Decompositions of matrices.
#include "engine/ops/core/cost.h"
#include "engine/ops/linear_algebra/matrices.h"

namespace tapedeck::ops {

// ---- cholesky ----
TAPEDECK_OP(cholesky_op) = {
    .name = "cholesky",
    .python_names = {"cholesky", "linalg.cholesky"},
    .inputs = {{.name = "input"}},
    .attributes = {},
    .shape_rule = like_square,
    .forward =
        [](const OpContext& c) {
          const MatrixShape shape = square_shape(c, 0);
          const Tensor input = contiguous(c.inputs[0]);
          Tensor out = allocate_output(c);
          const kernels::FailureText text =
              failure_text(c, shape.batch, "{o}: {i}{m} is not positive definite: pivot {p} is {v}");
          refuse(backend().cholesky(matrices(out, shape), input.raw(), out.writable_data<std::byte>(), text),
                 text);
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::outputs,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& l = c.outputs[0];
          const Tensor middle = lower_with_half_diagonal(product(l, c.cotangents[0], true));
          // L⁻ᵀ·middle·L⁻¹, the second factor applied to the transposed left one.
          const Tensor left = matrix_triangular_solve(l, middle, true, true);
          const Tensor s = matrix_triangular_solve(l, adjoint(left), true, true);
          return one((s + adjoint(s)) * 0.5);
        },
    .vjp_formula = "dA = ½(S + Sᵀ), S = L⁻ᵀ·Φ(Lᵀ·dL)·L⁻¹, Φ: the lower triangle, its diagonal halved",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double n = a.rows;  // Golub and Van Loan, algorithm 4.2.1
      return {a.matrices * (n * n * n / 3), cost::traffic(c)};
    },
    .doc =
        "Cholesky's decomposition of symmetric positive definite matrices: A = L·Lᵀ, of Hermitian ones "
        "L·Lᴴ.\n\n"
        "input: A, (…, n, n), any floating or complex dtype; only the lower triangle is read.\n"
        "Returns: L, lower triangular, dtype and shape of input. Gradient: Murray 2016, arXiv:1602.07527, "
        "(8), as a symmetric matrix.\n"
        "Errors: InvalidArgumentError for other shapes, and for a matrix that is not positive definite, "
        "saying which; TypeMismatchError for another dtype.",
    .takes_others = true,
    .complex_vjp = true,
};

// ---- qr ----
/// s, u, v; s alone without compute_uv.
static Tensors svd(const Tensor& tensor, bool full_matrices = false, bool compute_uv = true);

namespace {

/// For A with at least as many rows as columns: (dQ + Q·copyltu(M))·R⁻ᵀ, M = R·dRᵀ − dQᵀ·Q.
Tensor tall_qr_gradient(const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  Tensor m;
  if (dr) m = product(r, dr, false, true);
  if (dq) m = m ? m - product(dq, q, true) : -product(dq, q, true);
  const Tensor lower = matrix_band_part(m, -1, 0);
  // The diagonal of R is real.
  const Tensor symmetric = lower + adjoint(lower) - without_imaginary(matrix_band_part(m, 0, 0));
  const Tensor left = sum_of(dq, matmul(q, symmetric));
  return adjoint(matrix_triangular_solve(r, adjoint(left), false, false));
}

Tensors qr_vjp(const VjpContext& c) {
  const Tensor& a = c.inputs[0];
  const Tensor& q = c.outputs[0];
  const Tensor& r = c.outputs[1];
  const std::int64_t rows = a.dim(a.rank() - 2);
  const std::int64_t columns = a.dim(a.rank() - 1);
  if (a.count() == 0) return zero_gradient(c);
  if (rows > columns && c.get<bool>("full_matrices"))
    fail<UnimplementedError>("qr: no gradient with full_matrices for input ", to_string(a.shape()),
                             ", which has more rows than columns: the last columns of q are not unique");
  const Tensor& dq = c.cotangents[0];
  const Tensor& dr = c.cotangents[1];
  if (rows >= columns) return one(tall_qr_gradient(q, r, dq, dr));
  // A = [X | Y], R = [U | V]: X = Q·U and V = Qᵀ·Y (Roberts and Roberts 2020, arXiv:2009.10071).
  const std::int64_t more = columns - rows;
  const Tensor square = columns_of(r, 0, rows);
  if (!dr) {
    const Tensor dx = tall_qr_gradient(q, square, dq, {});
    const Tensor parts[] = {dx, zeros_like(columns_of(a, rows, more))};
    return one(concat(parts, -1));
  }
  const Tensor dv = columns_of(dr, rows, more);
  const Tensor through = product(columns_of(a, rows, more), dv, false, true);
  const Tensor dx = tall_qr_gradient(q, square, sum_of(dq, through), columns_of(dr, 0, rows));
  const Tensor parts[] = {dx, matmul(q, dv)};
  return one(concat(parts, -1));
}

}  // namespace

TAPEDECK_OP(qr_op) = {
    .name = "qr",
    .python_names = {"qr", "linalg.qr"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "full_matrices", .kind = AttributeKind::boolean, .fallback = false}},
    .shape_rule =
        [](const OpContext& c) {
          const MatrixShape shape = inexact_matrix_shape(c, 0);
          const std::int64_t k =
              c.get<bool>("full_matrices") ? shape.rows : std::min(shape.rows, shape.columns);
          TensorSpecs specs = spec(c.inputs[0].dtype(), joined(shape.batch, {shape.rows, k}));
          specs.push_back({c.inputs[0].dtype(), joined(shape.batch, {k, shape.columns})});
          return specs;
        },
    .forward =
        [](const OpContext& c) {
          const MatrixShape shape = matrix_shape(c, 0);
          const Tensor input = contiguous(c.inputs[0]);
          Tensors outputs = one(allocate_output(c));
          outputs.push_back(allocate_output(c, 1));
          backend().qr(matrices(input, shape), c.get<bool>("full_matrices"), input.raw(),
                       outputs[0].writable_data<std::byte>(), outputs[1].writable_data<std::byte>());
          return outputs;
        },
    .vjp = qr_vjp,
    .vjp_formula = "dA = (dQ + Q·copyltu(M))·R⁻ᵀ, M = R·dRᵀ − dQᵀ·Q, copyltu: the lower triangle, mirrored",
    .cost = [](const CostContext& c) -> OpCost {
      // Householder's reflections, and Q from them (Golub and Van Loan, 5.2.2 and 5.1.6).
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double m = a.rows, n = a.columns, k = std::min(m, n), q = cost::stack(c.outputs[0]).columns;
      const double reflections = 4 * m * n * k - 2 * (m + n) * k * k + 4 * k * k * k / 3;
      const double factor = 4 * m * q * k - 2 * (m + q) * k * k + 4 * k * k * k / 3;
      return {a.matrices * (reflections + factor), cost::traffic(c)};
    },
    .doc =
        "The QR decomposition of matrices, A = Q·R, by Householder's reflections.\n\n"
        "input: A, (…, m, n), any floating or complex dtype; full_matrices: Q is (…, m, m) and R (…, m, n), "
        "instead of "
        "(…, m, k) and (…, k, n) with k = min(m, n).\n"
        "Returns: (q, r), the dtype of input; Q has orthonormal columns, R is upper triangular, with a real "
        "diagonal. Gradient: "
        "Walter and Lehmann 2018, arXiv:1009.6112, (10), where the first columns are independent; none "
        "with full_matrices and m > n (UnimplementedError).\n"
        "Errors: InvalidArgumentError for fewer than 2 axes; TypeMismatchError for another dtype.",
    .takes_others = true,
    .complex_vjp = true,
    .results = {.fields = {"q", "r"}, .tuple_name = "Qr"},
};

// ---- svd ----
namespace {

/// The gradient of A = U·diag(s)·Vᴴ with min(m, n) columns in U and V.
Tensor svd_gradient(const Tensor& real_s, const Tensor& u, const Tensor& v, const Tensor& ds, Tensor du,
                    const Tensor& dv) {
  const Tensor s = beside(real_s, u);
  const std::int64_t k = s.dim(s.rank() - 1);
  const bool turns = is_complex(u.dtype()) && (du || dv);
  if (turns) du = without_turn(u, du, sum_of(du ? along_columns(u, du) : du, dv ? along_columns(v, dv) : dv));
  Tensor middle;
  if (du || dv) {
    const Tensor f = beside(reciprocal_differences(square(real_s)), u);
    if (du) {
      const Tensor turn = product(u, du, true);
      middle = f * (turn - adjoint(turn)) * as_row(s);
      // The angle between a column of U and that of V (Wan and Zhang 2019, arXiv:1909.02659).
      if (turns) {
        const Tensor angle = imag(matrix_diag_part(turn)) * safe_reciprocal(real_s);
        middle = middle + matrix_diag(complex(zeros_like(angle), angle));
      }
    }
    if (dv) {
      const Tensor turn = product(v, dv, true);
      middle = sum_of(middle, as_column(s) * (f * (turn - adjoint(turn))));
    }
  }
  if (ds) middle = sum_of(middle, matrix_diag(beside(ds, u)));
  Tensor gradient = product(matmul(u, middle), v, false, true);
  // What leaves the spaces that U and V span.
  if (du && u.dim(u.rank() - 2) > k) {
    const Tensor scaled = du * as_row(safe_reciprocal(s));
    gradient = gradient + product(scaled - matmul(u, product(u, scaled, true)), v, false, true);
  }
  if (dv && v.dim(v.rank() - 2) > k) {
    const Tensor scaled = dv * as_row(safe_reciprocal(s));
    gradient = gradient + product(u, scaled - matmul(v, product(v, scaled, true)), false, true);
  }
  return gradient;
}

/// What one column of full_matrices beyond the others adds, for a tall A: it stays orthogonal to them, so
/// d(last) = −U·S⁻¹·Vᴴ·dAᴴ·last.
Tensor last_column_gradient(const Tensor& last, const Tensor& u, const Tensor& s, const Tensor& v,
                            const Tensor& cotangent) {
  const Tensor free =
      is_complex(u.dtype()) ? without_turn(last, cotangent, along_columns(last, cotangent)) : cotangent;
  const Tensor along = as_column(safe_reciprocal(beside(s, u))) * product(u, free, true);
  return -product(last, matmul(v, along), false, true);
}

Tensors svd_vjp(const VjpContext& c) {
  const Tensor& a = c.inputs[0];
  if (a.count() == 0) return zero_gradient(c);
  const bool has_vectors = c.get<bool>("compute_uv");
  if (!has_vectors) {
    const Tensors all = svd(a);
    return one(svd_gradient(all[0], all[1], all[2], c.cotangents[0], {}, {}));
  }
  const std::int64_t rows = a.dim(a.rank() - 2);
  const std::int64_t columns = a.dim(a.rank() - 1);
  const Tensor& s = c.outputs[0];
  if (!c.get<bool>("full_matrices") || rows == columns)
    return one(
        svd_gradient(s, c.outputs[1], c.outputs[2], c.cotangents[0], c.cotangents[1], c.cotangents[2]));
  const std::int64_t k = std::min(rows, columns);
  const Tensor u = columns_of(c.outputs[1], 0, k);
  const Tensor v = columns_of(c.outputs[2], 0, k);
  if (!c.cotangents[1] && !c.cotangents[2]) return one(svd_gradient(s, u, v, c.cotangents[0], {}, {}));
  if (std::abs(rows - columns) > 1)
    fail<UnimplementedError>("svd: no gradient of u and v with full_matrices for tensor ",
                             to_string(a.shape()), ": their last columns are not unique");
  const auto first_columns = [&](const Tensor& cotangent) {
    return cotangent ? columns_of(cotangent, 0, k) : Tensor();
  };
  const Tensor gradient =
      svd_gradient(s, u, v, c.cotangents[0], first_columns(c.cotangents[1]), first_columns(c.cotangents[2]));
  const bool tall = rows > columns;
  const Tensor& side = c.cotangents[tall ? 1 : 2];
  if (!side) return one(gradient);
  const Tensor last = columns_of(c.outputs[tall ? 1 : 2], k, 1);
  const Tensor turn = last_column_gradient(last, tall ? u : v, s, tall ? v : u, columns_of(side, k, 1));
  return one(gradient + (tall ? turn : adjoint(turn)));
}

}  // namespace

TAPEDECK_OP(svd_op) = {
    .name = "svd",
    .python_names = {"svd", "linalg.svd"},
    .inputs = {{.name = "tensor"}},
    .attributes = {{.name = "full_matrices", .kind = AttributeKind::boolean, .fallback = false},
                   {.name = "compute_uv", .kind = AttributeKind::boolean, .fallback = true}},
    .shape_rule =
        [](const OpContext& c) {
          const MatrixShape shape = inexact_matrix_shape(c, 0);
          const DType dtype = c.inputs[0].dtype();
          const std::int64_t k = std::min(shape.rows, shape.columns);
          const bool full = c.get<bool>("full_matrices");
          TensorSpecs specs = spec(real_dtype(dtype), joined(shape.batch, {k}));
          if (c.get<bool>("compute_uv")) {
            specs.push_back({dtype, joined(shape.batch, {shape.rows, full ? shape.rows : k})});
            specs.push_back({dtype, joined(shape.batch, {shape.columns, full ? shape.columns : k})});
          }
          return specs;
        },
    .forward =
        [](const OpContext& c) {
          const MatrixShape shape = matrix_shape(c, 0);
          const Tensor input = contiguous(c.inputs[0]);
          Tensors outputs;
          for (std::size_t i = 0; i < c.outputs.size(); ++i) outputs.push_back(allocate_output(c, i));
          const auto values = [&](std::size_t i) -> void* {
            return i < outputs.size() ? outputs[i].writable_data<std::byte>() : nullptr;
          };
          backend().svd(matrices(input, shape), c.get<bool>("full_matrices"), input.raw(), values(0),
                        values(1), values(2));
          return outputs;
        },
    .vjp = svd_vjp,
    .vjp_formula =
        "dA = U·[(F∘(Uᵀ·dU − dUᵀ·U))·S + S·(F∘(Vᵀ·dV − dVᵀ·V)) + dS]·Vᵀ + (I − U·Uᵀ)·dU·S⁻¹·Vᵀ + "
        "U·S⁻¹·dVᵀ·(I − "
        "V·Vᵀ), Fᵢⱼ = 1 / (sⱼ² − sᵢ²)",
    .cost = [](const CostContext& c) -> OpCost {
      // Golub and Van Loan, figure 8.6.1: Golub-Reinsch with U and V, or the values alone.
      const cost::Stack a = cost::stack(c.inputs[0]);
      const double m = std::max(a.rows, a.columns), n = std::min(a.rows, a.columns);
      const bool vectors = cost::flag(c, "compute_uv"), full = cost::flag(c, "full_matrices");
      const double each = !vectors ? 4 * m * n * n - 4 * n * n * n / 3
                          : full   ? 4 * m * m * n + 8 * m * n * n + 9 * n * n * n
                                   : 14 * m * n * n + 8 * n * n * n;
      return {a.matrices * each, cost::traffic(c)};
    },
    .doc =
        "The singular value decomposition of matrices: A = U·diag(s)·Vᵀ, of complex ones U·diag(s)·Vᴴ.\n\n"
        "tensor: A, (…, m, n), any floating or complex dtype; full_matrices: U is (…, m, m) and V (…, n, n), "
        "instead of "
        "min(m, n) columns; compute_uv: False for s alone.\n"
        "Returns: (s, u, v), or s, the dtype of tensor, s that of its parts; s descending; the first element "
        "of a column of u "
        "that "
        "is not small beside its largest is positive. A matrix that holds NaN or ∞ gives "
        "NaN. Gradient: Townsend 2016, \"Differentiating the singular value decomposition\"; equal singular "
        "values contribute 0; u and v of full_matrices have none where m and n differ by more than 1, as in "
        "TensorFlow (UnimplementedError).\n"
        "Errors: InvalidArgumentError for fewer than 2 axes; TypeMismatchError for another dtype.",
    .takes_others = true,
    .complex_vjp = true,
    .results = {.fields = {"s", "u", "v"}, .alone_without = "compute_uv"},
};
static Tensors svd(const Tensor& tensor, bool full_matrices, bool compute_uv) {
  return run_op(svd_op, {&tensor, 1}, {full_matrices, compute_uv});
}

}  // namespace tapedeck::ops
