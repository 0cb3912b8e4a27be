// Time's requests, answered about a program that really ran.
#include <QTemporaryDir>
#include <QtTest>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/debug/compare/comparisons.h"
#include "engine/debug/profile/profile.h"
#include "engine/debug/tile.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/trace/clock.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/tape/tape.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::debug;

namespace {

thread_local std::uint32_t line_of_ops = 0;
std::uint32_t capture() {
  return line_of_ops;
}
void at_own_line(std::uint32_t line) {
  line_of_ops = intern_location({"cell-a", "", line});
}

const CancelFlag waits{false};

template <class Reply, class Request>
Reply ask(Profiles& profiles, const Request& request) {
  return protocol::get<Reply>(profiles.answer(request, waits));
}

/// Two steps of training in a cell, with time that is no op's between the lines 2 and 3.
void train(Recorder& recorder) {
  Tensor weight = ops::ones({32, 32});
  recorder.begin_cell("cell-a");
  for (int step = 0; step < 2; ++step) {
    Tape tape;
    tape.start();
    tape.watch(weight);
    at_own_line(2);
    Tensor y;
    {
      const NameScope scope("layer");
      y = ops::matmul(weight, weight, false, false);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    at_own_line(3);
    const Tensor loss = ops::reduce_sum(y);
    at_own_line(4);
    const Tensor gradient = tape.gradient(std::span(&loss, 1), std::span(&weight, 1))[0];
    at_own_line(5);
    const Tensor inputs[] = {weight, gradient, Tensor::scalar(0.1)};
    weight = run_op(*Registry::instance().find("gradient_descent"), inputs)[0];
  }
  recorder.end_cell();
}

}  // namespace

class TestProfileAnswers : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { set_capture_location(capture); }
  void cleanupTestCase() { set_capture_location(nullptr); }

  void a_run_is_told_apart_into_ops_and_python() {
    Recorder recorder;
    recorder.set_recording(true);
    train(recorder);
    recorder.set_recording(false);
    Profiles profiles(recorder, {});
    const auto all = ask<protocol::Profile>(profiles, protocol::GetProfile{0, {}, 10});
    QCOMPARE(all.indexed, all.total);
    QCOMPARE(all.runs.size(), std::size_t{1});
    QCOMPARE(all.runs[0].cell, std::string("cell-a"));
    const auto run =
        ask<protocol::Profile>(profiles, protocol::GetProfile{all.runs[0].from_ns, all.runs[0].to_ns, 10});
    QVERIFY(run.python_ns >= 40'000'000);
    QVERIFY(run.forward_ns > 0 && run.backward_ns > 0 && run.update_ns > 0);
    QCOMPARE(run.run_ns, run.python_ns + run.forward_ns + run.backward_ns + run.update_ns);
    QVERIFY(run.run_ns <= all.runs[0].to_ns - all.runs[0].from_ns);
    QCOMPARE(run.gaps[0].from_line, 2u);
    QCOMPARE(run.gaps[0].to_line, 3u);
    QCOMPARE(run.gaps[0].count, std::uint64_t{2});
    QCOMPARE(run.steps, std::uint64_t{2});
    QVERIFY(run.step_median_ns >= 20'000'000);
    const auto steps = ask<protocol::ProfileSteps>(profiles, protocol::GetProfileSteps{0, {}, 1});
    QCOMPARE(steps.steps, std::uint64_t{2});
    QCOMPARE(steps.durations.size(), std::size_t{1});  // the slower of the two
    QVERIFY(steps.python[0] >= 20e6 && steps.python[0] < steps.durations[0]);
  }

  void steps_are_counted_from_the_begin_of_their_run() {
    Recorder recorder;
    recorder.set_recording(true);
    train(recorder);
    recorder.begin_cell("cell-b", 7);  // no ops
    recorder.end_cell();
    train(recorder);
    recorder.set_recording(false);
    Profiles profiles(recorder, {});
    const auto all = ask<protocol::Profile>(profiles, protocol::GetProfile{0, {}, 0});
    QCOMPARE(all.runs.size(), std::size_t{3});
    QVERIFY(all.runs[0].records > 0 && all.runs[1].records == 0 && all.runs[2].records > 0);
    QCOMPARE(all.runs[1].execution, 7u);
    QCOMPARE(all.steps, std::uint64_t{4});
    const auto second =
        ask<protocol::Profile>(profiles, protocol::GetProfile{all.runs[2].from_ns, all.runs[2].to_ns, 0});
    QCOMPARE(second.steps, std::uint64_t{2});
    QVERIFY(second.slowest_step == 1u || second.slowest_step == 2u);
    const auto steps = ask<protocol::ProfileSteps>(profiles, protocol::GetProfileSteps{0, {}, 10});
    QCOMPARE(steps.numbers, (std::vector<std::uint64_t>{1, 2, 1, 2}));
  }

  void time_at_the_gate_is_told_of_each_run() {
    Recorder recorder;
    recorder.set_recording(true);
    train(recorder);
    recorder.set_recording(false);
    const tapedeck::CellRun run = recorder.cell_runs().newest(1).front();
    const std::int64_t middle = (run.start + run.end) / 2;
    recorder.gate_waits().add({0, 1, clock::ticks_of(run.start - 1000), clock::ticks_of(run.start + 2000)});
    recorder.gate_waits().add({0, 2, clock::ticks_of(middle), clock::ticks_of(middle + 5000)});
    Profiles profiles(recorder, {});
    const auto all = ask<protocol::Profile>(profiles, protocol::GetProfile{run.start, run.end, 0});
    QCOMPARE(all.runs.size(), std::size_t{1});
    QVERIFY2(std::abs(all.runs[0].paused_ns - 7000) < 10, std::to_string(all.runs[0].paused_ns).c_str());
    QCOMPARE(all.pauses.size(), std::size_t{2});
    QVERIFY(std::abs(all.pauses[1].to_ns - all.pauses[1].from_ns - 5000) < 10);
    const protocol::CellRuns runs = describe_cell_runs(recorder, 10);
    QVERIFY2(std::abs(runs.runs.at(0).paused_ns - 7000) < 10,
             std::to_string(runs.runs.at(0).paused_ns).c_str());
  }

  void the_track_has_a_lane_for_each_depth() {
    Recorder recorder;
    recorder.set_recording(true);
    train(recorder);
    recorder.set_recording(false);
    Profiles profiles(recorder, {});
    const auto track = ask<protocol::ProfileTrack>(profiles, protocol::GetProfileTrack{0, {}, 10'000});
    QCOMPARE(track.lanes.size(), std::size_t{3});  // ops and playbacks, VJPs, what runs inside
    std::uint64_t shown = 0;
    bool updates = false;
    for (const protocol::ProfileLane& lane : track.lanes)
      for (std::size_t i = 0; i < lane.counts.size(); ++i) {
        shown += lane.counts[i];
        QVERIFY(lane.starts[i] <= lane.ends[i]);
        const protocol::ProfileName& name = track.names.at(lane.names[i]);
        updates = updates || (name.op == "gradient_descent" && name.role == protocol::ProfileRole::update);
      }
    QCOMPARE(shown, std::uint64_t{recorder.trace().newest()});
    QVERIFY(updates);
    QVERIFY(!track.pauses.empty());  // before the cell
    QVERIFY_THROWS_EXCEPTION(BadRequest, profiles.answer(protocol::GetProfileTrack{0, {}, 0}, waits));
    QVERIFY_THROWS_EXCEPTION(BadRequest, profiles.answer(protocol::GetProfileTrack{9, 3, 10}, waits));
  }

  void ops_know_what_they_had_to_do() {
    Recorder recorder;
    recorder.set_recording(true);
    train(recorder);
    recorder.set_recording(false);
    Profiles profiles(recorder, {});
    protocol::GetProfileTotals get;
    get.count = 100;
    const auto totals = ask<protocol::ProfileTotals>(profiles, get);
    const auto row = std::find_if(totals.rows.begin(), totals.rows.end(), [](const auto& one) {
      return one.name == "matmul" && one.role == protocol::ProfileRole::forward;
    });
    QVERIFY(row != totals.rows.end());
    QCOMPARE(row->calls, std::uint64_t{2});
    QCOMPARE(row->flops, 2 * 2.0 * 32 * 32 * 32);
    QCOMPARE(row->bytes, 2 * 3 * 4.0 * 32 * 32);
    const auto cost = ask<protocol::ProfileCost>(profiles, protocol::GetProfileCost{row->slowest});
    QCOMPARE(cost.flops, 2.0 * 32 * 32 * 32);
    QCOMPARE(cost.duration_ns, row->max_ns);
    get.group = protocol::ProfileGroup::scope;
    const auto scopes = ask<protocol::ProfileTotals>(profiles, get);
    QVERIFY(std::any_of(scopes.rows.begin(), scopes.rows.end(), [](const auto& one) {
      return one.name == "layer" && one.calls > 4;  // its VJPs belong to it, too
    }));
    QVERIFY_THROWS_EXCEPTION(BadRequest, profiles.answer(protocol::GetProfileCost{1'000'000}, waits));
  }

  void time_in_which_nothing_was_recorded_is_nobodys() {
    Recorder recorder;  // of a program that somebody attaches to twice
    recorder.begin_cell("cell-a");
    const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(60)); };
    for (int attached = 0; attached < 2; ++attached) {
      pause();
      recorder.set_recording(true);
      for (int i = 0; i < 5; ++i) ops::ones({4});
      recorder.set_recording(false);
    }
    Profiles profiles(recorder, {});
    const auto run = ask<protocol::Profile>(profiles, protocol::GetProfile{0, {}, 10});
    QVERIFY2(run.python_ns < 50'000'000, std::to_string(run.python_ns).c_str());
    QCOMPARE(recorder.unrecorded(0).size(), std::size_t{2});
    QCOMPARE(recorder.unrecorded(2).size(), std::size_t{0});
    QVERIFY(recorder.unrecorded(1)[0].second - recorder.unrecorded(1)[0].first >= 60'000'000);
  }

  void peaks_are_measured_once_and_kept_in_a_file() {
    const QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath("cache").toStdString();
    Recorder recorder;
    {
      Profiles profiles(recorder, path);
      recorder.begin_cell("cell-a");
      const auto refused = ask<protocol::Peaks>(profiles, protocol::GetPeaks{});
      QVERIFY(!refused.known);
      QCOMPARE(refused.problem, std::string("A cell is running: the machine is measured when it has ended."));
      recorder.end_cell();
      const auto peaks = ask<protocol::Peaks>(profiles, protocol::GetPeaks{});
      QVERIFY(peaks.known && peaks.float32_gflops > 0 && peaks.float64_gflops > 0);
      QVERIFY(peaks.cache_gbytes >= peaks.memory_gbytes && peaks.memory_gbytes > 0);
    }
    const auto kept = load_peaks(path);
    QVERIFY(kept.known);
    QCOMPARE(kept.threads, machine_threads());
    {
      Profiles profiles(recorder, path);
      QCOMPARE(ask<protocol::Peaks>(profiles, protocol::GetPeaks{}).float32_gflops, kept.float32_gflops);
    }
    // A file that is none is as none.
    for (const auto& file : std::filesystem::directory_iterator(path))
      std::ofstream(file.path()) << "{\"machine\": 3";
    QVERIFY(!load_peaks(path).known);
    save_peaks("/proc/no/such/folder", kept);
    QVERIFY(!load_peaks("/proc/no/such/folder").known);
  }

  void an_exported_trace_is_one_json_text_whatever_its_pieces() {
    Recorder recorder;
    recorder.set_recording(true);
    const Tensor x = ops::ones({2});
    for (int i = 0; i < 6000; ++i) ops::negative(x);
    recorder.set_recording(false);
    Profiles profiles(recorder, {});
    std::string json;
    int pieces = 0;
    for (std::uint64_t next = 1; next != 0; ++pieces) {
      auto piece = ask<protocol::ChromeTrace>(profiles, protocol::GetChromeTrace{next, 0, {}});
      json += piece.json;
      next = piece.next.value_or(0);
    }
    QCOMPARE(pieces, 2);
    const auto trace = nlohmann::json::parse(json);
    int events = 0;
    for (const auto& event : trace.at("traceEvents")) events += event.at("ph") == "X";
    QCOMPARE(events, static_cast<int>(recorder.trace().newest()));
  }

  void what_runs_just_now_is_shown_up_to_now() {
    Recorder recorder;
    recorder.set_recording(true);
    Profiles profiles(recorder, {});
    const Tensor x = ops::ones({2});
    Tape tape;
    tape.start();
    tape.watch(x);
    // Asked from inside of a playback.
    const Tensors inputs{x};
    protocol::ProfileTrack inside;
    const Tensor y = custom_gradient("mine", {inputs.data(), inputs.size()}, [&] {
      const Tensor result = ops::square(x);
      inside = ask<protocol::ProfileTrack>(profiles, protocol::GetProfileTrack{0, {}, 1000});
      return CustomResult{{result}, [](std::span<const Tensor> c) -> Tensors { return {c[0]}; }};
    })[0];
    QVERIFY(inside.lanes.size() == 2);
    QCOMPARE(inside.names.at(inside.lanes[0].names.back()).op, std::string("mine"));
    QCOMPARE(inside.names.at(inside.lanes[0].names.back()).role, protocol::ProfileRole::custom);
    const auto after = ask<protocol::Profile>(profiles, protocol::GetProfile{0, {}, 10});
    QVERIFY(after.python_ns > 0);  // the user's own function took time beside its op
    tape.stop();
    recorder.set_recording(false);
  }
};

TAPEDECK_TEST(TestProfileAnswers)
#include "tst_profile_answers.moc"
