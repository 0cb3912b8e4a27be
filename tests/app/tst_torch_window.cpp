// A PyTorch program in the window: stepped through forward, backward and optimiser, stopped by conditions,
// looked into by the panels, saved as a trace, and attached to while it runs by itself.
#include <QFileDialog>
#include <QPointer>
#include <QProcess>
#include <QTimer>

#include "app/kernel/debug/attached_program.h"
#include "app/kernel/debug/trace_session.h"
#include "inspector/panels/console/console_input.h"
#include "inspector/panels/console/console_view.h"
#include "tests/app/panels/variable_rows.h"
#include "tests/app/torch_window.h"
#include "tests/files.h"

using namespace tapedeck;
using namespace tapedeck::app;
using protocol::Record;
using protocol::RecordKind;

namespace {

const char* const step_of_training = R"(loss = net(images).square().mean()
loss.backward()
optimizer.step())";

// It goes on until there is a file `stop`; line 6 is the loss.
const char* const torch_program = R"(import os, time, torch
folder = os.path.dirname(os.path.abspath(__file__))
w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
while not os.path.exists(folder + "/stop"):
    loss = (w - 1).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(0.005)
)";

}  // namespace

class TestTorchWindow : public QObject, private TorchWindow {
  Q_OBJECT

  const Record* known(quint64 number) {
    return waitFor([&] { return session().record(number) != nullptr; }, patience)
               ? session().cachedRecord(number)
               : nullptr;
  }
  const Record* stoppedAt() { return session().stoppedBefore() ? known(session().stoppedBefore()) : nullptr; }
  QStringList texts() const {
    QStringList all;
    for (const QLabel* label : window_->findChildren<QLabel*>())
      if (label->isVisible()) all << label->text();
    return all;
  }
  /// Types it into the Console, and waits for its answer.
  bool answers(const QString& expression, const QString& answer) {
    auto* console = window_->findChild<inspector::ConsoleView*>();
    raisePanel(*window_, "Console", Qt::Key_8, console);
    console->input()->setFocus();
    QTest::keyClicks(console->input(), expression);
    QTest::keyClick(console->input(), Qt::Key_Return);
    const auto said = [&] { return console->output()->toPlainText().trimmed(); };
    const bool right = waitFor([&] { return said().endsWith(answer); }, patience);
    if (!right) qWarning("%s", qPrintable(said()));
    return right;
  }
  /// Types it into the file dialog that opens next.
  void chooseFile(const QString& path) {
    auto* timer = new QTimer(this);
    connect(timer, &QTimer::timeout, this, [timer, path] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      if (!dialog) return;
      timer->stop();
      timer->deleteLater();
      auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
      name->setText(path);
      QTimer::singleShot(0, name, [name] { QTest::keyClick(name, Qt::Key_Return); });
    });
    timer->start(50);
  }
  template <class Source>
  static MainWindow* windowOn() {
    for (QWidget* widget : QApplication::topLevelWidgets())
      if (auto* main = qobject_cast<MainWindow*>(widget); main && qobject_cast<Source*>(main->source()))
        return main;
    return nullptr;
  }

 private slots:
  void initTestCase() {
    useOwnSettingsAndCache();
    QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    QFile::setPermissions(runtime_.path(), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    qputenv("XDG_RUNTIME_DIR", runtime_.path().toUtf8());
  }
  void init() {
    if (const QString why = missing(); !why.isEmpty()) QSKIP(qPrintable(why));
  }
  void cleanup() {
    window_.reset();
    QList<QPointer<MainWindow>> others;
    for (QWidget* widget : QApplication::topLevelWidgets())
      if (auto* main = qobject_cast<MainWindow*>(widget)) others << main;
    for (const auto& other : others) delete other;
  }

  void f10GoesThroughForwardBackwardAndOptimiser() {
    if (const QString why = openInTorch({torchNetwork, step_of_training}); !why.isEmpty())
      QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    click(1);
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    // "kind op scope line" of each stop.
    QStringList stops;
    for (int i = 0; i < 100 && stateOf(1) != CellState::done; ++i) {
      const Record* record = stoppedAt();
      QVERIFY(record);
      stops << QString("%1 %2 %3 %4")
                   .arg(record->kind == RecordKind::vjp ? "vjp" : "op", QString::fromStdString(record->op),
                        QString::fromStdString(record->scope))
                   .arg(session().status().line);
      if (stops.last().startsWith("vjp aten.convolution")) {
        QVERIFY2(state().contains("paused before the VJP of aten.convolution, cell [2] line 12") ||
                     state().contains("paused before the VJP of aten.convolution, cell [1] line 12"),
                 qPrintable(state()));
        QTRY_VERIFY2_WITH_TIMEOUT(texts().filter("autograd graph 1").size() == 1,
                                  qPrintable(texts().join("\n")), patience);
        shots(window_.get(), "torch-backward");
      }
      QVERIFY2(step(1, Qt::Key_F10), qPrintable(stops.join("\n")));
    }
    const QString all = stops.join("\n");
    QCOMPARE(stateOf(1), CellState::done);
    // Lines of the forward op, also for its VJP; modules and optimisers as scopes.
    for (const char* stop : {"op aten.convolution layer1/conv 12", "op aten.relu layer1/act 12",
                             "op aten.addmm head 13", "vjp aten.addmm head 13", "vjp aten.relu layer1/act 12",
                             "vjp aten.convolution layer1/conv 12", "op aten.add_.Tensor SGD.step 3"})
      QVERIFY2(stops.contains(stop), qPrintable(QString(stop) + "\nis not among\n" + all));
    QCOMPARE(stops.filter("autograd.AccumulateGrad").size(), 4);  // two weights, two biases
    QVERIFY2(stops.filter("profiler").isEmpty(), qPrintable(all));
    QVERIFY(stops.indexOf("vjp aten.addmm head 13") < stops.indexOf("vjp aten.convolution layer1/conv 12"));
  }

  void panelsShowTensorsModulesAndExpressions() {
    if (const QString why = openInTorch({torchNetwork, step_of_training}); !why.isEmpty())
      QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    QCOMPARE(runToItsEnd(1), CellState::done);
    showAllRecords();
    auto* variables = window_->findChild<inspector::VariablesView*>();
    raisePanel(*window_, "Variables", Qt::Key_7, variables);
    const auto cell = [&](const char* name, int column) {
      const QModelIndex row = variableRow(variables, name);
      return row.siblingAtColumn(column).data().toString();
    };
    QTRY_COMPARE_WITH_TIMEOUT(cell("images", 3), QString("5×1×4×4"), patience);
    QCOMPARE(cell("images", 2), QString("Tensor"));
    QCOMPARE(cell("images", 4), QString("float32"));
    QCOMPARE(cell("net", 2), QString("Net"));
    QVERIFY2(cell("loss", 1).startsWith("0."), qPrintable(cell("loss", 1)));
    shots(window_.get(), "torch-variables");
    QVERIFY(answers("tuple(net.layer1.conv.weight.grad.shape)", "(2, 1, 3, 3)"));
    QVERIFY(answers("float(net.head.bias.grad.isnan().sum())", "0.0"));
    goTo("aten.threshold_backward");
    QTRY_VERIFY(tensor(*window_)->isVisible());
    shots(window_.get(), "torch-panels");
  }

  void conditionsAndTheNanWatchStopIt() {
    const QString loop = "for step in range(8):\n    y = images * float(step)\n    z = y + 1.";
    if (const QString why = openInTorch({torchNetwork, loop, "torch.log(images - 100.)\nprint('end')"});
        !why.isEmpty())
      QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    click(1);
    CodeEditor* editor = editorOf(1);
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, {},
                      {editor->marginWidth(0) + editor->marginWidth(1) + 12,
                       editor->yOfLine(3) + editor->lineHeight() / 2});
    press(Qt::Key_F9);
    press(Qt::Key_0, Qt::ControlModifier);
    auto* condition = window_->findChild<QLineEdit*>("breakpointCondition");
    QTRY_VERIFY_WITH_TIMEOUT(condition && condition->isVisible(), patience);
    QTest::mouseClick(condition, Qt::LeftButton);
    QTest::keyClicks(condition, "step >= 2 and max(abs(out)) > 4");
    QTest::keyClick(condition, Qt::Key_Return);
    click(1);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(isStopped(*window_), qPrintable(state()), patience);
    QVERIFY2(state().contains("aten.add.Tensor") && state().contains("it is"), qPrintable(state()));
    QCOMPARE(session().status().line, 3u);
    QTest::keyClick(window_.get(), Qt::Key_Delete, Qt::AltModifier | Qt::ShiftModifier);
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(1) == CellState::done, patience);
    QTest::keyClick(window_.get(), Qt::Key_F9, Qt::ControlModifier | Qt::ShiftModifier);
    click(2);
    press(Qt::Key_Return, Qt::ControlModifier);
    QTRY_VERIFY2_WITH_TIMEOUT(
        isStopped(*window_) && state().contains("aten.log") && state().contains("nan(out)"),
        qPrintable(state()), patience);
    QCOMPARE(session().status().line, 1u);
    shots(window_.get(), "torch-nan");
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(2) == CellState::done, patience);
  }

  void aTraceIsSavedAndShowsTheSameWithoutThePrograms() {
    if (const QString why = openInTorch({torchNetwork, step_of_training}); !why.isEmpty())
      QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    QCOMPARE(runToItsEnd(1), CellState::done);
    showAllRecords();
    const quint64 count = session().recordCount();
    QList<Record> records;
    for (quint64 i = 1; i <= count; ++i) {
      const Record* record = known(i);
      QVERIFY(record);
      records << *record;
    }
    const QString path = folder_.filePath("torch.tapetrace");
    chooseFile(path);
    press(Qt::Key_E, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(path), patience);
    window_.reset();

    window_ = newWindow();
    window_->openNotebook(path);
    QTRY_VERIFY_WITH_TIMEOUT(windowOn<TraceSession>(), patience);
    MainWindow* trace = windowOn<TraceSession>();
    QVERIFY(showActive(trace));
    QTRY_COMPARE_WITH_TIMEOUT(trace->session()->recordCount(), count, patience);
    for (quint64 i = 1; i <= count; ++i) {
      QTRY_VERIFY_WITH_TIMEOUT(trace->session()->record(i), patience);
      const Record &shown = *trace->session()->cachedRecord(i), &was = records[static_cast<qsizetype>(i - 1)];
      QCOMPARE(shown.op, was.op);
      QCOMPARE(shown.scope, was.scope);
      QCOMPARE(shown.line, was.line);
      QCOMPARE(shown.forward, was.forward);
    }
    shots(trace, "torch-trace");
  }

  void aProgramThatRunsByItselfIsAttachedToAndStepped() {
    const QString program = tapedeck::test::write(folder_.filePath("train.py"), torch_program);
    QProcess process;
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.insert("TAPEDECK_DEBUG", "1");
    process.setProcessEnvironment(environment);
    process.setStandardInputFile(QProcess::nullDevice());
    process.setProcessChannelMode(QProcess::ForwardedChannels);
    process.start(qEnvironmentVariable("TAPEDECK_TORCH"), {"-m", "tapedeck", program});
    QVERIFY(process.waitForStarted());
    window_ = newWindow();
    const auto attached = [&] {
      if (!windowOn<AttachedProgram>()) window_->attachTo(process.processId());
      return waitFor([] { return windowOn<AttachedProgram>() != nullptr; }, 500);
    };
    QTRY_VERIFY_WITH_TIMEOUT(attached(), patience);
    MainWindow* window = windowOn<AttachedProgram>();
    window_.release();  // the start page has closed
    QVERIFY(showActive(window));
    QTRY_VERIFY_WITH_TIMEOUT(window->session()->recordCount() > 20, patience);
    QTest::keyClick(window, Qt::Key_F6);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window), patience);
    const QLabel* state = window->findChild<QLabel*>("sessionState");
    QTRY_VERIFY2(state->text().contains("paused before"), qPrintable(state->text()));
    bool backward = false, optimiser = false;
    for (int i = 0; i < 30 && !(backward && optimiser); ++i) {
      const auto before = window->session()->stop();
      QTest::keyClick(window, Qt::Key_F10);
      QTRY_VERIFY_WITH_TIMEOUT(window->session()->stop() != 0 && window->session()->stop() != before,
                               patience);
      const auto at = window->session()->stoppedBefore();
      QTRY_VERIFY_WITH_TIMEOUT(at != 0 && window->session()->record(at), patience);
      const Record* record = window->session()->cachedRecord(at);
      QVERIFY(record->line >= 5 && record->line <= 9);
      backward = backward || record->kind == RecordKind::vjp;
      optimiser = optimiser || record->scope == "SGD.step";
    }
    QVERIFY(backward && optimiser);
    shots(window, "torch-attached");
    tapedeck::test::write(folder_.filePath("stop"), "");
    QTest::keyClick(window, Qt::Key_F5);
    QVERIFY(waitFor([&] { return process.state() == QProcess::NotRunning; }, patience));
    QCOMPARE(process.exitCode(), 0);
  }

 private:
  QTemporaryDir runtime_{QDir::tempPath() + "/td-XXXXXX"};
};

TAPEDECK_TORCH_TEST(TestTorchWindow)
#include "tst_torch_window.moc"
