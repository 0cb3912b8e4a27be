// Extents and strides of a tensor: stored inline, so that a tensor of few axes needs no further allocation.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

namespace tapedeck {

constexpr int max_rank = 32;  ///< as NumPy's

/// Up to `max_rank` signed numbers, one per axis. Used for shapes (extents, never negative in a tensor) and
/// for strides (in elements, may be 0 or negative). Up to `near_rank` axes, i.e. nearly always, they are
/// stored in the object itself.
class Dims {
 public:
  constexpr Dims() = default;
  Dims(std::initializer_list<std::int64_t> values) : Dims(std::span(values.begin(), values.size())) {}
  /// Throws InvalidArgumentError when there are more than `max_rank` values.
  explicit Dims(std::span<const std::int64_t> values);
  Dims(const Dims& other) : near_(other.near_), rank_(other.rank_) {
    if (is_far()) [[unlikely]]
      copy_far();
  }
  Dims(Dims&& other) noexcept : near_(other.near_), rank_(other.rank_) {
    if (is_far()) [[unlikely]]
      other.rank_ = 0;
  }
  Dims& operator=(const Dims& other) {
    if (!is_far() && !other.is_far()) [[likely]] {
      near_ = other.near_;
      rank_ = other.rank_;
      return *this;
    }
    return *this = Dims(other);
  }
  Dims& operator=(Dims&& other) noexcept {
    if (!is_far() && !other.is_far()) [[likely]] {
      near_ = other.near_;
      rank_ = other.rank_;
    } else {
      std::swap(near_, other.near_);
      std::swap(rank_, other.rank_);
    }
    return *this;
  }
  ~Dims() {
    if (is_far()) [[unlikely]]
      delete[] far();
  }

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return begin()[axis]; }
  std::int64_t& operator[](int axis) { return begin()[axis]; }
  std::int64_t* begin() {
    if (is_far()) [[unlikely]]
      return far();
    return near_.data();
  }
  const std::int64_t* begin() const { return const_cast<Dims*>(this)->begin(); }
  std::int64_t* end() { return begin() + rank_; }
  const std::int64_t* end() const { return begin() + rank_; }
  std::span<const std::int64_t> span() const { return {begin(), static_cast<std::size_t>(rank_)}; }
  /// Throws InvalidArgumentError past `max_rank`.
  void push_back(std::int64_t value) {
    set_rank(rank_ + 1);
    begin()[rank_ - 1] = value;
  }
  /// New axes hold 0. Throws InvalidArgumentError past `max_rank`.
  void resize(int rank) {
    const int before = rank_;
    set_rank(rank);
    std::int64_t* values = begin();
    for (int axis = before; axis < rank; ++axis) values[axis] = 0;
  }

  bool operator==(const Dims& other) const {
    if (rank_ != other.rank_) return false;
    const std::int64_t *own = begin(), *others = other.begin();
    for (int i = 0; i < rank_; ++i)
      if (own[i] != others[i]) return false;
    return true;
  }

 private:
  static constexpr int near_rank = 8;
  static void check_rank(int rank) {
    if (rank < 0 || rank > max_rank) [[unlikely]]
      refuse_rank(rank);
  }
  [[noreturn]] static void refuse_rank(int rank);

  bool is_far() const { return rank_ > near_rank; }
  /// With more axes: an array of `max_rank` numbers, whose address is in the first of the near ones.
  std::int64_t* far() const { return reinterpret_cast<std::int64_t*>(near_[0]); }
  void copy_far();
  /// New axes are uninitialised.
  void set_rank(int rank) {
    check_rank(rank);
    if (is_far() != (rank > near_rank)) [[unlikely]]
      move_values();
    rank_ = rank;
  }
  /// Moves the values from inline storage to the heap, or back.
  void move_values();

  std::array<std::int64_t, near_rank> near_{};
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
