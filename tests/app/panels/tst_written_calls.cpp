// Ops shows what the program wrote where it called each op: from a file in a real window, by keys and the
// mouse.
#include <QClipboard>
#include <QHeaderView>
#include <QLineEdit>
#include <QTableView>

#include "inspector/model/ops/records_model.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;

class TestWrittenCalls : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  RecordsModel& rows() const { return *timeline(*window_)->model(); }
  QTableView& table() const { return *timeline(*window_)->table(); }
  /// "OP: CALL" of all rows that are there.
  QStringList written() const {
    QStringList found;
    for (int row = 0; row < rows().rowCount(); ++row)
      if (const auto number = rows().recordAt(row))
        if (const protocol::Record* record = session().record(number))
          found << QString::fromStdString(record->op) + ": " +
                       rows().index(row, RecordsModel::Call).data().toString();
    return found;
  }
  QModelIndex cellWith(const QString& call) const {
    for (int row = 0; row < rows().rowCount(); ++row)
      if (const QModelIndex cell = rows().index(row, RecordsModel::Call); cell.data().toString() == call)
        return cell;
    return {};
  }
  void filterBy(const QString& text) {
    auto* edit = timeline(*window_)->filterEdit();
    QTest::mouseClick(edit, Qt::LeftButton);
    edit->selectAll();
    QTest::keyClicks(edit, text);
    QTest::keyClick(edit, Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(rows().filterText() == text && !rows().scanning(), patience);
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void eachOpHasTheCallThatTheProgramWrote() {
    openCells(folder_, {"import tapedeck as tf\ndef attend(scores, d):\n"
                        "    return tf.nn.softmax(\n        scores / d ** 0.5,  # scaled\n        axis=-1)",
                        "x = tf.ones([3, 4])\ny = attend(x @ tf.transpose(x), 4.)\ny *= 2."});
    click(0);
    runByKey(0);
    click(1);
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(1) == CellState::done, patience);
    showAllRecords();
    const QStringList expected{"ones: tf.ones([3, 4])",
                               "transpose: tf.transpose(x)",
                               "matmul: x @ tf.transpose(x)",
                               "divide: scores / d ** 0.5",
                               "softmax: tf.nn.softmax(scores / d ** 0.5, axis=-1)",
                               "multiply: y *= 2."};
    const auto all = [&] {
      const QStringList found = written();
      return std::all_of(expected.begin(), expected.end(),
                         [&](const QString& each) { return found.contains(each); });
    };
    QTRY_VERIFY2_WITH_TIMEOUT(all(), qPrintable(written().join("\n")), patience);
    QVERIFY(!table().isColumnHidden(RecordsModel::Call));
    QVERIFY(table().columnWidth(RecordsModel::Call) > 80);

    const QModelIndex softmax = cellWith("tf.nn.softmax(scores / d ** 0.5, axis=-1)");
    QVERIFY(softmax.isValid());
    const QString whole = "tf.nn.softmax(\n    scores / d ** 0.5,  # scaled\n    axis=-1)";
    QVERIFY2(softmax.data(Qt::ToolTipRole).toString().contains("call: " + whole),
             qPrintable(softmax.data(Qt::ToolTipRole).toString()));
    QCOMPARE(softmax.data(Qt::AccessibleTextRole).toString(),
             QString("Call: tf.nn.softmax(scores / d ** 0.5, axis=-1)"));
    QTest::mouseClick(table().viewport(), Qt::LeftButton, {},
                      table().visualRect(rows().index(softmax.row(), RecordsModel::Number)).center());
    QTRY_COMPARE(session().cursor(), rows().recordAt(softmax.row()));
    shots(window_.get(), "ops-calls");
    QTest::keyClick(&table(), Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(QGuiApplication::clipboard()->text(), whole);

    filterBy("call:\"softmax(scores\"");
    QTRY_COMPARE(written(), QStringList{"softmax: tf.nn.softmax(scores / d ** 0.5, axis=-1)"});
    filterBy("call:transpose and op:matmul");
    QTRY_COMPARE(written(), QStringList{"matmul: x @ tf.transpose(x)"});
  }
};

TAPEDECK_TEST(TestWrittenCalls)
#include "tst_written_calls.moc"
