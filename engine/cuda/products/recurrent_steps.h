// The positions of a sequence's rows on a device, and the parameters of a step's kernels. Included by
// recurrent*.cu.
#pragma once

#include <algorithm>

#include "engine/backend/recurrent_sequences.h"
#include "engine/cpu/vector/recurrent_cells.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/products/products.h"

namespace tapedeck::cuda {

using kernels::RecurrentCell;

/// A row for each example, `row` values apart.
template <class T>
struct StateRows {
  const T* first;
  std::int64_t row;
  __device__ const T* of(std::int64_t example) const { return first + example * row; }
};

/// Parameters shared by the kernels of a step. In a sequence the step's row of example b is at first_row +
/// b·between.
template <class T>
struct Step {
  std::int64_t batch, units, kept_parts;
  std::int64_t first_row, between;
  const bool* mask;
  StateRows<T> h_before, c_before;
  const T* bias;
  T *sequence, *kept;

  __device__ std::int64_t row(std::int64_t example) const { return first_row + example * between; }
  __device__ bool runs(std::int64_t row) const { return !mask || mask[row]; }
  __device__ T* h_at(std::int64_t row) const { return sequence + row * units; }
  __device__ T* kept_at(std::int64_t row) const { return kept + row * kept_parts * units; }
};

template <class T>
struct Sequences : kernels::RecurrentSequences<T> {
  using kernels::RecurrentSequences<T>::RecurrentSequences;

  std::int64_t gates() const { return this->form.gates * this->size.units; }
  StateRows<T> h_before(std::int64_t step) const {
    const std::int64_t units = this->size.units;
    if (step == 0) return {this->h_first, units};
    return {this->sequence + this->first_row(step - 1) * units, this->between() * units};
  }
  StateRows<T> c_before(std::int64_t step) const {
    const std::int64_t units = this->size.units, width = this->form.kept * units;
    if (this->cell != RecurrentCell::lstm) return {nullptr, 0};
    if (step == 0) return {this->c_first, units};
    return {this->kept + this->first_row(step - 1) * width + 4 * units, this->between() * width};
  }
  Step<T> at(std::int64_t step) const {
    return {.batch = this->size.batch,
            .units = this->size.units,
            .kept_parts = this->form.kept,
            .first_row = this->first_row(step),
            .between = this->between(),
            .mask = this->size.mask,
            .h_before = h_before(step),
            .c_before = c_before(step),
            .bias = this->bias,
            .sequence = this->sequence,
            .kept = this->kept};
  }
};

/// A matrix whose rows are `row` values apart.
template <class T>
struct Matrix {
  const T* first;
  std::int64_t row;
  bool transpose = false;
};
/// out = a·b, or out += with `add`.
template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<T>& a, const Matrix<T>& b, bool add,
             T* out, std::int64_t out_row) {
  multiply({.dtype = dtype_of<T>(),
            .m = m,
            .n = n,
            .k = k,
            .transpose_a = a.transpose,
            .transpose_b = b.transpose,
            .lda = a.row,
            .ldb = b.row,
            .ldc = out_row,
            .beta = add ? 1.0 : 0.0},
           a.first, b.first, out);
}

/// Calls `f.template operator()<cell>()`.
template <class F>
void visit_cell(RecurrentCell cell, F&& f) {
  switch (cell) {
    case RecurrentCell::lstm:
      return f.template operator()<RecurrentCell::lstm>();
    case RecurrentCell::gru_after:
      return f.template operator()<RecurrentCell::gru_after>();
    case RecurrentCell::gru_before:
      return f.template operator()<RecurrentCell::gru_before>();
    case RecurrentCell::rnn_tanh:
      return f.template operator()<RecurrentCell::rnn_tanh>();
    case RecurrentCell::rnn_relu:
      return f.template operator()<RecurrentCell::rnn_relu>();
  }
}

}  // namespace tapedeck::cuda
