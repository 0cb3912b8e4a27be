// What if, in a real window with a real session process: the past is changed with mouse and keys, replayed
// beside the original, looked at in the panels, and taken over into the session.
#include <QComboBox>
#include <QMenu>
#include <QMenuBar>
#include <QStatusBar>
#include <QTimer>
#include <QToolButton>

#include "inspector/model/tape/tape_graph.h"
#include "inspector/model/tape/vjp_model.h"
#include "inspector/panels/tape/tape_canvas.h"
#include "inspector/panels/tensor/statistics_panel.h"
#include "inspector/panels/vjp/vjp_view.h"
#include "tests/app/panels/what_if_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::ChangeField;

namespace {

// x·W = [[1, 2], [5, 8]], less 3: [[−2, −1], [2, 5]], above 0: [[0, 0], [2, 5]], the sum 7.
const char* const network =
    "import tapedeck as tf\n"
    "W = tf.Variable([[1., 2.], [3., 4.]], name='W')\n"
    "x = tf.constant([[1., 0.], [2., 1.]])\n"
    "y = tf.matmul(x, W)\n"
    "z = tf.nn.relu(y - 3.)\n"
    "loss = tf.reduce_sum(z)";

}  // namespace

class TestWhatIfPanel : public QObject, WhatIfWindow {
  Q_OBJECT

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void aChangedElementIsReplayedBesideTheOriginal() {
    run({network, "print(float(loss), x.numpy().tolist())"});
    QVERIFY(!whatIf()->isVisible());
    QVERIFY(strips().isEmpty());
    // The element by a click, the form by key: it knows where it is.
    show("matmul", 0);
    QCOMPARE(values(), (std::vector<double>{1, 0, 2, 1}));
    auto* canvas = tensor(*window_)->canvas();
    QTRY_VERIFY_WITH_TIMEOUT(canvas->numbers().visibleCells().size() == 4, patience);
    QTest::mouseClick(canvas, Qt::LeftButton, {},
                      canvas->numbers().visibleCells()[0].rect.center().toPoint());
    openForm();
    QCOMPARE(field<QLineEdit>("changeElement")->text(), QString("0, 0"));
    shots(window_.get(), "what-if-form");
    typeInForm("5\n");
    QCOMPARE(changes(), QStringList{"input 0 of matmul, op 1: [0, 0] = 5"});
    replay();
    QVERIFY2(told("4 results depend on the change; 4 results moved, most that of"),
             qPrintable(whatIf()->sentence()->text()));
    QCOMPARE(moved().size(), 4);
    QVERIFY2(moved().contains(QString::fromUtf8("reduce_sum: 7 → 16, 129 %")),
             qPrintable(moved().join("; ")));
    // A click on one shows it; it is the original until the user looks at the branch.
    QTreeWidget* list = whatIf()->moved();
    int sum = 0;
    while (!list->topLevelItem(sum)->text(0).startsWith("reduce_sum")) ++sum;
    list->scrollToItem(list->topLevelItem(sum));
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                      list->visualItemRect(list->topLevelItem(sum)).center());
    QTRY_VERIFY(timeline(*window_)->selectedText().contains("reduce_sum"));
    QCOMPARE(values(), std::vector<double>{7});
    for (const QString& text : strips())
      QCOMPARE(text, QString("Original (in the branch: input 0 of matmul, op 1: [0, 0] = 5)"));
    QVERIFY(strips().size() >= 3);  // Tensor, Tape, Ops
    shots(window_.get(), "what-if-original");
    // Branch and difference, by key and by the panel's button: numbers, figures, and what Tape and Ops say.
    QTest::keyClick(window_.get(), Qt::Key_F12, Qt::ShiftModifier);
    QCOMPARE(values(), std::vector<double>{16});
    QTRY_COMPARE(tensor(*window_)->statistics()->text("maximum"), QString("16"));
    for (const QString& text : strips())
      QCOMPARE(text, QString("Branch: input 0 of matmul, op 1: [0, 0] = 5"));
    const auto drawn = [&](const QString& preview) {
      const auto& nodes = tape(*window_)->model()->graph().nodes;
      return std::any_of(nodes.begin(), nodes.end(),
                         [&](const auto& node) { return node.preview == preview; });
    };
    QTRY_VERIFY_WITH_TIMEOUT(drawn("16.0") && drawn("[[ 5. 10.] [ 5. 8.]]"), patience);
    const auto tip = [&] {
      return timeline(*window_)->model()->index(rowOf("reduce_sum"), 0).data(Qt::ToolTipRole).toString();
    };
    QTRY_VERIFY2(tip().contains("= 16.0"), qPrintable(tip()));
    shots(window_.get(), "what-if-branch");
    for (QToolButton* button : whatIf()->findChildren<QToolButton*>())
      if (button->text() == "Difference") QTest::mouseClick(button, Qt::LeftButton);
    QCOMPARE(values(), std::vector<double>{9});
    QTRY_COMPARE(tensor(*window_)->statistics()->text("maximum"), QString("9"));
    for (const QString& text : strips())
      QCOMPARE(text, QString::fromUtf8("Difference, branch − original: input 0 of matmul, op 1: [0, 0] = 5"));
    show("matmul", 2);
    QCOMPARE(values(), (std::vector<double>{4, 8, 0, 0}));
    shots(window_.get(), "what-if-difference");
    QTest::keyClick(window_.get(), Qt::Key_F12);
    QCOMPARE(values(), (std::vector<double>{1, 2, 5, 8}));
    // Nothing in the session changed.
    QCOMPARE(runCell(1), QString("7.0 [[1.0, 0.0], [2.0, 1.0]]"));
    // The branch is dropped, the list stays.
    QTest::keyClick(window_.get(), Qt::Key_K, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(strips().isEmpty());
    QCOMPARE(changes().size(), 1);
  }

  void oneResultOfAnOpWithSeveralIsChangedAlone() {
    run(
        {"import tapedeck as tf\n"
         "q, r = tf.linalg.qr(tf.constant([[3., 1.], [4., 2.]]))\n"
         "length, size = tf.reduce_sum(tf.square(q)), tf.reduce_sum(tf.square(r))"});
    show("qr", 1);
    openForm();
    choose("to zero");
    auto* which = field<QComboBox>("changeResult");
    QTRY_VERIFY(which->isVisible());
    QCOMPARE(which->currentText(), QString("all results"));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    QTRY_COMPARE(QApplication::focusWidget(), static_cast<QWidget*>(which));
    QTest::keyClick(which, Qt::Key_End);
    QCOMPARE(which->currentText(), QString::fromUtf8("result 1 (float32 2×2)"));
    shots(window_.get(), "what-if-one-result");
    QTest::mouseClick(field<QPushButton>("changeAdd"), Qt::LeftButton);
    QCOMPARE(changes(), QStringList{"result 1 of qr, op 1 = 0"});
    replay();
    QVERIFY2(told("3 results depend on the change"), qPrintable(whatIf()->sentence()->text()));
    // Skipped it is as a whole; typed anew it is still about that one.
    whatIf()->changes()->setFocus();
    QTest::keyClick(whatIf()->changes(), Qt::Key_F2);
    QTRY_VERIFY(which->isVisible());
    QCOMPARE(which->currentText(), QString::fromUtf8("result 1 (float32 2×2)"));
    choose("Skip");
    QVERIFY(!which->isVisible());
  }

  void anOpIsScaledClippedOrSkipped() {
    run({network});
    show("matmul", 2);
    openForm();
    choose("Scale");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    typeInForm("2\n");
    QCOMPARE(changes(), QStringList{QString::fromUtf8("result of matmul, op 1 × 2")});
    replay();
    // 2·y − 3 = [[−1, 1], [7, 13]]: the sum of what is above 0 is 21.
    QTRY_VERIFY2(moved().contains(QString::fromUtf8("reduce_sum: 7 → 21, 200 %")),
                 qPrintable(moved().join("; ")));
    // Edited by key: clipped to 4 it is 2 + ... y = [[1, 2], [4, 4]] − 3: 1 + 1.
    whatIf()->changes()->setFocus();
    QTest::keyClick(whatIf()->changes(), Qt::Key_F2);
    choose("Clip");
    field<QLineEdit>("changeNumbers")->setFocus();
    field<QLineEdit>("changeNumbers")->selectAll();
    typeInForm("4\n");
    QCOMPARE(changes(), QStringList{QString::fromUtf8("result of matmul, op 1 clipped to ±4")});
    QVERIFY(whatIf()->sentence()->text().contains("replay them"));
    QTest::mouseClick(field<QToolButton>("whatIfReplay"), Qt::LeftButton);
    QTRY_VERIFY2(moved().contains(QString::fromUtf8("reduce_sum: 7 → 2, 71.4 %")),
                 qPrintable(moved().join("; ")));
    // Removed by key, and another op skipped: relu(y) has the sum 16.
    whatIf()->changes()->setFocus();
    QTest::keyClick(whatIf()->changes(), Qt::Key_Delete);
    QVERIFY(changes().isEmpty());
    show("subtract", 2);
    whatIf()->setFocus();
    QTest::keyClick(whatIf(), Qt::Key_A, Qt::AltModifier | Qt::ShiftModifier);
    choose("Skip");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    QTest::mouseClick(field<QPushButton>("changeAdd"), Qt::LeftButton);
    QCOMPARE(changes(), QStringList{"subtract, op 2 skipped"});
    replay();
    QTRY_VERIFY2(moved().contains(QString::fromUtf8("reduce_sum: 7 → 16, 129 %")),
                 qPrintable(moved().join("; ")));
    // Enter goes to a result.
    whatIf()->moved()->setFocus();
    QTest::keyClick(whatIf()->moved(), Qt::Key_End);
    const QString last = moved().last().section(':', 0, 0);
    QTest::keyClick(whatIf()->moved(), Qt::Key_Return);
    QTRY_VERIFY2(timeline(*window_)->selectedText().contains(last), qPrintable(last));
    QTest::keyClick(whatIf()->moved(), Qt::Key_X, Qt::AltModifier | Qt::ShiftModifier);
    QVERIFY(changes().isEmpty());
  }

  void anotherSeedDrawsWhatTheProgramWouldDrawWithIt() {
    run(
        {"import tapedeck as tf\n"
         "noise = tf.random.normal([2], seed=1)\n"
         "y = noise * 10.",
         "print(*[f'{float(v):.6f}' for v in tf.random.normal([2], seed=2)])",
         "print(*[f'{float(v):.6f}' for v in noise])"});
    show("random_normal", 0);
    const std::vector<double> drawn = values();
    QTest::keyClick(window_.get(), Qt::Key_I, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY(field<QToolButton>("whatIfAdd")->isVisible());
    QTest::mouseClick(field<QToolButton>("whatIfAdd"), Qt::LeftButton);
    choose("Set an attribute");
    QCOMPARE(field<QComboBox>("changeAttribute")->currentData().toString(), QString("seed"));
    QCOMPARE(field<QLineEdit>("changeSetting")->text(), QString("1"));
    field<QLineEdit>("changeSetting")->setFocus();
    field<QLineEdit>("changeSetting")->selectAll();
    typeInForm("2\n");
    QCOMPARE(changes(), QStringList{"random_normal, op 1: seed = 2"});
    replay();
    QVERIFY2(told("2 results depend"), qPrintable(whatIf()->sentence()->text()));
    QTest::keyClick(window_.get(), Qt::Key_F12, Qt::ShiftModifier);
    const auto text = [](const std::vector<double>& numbers) {
      return QString("%1 %2").arg(numbers[0], 0, 'f', 6).arg(numbers[1], 0, 'f', 6);
    };
    const std::vector<double> branch = values();
    QCOMPARE(branch.size(), std::size_t{2});
    QCOMPARE(runCell(1), text(branch));
    QCOMPARE(runCell(2), text(drawn));
  }

  void aVariableTakesTheBranchsValueOver() {
    run(
        {"import tapedeck as tf\n"
         "W = tf.Variable([1., 2.], name='W')\n"
         "W.assign(W * 3.)\n"
         "v = W + 1.",
         "print(W.numpy().tolist(), v.numpy().tolist())"});
    show("multiply", 0);  // the first value of W
    openForm();
    choose("Set one element");
    field<QLineEdit>("changeElement")->setFocus();
    typeInForm("0\t");
    typeInForm("10\n");
    QCOMPARE(changes(), QStringList{"W:0[0] = 10"});
    replay();
    QVERIFY2(told("2 results depend"), qPrintable(whatIf()->sentence()->text()));
    show("add", 0);  // W as it is now
    QTest::keyClick(window_.get(), Qt::Key_F12, Qt::ShiftModifier);
    QCOMPARE(values(), (std::vector<double>{30, 6}));
    QCOMPARE(runCell(1), QString("[3.0, 6.0] [4.0, 7.0]"));  // not before the user asks for it
    show("add", 0);
    QTRY_VERIFY_WITH_TIMEOUT(entry("what_if.take_over")->isEnabled(), patience);
    QTest::keyClick(window_.get(), Qt::Key_F12, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(window_->statusBar()->currentMessage().contains("W:0 took over"),
                              qPrintable(window_->statusBar()->currentMessage()), patience);
    QCOMPARE(runCell(1), QString("[30.0, 6.0] [4.0, 7.0]"));  // and nothing else
  }

  void whilePausedTheCellGoesOnWithTheValueThatWasTakenOver() {
    run(
        {"import tapedeck as tf\n"
         "tf.constant(1.) + 1.",
         "W = tf.Variable([1., 2.], name='W')\n"
         "a = W * 3.\n"
         "b = a + 1.\n"
         "print((W * 1.).numpy().tolist(), a.numpy().tolist())"});
    click(1);
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_) && session().status().stopped_before.value_or(0) == 3,
                             patience);
    show("multiply", 0);
    openForm();
    choose("Set one element");
    field<QLineEdit>("changeElement")->setFocus();
    typeInForm("0\t");
    typeInForm("10\n");
    replay();
    QVERIFY2(told("1 result depends"), qPrintable(whatIf()->sentence()->text()));
    QTRY_VERIFY(entry("what_if.take_over")->isEnabled());
    QTest::mouseClick(field<QToolButton>("whatIfTakeOver"), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(window_->statusBar()->currentMessage().contains("W:0 took over"), patience);
    QVERIFY(isStopped(*window_));
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_COMPARE_WITH_TIMEOUT(outputText(*window_, 1).trimmed(), QString("[10.0, 2.0] [3.0, 6.0]"), patience);
  }

  void aLongReplayTellsHowFarItIsAndIsCancelled() {
    run(
        {"import tapedeck as tf\n"
         "x = tf.constant(0.5, shape=[160, 160])\n"
         "for i in range(4000):\n"
         "    x = tf.tanh(tf.matmul(x, x))"});
    show("tanh", 0);
    QTest::keyClick(window_.get(), Qt::Key_Home, Qt::AltModifier);  // the first record
    QTRY_COMPARE(session().cursor(), inspector::RecordNumber{1});
    QTRY_VERIFY_WITH_TIMEOUT(entry("what_if.ask")->isEnabled(), patience);
    openForm();
    choose("Scale");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    typeInForm("2\n");
    replay();
    cancelReplayAt("of 8,001 results");
  }

  void theBranchGoesOnThroughThePlayback() {
    run(
        {"import tapedeck as tf\n"
         "x = tf.Variable(3., name='x')\n"
         "with tf.GradientTape() as tape:\n"
         "    y = x * x\n"
         "grad = tape.gradient(y, x)",
         "print(float(grad))"});
    QTest::keyClick(window_.get(), Qt::Key_Home, Qt::AltModifier);
    QTRY_COMPARE(session().cursor(), inspector::RecordNumber{1});
    QTRY_VERIFY(tensor(*window_)->model()->chip() && tensor(*window_)->model()->chip()->record == 1);
    QTabBar* chips = tensor(*window_)->chips();
    QTest::mouseClick(chips, Qt::LeftButton, {}, chips->tabRect(0).center());
    QTRY_COMPARE(values(), std::vector<double>{3});
    openForm();
    typeInForm("5\n");
    QCOMPARE(changes(), QStringList{"x:0 = 5"});
    replay();
    QVERIFY2(told("moved"), qPrintable(whatIf()->sentence()->text()));
    const auto isVjp = [&] {
      const auto* record = session().cachedRecord(session().cursor());
      return record && record->kind == protocol::RecordKind::vjp;
    };
    while (!isVjp() && session().cursor() < session().recordCount())
      QTest::keyClick(window_.get(), Qt::Key_Right, Qt::AltModifier);
    QVERIFY(isVjp());
    auto* vjp = window_->findChild<inspector::VjpView*>();
    QTRY_VERIFY_WITH_TIMEOUT(vjp->isVisible() && !vjp->model()->parts().contributions.empty(), patience);
    const auto contribution = [&] {
      const auto* value = vjp->model()->value(vjp->model()->parts().contributions[0].contribution.value().id);
      return value && value->tile && !value->tile->values.empty() ? value->tile->values[0] : 0.0;
    };
    QTRY_COMPARE_WITH_TIMEOUT(contribution(), 3.0, patience);
    QTest::keyClick(window_.get(), Qt::Key_F12, Qt::ShiftModifier);
    QTRY_COMPARE_WITH_TIMEOUT(contribution(), 5.0, patience);
    shots(window_.get(), "what-if-vjp");
    QTest::keyClick(window_.get(), Qt::Key_F12);
    QTRY_COMPARE_WITH_TIMEOUT(contribution(), 3.0, patience);
    QCOMPARE(runCell(1), QString("6.0"));
  }

  void whatIsWrongIsToldBesideItsFieldOrInThePanel() {
    run({network});
    show("matmul", 0);
    openForm();
    choose("Set one element");
    field<QLineEdit>("changeElement")->setFocus();
    field<QLineEdit>("changeElement")->selectAll();
    typeInForm("0, 7\n");
    QVERIFY2(
        problemOf(ChangeField::element).contains(QString::fromUtf8("“7” is not an index on an axis of 2")),
        qPrintable(problemOf(ChangeField::element)));
    field<QLineEdit>("changeElement")->selectAll();
    typeInForm("0, 1\t");
    typeInForm("much\n");
    QVERIFY2(problemOf(ChangeField::numbers).contains("is not a number"),
             qPrintable(problemOf(ChangeField::numbers)));
    QVERIFY(changes().isEmpty());
    shots(window_.get(), "what-if-wrong");
    // What only the engine knows is reported at the replay.
    choose("Set an attribute");
    field<QLineEdit>("changeSetting")->setFocus();
    field<QLineEdit>("changeSetting")->selectAll();
    typeInForm("maybe\n");
    QCOMPARE(changes().size(), 1);
    replay();
    QVERIFY2(told("'maybe' is not a valid value for the attribute") &&
                 told("of matmul, which takes True or False"),
             qPrintable(whatIf()->sentence()->text()));
    shots(window_.get(), "what-if-refused");
    QVERIFY(strips().isEmpty());
    // Skipping what changes the shape is refused with the op's name.
    whatIf()->changes()->setFocus();
    QTest::keyClick(whatIf()->changes(), Qt::Key_Delete);
    show("reduce_sum", 1);
    openForm();
    choose("Skip");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
    QTest::mouseClick(field<QPushButton>("changeAdd"), Qt::LeftButton);
    replay();
    QVERIFY2(told("(reduce_sum) cannot be skipped"), qPrintable(whatIf()->sentence()->text()));
  }

  void itStandsInTheMenusOfOpsAndTensor() {
    run({network});
    for (const char* id : {"what_if.ask", "what_if.replay", "what_if.original", "what_if.branch",
                           "what_if.difference", "what_if.take_over", "what_if.forget"})
      QVERIFY2(entry(id) && !entry(id)->shortcut().isEmpty() && !entry(id)->toolTip().isEmpty(), id);
    QVERIFY(!entry("what_if.branch")->isEnabled());
    QVERIFY2(entry("what_if.branch")->toolTip().contains("no branch"),
             qPrintable(entry("what_if.branch")->toolTip()));
    show("matmul", 2);
    chooseInNextMenu(entry("what_if.ask"));
    emit ops()->customContextMenuRequested(placeOf(rowOf("matmul")));
    QTRY_VERIFY(whatIf()->isVisible() && whatIf()->form()->isVisible());
    QVERIFY(field<QComboBox>("changeKind")->findText("Skip matmul, op 1") >= 0);
    QTRY_VERIFY(whatIf()->form()->isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    QTRY_VERIFY(!whatIf()->form()->isVisible());
    // In the menu of an element it knows the element.
    show("matmul", 1);
    auto* canvas = tensor(*window_)->canvas();
    QTRY_VERIFY_WITH_TIMEOUT(canvas->numbers().visibleCells().size() == 4, patience);
    const QPoint last = canvas->numbers().visibleCells()[3].rect.center().toPoint();
    QTest::mousePress(canvas, Qt::RightButton, {}, last);
    QTest::mouseRelease(canvas, Qt::RightButton, {}, last);
    chooseInNextMenu(entry("what_if.ask"));
    QContextMenuEvent event(QContextMenuEvent::Mouse, last, canvas->mapToGlobal(last));
    QApplication::sendEvent(canvas, &event);
    QTRY_VERIFY(whatIf()->form()->isVisible());
    QTRY_COMPARE(whatIf()->form()->kindText(), QString("Set one element of W:0"));
    QCOMPARE(field<QLineEdit>("changeElement")->text(), QString("1, 1"));
    // Its key goes into the panel, takes it away, and brings it back.
    if (!whatIf()->isAncestorOf(QApplication::focusWidget()))
      QTest::keyClick(window_.get(), Qt::Key_I, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY(whatIf()->isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(window_.get(), Qt::Key_I, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY(!whatIf()->isVisible());
    QTest::keyClick(window_.get(), Qt::Key_I, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY(whatIf()->isVisible());
  }

  void allOfItGoesWithTheSession() {
    run({network});
    show("matmul", 2);
    openForm();
    choose("to zero");
    QTest::mouseClick(field<QPushButton>("changeAdd"), Qt::LeftButton);
    replay();
    QVERIFY2(told("moved"), qPrintable(whatIf()->sentence()->text()));
    QTest::keyClick(window_.get(), Qt::Key_F12, Qt::ShiftModifier);
    QTRY_VERIFY(strips().contains("Branch: result of matmul, op 1 = 0"));
    QTest::keyClick(window_.get(), Qt::Key_R, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(strips().isEmpty() && changes().isEmpty(), patience);
  }
};

TAPEDECK_TEST(TestWhatIfPanel)
#include "tst_what_if_panel.moc"
