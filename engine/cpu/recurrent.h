// Recurrent layers over whole sequences: one product for the inputs of all steps, one for each step's state,
// and one for each gradient of a weight.
//
// Hochreiter and Schmidhuber, "Long short-term memory", Neural Computation 9(8), 1997; Cho et al. 2014,
// arXiv:1406.1078 (GRU). Results do not depend on the number of threads; the calling thread checks for
// interrupts.
#pragma once

#include <cstdint>

#include "engine/tensor/dtype.h"

namespace tapedeck::cpu {

/// The order of the parts of kernels and biases, each `units` wide:
///   lstm        i, f, g, o; bias (4·units)
///   gru_after   z, r, candidate; bias (2, 3·units): of the inputs and of the state; the reset gate weighs
///   the
///               product with the state
///   gru_before  z, r, candidate; bias (3·units); the reset gate weighs the state itself
///   rnn_tanh, rnn_relu   bias (units)
enum class RecurrentCell : std::uint8_t { lstm, gru_after, gru_before, rnn_tanh, rnn_relu };

struct RecurrentForm {
  std::int64_t gates;    ///< parts of the kernels
  std::int64_t kept;     ///< parts that a step leaves for its gradient
  std::int64_t d_gates;  ///< parts of a step's gradients
};
constexpr RecurrentForm form_of(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::lstm:
      return {4, 5, 4};
    case RecurrentCell::gru_after:
    case RecurrentCell::gru_before:
      return {3, 4, 4};
    default:
      return {1, 0, 1};
  }
}

struct RecurrentSize {
  std::int64_t batch, steps, inputs, units;
  bool time_major;  ///< sequences are (steps, batch, …), not (batch, steps, …)
  bool reverse;     ///< from the last step to the first
  const bool*
      mask;  ///< as a sequence; a step where it is false leaves the state as it was. nullptr: all true
};

/// All contiguous, of one dtype, float32 or float64. `c` is the LSTM's.
struct RecurrentInputs {
  const void *x, *h, *c, *kernel, *recurrent_kernel, *bias;
};
/// What a step keeps: the LSTM's i, f, g, o, c; the GRU's z, r, candidate, and the state's part of the
/// candidate (after) or r·h (before). Where the mask is false: zeros, and the LSTM's c.
struct RecurrentResults {
  void *sequence, *h, *c, *kept;
};
/// nullptr where there is none.
struct RecurrentCotangents {
  const void *sequence, *h, *c, *kept;
};
/// nullptr where none is wanted.
struct RecurrentGradients {
  void *x, *h, *c, *kernel, *recurrent_kernel, *bias;
};

void recurrent(RecurrentCell cell, DType dtype, const RecurrentSize& size, const RecurrentInputs& inputs,
               const RecurrentResults& results);
void recurrent_gradient(RecurrentCell cell, DType dtype, const RecurrentSize& size,
                        const RecurrentInputs& inputs, const RecurrentResults& results,
                        const RecurrentCotangents& cotangents, const RecurrentGradients& gradients);

}  // namespace tapedeck::cpu
