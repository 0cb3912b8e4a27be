// What this machine can do at most (machine.h), to set the other benchmarks' figures beside. One JSON line
// per case. Threads: first argument; without it, all cores. Lengths of vectors: the arguments after it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/bench/machine.h"

using namespace tapedeck::bench;

int main(int count, char** arguments) {
  const int asked =
      count > 1 ? std::atoi(arguments[1]) : static_cast<int>(std::thread::hardware_concurrency());
  Machine machine(std::max(1, asked));  // the standard library may not know the cores
  for (const bool float64 : {false, true}) {
    std::printf("{\"case\": \"machine_multiply_add_%s\", \"threads\": %d, \"gigaflops\": %.1f}\n",
                float64 ? "float64" : "float32", machine.threads(), machine.flops(float64) / 1e9);
    std::fflush(stdout);
  }
  std::vector<std::int64_t> lengths = {10000, 100000, 1000000, 7840000, 10000000, 100000000};
  if (count > 2) lengths.clear();
  for (int i = 2; i < count; ++i) lengths.push_back(std::atoll(arguments[i]));
  for (const std::int64_t floats : lengths)
    for (const Stream stream : {Stream::read, Stream::copy, Stream::add}) {
      const std::int64_t bytes = vectors_of(stream) * floats * static_cast<std::int64_t>(sizeof(float));
      std::printf(
          "{\"case\": \"machine_%s_%lld\", \"threads\": %d, \"gigabytes_per_second\": %.1f, \"in\": "
          "\"%s\"}\n",
          name_of(stream), static_cast<long long>(floats), machine.threads(),
          machine.bytes_per_second(stream, floats) / 1e9, machine.level(bytes).c_str());
      std::fflush(stdout);
    }
}
