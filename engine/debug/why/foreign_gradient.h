// Why a tensor of a PyTorch program has no gradient, or zeros.
#pragma once

#include <optional>
#include <set>

#include "engine/debug/why/foreign_memory.h"
#include "engine/debug/why/why.h"

namespace tapedeck::debug {

/// Whether the playback is a backward pass of PyTorch's.
bool is_foreign_playback(Past& past, const RecordView& playback);

/// The newest backward pass, not those inside of it (of a checkpoint); nullptr: the newest is none of
/// PyTorch's.
const RecordView* newest_foreign_playback(Past& past);

/// The backward pass that a tensor's gradient is asked of, where the user looks at that record (or nowhere:
/// nullptr): the first one after the record, or after what made the tensor, that comes to the tensor's own
/// op; else the first whose result depends on the tensor; else the first whose result is newer than the
/// record. Of a variable that is asked about nowhere, and where there is none of these, it is the newest.
/// nullptr: the newest is none of PyTorch's. Throws Cancelled.
const RecordView* foreign_playback_for(Past& past, std::uint64_t tensor, const RecordView* looked_at);

/// A gradient that arrived at a variable: `grad` became it, or had it added.
struct Arrival {
  const RecordView* record = nullptr;
  std::uint64_t variable = 0, gradient = 0;
};
/// Of the playback, and of those inside of it, in their order.
std::vector<Arrival> arrivals_in(Past& past, const RecordView& playback);

/// Whether it is a backward(), whose gradients go to the leaves, and no autograd.grad().
bool gives_to_leaves(Past& past, const RecordView& playback);

/// The gradient that became `variable.grad` as this tensor, or was added to it; nullopt: it is another
/// tensor.
std::optional<Arrival> arrival_of(Past& past, std::uint64_t gradient);

/// The tensor and the older values of the same variable, as far as writes that no tape recorded (those of
/// optimisers) lead back.
std::set<std::uint64_t> values_of_foreign(Past& past, std::uint64_t tensor);

/// Asked about a whole backward pass that has ended well.
protocol::Because of_foreign_playback(Past& past, const RecordView& playback);
/// About a tensor of the forward pass.
protocol::Because of_foreign_tensor(Past& past, const RecordView& playback, std::uint64_t tensor);

}  // namespace tapedeck::debug
