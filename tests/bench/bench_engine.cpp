// Times of ops without Python: one JSON line per case, the best of 7 rounds, in nanoseconds, and what share
// of the machine's rate (machine.h) that is. Threads: first argument. With --device gpu the ops run there,
// and each round waits for the GPU at its end; the share is null then.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/backend/devices.h"
#include "engine/cpu/parallel.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "engine/tape/tape.h"
#include "engine/tensor/device_memory.h"
#include "tests/bench/machine.h"

using namespace tapedeck;
using namespace tapedeck::ops;
using bench::Machine;
using bench::Stream;
using bench::Work;

namespace {

Device device;

void wait() {
  if (device.kind == DeviceKind::gpu) device_memory(device).synchronize();
}

Machine& machine() {
  static Machine machine(cpu::thread_count());
  return machine;
}

template <class F>
void report(const std::string& name, const Work& work, F f, std::int64_t repeat) {
  using Clock = std::chrono::steady_clock;
  f();
  wait();
  double best = 1e300;
  for (int round = 0; round < 7; ++round) {
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < repeat; ++i) f();
    wait();
    const std::chrono::duration<double, std::nano> time = Clock::now() - start;
    best = std::min(best, time.count() / static_cast<double>(repeat));
  }
  const std::string share =
      bench::share_of_peak(machine(), device.kind == DeviceKind::cpu ? work : Work::nothing(), best / 1e9);
  std::printf("{\"case\": \"%s\", \"ns\": %.1f, \"peer\": \"tapedeck\", \"device\": \"%s\"%s}\n",
              name.c_str(), best, to_string(device).c_str(), share.c_str());
  std::fflush(stdout);
}

void small() {
  const Tensor a = Tensor::scalar(1.0), b = Tensor::scalar(1.0);
  report(
      "add_scalar", Work::nothing(), [&] { (void)(a + b); }, 20000);
  const Tensor x = random_uniform({10}), y = random_uniform({10}), w = random_uniform({10});
  report(
      "add_10", Work::nothing(), [&] { (void)(x + y); }, 20000);
  report(
      "gradient_4_ops_10", Work::nothing(),
      [&] {
        Tape tape;
        tape.start();
        tape.watch(w);
        const Tensor sum = reduce_sum((w * x + y) * w);
        tape.stop();
        (void)tape.gradient(std::array{sum}, std::array{w});
      },
      4000);
  const Tensor m = random_uniform({32, 32});
  report(
      "matmul_32", Work::product(32, 32, 32), [&] { (void)matmul(m, m); }, 20000);
}

void vectors(std::int64_t n) {
  const std::string suffix = "_" + std::to_string(n);
  const Tensor x = random_uniform({n}), y = random_uniform({n});
  const std::int64_t repeat = std::max<std::int64_t>(3, 10000000 / n);
  report(
      "add" + suffix, Work::streamed(Stream::add, n), [&] { (void)(x + y); }, repeat);
  report(
      "exp" + suffix, Work::streamed(Stream::copy, n), [&] { (void)exp(x); }, repeat);
  report(
      "sigmoid" + suffix, Work::streamed(Stream::copy, n), [&] { (void)sigmoid(x); }, repeat);
  report(
      "sum" + suffix, Work::streamed(Stream::read, n), [&] { (void)reduce_sum(x); }, repeat);
  report(
      "dot" + suffix, Work::streamed(Stream::read, 2 * n), [&] { (void)dot(x, y); }, repeat);
}

void matrices(std::int64_t n, DType dtype) {
  const Tensor x = random_uniform({n, n}, 0, 1, dtype), y = random_uniform({n, n}, 0, 1, dtype);
  const std::string suffix = dtype == DType::float64 ? "_float64" : "";
  report(
      "matmul_" + std::to_string(n) + suffix, Work::product(n, n, n, dtype == DType::float64),
      [&] { (void)matmul(x, y); }, std::max<std::int64_t>(2, 1000000000 / (n * n * n)));
}

/// The products of an autoencoder with tied weights, 10,000 images, and its column sums.
void autoencoder() {
  const Tensor images = random_uniform({10000, 784}), weights = random_uniform({784, 196});
  const Tensor hidden = random_uniform({10000, 196});
  report(
      "forward_10000x784x196", Work::product(10000, 784, 196), [&] { (void)matmul(images, weights); }, 2);
  report(
      "backward_784x10000x196", Work::product(784, 10000, 196), [&] { (void)matmul(images, hidden, true); },
      2);
  report(
      "decode_10000x196x784", Work::product(10000, 196, 784),
      [&] { (void)matmul(hidden, weights, false, true); }, 2);
  report(
      "transpose_10000x784", Work::streamed(Stream::copy, images.count()),
      [&] { (void)(transpose(images) + 1.0); }, 2);
  report(
      "sum_rows_10000x784", Work::streamed(Stream::read, images.count()),
      [&] { (void)reduce_sum(images, Integers{1}); }, 5);
  report(
      "sum_columns_10000x784", Work::streamed(Stream::read, images.count()),
      [&] { (void)reduce_sum(images, Integers{0}); }, 5);
  report(
      "bias_10000x196", Work::streamed(Stream::copy, hidden.count()),
      [&] { (void)(hidden + Tensor::scalar(1.0)); }, 5);
}

}  // namespace

/// "cpu" or "gpu"; false where there is none.
bool choose_device(const char* name) {
  device = device_from_name(name);
  load_gpus();
  if (device.kind == DeviceKind::cpu || int{device.index} < gpu_count()) return true;
  std::fprintf(stderr, "There is no %s: %s\n", to_string(device).c_str(), why_no_gpu().c_str());
  return false;
}

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i)
    if (std::strcmp(arguments[i], "--device") == 0 && i + 1 < count) {
      if (!choose_device(arguments[++i])) return 1;
    } else {
      cpu::set_thread_count(std::atoi(arguments[i]));
    }
  const DeviceScope scope(device);
  small();
  for (const std::int64_t n : {10000, 100000, 1000000, 10000000}) vectors(n);
  for (const std::int64_t n : {256, 1024, 2048}) matrices(n, DType::float32);
  matrices(1024, DType::float64);
  autoencoder();
}
