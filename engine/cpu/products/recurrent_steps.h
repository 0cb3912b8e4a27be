// The positions of an example's rows, and how a batch is split into tasks. Included by recurrent*.cpp.
#pragma once

#include <algorithm>

#include "engine/backend/recurrent_sequences.h"
#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/products/packed_right.h"

namespace tapedeck::cpu {

template <class T>
const RecurrentLoops<T>& recurrent_loops() {
  if constexpr (std::is_same_v<T, float>)
    return loops().recurrent_float;
  else
    return loops().recurrent_double;
}

/// Rows of different examples are independent: each task takes some of them through all steps, with the
/// state's kernel packed once. A small batch goes step by step, and the threads share the products.
inline constexpr std::int64_t rows_of_recurrent_task = 16;

template <class T>
struct Sequences : RecurrentSequences<T> {
  using RecurrentSequences<T>::RecurrentSequences;

  std::int64_t units() const { return this->size.units; }
  /// The row of example b at the step that runs as number `step`.
  std::int64_t row(std::int64_t b, std::int64_t step) const {
    return this->first_row(step) + b * this->between();
  }
  bool runs(std::int64_t row) const { return !this->size.mask || this->size.mask[row]; }

  T* h_at(std::int64_t b, std::int64_t step) const { return this->sequence + row(b, step) * units(); }
  const T* h_before(std::int64_t b, std::int64_t step) const {
    return step == 0 ? this->h_first + b * units() : h_at(b, step - 1);
  }
  std::int64_t h_before_row(std::int64_t step) const {
    return step == 0 ? units() : this->between() * units();
  }
  T* kept_at(std::int64_t b, std::int64_t step) const {
    return this->kept + row(b, step) * this->form.kept * units();
  }
  const T* c_before(std::int64_t b, std::int64_t step) const {
    return step == 0 ? this->c_first + b * units() : kept_at(b, step - 1) + 4 * units();
  }

  bool in_tasks() const { return this->size.batch >= rows_of_recurrent_task && this->size.steps > 1; }
  /// Calls body(first example, count), for all of them.
  template <class Body>
  void for_examples(Body&& body) const {
    const std::int64_t batch = this->size.batch;
    const std::int64_t grain = in_tasks() ? even(batch, rows_of_recurrent_task, row_multiple) : batch;
    for_blocks(batch, grain, [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin); });
  }
};

template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t values)
      : memory_(StoragePointer::allocate(static_cast<std::size_t>(values) * sizeof(T))) {}
  T* data() const { return reinterpret_cast<T*>(memory_->data()); }

 private:
  StoragePointer memory_;
};

}  // namespace tapedeck::cpu
