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

/// A tensor as messages describe it; only the id is set for an unknown one.
protocol::TensorInfo tensor_info(const Recorder& recorder, std::uint64_t id, bool with_preview);

/// An op that a playback runs itself, to add a contribution to a gradient.
bool sums_gradients(const Recorder& recorder, const RecordView& view);

/// The record as views show it; nullopt for a number that does not exist yet. A record that was dropped,
/// because the recording reached its limit, is a failed op "forgotten" with that reason: numbers have no
/// gaps.
std::optional<protocol::Record> describe(const Recorder& recorder, std::uint32_t number, bool with_previews);

/// The existing records of [first, first + count); at most 1000.
protocol::Records describe_page(const Recorder& recorder, const protocol::GetRecords& request);

/// The session's state. `pool_bytes` and `pooled_bytes` are the engine's.
protocol::Status describe_status(const Recorder& recorder);

protocol::Statistics describe_summary(std::uint64_t tensor, const Summary& summary,
                                      const std::string& source);

}  // namespace tapedeck::debug
