// What traces as files cost: one line of JSON per case. Milliseconds; medians where something is done often.
// Saving 10⁵ records with their leaves, beside the time of the program that made them; opening a trace of 10⁶
// records, seeking in it (1000 records here and there), and filtering all of it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <vector>

#include "engine/debug/describe.h"
#include "engine/debug/find_records.h"
#include "engine/ops/core/ops.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace_file/open.h"
#include "engine/record/trace_file/save.h"
#include "engine/tape/tape.h"
#include "engine/tape/variable.h"

using namespace tapedeck;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

protocol::SaveTrace to(const std::string& path) {
  protocol::SaveTrace request;
  request.path = path;
  return request;
}

/// A network of two layers that learns, until there are so many records.
void train(Recorder& recorder, std::uint32_t records) {
  Variable first(ops::random_normal({64, 64}, 0, 0.1), "first"),
      second(ops::random_normal({64, 10}, 0, 0.1), "second");
  for (int step = 0; recorder.trace().newest() < records; ++step) {
    const NameScope scope(step % 2 ? "odd" : "even");
    const Tensor data = ops::random_normal({32, 64}), rate = Tensor::scalar(0.01f);
    recorder.leaf(data, "");
    recorder.leaf(rate, "");
    Tape tape;
    tape.start();
    const Tensor loss =
        ops::reduce_mean(ops::square(ops::matmul(ops::tanh(ops::matmul(data, first.read())), second.read())));
    tape.stop();
    const Variable sources[] = {first, second};
    const Tensors gradients = tape.gradient(std::span(&loss, 1), std::span<const Variable>(sources));
    first.assign(ops::subtract(first.peek(), ops::multiply(gradients[0], rate)));
    second.assign(ops::subtract(second.peek(), ops::multiply(gradients[1], rate)));
  }
}

void bench_saving(const std::string& path) {
  constexpr std::uint32_t count = 100'000;
  {
    Recorder silent;
    silent.set_recording(true);
    train(silent, 2000);  // warm
  }
  Recorder recorder;
  recorder.set_recording(true);
  auto start = Clock::now();
  train(recorder, count);
  const double program = milliseconds_since(start);
  recorder.set_recording(false);
  start = Clock::now();
  const protocol::TraceSaved saved = trace_file::save(recorder, to(path));
  const double saving = milliseconds_since(start);
  std::printf(
      "{\"bench\": \"trace_save\", \"records\": %llu, \"values\": %llu, \"megabytes\": %.1f, \"program_ms\": "
      "%.0f, "
      "\"save_ms\": %.0f, \"share\": %.3f}\n",
      static_cast<unsigned long long>(saved.last.value_or(0)), static_cast<unsigned long long>(saved.values),
      static_cast<double>(saved.bytes) / 1e6, program, saving, saving / program);
}

void filter(const Recorder& recorder, const char* text, const char* which) {
  const auto start = Clock::now();
  protocol::FindRecords request{text, {}, 1, {}, {}};
  std::uint64_t matches = 0;
  while (true) {
    const protocol::FoundRecords found = debug::find_records(recorder, request);
    for (std::size_t i = 0; i < found.runs.size(); i += 2) matches += found.runs[i + 1] - found.runs[i] + 1;
    if (found.scanned >= found.total) break;
    request.first = found.scanned + 1;
  }
  std::printf(
      "{\"bench\": \"trace_filter\", \"pages\": \"%s\", \"filter\": \"%s\", \"matches\": %llu, \"all_ms\": "
      "%.1f}\n",
      which, text, static_cast<unsigned long long>(matches), milliseconds_since(start));
}

void bench_reading(const std::string& path) {
  constexpr std::uint32_t count = 1'000'000;
  {
    RecorderOptions options;
    Recorder recorder(options);
    recorder.set_recording(true);
    const Tensor weight = Tensor::scalar(1.5), data = Tensor::scalar(2.5);
    recorder.leaf(weight, "W:0");
    for (std::uint32_t i = 0; i < count; i += 4) {
      const NameScope scope(i % 40 < 20 ? "encoder" : "decoder");
      const Tensor product = ops::multiply(data, weight);
      ops::tanh(ops::add(product, data));
      ops::square(product);
      if (i % 400 == 0) recorder.add_scalar("loss", i, 1.0);
    }
    recorder.set_recording(false);
    const auto start = Clock::now();
    const auto saved = trace_file::save(recorder, to(path));
    std::printf("{\"bench\": \"trace_save\", \"records\": %u, \"megabytes\": %.1f, \"save_ms\": %.0f}\n",
                count, static_cast<double>(saved.bytes) / 1e6, milliseconds_since(start));
  }
  std::vector<double> open_ms;
  std::unique_ptr<Recorder> file;
  for (int round = 0; round < 5; ++round) {
    file.reset();
    const auto start = Clock::now();
    file = trace_file::open(path);
    debug::describe_page(*file, {count - 100, 100, true});  // what a window shows first
    open_ms.push_back(milliseconds_since(start));
  }
  std::printf("{\"bench\": \"trace_open\", \"records\": %u, \"with_the_last_page_ms\": %.1f}\n", count,
              median(open_ms));
  std::mt19937 random(1);
  std::vector<double> seek_ms;
  const auto start = Clock::now();
  for (int i = 0; i < 1000; ++i) {
    const auto begin = Clock::now();
    debug::describe(*file, 1 + static_cast<std::uint32_t>(random() % count), true);
    seek_ms.push_back(milliseconds_since(begin));
  }
  std::printf(
      "{\"bench\": \"trace_seek\", \"records\": 1000, \"all_ms\": %.1f, \"median_ms\": %.4f, \"slowest_ms\": "
      "%.2f}\n",
      milliseconds_since(start), median(seek_ms), *std::max_element(seek_ms.begin(), seek_ms.end()));
  file = trace_file::open(path);
  filter(*file, "tanh", "not read yet");
  for (const char* text : {"tanh", "encoder square", "W:0"}) filter(*file, text, "read");
  std::printf("{\"bench\": \"trace_memory\", \"records\": %u, \"megabytes\": %.1f}\n", count,
              static_cast<double>(file->trace().bytes()) / 1e6);
}

}  // namespace

int main() {
  const auto folder =
      std::filesystem::temp_directory_path() / ("bench_trace_" + std::to_string(std::random_device()()));
  std::filesystem::create_directory(folder);
  bench_saving(folder / "training.tapetrace");
  bench_reading(folder / "long.tapetrace");
  std::filesystem::remove_all(folder);
  return 0;
}
