// Updates of PyTorch's optimisers, which write into parameters: of many in one op, and with which gradient.
#pragma once

#include <optional>

#include "engine/debug/why/past.h"

namespace tapedeck::debug {

/// Of a `_foreach_` op: the inputs that belong to that output, of each list the one at its place, and those
/// that are no lists. Empty for another op.
std::vector<std::size_t> inputs_of_slot(const RecordView& record, std::size_t slot);

/// The newest gradient that a write into a tensor takes, other than by what it writes over: in a step of an
/// optimiser, or by hand; with its element at that place. Nothing: it takes none that is known. Throws
/// Cancelled and ValueError.
std::optional<protocol::Reason> gradient_taken(Past& past, const RecordView& update, std::size_t slot,
                                               std::int64_t place);

/// Of a variable's value: on to what was assigned, as an optimiser's write into it. False: an op did not make
/// that, or it came from Python.
bool follow_assignment(Past& past, std::uint64_t& tensor);

/// Whether the op draws random numbers. False where that cannot be known: in a process without PyTorch.
bool draws_numbers(const RecordView& record, const Tensors& inputs);

}  // namespace tapedeck::debug
