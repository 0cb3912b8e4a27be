// What if, for a set of ops, in a real window with a real session process: the set and the change are typed,
// the branch's curve is dashed beside the original's and is that of the program with the change.
#include <QComboBox>
#include <QLineEdit>
#include <QToolButton>

#include "inspector/model/what_if/set_change.h"
#include "inspector/panels/what_if/set_form.h"
#include "plots/plot_chart.h"
#include "plots/plots_view.h"
#include "tests/app/panels/what_if_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::SetField;

namespace {

const char* const learning_rate_sample =
    "import tapedeck as tf\n"
    "x = tf.constant([[1., 2., 3.], [.5, -1., 1.], [2., 0., 1.], [-1., 1., .25]])\n"
    "y = tf.constant([[1.], [0.], [2.], [-1.]])\n"
    "def train(later, log):\n"
    "    w = tf.Variable([[1.], [-2.], [.5]], name='w')\n"
    "    for step in range(100):\n"
    "        with tf.GradientTape() as tape:\n"
    "            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))\n"
    "        rate = .02 if step < 59 else later\n"
    "        optimizer = tf.train.GradientDescentOptimizer(rate)\n"
    "        optimizer.apply_gradients([(tape.gradient(loss, w), w)])\n"
    "        if log: tf.summary.scalar('loss', loss, step)\n"
    "    return float(loss)\n"
    "last = train(.02, True)";

}  // namespace

class TestWhatIfSetsPanel : public QObject, WhatIfWindow {
  Q_OBJECT

  plots::PlotsView* plotsView() const { return window_->findChild<plots::PlotsView*>(); }
  const std::vector<plots::ChartSeries>& drawn() const { return plotsView()->chart()->series(); }
  QString setProblem(SetField of) const {
    const auto* label = field<QLabel>(QString("setProblem%1").arg(static_cast<int>(of)).toLatin1());
    return label->isVisible() ? label->text() : QString();
  }
  void openSetForm() {
    QTRY_VERIFY_WITH_TIMEOUT(entry("what_if.ask_set")->isEnabled(), patience);
    QTest::keyClick(window_.get(), Qt::Key_I, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
    QTRY_VERIFY(whatIf()->isVisible() && whatIf()->setForm()->isVisible());
    QTRY_COMPARE(QApplication::focusWidget(), static_cast<QWidget*>(field<QLineEdit>("setFilter")));
  }
  /// With the keyboard alone, from the first field on.
  void typeSet(const QString& filter, const QString& subject, const QString& value) {
    auto* line = field<QLineEdit>("setFilter");
    QTRY_COMPARE(QApplication::focusWidget(), static_cast<QWidget*>(line));
    line->selectAll();
    QTest::keyClicks(line, filter);
    QTest::keyClick(line, Qt::Key_Tab);
    auto* what = field<QComboBox>("setSubject");
    QTRY_VERIFY(what->hasFocus() || what->lineEdit()->hasFocus());
    what->lineEdit()->selectAll();
    QTest::keyClicks(what->lineEdit(), subject);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    QTRY_VERIFY(field<QComboBox>("setAction")->hasFocus());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    auto* number = field<QLineEdit>("setValue");
    QTRY_VERIFY(number->hasFocus());
    number->selectAll();
    QTest::keyClicks(number, value);
    QTest::keyClick(number, Qt::Key_Return);
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

  void aSmallerLearningRateFromAStepOnIsDrawnDashedBesideTheOriginal() {
    run({learning_rate_sample, "print(repr(train(.02 * .1, False)), repr(last))"});
    show("gradient_descent", 0);
    openSetForm();
    QCOMPARE(field<QLineEdit>("setFilter")->text(), QString("op:gradient_descent"));  // as the cursor's op
    typeSet("op:gradient_descent and step >= 60", "learning_rate", "0.1");
    const QString text = QString::fromUtf8("op:gradient_descent and step >= 60: learning_rate × 0.1");
    QTRY_COMPARE(changes(), QStringList{text});
    replay();
    QVERIFY2(told("41 ops are changed: gradient_descent, in steps 60 to 100."),
             qPrintable(whatIf()->sentence()->text()));
    QVERIFY2(told("Python is not run again: it read 40 changed values"),
             qPrintable(whatIf()->sentence()->text()));
    shots(window_.get(), "what-if-set-branch");
    QTest::keyClick(window_.get(), Qt::Key_U, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
    QTRY_VERIFY(plotsView()->isVisible());
    QTRY_COMPARE_WITH_TIMEOUT(drawn().size(), std::size_t{2}, patience);
    QCOMPARE(drawn()[1].branchOf, 0);
    QCOMPARE(drawn()[1].data->title(), "loss, what if " + text);
    QCOMPARE(drawn()[1].data->size(), std::size_t{41});
    QCOMPARE(drawn()[1].data->steps.front(), 59.0);
    auto* line = plotsView()->findChild<QLabel*>("plotsBranch");
    QVERIFY(line->isVisible());
    QCOMPARE(line->text(), "Dashed: what if " + text);
    QVERIFY(plotsView()->findChild<QLabel*>("plotsBranchNotes")->text().contains("Python is not run again"));
    shots(window_.get(), "what-if-set-plots");
    // It is what the program does with that learning rate.
    const double branch = drawn()[1].data->values.back(), original = drawn()[0].data->values.back();
    const QStringList printed = runCell(1).split(' ');
    QCOMPARE(printed.size(), 2);
    QCOMPARE(branch, printed[0].toDouble());
    QCOMPARE(original, printed[1].toDouble());
    QVERIFY(branch != original);
    // Typed anew by key, and replayed: the curve is the new one. Dropped: it is gone.
    QTest::keyClick(window_.get(), Qt::Key_I, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY(whatIf()->isVisible());
    whatIf()->changes()->setFocus();
    QTest::keyClick(whatIf()->changes(), Qt::Key_F2);
    typeSet("op:gradient_descent and step >= 60", "learning_rate", "1");
    QTRY_VERIFY(changes().value(0).endsWith(QString::fromUtf8("× 1")));
    replay();
    QTRY_VERIFY_WITH_TIMEOUT(drawn().size() == 2 && drawn()[1].data->values.back() == original, patience);
    QTest::keyClick(window_.get(), Qt::Key_K, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_COMPARE(drawn().size(), std::size_t{1});
    QCOMPARE(changes().size(), 1);
  }

  void whatIsWrongWithASetIsToldWithItsPlace() {
    run({learning_rate_sample});
    openSetForm();
    typeSet("op:gradient_descent and step >=", "learning_rate", "0.1");
    QTRY_VERIFY2(setProblem(SetField::filter).contains("At character 32"),
                 qPrintable(setProblem(SetField::filter)));
    QVERIFY(changes().isEmpty());
    typeSet("op:gradient_descent and epoch > 2", "learning_rate", "0.1");
    QTRY_VERIFY2(setProblem(SetField::filter).contains(QString::fromUtf8("At character 25: “epoch”")),
                 qPrintable(setProblem(SetField::filter)));
    typeSet("op:gradient_descent", "learning_rate", "little");
    QTRY_VERIFY2(setProblem(SetField::value).contains(QString::fromUtf8("“little” is not a number")),
                 qPrintable(setProblem(SetField::value)));
    shots(window_.get(), "what-if-set-wrong");
    // What only the session knows is reported at the replay.
    field<QLineEdit>("setFilter")->setFocus();
    typeSet("op:gradient_descent", "momentum", "0.1");
    QTRY_COMPARE(changes().size(), 1);
    replay();
    QVERIFY2(told(QString::fromUtf8("has an attribute, an input or a result “momentum”: gradient_descent "
                                    "has value, gradient, learning_rate and out")),
             qPrintable(whatIf()->sentence()->text()));
    whatIf()->changes()->setFocus();
    QTest::keyClick(whatIf()->changes(), Qt::Key_F2);
    typeSet("op:adam", "step_size", "0.1");
    replay();
    QVERIFY2(told(QString::fromUtf8("The set “op:adam” has no op")),
             qPrintable(whatIf()->sentence()->text()));
    QVERIFY(strips().isEmpty());
  }

  // lr = 0.1 / (1 + float(loss)): the number that Python calculated stays, and the list leads to its op.
  void whatPythonMayHaveCalculatedIsListedWithALink() {
    run(
        {"import tapedeck as tf\n"
         "w = tf.Variable([1., -2.], name='w')\n"
         "x = tf.constant([2., 3.])\n"
         "for step in range(6):\n"
         "    with tf.GradientTape() as tape:\n"
         "        loss = tf.reduce_sum(tf.square(w * x))\n"
         "    rate = .01 / (1 + float(loss))\n"
         "    w.assign_sub(rate * tape.gradient(loss, w))\n"
         "    if loss > 35.: last = step"});
    show("reduce_sum", 0);
    openSetForm();
    typeSet("op:reduce_sum", "out", "0.5");
    QTRY_COMPARE(changes().size(), 1);
    replay();
    QVERIFY2(told("what came up only after Python had read a changed value"),
             qPrintable(whatIf()->sentence()->text()));
    QVERIFY2(told("Python is not run again: it read 12 changed values, the first in line 7"),
             qPrintable(whatIf()->sentence()->text()));
    const QTreeWidget* list = whatIf()->reads();
    QTRY_VERIFY(list->isVisible());
    const auto row = [&](const QString& link, const QString& place) {
      for (int i = 0; i < list->topLevelItemCount(); ++i)
        if (list->topLevelItem(i)->text(3) == link && list->topLevelItem(i)->text(1).endsWith(place))
          return list->topLevelItem(i);
      return static_cast<QTreeWidgetItem*>(nullptr);
    };
    QTreeWidgetItem* rate = row("maybe: appeared later", "line 8");
    QVERIFY(rate);
    QVERIFY2(rate->text(0).contains("of multiply") && rate->text(0).contains("6 ops from op"),
             qPrintable(rate->text(0)));
    QVERIFY2(rate->text(2).contains(QChar(0x2026)), qPrintable(rate->text(2)));  // it changes
    QVERIFY2(rate->toolTip(0).contains("Python may have calculated it from that, or not"),
             qPrintable(rate->toolTip(0)));
    QVERIFY(row("yes: branch flipped", "line 9"));
    shots(window_.get(), "what-if-reads");
    // In the low panel of a small window, too, each list has its own room, and a row in it.
    const QTreeWidget* moved = whatIf()->moved();
    QTRY_VERIFY(moved->isVisible());
    for (const QTreeWidget* part : {list, moved}) {
      QVERIFY(part->viewport()->height() >= part->visualItemRect(part->topLevelItem(0)).height());
      QCOMPARE(part->visibleRegion().boundingRect(), part->rect());
      QVERIFY(whatIf()->rect().contains(part->geometry()));
    }
    QVERIFY2(list->geometry().bottom() < moved->geometry().top(),
             qPrintable(QString("%1, %2").arg(list->geometry().bottom()).arg(moved->geometry().top())));
    // A click goes to the first of them. Other colors made the rows anew.
    rate = row("maybe: appeared later", "line 8");
    QVERIFY(rate);
    whatIf()->reads()->scrollToItem(rate);
    // The row is wider than the panel.
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, {8, list->visualItemRect(rate).center().y()});
    QTRY_VERIFY2_WITH_TIMEOUT(timeline(*window_)->selectedText().contains("multiply"),
                              qPrintable(timeline(*window_)->selectedText()), patience);
    const protocol::Record* record = session().record(session().cursor());
    QVERIFY(record);
    QCOMPARE(record->line, 8u);
  }

  void aLongReplayOfASetIsCancelled() {
    run(
        {"import tapedeck as tf\n"
         "x = tf.constant(0.5, shape=[160, 160])\n"
         "for i in range(4000):\n"
         "    x = tf.tanh(tf.matmul(x, x))"});
    openSetForm();
    typeSet("op:tanh", "out", "0.5");
    QTRY_COMPARE(changes().size(), 1);
    replay();
    cancelReplayAt("of 7,999 results");
  }
};

TAPEDECK_TEST(TestWhatIfSetsPanel)
#include "tst_what_if_sets_panel.moc"
