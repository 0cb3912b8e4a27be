// tf.debugging.lockstep in a notebook: the cell's output says what differs, and the records that it names are
// those of the two runs.
#include <QLineEdit>
#include <QRegularExpression>
#include <QTableView>

#include "inspector/model/records_model.h"
#include "inspector/model/tensor_model.h"
#include "tests/app/sample_window.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;

class TestLockstepShown : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  const RecordsModel& rows() { return *timeline(*window_)->model(); }
  QString cellText(int row, int column) { return rows().index(row, column).data().toString(); }

  /// Types it, and takes the one row that there is.
  void goTo(const QString& filter) {
    auto* edit = timeline(*window_)->filterEdit();
    QTRY_VERIFY(edit->isVisible());
    QTest::mouseClick(edit, Qt::LeftButton);
    edit->selectAll();
    QTest::keyClicks(edit, filter);
    QTest::keyClick(edit, Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(rows().filterText() == filter && !rows().scanning(), patience);
    QCOMPARE(rows().rowCount(), 1);
    QTRY_VERIFY_WITH_TIMEOUT(cellText(0, RecordsModel::Op).contains("log"), patience);
    const QRect row = timeline(*window_)->table()->visualRect(rows().index(0, RecordsModel::Op));
    QTest::mouseClick(timeline(*window_)->table()->viewport(), Qt::LeftButton, {}, row.center());
  }

 private slots:
  void initTestCase() {
    useOwnSettings();
    inspector::applyAppearance(inspector::Appearance::light);
  }
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

    goTo("record == " + records.captured(1));
    QTRY_COMPARE_WITH_TIMEOUT(session().cursor(), records.captured(1).toULongLong(), patience);
    goTo("record == " + records.captured(2));
    QTRY_COMPARE_WITH_TIMEOUT(session().cursor(), records.captured(2).toULongLong(), patience);
    screenshot(window_.get(), "lockstep-record");

    click(2);
    runByKey(2);
    QVERIFY(outputText(*window_, 2).contains("all values are the same"));
  }
};

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  TestLockstepShown test;
  return QTest::qExec(&test, argc, argv);
}
#include "tst_lockstep_shown.moc"
