// The sums that a playback makes of the contributions to one tensor's gradient.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/record/cancel.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// Ids; 0: none. Where `before` is 0 the contribution is the first, and the sum after it is itself.
struct Accumulation {
  std::uint64_t before = 0, after = 0;
};

/// For each input of the forward op the sum of its gradient before and after the VJP's contribution, found
/// from the sums that the playback recorded. After a VJP that has not ended: 0. Throws Cancelled.
std::vector<Accumulation> accumulations(const Recorder& recorder, const RecordView& vjp,
                                        const CancelFlag* cancel);

/// What one VJP gave to the gradient of a tensor.
struct GradientShare {
  std::uint32_t vjp = 0;    ///< 0: the playback began with it
  std::uint32_t input = 0;  ///< of the forward op
  std::uint64_t value = 0;
};

struct SummedGradient {
  std::uint64_t target = 0;           ///< the tensor; 0: not known
  std::vector<GradientShare> shares;  ///< that are in the sum, in order
};

/// What is in the sum that the op `sum` makes, of those which followed the VJP. Throws Cancelled.
SummedGradient summed_gradient(const Recorder& recorder, const RecordView& vjp, std::uint32_t sum,
                               const CancelFlag* cancel);

}  // namespace tapedeck::debug
