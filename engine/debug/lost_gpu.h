// How a session ends that has lost its GPU.
#pragma once

#include "engine/record/recorder.h"

namespace tapedeck::debug {

inline constexpr int lost_gpu_exit_code = 70;

/// From now on the process ends by itself once a GPU is lost: when the cell that found out has ended and
/// reported its error; after some seconds where it goes on; never while it is stopped and looked at. Its exit
/// message (protocol/exit_message.h) goes to the file descriptor. The recorder must live as long as the
/// process.
void end_with_gpu(const Recorder& recorder, int descriptor);

}  // namespace tapedeck::debug
