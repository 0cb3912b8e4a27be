// Why: one analysis for each question, over the records that are kept and the values behind them.
#pragma once

#include "engine/debug/why/past.h"

namespace tapedeck::debug {

/// What a question is about: a tensor, and perhaps one of its elements.
struct Subject {
  std::uint64_t tensor = 0;
  std::vector<std::int64_t> element;  ///< empty: all
  std::uint64_t record = 0;           ///< where the user looks; 0: nowhere
};

// All throw ValueError (the value itself is lost), BadRequest and Cancelled. If only intermediate values are
// lost, the answer says how far the analysis got.

/// The first op on the way to the NaN or infinity that made it of values that had none (birth.cpp).
protocol::Because where_born(Past& past, const Subject& subject);
/// The ops of a playback that made zeros of what was not zero; of a tensor of the forward pass, and of a
/// playback: what became of its gradient (gradient.cpp).
protocol::Because why_no_gradient(Past& past, const Subject& subject);
/// Why the result has no gradient with respect to the source (no_gradient.cpp).
protocol::Because why_none(Past& past, std::uint64_t result, std::uint64_t source);
/// The ops that made zeros on the way to the gradient (zero_gradient.cpp).
protocol::Because why_zero(Past& past, const Subject& subject);

/// The gain of each op on the way of the largest inputs (gain.cpp).
protocol::Because where_sized(Past& past, const Subject& subject);
/// The largest contributions to an element, backwards (contributions.cpp); to a gradient:
/// gradient_contributions.
protocol::Because what_made(Past& past, const Subject& subject);
/// The contributions that a gradient is the sum of; nothing where it is not a sum of VJPs
/// (gradient_parts.cpp).
std::optional<protocol::Because> gradient_contributions(Past& past, const Subject& subject);

/// A VJP beside finite differences in float64 (gradient_check.cpp).
protocol::Because is_right(Past& past, const Subject& subject);
/// What led to the tensor in float64, and how far each op is off (exactness.cpp).
protocol::Because how_exact(Past& past, const Subject& subject);

/// Any question. The request's tensor may be 0: then it is about the record.
protocol::Because answer(Past& past, const protocol::Why& why);

}  // namespace tapedeck::debug
