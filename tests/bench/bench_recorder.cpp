// What recording costs: nanoseconds for a small op (multiply of two scalars) and for one of 16,384 floats,
// (and of chains of them) without a recorder, with records alone, with the default keeping of values, and
// with a server attached whose gate is open. One line of JSON per case; medians.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "engine/debug/server.h"
#include "engine/ops/core/ops.h"

using namespace tapedeck;

namespace {

/// `chained`: each result goes into the next op, so that there is a long way back to it, and checkpoints.
double time_of(const Tensor& x, int count, bool chained) {
  const auto start = std::chrono::steady_clock::now();
  Tensor value = x;
  for (int i = 0; i < count; ++i) {
    Tensor product = ops::multiply(value, x);
    if (chained) value = std::move(product);
  }
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return time.count() / count;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Case {
  const char* name;
  std::unique_ptr<Recorder> recorder;
  std::vector<double> times;
};

/// The cases take turns, so that a slower moment of the machine meets all of them.
void measure(const char* op, const Tensor& x, int count, bool chained, const std::filesystem::path& folder) {
  constexpr int rounds = 31;
  std::vector<Case> cases(4);
  const char* names[] = {"no recorder", "records only", "default keeping", "attached, gate open"};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    cases[i].name = names[i];
    RecorderOptions options;
    options.keep_values = i >= 2;
    if (i > 0) cases[i].recorder = std::make_unique<Recorder>(options);
  }
  const debug::DebugServer server(*cases[3].recorder, "ipc://" + (folder / "debug").string(), "key");
  for (int round = 0; round < rounds; ++round)
    for (Case& one : cases) {
      if (one.recorder) one.recorder->set_recording(true);
      time_of(x, count / 10, chained);
      one.times.push_back(time_of(x, count, chained));
      if (one.recorder) one.recorder->set_recording(false);
    }
  const double base = median(cases[0].times);
  for (const Case& one : cases) {
    const double bytes =
        one.recorder ? static_cast<double>(one.recorder->trace().bytes()) / one.recorder->trace().newest()
                     : 0;
    std::printf(
        "{\"bench\": \"recorder\", \"op\": \"%s\", \"case\": \"%s\", \"ns_per_op\": %.1f, \"added_ns\": "
        "%.1f, "
        "\"bytes_per_record\": %.0f, \"checkpoints\": %zu}\n",
        op, one.name, median(one.times), median(one.times) - base, bytes,
        one.recorder ? one.recorder->values().checkpoint_count() : 0);
  }
}

}  // namespace

int main() {
  char folder[] = "/tmp/tapedeck-bench-XXXXXX";  // mkdtemp makes it 0700
  if (!mkdtemp(folder)) return EXIT_FAILURE;
  measure("multiply ()", Tensor::scalar(1.5), 20000, false, folder);
  Tensor vector = Tensor::allocate(DType::float32, {16384});
  std::fill_n(vector.writable_data<float>(), 16384, 1.f);
  measure("multiply (16384,)", vector, 2000, false, folder);
  measure("multiply (16384,), a chain", vector, 2000, true, folder);
  Tensor large = Tensor::allocate(DType::float32, {1 << 20});
  std::fill_n(large.writable_data<float>(), 1 << 20, 1.f);
  measure("multiply (1048576,), a chain", large, 100, true, folder);
  std::filesystem::remove_all(folder);
  return EXIT_SUCCESS;
}
