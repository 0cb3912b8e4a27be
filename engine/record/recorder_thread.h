// The recorder's per-thread state. Private to the recorder's files.
#pragma once

#include <vector>

#include "engine/record/recorder.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck {

/// A custom gradient, playback or VJP that has not ended.
struct Recorder::Open {
  std::uint32_t number = 0;
  EventKind kind = EventKind::custom;
  bool backward = false;
  bool hides_ops = false;       ///< a built-in VJP, or inside one: its ops are not stop points
  std::uint32_t forward = 0;    ///< the op whose VJP runs the ops inside
  std::uint32_t enclosing = 0;  ///< the innermost playback or custom gradient, itself included
  CallSite site;
  std::int64_t waited_before = 0;
  std::uint32_t scope = 0;         ///< of its record
  std::uint32_t scope_around = 0;  ///< the program's when it began
  std::uint64_t ops_before = 0;    ///< of the thread's
};

struct Recorder::Thread {
  std::uint64_t serial = 0;
  std::uint16_t index = 0;
  std::vector<Open> open;
  std::uint64_t ops = 0;    ///< that it ran
  std::int64_t waited = 0;  ///< total wait at the gate in ticks
  std::uint32_t last_waited = 0;
  std::int64_t last_wait = 0;
  // Of the op that began last, for end().
  std::uint32_t began = 0;      ///< its number
  std::int64_t began_at = 0;    ///< ticks
  std::uint64_t inputs_ns = 0;  ///< the longest replay of its inputs
  bool gave_up = false;         ///< the next op overwrites values, with which it must not wait
  BreakThread breaks;
  /// Breakpoints to evaluate again when it has ended.
  struct Watched {
    BreakEvent event;
    BreakWait wait;
  };
  std::vector<Watched> watched;
  /// The record at whose failure it stopped; enclosing records fail with the same error.
  std::uint32_t failure_shown = 0;
  /// The op whose work is being queued on a GPU.
  struct OnDevice {
    std::uint32_t number = 0;
    Device device;
  };
  std::vector<OnDevice> on_devices;
  // Of the op that began last, if Health samples it.
  HealthSampler::Wants sampled = HealthSampler::Wants::nothing;
  ActivationCall call;
  Tensors update_inputs;
};

}  // namespace tapedeck
