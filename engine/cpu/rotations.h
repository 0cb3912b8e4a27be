// Rotations of neighbouring rows, gathered and then applied together: each thread takes some columns, which
// stay in its cache.
#pragma once

#include <vector>

#include "engine/cpu/blocked.h"

namespace tapedeck::cpu {

/// r of the rotation that turns (x, z) into (r, 0): c·x + s·z = r, c·z − s·x = 0.
template <class T>
struct Rotation {
  T c, s, r;
  static Rotation of(T x, T z);
};

template <class T>
class Rotations {
 public:
  /// Of the rows of `target`, if any.
  explicit Rotations(Block<T> target) : target_(target) {}

  /// What follows are rotations of rows `first` and `first` + 1, then `first` + 1 and `first` + 2, …;
  /// descending: of `first` and `first` − 1, then `first` − 1 and `first` − 2, …
  void start(std::int64_t first, bool descending = false);
  void add(T c, T s);
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
