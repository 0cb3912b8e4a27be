// Resolves a client's change of the past to one that a branch is built from.
#pragma once

#include "engine/protocol/what_if.h"
#include "engine/record/replay/branch.h"

namespace tapedeck::debug {

/// Throws BadRequest, which names what is wrong: no such tensor, op or attribute, a value that does not fit.
Change change_of(const Recorder& recorder, const protocol::PastChange& asked);

/// What the attribute takes that is set to `text`: a Scalar of PyTorch's takes integers and reals.
AttributeKind kind_of(const OpDef& op, std::size_t attribute, const std::string& text);

}  // namespace tapedeck::debug
