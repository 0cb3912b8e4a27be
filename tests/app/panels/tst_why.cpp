// Why, in a real window with a real session process: a notebook is opened, its cells run, and the reasons for
// a NaN and for a missing gradient are found with mouse and keys.
#include <QMenu>
#include <QMenuBar>
#include <QTableView>
#include <QTimer>
#include <QTreeWidget>

#include "app/shell/panels/workspaces.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/ops/timeline_view.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "inspector/panels/why/why_view.h"
#include "tests/app/sample_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;
using inspector::WhyView;

class TestWhy : public QObject, SampleWindow {
  Q_OBJECT

  QTemporaryDir folder_;

  /// Opens a file with one cell, and runs it with visible panels.
  void run(const QString& cell) {
    openCells(folder_, {cell});
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    QTRY_COMPARE(window_->workspaces()->current().id, QString("debug"));
    click(0);
    runByKey(0);
    QVERIFY(knowsAllRecords(*window_));
    QTRY_VERIFY_WITH_TIMEOUT(timeline(*window_)->isVisible() && tensor(*window_)->isVisible(), patience);
  }

  WhyView* why() const { return window_->findChild<WhyView*>(); }
  QTableView* ops() const { return timeline(*window_)->table(); }

  /// The last row of Ops with that op; waits for it.
  int rowOf(const QString& op) const {
    int found = -1;
    const auto look = [&] {
      const RecordsModel* rows = timeline(*window_)->model();
      for (int row = rows->rowCount(); row-- > 0 && found < 0;)
        if (rows->index(row, RecordsModel::Op).data().toString().section(' ', -1) == op) found = row;
      return found >= 0;
    };
    return waitFor(look, patience) ? found : -1;
  }
  QPoint placeOf(int row) const {
    return ops()->visualRect(ops()->model()->index(row, RecordsModel::Op)).center();
  }
  void clickOp(const QString& op) {
    QVERIFY(knowsAllRecords(*window_));  // the last of its name
    const int row = rowOf(op);
    QVERIFY2(row >= 0, qPrintable(op));
    ops()->scrollTo(ops()->model()->index(row, 0));
    QTest::mouseClick(ops()->viewport(), Qt::LeftButton, {}, placeOf(row));
    const auto number = timeline(*window_)->model()->recordAt(row);
    QTRY_COMPARE(session().cursor(), number);
  }
  bool answered(const QString& part) const {
    return waitFor([&] { return why()->isVisible() && why()->sentence()->text().contains(part); }, patience);
  }
  QAction* question(const char* id) const {
    for (QAction* action : window_->menuBar()->actions())
      if (action->text() == "Wh&y")
        for (QAction* entry : action->menu()->actions())
          if (entry->objectName() == id) return entry;
    return nullptr;
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void aLoopThatExplodesComesFirst() {
    run("import tapedeck as tf\n"
        "w = tf.constant([[2., 0.], [0., 2.]])\n"
        "h = tf.constant([[3., 4.]])\n"
        "for step in range(20):\n"
        "    h = tf.matmul(h, w)\n"
        "    h = h + .0\n"
        "large = tf.sqrt(h)\n");
    clickOp("sqrt");
    QTest::keyClick(window_.get(), Qt::Key_F7, Qt::AltModifier | Qt::ShiftModifier);
    QVERIFY2(answered("A loop made most of it: 20 products of ×2 each, lines 5–6, together ×1.05e+06"),
             qPrintable(why()->sentence()->text()));
    const QTreeWidgetItem* first = why()->reasons()->topLevelItem(0);
    QVERIFY2(first->text(0).startsWith("20 × matmul and add"), qPrintable(first->text(0)));
    QVERIFY2(first->text(1).endsWith("lines 5–6"), qPrintable(first->text(1)));
    QVERIFY2(first->text(2).startsWith("loop: norm 5"), qPrintable(first->text(2)));
    QCOMPARE(first->text(3), QString("×2 each"));
    shots(window_.get(), "why-loop");
    // Enter goes to its last op.
    why()->reasons()->setFocus();
    QTest::keyClick(why()->reasons(), Qt::Key_Home);
    QTest::keyClick(why()->reasons(), Qt::Key_Return);
    const auto op = [&] {
      const protocol::Record* record = session().record(session().cursor());
      return record ? QString::fromStdString(record->op) : QString();
    };
    QTRY_COMPARE_WITH_TIMEOUT(op(), QString("add"), patience);
  }

  void aNaNInALossIsFollowedToItsBirth() {
    run("import tapedeck as tf\n"
        "x = tf.constant([[1., 0.], [2., 3.]])\n"
        "p = x / tf.reduce_sum(x, axis=1, keepdims=True)\n"
        "entropy = p * tf.math.log(p)\n"
        "tf.reduce_sum(entropy)");
    QVERIFY(!why()->isVisible());  // nothing was asked
    clickOp("reduce_sum");
    QTRY_VERIFY_WITH_TIMEOUT(tensor(*window_)->model()->tensor(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(question("why.birth")->isEnabled(), patience);
    QTest::keyClick(window_.get(), Qt::Key_F7);
    QVERIFY2(answered("was born in multiply"), qPrintable(why()->sentence()->text()));
    QVERIFY2(why()->sentence()->text().contains("0.0 · -inf"), qPrintable(why()->sentence()->text()));
    QVERIFY2(why()->sentence()->text().contains("log(0.0)"), qPrintable(why()->sentence()->text()));
    screenshot(window_.get(), "why-birth-1280");
    // A click on the cause shows the op, its tensor and the element.
    QTreeWidget* reasons = why()->reasons();
    int cause = 0;
    while (cause < reasons->topLevelItemCount() && !reasons->topLevelItem(cause)->text(2).startsWith("cause"))
      ++cause;
    QVERIFY(cause < reasons->topLevelItemCount());
    QTest::mouseClick(reasons->viewport(), Qt::LeftButton, {},
                      reasons->visualItemRect(reasons->topLevelItem(cause)).center());
    QTRY_COMPARE(timeline(*window_)->selectedText().contains("log"), true);
    const auto selected = [&] { return tensor(*window_)->canvas()->numbers().selection(); };
    QTRY_VERIFY_WITH_TIMEOUT(selected() && selected()->top == 0 && selected()->left == 1, patience);
    QCOMPARE(tensor(*window_)->model()->chip()->label, QString("out"));  // of the op that the cursor is at
    // Enter does the same with the first.
    QTest::keyClick(reasons, Qt::Key_Home);
    QTest::keyClick(reasons, Qt::Key_Return);
    QTRY_COMPARE(timeline(*window_)->selectedText().contains("multiply"), true);
    window_->resize(2560, 1440);
    screenshot(window_.get(), "why-birth-2560");
  }

  void theQuestionsStandInTheMenuOfAnElement() {
    run("import tapedeck as tf\n"
        "y = tf.sqrt(tf.constant([4., -1.]))");
    clickOp("sqrt");
    auto* canvas = tensor(*window_)->canvas();
    QTRY_VERIFY_WITH_TIMEOUT(!canvas->numbers().visibleCells().empty(), patience);
    QTRY_VERIFY_WITH_TIMEOUT(canvas->numbers().visibleCells().size() == 2, patience);
    const QPoint minus = canvas->numbers().visibleCells()[1].rect.center().toPoint();
    QTest::mousePress(canvas, Qt::RightButton, {}, minus);
    QTest::mouseRelease(canvas, Qt::RightButton, {}, minus);
    chooseInNextMenu(question("why.birth"));
    QContextMenuEvent event(QContextMenuEvent::Mouse, minus, canvas->mapToGlobal(minus));
    QApplication::sendEvent(canvas, &event);
    QVERIFY2(answered("at [1] was born in sqrt"), qPrintable(why()->sentence()->text()));
  }

  void theContributionsToAnElement() {
    run("import tapedeck as tf\nx = tf.constant([1., 20., 3.])\ntf.reduce_sum(x * x)");
    clickOp("reduce_sum");
    QTRY_VERIFY_WITH_TIMEOUT(question("why.contributions")->isEnabled(), patience);
    QTest::keyClick(window_.get(), Qt::Key_F7, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY2(answered("was made by reduce_sum"), qPrintable(why()->sentence()->text()));
    QVERIFY2(why()->sentence()->text().contains("400"), qPrintable(why()->sentence()->text()));
  }

  void aGradientThatIsNoneIsExplainedFromItsPlayback() {
    run("import tapedeck as tf\n"
        "w = tf.Variable([1., 2.], name='w')\n"
        "with tf.GradientTape() as tape:\n"
        "    y = tf.reduce_sum(tf.stop_gradient(w * 2.))\n"
        "print(tape.gradient(y, w))\n"
        "with tf.GradientTape() as tape:\n"
        "    z = tf.reduce_sum(tf.nn.relu(w - 5.))\n"
        "tape.gradient(z, w)");
    // The second playback's gradient is zero.
    clickOp("gradient");
    QTRY_VERIFY_WITH_TIMEOUT(question("why.gradient")->isEnabled(), patience);
    QTest::keyClick(window_.get(), Qt::Key_F7, Qt::ShiftModifier);
    QVERIFY2(answered("swallowed in relu"), qPrintable(why()->sentence()->text()));
    // The first one's is None.
    const RecordsModel* rows = timeline(*window_)->model();
    int first = 0;
    while (first < rows->rowCount() &&
           rows->index(first, RecordsModel::Op).data().toString().section(' ', -1) != "gradient")
      ++first;
    ops()->scrollTo(ops()->model()->index(first, 0));
    chooseInNextMenu(question("why.gradient"));
    QTest::mouseClick(ops()->viewport(), Qt::LeftButton, {}, placeOf(first));
    emit ops()->customContextMenuRequested(placeOf(first));
    QVERIFY2(answered("stop_gradient"), qPrintable(why()->sentence()->text()));
    // The answers stay: back and forth by keys.
    why()->reasons()->setFocus();
    QTest::keyClick(why()->reasons(), Qt::Key_PageUp, Qt::AltModifier);
    QTRY_VERIFY(why()->sentence()->text().contains("relu"));
    QTest::keyClick(why()->reasons(), Qt::Key_PageDown, Qt::AltModifier);
    QTRY_VERIFY(why()->sentence()->text().contains("stop_gradient"));
  }

  void anAnswerWithoutReasonsStandsAtTheTop() {
    run("import tapedeck as tf\n"
        "y = tf.exp(tf.constant([1., 2.]))");
    clickOp("exp");
    QTRY_VERIFY_WITH_TIMEOUT(question("why.birth")->isEnabled(), patience);
    QTest::keyClick(window_.get(), Qt::Key_F7);
    QTRY_VERIFY_WITH_TIMEOUT(why()->isVisible() && why()->sentence()->text().contains("elements are finite"),
                             patience);
    QTRY_VERIFY(!why()->reasons()->isVisible());
    const auto bottom = [this](const QWidget* part) {
      return part->mapTo(why(), QPoint(0, part->height())).y();
    };
    QTRY_VERIFY2(bottom(why()->sentence()) < 4 * why()->fontMetrics().height(),
                 qPrintable(QString::number(bottom(why()->sentence()))));
    QVERIFY(why()->height() > bottom(why()->sentence()) + 40);
    screenshot(window_.get(), "why-no-reasons");
  }

  // Two functions on the way double their gradient. The VJP that gave the gradient, matmul's, is right.
  void aGradientThatIsDoubledOnItsPathIsWrong() {
    run("import tapedeck as tf\n"
        "@tf.custom_gradient\n"
        "def twice(x):\n"
        "    return x * 2., lambda dy: dy * 4.\n"
        "kernel = tf.Variable([[1., 2.], [3., 4.]], name='kernel')\n"
        "x = tf.constant([[1., 2.]])\n"
        "with tf.GradientTape() as tape:\n"
        "    h = twice(tf.matmul(x, kernel))\n"
        "    loss = tf.reduce_sum(tf.square(twice(h)))\n"
        "g = tape.gradient(loss, kernel)");
    clickOp("gradient");
    QTRY_VERIFY2_WITH_TIMEOUT(question("why.check")->isEnabled(),
                              qPrintable(question("why.check")->toolTip()), patience);
    QTest::keyClick(window_.get(), Qt::Key_F8, Qt::ShiftModifier);
    QVERIFY2(answered("The gradient with respect to kernel:0"), qPrintable(why()->sentence()->text()));
    const QString path = why()->sentence()->text();
    QVERIFY2(path.contains("is wrong"), qPrintable(path));
    QVERIFY2(path.contains("Of the 5 VJPs on its path"), qPrintable(path));
    QVERIFY2(path.contains("line 9): ×2 in every element"), qPrintable(path));
    QVERIFY2(path.contains("1 other is wrong, too: twice (op "), qPrintable(path));
    QCOMPARE(why()->reasons()->topLevelItemCount(), 5);
    QVERIFY(why()->reasons()->topLevelItem(0)->text(2).startsWith("wrong"));
    screenshot(window_.get(), "why-gradient-path");
    // A click on the first leads to its VJP; there the question is about that VJP alone.
    QTest::mouseClick(why()->reasons()->viewport(), Qt::LeftButton, {},
                      why()->reasons()->visualItemRect(why()->reasons()->topLevelItem(0)).center());
    QTRY_COMPARE(session().cachedRecord(session().cursor())->kind, protocol::RecordKind::vjp);
    QTRY_VERIFY_WITH_TIMEOUT(question("why.check")->isEnabled(), patience);
    QTest::keyClick(window_.get(), Qt::Key_F8, Qt::ShiftModifier);
    QVERIFY2(answered("covers this VJP alone"), qPrintable(why()->sentence()->text()));
    QVERIFY2(answered("The VJP of twice (op "), qPrintable(why()->sentence()->text()));
    // And at the function's own row, in the forward pass.
    const RecordsModel* rows = timeline(*window_)->model();
    int forward = 0;
    while (forward < rows->rowCount() &&
           rows->index(forward, RecordsModel::Op).data().toString().section(' ', -1) != "twice")
      ++forward;
    QVERIFY(forward < rows->rowCount());
    ops()->scrollTo(ops()->model()->index(forward, 0));
    chooseInNextMenu(question("why.check"));
    QTest::mouseClick(ops()->viewport(), Qt::LeftButton, {}, placeOf(forward));
    emit ops()->customContextMenuRequested(placeOf(forward));
    QVERIFY2(answered("line 8) is wrong: ×2 in every element"), qPrintable(why()->sentence()->text()));
  }

  void aNaNBehindAWhereIsTheFaultOfItsOp() {
    run("import tapedeck as tf\n"
        "x = tf.Variable([0., 4.], name='x')\n"
        "with tf.GradientTape() as tape:\n"
        "    loss = tf.reduce_sum(tf.where(x > 1., 1. / x, x))\n"
        "g = tape.gradient(loss, x)");
    clickOp("gradient");
    QTRY_VERIFY_WITH_TIMEOUT(question("why.check")->isEnabled(), patience);
    QTest::keyClick(window_.get(), Qt::Key_F8, Qt::ShiftModifier);
    QVERIFY2(answered("first wrong one in the order of the playback is that of divide"),
             qPrintable(why()->sentence()->text()));
    QVERIFY2(answered("nan where differences are finite, in 1 element of 2"),
             qPrintable(why()->sentence()->text()));
    QTest::keyClick(window_.get(), Qt::Key_F7);
    QVERIFY2(answered("was born in"), qPrintable(why()->sentence()->text()));
    screenshot(window_.get(), "why-nan-behind-where");
  }

  void aValueThatNumPyTookIsMissingInTheGradient() {
    run("import tapedeck as tf\n"
        "x = tf.Variable([1., 2.], name='x')\n"
        "with tf.GradientTape() as tape:\n"
        "    h = x * x\n"
        "    scale = 1 / h.numpy().max()\n"
        "    loss = tf.reduce_sum(h * scale)\n"
        "g = tape.gradient(loss, x)");
    clickOp("gradient");
    QTRY_VERIFY_WITH_TIMEOUT(question("why.check")->isEnabled(), patience);
    QTest::keyClick(window_.get(), Qt::Key_F8, Qt::ShiftModifier);
    QVERIFY2(answered("is right"), qPrintable(why()->sentence()->text()));
    QVERIFY2(answered("Python or NumPy read a value on the way (line 5)"),
             qPrintable(why()->sentence()->text()));
  }

  void aQuestionThatMakesNoSenseSaysWhy() {
    run("import tapedeck as tf\n"
        "n = tf.constant([1, 2]) + 1");
    clickOp("add");
    QTRY_VERIFY_WITH_TIMEOUT(tensor(*window_)->model()->tensor(), patience);
    QTRY_VERIFY2_WITH_TIMEOUT(question("why.birth")->toolTip().contains("int32"),
                              qPrintable(question("why.birth")->toolTip()), patience);
    QVERIFY(!question("why.birth")->isEnabled());
    QTest::keyClick(window_.get(), Qt::Key_F7);
    QVERIFY(!why()->isVisible());
  }
};

TAPEDECK_TEST(TestWhy)
#include "tst_why.moc"
