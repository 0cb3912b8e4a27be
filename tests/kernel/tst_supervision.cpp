// What the app does when session processes die, hang, or can not start.
#include <signal.h>

#include <QRandomGenerator>
#include <QScopeGuard>
#include <QTemporaryDir>

#include "app/kernel/process/death_report.h"
#include "app/kernel/process/safe_environment.h"
#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

QString writeScript(const QTemporaryDir& folder, const char* name, const QByteArray& text) {
  QFile file(folder.filePath(name));
  if (!file.open(QIODevice::WriteOnly)) return {};
  file.write(text);
  file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  return file.fileName();
}

bool isRunning(qint64 process) {
  return ::kill(pid_t(process), 0) == 0;
}

}  // namespace

class TestSupervision : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void aKilledProcessIsNoticedBeforeItsHeartbeatFails();
  void whatWasPrintedBeforeTheDeathArrives();
  void aSegmentationFaultIsNamed();
  void anExitCodeIsNamed();
  void exitEndsASessionWhoseThreadsLive();
  void killedAtRandomMomentsItStartsAgain();
  void killedWhileStarting();
  void aProcessThatNeverAnswersIsEnded();
  void aProcessThatStopsAnsweringIsReported();
  void anEarlyEndTellsItsLastWords();
  void anInterpreterWithoutIpykernelIsNamedWithThePackage();
  void anEngineThatCannotBeLoadedIsNamedAndCellsRunAllTheSame();
  void filesBesideTheNotebookReplaceNoModules_data();
  void filesBesideTheNotebookReplaceNoModules();
  void noVariableLeadsIntoTheCurrentFolder_data();
  void noVariableLeadsIntoTheCurrentFolder();
  void anInterpreterThatIsNoneIsNamed_data();
  void anInterpreterThatIsNoneIsNamed();
  void aProgramThatIsNotThereIsNamed();
  void aFolderThatIsNotThereIsNamed();
  void cellsGivenToADeadSessionAreAborted();
  void shutdownEndsABusyProcess();
  void shutdownWhileSearchingTheInterpreter();
  void theEndOfTheSessionEndsProcessAndChildren();
  void socketsOverTcp();
  void sentences_data();
  void sentences();

 private:
  QTemporaryDir runtime_;
};

void TestSupervision::initTestCase() {
  qputenv("XDG_RUNTIME_DIR", QFile::encodeName(runtime_.path()));
}

void TestSupervision::aKilledProcessIsNoticedBeforeItsHeartbeatFails() {
  KernelLaunch launch;
  launch.silenceLimitMs = 10 * generous;
  Probe probe(launch);
  QVERIFY2(startAndWait(probe), qPrintable(probe.sentence));
  probe.session.execute("a", "print('runs', flush=True)\nwhile True: pass");
  probe.session.execute("b", "1");
  QTRY_VERIFY_WITH_TIMEOUT(probe.printed("a").contains("runs"), generous);
  ::kill(pid_t(probe.session.processId()), SIGKILL);
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QVERIFY2(probe.sentence.startsWith("The session process was killed (signal 9)."),
           qPrintable(probe.sentence));
  QVERIFY(probe.sentence.contains("Restart the session"));
  QTRY_COMPARE(probe.finished.value("b"), QString("aborted"));
  QCOMPARE(probe.finished.value("a"), QString("ended"));  // it ran
  QCOMPARE(probe.session.processId(), 0);
}

void TestSupervision::whatWasPrintedBeforeTheDeathArrives() {
  // On a busy machine the process may die before its words are on their way.
  QString printed;
  for (int round = 0; round < 5 && printed.isEmpty(); ++round) {
    Probe probe;
    QVERIFY(startAndWait(probe));
    probe.session.execute(
        "a",
        "import os, signal, sys, time\nprint('last words')\nsys.stdout.flush(); time.sleep(0.05)\n"
        "os.kill(os.getpid(), signal.SIGKILL)");
    QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
    printed = probe.printed("a");
  }
  QCOMPARE(printed, QString("last words\n"));
}

void TestSupervision::aSegmentationFaultIsNamed() {
  Probe probe;
  QVERIFY(startAndWait(probe));
  probe.session.execute("a", "import ctypes\n\nctypes.string_at(0)");
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QVERIFY2(probe.sentence.startsWith("The session process crashed: segmentation fault (signal 11)"),
           qPrintable(probe.sentence));
  if (QFile::exists(TAPEDECK_BUILD_DIR "/python/tapedeck/session.py"))
    QVERIFY2(probe.sentence.contains("in line 3 of a cell"), qPrintable(probe.sentence));
}

void TestSupervision::anExitCodeIsNamed() {
  Probe probe;
  QVERIFY(startAndWait(probe));
  probe.session.execute("a", "import os\nos._exit(3)");
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QVERIFY2(probe.sentence.startsWith("The session process ended with exit code 3."),
           qPrintable(probe.sentence));
}

void TestSupervision::exitEndsASessionWhoseThreadsLive() {
  Probe probe;
  QVERIFY(startAndWait(probe));
  probe.session.execute("a",
                        "import threading, time\n"
                        "threading.Thread(target=time.sleep, args=(1000,)).start()\nexit()");
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QVERIFY2(probe.sentence.startsWith("The session ended: a cell called exit()."), qPrintable(probe.sentence));
}

void TestSupervision::killedAtRandomMomentsItStartsAgain() {
  Probe probe;
  for (int round = 0; round < 6; ++round) {
    QVERIFY(startAndWait(probe));
    QCOMPARE(run(probe, "a", "1 + 1"), QString("ok"));
    probe.finished.clear();
    probe.session.execute("b", "for i in range(10**9): print(i)");
    probe.session.execute("c", "1");
    QTest::qWait(QRandomGenerator::global()->bounded(200));  // a random moment
    ::kill(pid_t(probe.session.processId()), SIGKILL);
    QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
    QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("c"), QString("aborted"), generous);
    QCOMPARE(probe.finished.value("b"), QString("ended"));
  }
}

void TestSupervision::killedWhileStarting() {
  Probe probe;
  probe.session.start(QDir::tempPath());
  probe.session.execute("a", "1");
  QTRY_VERIFY_WITH_TIMEOUT(probe.session.processId() > 0, generous);
  ::kill(pid_t(probe.session.processId()), SIGKILL);
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QVERIFY2(probe.sentence.contains("killed (signal 9)"), qPrintable(probe.sentence));
  QTRY_COMPARE(probe.finished.value("a"), QString("aborted"));
}

void TestSupervision::aProcessThatNeverAnswersIsEnded() {
  KernelLaunch launch;
  launch.arguments = QStringList{"/bin/sleep", "1000"};
  launch.startLimitMs = 500;
  Probe probe(launch);
  probe.session.start(QDir::tempPath());
  QTRY_VERIFY_WITH_TIMEOUT(probe.session.processId() > 0, generous);
  const qint64 process = probe.session.processId();
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QCOMPARE(
      probe.sentence,
      QString("The session process was started but did not answer within 0.5 seconds, so it was ended."));
  QVERIFY(!isRunning(process));
}

void TestSupervision::aProcessThatStopsAnsweringIsReported() {
  KernelLaunch launch;
  launch.silenceLimitMs = 3000;
  Probe probe(launch);
  QVERIFY(startAndWait(probe));
  ::kill(pid_t(probe.session.processId()), SIGSTOP);
  QTRY_VERIFY_WITH_TIMEOUT(probe.sentence.startsWith("The session process does not answer"), generous);
  QCOMPARE(probe.session.state(), KernelState::idle);
  QCOMPARE(probe.notices, QList{KernelNotice::silent});
  ::kill(pid_t(probe.session.processId()), SIGCONT);
  QTRY_COMPARE_WITH_TIMEOUT(probe.notices, (QList{KernelNotice::silent, KernelNotice::answersAgain}),
                            generous);
  QCOMPARE(run(probe, "a", "1"), QString("ok"));
}

void TestSupervision::anEarlyEndTellsItsLastWords() {
  KernelLaunch launch;
  launch.arguments = QStringList{"/bin/sh", "-c", "echo oh dear >&2; exit 3"};
  Probe probe(launch);
  probe.session.start(QDir::tempPath());
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QCOMPARE(probe.sentence, QString("The session process ended before it was ready (exit code 3): oh dear"));
}

void TestSupervision::anInterpreterWithoutIpykernelIsNamedWithThePackage() {
  QTemporaryDir folder;
  KernelLaunch launch;
  launch.interpreter = writeScript(folder, "python3", "#!/bin/sh\nexec " TAPEDECK_PYTHON " -S -I \"$@\"\n");
  Probe probe(launch);
  probe.session.start(QDir::tempPath());
  probe.session.execute("a", "1");
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QVERIFY2(probe.sentence.contains(launch.interpreter + ": has no ipykernel"), qPrintable(probe.sentence));
  QVERIFY(probe.sentence.contains("sudo apt-get install python3-ipykernel"));
  QTRY_COMPARE(probe.finished.value("a"), QString("aborted"));
}

void TestSupervision::anEngineThatCannotBeLoadedIsNamedAndCellsRunAllTheSame() {
  if (!QFile::exists(TAPEDECK_BUILD_DIR "/python/tapedeck/session.py"))
    QSKIP("the Python module is not built: needs the target tapedeck_python");
  QTemporaryDir folder;
  QDir(folder.path()).mkdir("tapedeck");
  writeScript(folder, "tapedeck/__init__.py", "raise ImportError('it is for another Python')\n");
  KernelLaunch launch;
  launch.environment["PYTHONPATH"] = folder.path();
  Probe probe(launch);
  probe.session.start(QDir::tempPath());
  probe.session.execute("a", "print('runs')");
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString("ok"), generous);
  QVERIFY2(probe.sentence.startsWith("Tapedeck's engine can not be loaded by /"), qPrintable(probe.sentence));
  QVERIFY(
      probe.sentence.endsWith(", so this session runs without it: ImportError: it is for another Python"));
  QCOMPARE(probe.printed("a"), QString("runs\n"));
  QCOMPARE(probe.session.engine(), Engine::missing);
  QCOMPARE(probe.notices, QList{KernelNotice::withoutEngine});
}

void TestSupervision::filesBesideTheNotebookReplaceNoModules_data() {
  QTest::addColumn<bool>("engine");
  QTest::newRow("with the engine") << true;
  QTest::newRow("without it") << false;
}

// The search for an interpreter, the session with the engine and the one without it.
void TestSupervision::filesBesideTheNotebookReplaceNoModules() {
  QFETCH(bool, engine);
  if (!QFile::exists(TAPEDECK_BUILD_DIR "/python/tapedeck/session.py"))
    QSKIP("the Python module is not built: needs the target tapedeck_python");
  QTemporaryDir folder, broken;
  const QString note = broken.filePath("ran.txt");
  for (const char* name : {"tapedeck", "numpy", "random", "json", "ipykernel", "ipykernel_launcher", "types",
                           "warnings", "contextlib", "functools", "ast", "runpy", "sitecustomize", "zmq"})
    writeScript(folder, (std::string(name) + ".py").c_str(),
                QString("open('%1', 'a').write(__name__ + ' ')\n").arg(note).toUtf8());
  writeScript(folder, "mine.py", "value = 42\n");
  KernelLaunch launch;
  QDir(broken.path()).mkdir("tapedeck");
  writeScript(broken, "tapedeck/__init__.py", "raise ImportError('it is for another Python')\n");
  if (!engine) launch.environment["PYTHONPATH"] = broken.path();
  // A library that every program needs, and the program that is looked for: each would end the session.
  writeScript(folder, "libc.so.6", "no library");
  writeScript(folder, "preloaded.so", "no library");
  writeScript(folder, "python3", "#!/bin/false\n");
  const QProcessEnvironment whole = QProcessEnvironment::systemEnvironment();
  const char* const searched[] = {"PYTHONPATH", "LD_LIBRARY_PATH", "PATH", "LD_PRELOAD"};
  const auto restore = qScopeGuard([&, here = QDir::currentPath()] {
    QDir::setCurrent(here);
    for (const char* name : searched) {
      if (whole.contains(name))
        qputenv(name, whole.value(name).toLocal8Bit());
      else
        qunsetenv(name);
    }
  });
  QDir::setCurrent(folder.path());  // as where the app was started there
  for (const char* name : {"PYTHONPATH", "LD_LIBRARY_PATH", "PATH"}) qputenv(name, ":.:" + qgetenv(name));
  qputenv("LD_PRELOAD", "./preloaded.so " + qgetenv("LD_PRELOAD"));
  Probe probe(launch);
  probe.session.start(folder.path());
  probe.session.execute("a",
                        "import mine, json, random, numpy, ast, os\n"
                        "print(mine.value, json.dumps([1]), numpy.arange(2), hasattr(random, 'shuffle'))\n"
                        "print([name for name in ('PATH', 'LD_LIBRARY_PATH') for part in\n"
                        "       os.environ.get(name, '/').split(':') if not part.startswith('/')])");
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString("ok"), generous);
  QCOMPARE(probe.printed("a", "stdout"), QString("42 [1] [0 1] True\n[]\n"));
  QCOMPARE(probe.printed("a", "stderr").contains("random.py beside the notebook was not imported"), engine);
  QCOMPARE(probe.session.engine() == Engine::missing, !engine);
  QFile ran(note);
  QVERIFY2(!ran.open(QIODevice::ReadOnly), ran.readAll().constData());
}

void TestSupervision::noVariableLeadsIntoTheCurrentFolder_data() {
  QTest::addColumn<QString>("variable");
  QTest::addColumn<QString>("value");
  QTest::addColumn<QString>("left");
  QTest::newRow("programs") << "PATH"
                            << ":/usr/bin::.:bin:../bin:/bin:"
                            << "/usr/bin:/bin";
  QTest::newRow("empty") << "PATH"
                         << ""
                         << "";
  QTest::newRow("libraries") << "LD_LIBRARY_PATH"
                             << ":/usr/lib;lib;/opt/lib:."
                             << "/usr/lib:/opt/lib";
  QTest::newRow("none left") << "LD_LIBRARY_PATH"
                             << ".:"
                             << "";
  QTest::newRow("preloaded") << "LD_PRELOAD"
                             << "./mine.so /usr/lib/one.so:lib/two.so libjemalloc.so.2"
                             << "/usr/lib/one.so:libjemalloc.so.2";
  QTest::newRow("audit") << "LD_AUDIT"
                         << "./mine.so:/usr/lib/one.so"
                         << "/usr/lib/one.so";
  QTest::newRow("modules") << "PYTHONPATH"
                           << ":.:/opt/modules:modules"
                           << "/opt/modules";
  QTest::newRow("Python") << "PYTHONHOME"
                          << "."
                          << "";
  QTest::newRow("start") << "PYTHONSTARTUP"
                         << "start.py"
                         << "";
  QTest::newRow("a file with a colon") << "PYTHONSTARTUP"
                                       << "/opt/a:b.py"
                                       << "/opt/a:b.py";
  QTest::newRow("another variable") << "SEARCH"
                                    << ".:a"
                                    << ".:a";
}

void TestSupervision::noVariableLeadsIntoTheCurrentFolder() {
  QFETCH(QString, variable);
  QFETCH(QString, value);
  QFETCH(QString, left);
  QProcessEnvironment environment;
  environment.insert(variable, value);
  leaveOutCurrentFolder(environment);
  QCOMPARE(environment.value(variable), left);
  QCOMPARE(environment.contains(variable), !left.isEmpty());
}

void TestSupervision::anInterpreterThatIsNoneIsNamed_data() {
  QTest::addColumn<QString>("interpreter");
  QTest::addColumn<QString>("what");
  QTest::newRow("missing") << "/nowhere/python3"
                           << "/nowhere/python3: no such file";
  QTest::newRow("not executable") << "/etc/passwd"
                                  << "/etc/passwd: not executable";
  QTest::newRow("another program") << "/bin/true"
                                   << "/bin/true: does not run as Python";
  QTest::newRow("not in PATH") << "no-such-python3"
                               << "no-such-python3: no such program";
  QTest::newRow("fails") << "/bin/false"
                         << "/bin/false: does not run as Python";
}

void TestSupervision::anInterpreterThatIsNoneIsNamed() {
  QFETCH(QString, interpreter);
  QFETCH(QString, what);
  KernelLaunch launch;
  launch.interpreter = interpreter;
  Probe probe(launch);
  probe.session.start(QDir::tempPath());
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QVERIFY2(probe.sentence.contains(what), qPrintable(probe.sentence));
}

void TestSupervision::aProgramThatIsNotThereIsNamed() {
  KernelLaunch launch;
  launch.arguments = QStringList{"/nowhere/kernel", "{connection_file}"};
  Probe probe(launch);
  probe.session.start(QDir::tempPath());
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::dead, generous);
  QVERIFY2(probe.sentence.startsWith("The session process /nowhere/kernel can not be started: "),
           qPrintable(probe.sentence));
}

void TestSupervision::aFolderThatIsNotThereIsNamed() {
  Probe probe;
  probe.session.start("/nowhere/at/all");
  QCOMPARE(probe.session.state(), KernelState::dead);
  QCOMPARE(probe.sentence,
           QString("The folder /nowhere/at/all does not exist, so no session can run in it."));
}

void TestSupervision::cellsGivenToADeadSessionAreAborted() {
  Probe probe;
  probe.session.execute("a", "1");
  QTRY_COMPARE(probe.finished.value("a"), QString("aborted"));
}

void TestSupervision::shutdownEndsABusyProcess() {
  Probe probe;
  QVERIFY(startAndWait(probe));
  const qint64 process = probe.session.processId();
  probe.session.execute("a", "print('runs', flush=True)\nwhile True: pass");
  QTRY_VERIFY_WITH_TIMEOUT(probe.printed("a").contains("runs"), generous);
  probe.session.shutdown();
  QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::stopped, generous);
  QVERIFY(!isRunning(process));
  QTRY_COMPARE(probe.finished.value("a"), QString("ended"));
  QVERIFY2(probe.sentence.isEmpty(), qPrintable(probe.sentence));
}

void TestSupervision::shutdownWhileSearchingTheInterpreter() {
  Probe probe;
  probe.session.start(QDir::tempPath());
  probe.session.execute("a", "1");
  probe.session.shutdown();
  QCOMPARE(probe.session.state(), KernelState::stopped);
  QTRY_COMPARE(probe.finished.value("a"), QString("aborted"));
  nothingMayHappenFor(200);
  QCOMPARE(probe.session.state(), KernelState::stopped);
}

void TestSupervision::theEndOfTheSessionEndsProcessAndChildren() {
  qint64 process = 0, child = 0;
  {
    Probe probe;
    QVERIFY(startAndWait(probe));
    process = probe.session.processId();
    QCOMPARE(run(probe, "a", "import subprocess\nprint(subprocess.Popen(['sleep', '1000']).pid)"),
             QString("ok"));
    child = probe.printed("a").trimmed().toLongLong();
    probe.session.execute("b", "print('runs', flush=True)\nwhile True: pass");
    QTRY_VERIFY_WITH_TIMEOUT(probe.printed("b").contains("runs"), generous);
    QVERIFY(child > 0 && isRunning(child));
  }
  QTRY_VERIFY_WITH_TIMEOUT(!isRunning(process), generous);
  // An orphan is reaped by init, which may take a moment or, in a container, never happen: a zombie has ended
  // too.
  const auto ended = [child] {
    QFile status(QString("/proc/%1/stat").arg(child));
    return !status.open(QIODevice::ReadOnly) || status.readAll().contains(") Z ");
  };
  QTRY_VERIFY(ended());
}

void TestSupervision::socketsOverTcp() {
  KernelLaunch launch;
  launch.transport = "tcp";
  launch.interruptByMessage = true;
  Probe probe(launch);
  QVERIFY2(startAndWait(probe), qPrintable(probe.sentence));
  QCOMPARE(run(probe, "a", "print('over tcp')"), QString("ok"));
  QCOMPARE(probe.printed("a"), QString("over tcp\n"));
  probe.session.execute("b", "print('runs', flush=True)\nwhile True: pass");
  QTRY_VERIFY_WITH_TIMEOUT(probe.printed("b").contains("runs"), generous);
  probe.session.interrupt();
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("b"), QString("error"), generous);
}

void TestSupervision::sentences_data() {
  QTest::addColumn<ProcessEnd>("end");
  QTest::addColumn<QString>("start");
  ProcessEnd end;
  end.wasReady = true;
  end.signalled = true;
  const auto row = [&](const char* name, int code, const char* start) {
    end.code = code;
    QTest::newRow(name) << end << start;
  };
  row("kill", SIGKILL, "The session process was killed (signal 9). Its variables are gone");
  row("term", SIGTERM, "The session process was ended by signal 15 (Terminated). ");
  row("abort", SIGABRT, "The session process crashed: aborted by a check in native code (signal 6). ");
  end.errors =
      "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
      "  File \"/usr/lib/python3.11/ctypes/__init__.py\", line 517 in string_at\n"
      "  File \"/tmp/ipykernel_12/345.py\", line 7 in helper\n  File \"/tmp/ipykernel_12/346.py\", line 1 in "
      "<module>\n";
  row("segv", SIGSEGV,
      "The session process crashed: segmentation fault (signal 11), in line 7 of a cell (in helper). ");
  end.outOfMemory = true;
  end.residentBytes = qint64(3) << 30;
  row("oom", SIGKILL,
      "The system ran out of memory and the session process was killed (signal 9); it held 3.0 GiB. ");
  end = {};
  end.wasReady = true;
  row("zero", 0, "The session process ended by itself (exit code 0). ");
  row("code", 4, "The session process ended with exit code 4. ");
  end.calledExit = true;
  row("exit", 0, "The session ended: a cell called exit(). ");
  end = {};
  end.wasReady = true;
  end.errors =
      "a warning\ntapedeck: a GPU was lost: work on a GPU failed (cudaErrorLaunchFailure); in flight: exp\n";
  row("lost GPU", 70,
      "The session process ended, because it lost a GPU: work on a GPU failed (cudaErrorLaunchFailure); in "
      "flight: exp. "
      "Its variables are gone");
  end.wasReady = false;
  end.errors = "/usr/bin/python3: No module named ipykernel_launcher\n";
  row("no ipykernel", 1,
      "The session process could not start: its Python has no ipykernel. Debian's package is "
      "python3-ipykernel");
}

void TestSupervision::sentences() {
  QFETCH(ProcessEnd, end);
  QFETCH(QString, start);
  const QString sentence = deathSentence(end);
  QVERIFY2(sentence.startsWith(start), qPrintable(sentence));
}

TAPEDECK_TEST(TestSupervision)
#include "tst_supervision.moc"
