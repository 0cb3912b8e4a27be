// Finds the extremes of a tensor, and its elements that are not finite.
#pragma once

#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"
#include "engine/tensor/tensor.h"

namespace tapedeck::debug {

/// Searches the whole tensor with all threads; a GPU tensor is copied to the host. Throws BadRequest,
/// Cancelled.
protocol::FoundElement find_element(const Tensor& tensor, const protocol::FindElement& request,
                                    const CancelFlag* cancel = nullptr);

}  // namespace tapedeck::debug
