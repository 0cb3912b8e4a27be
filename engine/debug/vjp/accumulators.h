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

}  // namespace tapedeck::debug
