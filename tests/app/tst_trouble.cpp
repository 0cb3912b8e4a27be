// Bad input and bad luck, in the window: each is reported in a sentence, and nothing is lost.
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <random>

#include "tests/app/window_fixture.h"
#include "tests/campaign.h"
#include "tests/files.h"
#include "tests/kernel/fake_debug_server.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using namespace tapedeck::test;

class TestTrouble : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<MainWindow> makeWindow(const QString& notebook) {
    auto window = newWindow();
    if (!notebook.isEmpty()) window->openNotebook(notebook);
    return window;
  }

  QString writeFile(const QString& name, const QByteArray& bytes) {
    return write(folder_.filePath(name), bytes);
  }

  QTemporaryDir folder_;

  /// Root may write everywhere: while this lives, the process is an ordinary user.
  struct OrdinaryUser {
    bool was_root = ::geteuid() == 0;
    OrdinaryUser() {
      if (was_root && ::setresuid(65534, 65534, 0) != 0) qFatal("cannot become an ordinary user");
    }
    ~OrdinaryUser() {
      if (was_root && ::setresuid(0, 0, 0) != 0) qFatal("cannot become root again");
    }
  };

  /// While this lives, writing a file fails beyond a size, as on a full disk.
  struct FullDisk {
    struct rlimit old {};
    explicit FullDisk(rlim_t size) {
      std::signal(SIGXFSZ, SIG_IGN);
      ::getrlimit(RLIMIT_FSIZE, &old);
      const struct rlimit tiny = {size, old.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &tiny);
    }
    ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &old); }
  };

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }

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

  void exitInACellEndsTheSessionAndTheWindowSaysSo_data() {
    QTest::addColumn<QString>("code");
    QTest::addColumn<QString>("expected");
    QTest::newRow("exit()") << "exit()"
                            << "a cell called exit()";
    QTest::newRow("the process ends") << "import os\nos._exit(7)"
                                      << "exit code 7";
  }
  void exitInACellEndsTheSessionAndTheWindowSaysSo() {
    QFETCH(QString, code);
    QFETCH(QString, expected);
    const auto window = makeWindow(writeNotebook(folder_, "exit.ipynb", {code, "6 * 7"}));
    window->notebook()->setCurrentCell(0, false);
    window->notebook()->runCurrent();
    QTRY_COMPARE_WITH_TIMEOUT(window->kernel()->state(), KernelState::dead, patience);
    QVERIFY2(window->messages()->text().contains(expected), qPrintable(window->messages()->text()));
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
    window->notebook()->setCurrentCell(0, false);
    window->notebook()->runCurrent();
    QTRY_VERIFY_WITH_TIMEOUT(outputText(*window, 0).contains("dataset-fashion-mnist"), patience);
  }

  void nanAndEmptyTensorsAreShown() {
    const auto window = makeWindow(writeNotebook(
        folder_, "nan.ipynb",
        {"import tapedeck as tf\ntf.log(tf.constant([-1., 0., 1.]))", "tf.zeros((0, 3)) + 1."}));
    for (int cell = 0; cell < 2; ++cell) {
      const auto before = window->session()->recordCount();
      window->notebook()->setCurrentCell(cell, false);
      window->notebook()->runCurrent();
      QTRY_COMPARE_WITH_TIMEOUT(cellStateOf(*window, cell), CellState::done, patience);
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
    const Campaign kills{"session_kills", "kills at random moments", 4, 20, "further moments"};
    auto random = kills.random();
    for (std::uint64_t round = 0; round < kills.count(); ++round) {
      window->notebook()->setCurrentCell(0, false);
      window->notebook()->runCurrent();
      QTRY_COMPARE_WITH_TIMEOUT(window->notebook()->cellState("cell-0"), CellState::done, patience);
      window->notebook()->setCurrentCell(1, false);
      window->notebook()->runCurrent();
      if (round % 2) QTRY_VERIFY_WITH_TIMEOUT(window->session()->recordCount() > 10, patience);
      QTest::qWait(static_cast<int>(random() % 200));  // a random moment
      const auto records = window->session()->recordCount();
      ::kill(static_cast<pid_t>(window->kernel()->processId()), SIGKILL);
      QTRY_COMPARE_WITH_TIMEOUT(window->kernel()->state(), KernelState::dead, patience);
      QVERIFY2(window->messages()->text().contains("killed"), qPrintable(window->messages()->text()));
      QCOMPARE(window->document()->cellCount(), 2);
      QCOMPARE(window->document()->cell(1).source, training);
      QVERIFY(outputText(*window, 0).contains("this output stays"));
      QVERIFY(window->session()->recordCount() >= records);
      // The killed cell says so itself.
      QTRY_COMPARE(window->notebook()->cellState("cell-1"), CellState::killed);
      QVERIFY2(outputText(*window, 1)
                   .contains("The session ended while this cell ran. The session process was "
                             "killed (signal 9)."),
               qPrintable(outputText(*window, 1)));
      window->kernel()->restart();
    }
  }

  void aReadOnlyNotebookSaysSoAndKeepsItsFile() {
    QTemporaryDir folder;
    const QString path = writeNotebook(folder, "locked.ipynb", {"1"});
    const QByteArray before = contents(path);
    QVERIFY(::chmod(qPrintable(path), 0444) == 0 && ::chmod(qPrintable(folder.path()), 0555) == 0);
    {
      const OrdinaryUser user;
      const auto window = makeWindow(path);
      QVERIFY2(window->messages()->text().contains("can be read but not written"),
               qPrintable(window->messages()->text()));
      window->document()->setSource(0, "2");
      QTest::keyClick(window.get(), Qt::Key_S, Qt::ControlModifier);
      QTRY_VERIFY2(window->messages()->text().contains("locked.ipynb") &&
                       window->messages()->text().contains("can't be saved"),
                   qPrintable(window->messages()->text()));
      QVERIFY(window->document()->modified());
      QCOMPARE(window->document()->cell(0).source, QString("2"));
    }
    QCOMPARE(contents(path), before);
    ::chmod(qPrintable(folder.path()), 0700);
  }

  void aFullDiskWhileSavingLeavesTheOldFile() {
    const QString path = writeNotebook(folder_, "large.ipynb", {"1"});
    const QByteArray before = contents(path);
    const auto window = makeWindow(path);
    window->document()->setSource(0, "# " + QString(100'000, 'x'));
    {
      const FullDisk disk(4096);
      QTest::keyClick(window.get(), Qt::Key_S, Qt::ControlModifier);
      QTRY_VERIFY2(window->messages()->text().contains("large.ipynb can't be saved"),
                   qPrintable(window->messages()->text()));
    }
    QCOMPARE(contents(path), before);
    QVERIFY(window->document()->modified());
    // With room again it is saved.
    QTest::keyClick(window.get(), Qt::Key_S, Qt::ControlModifier);
    QTRY_VERIFY(!window->document()->modified());
    QVERIFY(contents(path).contains("xxxx"));
  }

  void anInterpreterWithoutIpykernelNamesThePackage() {
    QFile python(writeFile("python-bare", "#!/bin/sh\nexit 7\n"));
    python.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    const auto window = makeWindow(QString());
    KernelLaunch launch;
    launch.interpreter = python.fileName();
    window->kernel()->setLaunch(launch);
    window->openNotebook(writeNotebook(folder_, "bare.ipynb", {"1 + 1"}));
    QVERIFY(window->messages()->text().isEmpty());  // opening starts nothing
    window->notebook()->runCurrent();
    QTRY_VERIFY_WITH_TIMEOUT(window->messages()->text().contains("python3-ipykernel"), patience);
    QVERIFY2(window->messages()->text().contains("python-bare"), qPrintable(window->messages()->text()));
    screenshot(window.get(), "trouble-no-ipykernel");
    // The notebook is there all the same, and running a cell says it again instead of waiting for ever.
    QCOMPARE(window->document()->cell(0).source, QString("1 + 1"));
    window->notebook()->setCurrentCell(0, false);
    window->notebook()->runCurrent();
    QTRY_COMPARE_WITH_TIMEOUT(window->notebook()->cellState("cell-0"), CellState::idle, patience);
  }

  void aSessionOfAnotherProtocolVersionIsRefusedAndStillRunsCells() {
    const auto window = makeWindow(QString());
    KernelLaunch launch;
    launch.arguments = {TAPEDECK_PYTHON, "-m", "ipykernel_launcher", "-f", "{connection_file}"};
    window->kernel()->setLaunch(launch);
    window->openNotebook(writeNotebook(folder_, "other.ipynb", {"6 * 7"}));
    window->kernel()->restart();
    QTRY_VERIFY_WITH_TIMEOUT(window->kernel()->processId() != 0, patience);
    QString connectionFile;
    QTRY_VERIFY_WITH_TIMEOUT(
        [&] {
          const QString file = QString("/proc/%1/cmdline").arg(window->kernel()->processId());
          for (const QByteArray& argument : contents(file).split('\0'))
            if (argument.endsWith("connection.json")) connectionFile = QString::fromLocal8Bit(argument);
          return QFile::exists(connectionFile);
        }(),
        patience);
    const auto connection = nlohmann::json::parse(contents(connectionFile).toStdString());
    FakeDebugServer server("ipc://" + QFileInfo(connectionFile).path().toLocal8Bit() + "/debug",
                           QByteArray::fromStdString(connection["key"].get<std::string>()));
    const auto hello = server.expect<protocol::Hello>(patience);
    QVERIFY(hello);
    server.welcome(hello->first, 99);
    QTRY_VERIFY_WITH_TIMEOUT(window->messages()->text().contains("version 99"), patience);
    QVERIFY2(window->messages()->text().contains(QString("this program version %1").arg(protocol::version)),
             qPrintable(window->messages()->text()));
    screenshot(window.get(), "trouble-other-version");
    QVERIFY(!window->session()->live());
    QTRY_COMPARE_WITH_TIMEOUT(window->kernel()->state(), KernelState::idle, patience);
    window->notebook()->setCurrentCell(0, false);
    window->notebook()->runCurrent();
    QTRY_VERIFY_WITH_TIMEOUT(outputText(*window, 0).contains("42"), patience);
  }
};

TAPEDECK_TEST(TestTrouble)
#include "tst_trouble.moc"
