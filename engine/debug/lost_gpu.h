// Ends a session that has lost its GPU.
#pragma once

#include "engine/record/recorder.h"

namespace tapedeck::debug {

inline constexpr int lost_gpu_exit_code = 70;

/// Makes the process exit once a GPU is lost: after the cell that detected the loss has reported its error;
/// after some seconds if the cell continues; never while the program is stopped. Its exit
/// message (protocol/exit_message.h) goes to the file descriptor. The recorder must live as long as the
/// process.
void end_with_gpu(const Recorder& recorder, int descriptor);

}  // namespace tapedeck::debug
