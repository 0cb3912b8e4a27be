// The recorder's records as the protocol's messages.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/protocol/messages.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// A small value on one line, as an edge or a table shows it.
std::string preview(const Tensor& tensor);
/// Whether the tensor has so few elements that it is shown that way.
bool has_preview(const Recorder& recorder, std::uint64_t id);

/// What is known of a tensor; only the id where that is nothing.
protocol::TensorInfo tensor_info(const Recorder& recorder, std::uint64_t id, bool with_preview);

/// An op that a playback runs itself, to add a contribution to a gradient.
bool sums_gradients(const Recorder& recorder, const RecordView& view);

/// The record as the views show it; nothing where there is none of that number yet. One that was forgotten,
/// because the recording passed its number of records, comes as a failed op "forgotten" that says so: numbers
/// have no gaps.
std::optional<protocol::Record> describe(const Recorder& recorder, std::uint32_t number, bool with_previews);

/// Records [first, first + count) as far as they are there; at most 1000.
protocol::Records describe_page(const Recorder& recorder, const protocol::GetRecords& request);

/// The session's state. `pool_bytes` and `pooled_bytes` are the engine's.
protocol::Status describe_status(const Recorder& recorder);

protocol::Statistics describe_summary(std::uint64_t tensor, const Summary& summary,
                                      const std::string& source);

}  // namespace tapedeck::debug
