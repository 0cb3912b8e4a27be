// Why there is no gradient: where, on the way from a source to a result, the path of recorded ops is broken.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/record/recorder.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {

/// A step that passes no gradient on, although the result depends on the source through it.
struct BrokenStep {
  enum class Reason : std::uint8_t {
    stopped,      ///< stop_gradient
    no_gradient,  ///< an op without a VJP
    integer,      ///< its result is not a floating-point tensor
    not_taped,    ///< no tape recorded it
    assigned,     ///< an assignment: the variable keeps the value, not where it came from
    none_given,   ///< the user's gradient function gave None
    captured      ///< a function with a custom gradient used the value without taking it as an argument
  };
  Reason reason = Reason::not_taped;
  std::uint32_t record = 0;  ///< 0 for an assignment
  std::string op;            ///< name of the op, of the user's function, or of the variable
  SourceLocation location;
};

/// A value that the result was computed from and that no recorded op made.
struct Leaf {
  std::string text;  ///< name, or "a constant", and values
  std::string op;    ///< the first that used it; empty: none
  std::uint32_t record = 0;
  SourceLocation location;
};

/// A value computed from the source that Python or NumPy read.
struct LeftTape {
  std::string op;  ///< what made it; empty: it is the source itself
  std::uint32_t record = 0;
  SourceLocation location;  ///< where it was read
};

struct NoGradient {
  bool depends = false;    ///< some path of recorded ops and assignments leads from the source to the result
  bool connected = false;  ///< one of them passes gradients on all the way
  std::vector<BrokenStep> broken;  ///< nearest to the source first; each where a path ends
  std::vector<Leaf> leaves;        ///< where it does not depend: what the result was made of
  std::vector<LeftTape> left;      ///< where it does not depend: the last moments before, the newest first
};

/// What the gradient is asked for: a tensor, or a variable (then all its known values count, the older ones
/// too).
struct Source {
  std::uint64_t tensor = 0;    ///< id; a variable's present value
  std::uint64_t variable = 0;  ///< id; 0: none
};

/// Looks at the records that are kept. Throws ValueError (code "gone") where the result is in none of them.
NoGradient explain_no_gradient(const Recorder& recorder, std::uint64_t result, Source source);

}  // namespace tapedeck::debug
