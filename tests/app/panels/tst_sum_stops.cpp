// F10 through the playback of y = x·x + x, from a notebook file: the sums of gradients and the complete
// gradient are stops of their own, and the status line, VJP, Tape and Ops tell of them.
#include <QLabel>
#include <QPushButton>

#include "inspector/model/tape/vjp_model.h"
#include "inspector/panels/tape/node_style.h"
#include "inspector/panels/vjp/vjp_sheet.h"
#include "inspector/panels/vjp/vjp_view.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::SheetRow;

class TestSumStops : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  QString state() const { return window_->findChild<QLabel*>("sessionState")->text(); }
  inspector::VjpView* panel() const { return window_->findChild<inspector::VjpView*>(); }
  /// "sum so far: 1", of the rows that are values.
  QStringList values() const {
    QStringList list;
    for (const SheetRow& row : panel()->sheet()->contents().rows)
      if (!row.reveals) list << row.spoken.section(", ", 0, 0) + ": " + row.spoken.section(", ", -1);
    return list;
  }
  bool says(const QString& words) const {
    const auto& texts = panel()->sheet()->contents().texts;
    return std::any_of(texts.begin(), texts.end(), [&](const auto& one) { return one.text.contains(words); });
  }
  /// The nodes of Tape whose gradient is complete.
  QStringList complete() const {
    QStringList names;
    for (const inspector::GraphNode& node : tape(*window_)->model()->graph().nodes)
      if (node.complete) names << node.op + " " + inspector::nodeText(node).state;
    return names;
  }
  /// What Ops says in the row of the cursor.
  QString opsRow() const {
    const auto* table = timeline(*window_)->table();
    return table->model()->index(table->currentIndex().row(), inspector::RecordsModel::Op).data().toString();
  }
  void step() {
    const auto before = session().stop();
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && session().stop() != before, patience);
    QTRY_VERIFY(session().cachedRecord(session().stoppedBefore()));
    QTRY_COMPARE(session().cursor(), session().stoppedBefore());
  }
  void stepUntil(const QString& words) {
    for (int i = 0; i < 20; ++i) {
      step();
      if (state().contains(words)) return;
      QVERIFY2(isStopped(*window_), qPrintable("it ended before " + words));
    }
    QFAIL(qPrintable("never: " + words));
  }

 private slots:
  void initTestCase() {
    useOwnSettings();
    inspector::applyAppearance(inspector::Appearance::light);
  }
  void cleanup() { window_.reset(); }

  void eachSumAndTheCompleteGradientAreStops() {
    openCells(folder_, {"import tapedeck as tf\nx = tf.Variable(4., name='x')",
                        "with tf.GradientTape() as tape:\n    y = x * x + x\nslope = tape.gradient(y, x)\n"
                        "print(float(slope))"});
    click(0);
    runByKey(0);
    click(1);
    stepUntil("the VJP of add");
    step();
    QVERIFY2(state().contains("paused before the VJP of multiply"), qPrintable(state()));
    // The part of add's VJP and the first of multiply's.
    step();
    QVERIFY2(state().contains("paused before a sum of gradients") && state().contains("line 3"),
             qPrintable(state()));
    QTRY_VERIFY2(panel()->header()->text().startsWith("Sum of gradients of x:0"),
                 qPrintable(panel()->header()->text()));
    QTRY_VERIFY2(
        values().filter(QRegularExpression("^part 1: VJP [0-9]+ of add for input 1: 1$")).size() == 1,
        qPrintable(values().join('\n')));
    QTRY_VERIFY2(
        values().filter(QRegularExpression("^part 2: VJP [0-9]+ of multiply for input 0: 4$")).size() == 1,
        qPrintable(values().join('\n')));
    QTRY_VERIFY2(values().contains("sum so far: 1") && values().contains("added here: 4"),
                 qPrintable(values().join('\n')));
    QVERIFY(says("The next step adds them."));
    QTRY_VERIFY2(opsRow().endsWith(" sum of gradients"), qPrintable(opsRow()));
    screenshot(window_.get(), "sum-stop");
    const auto first = session().cursor();
    // The second of multiply's: x is both of its inputs.
    step();
    QVERIFY2(state().contains("paused before a sum of gradients"), qPrintable(state()));
    QVERIFY(session().cursor() > first);
    QTRY_VERIFY2(values().contains("sum so far: 5") && values().contains("added here: 4"),
                 qPrintable(values().join('\n')));
    QTRY_VERIFY2(
        values().filter(QRegularExpression("^part 3: VJP [0-9]+ of multiply for input 1: 4$")).size() == 1,
        qPrintable(values().join('\n')));
    QVERIFY(complete().isEmpty());
    const auto second = session().cursor();
    // The record stays; what the playback says is another thing.
    step();
    QVERIFY2(state().contains("paused: the gradient of x:0 is complete") && state().contains("line 3"),
             qPrintable(state()));
    QCOMPARE(session().cursor(), second);
    QVERIFY(session().status().stopped_after);
    QTRY_VERIFY2(says("Complete: gradient of x:0"), "no heading");
    QVERIFY(says("The playback adds nothing more to it: it is the result."));
    QTRY_VERIFY2(values().contains("gradient of x:0: 9"), qPrintable(values().join('\n')));
    QTRY_VERIFY2(values().contains("sum: 9"), qPrintable(values().join('\n')));
    QTRY_COMPARE(complete(), QStringList{QString::fromUtf8("x:0 ∂ done")});
    shots(window_.get(), "complete-gradient");
    // Back to the first sum, which has been made by now, and to where it is stopped.
    press(Qt::Key_F10, Qt::ShiftModifier);
    while (session().cursor() > first) press(Qt::Key_F10, Qt::ShiftModifier);
    QTRY_VERIFY2(values().contains("sum: 5"), qPrintable(values().join('\n')));
    QVERIFY(!says("Complete: gradient of x:0"));
    QTRY_VERIFY(complete().isEmpty());
    QTest::keyClick(window_.get(), Qt::Key_End, Qt::AltModifier);
    QTRY_COMPARE(session().cursor(), second);
    QTRY_VERIFY(says("Complete: gradient of x:0"));
    press(Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::done, patience);
    QCOMPARE(outputText(*window_, 1).trimmed(), QString("9.0"));
    QTRY_VERIFY(!says("Complete: gradient of x:0"));
    // Afterwards the sum tells what was added, too.
    session().setCursor(second);
    QTRY_VERIFY2(values().contains("sum: 9"), qPrintable(values().join('\n')));
    QTRY_VERIFY(says("The gradient is complete: it is the result."));
    session().setCursor(first);
    QTRY_VERIFY2(values().contains("sum: 5"), qPrintable(values().join('\n')));
    QVERIFY(!panel()->model()->parts().sum->result);
  }

  void severalVariablesAreCompleteOneByOne() {
    openCells(folder_, {"import tapedeck as tf\na = tf.Variable(2., name='a')\nb = tf.Variable(5., name='b')",
                        "with tf.GradientTape() as tape:\n    y = tf.sin(a * b)\n"
                        "gradients = tape.gradient(y, [b, a])"});
    click(0);
    runByKey(0);
    click(1);
    stepUntil("the gradient of a:0 is complete");
    const auto record = session().cursor();
    QTRY_VERIFY(says("it is result 2 of 2."));
    QTRY_VERIFY(complete() == QStringList{QString::fromUtf8("a:0 ∂ done")});
    step();
    QVERIFY2(state().contains("the gradient of b:0 is complete"), qPrintable(state()));
    QCOMPARE(session().cursor(), record);  // one VJP gave both
    QTRY_VERIFY(says("Complete: gradient of b:0") && says("it is result 1 of 2."));
    QVERIFY(!says("Complete: gradient of a:0"));
    QTRY_VERIFY(complete() == QStringList{QString::fromUtf8("b:0 ∂ done")});
    // A step out leaves the playback from there.
    press(Qt::Key_F11, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::done, patience);
  }
};

TAPEDECK_TEST(TestSumStops)
#include "tst_sum_stops.moc"
