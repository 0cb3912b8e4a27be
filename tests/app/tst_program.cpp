// A program of TensorFlow's users, opened as it is: run, stepped and saved in the window.
#include <QSignalSpy>

#include "tests/app/sample_window.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

constexpr char program[] = R"(import sys
import tensorflow as tf
import tensorflow.contrib.eager as tfe

tfe.enable_eager_execution()
# %% a step
def main(_):
    x = tf.constant([[2.]])
    print("product", tf.matmul(x, x).numpy(), __file__ == sys.argv[0], tf.__version__)

if __name__ == "__main__":
    tf.app.run()
)";

}  // namespace

class TestProgram : public QObject, private SampleWindow {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  QString write(const QByteArray& bytes) {
    return tapedeck::test::write(folder_.filePath("program.py"), bytes);
  }
  QByteArray contents() { return tapedeck::test::contents(folder_.filePath("program.py")); }
  void openProgram(const QByteArray& bytes) {
    window_ = newWindow();
    window_->openNotebook(write(bytes));
  }

 private slots:
  void initTestCase() { useOwnSettings(); }
  void cleanup() { window_.reset(); }

  void runsAsItIsAndKeepsItsFile() {
    openProgram(program);
    QCOMPARE(document().cellCount(), 2);
    QCOMPARE(window_->kernel()->state(), KernelState::stopped);  // opening runs nothing
    runByKey(0);
    runByKey(1);
    QTRY_VERIFY_WITH_TIMEOUT(allDone(), patience);
    QCOMPARE(outputText(*window_, 1), "product [[4.]] True 1.5.0\n");
    QVERIFY(!window_->isWindowModified());
    QCOMPARE(contents(), QByteArray(program));
    screenshot(window_.get(), "program");
  }

  void isSteppedOpByOp() {
    openProgram(program);
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(0) == CellState::done, patience);  // no ops in it
    click(1);
    press(Qt::Key_F10);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    press(Qt::Key_F5);
    QTRY_VERIFY_WITH_TIMEOUT(stateOf(1) == CellState::done, patience);
    QVERIFY(outputText(*window_, 1).startsWith("product [[4.]]"));
  }

  void whatIsTypedIsSavedAsAProgram() {
    openProgram("x = 1\n");
    click(0);
    press(Qt::Key_End, Qt::ControlModifier);
    type("0");
    QTRY_VERIFY(window_->isWindowModified());
    press(Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->isWindowModified(), patience);
    QCOMPARE(contents(), "x = 10\n");
  }
};

TAPEDECK_TEST(TestProgram)
#include "tst_program.moc"
