// Building blocks of blocked decompositions: these halve a matrix until a part is small, so that nearly all
// of their work is matrix products, between which a user's interrupt takes effect. Matrices are row-major,
// their rows `stride` values apart.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cpu/products/gemm.h"
#include "engine/tensor/storage.h"

namespace tapedeck::cpu {

/// A part of a matrix.
template <class T>
struct Block {
  T* values;
  std::int64_t rows, columns, stride;

  T& operator()(std::int64_t i, std::int64_t j) const { return values[i * stride + j]; }
  T* row(std::int64_t i) const { return values + i * stride; }
  Block part(std::int64_t i, std::int64_t j, std::int64_t row_count, std::int64_t column_count) const {
    return {values + i * stride + j, row_count, column_count, stride};
  }
  /// From row i and column j to the end.
  Block from(std::int64_t i, std::int64_t j) const { return part(i, j, rows - i, columns - j); }
  operator Block<const T>() const { return {values, rows, columns, stride}; }
};

/// All elements become 0.
template <class T>
void clear_block(Block<T> a);

/// An owning matrix, initialised to zeros. Throws ResourceExhaustedError.
template <class T>
class Dense {
 public:
  Dense(std::int64_t rows, std::int64_t columns)
      : rows_(rows),
        columns_(columns),
        storage_(StoragePointer::allocate(static_cast<std::size_t>(rows * columns) * sizeof(T))) {
    clear_block(all());
  }
  Block<T> all() { return {reinterpret_cast<T*>(storage_->data()), rows_, columns_, columns_}; }

 private:
  std::int64_t rows_, columns_;
  StoragePointer storage_;
};

enum class Sides : std::uint8_t { as_they_are, first_transposed, second_transposed };

/// c = op(a)·op(b)
template <class T>
void set_product(Sides sides, Block<const T> a, Block<const T> b, Block<T> c);
/// c −= op(a)·op(b)
template <class T>
void subtract_product(Sides sides, Block<const T> a, Block<const T> b, Block<T> c);
template <class T>
void copy_block(Block<const T> from, Block<T> to);
/// to = fromᵀ
template <class T>
void copy_transposed(Block<const T> from, Block<T> to);

/// A triangular matrix: `lower` selects the triangle of `values`, `unit` makes its diagonal count as 1,
/// `transposed` selects its transpose.
template <class T>
struct Triangle {
  Block<const T> values;
  bool lower, unit, transposed;
};
/// x = a⁻¹·x
template <class T>
void solve_triangle(const Triangle<T>& a, Block<T> x);

/// a = P·l·u in place, by partial pivoting: row i of l·u is row order[i] of a, whose length is a's number of
/// rows. Continues past a pivot of 0. Returns the sign of the permutation.
template <class T>
int factor_lu(Block<T> a, std::int64_t* order);

}  // namespace tapedeck::cpu
