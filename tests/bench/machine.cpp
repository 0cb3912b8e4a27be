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
// The widest registers that the machine has; the linker's loader picks when the program starts.
#define TAPEDECK_WIDEST __attribute__((target_clones("default", "fma", "avx512f")))
#else
#define TAPEDECK_WIDEST
#endif

namespace tapedeck::bench {
namespace {

typedef float Lanes __attribute__((vector_size(64)));
typedef double DoubleLanes __attribute__((vector_size(64)));
constexpr long lanes = 16;
constexpr int chains = 12;  // enough independent chains to hide the latency of two units of four cycles
constexpr long rounds_of_chains = 1000000;
constexpr int rounds = 25;
constexpr long floats_of_round = 16L << 20;  // passed over in one round, at least

// What the rounds compute goes here, so that the compiler keeps them.
std::atomic<float> kept{0};

TAPEDECK_WIDEST void multiply_add(float start) {
  Lanes sums[chains];
  const Lanes factor = Lanes{} + start * 0.5F, term = Lanes{} + start * 0.3F;
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i)
    sums[i] = factor + static_cast<float>(i);  // equal ones would be computed once
  for (long i = 0; i < rounds_of_chains; ++i)
#pragma GCC unroll 12
    for (Lanes& sum : sums) sum = sum * factor + term;
  for (int i = 1; i < chains; ++i) sums[0] += sums[i];
  kept = sums[0][0] + sums[0][lanes - 1];
}

TAPEDECK_WIDEST void multiply_add(double start) {
  DoubleLanes sums[chains];
  const DoubleLanes factor = DoubleLanes{} + start * 0.5, term = DoubleLanes{} + start * 0.3;
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i) sums[i] = factor + static_cast<double>(i);
  for (long i = 0; i < rounds_of_chains; ++i)
#pragma GCC unroll 12
    for (DoubleLanes& sum : sums) sum = sum * factor + term;
  for (int i = 1; i < chains; ++i) sums[0] += sums[i];
  kept = static_cast<float>(sums[0][0] + sums[0][lanes / 2 - 1]);
}

TAPEDECK_WIDEST void read(const Lanes* x, long count) {
  Lanes sums[8] = {};
  long i = 0;
  for (; i + 8 <= count; i += 8)
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) sums[j] += x[i + j];
  for (; i < count; ++i) sums[0] += x[i];
  for (int j = 1; j < 8; ++j) sums[0] += sums[j];
  kept = sums[0][0] + sums[0][lanes - 1];
}

TAPEDECK_WIDEST void copy(const Lanes* x, Lanes* out, long count) {
#pragma GCC unroll 4
  for (long i = 0; i < count; ++i) out[i] = x[i];
}

TAPEDECK_WIDEST void add(const Lanes* x, const Lanes* y, Lanes* out, long count) {
#pragma GCC unroll 4
  for (long i = 0; i < count; ++i) out[i] = x[i] + y[i];
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
  if (stream == Stream::read) return read(x, count);
  if (stream == Stream::copy) return past_cache ? copy_past_cache(x, out, count) : copy(x, out, count);
  return past_cache ? add_past_cache(x, y, out, count) : add(x, y, out, count);
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
      multiply_add(0.5 + i);
    else
      multiply_add(0.5F + static_cast<float>(i));
  });
  const double each = 2.0 * static_cast<double>(chains * rounds_of_chains) * (float64 ? lanes / 2 : lanes);
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
