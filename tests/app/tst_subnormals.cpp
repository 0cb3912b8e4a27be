// Numbers so small that arithmetic on them is slow: the tensor panel says so, and what it says to type mends
// it.
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/tensor/statistics_panel.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestSubnormals : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  /// Steps until the gate stops before the op, and the panel shows the whole tensor that goes in.
  void stepTo(const QString& op, int column) {
    const auto waits = [&] {
      const auto* record = session().cachedRecord(session().status().stopped_before.value_or(0));
      return isStopped(*window_) && record && QString::fromStdString(record->op) == op;
    };
    const auto stop = [&] { return session().status().stopped_before.value_or(0); };
    QTRY_VERIFY(session().cachedRecord(stop()));
    for (int i = 0; i < 12 && !waits(); ++i) {
      const auto before = stop();
      QTest::keyClick(window_.get(), Qt::Key_F10);
      QTRY_VERIFY(isStopped(*window_) && stop() > before && session().cachedRecord(stop()));
    }
    QVERIFY(waits());
    QTRY_VERIFY_WITH_TIMEOUT(
        tensor(*window_)->model()->statistics() &&
            tensor(*window_)->model()->statistics()->count == static_cast<std::uint64_t>(column),
        patience);
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void thePanelSaysThatTheyAreSlowAndHowToFlushThem() {
    openCells(folder_, {"import tapedeck as tf\nimport numpy as np\n"
                        "x = tf.constant(np.array([1e-40] * 83 + [1.0] * 17, np.float32))\ny = tf.sigmoid(x)",
                        "tf.set_flush_denormal(True)\nz = x * tf.ones_like(x)\nw = "
                        "tf.tanh(z)\nprint(int((z.numpy() != 0).sum()))"});
    window_->resize(2560, 1440);
    if (!tensor(*window_)->isVisible()) QTest::keyClick(window_.get(), Qt::Key_3, Qt::ControlModifier);
    QTRY_VERIFY(tensor(*window_)->isVisible());
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    stepTo("sigmoid", 100);

    auto* panel = tensor(*window_)->findChild<inspector::StatisticsPanel*>();
    QTRY_VERIFY(panel->isVisible());
    const QString note =
        "83 % subnormal numbers: arithmetic on them is slow; tf.set_flush_denormal(True) flushes them";
    QTRY_COMPARE(panel->note(), note);
    const auto shown = [&](const QWidget* in) {
      for (const auto* label : in->findChildren<QLabel*>())
        if (label->isVisible() && label->text().contains("subnormal numbers")) return label;
      return static_cast<const QLabel*>(nullptr);
    };
    QVERIFY(shown(panel));
    QVERIFY(shown(panel)->heightForWidth(shown(panel)->width()) <= shown(panel)->height());  // not cut off
    screenshot(window_.get(), "subnormals-wide");
    window_->resize(1280, 800);
    QTRY_VERIFY(panel->isVisible() ? shown(panel) != nullptr : true);
    screenshot(window_.get(), "subnormals-narrow");
    QVERIFY(inspector::statisticsLine(*tensor(*window_)->model()).startsWith("83 % subnormal, slow · "));

    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_) && !isStopped(*window_), patience);
    click(1);
    QTest::keyClick(window_.get(), Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    stepTo("tanh", 100);
    QTRY_COMPARE(tensor(*window_)->model()->statistics()->subnormals, 0u);
    QCOMPARE(panel->note(), QString());
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_) && outputText(*window_, 1).contains("17"), patience);
  }
};

TAPEDECK_TEST(TestSubnormals)
#include "tst_subnormals.moc"
