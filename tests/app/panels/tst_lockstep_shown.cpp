// tf.debugging.lockstep in a notebook: the cell's output says what differs, and the records that it names are
// those of the two runs.
#include <QRegularExpression>

#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestLockstepShown : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void theSentenceNamesTheRecordsOfBothRuns() {
    openCells(
        folder_,
        {"import tapedeck as tf\nx = tf.constant([-20., -18.5, 1.])\ndef f():\n    one = tf.exp(x[:2]) + 1.\n"
         "    return tf.math.log(one)",
         "tf.debugging.lockstep(f, {'dtype': 'float32'}, {'dtype': 'float64'})",
         "print(tf.debugging.lockstep(f, {'threads': 1}, {'threads': 2}))"});
    window_->resize(2560, 1440);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    click(0);
    runByKey(0);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::failed, patience);
    const QString text = outputText(*window_, 1);
    QVERIFY2(
        text.contains("log (line 5 of the cell): element [1] of the output is 0 in the first run (float32)"),
        qPrintable(text));
    const auto records = QRegularExpression("Records (\\d+) and (\\d+)\\.").match(text);
    QVERIFY2(records.hasMatch(), qPrintable(text));
    screenshot(window_.get(), "lockstep");

    for (const int run : {1, 2}) {
      goTo("record == " + records.captured(run));
      QCOMPARE(session().cursor(), records.captured(run).toULongLong());
      const auto* record = session().record(session().cursor());
      QCOMPARE(record ? record->op : "", std::string("log"));
    }
    screenshot(window_.get(), "lockstep-record");

    click(2);
    runByKey(2);
    QVERIFY(outputText(*window_, 2).contains("all values are the same"));
  }
};

TAPEDECK_TEST(TestLockstepShown)
#include "tst_lockstep_shown.moc"
