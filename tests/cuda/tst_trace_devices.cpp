// A trace of ops that ran on a GPU, served where there is one and where there is none.
#include <QProcess>
#include <QtTest>
#include <fstream>

#include "engine/backend/devices.h"
#include "engine/ops/core/placement.h"
#include "tests/cuda/gpus.h"
#include "tests/engine/debug/raw_client.h"
#include "tests/engine/record/recording.h"
#include "tests/engine/record/traced_program.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace traced;

namespace {

const std::string server_key = "the key of this file";

/// What is wanted of the file's records: what was made on the GPU, and on the CPU.
struct Wanted {
  std::uint64_t there = 0, here = 0;
  std::vector<double> there_values, here_values;
};

Wanted record(Recorder& recorder) {
  const Tensor start = ops::copy_to(ops::cast(ramp(5000), DType::float32), first_gpu);
  recorder.leaf(start, "start");
  const Tensor there = ops::reshape(ops::reduce_sum(ops::exp(ops::multiply(start, start * -1e-3))), {1});
  Wanted wanted{there.id(), 0, there.to_vector(), {}};
  const DeviceScope on_cpu(Device{});
  const Tensor here = ops::reshape(ops::sqrt(ops::square(ramp(3000))), {3, 1000});
  wanted.here = here.id();
  wanted.here_values = {0.5, 1.5, 1000.5, 1001.5};
  ops::square(here);  // the newest result is held in any case
  return wanted;
}

struct Server {
  QTemporaryDir folder;
  QProcess process;

  /// `visible`: CUDA_VISIBLE_DEVICES.
  Server(const std::string& file, const char* visible) {
    std::ofstream(folder.filePath("key").toStdString()) << server_key;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("CUDA_VISIBLE_DEVICES", visible);
    process.setProcessEnvironment(environment);
    process.start(TAPEDECK_BUILD_DIR "/app/tapedeck-trace",
                  {QString::fromStdString(file), "--endpoint", QString::fromStdString(endpoint()),
                   "--key-file", folder.filePath("key")});
  }
  std::string endpoint() const { return "ipc://" + folder.filePath("debug").toStdString(); }
  bool is_ready() { return process.waitForReadyRead() && process.readAllStandardOutput() == "ready\n"; }
  ~Server() {
    process.closeWriteChannel();
    process.waitForFinished();
  }
};

protocol::GetTile all_of(std::uint64_t tensor) {
  protocol::GetTile get;
  get.tensor = tensor;
  get.rows = get.columns = 2;
  return get;
}

}  // namespace

class TraceDevicesTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    load_gpus();
    QVERIFY(gpu_count() > 0);
    KeepingOptions keeping;
    keeping.window_bytes = 0;
    RecorderOptions options;
    options.keeping = keeping;
    Recording session(options);
    wanted_ = record(session.recorder);
    session.recorder.set_recording(false);
    file_ = folder_.filePath("run.tapetrace").toStdString();
    trace_file::save(session.recorder, request_for(file_));
  }

  void values_are_computed_again_where_they_were() {
    Server server(file_, "0,1");
    QVERIFY2(server.is_ready(), server.process.readAllStandardError().constData());
    RawClient client(server.endpoint(), server_key);
    QCOMPARE(client.greet().devices.size(), std::size_t(1 + gpu_count()));
    for (int look = 0; look < 2; ++look) {
      const auto there = client.ask<protocol::Tile>(all_of(wanted_.there));
      QCOMPARE(there.source, std::string(look == 0 ? "recomputed" : "held"));
      QCOMPARE(there.values, wanted_.there_values);
      QCOMPARE(client.ask<protocol::Tile>(all_of(wanted_.here)).values, wanted_.here_values);
    }
  }

  void where_there_is_no_gpu_the_cpu_does_and_the_answer_says_so() {
    Server server(file_, "-1");
    QVERIFY2(server.is_ready(), server.process.readAllStandardError().constData());
    RawClient client(server.endpoint(), server_key);
    QCOMPARE(client.greet().devices, std::vector<std::string>{"/cpu:0"});
    const std::string elsewhere = "computed again on /cpu:0; it ran on /gpu:0";
    for (int look = 0; look < 2; ++look) {
      const auto there = client.ask<protocol::Tile>(all_of(wanted_.there));
      QCOMPARE(there.source, elsewhere);
      QVERIFY(std::abs(there.values[0] - wanted_.there_values[0]) <= 1e-5 * wanted_.there_values[0]);
      const auto here = client.ask<protocol::Tile>(all_of(wanted_.here));
      QCOMPARE(here.source, std::string(look == 0 ? "recomputed" : "held"));
      QCOMPARE(here.values, wanted_.here_values);
      QCOMPARE(client.ask<protocol::Statistics>(protocol::GetStatistics{wanted_.there, 1}).source, elsewhere);
    }
  }

 private:
  QTemporaryDir folder_;
  std::string file_;
  Wanted wanted_;
};

TAPEDECK_TEST(TraceDevicesTest)
#include "tst_trace_devices.moc"
