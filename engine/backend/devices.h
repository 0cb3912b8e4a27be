// The GPUs of this machine, whose kernels stand in a library of their own: it is loaded where there is a
// driver, so the program runs unchanged on machines without one.
#pragma once

#include <functional>
#include <string>

#include "engine/tensor/device.h"

namespace tapedeck {

class DeviceMemory;
namespace kernels {
struct Table;
}

/// Looks for GPUs; once, the first call. From then on gpu_count() tells how many there are.
void load_gpus();
/// Where there is none: a sentence that says why. Empty where there is one.
const std::string& why_no_gpu();
/// Whether this build has kernels for GPUs, be there one or not.
bool has_gpu_kernels();

/// Whether GPUs may round the factors of float32's products to TF32 (10 bits of fraction instead of 23), for
/// speed. Off unless asked for; holds for all threads, from the next product on.
bool tensor_float_32_allowed();
void allow_tensor_float_32(bool allowed);
/// A GPU was lost by an error after which CUDA refuses all that this process asks for: what every call throws
/// from then on. Empty where none was.
std::string gpu_loss();
/// `told` is called with that text once, by the thread that finds out; at once where it has happened. Instead
/// of the one before.
void on_gpu_loss(std::function<void(const std::string&)> told);

/// What the engine gives to the library.
struct GpuHost {
  const kernels::Table& cpu;
  /// The GPU gets the next number.
  void (*add)(DeviceMemory& memory, const kernels::Table& table);
  /// op_device(); a library's own copy of that variable would be another.
  Device (*op_device)();
  bool (*tensor_float_32_allowed)();
  /// Calls `wait(context)` without the host language's lock.
  void (*unlocked)(void (*wait)(void* context), void* context);
  /// The name of the op that the calling thread runs; nullptr: none.
  const char* (*op_name)();
  /// A GPU is lost, which is told once: `text` is what every call on it throws from now on.
  void (*lost)(const char* text);
};
/// The library's one function, `extern "C"`: adds each GPU, or says why there is none.
using AddGpus = const char* (*)(const GpuHost& host);
inline constexpr const char* add_gpus_name = "tapedeck_add_gpus";

}  // namespace tapedeck
