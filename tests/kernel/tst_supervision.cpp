// What the app does when session processes die or hang. Of those that can't start see tst_session_start.
#include <signal.h>

#include <QRandomGenerator>
#include <QTemporaryDir>

#include "app/kernel/process/death_report.h"
#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

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
