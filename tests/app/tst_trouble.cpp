// Bad input and bad luck, in the window: each is told in a sentence, and nothing is lost.
#include <sys/stat.h>

#include <csignal>
#include <random>

#include "tests/app/window_fixture.h"

using namespace tapedeck;
using namespace tapedeck::app;

class TestTrouble : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<MainWindow> makeWindow(const QString& notebook) {
    auto window = std::make_unique<MainWindow>();
    window->setAttribute(Qt::WA_DeleteOnClose, false);
    window->resize(1280, 800);
    if (!showActive(window.get())) qWarning("the window did not become active");
    if (!notebook.isEmpty()) window->openNotebook(notebook);
    return window;
  }

  QString writeFile(const QString& name, const QByteArray& bytes) {
    QFile file(folder_.filePath(name));
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
    file.write(bytes);
    return file.fileName();
  }

  QTemporaryDir folder_;

 private slots:
  void initTestCase() {
    useOwnSettings();
    applyTheme(Theme::light);
  }

  void filesThatAreNoNotebooksAreRefusedByName_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("expected");
    QTest::newRow("text") << "letter.ipynb" << QByteArray("Dear reader,") << "letter.ipynb";
    QTest::newRow("other JSON") << "list.ipynb" << QByteArray("[1, 2]") << "list.ipynb";
    QTest::newRow("cut off") << "cut.ipynb" << QByteArray("{\"cells\": [{\"cell_type\": \"co") << "cut.ipynb";
    QTest::newRow("format 3")
        << "old.ipynb"
        << QByteArray("{\"nbformat\": 3, \"nbformat_minor\": 0, \"metadata\": {}, \"worksheets\": []}")
        << "format 3";
  }
  void filesThatAreNoNotebooksAreRefusedByName() {
    QFETCH(QString, name);
    QFETCH(QByteArray, bytes);
    QFETCH(QString, expected);
    const auto window = makeWindow(writeFile(name, bytes));
    QVERIFY2(window->messages()->text().contains(expected), qPrintable(window->messages()->text()));
    QCOMPARE(window->kernel()->state(), KernelState::stopped);
  }

  void cellsThatFailShowTheirTracebackAndTheSessionLives() {
    const auto window = makeWindow(
        writeNotebook(folder_, "failing.ipynb",
                      {"def broken(:", "import tapedeck as tf\ntf.matmul(tf.zeros((2, 3)), tf.zeros((4, 5)))",
                       "print('alive')"}));
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window), patience);
    for (int cell = 0; cell < 3; ++cell) {
      window->notebook()->setCurrentCell(cell, false);
      window->notebook()->runCurrent();
      const QString id = window->document()->cell(cell).id;
      const CellState expected = cell < 2 ? CellState::failed : CellState::done;
      QTRY_COMPARE_WITH_TIMEOUT(window->notebook()->cellState(id), expected, patience);
    }
    QVERIFY(outputText(*window, 0).contains("SyntaxError"));
    const QString shapes = outputText(*window, 1);
    QVERIFY2(shapes.contains("matmul: a (2, 3) and b (4, 5)"), qPrintable(shapes));
    QVERIFY(outputText(*window, 2).contains("alive"));
  }

  void exitInACellEndsTheSessionAndTheWindowSaysSo() {
    const auto window = makeWindow(writeNotebook(folder_, "exit.ipynb", {"import os\nos._exit(7)", "6 * 7"}));
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window), patience);
    window->notebook()->setCurrentCell(0, false);
    window->notebook()->runCurrent();
    QTRY_COMPARE_WITH_TIMEOUT(window->kernel()->state(), KernelState::dead, patience);
    QVERIFY2(window->messages()->text().contains("7"), qPrintable(window->messages()->text()));
    screenshot(window.get(), "trouble-exit");
    window->kernel()->restart();
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window), patience);
    window->notebook()->setCurrentCell(1, false);
    window->notebook()->runCurrent();
    QTRY_VERIFY_WITH_TIMEOUT(outputText(*window, 1).contains("42"), patience);
  }

  void aMissingDataSetNamesItsPackage() {
    const auto window =
        makeWindow(writeNotebook(folder_, "data.ipynb",
                                 {"import os\nos.environ['TAPEDECK_MNIST'] = '/nowhere'\nimport tapedeck as "
                                  "tf\ntf.keras.datasets.fashion_mnist.load_data()"}));
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window), patience);
    window->notebook()->setCurrentCell(0, false);
    window->notebook()->runCurrent();
    QTRY_VERIFY_WITH_TIMEOUT(outputText(*window, 0).contains("dataset-fashion-mnist"), patience);
  }

  void nanAndEmptyTensorsAreShown() {
    const auto window = makeWindow(writeNotebook(
        folder_, "nan.ipynb",
        {"import tapedeck as tf\ntf.log(tf.constant([-1., 0., 1.]))", "tf.zeros((0, 3)) + 1."}));
    QTRY_VERIFY_WITH_TIMEOUT(isReady(*window), patience);
    for (int cell = 0; cell < 2; ++cell) {
      const auto before = window->session()->recordCount();
      window->notebook()->setCurrentCell(cell, false);
      window->notebook()->runCurrent();
      QTRY_COMPARE_WITH_TIMEOUT(window->notebook()->cellState(window->document()->cell(cell).id),
                                CellState::done, patience);
      QTRY_VERIFY_WITH_TIMEOUT(window->session()->recordCount() > before, patience);
      screenshot(window.get(), QString("trouble-tensor-%1").arg(cell));
    }
    QVERIFY(window->messages()->text().isEmpty());
  }

  void theSessionKilledAtRandomMomentsLosesNothing() {
    const QString training =
        "import tapedeck as tf\nx = tf.ones((50, 50))\nwhile True:\n    x = tf.tanh(tf.matmul(x, x))\n    "
        "tf.summary.scalar('x', x[0, 0], 0)";
    const auto window = makeWindow(
        writeNotebook(folder_, "killed.ipynb", {"kept = 'this output stays'\nprint(kept)", training}));
    std::mt19937 random(20);
    for (int round = 0; round < 20; ++round) {
      QTRY_VERIFY_WITH_TIMEOUT(isReady(*window), patience);
      window->notebook()->setCurrentCell(0, false);
      window->notebook()->runCurrent();
      QTRY_COMPARE_WITH_TIMEOUT(window->notebook()->cellState("cell-0"), CellState::done, patience);
      window->notebook()->setCurrentCell(1, false);
      window->notebook()->runCurrent();
      if (round % 2) QTRY_VERIFY_WITH_TIMEOUT(window->session()->recordCount() > 10, patience);
      QTest::qWait(static_cast<int>(random() % 200));
      const auto records = window->session()->recordCount();
      ::kill(static_cast<pid_t>(window->kernel()->processId()), SIGKILL);
      QTRY_COMPARE_WITH_TIMEOUT(window->kernel()->state(), KernelState::dead, patience);
      QVERIFY2(window->messages()->text().contains("killed"), qPrintable(window->messages()->text()));
      QCOMPARE(window->document()->cellCount(), 2);
      QCOMPARE(window->document()->cell(1).source, training);
      QVERIFY(outputText(*window, 0).contains("this output stays"));
      QVERIFY(window->session()->recordCount() >= records);
      QTRY_COMPARE(window->notebook()->cellState("cell-1"), CellState::idle);
      window->kernel()->restart();
    }
  }

  void aReadOnlyNotebookSaysSoAndKeepsItsFile() {
    const QString path = writeNotebook(folder_, "locked.ipynb", {"1"});
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray before = file.readAll();
    const auto window = makeWindow(path);
    window->document()->setSource(0, "2");
    // A folder in the place of the temporary file's folder would be artificial: take the write permission
    // away instead, and skip where the user may write everywhere all the same.
    QVERIFY(::chmod(qPrintable(folder_.path()), 0500) == 0);
    struct Restore {
      QByteArray path;
      ~Restore() { ::chmod(path.constData(), 0700); }
    } restore{folder_.path().toUtf8()};
    if (::access(qPrintable(folder_.path()), W_OK) == 0)
      QSKIP("root may write everywhere: needs an ordinary user");
    QTest::keyClick(window.get(), Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(window->messages()->text().contains("locked.ipynb"));
    QFile after(path);
    QVERIFY(after.open(QIODevice::ReadOnly));
    QCOMPARE(after.readAll(), before);
  }
};

int main(int argc, char** argv) {
  QSurfaceFormat::setDefaultFormat(inspector::CanvasWidget::surfaceFormat());
  QApplication application(argc, argv);
  TestTrouble test;
  return QTest::qExec(&test, argc, argv);
}
#include "tst_trouble.moc"
