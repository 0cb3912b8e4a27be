#include "engine/debug/profile/peaks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "engine/cpu/parallel.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "engine/protocol/json_check.h"

namespace tapedeck::debug {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds time_each(70);  // of six measurements
constexpr std::int64_t product_size = 640;
constexpr std::streamsize longest_file = 64 << 10;
constexpr std::int64_t streamed = std::int64_t{8} << 20;  // floats: no cache holds them
constexpr std::int64_t cached = std::int64_t{48} << 10;

struct Disturbed {};

/// Who may end a measurement.
struct Watch {
  const std::function<bool()>& disturbed;
  const CancelFlag* cancel;
  void check() const {
    check_cancelled(cancel);
    if (disturbed()) throw Disturbed();
  }
};

/// The least time of a call, in nanoseconds.
double best_time(const std::function<void()>& call, const Watch& watch) {
  call();  // fresh memory, and kernels that are made when they are first used
  double best = INFINITY;
  const auto until = Clock::now() + time_each;
  int calls = 0;
  while (calls < 3 || Clock::now() < until) {
    watch.check();
    const auto begin = Clock::now();
    call();
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
    ++calls;
  }
  return std::max(best, 1.0);
}

double product_rate(DType dtype, const Watch& watch) {
  const Tensor a = ops::ones({product_size, product_size}, dtype);
  const double flops = 2.0 * product_size * product_size * product_size;
  return flops / best_time([&] { ops::matmul(a, a, false, false); }, watch);
}

/// Read and written, in gigabytes a second.
double copy_rate(std::int64_t count, const Watch& watch) {
  const Tensor x = ops::ones({count}, DType::float32);
  const double bytes = 2.0 * static_cast<double>(count) * sizeof(float);
  return bytes / best_time([&] { ops::negative(x); }, watch);
}

double overhead(const Watch& watch) {
  const Tensor x = Tensor::scalar(1.0, DType::float32);
  constexpr int calls = 200;
  const auto many = [&] {
    for (int i = 0; i < calls; ++i) ops::negative(x);
  };
  return best_time(many, watch) / calls;
}

double cache_size(std::uint32_t threads) {
  double level = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
  level = static_cast<double>(::sysconf(_SC_LEVEL2_CACHE_SIZE));
#endif
  return (level > 0 ? level : 1 << 20) * threads;
}

std::filesystem::path file_in(const std::filesystem::path& folder) {
  const std::size_t hash = std::hash<std::string>()(machine_name());
  return folder / ("peaks-" + std::to_string(hash) + '-' + std::to_string(machine_threads()) + ".json");
}

}  // namespace

std::string machine_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "this machine";
}

std::uint32_t machine_threads() {
  return static_cast<std::uint32_t>(std::max(1, cpu::thread_count()));
}

protocol::Peaks measure_peaks(const std::function<bool()>& disturbed, const CancelFlag* cancel) {
  const QuietScope quiet;
  const DeviceScope on_cpu(Device{});
  const Watch watch{disturbed, cancel};
  protocol::Peaks peaks;
  peaks.machine = machine_name();
  peaks.threads = machine_threads();
  try {
    peaks.float32_gflops = product_rate(DType::float32, watch);
    peaks.float64_gflops = product_rate(DType::float64, watch);
    peaks.memory_gbytes = copy_rate(streamed, watch);
    peaks.cache_gbytes = std::max(peaks.memory_gbytes, copy_rate(cached, watch));
    peaks.cache_bytes = cache_size(peaks.threads);
    peaks.overhead_ns = overhead(watch);
    peaks.known = true;
  } catch (const Disturbed&) {
    peaks = {};
    peaks.problem = "The program ran while the machine was measured: measure it while the program is idle.";
  }
  return peaks;
}

std::filesystem::path peaks_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    return std::filesystem::path(cache) / "tapedeck";
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return std::filesystem::path(home) / ".cache" / "tapedeck";
  return {};
}

protocol::Peaks load_peaks(const std::filesystem::path& folder) {
  protocol::Peaks peaks;
  if (folder.empty()) return peaks;
  try {
    std::ifstream file(file_in(folder));
    std::string text(longest_file, '\0');
    file.read(text.data(), longest_file);
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (protocol::json_nesting(text) > 1) return {};  // one object of numbers
    const nlohmann::json json = nlohmann::json::parse(text);
    peaks.machine = json.at("machine").get<std::string>();
    peaks.threads = json.at("threads").get<std::uint32_t>();
    const std::pair<const char*, double*> numbers[] = {
        {"float32_gflops", &peaks.float32_gflops}, {"float64_gflops", &peaks.float64_gflops},
        {"memory_gbytes", &peaks.memory_gbytes},   {"cache_gbytes", &peaks.cache_gbytes},
        {"cache_bytes", &peaks.cache_bytes},       {"overhead_ns", &peaks.overhead_ns}};
    for (const auto& [name, number] : numbers) {
      *number = json.at(name).get<double>();
      if (!std::isfinite(*number) || *number <= 0) return {};
    }
    if (peaks.machine != machine_name() || peaks.threads != machine_threads()) return {};
    peaks.known = true;
    return peaks;
  } catch (const std::exception&) {  // no such file, or no JSON: as if it had not been measured
    return {};
  }
}

void save_peaks(const std::filesystem::path& folder, const protocol::Peaks& peaks) {
  if (folder.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const std::filesystem::path path = file_in(folder);
  const std::filesystem::path fresh = path.string() + '.' + std::to_string(::getpid());
  {
    std::ofstream file(fresh);
    file << nlohmann::json{{"machine", peaks.machine},
                           {"threads", peaks.threads},
                           {"float32_gflops", peaks.float32_gflops},
                           {"float64_gflops", peaks.float64_gflops},
                           {"memory_gbytes", peaks.memory_gbytes},
                           {"cache_gbytes", peaks.cache_gbytes},
                           {"cache_bytes", peaks.cache_bytes},
                           {"overhead_ns", peaks.overhead_ns}}
                .dump(2);
    if (!file.flush()) return std::filesystem::remove(fresh, ignored), void();
  }
  std::filesystem::rename(fresh, path, ignored);
}

}  // namespace tapedeck::debug
