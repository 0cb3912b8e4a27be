#include "engine/backend/devices.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "engine/backend/backend.h"
#include "engine/tensor/device_memory.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck {
namespace {

std::atomic<bool> tensor_float_32{false};

std::string& absence() {
  static auto* const text = new std::string;
  return *text;
}

struct Loss {
  std::mutex mutex;
  std::string text;
  std::function<void(const std::string&)> told;
};
Loss& loss() {
  static auto* const instance = new Loss;
  return *instance;
}

/// The path of the library beside the one with this function; else in the build folder.
std::string library_path() {
  if (const char* chosen = std::getenv("TAPEDECK_GPU_LIBRARY")) return chosen;
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&library_path), &self) != 0 && self.dli_fname) {
    const std::string file = self.dli_fname;
    std::string beside = file.substr(0, file.rfind('/') + 1) + "libtapedeck_cuda.so";
    if (void* found = dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
      dlclose(found);
      return beside;
    }
    if (FILE* readable = std::fopen(beside.c_str(), "rb")) {
      std::fclose(readable);
      return beside;
    }
  }
#ifdef TAPEDECK_CUDA_LIBRARY
  return TAPEDECK_CUDA_LIBRARY;
#else
  return {};
#endif
}

void lose(const char* text) {
  std::function<void(const std::string&)> told;
  {
    const std::lock_guard lock(loss().mutex);
    if (!loss().text.empty()) return;
    loss().text = text;
    told = loss().told;
  }
  if (told) told(text);
}

bool has_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return driver != nullptr;
}

/// Parses it as CUDA does: GPUs up to the first invalid number. If it hides all GPUs, the runtime is not even
/// started, and the tests' GPUs are hidden, too.
bool hides_all_gpus() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible && (*visible == '\0' || *visible == '-');
}

void load() {
  if (hides_all_gpus()) {
    absence() = "CUDA_VISIBLE_DEVICES hides all GPUs";
    return;
  }
  const std::string path = library_path();
  if (path.empty()) {
    absence() = "this build has no kernels for GPUs: nvcc 12 or a CUDA driver was not found when it was made";
    return;
  }
  if (!std::getenv("TAPEDECK_GPU_LIBRARY") && !has_driver()) {
    absence() = "this machine has no CUDA driver (libcuda.so.1)";
    return;
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    absence() = why ? why : path + " cannot be loaded";
    return;
  }
  const auto add = reinterpret_cast<AddGpus>(dlsym(library, add_gpus_name));
  if (!add) {
    absence() = path + " has no function " + add_gpus_name;
    return;
  }
  const GpuHost host{.cpu = backend(Device{}),
                     .add =
                         [](DeviceMemory& memory, const Backend& table) {
                           detail::gpu_backends[static_cast<std::size_t>(detail::add_gpu_memory(memory))] =
                               &table;
                         },
                     .op_device = [] { return op_device(); },
                     .tensor_float_32_allowed = &tensor_float_32_allowed,
                     .unlocked =
                         [](void (*wait)(void*), void* context) {
                           const HostUnlock unlock;
                           wait(context);
                         },
                     .op_name = [] { return detail::op_on_device; },
                     .lost = lose};
  absence() = add(host);
}

}  // namespace

constinit std::array<const Backend*, detail::most_gpus> detail::gpu_backends{};

bool tensor_float_32_allowed() {
  return tensor_float_32.load(std::memory_order_relaxed);
}
void allow_tensor_float_32(bool allowed) {
  tensor_float_32.store(allowed, std::memory_order_relaxed);
}

void load_gpus() {
  static std::once_flag once;
  std::call_once(once, load);
}

const std::string& why_no_gpu() {
  load_gpus();
  return absence();
}

std::string gpu_loss() {
  const std::lock_guard lock(loss().mutex);
  return loss().text;
}

void on_gpu_loss(std::function<void(const std::string&)> told) {
  std::string text;
  {
    const std::lock_guard lock(loss().mutex);
    loss().told = told;
    text = loss().text;
  }
  if (!text.empty()) told(text);
}

bool has_gpu_kernels() {
  return !library_path().empty();
}

}  // namespace tapedeck
