// Products of matrices and vectors.
#include <algorithm>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/cost.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/elementwise/complex.h"

namespace tapedeck::ops {
namespace {

/// A batch of matrices in the kernel's form: row-major with a leading dimension, possibly transposed.
struct Matrices {
  Tensor tensor;
  bool transposed;
  std::int64_t leading;
};

/// Depends on the strides: a transposed view becomes a flag, only other layouts are copied.
Matrices read_matrices(const Tensor& tensor, bool transpose) {
  const int last = tensor.rank() - 1;
  const std::int64_t rows = tensor.dim(last - 1);
  const std::int64_t columns = tensor.dim(last);
  const std::int64_t row_stride = tensor.strides()[last - 1];
  const std::int64_t column_stride = tensor.strides()[last];
  if ((column_stride == 1 || columns <= 1) && (row_stride >= columns || rows <= 1))
    if (row_stride > 0 || rows <= 1)
      return {tensor, transpose, rows <= 1 ? std::max<std::int64_t>(1, columns) : row_stride};
  if ((row_stride == 1 || rows <= 1) && (column_stride >= rows || columns <= 1))
    if (column_stride > 0 || columns <= 1)
      return {tensor, !transpose, columns <= 1 ? std::max<std::int64_t>(1, rows) : column_stride};
  return {contiguous(tensor), transpose, columns};
}

/// How the operands are used: the adjoint of complex matrices is transposed and conjugated.
struct Sides {
  bool transpose_a, transpose_b, adjoint_a, adjoint_b;

  template <class Context>
  explicit Sides(const Context& c)
      : transpose_a(c.template get<bool>("transpose_a")),
        transpose_b(c.template get<bool>("transpose_b")),
        adjoint_a(c.template get<bool>("adjoint_a")),
        adjoint_b(c.template get<bool>("adjoint_b")) {}
  bool turns_a() const { return transpose_a || adjoint_a; }
  bool turns_b() const { return transpose_b || adjoint_b; }
};

Shape batch_of(const Tensor& tensor) {
  return Shape(tensor.shape().span().first(static_cast<std::size_t>(tensor.rank() - 2)));
}

/// First element of each matrix, over the broadcast batch.
std::vector<const void*> first_elements(const Tensor& tensor, const Shape& batch) {
  const int added = batch.rank() + 2 - tensor.rank();
  std::vector<const void*> pointers;
  pointers.reserve(static_cast<std::size_t>(element_count(batch)));
  const auto size = static_cast<std::int64_t>(item_size(tensor.dtype()));
  for (std::int64_t i = 0; i < element_count(batch); ++i) {
    std::int64_t rest = i;
    std::int64_t offset = 0;
    for (int axis = batch.rank() - 1; axis >= 0; --axis) {
      const std::int64_t index = rest % batch[axis];
      rest /= batch[axis];
      if (axis >= added && tensor.dim(axis - added) != 1) offset += index * tensor.strides()[axis - added];
    }
    pointers.push_back(tensor.raw() + offset * size);
  }
  return pointers;
}

TensorSpecs matmul_shape(const OpContext& c) {
  require_same_dtype(c, 0, 1);
  require_kind(c, 0, Kind::numeric);
  const Tensor& a = c.inputs[0];
  const Tensor& b = c.inputs[1];
  for (const Tensor* matrix : {&a, &b})
    if (matrix->rank() < 2)
      fail<InvalidArgumentError>("matmul: ", matrix == &a ? "a " : "b ", to_string(matrix->shape()),
                                 " is not a matrix; needs at least 2 axes");
  const Sides sides(c);
  const bool twice_a = sides.transpose_a && sides.adjoint_a;
  if (twice_a || (sides.transpose_b && sides.adjoint_b))
    fail<InvalidArgumentError>("matmul: transpose_", twice_a ? "a" : "b", " and adjoint_",
                               twice_a ? "a" : "b", " are both True; give one of them");
  const bool transpose_a = sides.turns_a();
  const bool transpose_b = sides.turns_b();
  const std::int64_t inner_a = a.dim(a.rank() - (transpose_a ? 2 : 1));
  const std::int64_t inner_b = b.dim(b.rank() - (transpose_b ? 1 : 2));
  if (inner_a != inner_b)
    fail<InvalidArgumentError>("matmul: a ", to_string(a.shape()), transpose_a ? " transposed" : "",
                               " and b ", to_string(b.shape()), transpose_b ? " transposed" : "",
                               ": inner dimensions ", inner_a, " and ", inner_b, " differ");
  Shape shape =
      a.rank() == 2 && b.rank() == 2 ? Shape{} : broadcast_shapes(batch_of(a), batch_of(b), "matmul");
  shape.push_back(a.dim(a.rank() - (transpose_a ? 1 : 2)));
  shape.push_back(b.dim(b.rank() - (transpose_b ? 2 : 1)));
  return spec(a.dtype(), shape);
}

/// Four products of real matrices.
Tensors complex_matmul(const OpContext& c) {
  const QuietScope quiet;
  const Sides sides(c);
  const auto product = [&](int a_part, int b_part) {
    const Tensor result = matmul(part_view(c.inputs[0], a_part), part_view(c.inputs[1], b_part),
                                 sides.turns_a(), sides.turns_b());
    const bool minus = (a_part == 1 && sides.adjoint_a) != (b_part == 1 && sides.adjoint_b);
    return minus ? -result : result;
  };
  return one(with_parts(product(0, 0) - product(1, 1), product(0, 1) + product(1, 0)));
}

Tensors matmul_forward(const OpContext& c) {
  if (is_complex(c.outputs[0].dtype)) [[unlikely]]
    return complex_matmul(c);
  Tensor out = allocate_output(c);
  const int rank = out.rank();
  const Sides sides(c);
  Matrices a = read_matrices(c.inputs[0], sides.turns_a());
  const Matrices b = read_matrices(c.inputs[1], sides.turns_b());
  const int a_rank = a.tensor.rank();
  kernels::MatmulSize size{
      out.dim(rank - 2), out.dim(rank - 1), a.tensor.dim(a_rank - (sides.turns_a() ? 2 : 1)),
      a.transposed,      b.transposed,      a.leading,
      b.leading};
  std::byte* target = out.writable_data<std::byte>();
  if (b.tensor.rank() == 2 && a_rank > 2 && !a.transposed && a.tensor.contiguous()) {
    size.m = out.count() / std::max<std::int64_t>(1, size.n);  // many matrices times one: one tall matrix
    const void* left = a.tensor.raw();
    const void* right = b.tensor.raw();
    backend().matmul(out.dtype(), size, {&left, 1}, {&right, 1}, target);
  } else if (rank == 2) {
    const void* left = a.tensor.raw();
    const void* right = b.tensor.raw();
    backend().matmul(out.dtype(), size, {&left, 1}, {&right, 1}, target);
  } else {
    const Shape batch = batch_of(out);
    backend().matmul(out.dtype(), size, first_elements(a.tensor, batch), first_elements(b.tensor, batch),
                     target);
  }
  return one(std::move(out));
}

Tensors matmul_vjp(const VjpContext& c) {
  const Sides sides(c);
  const bool adjoint_a = is_complex(c.inputs[0].dtype()) && sides.adjoint_a;
  const bool adjoint_b = is_complex(c.inputs[1].dtype()) && sides.adjoint_b;
  const Tensor a = adjoint_a && c.wanted[1] ? conj(c.inputs[0]) : c.inputs[0];
  const Tensor b = adjoint_b && c.wanted[0] ? conj(c.inputs[1]) : c.inputs[1];
  const Tensor& g = c.cotangents[0];
  const bool ta = sides.turns_a();
  const bool tb = sides.turns_b();
  Tensors gradients(2);
  if (c.wanted[0])
    gradients[0] = unbroadcast(ta ? matmul(b, g, tb, true) : matmul(g, b, false, !tb), a.shape());
  if (c.wanted[1])
    gradients[1] = unbroadcast(tb ? matmul(g, a, true, ta) : matmul(a, g, !ta, false), b.shape());
  if (adjoint_a && c.wanted[0]) gradients[0] = conj(gradients[0]);
  if (adjoint_b && c.wanted[1]) gradients[1] = conj(gradients[1]);
  return gradients;
}

}  // namespace

TAPEDECK_OP(matmul_op) = {
    .name = "matmul",
    .python_names = {"matmul", "linalg.matmul"},
    .inputs = {{.name = "a"}, {.name = "b"}},
    .attributes = {{.name = "transpose_a", .kind = AttributeKind::boolean, .fallback = false},
                   {.name = "transpose_b", .kind = AttributeKind::boolean, .fallback = false},
                   {.name = "adjoint_a", .kind = AttributeKind::boolean, .fallback = false},
                   {.name = "adjoint_b", .kind = AttributeKind::boolean, .fallback = false}},
    .shape_rule = matmul_shape,
    .forward = matmul_forward,
    .form = Form::matmul,
    .vjp_reads = VjpReads::inputs,
    .vjp = matmul_vjp,
    .vjp_formula = "dA = dC·Bᵀ, dB = Aᵀ·dC",
    .cost = [](const CostContext& c) -> OpCost {
      const cost::Stack a = cost::stack(c.inputs[0]);
      const bool transposed = cost::flag(c, "transpose_a") || cost::flag(c, "adjoint_a");
      const double inner = transposed ? a.rows : a.columns;
      const double products = cost::count(c.outputs[0]) * inner * cost::real_products(c.outputs[0]);
      return {2 * products, cost::traffic(c)};
    },
    .doc =
        "The product of two matrices: C[i, j] = Σₖ A[i, k]·B[k, j].\n\n"
        "a: (…, m, k), or (…, k, m) with transpose_a; b: (…, k, n), or (…, n, k) with transpose_b; any "
        "numeric dtype, one for both. Leading axes broadcast by NumPy's rule. adjoint_a, "
        "adjoint_b: "
        "as transpose_a and transpose_b, and of complex numbers the conjugates.\n"
        "Returns: (…, m, n), the dtype of both. Transposed operands are read in place.\n"
        "Errors: InvalidArgumentError for fewer than 2 axes, inner dimensions that differ, both flags for "
        "one operand, or leading axes "
        "that do "
        "not broadcast; TypeMismatchError for other or different dtypes.",
    .python_hints = {"a_is_sparse", "b_is_sparse"},
    .half_products = true,
    .takes_others = true,
    .uint64_mapping = Uint64Mapping::bits,
};
TAPEDECK_FACTS(matmul_op) = {.flat = facts::other_factor};
Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  return run_op1(matmul_op, {a, b}, {transpose_a, transpose_b, false, false});
}

// ---- dot ----
TAPEDECK_OP(dot_op) = {
    .name = "dot",
    .python_names = {},
    .inputs = {{.name = "x"}, {.name = "y"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_same_dtype(c, 0, 1);
          require_kind(c, 0, Kind::numeric);
          if (c.inputs[0].shape() != c.inputs[1].shape())
            fail<InvalidArgumentError>("dot: x ", to_string(c.inputs[0].shape()), " and y ",
                                       to_string(c.inputs[1].shape()), " differ in shape");
          return spec(c.inputs[0].dtype(), {});
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor x = contiguous(c.inputs[0]);
          const Tensor y = contiguous(c.inputs[1]);
          backend().dot(x.dtype(), x.raw(), y.raw(), x.count(), out.writable_data<std::byte>());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          Tensors gradients(2);
          if (c.wanted[0]) gradients[0] = c.cotangents[0] * c.inputs[1];
          if (c.wanted[1]) gradients[1] = c.cotangents[0] * c.inputs[0];
          return gradients;
        },
    .vjp_formula = "dx = dz·y, dy = dz·x",
    .cost = cost::per_input<2>,
    .doc =
        "The inner product of two tensors of one shape: Σ x[i]·y[i] over all elements, in one pass.\n\n"
        "x, y: any numeric dtype, one for both, and one shape.\n"
        "Returns: a scalar of that dtype.\n"
        "Errors: InvalidArgumentError for different shapes; TypeMismatchError for other or different dtypes.",
};
Tensor dot(const Tensor& x, const Tensor& y) {
  return run_op1(dot_op, {x, y});
}

// ---- axpby ----
TAPEDECK_OP(axpby_op) = {
    .name = "axpby",
    .python_names = {"math.axpby"},
    .inputs = {{.name = "a"}, {.name = "x"}, {.name = "b"}, {.name = "y"}},
    .attributes = {},
    .shape_rule =
        [](const OpContext& c) {
          require_kind(c, 1, Kind::floating);
          const Shape& shape = c.inputs[1].shape();
          for (const std::size_t i : {0, 2, 3}) require_same_dtype(c, 1, i);
          for (const std::size_t i : {0, 2})
            if (c.inputs[i].rank() != 0)
              fail<InvalidArgumentError>("axpby: ", c.op.inputs[i].name, " has the shape ",
                                         to_string(c.inputs[i].shape()), "; a scalar is needed");
          if (c.inputs[3].shape() != shape)
            fail<InvalidArgumentError>("axpby: x ", to_string(shape), " and y ",
                                       to_string(c.inputs[3].shape()), " differ in shape");
          return spec(c.inputs[1].dtype(), shape);
        },
    .forward =
        [](const OpContext& c) {
          Tensor out = allocate_output(c);
          const Tensor x = on_op_device(contiguous(c.inputs[1]));
          const Tensor y = on_op_device(contiguous(c.inputs[3]));
          backend().scaled_sum(x.dtype(), single(c.inputs[0]), x.raw(), single(c.inputs[2]), y.raw(),
                               out.writable_data<std::byte>(), out.count());
          return one(std::move(out));
        },
    .vjp_reads = VjpReads::inputs,
    .vjp =
        [](const VjpContext& c) {
          const Tensor& dz = c.cotangents[0];
          Tensors gradients(4);
          if (c.wanted[0]) gradients[0] = dot(dz, c.inputs[1]);
          if (c.wanted[1]) gradients[1] = c.inputs[0] * dz;
          if (c.wanted[2]) gradients[2] = dot(dz, c.inputs[3]);
          if (c.wanted[3]) gradients[3] = c.inputs[2] * dz;
          return gradients;
        },
    .vjp_formula = "da = Σ dz·x, dx = a·dz, db = Σ dz·y, dy = b·dz",
    .cost = cost::per_output<3>,
    .doc =
        "The sum of two scaled tensors in one pass over memory: a·x + b·y (as in BLAS's extensions).\n\n"
        "x, y: any floating dtype, one shape; a, b: scalars of that dtype.\n"
        "Returns: that dtype and shape.\n"
        "Errors: InvalidArgumentError for different shapes, and if a or b is not a scalar; TypeMismatchError "
        "for "
        "other or different dtypes.",
    .immediates = true,
};
Tensor axpby(const Tensor& a, const Tensor& x, const Tensor& b, const Tensor& y) {
  return run_op1(axpby_op, {a, x, b, y});
}

}  // namespace tapedeck::ops
