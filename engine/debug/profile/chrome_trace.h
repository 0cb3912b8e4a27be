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
std::string chrome_trace_tail(std::span<const std::uint16_t> threads, int process);

}  // namespace tapedeck::debug
