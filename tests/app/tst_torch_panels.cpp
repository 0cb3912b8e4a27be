// PyTorch programs in the panels of whole runs (Memory, Time), in Plots, in breakpoints' conditions, and in
// steps by line.
#include <QTreeWidget>

#include "app/shell/panels/workspaces.h"
#include "inspector/model/format.h"
#include "inspector/panels/memory/memory_view.h"
#include "inspector/panels/time/time_view.h"
#include "tests/app/torch_window.h"
#include "tests/files.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

// 4 MB each: the weight, what is kept of each step, and its gradient.
const char* const large = R"(import torch
w = torch.full((1024, 1024), 0.001, requires_grad=True)
x = torch.ones(1024, 1024)
kept = []
for step in range(4):
    h = torch.relu(x @ w)
    kept.append(h.detach())
    h.sum().backward()
    with torch.no_grad():
        w.sub_(w.grad * 0.001)
    w.grad = None
del h)";

}  // namespace

class TestTorchPanels : public QObject, private TorchWindow {
  Q_OBJECT

  template <class View>
  View* view() const {
    return window_->findChild<View*>();
  }
  /// In the workspace Analyze, by keys.
  template <class View>
  void showPanel(Qt::Key key) {
    QTest::keyClick(window_.get(), Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    QTRY_COMPARE(window_->workspaces()->current().id, QString("analyze"));
    QTest::keyClick(window_.get(), key, Qt::AltModifier);
    QTRY_VERIFY(view<View>() && !view<View>()->visibleRegion().isEmpty());
    view<View>()->setFocus();
  }
  QStringList memoryRows() const {
    QStringList rows;
    const QTreeWidget* table = view<inspector::MemoryView>()->table();
    for (int i = 0; i < table->topLevelItemCount(); ++i) {
      QStringList cells;
      for (int column = 0; column < 5; ++column) cells << table->topLevelItem(i)->text(column);
      rows << cells.join(" | ");
    }
    return rows;
  }

 private slots:
  void initTestCase() { useOwnSettingsAndCache(); }
  void init() {
    if (const QString why = missing(); !why.isEmpty()) QSKIP(qPrintable(why));
  }
  void cleanup() { window_.reset(); }

  void memoryListsTheStoragesThatAreAlive() {
    if (const QString why = openInTorch({large, "kept.clear()"}); !why.isEmpty()) QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    showPanel<inspector::MemoryView>(Qt::Key_6);
    auto* memory = view<inspector::MemoryView>();
    QTRY_VERIFY_WITH_TIMEOUT(memory->model()->curve() && memory->model()->state(), patience);
    // The weight, the ones, and what was kept of each step: 4 MiB each. No graph is alive.
    const auto said = [&] { return memory->summary()->text(); };
    QTRY_VERIFY2_WITH_TIMEOUT(
        said().startsWith(
            "Now: 25.2 MB in 6 storages: variables 4.19 MB, tapes 0 bytes, the program 21.0 MB"),
        qPrintable(said()), patience);
    const auto lists = [&](const char* row) {
      return waitFor([&] { return !memoryRows().filter(row).isEmpty(); }, patience);
    };
    QVERIFY2(lists("variable w | 4.19 MB | aten.sub_.Tensor"), qPrintable(memoryRows().join("\n")));
    QTest::keyClick(memory->table(), Qt::Key_B);
    QVERIFY2(lists("line 6 (4 storages) | 16.8 MB | aten.relu"), qPrintable(memoryRows().join("\n")));
    QTRY_VERIFY2_WITH_TIMEOUT(state().contains("memory 25.2 MB in tensors, process "), qPrintable(state()),
                              patience);
    const QString tip = window_->findChild<QLabel*>("sessionState")->toolTip();
    QVERIFY2(
        tip.contains("Tensors: 25.2 MB in storages on the CPU that are alive") && tip.contains("Process: "),
        qPrintable(tip));
    shots(window_.get(), "torch-memory");
    QCOMPARE(runToItsEnd(1), CellState::done);
    QTRY_VERIFY2_WITH_TIMEOUT(state().contains("memory 8.39 MB in tensors"), qPrintable(state()), patience);
  }

  void timeKnowsTheStepsOfATraining() {
    const QString training =
        "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\nfor step in range(12):\n"
        "    optimizer.zero_grad()\n    net(images).square().mean().backward()\n    optimizer.step()";
    if (const QString why = openInTorch({torchNetwork, training}); !why.isEmpty()) QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    QCOMPARE(runToItsEnd(1), CellState::done);
    QTest::keyClick(window_.get(), Qt::Key_5, Qt::ControlModifier | Qt::AltModifier);
    QTRY_VERIFY_WITH_TIMEOUT(view<inspector::TimeView>() && view<inspector::TimeView>()->isVisible(),
                             patience);
    const auto said = [this] { return view<inspector::TimeView>()->summary()->text(); };
    QTRY_VERIFY2_WITH_TIMEOUT(said().contains("12 steps: median") && said().contains("optimiser "),
                              qPrintable(said()), patience);
    shots(window_.get(), "torch-time");
  }

  void curvesOfASummaryWriterAreDrawn() {
    QDir(folder_.path()).mkpath("tensorboardX");
    test::write(folder_.filePath("tensorboardX/__init__.py"), "from .writer import SummaryWriter\n");
    test::write(folder_.filePath("tensorboardX/writer.py"), R"(class SummaryWriter:
    def __init__(self, logdir):
        self.logdir = logdir
    def add_scalar(self, tag, scalar_value, global_step=None):
        pass
    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None):
        pass
)");
    const QString cell =
        "import torch\nfrom tensorboardX import SummaryWriter\nwriter = SummaryWriter('runs/first')\n"
        "for step in range(12):\n    loss = torch.tensor(8.0) / (step + 1)\n"
        "    writer.add_scalar('loss', loss, step)\n"
        "    writer.add_scalars('error', {'train': 1 / (step + 1), 'test': 2 / (step + 1)}, step)";
    if (const QString why = openInTorch({cell}); !why.isEmpty()) QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    auto* series = app::plots(*window_);
    QVERIFY(series);
    QTRY_VERIFY_WITH_TIMEOUT(!series->isEmpty(), patience);
    for (const char* name : {"loss", "error/train", "error/test"})
      QTRY_VERIFY2_WITH_TIMEOUT(series->seriesVisible(name), name, patience);
    QCOMPARE(series->axis(), QString("step"));
    shots(window_.get(), "torch-writer");
  }

  void linesStepIntoAndOutOfModules() {
    if (const QString why = openInTorch({torchNetwork, "a = images * 2\ny = net(a)\nz = y + 1"});
        !why.isEmpty())
      QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    click(1);
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    // Lines of the cells: what PyTorch's own modules do between them is passed.
    const std::tuple<Qt::Key, Qt::KeyboardModifiers, const char*> steps[] = {
        {Qt::Key_F11, Qt::NoModifier, "cell [2] line 2"},
        {Qt::Key_F11, Qt::NoModifier, "cell [1] line 12"},  // into Net.forward
        {Qt::Key_F10, Qt::NoModifier, "before aten.convolution"},
        {Qt::Key_F11, Qt::NoModifier, "cell [1] line 13"}};  // over layer1
    for (const auto& [key, modifiers, place] : steps) {
      QVERIFY(step(1, key, modifiers));
      QTRY_VERIFY2_WITH_TIMEOUT(state().contains(place), qPrintable(place + (": " + state())), patience);
    }
    shots(window_.get(), "torch-lines");
  }

  // Nodes are shown on the lines of their forward ops, but those lines do not run again.
  void linesOfABackwardPassAreThoseThatTheProgramRuns() {
    const QString function =
        "import torch\nclass Doubled(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        return x * 2\n    @staticmethod\n    def backward(ctx, gradient):\n"
        "        half = gradient * 1\n        return half * 2\nw = torch.ones(3, requires_grad=True)\n"
        "def tripled(gradient):\n    return gradient * 3";
    const QString training =
        "for step in range(3):\n    h = w + 1\n    h.register_hook(tripled)\n    y = Doubled.apply(h)\n"
        "    loss = y.square().mean()\n    loss.backward()\n    w.grad = None\nz = w * 2";
    if (const QString why = openInTorch({function, training}); !why.isEmpty()) QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    click(1);
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    QTRY_VERIFY_WITH_TIMEOUT(state().contains("cell [2] line 2"), patience);
    const std::tuple<Qt::Key, const char*> steps[] = {
        {Qt::Key_F11, "cell [2] line 3"},
        {Qt::Key_F11, "cell [2] line 4"},
        {Qt::Key_F11, "cell [1] line 5"},
        {Qt::Key_F11, "cell [2] line 5"},
        {Qt::Key_F11, "cell [2] line 6"},
        {Qt::Key_F11, "cell [1] line 8"},  // Doubled.backward
        {Qt::Key_F11, "cell [1] line 9"},
        {Qt::Key_F11, "cell [1] line 12"},  // the hook
        {Qt::Key_F11, "cell [2] line 7"},
        // Begun at a node, which is shown on its forward op's line.
        {Qt::Key_F11, "cell [2] line 1"},
        {Qt::Key_F11, "cell [2] line 2"},
        {Qt::Key_F11, "cell [2] line 3"},
        {Qt::Key_F11, "cell [2] line 4"},
        {Qt::Key_F11, "cell [1] line 5"},
        {Qt::Key_F11, "cell [2] line 5"},
        {Qt::Key_F11, "cell [2] line 6"},
        {Qt::Key_F10, "aten.ones_like"},
        {Qt::Key_F10, "VJP of aten.mean"},
        {Qt::Key_F11, "cell [1] line 8"},
        {Qt::Key_F11, "cell [1] line 9"},
        {Qt::Key_F11, "cell [1] line 12"},
        {Qt::Key_F10, "aten.mul"},  // the hook's own op
        {Qt::Key_F10, "VJP of aten.add"},
        {Qt::Key_F11, "cell [2] line 7"}};
    int number = 0;
    for (const auto& [key, place] : steps) {
      ++number;
      QVERIFY(step(1, key));
      QTRY_VERIFY2_WITH_TIMEOUT(state().contains(place),
                                qPrintable(QString("step %1, to %2: %3").arg(number).arg(place, state())),
                                patience);
    }
  }

  // item() reads a graph's result, and is on none itself.
  void aReadNumberBeginsNoGraph() {
    if (const QString why = openInTorch({torchNetwork,
                                         "loss = net(images).square().mean()\nloss.backward()\n"
                                         "value = loss.item() + loss.detach().item()"});
        !why.isEmpty())
      QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    QCOMPARE(runToItsEnd(1), CellState::done);
    QVERIFY(knowsAllRecords(*window_));
    quint64 reads = 0, backward = 0;
    for (quint64 number = 1; number <= session().recordCount(); ++number) {
      QTRY_VERIFY_WITH_TIMEOUT(session().record(number) != nullptr, patience);
      const protocol::Record record = *session().cachedRecord(number);
      if (record.kind == protocol::RecordKind::playback) {
        backward = number;
        QCOMPARE(inspector::opText(record), QString("backward"));
      }
      if (record.op.find("_local_scalar_dense") == std::string::npos &&
          record.op.find("detach") == std::string::npos)
        continue;
      ++reads;
      if (backward) QCOMPARE(record.tape, 0u);
    }
    QVERIFY(backward != 0 && reads >= 3);
    QTest::keyClick(window_.get(), Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
    const auto* summary = window_->findChild<QLabel*>("tapeSummary");
    QVERIFY(summary);
    QTRY_VERIFY2_WITH_TIMEOUT(summary->text().startsWith("autograd graph 1 "), qPrintable(summary->text()),
                              patience);
    QTRY_VERIFY2_WITH_TIMEOUT(summary->text().contains("on no graph"), qPrintable(summary->text()), patience);
  }

  void conditionsReadTensorsScopesAndNames() {
    if (const QString why = openInTorch({torchNetwork, "scale = 3\ny = net(images * float(scale))"});
        !why.isEmpty())
      QFAIL(qPrintable(why));
    QCOMPARE(runToItsEnd(0), CellState::done);
    click(0);
    CodeEditor* editor = editorOf(0);
    QTest::mouseClick(editor->viewport(), Qt::LeftButton, {},
                      {editor->marginWidth(0) + editor->marginWidth(1) + 12,
                       editor->yOfLine(12) + editor->lineHeight() / 2});
    press(Qt::Key_F9);
    press(Qt::Key_0, Qt::ControlModifier);
    auto* condition = window_->findChild<QLineEdit*>("breakpointCondition");
    QTRY_VERIFY_WITH_TIMEOUT(condition && condition->isVisible(), patience);
    const std::pair<const char*, const char*> cases[] = {
        {"op:relu", "aten.relu"},
        {"scope:layer1/act", "aten.relu"},
        {"shape:(2,1,3,3)", "aten.convolution"},
        {"nan(out) or min(out) >= 0", "aten.relu"},
        {"max(abs(in1)) < 1 and op:convolution", "aten.convolution"},
        {"zeros(out) > 10% and deviation(out) > 0", "aten.relu"},
        {"out.shape == in0.shape and scale == 3", "aten.relu"},
        {"nan(out)", ""},
        {"scope:layer2", ""},
        {"shape:7", ""}};
    for (const auto& [text, op] : cases) {
      condition->setFocus();
      condition->selectAll();
      QTest::keyClicks(condition, text);
      QTest::keyClick(condition, Qt::Key_Return);
      click(1);
      press(Qt::Key_Return, Qt::ControlModifier);
      const QString expected = op;
      QTRY_VERIFY2_WITH_TIMEOUT(expected.isEmpty() ? stateOf(1) == CellState::done : isStopped(*window_),
                                text, patience);
      if (expected.isEmpty()) continue;
      QTRY_VERIFY2_WITH_TIMEOUT(state().contains(expected), qPrintable(text + (": " + state())), patience);
      // It may hold for further ops of the line.
      for (int stops = 0; stops < 8 && stateOf(1) != CellState::done; ++stops) {
        const QString before = state();
        QTest::keyClick(window_.get(), Qt::Key_F5);
        QTRY_VERIFY2_WITH_TIMEOUT(stateOf(1) == CellState::done || (isStopped(*window_) && state() != before),
                                  text, patience);
      }
      QVERIFY2(stateOf(1) == CellState::done, text);
    }
  }
};

TAPEDECK_TORCH_TEST(TestTorchPanels)
#include "tst_torch_panels.moc"
