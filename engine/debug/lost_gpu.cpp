#include "engine/debug/lost_gpu.h"

#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "engine/backend/devices.h"
#include "engine/protocol/exit_message.h"
#include "engine/record/background_thread.h"

namespace tapedeck::debug {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds between_looks(50), to_tell_the_error(300), longest_cell(10'000);

/// Until the cell's error has been sent to its client.
void wait_for_cell(const Recorder& recorder) {
  milliseconds quiet(0), ran(0);
  while (quiet < to_tell_the_error && ran < longest_cell) {
    std::this_thread::sleep_for(between_looks);
    if (recorder.running_cell().empty())
      quiet += between_looks;
    else if (quiet = milliseconds(0); recorder.gate().status().state != protocol::GateState::stopped)
      ran += between_looks;
  }
}

[[noreturn]] void end(const Recorder& recorder, int descriptor, const std::string& text) {
  wait_for_cell(recorder);
  const std::string message = std::string(protocol::lost_gpu_prefix) + text + "\n";
  [[maybe_unused]] const auto written = ::write(descriptor, message.data(), message.size());
  // What Python and other libraries would tidy up asks the GPU for answers that never come.
  ::_exit(lost_gpu_exit_code);
}

}  // namespace

void end_with_gpu(const Recorder& recorder, int descriptor) {
  on_gpu_loss([&recorder, descriptor](const std::string& text) {
    start_background_thread([&recorder, descriptor, text] { end(recorder, descriptor, text); }).detach();
  });
}

}  // namespace tapedeck::debug
