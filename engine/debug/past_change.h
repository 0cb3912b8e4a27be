// A change of the past as a client writes it, made one that a branch can be built of.
#pragma once

#include "engine/protocol/what_if.h"
#include "engine/record/replay/branch.h"

namespace tapedeck::debug {

/// Throws BadRequest, which names what is wrong: no such tensor, op or attribute, a value that does not fit.
Change change_of(const Recorder& recorder, const protocol::PastChange& asked);

}  // namespace tapedeck::debug
