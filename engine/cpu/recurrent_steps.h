// Where the rows of a sequence stand, and how a batch is cut into tasks. Included by recurrent*.cpp.
#pragma once

#include <algorithm>

#include "engine/backend/kernels.h"
#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/packed_right.h"

namespace tapedeck::cpu {

template <class T>
const RecurrentLoops<T>& recurrent_loops() {
  if constexpr (std::is_same_v<T, float>)
    return loops().recurrent_float;
  else
    return loops().recurrent_double;
}

/// Rows of different examples never meet: each task takes some through all steps, with the state's kernel
/// packed for all of them. A small batch goes step by step, and the threads share the products.
inline constexpr std::int64_t rows_of_recurrent_task = 16;

template <class T>
struct Sequences {
  RecurrentSize size;
  RecurrentForm form;
  const T *x, *h_first, *c_first, *kernel, *recurrent_kernel, *bias;
  T *sequence, *h_last, *c_last, *kept;

  Sequences(RecurrentCell cell, const RecurrentSize& s, const RecurrentInputs& in,
            const RecurrentResults& out)
      : size(s),
        form(form_of(cell)),
        x(static_cast<const T*>(in.x)),
        h_first(static_cast<const T*>(in.h)),
        c_first(static_cast<const T*>(in.c)),
        kernel(static_cast<const T*>(in.kernel)),
        recurrent_kernel(static_cast<const T*>(in.recurrent_kernel)),
        bias(static_cast<const T*>(in.bias)),
        sequence(static_cast<T*>(out.sequence)),
        h_last(static_cast<T*>(out.h)),
        c_last(static_cast<T*>(out.c)),
        kept(static_cast<T*>(out.kept)) {}

  std::int64_t units() const { return size.units; }
  std::int64_t rows() const { return size.batch * size.steps; }
  /// Of example b at the step that comes as number `step`.
  std::int64_t row(std::int64_t b, std::int64_t step) const {
    const std::int64_t time = size.reverse ? size.steps - 1 - step : step;
    return size.time_major ? time * size.batch + b : b * size.steps + time;
  }
  std::int64_t rows_between_examples() const { return size.time_major ? 1 : size.steps; }
  bool runs(std::int64_t row) const { return !size.mask || size.mask[row]; }

  T* h_at(std::int64_t b, std::int64_t step) const { return sequence + row(b, step) * units(); }
  const T* h_before(std::int64_t b, std::int64_t step) const {
    return step == 0 ? h_first + b * units() : h_at(b, step - 1);
  }
  std::int64_t h_before_row(std::int64_t step) const {
    return step == 0 ? units() : rows_between_examples() * units();
  }
  T* kept_at(std::int64_t b, std::int64_t step) const { return kept + row(b, step) * form.kept * units(); }
  const T* c_before(std::int64_t b, std::int64_t step) const {
    return step == 0 ? c_first + b * units() : kept_at(b, step - 1) + 4 * units();
  }

  bool in_tasks() const { return size.batch >= rows_of_recurrent_task && size.steps > 1; }
  /// Calls body(first example, count), for all of them.
  template <class Body>
  void for_examples(Body&& body) const {
    const std::int64_t grain =
        in_tasks() ? even(size.batch, rows_of_recurrent_task, row_multiple) : size.batch;
    for_blocks(size.batch, grain, [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin); });
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
