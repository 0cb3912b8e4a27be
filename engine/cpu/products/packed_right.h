// The right operand of many matrix products.
#pragma once

#include "engine/cpu/products/gemm_parts.h"
#include "engine/tensor/storage.h"

namespace tapedeck::cpu {

/// op(B), k × n, packed once for many products. Products with a packed operand run on the calling thread
/// only; any thread may call them.
template <class T>
class PackedRight {
 public:
  PackedRight(bool transposed, std::int64_t k, std::int64_t n, const T* b, std::int64_t ldb, bool packs)
      : transposed_(transposed), k_(k), n_(n), b_(b), ldb_(ldb) {
    if (!packs || k == 0 || n == 0) return;
    const GemmLoops<T>& loops = gemm_loops<T>();
    columns_ = parts_of(n, loops.padding) * loops.padding;
    depth_ = even(k, depth_at_once, depth_multiple);
    packed_ = StoragePointer::allocate(static_cast<std::size_t>(columns_ * k) * sizeof(T));
    for (std::int64_t p = 0; p < k; p += depth_)
      loops.pack_right(transposed, true, std::min(depth_, k - p), n, transposed ? b + p : b + p * ldb, ldb,
                       values() + p * columns_);
  }

  /// c = a·op(B) or c + a·op(B), of `m` rows that are `a_row` values apart.
  void multiply(std::int64_t m, const T* a, std::int64_t a_row, const GemmTarget<T>& c) const {
    if (!packed_) return gemm({m, n_, k_, false, transposed_, a_row, ldb_}, a, b_, c.add, c.values, c.row);
    for (std::int64_t p = 0; p < k_; p += depth_)
      gemm_loops<T>().multiply(m, n_, std::min(depth_, k_ - p), a + p, a_row, values() + p * columns_,
                               {c.values, c.row, c.add || p > 0});
  }

 private:
  T* values() const { return reinterpret_cast<T*>(packed_->data()); }

  const bool transposed_;
  const std::int64_t k_, n_;
  const T* const b_;
  const std::int64_t ldb_;
  std::int64_t columns_ = 0, depth_ = 0;
  StoragePointer packed_;
};

}  // namespace tapedeck::cpu
