// The status bar says how much memory tensors use, and how much waits in the pool for the next ones.
#include <QRegularExpression>
#include <QStatusBar>

#include "tests/app/window_fixture.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestMemoryShown : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  QString state() { return window_->findChild<QLabel*>("sessionState")->text(); }
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWidget* focus = QApplication::focusWidget();
    QTest::keyClick(focus ? focus : window_.get(), key, modifiers);
  }
  /// Megabytes, as the status bar says them; −1 where it says nothing.
  double said(const QString& what) {
    const QRegularExpression words(R"(memory ([\d.,]+) (\w+) in use, ([\d.,]+) (\w+) pooled)");
    const auto match = words.match(state());
    const int first = what == "in use" ? 1 : 3;
    const QStringList units{"bytes", "kB", "MB", "GB"};
    const auto unit = units.indexOf(match.captured(first + 1));
    if (!match.hasMatch() || unit < 0) return -1;
    return QLocale(QLocale::English).toDouble(match.captured(first)) * std::pow(1000.0, unit - 2.0);
  }
  bool finished(int cell) { return cellStateOf(*window_, cell) == CellState::done; }

 private slots:
  void initTestCase() { useOwnSettings(); }
  void cleanup() { window_.reset(); }

  void whatTensorsUseAndWhatWaitsInThePool() {
    window_ = newWindow();
    window_->openNotebook(writeNotebook(folder_, "memory.ipynb",
                                        {"import tapedeck as tf\nlarge = tf.ones([400, 256, 1024])",
                                         "del large\nother = tf.ones([1000]) + 1.", "other.shape"}));
    QVERIFY2(!state().contains("memory"), qPrintable(state()));
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(finished(0), patience);
    QTRY_VERIFY2_WITH_TIMEOUT(said("in use") >= 400 && said("in use") < 500, qPrintable(state()), patience);
    screenshot(window_.get(), "memory-in-use");
    const QString shown = state();
    QVERIFY2(window_->statusBar()->fontMetrics().horizontalAdvance(shown) <= window_->statusBar()->width(),
             qPrintable(shown));
    // What is dropped leaves the pool, too, without an op or a key.
    press(Qt::Key_Return, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(finished(1), patience);
    QTRY_VERIFY2_WITH_TIMEOUT(said("in use") < 100 && said("in use") >= 0 && said("pooled") < 100,
                              qPrintable(state()), patience);
    screenshot(window_.get(), "memory-given-back");
  }
};

TAPEDECK_TEST(TestMemoryShown)
#include "tst_memory_shown.moc"
