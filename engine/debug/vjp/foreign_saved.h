// What a node of PyTorch's graph saved for its backward, by name.
#pragma once

#include "engine/protocol/vjp.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// The attributes of a VJP's record are not those of its op: a string with a line for each thing that the
/// node saved (engine/python/tapedeck/torch/saved.py has the format), and whether the backward pass keeps it.
/// A saved tensor is an argument or a result of the op, and has its name: the symbols of these get a text
/// that says so, and where they are gone. Numbers and lists become attributes.
void add_saved(const Recorder& recorder, const RecordView& vjp, const RecordView& forward,
               protocol::VjpParts& parts);

}  // namespace tapedeck::debug
