// Whether the engine has loaded the emulated GPUs, and their counters.
#pragma once

#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace tapedeck {

/// A counter function of the emulation; nullptr for real GPUs, which have none.
inline unsigned long long (*emulated_counter(const char* name))() {
  const char* path = std::getenv("TAPEDECK_GPU_LIBRARY");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  if (!library) return nullptr;
  const auto counter = reinterpret_cast<unsigned long long (*)()>(dlsym(library, name));
  dlclose(library);  // the engine keeps it
  return counter;
}
inline std::uint64_t emulated_count(const char* name) {
  const auto counter = emulated_counter(name);
  return counter ? counter() : 0;
}

/// Real GPUs use CUDA's functions, the emulation the host's. Both are accurate to a few last places (CUDA C++
/// Programming Guide, Mathematical Functions).
inline bool gpus_are_real() {
  static const bool real = emulated_counter("tapedeck_emulated_waits") == nullptr;
  return real;
}
/// The allowed difference between emulation and CPU in last places. Sanitizers change what the compiler
/// contracts.
inline double last_places_of_emulation() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 2;
#else
  return 0;
#endif
}
/// Equal within that tolerance.
template <class T>
bool near_on_real_gpus(T a, T b, double last_places = 8) {
  if (!gpus_are_real()) last_places = last_places_of_emulation();
  if (last_places == 0) return false;
  const double left = static_cast<double>(a), right = static_cast<double>(b);
  const double unit = static_cast<double>(std::numeric_limits<T>::epsilon()) * std::abs(right) +
                      static_cast<double>(std::numeric_limits<T>::denorm_min());
  return std::abs(left - right) <= last_places * unit;
}

}  // namespace tapedeck
