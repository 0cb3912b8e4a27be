// What Time costs: passing over a trace of a million records (or as many as the first argument says), then
// pictures, totals and flames of parts of it; and recording while its panel is closed and open, beside not
// recording. One line of JSON each; medians.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "engine/debug/profile/profile.h"
#include "engine/ops/core/ops.h"
#include "engine/record/trace/scope.h"
#include "engine/tape/tape.h"

using namespace tapedeck;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int rounds = 11;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Forward ops in layers, a playback with its VJPs: about twenty records.
void step(const Tensor& weight, const Tensor& data) {
  Tape tape;
  tape.start();
  tape.watch(weight);
  Tensor y = data;
  for (const char* layer : {"encoder", "decoder"}) {
    const NameScope scope(layer);
    y = ops::tanh(ops::add(ops::multiply(y, weight), data));
  }
  const Tensor loss = ops::reduce_sum(y);
  tape.gradient(std::span(&loss, 1), std::span(&weight, 1));
}

std::uint64_t index_all(debug::Profiles& profiles, std::vector<double>& slices) {
  const CancelFlag cancel{false};
  while (true) {
    const auto start = Clock::now();
    const auto reply =
        protocol::get<protocol::Profile>(profiles.answer(protocol::GetProfile{0, {}, 50}, cancel));
    slices.push_back(milliseconds_since(start));
    if (reply.indexed == reply.total) return reply.total;
  }
}

template <class Ask>
void measure(const char* what, std::uint64_t records, const Ask& ask) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    ask(round);
    times.push_back(milliseconds_since(start));
  }
  std::printf(
      "{\"bench\": \"profile\", \"records\": %llu, \"what\": \"%s\", \"ms\": %.2f, \"worst_ms\": %.2f}\n",
      static_cast<unsigned long long>(records), what, median(times),
      *std::max_element(times.begin(), times.end()));
}

void measure_answers(std::uint64_t wanted) {
  Recorder recorder;
  recorder.set_recording(true);
  const Tensor weight = Tensor::scalar(1.5), data = Tensor::scalar(2.5);
  while (recorder.trace().newest() < wanted) step(weight, data);
  recorder.set_recording(false);
  debug::Profiles profiles(recorder, {});
  std::vector<double> slices;
  const auto start = Clock::now();
  const std::uint64_t records = index_all(profiles, slices);
  std::printf(
      "{\"bench\": \"profile\", \"records\": %llu, \"what\": \"index\", \"ms\": %.1f, \"ns_per_record\": "
      "%.0f, "
      "\"answers\": %zu, \"worst_answer_ms\": %.1f}\n",
      static_cast<unsigned long long>(records), milliseconds_since(start),
      milliseconds_since(start) * 1e6 / static_cast<double>(records), slices.size(),
      *std::max_element(slices.begin(), slices.end()));
  const CancelFlag cancel{false};
  const auto whole =
      protocol::get<protocol::Profile>(profiles.answer(protocol::GetProfile{0, {}, 50}, cancel));
  const std::int64_t length = whole.last_ns - whole.first_ns;
  const auto part = [&](int round, int of) {
    const std::int64_t from = whole.first_ns + length / (rounds + 1) * round;
    return std::pair(from, from + length / of);
  };
  for (const int of : {1, 10, 1000, 100000}) {
    const std::string what = "track of 1/" + std::to_string(of);
    measure(what.c_str(), records, [&](int round) {
      const auto [from, to] = part(of == 1 ? 0 : round, of);
      profiles.answer(protocol::GetProfileTrack{from, to, 1500}, cancel);
    });
  }
  measure("totals of all", records, [&](int) {
    protocol::GetProfileTotals get;
    get.count = 200;
    profiles.answer(get, cancel);
  });
  measure("totals of a tenth", records, [&](int round) {
    protocol::GetProfileTotals get;
    std::tie(get.from_ns, get.to_ns) = part(round, 10);
    get.count = 200;
    profiles.answer(get, cancel);
  });
  measure("flame of all", records, [&](int) {
    profiles.answer(protocol::GetProfileFlame{0, {}, false}, cancel);
  });
  measure("summary of a tenth", records, [&](int round) {
    const auto [from, to] = part(round, 10);
    profiles.answer(protocol::GetProfile{from, to, 50}, cancel);
  });
}

/// Nanoseconds an op of a program of small vectors takes.
double op_time(const Tensor& weight, const Tensor& data) {
  constexpr int steps = 400;
  const auto start = Clock::now();
  for (int i = 0; i < steps; ++i) step(weight, data);
  return milliseconds_since(start) * 1e6 / (steps * 20);
}

enum class Panel { off, closed, open };

void measure_recording(std::int64_t length) {
  const Tensor weight = ops::ones({length}), data = ops::ones({length});
  std::vector<double> times[3];
  for (int round = 0; round < rounds; ++round)
    for (const Panel panel : {Panel::off, Panel::closed, Panel::open}) {
      Recorder recorder;
      recorder.set_recording(panel != Panel::off);
      debug::Profiles profiles(recorder, {});
      std::atomic<bool> stop{false};
      // As the panel asks while a cell runs.
      std::thread window([&] {
        const CancelFlag cancel{false};
        while (panel == Panel::open && !stop) {
          profiles.answer(protocol::GetProfile{0, {}, 50}, cancel);
          profiles.answer(protocol::GetProfileTrack{0, {}, 3000}, cancel);
          for (int i = 0; i < 35 && !stop; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
      });
      std::vector<double> some;
      for (int i = 0; i < 25; ++i) some.push_back(op_time(weight, data));
      stop = true;
      window.join();
      recorder.set_recording(false);
      times[static_cast<int>(panel)].push_back(median(some));
    }
  const double off = median(times[0]), closed = median(times[1]), open = median(times[2]);
  std::printf(
      "{\"bench\": \"profile\", \"what\": \"recording\", \"elements\": %lld, \"off_ns\": %.0f, "
      "\"closed_ns\": "
      "%.0f, \"open_ns\": %.0f, \"open_over_closed\": %.3f}\n",
      static_cast<long long>(length), off, closed, open, open / closed);
}

}  // namespace

int main(int argc, char** argv) {
  measure_answers(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000);
  for (const std::int64_t length : {16, 65536}) measure_recording(length);
  return 0;
}
