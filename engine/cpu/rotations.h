// Rotations of neighbouring rows, gathered and then applied together: each thread takes some columns, which
// stay in its cache.
#pragma once

#include <cmath>
#include <type_traits>
#include <vector>

#include "engine/cpu/blocked.h"

namespace tapedeck::cpu {

/// r of the rotation that turns (x, z) into (r, 0): c·x + s·z = r, c·z − s·x = 0.
template <class T>
struct Rotation {
  T c, s, r;
  static Rotation of(T x, T z) {
    if (z == T(0)) return {T(1), T(0), x};
    const T r = length(x, z);
    return {x / r, z / r, r};
  }

 private:
  static T length(T x, T z) {
    constexpr T small = std::is_same_v<T, float> ? T(1e-30) : T(1e-280);
    const T square = x * x + z * z;
    return square > small && square < 1 / small ? std::sqrt(square) : std::hypot(x, z);
  }
};

template <class T>
class Rotations {
 public:
  /// Of the rows of `target`, if any.
  explicit Rotations(Block<T> target) : target_(target) {}

  /// What follows are rotations of rows `first` and `first` + 1, then `first` + 1 and `first` + 2, …;
  /// descending: of `first` and `first` − 1, then `first` − 1 and `first` − 2, …
  void start(std::int64_t first, bool descending = false);
  void add(T c, T s) {
    if (target_.columns == 0) return;
    c_.push_back(c);
    s_.push_back(s);
  }
  /// Applies those that are complete where they are many.
  void apply_some();
  void apply();

 private:
  struct Run {
    std::int64_t first;
    bool descending;
    std::size_t begin;
  };
  Block<T> target_;
  std::vector<Run> runs_;
  std::vector<T> c_, s_;
};

}  // namespace tapedeck::cpu
