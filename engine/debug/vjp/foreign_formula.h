// The formula of a VJP of PyTorch's: that of Tapedeck's ops which compute the same, with the arguments of the
// call.
#pragma once

#include <string>

#include "engine/debug/vjp/vjp_call.h"

namespace tapedeck::debug {

struct ForeignFormula {
  /// Computes the record's VJP in Tapedeck's ops. Its `op` has the schema's names and the formula, or "none".
  /// Its results are those of the record that a gradient can come to.
  VjpCall call;
  /// The sentence why there is no formula; empty: there is one.
  std::string problem;
  /// Something that the formula does not show by itself; may be empty.
  std::string remark;
};

/// Runs the VJP in Tapedeck's ops on the recorded values, and compares each gradient with the one that
/// PyTorch's VJP gave, within 1e-4 of its largest element (float64: 1e-8; dtypes below float32: 2e-2). Before
/// that has run, compares the op's results. `vjp` without a number: only what the call's row says. Throws
/// Cancelled.
ForeignFormula foreign_formula(const Recorder& recorder, const RecordView& vjp, const RecordView& forward,
                               const FindTensor& find);

}  // namespace tapedeck::debug
