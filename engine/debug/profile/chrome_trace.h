// Records as trace events, which Perfetto and Chrome's tracing page open: complete events ("ph": "X") of the
// "Trace Event Format" (Google, 2016), times in microseconds.
#pragma once

#include <span>
#include <string>

#include "engine/debug/profile/events.h"
#include "engine/debug/profile/views.h"

namespace tapedeck::debug {

/// The pieces in a row are one JSON text: the head, events of any number of pieces, the tail.
std::string chrome_trace_head(int process, const std::string& name);
std::string chrome_trace_event(const ProfileEvent& event, std::int64_t from, std::int64_t to,
                               const ProfileClass& of, const ProfileTexts& texts, int process);
/// What a GPU did of it, and when: on a track of the GPU. The time must be known.
std::string chrome_trace_device_event(const ProfileEvent& event, const ProfileClass& of, int process);
/// `devices`: lanes whose events came.
std::string chrome_trace_tail(std::span<const std::uint16_t> threads,
                              std::span<const ProfileIndex::DeviceLaneKey> devices, int process);

}  // namespace tapedeck::debug
