// What became of a gradient after it arrived at its variable: writes into `grad`, and tensors that were made
// of it, as clipping does.
#pragma once

#include "engine/debug/why/foreign_gradient.h"

namespace tapedeck::debug {

/// The tensor that is `variable.grad` behind the arrival; where PyTorch took the gradient as it is, the
/// gradient.
std::uint64_t grad_behind(Past& past, const Arrival& arrival);

/// Says in the answer, which is about a gradient that arrived, who wrote into it since, and whether it was
/// dropped.
void tell_fate(Past& past, const Arrival& arrival, protocol::Because& answer);

/// A tensor that ops of the program made of a gradient, or wrote into it.
struct EditedGradient {
  Arrival arrival;
  std::vector<const RecordView*> edits;  ///< the newest first
};
/// nullopt: it is none, or is as it arrived.
std::optional<EditedGradient> edited_gradient(Past& past, std::uint64_t tensor);

/// About such a tensor: what it is now, who made that, and the gradient that arrived.
protocol::Because of_edited(Past& past, const EditedGradient& edited, const Subject& subject);

/// "multiplied it by 0.5", "wrote zeros into it", "changed 2 of its 3 elements": a clause. `whole`: the
/// elements of the gradient, of which these may be a view.
std::string change_text(Past& past, std::uint64_t before, std::uint64_t after, std::size_t whole);

}  // namespace tapedeck::debug
