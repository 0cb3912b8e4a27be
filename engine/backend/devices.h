// The GPUs of this machine. Their kernels are in a separate library, which is loaded only if a driver is
// present, so the same program runs on machines without one.
#pragma once

#include <functional>
#include <string>

#include "engine/tensor/device.h"

namespace tapedeck {

class DeviceMemory;
namespace kernels {
struct Table;
}

/// Looks for GPUs on the first call; later calls do nothing. Sets gpu_count().
void load_gpus();
/// A sentence that says why no GPU can be used; empty if one can.
const std::string& why_no_gpu();
/// Whether this build has GPU kernels, with or without a GPU in the machine.
bool has_gpu_kernels();

/// Whether GPUs may round the factors of float32's products to TF32 (10 bits of fraction instead of 23), for
/// speed. Off by default; applies to all threads, from the next product on.
bool tensor_float_32_allowed();
void allow_tensor_float_32(bool allowed);
/// The message that every GPU call throws once a GPU is lost, i.e. after an error that makes CUDA refuse all
/// further calls of this process. Empty while no GPU is lost.
std::string gpu_loss();
/// Sets the callback that gets that text, once, on the thread that detects the loss; immediately if a GPU is
/// already lost. Replaces the previous callback.
void on_gpu_loss(std::function<void(const std::string&)> told);

/// What the engine provides to the library.
struct GpuHost {
  const kernels::Table& cpu;
  /// The GPU gets the next number.
  void (*add)(DeviceMemory& memory, const kernels::Table& table);
  /// op_device() of the engine; the library would otherwise read its own copy of the thread-local variable.
  Device (*op_device)();
  bool (*tensor_float_32_allowed)();
  /// Calls `wait(context)` with the host language's lock released.
  void (*unlocked)(void (*wait)(void* context), void* context);
  /// The name of the op that the calling thread runs; nullptr: none.
  const char* (*op_name)();
  /// Reports, once, that a GPU is lost: `text` is what every call on it throws from now on.
  void (*lost)(const char* text);
};
/// The library's one function, `extern "C"`: adds each GPU, or says why there is none.
using AddGpus = const char* (*)(const GpuHost& host);
inline constexpr const char* add_gpus_name = "tapedeck_add_gpus";

}  // namespace tapedeck
