// A session with a GPU, an emulated one: when it did what, and how the session ends that loses it.
#include "inspector/model/ops/records_model.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestGpuSession : public QObject, SampleWindow {
  Q_OBJECT

 private:
  void run(int cell) {
    click(cell);
    press(Qt::Key_Return, Qt::ControlModifier);
  }

  QTemporaryDir folder_;

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() { window_.reset(); }

  void opsShowTheTimeThatTheGpuTook() {
    openCells(folder_, {"import tapedeck as tf\ny = tf.exp(tf.ones([2000]))\ny.numpy().sum()"});
    run(0);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    const auto exp = [&]() -> const protocol::Record* {
      for (inspector::RecordNumber number = 1; number <= session().recordCount(); ++number)
        if (const auto* record = session().record(number); record && record->op == "exp") return record;
      return nullptr;
    };
    QTRY_VERIFY_WITH_TIMEOUT(exp() && exp()->work == protocol::WorkTime::known, patience);
    const protocol::Record record = *exp();
    QCOMPARE(record.device, std::string("/gpu:0"));
    QVERIFY(record.work_start_ns > record.start_ns + record.call_ns);
    screenshot(window_.get(), "gpu-session-ops");
  }

  void aLostGpuEndsTheSessionAndNotTheWindow() {
    openCells(folder_,
              {"print('this output stays')",
               "import os\nimport tapedeck as tf\nos.environ['TAPEDECK_EMULATED_GPU_FAULT'] = 'exp'\n"
               "y = tf.exp(tf.ones([2000]))\nprint('started')\ny.numpy()",
               "6 * 7"});
    run(0);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    run(1);
    QTRY_COMPARE_WITH_TIMEOUT(window_->kernel()->state(), KernelState::dead, patience);
    const QString told = window_->messages()->text();
    for (const char* part : {"because it lost a GPU", "cudaErrorIllegalAddress", "exp (kernel exp)",
                             "the notebook stays as it is"})
      QVERIFY2(told.contains(part), qPrintable(told));
    QVERIFY(outputText(*window_, 0).contains("this output stays"));
    const QString output = outputText(*window_, 1);
    for (const char* part : {"started", "InternalError", "an illegal memory access was encountered"})
      QVERIFY2(output.contains(part), qPrintable(output));
    screenshot(window_.get(), "gpu-session-lost");
    window_->kernel()->restart();
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_), patience);
    run(2);
    QTRY_VERIFY_WITH_TIMEOUT(outputText(*window_, 2).contains("42"), patience);
    QVERIFY(outputText(*window_, 0).contains("this output stays"));
  }
};

TAPEDECK_TEST(TestGpuSession)
#include "tst_gpu_session.moc"
