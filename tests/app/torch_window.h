// A window on the environment of TAPEDECK_TORCH, chosen on the start page: for tests of PyTorch programs.
#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>

#include "tests/app/sample_window.h"
#include "tests/test_program.h"

namespace tapedeck::app {

/// A cell: a convolution, its activation, a linear layer, and images for it.
inline constexpr const char* torchNetwork = R"(import torch
from torch import nn
torch.manual_seed(1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential()
        self.layer1.add_module("conv", nn.Conv2d(1, 2, 3))
        self.layer1.add_module("act", nn.ReLU())
        self.head = nn.Linear(8, 1)
    def forward(self, images):
        h = self.layer1(images)
        return self.head(h.flatten(1))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
images = torch.randn(5, 1, 4, 4))";

class TorchWindow : protected SampleWindow {
 protected:
  QTemporaryDir folder_;

  /// What keeps these tests from running here; empty: nothing.
  static QString missing() {
    return qEnvironmentVariableIsEmpty("TAPEDECK_TORCH")
               ? QString("TAPEDECK_TORCH is not set: no interpreter with torch")
               : QString();
  }
  /// Of the interpreter's Python 3.
  static int minorVersion() {
    QProcess python;
    python.start(qEnvironmentVariable("TAPEDECK_TORCH"), {"-c", "import sys; print(sys.version_info[1])"});
    return python.waitForFinished(60000) ? python.readAllStandardOutput().trimmed().toInt() : 0;
  }
  /// A new window; its sessions run in the environment, by the dialog of the start page. Where it lacks
  /// something, the sentence that says so.
  QString chooseTorch() {
    window_ = newWindow();
    QTest::mouseClick(window_->findChild<QPushButton*>("environment"), Qt::LeftButton);
    const auto dialog = [this] { return window_->findChild<QDialog*>("environmentDialog"); };
    if (!waitFor([&] { return dialog() && dialog()->isVisible(); }, patience)) return "no dialog opened";
    QTest::keyClicks(dialog()->findChild<QLineEdit*>("environmentPath"),
                     qEnvironmentVariable("TAPEDECK_TORCH"));
    const auto text = [&](const char* name) {
      const auto* label = dialog()->findChild<QLabel*>(name);
      return label ? label->text() : QString();
    };
    // The path alone may have "torch" in it, while the interpreter is being asked.
    (void)waitFor([&] { return !text("environmentVerdict").startsWith("Asking"); }, patience);
    if (!text("environmentVerdict").contains(", torch ")) return "no torch: " + text("environmentVerdict");
    if (const QString module = text("need:tapedeck"); !module.startsWith("✓")) return "no module: " + module;
    QTest::mouseClick(dialog()->findChild<QPushButton*>("useEnvironment"), Qt::LeftButton);
    return waitFor([&] { return !dialog(); }, patience) && showActive(window_.get())
               ? QString()
               : "the dialog stays open";
  }
  /// The same, with a notebook of these code cells.
  QString openInTorch(const QStringList& cells) {
    if (const QString problem = chooseTorch(); !problem.isEmpty()) return problem;
    const QString path = writeNotebook(folder_, "torch.ipynb", cells);
    window_->openNotebook(path);
    return waitFor([&] { return document().path() == path; }, patience) && showActive(window_.get())
               ? QString()
               : "the notebook was not opened";
  }

  QString state() const { return window_->findChild<QLabel*>("sessionState")->text(); }
  /// Runs it by key, and waits for its end.
  CellState runToItsEnd(int cell) {
    click(cell);
    press(Qt::Key_Return, Qt::ControlModifier);
    const auto ended = [&] {
      return stateOf(cell) == CellState::done || stateOf(cell) == CellState::failed ||
             stateOf(cell) == CellState::killed;
    };
    (void)waitFor([&] { return stateOf(cell) == CellState::busy || ended(); }, patience);
    // Why it did not is in what the window says.
    if (!waitFor(ended, patience))
      qWarning("cell %d did not end: %s\n%s", cell, qPrintable(state()),
               qPrintable(window_->messages()->text()));
    return stateOf(cell);
  }
  /// Presses the key, and waits until the program stops elsewhere or the cell has ended.
  bool step(int cell, Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    const quint64 before = session().stop();
    press(key, modifiers);
    return waitFor(
        [&] {
          if (stateOf(cell) == CellState::done || stateOf(cell) == CellState::failed) return true;
          const quint64 record = session().stoppedBefore();  // 0: before a line
          return session().stop() != 0 && session().stop() != before &&
                 (record == 0 || session().record(record) != nullptr);
        },
        patience);
  }
};

/// Registers a class of such tests. CTest counts it as skipped where there is no interpreter with torch.
#define TAPEDECK_TORCH_TEST(Class) \
  TAPEDECK_TEST(                   \
      Class, .after = [] { return qEnvironmentVariableIsEmpty("TAPEDECK_TORCH") ? 77 : 0; })

}  // namespace tapedeck::app
