#include "tests/bench/machine.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tapedeck::bench {
namespace {

typedef float Lanes __attribute__((vector_size(64)));
constexpr long lanes = 16;
constexpr int chains = 12;  // independent ones, enough to hide the latency of two units of four cycles
constexpr long rounds_of_chains = 1000000;
constexpr int rounds = 25;
constexpr long floats_of_round = 16L << 20;  // passed over in one round, at least

// What the rounds compute goes here, so that the compiler keeps them.
std::atomic<float> kept{0};

struct Loops {
  int width;  ///< floats of a register
  void (*multiply_add)(float start);
  void (*multiply_add_float64)(double start);
  void (*read)(const float* x, long count);
  void (*copy)(const float* x, float* out, long count);
  void (*add)(const float* x, const float* y, float* out, long count);
};

#define TAPEDECK_LOOPS baseline
#define TAPEDECK_BYTES 16
#include "tests/bench/machine_loops.h"
#undef TAPEDECK_LOOPS
#undef TAPEDECK_BYTES
#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define TAPEDECK_LOOPS avx2
#define TAPEDECK_BYTES 32
#include "tests/bench/machine_loops.h"
#undef TAPEDECK_LOOPS
#undef TAPEDECK_BYTES
#pragma GCC target("avx512f")
#define TAPEDECK_LOOPS avx512
#define TAPEDECK_BYTES 64
#include "tests/bench/machine_loops.h"
#undef TAPEDECK_LOOPS
#undef TAPEDECK_BYTES
#pragma GCC pop_options
#endif

/// With the widest registers that the machine has.
const Loops& widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return avx512::loops;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::loops;
#endif
  return baseline::loops;
}

void write_past_cache(Lanes* target, const Lanes& value) {
#if defined(__x86_64__)
  auto* to = reinterpret_cast<__m128*>(target);
  const auto* from = reinterpret_cast<const __m128*>(&value);
  for (int i = 0; i < 4; ++i) _mm_stream_ps(reinterpret_cast<float*>(to + i), from[i]);
#else
  *target = value;
#endif
}

void copy_past_cache(const Lanes* x, Lanes* out, long count) {
  for (long i = 0; i < count; ++i) write_past_cache(out + i, x[i]);
}

void add_past_cache(const Lanes* x, const Lanes* y, Lanes* out, long count) {
  for (long i = 0; i < count; ++i) write_past_cache(out + i, x[i] + y[i]);
}

/// Seconds that `work(thread)` takes on all threads at once, the best of some rounds: short ones, many of
/// which other programs leave alone.
double seconds(int threads, const std::function<void(int)>& work) {
  using Clock = std::chrono::steady_clock;
  std::barrier together(threads);
  std::vector<double> times(static_cast<std::size_t>(threads));
  double best = 1e300;
  const auto run = [&](int i) {
    for (int round = 0; round < rounds; ++round) {
      together.arrive_and_wait();
      const auto start = Clock::now();
      work(i);
      times[static_cast<std::size_t>(i)] = std::chrono::duration<double>(Clock::now() - start).count();
      together.arrive_and_wait();
      if (i == 0) best = std::min(best, *std::max_element(times.begin(), times.end()));
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(run, i);
  run(0);
  for (std::thread& other : others) other.join();
  return best;
}

struct Free {
  void operator()(Lanes* lanes_at) const { std::free(lanes_at); }
};
using Vector = std::unique_ptr<Lanes[], Free>;

Vector vector_of_ones(long count) {
  constexpr std::size_t page = std::size_t{2} << 20;
  const std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(Lanes) + page - 1) / page * page;
  auto* memory = static_cast<Lanes*>(std::aligned_alloc(page, bytes));
  if (!memory) throw std::bad_alloc();
  std::fill(memory, memory + count, Lanes{} + 1.0F);
  return Vector(memory);
}

/// One thread's part of the vectors.
void pass(Stream stream, bool past_cache, const Lanes* x, const Lanes* y, Lanes* out, long count) {
  if (past_cache)
    return stream == Stream::copy ? copy_past_cache(x, out, count) : add_past_cache(x, y, out, count);
  const auto *from = reinterpret_cast<const float*>(x), *other = reinterpret_cast<const float*>(y);
  auto* to = reinterpret_cast<float*>(out);
  if (stream == Stream::read) return widest().read(from, count * lanes);
  if (stream == Stream::copy) return widest().copy(from, to, count * lanes);
  return widest().add(from, other, to, count * lanes);
}

}  // namespace

const char* name_of(Stream stream) {
  constexpr const char* names[] = {"read", "copy", "add"};
  return names[static_cast<int>(stream)];
}

double Machine::flops(bool float64) {
  double& rate = flops_[float64 ? 1 : 0];
  if (rate > 0) return rate;
  const double time = seconds(threads_, [=](int i) {
    if (float64)
      widest().multiply_add_float64(0.5 + i);
    else
      widest().multiply_add(0.5F + static_cast<float>(i));
  });
  const double each =
      2.0 * static_cast<double>(chains * rounds_of_chains) * (float64 ? widest().width / 2 : widest().width);
  return rate = each * threads_ / time;
}

double Machine::bytes_per_second(Stream stream, std::int64_t floats) {
  double& rate = streams_[{stream, floats}];
  if (rate > 0) return rate;
  const long share = std::max(1L, static_cast<long>(floats) / lanes / threads_), count = share * threads_;
  const long passes = std::max(1L, floats_of_round / (count * lanes));
  const Vector x = vector_of_ones(count), y = vector_of_ones(stream == Stream::add ? count : 0),
               out = vector_of_ones(stream == Stream::read ? 0 : count);
  const double bytes = static_cast<double>(vectors_of(stream) * passes * count) * sizeof(Lanes);
  for (const bool past_cache : {false, true}) {
    if (past_cache && stream == Stream::read) break;
    const double time = seconds(threads_, [&](int i) {
      const long at = i * share;
      for (long k = 0; k < passes; ++k)
        pass(stream, past_cache, x.get() + at, y.get() + at, out.get() + at, share);
    });
    rate = std::max(rate, bytes / time);
  }
  return rate;
}

std::string Machine::level(std::int64_t bytes) const {
  for (int index = 0;; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    int level = 0;
    std::int64_t kibibytes = 0;
    std::string type;
    std::ifstream(folder + "level") >> level;
    std::ifstream(folder + "size") >> kibibytes;
    std::ifstream(folder + "type") >> type;
    if (level == 0) return index == 0 ? "unknown" : "memory";
    if (type == "Instruction") continue;
    const int caches = level < 3 ? threads_ : 1;  // the third is shared
    if (bytes <= kibibytes * 1024 * caches) return "L" + std::to_string(level);
  }
}

Work Work::product(std::int64_t m, std::int64_t k, std::int64_t n, bool float64) {
  Work work;
  work.flops = 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
  work.float64 = float64;
  return work;
}

Work Work::streamed(Stream stream, std::int64_t floats) {
  Work work;
  work.bytes = static_cast<double>(vectors_of(stream) * floats) * sizeof(float);
  work.stream = stream;
  work.floats = floats;
  return work;
}

std::string share_of_peak(Machine& machine, const Work& work, double seconds) {
  if (work.flops == 0 && work.bytes == 0) return ", \"share_of_peak\": null, \"peak\": null";
  const double peak =
      work.flops > 0 ? machine.flops(work.float64) : machine.bytes_per_second(work.stream, work.floats);
  const double share = (work.flops > 0 ? work.flops : work.bytes) / seconds / peak;
  const std::string name =
      work.flops > 0
          ? std::string("multiply_add_") + (work.float64 ? "float64" : "float32")
          : std::string(name_of(work.stream)) + " in " + machine.level(static_cast<std::int64_t>(work.bytes));
  char text[160];
  std::snprintf(text, sizeof text, ", \"share_of_peak\": %.3f, \"peak\": \"%s\"", share, name.c_str());
  return text;
}

}  // namespace tapedeck::bench
