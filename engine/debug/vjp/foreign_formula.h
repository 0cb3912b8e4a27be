// Whether the formula of an op of the registry gives what PyTorch computed.
#pragma once

#include <string>

#include "engine/debug/vjp/vjp_call.h"

namespace tapedeck::debug {

/// Runs the VJP of the forward op's counterpart on the recorded values, and compares each gradient with the
/// one that PyTorch's VJP gave: within 1e-4 of its largest element for float32 and float64, 2e-2 for narrower
/// ones. Empty where all agree; else the sentence why the formula cannot be shown. Throws Cancelled.
std::string why_no_formula(const Recorder& recorder, const RecordView& vjp, const RecordView& forward,
                           const FindTensor& find);

}  // namespace tapedeck::debug
