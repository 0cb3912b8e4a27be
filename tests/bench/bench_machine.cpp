// What this machine can do at most, to set the other benchmarks' figures beside: fused multiply-adds in
// registers (GFLOP/s), and reading, copying and adding of long vectors, written past the cache (GB/s). One
// JSON line per case, the best of 9 rounds. Threads: first argument; without it, all cores.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
// The widest registers that the machine has; the linker's loader picks when the program starts.
#define TAPEDECK_WIDEST __attribute__((target_clones("default", "fma", "avx512f")))
#else
#define TAPEDECK_WIDEST
#endif

namespace {

typedef float Lanes __attribute__((vector_size(64)));
constexpr long lanes = 16;
constexpr int chains = 12;  // enough independent chains to hide the latency of two units of four cycles
constexpr long rounds_of_chains = 4000000;

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

TAPEDECK_WIDEST void read(const Lanes* x, long count) {
  Lanes sums[8] = {};
  for (long i = 0; i + 8 <= count; i += 8)
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) sums[j] += x[i + j];
  for (int i = 1; i < 8; ++i) sums[0] += sums[i];
  kept = sums[0][0] + sums[0][lanes - 1];
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

void copy(const Lanes* x, Lanes* out, long count) {
  for (long i = 0; i < count; ++i) write_past_cache(out + i, x[i]);
}

void add(const Lanes* x, const Lanes* y, Lanes* out, long count) {
  for (long i = 0; i < count; ++i) write_past_cache(out + i, x[i] + y[i]);
}

/// Seconds that `work(thread)` takes on all threads at once, the best of 9 rounds.
double seconds(int threads, const std::function<void(int)>& work) {
  using Clock = std::chrono::steady_clock;
  double best = 1e300;
  for (int round = 0; round < 9; ++round) {
    const auto start = Clock::now();
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(work, i);
    work(0);
    for (std::thread& other : others) other.join();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
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

void report(const std::string& name, int threads, const char* unit, double rate) {
  std::printf("{\"case\": \"machine_%s\", \"threads\": %d, \"%s\": %.1f}\n", name.c_str(), threads, unit,
              rate);
  std::fflush(stdout);
}

void memory(int threads, long floats) {
  const long count = floats / lanes, share = count / threads;
  const double bytes = static_cast<double>(share * threads) * sizeof(Lanes) / 1e9;
  const Vector x = vector_of_ones(count), y = vector_of_ones(count), out = vector_of_ones(count);
  const std::string suffix = "_" + std::to_string(floats);
  report("read" + suffix, threads, "gigabytes_per_second",
         bytes / seconds(threads, [&](int i) { read(x.get() + i * share, share); }));
  report(
      "copy" + suffix, threads, "gigabytes_per_second",
      2 * bytes / seconds(threads, [&](int i) { copy(x.get() + i * share, out.get() + i * share, share); }));
  report("add" + suffix, threads, "gigabytes_per_second", 3 * bytes / seconds(threads, [&](int i) {
                                                            add(x.get() + i * share, y.get() + i * share,
                                                                out.get() + i * share, share);
                                                          }));
}

}  // namespace

int main(int count, char** arguments) {
  const int asked =
      count > 1 ? std::atoi(arguments[1]) : static_cast<int>(std::thread::hardware_concurrency());
  const int threads = std::max(1, asked);  // the standard library may not know the cores
  const double time = seconds(threads, [](int i) { multiply_add(0.5F + static_cast<float>(i)); });
  report("multiply_add_float32", threads, "gigaflops",
         2.0 * lanes * chains * rounds_of_chains * threads / time / 1e9);
  for (const long floats : {7840000L, 10000000L, 100000000L}) memory(threads, floats);
}
