// Matrix products.
#include "engine/cpu/matmul.h"

#include "engine/ops/interrupt.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

namespace tapedeck {

using namespace rules;

namespace {

bool transposes(const Attributes& attributes, std::size_t input) { return attributes.get<bool>(input); }

TensorSpecs matmul_rule(const OpContext& c) {
  const Tensor &a = c.inputs[0], &b = c.inputs[1];
  same_dtype(c);
  require(c, 0, a.dtype() != DType::bool_, "numbers");
  for (std::size_t i = 0; i < 2; ++i)
    if (c.inputs[i].rank() < 2)
      fail<InvalidArgumentError>("matmul: ", describe(c, i), " has ", c.inputs[i].rank(), " axes; it takes matrices, of 2 or more");
  const auto last = [&](const Tensor& x, int back, bool transposed) { return x.dim(x.rank() - (transposed ? 3 - back : back)); };
  const bool ta = transposes(c.attributes, 0), tb = transposes(c.attributes, 1);
  const std::int64_t rows = last(a, 2, ta), inner = last(a, 1, ta), other = last(b, 2, tb), columns = last(b, 1, tb);
  if (inner != other)
    fail<InvalidArgumentError>("matmul: a ", to_string(a.shape()), ta ? " transposed" : "", " and b ", to_string(b.shape()),
                               tb ? " transposed" : "", ": inner dimensions ", inner, " and ", other, " differ");
  const Shape batch_a(a.shape().span().first(static_cast<std::size_t>(a.rank() - 2)));
  const Shape batch_b(b.shape().span().first(static_cast<std::size_t>(b.rank() - 2)));
  Shape shape = batch_a == batch_b ? batch_a : broadcast_shapes(batch_a, batch_b, "matmul");
  shape.push_back(rows);
  shape.push_back(columns);
  return one(a.dtype(), shape);
}

/// How a matrix's last two axes lie in memory: a flag instead of a copy where one of them is dense.
struct Layout {
  Tensor tensor;  ///< x, or a dense copy of it
  cpu::MatrixOperand operand;
};
Layout layout_of(const Tensor& x, bool transposed) {
  const int rank = x.rank();
  const std::int64_t rows = x.dim(rank - 2), columns = x.dim(rank - 1);
  const std::int64_t row_stride = x.strides()[rank - 2], column_stride = x.strides()[rank - 1];
  if ((column_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1) && row_stride >= 0)
    return {x, {nullptr, std::max(row_stride, std::max<std::int64_t>(columns, 1)), transposed}};
  if ((row_stride == 1 || rows == 1) && (column_stride >= rows || columns == 1) && column_stride >= 0)
    return {x, {nullptr, std::max(column_stride, std::max<std::int64_t>(rows, 1)), !transposed}};
  return {x.make_contiguous(), {nullptr, std::max<std::int64_t>(columns, 1), transposed}};
}

Tensors matmul_forward(const OpContext& c) {
  const bool ta = transposes(c.attributes, 0), tb = transposes(c.attributes, 1);
  Layout a = layout_of(c.inputs[0], ta), b = layout_of(c.inputs[1], tb);
  const Shape& shape = c.outputs[0].shape;
  const int rank = shape.rank();
  const std::int64_t m = shape[rank - 2], n = shape[rank - 1];
  const std::int64_t k = c.inputs[0].dim(c.inputs[0].rank() - (ta ? 2 : 1));
  Tensor out = Tensor::allocate(c.outputs[0].dtype, shape);
  const auto item = static_cast<std::int64_t>(item_size(out.dtype()));

  std::int64_t batches = 1;
  for (int axis = 0; axis + 2 < rank; ++axis) batches *= shape[axis];
  const auto offset = [&](const Tensor& x, std::int64_t batch) {
    std::int64_t elements = 0;
    for (int axis = rank - 3; axis >= 0; --axis) {
      const std::int64_t index = batch % shape[axis];
      batch /= shape[axis];
      const int own = axis - (rank - x.rank());
      if (own >= 0 && x.dim(own) != 1) elements += index * x.strides()[own];
    }
    return elements * item;
  };
  const auto multiply_all = [&] {
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      a.operand.data = a.tensor.raw() + offset(a.tensor, batch);
      b.operand.data = b.tensor.raw() + offset(b.tensor, batch);
      cpu::matmul(out.dtype(), a.operand, b.operand, m, n, k, static_cast<std::byte*>(output(out)) + batch * m * n * item);
    }
  };
  constexpr double long_work = 1e7;  // multiplications: some 50 µs
  if (static_cast<double>(batches) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) > long_work) {
    const HostUnlock unlock;
    multiply_all();
  } else {
    multiply_all();
  }
  return one_tensor(std::move(out));
}

// With C = A·B: dA = dC·Bᵀ and dB = Aᵀ·dC (M. Giles, "An extended collection of matrix derivative results for forward and
// reverse mode algorithmic differentiation", 2008, section 2.2.1); transposed operands give the transposes of these.
Tensors matmul_vjp(const VjpContext& c) {
  const Tensor &a = c.inputs[0], &b = c.inputs[1], &dc = c.cotangents[0];
  const bool ta = transposes(c.attributes, 0), tb = transposes(c.attributes, 1);
  Tensors gradients(2);
  if (c.wanted[0]) gradients[0] = sum_to_shape(ta ? matmul(b, dc, tb, true) : matmul(dc, b, false, !tb), a.shape());
  if (c.wanted[1]) gradients[1] = sum_to_shape(tb ? matmul(dc, a, true, ta) : matmul(a, dc, !ta, false), b.shape());
  return gradients;
}

}  // namespace

TAPEDECK_OP(matmul_op) = {
    .name = "matmul",
    .python_names = {"matmul", "linalg.matmul"},
    .inputs = {{.name = "a"}, {.name = "b"}},
    .attributes = {{"transpose_a", AttributeKind::boolean, false}, {"transpose_b", AttributeKind::boolean, false}},
    .shape_rule = matmul_rule,
    .forward = matmul_forward,
    .vjp = matmul_vjp,
    .vjp_formula = "dA = dC·Bᵀ, dB = Aᵀ·dC",
    .doc = "The matrix product of a and b, each transposed first where its flag says so.\n\na: numbers, (…, m, k). b: the same dtype, "
           "(…, k, n). Leading axes broadcast. Gives (…, m, n). Errors: inner dimensions that differ; fewer than 2 axes."};
Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  static const Attributes flags[2][2] = {{{false, false}, {false, true}}, {{true, false}, {true, true}}};
  return run_op1(matmul_op, {a, b}, flags[transpose_a][transpose_b]);
}

namespace detail {
void link_matmul() {}
}  // namespace detail

}  // namespace tapedeck
