// What a filter in Ops costs: milliseconds to look through a trace of a million records, asked as the window
// asks, until the first answer and until the last. One line of JSON per filter; medians.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "engine/debug/find_records.h"
#include "engine/ops/core/ops.h"
#include "engine/record/trace/scope.h"

using namespace tapedeck;

namespace {

constexpr int record_count = 1'000'000;
constexpr int rounds = 9;

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(const Recorder& recorder, const char* filter) {
  std::vector<double> first, all;
  std::uint64_t matches = 0;
  int answers = 0;
  for (int round = 0; round < rounds; ++round) {
    protocol::FindRecords request{filter, {{"a", "[1]"}, {"b", "[2]"}}, 1, {}, {}};
    const auto start = Clock::now();
    matches = 0;
    answers = 0;
    while (true) {
      const protocol::FoundRecords found = debug::find_records(recorder, request);
      if (++answers == 1) first.push_back(milliseconds_since(start));
      for (std::size_t i = 0; i < found.runs.size(); i += 2) matches += found.runs[i + 1] - found.runs[i] + 1;
      if (found.scanned >= found.total) break;
      request.first = found.scanned + 1;
    }
    all.push_back(milliseconds_since(start));
  }
  std::printf(
      "{\"bench\": \"filter\", \"records\": %u, \"filter\": \"%s\", \"matches\": %llu, \"answers\": %d, "
      "\"first_answer_ms\": %.1f, \"all_ms\": %.1f}\n",
      recorder.trace().newest(), filter, static_cast<unsigned long long>(matches), answers, median(first),
      median(all));
}

}  // namespace

int main() {
  Recorder recorder;
  recorder.set_recording(true);
  const Tensor weight = Tensor::scalar(1.5), data = Tensor::scalar(2.5);
  recorder.leaf(weight, "W:0");
  for (int i = 0; i < record_count; i += 4) {
    const NameScope scope(i % 40 < 20 ? "encoder" : "decoder");
    const Tensor product = ops::multiply(data, weight);
    ops::add(product, data);
    ops::tanh(product);
    if (i % 400 == 0)
      ops::negative(product);
    else
      ops::square(product);
  }
  recorder.set_recording(false);
  for (const char* filter : {"multiply", "negative", "W:0", "is:backward", "encoder square",
                             "op:tanh scope:dec", "name:w is:done", "no such thing", "forward"})
    measure(recorder, filter);
  return 0;
}
