// Test rows of inverses, decompositions and functions of matrices.
#pragma once

#include "engine/ops/elementwise/complex.h"
#include "engine/ops/linear_algebra/linear_algebra.h"
#include "tests/engine/ops/rows/op_row.h"

namespace tapedeck::testing {

/// A small matrix of long doubles, row-major.
struct Square {
  std::size_t n;
  std::vector<long double> values;
  explicit Square(std::size_t extent) : n(extent), values(extent * extent, 0.0L) {}
  long double& operator()(std::size_t i, std::size_t j) { return values[i * n + j]; }
  long double operator()(std::size_t i, std::size_t j) const { return values[i * n + j]; }
};

inline Square matrix_product(const Square& a, const Square& b) {
  Square out(a.n);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.n; ++j)
      for (std::size_t k = 0; k < a.n; ++k) out(i, j) += a(i, k) * b(k, j);
  return out;
}
inline Square identity_of(std::size_t n) {
  Square out(n);
  for (std::size_t i = 0; i < n; ++i) out(i, i) = 1;
  return out;
}
inline Square transposed(const Square& a) {
  Square out(a.n);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.n; ++j) out(i, j) = a(j, i);
  return out;
}

/// Gauss and Jordan's elimination with pivots; also gives the determinant.
inline Square inverse_of(Square a, long double* determinant = nullptr) {
  Square out = identity_of(a.n);
  long double product = 1;
  for (std::size_t k = 0; k < a.n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k; i < a.n; ++i)
      if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
    if (best != k) product = -product;
    for (std::size_t j = 0; j < a.n; ++j) {
      std::swap(a(k, j), a(best, j));
      std::swap(out(k, j), out(best, j));
    }
    const long double pivot = a(k, k);
    product *= pivot;
    for (std::size_t j = 0; j < a.n; ++j) {
      a(k, j) /= pivot;
      out(k, j) /= pivot;
    }
    for (std::size_t i = 0; i < a.n; ++i) {
      const long double factor = i == k ? 0 : a(i, k);
      for (std::size_t j = 0; j < a.n; ++j) {
        a(i, j) -= factor * a(k, j);
        out(i, j) -= factor * out(k, j);
      }
    }
  }
  if (determinant) *determinant = product;
  return out;
}

/// By the definition: the determinants of the minors.
inline Square cofactors_of(const Square& a) {
  Square out(a.n);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.n; ++j) {
      Square minor(a.n - 1);
      for (std::size_t k = 0; k < minor.n; ++k)
        for (std::size_t l = 0; l < minor.n; ++l) minor(k, l) = a(k + (k >= i), l + (l >= j));
      long double determinant = 1;
      inverse_of(minor, &determinant);
      out(i, j) = (i + j) % 2 == 0 ? determinant : -determinant;
    }
  return out;
}

/// Denman and Beavers' iteration, without a Schur form.
inline Square square_root_of(const Square& a) {
  Square y = a, z = identity_of(a.n);
  for (int step = 0; step < 60; ++step) {
    const Square iy = inverse_of(y), iz = inverse_of(z);
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = (y.values[i] + iz.values[i]) / 2;
      z.values[i] = (z.values[i] + iy.values[i]) / 2;
    }
  }
  return y;
}

/// Applies `f` to each matrix of a batch of square ones.
inline Array for_each_square(const Array& x, const std::function<Square(const Square&)>& f) {
  Array out(x.shape);
  const auto n = static_cast<std::size_t>(x.shape[x.shape.rank() - 1]);
  for (std::size_t start = 0; start < x.values.size(); start += n * n) {
    Square a(n);
    std::copy_n(x.values.begin() + static_cast<std::ptrdiff_t>(start), n * n, a.values.begin());
    const Square result = f(a);
    for (std::size_t i = 0; i < n * n; ++i) out.values[start + i] = static_cast<double>(result.values[i]);
  }
  return out;
}

/// Random matrices with 1, 2, 3 … times `step` on the diagonal: neither singular nor with values that are
/// nearly equal.
inline Tensor spread_matrices(Random& random, const Shape& shape, double step = 2.0, double noise = 0.4) {
  std::vector<double> values = random_tensor(random, shape, -noise, noise).to_vector();
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i) % (rows * columns);
    if (place / columns == place % columns) values[i] += step * static_cast<double>(1 + place % columns);
  }
  return Tensor::from_values<double>(values, shape);
}

/// Of complex numbers Hermitian.
inline Tensors symmetric(std::span<const Tensor> inputs) {
  return {(inputs[0] + ops::conj(ops::matrix_transpose(inputs[0]))) * 0.5};
}

inline const std::vector<Shape> square_shapes = {{3, 3}, {2, 4, 4}, {1, 1}, {2, 1, 2, 2}, {0, 3, 3}};

/// Matrices of any shape like those of the rows.
inline Tensor matrices_like_the_rows(Random& random, const Shape& shape) {
  return spread_matrices(random, shape);
}

inline Row square_row(const std::string& op, std::vector<Attribute> attributes,
                      std::function<Square(const Square&)> f, double tolerance = 1e-12) {
  Row row{op, {}, {}, tolerance};
  for (const Shape& shape : square_shapes)
    row.calls.push_back([=](Random& random) { return Call{{spread_matrices(random, shape)}, attributes}; });
  row.reference = [f](const Call& call) { return Arrays{for_each_square(Array(call.inputs[0]), f)}; };
  row.first_input = matrices_like_the_rows;
  return row;
}

/// (op, lower, adjoint) of systems of equations.
inline Row solve_row(const std::string& op, bool triangular) {
  Row row{op, {}, {}, 1e-12};
  row.first_input = matrices_like_the_rows;
  const std::vector<std::pair<Shape, Shape>> shapes = {{{3, 3}, {3, 2}},    {{2, 3, 3}, {2, 3, 1}},
                                                       {{2, 2}, {3, 2, 2}}, {{2, 1, 2, 2}, {3, 2, 1}},
                                                       {{3, 3}, {3, 0}},    {{1, 1}, {1, 1}}};
  for (const bool lower : {true, false})
    for (const bool adjoint : {false, true})
      for (const auto& [a, b] : shapes) {
        if (!triangular && !lower) continue;
        std::vector<Attribute> attributes = {adjoint};
        if (triangular) attributes = {lower, adjoint};
        row.calls.push_back([=, a = a, b = b](Random& random) {
          return Call{{spread_matrices(random, a), random_tensor(random, b)}, attributes};
        });
      }
  row.reference = [triangular](const Call& call) {
    const bool adjoint = std::get<bool>(call.attributes.back());
    const bool lower = std::get<bool>(call.attributes[0]);
    const Array inverse = for_each_square(Array(call.inputs[0]), [&](Square a) {
      for (std::size_t i = 0; i < a.n; ++i)
        for (std::size_t j = 0; j < a.n; ++j)
          if (triangular && (lower ? j > i : j < i)) a(i, j) = 0;
      return inverse_of(adjoint ? transposed(a) : a);
    });
    const Array b(call.inputs[1]);
    const auto batch_of = [](const Shape& s) {
      return Shape(s.span().first(static_cast<std::size_t>(s.rank() - 2)));
    };
    Shape shape = broadcast_shapes(batch_of(inverse.shape), batch_of(b.shape), "test");
    shape.push_back(b.shape[b.shape.rank() - 2]);
    shape.push_back(b.shape[b.shape.rank() - 1]);
    Array out(shape);
    for_each_index(shape, [&](const std::vector<std::int64_t>& index) {
      const std::size_t last = index.size() - 1;
      for (std::int64_t k = 0; k < shape[shape.rank() - 2]; ++k) {
        std::vector<std::int64_t> left = index, right = index;
        left[last] = right[last - 1] = k;
        out(index) += inverse.broadcast(left) * b.broadcast(right);
      }
    });
    return Arrays{out};
  };
  return row;
}

/// Ops whose results have arbitrary signs: values are compared with NumPy's in Python.
inline Row python_row(const std::string& op,
                      const std::vector<std::pair<Shape, std::vector<Attribute>>>& cases) {
  Row row{op, {}, {}, 0, "tests/python/math/test_linear_algebra.py"};
  row.first_input = matrices_like_the_rows;
  for (const auto& [shape, attributes] : cases)
    row.calls.push_back([shape = shape, attributes = attributes](Random& random) {
      return Call{{spread_matrices(random, shape)}, attributes};
    });
  return row;
}

inline Rows decomposition_rows() {
  Row cholesky = square_row("cholesky", {}, [](const Square& a) {
    Square l(a.n);
    for (std::size_t i = 0; i < a.n; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        long double rest = a(i, j);
        for (std::size_t k = 0; k < j; ++k) rest -= l(i, k) * l(j, k);
        l(i, j) = i == j ? std::sqrt(rest) : rest / l(j, j);
      }
    return l;
  });
  cholesky.prepare = symmetric;
  Row vectors = python_row("self_adjoint_eig", {{{3, 3}, {}}, {{2, 4, 4}, {}}, {{1, 1}, {}}, {{0, 0}, {}}});
  Row values = python_row("self_adjoint_eigvals", {{{3, 3}, {}}, {{2, 4, 4}, {}}, {{1, 1}, {}}});
  Row general = python_row("eig", {{{3, 3}, {}}, {{2, 4, 4}, {}}, {{1, 1}, {}}, {{0, 0}, {}}});
  Row general_values = python_row("eigvals", {{{3, 3}, {}}, {{2, 4, 4}, {}}, {{1, 1}, {}}});
  for (Row* row : {&general, &general_values}) {
    row->tested_in = "tests/python/math/test_complex_matrices.py";
    row->calls.push_back([](Random& random) {  // a rotation and a scaling: eigenvalues that are not real
      const Tensor noise = random_tensor(random, {3, 3}, -0.1, 0.1);
      return Call{
          {noise + Tensor::from_values<double>(std::vector<double>{1, -2, 0, 2, 1, 0, 0, 0, 4}, {3, 3})}};
    });
  }
  return {cholesky,
          vectors,
          values,
          general,
          general_values,
          python_row("qr", {{{3, 3}, {false}},
                            {{4, 2}, {false}},
                            {{2, 4}, {false}},
                            {{2, 4}, {true}},
                            {{2, 3, 3}, {true}},
                            {{2, 2, 3}, {false}},
                            {{0, 3}, {false}}}),
          python_row("svd", {{{3, 3}, {false, true}},
                             {{4, 2}, {false, true}},
                             {{2, 4}, {false, true}},
                             {{2, 3, 3}, {true, true}},
                             {{3, 2}, {false, false}},
                             {{2, 3, 2}, {true, false}},
                             {{3, 2}, {true, true}},
                             {{2, 2, 3}, {true, true}},
                             {{0, 3}, {false, true}}})};
}

/// By square roots until the matrix is near 1, and the series of ln(1 + E).
inline Row logarithm_row() {
  return square_row("matrix_logarithm", {}, [](const Square& a) {
    constexpr int halvings = 8;
    Square root = a;
    for (int k = 0; k < halvings; ++k) root = square_root_of(root);
    for (std::size_t i = 0; i < a.n; ++i) root(i, i) -= 1;
    Square sum(a.n), power = identity_of(a.n);
    for (int k = 1; k < 40; ++k) {
      power = matrix_product(power, root);
      for (std::size_t i = 0; i < sum.values.size(); ++i)
        sum.values[i] += (k % 2 == 1 ? 1.0L : -1.0L) / k * power.values[i];
    }
    for (long double& value : sum.values) value *= 1 << halvings;
    return sum;
  });
}

inline Row lu_row() {
  Row row{"lu", {}, {}, 1e-12};
  for (const Shape& shape : square_shapes)
    for (const bool turned : {false, true})  // the largest elements are off the diagonal
      row.calls.push_back([=](Random& random) {
        const Tensor a = spread_matrices(random, shape);
        return Call{{turned ? ops::reverse(a, {-2}) : a}, {turned ? DType::int64 : DType::int32}};
      });
  row.reference = [](const Call& call) {
    const Array a(call.inputs[0]);
    Array order(Shape(a.shape.span().first(static_cast<std::size_t>(a.shape.rank() - 1))));
    std::size_t at = 0;
    const Array packed = for_each_square(a, [&](Square u) {
      std::vector<double> rows(u.n);
      for (std::size_t i = 0; i < u.n; ++i) rows[i] = static_cast<double>(i);
      for (std::size_t k = 0; k < u.n; ++k) {
        std::size_t best = k;
        for (std::size_t i = k; i < u.n; ++i)
          if (std::abs(u(i, k)) > std::abs(u(best, k))) best = i;
        for (std::size_t j = 0; j < u.n; ++j) std::swap(u(k, j), u(best, j));
        std::swap(rows[k], rows[best]);
        for (std::size_t i = k + 1; i < u.n; ++i) {
          u(i, k) /= u(k, k);
          for (std::size_t j = k + 1; j < u.n; ++j) u(i, j) -= u(i, k) * u(k, j);
        }
      }
      for (const double row_number : rows) order.values[at++] = row_number;
      return u;
    });
    return Arrays{packed, order};
  };
  return row;
}

/// The cofactors are polynomials of degree n − 1: their derivative by a difference in long doubles.
inline Row cofactor_derivative_row() {
  Row row{"matrix_cofactor_derivative", {}, {}, 1e-7};
  for (const Shape& shape : square_shapes)
    row.calls.push_back([=](Random& random) {
      return Call{{spread_matrices(random, shape), random_tensor(random, shape)}};
    });
  row.reference = [](const Call& call) {
    const Array direction(call.inputs[1]);
    std::size_t start = 0;
    return Arrays{for_each_square(Array(call.inputs[0]), [&](const Square& a) {
      constexpr long double step = 1e-5L;
      Square above = a, below = a;
      for (std::size_t i = 0; i < a.values.size(); ++i) {
        above.values[i] += step * direction.values[start + i];
        below.values[i] -= step * direction.values[start + i];
      }
      start += a.values.size();
      const Square high = cofactors_of(above), low = cofactors_of(below);
      Square out(a.n);
      for (std::size_t i = 0; i < out.values.size(); ++i)
        out.values[i] = (high.values[i] - low.values[i]) / (2 * step);
      return out;
    })};
  };
  row.first_input = matrices_like_the_rows;
  return row;
}

inline Rows linear_algebra_rows() {
  Rows rows = decomposition_rows();
  Row inverse = square_row("matrix_inverse", {false}, {});
  for (const MakeCall& make : square_row("matrix_inverse", {true}, {}).calls) inverse.calls.push_back(make);
  inverse.reference = [](const Call& call) {
    const bool adjoint = std::get<bool>(call.attributes[0]);
    return Arrays{for_each_square(Array(call.inputs[0]),
                                  [=](const Square& a) { return inverse_of(adjoint ? transposed(a) : a); })};
  };
  rows.push_back(inverse);
  const auto determinants = [](const Call& call) {
    std::vector<double> values;
    for_each_square(Array(call.inputs[0]), [&](const Square& a) {
      long double determinant = 1;
      inverse_of(a, &determinant);
      values.push_back(static_cast<double>(determinant));
      return a;
    });
    Array out(
        Shape(call.inputs[0].shape().span().first(static_cast<std::size_t>(call.inputs[0].rank() - 2))));
    out.values = values;
    return out;
  };
  Row determinant = square_row("matrix_determinant", {}, {});
  determinant.reference = [=](const Call& call) { return Arrays{determinants(call)}; };
  rows.push_back(determinant);
  rows.push_back(square_row("matrix_cofactor", {}, cofactors_of));
  rows.push_back(cofactor_derivative_row());
  Row logarithm = square_row("log_matrix_determinant", {}, {});
  logarithm.calls.push_back([](Random&) {  // an odd permutation: the sign is −1
    return Call{{Tensor::from_values<double>(std::vector<double>{0, 2, 3, 0}, {2, 2})}};
  });
  logarithm.reference = [=](const Call& call) {
    Array sign = determinants(call), log = sign;
    for (double& value : sign.values) value = value < 0 ? -1 : 1;
    for (double& value : log.values) value = std::log(std::abs(value));
    return Arrays{sign, log};
  };
  rows.push_back(logarithm);
  rows.push_back(solve_row("matrix_solve", false));
  rows.push_back(solve_row("matrix_triangular_solve", true));
  rows.push_back(python_row("pinv", {{{3, 3}, {none(), false}},
                                     {{4, 2}, {none(), false}},
                                     {{2, 2, 3}, {1e-9, true}},
                                     {{0, 3}, {none(), false}}}));
  rows.push_back(square_row("matrix_square_root", {}, square_root_of));
  Row exponential{"matrix_exponential", {}, {}, 1e-12};
  for (const Shape& shape : square_shapes)
    exponential.calls.push_back(
        [=](Random& random) { return Call{{spread_matrices(random, shape, 0.3, 0.6)}}; });
  exponential.first_input = [](Random& random, const Shape& shape) {
    return spread_matrices(random, shape, 0.3, 0.6);
  };
  exponential.reference = [](const Call& call) {
    return Arrays{for_each_square(Array(call.inputs[0]), [](const Square& a) {
      Square sum = identity_of(a.n), term = sum;
      for (int k = 1; k < 60; ++k) {
        term = matrix_product(term, a);
        for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += term.values[i] /= k;
      }
      return sum;
    })};
  };
  rows.push_back(exponential);
  rows.push_back(logarithm_row());
  rows.push_back(lu_row());
  return rows;
}

}  // namespace tapedeck::testing
