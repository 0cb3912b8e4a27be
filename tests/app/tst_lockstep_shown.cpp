// tf.debugging.lockstep in a notebook: the cell's output says what differs, and the records that it names are
// those of the two runs.
#include <QLineEdit>
#include <QRegularExpression>
#include <QTableView>

#include "inspector/model/records_model.h"
#include "inspector/model/tensor_model.h"
#include "tests/app/window_fixture.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;

class TestLockstepShown : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  const RecordsModel& rows() { return *timeline(*window_)->model(); }
  QString cellText(int row, int column) { return rows().index(row, column).data().toString(); }
  CellState stateOf(int cell) { return window_->notebook()->cellState(window_->document()->cell(cell).id); }

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
    window_ = std::make_unique<MainWindow>();
    window_->setAttribute(Qt::WA_DeleteOnClose, false);
    window_->resize(2560, 1440);
    QVERIFY(showActive(window_.get()));
    window_->openNotebook(writeNotebook(
        folder_, "lockstep.ipynb",
        {"import tapedeck as tf\nx = tf.constant([-20., -18.5, 1.])\ndef f():\n    one = tf.exp(x[:2]) + 1.\n"
         "    return tf.math.log(one)",
         "tf.debugging.lockstep(f, {'dtype': 'float32'}, {'dtype': 'float64'})",
         "print(tf.debugging.lockstep(f, {'threads': 1}, {'threads': 2}))"}));
    QTRY_VERIFY_WITH_TIMEOUT(window_->document() && window_->document()->cellCount() >= 3, patience);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::failed, patience);
    const QString text = outputText(*window_, 1);
    QVERIFY2(
        text.contains("log (line 5 of the cell): element [1] of the output is 0 in the first run (float32)"),
        qPrintable(text));
    const auto records = QRegularExpression("Records (\\d+) and (\\d+)\\.").match(text);
    QVERIFY2(records.hasMatch(), qPrintable(text));
    screenshot(window_.get(), "lockstep");

    goTo("record == " + records.captured(1));
    QTRY_COMPARE_WITH_TIMEOUT(window_->session()->cursor(), records.captured(1).toULongLong(), patience);
    goTo("record == " + records.captured(2));
    QTRY_COMPARE_WITH_TIMEOUT(window_->session()->cursor(), records.captured(2).toULongLong(), patience);
    screenshot(window_.get(), "lockstep-record");

    window_->notebook()->setCurrentCell(2, false);
    window_->notebook()->setFocus();
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(2), CellState::done, patience);
    QVERIFY(outputText(*window_, 2).contains("all values are the same"));
  }
};

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  TestLockstepShown test;
  return QTest::qExec(&test, argc, argv);
}
#include "tst_lockstep_shown.moc"
