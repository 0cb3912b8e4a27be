// Values of a living session that are computed again when somebody looks: where their ops ran, or on the CPU.
#include <QtTest>

#include "engine/backend/devices.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "engine/record/replay/branch.h"
#include "tests/cuda/gpus.h"
#include "tests/engine/debug/served.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

const std::string again = "recomputed", elsewhere = "computed again on /cpu:0; it ran on /gpu:0";

RecorderOptions without_window() {
  RecorderOptions options;
  options.keeping.window_bytes = 0;
  return options;
}

/// On the GPU: a leaf, what was copied there, and what was made of both.
struct Program {
  Tensor start = ops::copy_to(ops::cast(ramp(5000), DType::float32), first_gpu);
  std::uint64_t copied = 0, made = 0;
  std::vector<double> copied_values, made_values;

  explicit Program(Recorder& recorder) {
    recorder.leaf(start, "start");
    const Tensor host = ops::cast(ramp(5000), DType::float32);
    recorder.leaf(host, "host");
    {
      const Tensor copy = ops::copy_to(host, first_gpu);
      const Tensor sum = ops::add(ops::exp(ops::multiply(start, start * -1e-3)), copy);
      copied = copy.id();
      made = sum.id();
      copied_values = copy.to_vector();
      made_values = sum.to_vector();
    }
    ops::square(start);  // the newest result is held in any case
  }
};

protocol::GetTile all_of(std::uint64_t tensor) {
  protocol::GetTile get;
  get.tensor = tensor;
  get.rows = 1;
  get.columns = 5000;
  return get;
}

protocol::SetOptions on_cpu(bool on) {
  protocol::SetOptions options;
  options.replay_on_cpu = on;
  return options;
}

/// The largest difference in relation to the value.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double most = a.size() == b.size() ? 0 : 1e30;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    most = std::max(most, std::abs(a[i] - b[i]) / (std::abs(b[i]) + 1e-30));
  return most;
}

}  // namespace

class ReplayDevicesTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    load_gpus();
    QVERIFY(gpu_count() > 0);
  }

  void values_come_from_where_it_is_asked_and_say_so() {
    Served served(without_window());
    const Program program(served.recorder);
    RawClient client = served.client();
    client.greet();
    QVERIFY(!client.ask<protocol::Status>(protocol::GetStatus{}).replay_on_cpu);
    for (const bool here : {false, true, false}) {
      QCOMPARE(client.ask<protocol::Status>(on_cpu(here)).replay_on_cpu, here);
      const std::string& source = here ? elsewhere : again;
      const auto made = client.ask<protocol::Tile>(all_of(program.made));
      QCOMPARE(made.source, source);
      QVERIFY(distance(made.values, program.made_values) < 1e-5);
      // A copy's op names the GPU itself.
      const auto copied = client.ask<protocol::Tile>(all_of(program.copied));
      QCOMPARE(copied.source, here ? elsewhere : std::string("held"));  // it was needed for the sum
      QCOMPARE(copied.values, program.copied_values);
      // From what was kept of the first look.
      QCOMPARE(client.ask<protocol::Tile>(all_of(program.made)).source, here ? elsewhere : "held");
      QCOMPARE(client.ask<protocol::Statistics>(protocol::GetStatistics{program.made, 1}).source,
               here ? elsewhere : "held");
    }
  }

  void what_is_held_stays_where_it_is() {
    const Tensor start =
        ops::copy_to(ops::cast(ramp(5000), DType::float32), first_gpu);  // nothing records yet
    Served served(without_window());
    served.recorder.leaf(start, "start");
    ops::square(start);
    RawClient client = served.client();
    client.greet();
    client.ask<protocol::Status>(on_cpu(true));
    QCOMPARE(client.ask<protocol::Tile>(all_of(start.id())).source, std::string("held"));
    QCOMPARE(served.recorder.values().held(start.id()).device(), first_gpu);
  }

  void branches_run_there_too() {
    Served served(without_window());
    const Program program(served.recorder);
    const std::uint32_t exp = [&] {
      for (std::uint32_t number = 1; number <= served.count(); ++number)
        if (served.at(number).op == "exp") return number;
      return 0u;
    }();
    QVERIFY(exp > 0);
    Change twice;
    twice.kind = Change::Kind::instead;
    twice.record = exp;
    twice.instead = Instead::scale;
    twice.amount = 2;
    const auto original = [&](std::uint64_t id) { return find_value(served.recorder, id).value; };
    for (const bool here : {false, true}) {
      served.recorder.set_replay_on_cpu(here);
      Branch branch(served.recorder, {twice});
      const Tensor value = branch.value(program.made, original);
      QCOMPARE(value.device(), here ? Device{} : first_gpu);
      const double exp_of_first = program.made_values[0] - program.copied_values[0];
      QVERIFY(std::abs(value.to_vector()[0] - (program.made_values[0] + exp_of_first)) < 1e-4);
    }
  }
};

TAPEDECK_TEST(ReplayDevicesTest)
#include "tst_replay_devices.moc"
