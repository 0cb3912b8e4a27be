// PyTorch programs that fail, are interrupted, or whose process is killed: each is reported in words, and the
// notebook stays as it is.
#include <csignal>

#include "tests/app/torch_window.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

const char* const first_cell = "import os, signal, time, torch\nprint('this output stays')";

/// A Function whose backward runs that, and a backward pass through it.
QString inBackward(const QString& statements) {
  return QString(
             "class Own(torch.autograd.Function):\n"
             "    @staticmethod\n"
             "    def forward(ctx, x):\n"
             "        return x * 2\n"
             "    @staticmethod\n"
             "    def backward(ctx, g):\n"
             "        %1\n"
             "        return g\n"
             "Own.apply(torch.ones(3, requires_grad=True)).sum().backward()")
      .arg(statements);
}

}  // namespace

class TestTorchTrouble : public QObject, private TorchWindow {
  Q_OBJECT

  /// The notebook of the next lines, its first cell run. What keeps that from being so.
  QString begin(const QStringList& cells) {
    if (const QString problem = openInTorch(QStringList{first_cell} + cells); !problem.isEmpty())
      return problem;
    return runToItsEnd(0) == CellState::done ? QString() : outputText(*window_, 0);
  }
  /// Cells, texts and outputs are there.
  bool isIntact(const QStringList& cells) const {
    if (document().cellCount() != cells.size() + 1 || !outputText(*window_, 0).contains("this output stays"))
      return false;
    for (int i = 0; i < cells.size(); ++i)
      if (document().cell(i + 1).source != cells[i]) return false;
    return true;
  }
  bool choose(const char* action) {
    const QString problem = chooseInMenus(window_.get(), action);
    if (!problem.isEmpty()) qWarning("%s", qPrintable(problem));
    return problem.isEmpty();
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void init() {
    if (const QString why = missing(); !why.isEmpty()) QSKIP(qPrintable(why));
  }
  void cleanup() { window_.reset(); }

  void exceptionsOfPyTorchAndOfProgramsAreShownAsTheyAre() {
    const QStringList cells{
        "torch.empty(10**15)", inBackward("raise ValueError(f'no gradient of shape {tuple(g.shape)}')"),
        "def hook(g):\n    raise KeyError('of a hook')\nx = torch.ones(3, requires_grad=True)\ny = x * 2\n"
        "y.register_hook(hook)\ny.sum().backward()",
        "torch.ones(3, requires_grad=True).numpy()", "(torch.ones(3) + 1).tolist()"};
    QCOMPARE(begin(cells), QString());
    const QStringList expected{"RuntimeError: [enforce fail at", "ValueError: no gradient of shape (3,)",
                               "KeyError: 'of a hook'",
                               "RuntimeError: Can't call numpy() on Tensor that requires grad"};
    for (int i = 0; i < 4; ++i) {
      QCOMPARE(runToItsEnd(i + 1), CellState::failed);
      const QString text = outputText(*window_, i + 1);
      QVERIFY2(text.contains(expected[i]), qPrintable(text));
      QVERIFY2(!text.contains("tapedeck/torch/"), qPrintable(text));  // no frames of the recorder
    }
    QVERIFY2(outputText(*window_, 1).contains("you tried to allocate 4000000000000000 bytes"),
             qPrintable(outputText(*window_, 1)));
    // The record of the pass has the error, too.
    QVERIFY(knowsAllRecords(*window_));
    QStringList errors;
    for (quint64 i = 1; i <= session().recordCount(); ++i) {
      QTRY_VERIFY_WITH_TIMEOUT(session().record(i), patience);
      errors << QString::fromStdString(session().cachedRecord(i)->error);
    }
    QVERIFY2(errors.contains("ValueError: no gradient of shape (3,)"), qPrintable(errors.join("\n")));
    QCOMPARE(runToItsEnd(5), CellState::done);
    QVERIFY(outputText(*window_, 5).contains("[2.0, 2.0, 2.0]"));
    QVERIFY(isIntact(cells));
    shots(window_.get(), "torch-exceptions");
  }

  void interruptsEndAnOpABackwardPassAndAStop() {
    const QStringList cells{"a = torch.ones(500, 500)\nwhile True:\n    b = a @ a",
                            inBackward("while True: g = g + 0"), "print((torch.ones(2) + 1).tolist())"};
    QCOMPARE(begin(cells), QString());
    for (int cell = 1; cell <= 2; ++cell) {
      const auto records = session().recordCount();
      click(cell);
      press(Qt::Key_Return, Qt::ControlModifier);
      QTRY_VERIFY_WITH_TIMEOUT(session().recordCount() > records + 10, patience);
      QVERIFY(choose("session.interrupt"));
      QTRY_COMPARE_WITH_TIMEOUT(stateOf(cell), CellState::failed, patience);
      QVERIFY2(outputText(*window_, cell).contains("KeyboardInterrupt"),
               qPrintable(outputText(*window_, cell)));
    }
    // While it is stopped: before an op, and inside of a backward pass.
    for (int cell = 1; cell <= 2; ++cell) {
      click(cell);
      press(Qt::Key_F10);
      QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
      const auto backward = [&] {
        const auto* record = session().cachedRecord(session().stoppedBefore());
        return record && record->backward;
      };
      for (int i = 0; cell == 2 && i < 20 && !backward(); ++i) QVERIFY(step(cell, Qt::Key_F10));
      QCOMPARE(backward(), cell == 2);
      QVERIFY(choose("session.interrupt"));
      QTRY_COMPARE_WITH_TIMEOUT(stateOf(cell), CellState::failed, patience);
      QVERIFY2(outputText(*window_, cell).contains("KeyboardInterrupt"),
               qPrintable(outputText(*window_, cell)));
      QVERIFY2(!outputText(*window_, cell).contains("tapedeck/torch/"),
               qPrintable(outputText(*window_, cell)));
    }
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window_) && !isStopped(*window_), patience);
    QCOMPARE(runToItsEnd(3), CellState::done);
    QCOMPARE(outputText(*window_, 3), "[2.0, 2.0]\n");
    QVERIFY(isIntact(cells));
  }

  void anInterruptWithinALongOpSaysWhatItWaitsFor() {
    const QStringList cells{"a = torch.ones(3000, 3000, dtype=torch.float64)\nb = a @ a", "b.shape"};
    QCOMPARE(begin(cells), QString());
    click(1);
    press(Qt::Key_Return, Qt::ControlModifier);
    const auto runs = [&] {
      const auto* newest = session().record(session().recordCount());
      return newest && newest->op == "aten.mm" && session().status().finished < newest->number;
    };
    QTRY_VERIFY_WITH_TIMEOUT(runs(), patience);
    press(Qt::Key_I, Qt::ControlModifier);
    // Before anything else happens: the op runs on.
    QVERIFY2(state().contains("interrupting cell") && state().contains("waits for aten.mm to end, 0 s"),
             qPrintable(state()));
    QTRY_VERIFY2_WITH_TIMEOUT(
        window_->messages()->text().contains("was interrupted, and ends when aten.mm does, which runs now"),
        qPrintable(window_->messages()->text()), patience);
    shots(window_.get(), "torch-interrupting");
    QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), CellState::failed, patience);
    QVERIFY2(outputText(*window_, 1).contains("KeyboardInterrupt"), qPrintable(outputText(*window_, 1)));
    QTRY_VERIFY2(!state().contains("interrupting") && !window_->messages()->text().contains("aten.mm"),
                 qPrintable(state() + window_->messages()->text()));
    QVERIFY(isIntact(cells));
  }

  void aKilledSessionIsReportedAndLosesNothing_data() {
    QTest::addColumn<QString>("cell");
    QTest::addColumn<bool>("outside");
    QTest::newRow("in an op") << "a = torch.ones(500, 500)\nwhile True:\n    b = a @ a" << true;
    QTest::newRow("in backward") << inBackward("os.kill(os.getpid(), signal.SIGKILL)") << false;
  }
  void aKilledSessionIsReportedAndLosesNothing() {
    QFETCH(QString, cell);
    QFETCH(bool, outside);
    const QStringList cells{cell, "torch.ones(2).tolist()"};
    QCOMPARE(begin(cells), QString());
    click(1);
    press(Qt::Key_Return, Qt::ControlModifier);
    if (outside) {
      QTRY_VERIFY_WITH_TIMEOUT(session().recordCount() > 10, patience);
      ::kill(static_cast<pid_t>(window_->kernel()->processId()), SIGKILL);
    }
    const auto records = session().recordCount();
    QTRY_COMPARE_WITH_TIMEOUT(window_->kernel()->state(), KernelState::dead, patience);
    QVERIFY2(window_->messages()->text().contains("The session process was killed (signal 9)"),
             qPrintable(window_->messages()->text()));
    QTRY_COMPARE(stateOf(1), CellState::killed);
    QVERIFY2(outputText(*window_, 1).contains("The session ended while this cell ran"),
             qPrintable(outputText(*window_, 1)));
    QVERIFY(isIntact(cells));
    QVERIFY(session().recordCount() >= records);
    // The next session runs in the same environment.
    QCOMPARE(runToItsEnd(2), CellState::failed);
    QVERIFY(outputText(*window_, 2).contains("NameError"));
    QCOMPARE(runToItsEnd(0), CellState::done);
    QCOMPARE(runToItsEnd(2), CellState::done);
    QVERIFY2(state().contains(", torch 2."), qPrintable(state()));
  }
};

TAPEDECK_TORCH_TEST(TestTorchTrouble)
#include "tst_torch_trouble.moc"
