// Decomposes one element of a contribution into the terms of its sum.
#pragma once

#include "engine/debug/vjp/vjp_call.h"
#include "engine/protocol/vjp.h"
#include "engine/record/cancel.h"

namespace tapedeck::debug {

/// A VJP is linear in its cotangents, so the element is a sum of cotangent elements times derivatives. All
/// derivatives come from one run of the VJP and one of its own VJP, whatever the op; only their names come
/// from its formula, and only where they give the same numbers. Throws BadRequest, ValueError, Cancelled.
protocol::ElementTerms element_terms(const VjpCall& call, const protocol::ExplainElement& request,
                                     const CancelFlag* cancel);

}  // namespace tapedeck::debug
