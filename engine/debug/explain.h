// Why there is no gradient: where, on the way from a source to a result, the path of recorded ops is broken.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/record/recorder.h"
#include "engine/record/source_location.h"

namespace tapedeck::debug {

/// A recorded step that passes no gradient on, although the result depends on the source through it.
struct BrokenStep {
  enum class Reason : std::uint8_t {
    stopped,      ///< stop_gradient
    no_gradient,  ///< an op without a VJP
    integer,      ///< its result is no floating-point tensor
    not_taped     ///< no tape recorded it
  };
  Reason reason = Reason::not_taped;
  std::uint32_t record = 0;
  std::string op;
  SourceLocation location;
};

struct NoGradient {
  bool depends = false;            ///< some path of recorded ops leads from the source to the result
  bool connected = false;          ///< one of them passes gradients on all the way
  std::vector<BrokenStep> broken;  ///< nearest to the result first; each where a path ends
  std::vector<std::string>
      leaves;  ///< where it does not depend: names and shapes of what the result was made of
};

/// Looks at the records that are kept. Throws ValueError (code "gone") where the result is in none of them.
NoGradient explain_no_gradient(const Recorder& recorder, std::uint64_t result, std::uint64_t source);

}  // namespace tapedeck::debug
