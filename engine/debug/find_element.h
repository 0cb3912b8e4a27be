// Where in a tensor its extremes are, and what is not finite.
#pragma once

#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"
#include "engine/tensor/tensor.h"

namespace tapedeck::debug {

/// All of the tensor is looked at, by all threads; a GPU's is copied to the host. Throws BadRequest,
/// Cancelled.
protocol::FoundElement find_element(const Tensor& tensor, const protocol::FindElement& request,
                                    const CancelFlag* cancel = nullptr);

}  // namespace tapedeck::debug
