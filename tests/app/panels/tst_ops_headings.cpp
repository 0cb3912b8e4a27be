// Headings in Ops, in a real window with a real session process: by cell and run, step and scope; folded by
// mouse and keys, with the cursor in what is folded, under a filter, while records come, and in a trace.
#include <QAccessible>
#include <QComboBox>
#include <QFile>
#include <QLineEdit>
#include <QScrollBar>

#include "inspector/model/format.h"
#include "inspector/panels/ops/headings_view.h"
#include "tests/app/panels/reader.h"
#include "tests/app/sample_window.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;

namespace {

const QStringList training_cells = {
    "import tapedeck as tf\nw = tf.Variable([[2.]])\nx = tf.ones([1, 1]) + 1.",
    "for i in range(3):\n    with tf.GradientTape() as tape:\n"
    "        with tf.name_scope('model'):\n            with tf.name_scope('dense'):\n"
    "                y = tf.matmul(x, w)\n            y = tf.tanh(y)\n"
    "        loss = tf.reduce_sum(y)\n    g = tape.gradient(loss, w)\n"
    "    w.assign(w - 0.1 * g)",
    "z = tf.square(x)"};

}  // namespace

class TestOpsHeadings : public QObject, private SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  RecordsModel& rows() const { return *timeline(*window_)->model(); }
  QTableView* table() const { return timeline(*window_)->table(); }
  /// What the headings say, from the top: "Cell [2] · 33 ops".
  QStringList headings() const {
    QStringList all;
    for (int row = 0; row < rows().rowCount(); ++row)
      if (const auto heading = rows().headingAt(row)) all << heading->text();
    return all;
  }
  QStringList names() const {
    QStringList all;
    for (int row = 0; row < rows().rowCount(); ++row)
      if (const auto heading = rows().headingAt(row)) all << heading->name;
    return all;
  }
  int rowOfHeading(const QString& name) const {
    for (int row = 0; row < rows().rowCount(); ++row)
      if (const auto heading = rows().headingAt(row); heading && heading->name == name) return row;
    return -1;
  }
  bool folded(const QString& name) const {
    const auto heading = rows().headingAt(rowOfHeading(name));
    return heading && heading->folded;
  }
  int opsIn(const QString& name) const {
    const auto heading = rows().headingAt(rowOfHeading(name));
    return heading ? heading->count.section(' ', 0, 0).remove(',').toInt() : -1;
  }
  void clickRow(int row) {
    QVERIFY(row >= 0);
    table()->scrollTo(rows().index(row, 0));
    QTest::mouseClick(table()->viewport(), Qt::LeftButton, {},
                      table()->visualRect(rows().index(row, 1)).center());
  }
  void clickHeading(const QString& name) { clickRow(rowOfHeading(name)); }
  QString current() const {
    const auto heading = rows().headingAt(table()->currentIndex().row());
    return heading ? heading->name : QString();
  }
  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) { QTest::keyClick(table(), key, modifiers); }

  /// The cells ran, and cell 2 twice; the first row is visible.
  void train() {
    openCells(folder_, training_cells);
    for (const int cell : {0, 1, 2, 2}) {
      click(cell);
      runByKey(cell);
    }
    showAllRecords();
    QTRY_COMPARE_WITH_TIMEOUT(names(),
                              QStringList({"Cell [1]", "Cell [2]", "1st step", "2nd step", "3rd step",
                                           "Cell [3]", "Cell [4], run 2"}),
                              patience);
    table()->setFocus();
    QTRY_VERIFY(table()->hasFocus());
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void groupByCellRunAndStepAndFoldByMouseAndKeys() {
    train();
    if (QTest::currentTestFailed()) return;
    const int all = rows().rowCount();
    QCOMPARE(all, rows().listedCount() + 7);
    QCOMPARE(opsIn("Cell [2]"), opsIn("1st step") + opsIn("2nd step") + opsIn("3rd step"));
    QCOMPARE(opsIn("Cell [4], run 2"), 1);
    shots(window_.get(), "ops-headings");

    const int in_step = opsIn("2nd step");
    QVERIFY(in_step > 5);
    clickHeading("2nd step");
    QVERIFY(folded("2nd step"));
    QCOMPARE(rows().rowCount(), all - in_step);
    QCOMPARE(current(), QString("2nd step"));
    key(Qt::Key_Right);
    QVERIFY(!folded("2nd step"));
    QCOMPARE(rows().rowCount(), all);
    key(Qt::Key_Return);
    QVERIFY(folded("2nd step"));
    key(Qt::Key_Left);  // on, to the heading around it
    QCOMPARE(current(), QString("Cell [2]"));
    key(Qt::Key_Left);
    QVERIFY(folded("Cell [2]"));
    QCOMPARE(names(), QStringList({"Cell [1]", "Cell [2]", "Cell [3]", "Cell [4], run 2"}));
    key(Qt::Key_Right);
    QVERIFY(!folded("Cell [2]") && folded("2nd step") && !folded("3rd step"));
    key(Qt::Key_Right);  // into it
    QCOMPARE(current(), QString("1st step"));
    key(Qt::Key_Left, Qt::ShiftModifier);
    QVERIFY(folded("1st step") && folded("2nd step") && folded("3rd step") && !folded("Cell [2]"));
    QCOMPARE(current(), QString("1st step"));
    screenshot(window_.get(), "ops-headings-folded");
    key(Qt::Key_Right, Qt::ShiftModifier);
    QCOMPARE(rows().rowCount(), all);

    // From an op to its heading.
    clickRow(rowOfHeading("3rd step") + 2);
    QCOMPARE(current(), QString());
    key(Qt::Key_Up, Qt::ControlModifier);
    QCOMPARE(current(), QString("3rd step"));
    key(Qt::Key_Up, Qt::ControlModifier);
    QCOMPARE(current(), QString("Cell [2]"));
  }

  void theTrailSaysWhereTheFirstRowIs() {
    train();
    if (QTest::currentTestFailed()) return;
    auto* trail = window_->findChild<inspector::HeadingTrail*>();
    QVERIFY(trail);
    table()->scrollTo(rows().index(rowOfHeading("2nd step") + 3, 0), QAbstractItemView::PositionAtTop);
    QTRY_COMPARE(trail->text(), QString("Cell [2] › 2nd step"));
    QVERIFY(trail->isVisible());
    QVERIFY(trail->accessibleName().endsWith("Cell [2], 2nd step"));
    QTest::mouseClick(trail, Qt::LeftButton);
    QCOMPARE(current(), QString("2nd step"));
    QTRY_VERIFY(table()->visualRect(rows().index(rowOfHeading("2nd step"), 0)).isValid());
  }

  void whereTheUserScrolledStaysWhenHeadingsCome() {
    train();
    if (QTest::currentTestFailed()) return;
    clickRow(1);
    const auto number = rows().recordAt(1);
    QTRY_COMPARE(session().cursor(), number);
    QScrollBar* bar = table()->verticalScrollBar();
    QTest::keyClick(bar, Qt::Key_End);
    QTest::keyClick(bar, Qt::Key_Up);
    QTest::keyClick(bar, Qt::Key_Up);
    const int first = table()->rowAt(0);
    QVERIFY(first > 1);
    const auto records = session().recordCount();
    click(0);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(names().last().contains("[5]") && session().recordCount() > records,
                              qPrintable(names().join('\n')), patience);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    QCOMPARE(session().cursor(), number);
    QCOMPARE(rows().recordAt(table()->currentIndex().row()), number);
    QCOMPARE(settled([&] { return table()->rowAt(0); }), first);
  }

  void theLevelIsChosenAndKept() {
    train();
    if (QTest::currentTestFailed()) return;
    key(Qt::Key_H);  // scopes, too
    QTRY_VERIFY(names().contains("dense"));
    const QStringList with_scopes = names();
    const auto step = with_scopes.indexOf("1st step");
    QCOMPARE(with_scopes.mid(step, 3), QStringList({"1st step", "model", "dense"}));
    clickHeading("model");
    QVERIFY(folded("model"));
    shots(window_.get(), "ops-headings-scopes");
    key(Qt::Key_H);
    QCOMPARE(names(), QStringList());
    QCOMPARE(rows().rowCount(), rows().listedCount());
    auto* box = window_->findChild<QComboBox*>("headingLevel");
    QVERIFY(box && box->isVisible());
    box->setFocus();
    QTest::keyClick(box, Qt::Key_Down);
    QTRY_COMPARE(names(), QStringList({"Cell [1]", "Cell [2]", "Cell [3]", "Cell [4], run 2"}));
    // The next window has it.
    window_.reset();
    openCells(folder_, training_cells);
    click(0);
    runByKey(0);
    showAllRecords();
    QCOMPARE(window_->findChild<QComboBox*>("headingLevel")->currentText(), QString("Cells"));
    QTRY_COMPARE(names(), QStringList({"Cell [1]"}));
  }

  void aFoldedGroupHoldsTheCursorAndOpensForAStep() {
    train();
    if (QTest::currentTestFailed()) return;
    const int op = rowOfHeading("2nd step") + 4;
    const auto number = rows().recordAt(op);
    clickRow(op);
    QTRY_COMPARE(session().cursor(), number);
    clickHeading("2nd step");
    QVERIFY(folded("2nd step"));
    QCOMPARE(session().cursor(), number);
    const int row = rowOfHeading("2nd step");
    QVERIFY(rows().headingAt(row)->holdsCursor);
    QVERIFY(!rows().headingAt(rowOfHeading("3rd step"))->holdsCursor);
    const auto* cells = test::readerOf(table())->tableInterface();
    QVERIFY(cells);
    const QString spoken =
        const_cast<QAccessibleTableInterface*>(cells)->cellAt(row, 0)->text(QAccessible::Name);
    QVERIFY2(
        spoken.startsWith("Heading: 2nd step, ") && spoken.contains(", folded") && spoken.contains("cursor"),
        qPrintable(spoken));
    screenshot(window_.get(), "ops-headings-cursor");
    press(Qt::Key_F10, Qt::ShiftModifier);  // back by one op
    QTRY_COMPARE(session().cursor(), number - 1);
    QTRY_VERIFY(!folded("2nd step"));
    QTRY_COMPARE(rows().recordAt(table()->currentIndex().row()), number - 1);
  }

  void aFilterCountsMatchesAndItsNextOneUnfolds() {
    train();
    if (QTest::currentTestFailed()) return;
    const int in_step = opsIn("1st step");
    auto* edit = timeline(*window_)->filterEdit();
    QTest::mouseClick(edit, Qt::LeftButton);
    QTest::keyClicks(edit, "op:tanh is:forward");
    QTest::keyClick(edit, Qt::Key_Return);
    QTRY_COMPARE(rows().listedCount(), 3);
    QTRY_COMPARE(names(), QStringList({"Cell [2]", "1st step", "2nd step", "3rd step"}));
    QCOMPARE(headings()[1], QString("1st step · 1 of %1 ops").arg(in_step));
    shots(window_.get(), "ops-headings-filter");
    QTRY_VERIFY(table()->hasFocus());
    clickHeading("1st step");
    key(Qt::Key_Left, Qt::ShiftModifier);
    QCOMPARE(rows().rowCount(), 4);
    key(Qt::Key_F3, Qt::ShiftModifier);  // from the end to the last match
    QTRY_COMPARE(session().cursor(), rows().listedRecord(2));
    QVERIFY(!folded("3rd step") && folded("2nd step"));
    QTRY_COMPARE(rows().recordAt(table()->currentIndex().row()), rows().listedRecord(2));
    key(Qt::Key_F3, Qt::ShiftModifier);
    QTRY_COMPARE(session().cursor(), rows().listedRecord(1));
    QVERIFY(!folded("2nd step") && folded("1st step"));
    // What is folded stays so without the filter.
    QTest::mouseClick(edit, Qt::LeftButton);
    QTest::keyClick(edit, Qt::Key_Escape);
    QTRY_VERIFY(!rows().filtered());
    QVERIFY(folded("1st step") && !folded("2nd step"));
  }

  void whatIsFoldedStaysSoWhileRecordsCome() {
    const QString go = folder_.filePath("go");
    openCells(folder_, {QString("import os, time\nimport tapedeck as tf\nx = tf.ones([2]) + 1.\n"
                                "while not os.path.exists('%1'): time.sleep(0.01)\n"
                                "for i in range(1000): x = tf.tanh(x)")
                            .arg(go),
                        "y = tf.tanh(x)"});
    click(0);
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!headings().isEmpty() && headings()[0].endsWith(" · running"), patience);
    clickHeading("Cell [1]");
    QVERIFY(folded("Cell [1]"));
    QCOMPARE(rows().rowCount(), 1);
    const int before = opsIn("Cell [1]");
    QFile file(go);
    QVERIFY(file.open(QIODevice::WriteOnly));
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(0), CellState::done, patience);
    QTRY_COMPARE_WITH_TIMEOUT(
        headings(),
        QStringList{
            QString("Cell [1] · %1 ops").arg(inspector::countText(static_cast<quint64>(before) + 1000))},
        patience);
    QVERIFY(folded("Cell [1]") && rows().headingAt(0)->holdsCursor);
    QCOMPARE(rows().rowCount(), 1);
    // The next cell has a heading of its own.
    click(1);
    runByKey(1);
    QTRY_COMPARE(names(), QStringList({"Cell [1]", "Cell [2]"}));
    QVERIFY(folded("Cell [1]") && !folded("Cell [2]"));
    QCOMPARE(rows().rowCount(), 3);
  }
};

TAPEDECK_TEST(TestOpsHeadings)
#include "tst_ops_headings.moc"
