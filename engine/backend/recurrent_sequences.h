// The arrays of a recurrent layer as values of one type, and the positions of a step's rows in them, the same
// on every device.
#pragma once

#include "engine/backend/kernels.h"

namespace tapedeck::kernels {

template <class T>
struct RecurrentSequences {
  RecurrentCell cell;
  RecurrentSize size;
  RecurrentForm form;
  const T *x, *h_first, *c_first, *kernel, *recurrent_kernel, *bias;
  T *sequence, *h_last, *c_last, *kept;

  RecurrentSequences(RecurrentCell of, const RecurrentSize& s, const RecurrentInputs& in,
                     const RecurrentResults& out)
      : cell(of),
        size(s),
        form(form_of(of)),
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

  std::int64_t rows() const { return size.batch * size.steps; }
  /// The row of the first example at the step that runs as number `step`; the next example's row is between()
  /// further.
  std::int64_t first_row(std::int64_t step) const {
    const std::int64_t time = size.reverse ? size.steps - 1 - step : step;
    return size.time_major ? time * size.batch : time;
  }
  std::int64_t between() const { return size.time_major ? 1 : size.steps; }
};

}  // namespace tapedeck::kernels
