// What if? inside a traced function, from a notebook whose function has a branch and a loop: a value of the
// call is changed while the program waits in the loop, and what follows is replayed; behind the call, too,
// once that has ended.
#include <QLabel>
#include <QRegularExpression>
#include <cmath>

#include "tests/app/panels/what_if_window.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

const QStringList changed_cells = {
    "import tapedeck as tf\n"
    "tf.config.run_functions_eagerly(False)\n"
    "w = tf.Variable([1., 2., 3.], name='w')\n"
    "@tf.function\n"
    "def f(x):\n"
    "    y = x * w\n"
    "    if tf.reduce_sum(y) > 1.:\n"
    "        y = tf.tanh(y)\n"
    "    else:\n"
    "        y = -y\n"
    "    for i in tf.range(2):\n"
    "        y = y + y\n"
    "    return y\n"
    "x = tf.ones([3])",  // a record: panels are shown from the first one on
    "a = f(x)\n"
    "b = tf.exp(a)",
    "print(round(float(b[0]), 2))"};

}  // namespace

class TestGraphWhatIf : public QObject, WhatIfWindow {
  Q_OBJECT

  QString state() const { return window_->findChild<QLabel*>("sessionState")->text(); }
  void stepBy(Qt::Key key) {
    const auto before = session().stop();
    press(key);
    QTRY_VERIFY2_WITH_TIMEOUT(isStopped(*window_) && session().stop() != before, qPrintable(state()),
                              patience);
  }
  /// By F10, and by F11 into the call, to the addition of the loop's second iteration.
  void stepIntoTheLoop() {
    int additions = 0;
    for (int i = 0; i < 40 && additions < 2; ++i) {
      stepBy(state().contains("paused before f(") ? Qt::Key_F11 : Qt::Key_F10);
      if (QTest::currentTestFailed()) return;
      additions += state().contains("paused before add") && session().status().line == 12;
    }
    QVERIFY2(additions == 2, qPrintable(state()));
  }
  /// What the list says of the op's results that moved.
  QStringList movedOf(const QString& op) const { return moved().filter(QRegularExpression("^" + op + ": ")); }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void aValueInsideACallIsChangedAndReplayedInsideAndBehindIt() {
    run(changed_cells);
    click(1);
    stepIntoTheLoop();
    if (QTest::currentTestFailed()) return;
    show("multiply", 2);
    QCOMPARE(values(), (std::vector<double>{1, 2, 3}));
    auto* canvas = tensor(*window_)->canvas();
    QTRY_VERIFY_WITH_TIMEOUT(canvas->numbers().visibleCells().size() == 3, patience);
    QTest::mouseClick(canvas, Qt::LeftButton, {},
                      canvas->numbers().visibleCells()[0].rect.center().toPoint());
    openForm();
    QCOMPARE(field<QLineEdit>("changeElement")->text(), QString("0"));
    typeInForm("1.5\n");
    QCOMPARE(changes().size(), 1);
    QVERIFY2(changes()[0].contains("multiply") && changes()[0].endsWith("[0] = 1.5"),
             qPrintable(changes()[0]));
    // As far as the program has come: the side of the branch that ran, and one iteration.
    replay();
    QVERIFY2(told("moved"), qPrintable(whatIf()->sentence()->text()));
    QCOMPARE(movedOf("tanh").size(), 1);
    QCOMPARE(movedOf("add").size(), 1);
    QVERIFY2(movedOf("exp").isEmpty(), qPrintable(moved().join("; ")));
    QVERIFY(isStopped(*window_));
    show("tanh", 1);
    QTest::keyClick(window_.get(), Qt::Key_F12, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!values().empty() && std::abs(values()[0] - std::tanh(1.5)) < 1e-6, patience);
    shots(window_.get(), "what-if-in-a-graph-function");
    // The program goes on with its own values, and the same change is replayed to the end.
    QTest::keyClick(window_.get(), Qt::Key_F12);
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(1) == CellState::done && knowsAllRecords(*window_), patience);
    replay();
    QTRY_VERIFY2_WITH_TIMEOUT(movedOf("exp").size() == 1, qPrintable(moved().join("; ")), patience);
    QCOMPARE(movedOf("add").size(), 2);
    const QString behind = movedOf("exp")[0];
    // The norms of exp(4·tanh(w)), and of it with 1.5 in place of w[0].
    QVERIFY2(behind.startsWith(QString::fromUtf8("exp: ‖74.454‖ → ‖80.601‖")), qPrintable(behind));
    QCOMPARE(runCell(2), QString("21.04"));
  }
};

TAPEDECK_TEST(TestGraphWhatIf)
#include "tst_graph_what_if.moc"
