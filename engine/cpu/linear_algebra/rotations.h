// Rotations of neighbouring rows, collected and then applied together: each thread processes some columns,
// which stay in its cache.
#pragma once

#include <type_traits>
#include <vector>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/linear_algebra/blocked.h"

namespace tapedeck::cpu {

template <class T>
const RotationLoops<T>& rotation_loops() {
  if constexpr (std::is_same_v<T, float>)
    return loops().rotation_float;
  else
    return loops().rotation_double;
}

template <class T>
class Rotations {
 public:
  /// Of the rows of `target`, if any.
  explicit Rotations(Block<T> target) : target_(target) {}

  /// Room for the cosines and sines of `count` rotations of rows `first` and `first` + 1, then `first` + 1
  /// and `first` + 2, …; descending: of `first` and `first` − 1, then `first` − 1 and `first` − 2, … Until
  /// the next call.
  struct Room {
    T* c;
    T* s;
  };
  Room room(std::int64_t first, std::int64_t count, bool descending = false);
  /// Applies the complete ones once there are many.
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
