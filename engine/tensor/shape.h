// Extents and strides of a tensor: small fixed arrays, so that a tensor needs no further allocation.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tapedeck {

constexpr int max_rank = 8;

/// Up to `max_rank` signed numbers, one per axis. Used for shapes (extents, never negative in a tensor) and
/// for strides (in elements, may be 0 or negative).
class Dims {
 public:
  constexpr Dims() = default;
  Dims(std::initializer_list<std::int64_t> values) : Dims(std::span(values.begin(), values.size())) {}
  /// Throws InvalidArgumentError when there are more than `max_rank` values.
  explicit Dims(std::span<const std::int64_t> values);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return values_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return values_[static_cast<std::size_t>(axis)]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + rank_; }
  std::span<const std::int64_t> span() const { return {values_.data(), static_cast<std::size_t>(rank_)}; }
  /// Throws InvalidArgumentError past `max_rank`.
  void push_back(std::int64_t value) {
    check_rank(rank_ + 1);
    values_[static_cast<std::size_t>(rank_++)] = value;
  }
  /// New axes hold 0. Throws InvalidArgumentError past `max_rank`.
  void resize(int rank) {
    check_rank(rank);
    for (int axis = rank_; axis < rank; ++axis) values_[static_cast<std::size_t>(axis)] = 0;
    rank_ = rank;
  }

  bool operator==(const Dims& other) const {
    if (rank_ != other.rank_) return false;
    for (int i = 0; i < rank_; ++i)
      if ((*this)[i] != other[i]) return false;
    return true;
  }

 private:
  static void check_rank(int rank) {
    if (rank < 0 || rank > max_rank) [[unlikely]]
      refuse_rank(rank);
  }
  [[noreturn]] static void refuse_rank(int rank);

  std::array<std::int64_t, max_rank> values_{};
  int rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;

/// Number of elements. Throws ResourceExhaustedError where the product overflows int64.
std::int64_t element_count(const Shape& shape);

/// Row-major strides, in elements.
Strides contiguous_strides(const Shape& shape);

/// As Python prints it: "()", "(3,)", "(2, 3)".
std::string to_string(const Shape& shape);

/// NumPy's broadcasting rule. Throws InvalidArgumentError naming `op` and both shapes.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op);

}  // namespace tapedeck
