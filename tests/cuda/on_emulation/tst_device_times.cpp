// When a GPU did an op's work: told later, of the GPU's own, and nobody waits for it.
#include <QTemporaryDir>
#include <nlohmann/json.hpp>

#include "engine/debug/describe.h"
#include "engine/debug/find_records.h"
#include "engine/debug/profile/profile.h"
#include "engine/debug/tile.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/cancel.h"
#include "engine/record/trace_file/open.h"
#include "engine/record/trace_file/save.h"
#include "tests/cuda/gpu_values.h"
#include "tests/cuda/gpus.h"
#include "tests/test_program.h"

using namespace tapedeck;
using protocol::Record;
using protocol::WorkTime;

namespace {

const CancelFlag waits{false};

/// A recorder that records while it lives, and what it says of its records without asking any GPU.
struct Recording {
  Recording() { recorder.set_recording(true); }
  Record at(std::uint32_t number) const { return *debug::describe(recorder, number, false); }
  /// The first record of that op.
  Record of(const std::string& op) const {
    for (std::uint32_t number = 1; number <= recorder.trace().newest(); ++number)
      if (Record record = at(number); record.op == op) return record;
    return {};
  }
  std::uint64_t pending() const { return recorder.trace().device_times_pending(); }
  Recorder recorder;
};

Tensor on_gpu(std::int64_t count) {
  const DeviceScope there(first_gpu);
  return ops::fill({count}, Tensor::scalar(0.5, DType::float32));
}

template <class Reply, class Request>
Reply ask(debug::Profiles& profiles, const Request& request) {
  return protocol::get<Reply>(profiles.answer(request, waits));
}

/// Three ops on the GPU and one on the host.
Tensor work() {
  const Tensor x = on_gpu(5000);
  const Tensor y = ops::exp(x);
  {
    const DeviceScope host(Device{});
    static_cast<void>(ops::exp(Tensor::scalar(1.0, DType::float32)));
  }
  return ops::reduce_sum(y);
}

std::vector<std::uint64_t> found(const Recorder& recorder, const std::string& filter) {
  protocol::FindRecords request;
  request.first = 1;
  request.filter = filter;
  return debug::find_records(recorder, request, nullptr).runs;
}

}  // namespace

class DeviceTimesTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }

  void a_time_is_pending_until_the_device_has_done_the_work() {
    const Recording recording;
    const Tensor y = ops::exp(on_gpu(5000));
    for (int i = 0; i < 3; ++i) {
      recording.recorder.collect_device_times();
      const Record record = recording.of("exp");
      QCOMPARE(record.state, protocol::RecordState::done);
      QCOMPARE(record.work, WorkTime::pending);
      QCOMPARE(record.device, std::string("/gpu:0"));
      QCOMPARE(record.duration_ns, 0);
      QCOMPARE(record.work_start_ns, 0);
      QVERIFY(record.call_ns > 0);
    }
    static_cast<void>(y.on_host());
    QCOMPARE(recording.of("exp").work, WorkTime::pending);  // nobody has asked since
    recording.recorder.collect_device_times();
    QCOMPARE(recording.of("exp").work, WorkTime::known);
  }

  void asking_for_times_waits_for_no_work() {
    const Recording recording;
    const Tensor y = ops::exp(on_gpu(5000));
    recording.recorder.collect_device_times();
    QCOMPARE(debug::describe_status(recording.recorder).device_times_pending, recording.pending());
    QVERIFY(recording.pending() > 0);
    debug::describe_page(recording.recorder, {1, 10, false});
    QCOMPARE(recording.of("exp").work, WorkTime::pending);
  }

  void the_time_is_the_devices_not_that_of_the_call() {
    const Recording recording;
    const Tensor y = ops::exp(on_gpu(5000));
    const Tensor z = ops::negative(y);
    const std::int64_t called = recording.recorder.now_ns();
    static_cast<void>(z.on_host());
    const std::int64_t read = recording.recorder.now_ns();
    recording.recorder.collect_device_times();
    const Record first = recording.of("exp"), second = recording.of("negative");
    for (const Record& record : {first, second}) {
      QCOMPARE(record.work, WorkTime::known);
      QVERIFY(record.duration_ns > 0);
      // The emulated stream runs when somebody reads; a microsecond: what CUDA's events can tell.
      QVERIFY2(record.work_start_ns >= called - 1000,
               qPrintable(QString::number(record.work_start_ns - called)));
      QVERIFY(record.work_start_ns + record.duration_ns <= read + 1000);
      QVERIFY(record.start_ns + record.call_ns <= called);
    }
    QVERIFY(second.work_start_ns >= first.work_start_ns + first.duration_ns - 1000);
  }

  void the_hosts_ops_have_the_hosts_times() {
    const Recording recording;
    const DeviceScope here{Device{}};
    static_cast<void>(ops::exp(Tensor::scalar(1.0, DType::float32)));
    const Record record = recording.of("exp");
    QCOMPARE(record.work, WorkTime::host);
    QCOMPARE(record.device, std::string());
    QCOMPARE(record.work_start_ns, record.start_ns);
    QCOMPARE(record.duration_ns, record.call_ns);
    QCOMPARE(recording.pending(), 0);
  }

  void a_copy_to_the_host_takes_the_devices_time() {
    const Recording recording;
    const Tensor y = ops::exp(on_gpu(5000));
    static_cast<void>(ops::copy_to(y, Device{}));
    recording.recorder.collect_device_times();
    const Record copy = recording.of("copy_to_device");
    QCOMPARE(copy.device, std::string("/gpu:0"));
    QCOMPARE(recording.of("exp").work, WorkTime::known);
    // The call waited for the op before; the copy itself did not.
    QVERIFY(copy.call_ns >= recording.of("exp").duration_ns);
  }

  void what_nobody_records_puts_no_event_on_the_stream() {
    Recording recording;
    recording.recorder.set_recording(false);
    const Tensor y = ops::exp(on_gpu(5000));
    static_cast<void>(y.on_host());
    int told = 0;
    device_memory(first_gpu).collect_spans([&](const DeviceSpan&) { ++told; });
    QCOMPARE(told, 0);
    QCOMPARE(recording.recorder.trace().newest(), 0);
  }

  void what_a_recorder_left_behind_is_not_the_next_ones() {
    {
      const Recording before;
      static_cast<void>(ops::exp(on_gpu(100)));
    }
    const Recording recording;
    const Tensor y = ops::exp(on_gpu(100));
    static_cast<void>(y.on_host());
    recording.recorder.collect_device_times();
    QCOMPARE(recording.pending(), 0);
    QCOMPARE(recording.recorder.trace().device_times_told(), recording.recorder.trace().newest());
  }

  void a_file_keeps_the_times_and_what_was_pending_is_lost() {
    const Recording recording;
    const Tensor y = ops::exp(on_gpu(100));
    static_cast<void>(y.on_host());
    const Tensor late = ops::negative(y);
    QTemporaryDir folder;
    protocol::SaveTrace request;
    request.path = folder.filePath("run.tapetrace").toStdString();
    trace_file::save(recording.recorder, request);
    const auto opened = trace_file::open(request.path);
    const Record was = recording.of("exp");
    const auto is = debug::describe(*opened, static_cast<std::uint32_t>(was.number), false);
    QCOMPARE(is->work, WorkTime::known);
    QCOMPARE(is->device, was.device);
    QCOMPARE(is->duration_ns, was.duration_ns);
    QCOMPARE(is->work_start_ns, was.work_start_ns);
    QCOMPARE(is->call_ns, was.call_ns);
    const std::uint64_t number = recording.of("negative").number;
    QCOMPARE(recording.of("negative").work, WorkTime::pending);
    QCOMPARE(debug::describe(*opened, static_cast<std::uint32_t>(number), false)->work, WorkTime::lost);
  }

  void a_filter_for_times_knows_of_none_that_are_pending() {
    const Recording recording;
    const Tensor y = work();
    const std::vector<std::uint64_t> all = found(recording.recorder, "op:exp");
    QCOMPARE(found(recording.recorder, "op:exp and duration > 0ns and not duration > 3600s").size(),
             2);  // the host's
    static_cast<void>(y.on_host());
    QCOMPARE(found(recording.recorder, "op:exp and duration > 0ns"), all);
  }

  void the_profile_counts_the_devices_time_apart_from_the_hosts() {
    const Recording recording;
    const Tensor y = work();
    debug::Profiles profiles(recording.recorder, {});
    const auto before = ask<protocol::Profile>(profiles, protocol::GetProfile{});
    QCOMPARE(before.devices.size(), 1);
    QCOMPARE(before.devices[0].device, std::string("/gpu:0"));
    QVERIFY(before.devices[0].pending > 0);
    QCOMPARE(before.devices[0].pending, before.devices[0].calls);
    QCOMPARE(before.devices[0].forward_ns, 0);
    QVERIFY(ask<protocol::ProfileFlame>(profiles, protocol::GetProfileFlame{}).pending > 0);
    static_cast<void>(y.on_host());
    const auto after = ask<protocol::Profile>(profiles, protocol::GetProfile{});
    QCOMPARE(after.devices[0].pending, 0);
    QCOMPARE(after.devices[0].calls, before.devices[0].calls);
    std::int64_t sum = 0;
    for (std::uint32_t number = 1; number <= recording.recorder.trace().newest(); ++number)
      if (const Record record = recording.at(number); record.work == WorkTime::known)
        sum += record.duration_ns;
    QCOMPARE(after.devices[0].forward_ns, sum);
    QCOMPARE(after.run_ns, before.run_ns);  // the host's
    QCOMPARE(after.python_ns, before.python_ns);
  }

  void a_part_of_the_run_has_the_same_sums() {
    const Recording recording;
    static_cast<void>(work().on_host());
    debug::Profiles profiles(recording.recorder, {});
    const auto all = ask<protocol::Profile>(profiles, protocol::GetProfile{});
    const auto part = ask<protocol::Profile>(
        profiles, protocol::GetProfile{.from_ns = recording.at(2).start_ns, .to_ns = {}, .gaps = 0});
    const Record first = recording.at(1);
    QCOMPARE(first.work, WorkTime::known);
    QCOMPARE(part.devices[0].forward_ns, all.devices[0].forward_ns - first.duration_ns);
    QCOMPARE(part.devices[0].calls, all.devices[0].calls - 1);
  }

  void the_track_has_a_lane_of_the_devices_own_times() {
    const Recording recording;
    const Tensor y = work();
    debug::Profiles profiles(recording.recorder, {});
    const auto lanes = [&] {
      return ask<protocol::ProfileTrack>(profiles, protocol::GetProfileTrack{0, {}, 10000}).lanes;
    };
    QCOMPARE(lanes().size(), 1);
    static_cast<void>(y.on_host());
    const auto shown = lanes();
    QCOMPARE(shown.size(), 2);
    QVERIFY(!shown[0].device);
    QCOMPARE(shown[1].device, std::string("/gpu:0"));
    const Record last = recording.of("reduce_sum");
    QCOMPARE(shown[1].records.back(), last.number);
    QCOMPARE(static_cast<std::int64_t>(shown[1].ends.back()), last.work_start_ns + last.duration_ns);
  }

  void the_totals_tell_devices_apart_and_have_no_roof_for_gpus() {
    const Recording recording;
    const Tensor y = work();
    debug::Profiles profiles(recording.recorder, {});
    const auto rows = [&] {
      protocol::GetProfileTotals asked;
      asked.filter = "exp";
      asked.order = protocol::ProfileOrder::calls;
      asked.count = 10;
      return ask<protocol::ProfileTotals>(profiles, asked).rows;
    };
    const auto of_gpu = [&] {
      for (const protocol::ProfileRow& row : rows())
        if (row.device == "/gpu:0") return row;
      return protocol::ProfileRow{};
    };
    QCOMPARE(rows().size(), 2);
    QCOMPARE(of_gpu().pending, 1);
    QCOMPARE(of_gpu().self_ns, 0);
    QCOMPARE(of_gpu().flops, 0.0);
    static_cast<void>(y.on_host());
    QCOMPARE(of_gpu().pending, 0);
    QCOMPARE(of_gpu().calls, 1);
    QCOMPARE(of_gpu().self_ns, recording.of("exp").duration_ns);
    QVERIFY(of_gpu().flops > 0);
    QVERIFY(!of_gpu().roof_ns);
  }

  void a_chrome_trace_has_the_work_on_a_track_of_the_device() {
    const Recording recording;
    static_cast<void>(work().on_host());
    debug::Profiles profiles(recording.recorder, {});
    const auto trace =
        nlohmann::json::parse(ask<protocol::ChromeTrace>(profiles, protocol::GetChromeTrace{1, 0, {}}).json);
    const Record record = recording.of("exp");
    std::string name;
    double begun = 0;
    for (const auto& event : trace["traceEvents"]) {
      if (event["ph"] == "M" && event["name"] == "thread_name" && event["tid"] == 65536)
        name = event["args"]["name"];
      if (event["ph"] == "X" && event["tid"] == 65536 && event["args"]["record"] == record.number)
        begun = event["ts"];
    }
    QCOMPARE(name, std::string("/gpu:0, from thread 0"));
    QVERIFY(std::abs(begun * 1000 - static_cast<double>(record.work_start_ns)) < 2);
  }

  void replayed_values_are_the_same_and_leave_no_times() {
    const Recording recording;
    const Tensor y = work();
    static_cast<void>(y.on_host());
    recording.recorder.collect_device_times();
    const std::uint64_t told = recording.recorder.trace().device_times_told();
    const Tensor again = replay_op(*Registry::instance().find("exp"), std::span(&y, 1), {}, first_gpu)[0];
    QCOMPARE(again.on_host().item(), ops::exp(y.on_host()).on_host().item());
    recording.recorder.collect_device_times();
    QVERIFY(recording.recorder.trace().device_times_told() <= told + 3);  // those of the comparison alone
  }
};

TAPEDECK_TEST(DeviceTimesTest)
#include "tst_device_times.moc"
