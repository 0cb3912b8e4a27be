// The end of a session: the window does not wait for it, and nothing of it remains.
#include <signal.h>

#include <QRegularExpression>
#include <QTemporaryDir>
#include <memory>

#include "app/kernel/process/reaper.h"
#include "app/kernel/process/runtime_folder.h"
#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

bool runs(qint64 process) {
  return ::kill(pid_t(process), 0) == 0;
}

/// Gone, or a zombie that its parent has not looked at yet.
bool hasEnded(qint64 process) {
  QFile status(QString("/proc/%1/stat").arg(process));
  return !status.open(QIODevice::ReadOnly) || status.readAll().contains(") Z ");
}

/// The inodes of the process's sockets.
QSet<QByteArray> socketsOf(qint64 process) {
  QSet<QByteArray> inodes;
  for (const QFileInfo& entry :
       QDir(QString("/proc/%1/fd").arg(process)).entryInfoList(QDir::Files | QDir::System)) {
    const QByteArray target = QFile::encodeName(QFile::symLinkTarget(entry.absoluteFilePath()));
    const qsizetype at = target.indexOf("socket:[");
    if (at >= 0) inodes << target.mid(at + 8).chopped(1);
  }
  return inodes;
}

/// The process's sockets of the internet, as /proc tells them.
QStringList internetSockets(qint64 process) {
  const QSet<QByteArray> inodes = socketsOf(process);
  QStringList found;
  for (const char* table : {"tcp", "tcp6", "udp", "udp6", "raw", "raw6"}) {
    QFile file(QString("/proc/net/%1").arg(table));
    if (!file.open(QIODevice::ReadOnly)) continue;
    for (const QByteArray& line : file.readAll().split('\n')) {
      const QList<QByteArray> fields = line.simplified().split(' ');
      if (fields.size() > 9 && inodes.contains(fields[9])) found << QString(table) + " " + fields[1];
    }
  }
  return found;
}

}  // namespace

class TestSessionEnd : public QObject {
  Q_OBJECT

 public:
  static inline qint64 last_process = 0;  ///< of a session that is open when the program ends

 private:
  QTemporaryDir runtime_;
  std::unique_ptr<Probe> open_at_the_end_;

  /// A session process that does not end when it is asked to, nor when it is interrupted or terminated.
  static qint64 startStubborn(Probe& probe) {
    if (!startAndWait(probe)) return 0;
    probe.session.execute("a",
                          "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                          "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                          "print('stubborn', flush=True)\nwhile True: time.sleep(0.01)");
    (void)waitFor([&] { return probe.printed("a").contains("stubborn"); }, generous);
    return probe.session.processId();
  }

 private slots:
  void initTestCase() { qputenv("XDG_RUNTIME_DIR", QFile::encodeName(runtime_.path())); }

  void itListensNowhereButInItsPrivateFolder() {
    Probe probe;
    QVERIFY2(startAndWait(probe), qPrintable(probe.sentence));
    QCOMPARE(run(probe, "a", "print(1)"), QString("ok"));
    QTRY_VERIFY_WITH_TIMEOUT(probe.session.debugSource()->connected(), generous);
    QVERIFY(socketsOf(probe.session.processId()).size() > 5);  // it is looked at the right process
    const QStringList found = internetSockets(probe.session.processId());
    QVERIFY2(found.isEmpty(), qPrintable(found.join(", ")));
    // Where there are ports they would be seen.
    KernelLaunch launch;
    launch.transport = "tcp";
    Probe open(launch);
    QVERIFY2(startAndWait(open), qPrintable(open.sentence));
    QVERIFY(internetSockets(open.session.processId()).size() >= 5);
  }

  void whatAForkedProcessPrintsIsShown() {
    Probe probe;
    QVERIFY2(startAndWait(probe), qPrintable(probe.sentence));
    QCOMPARE(run(probe, "a",
                 "import os, sys\nchild = os.fork()\nif child == 0:\n    print('from the child')\n"
                 "    sys.stdout.flush()\n    os._exit(0)\n_ = os.waitpid(child, 0)"),
             QString("ok"));
    QTRY_COMPARE_WITH_TIMEOUT(probe.printed("a"), QString("from the child\n"), generous);
  }

  void theEventLoopTurnsWhileAStubbornSessionEnds() {
    qint64 process = 0;
    {
      Probe probe;
      process = startStubborn(probe);
      QVERIFY(process > 0);
      ::kill(pid_t(process), SIGSTOP);  // it can't even notice
    }
    // The session object is gone, and its process is still there: the window did not wait for it.
    QVERIFY(runs(process));
    QVERIFY(Reaper::instance().left() > 0);
    int turns = 0;
    QTimer turning;
    connect(&turning, &QTimer::timeout, this, [&] { ++turns; });
    turning.start(0);
    QTRY_VERIFY_WITH_TIMEOUT(!runs(process), generous);
    QVERIFY(turns > 0);
    QTRY_COMPARE_WITH_TIMEOUT(Reaper::instance().left(), 0, generous);
    QVERIFY(QDir(RuntimeFolder::baseFolder()).entryList({"s-*"}, QDir::Dirs).isEmpty());
  }

  void restartOfAStubbornSessionKeepsTheEventLoopTurning() {
    Probe probe;
    const qint64 process = startStubborn(probe);
    QVERIFY(process > 0);
    probe.session.restart();
    QVERIFY(runs(process));
    int turns = 0;
    QTimer turning;
    connect(&turning, &QTimer::timeout, this, [&] { turns += runs(process); });
    turning.start(0);
    QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::idle, generous);
    QVERIFY(turns > 0);  // between the key and the process's end
    QVERIFY(!runs(process));
    QCOMPARE(run(probe, "b", "print('anew')"), QString("ok"));
    QCOMPARE(probe.finished.value("a"), QString("ended"));
  }

  void aSessionThatEndsWhileItStartsLeavesNothing() {
    {
      Probe probe;
      probe.session.start(QDir::tempPath());  // the interpreter is still looked for
    }
    {
      Probe probe;
      probe.session.start(QDir::tempPath());
      QTRY_VERIFY_WITH_TIMEOUT(probe.session.processId() > 0, generous);
    }
    QTRY_COMPARE_WITH_TIMEOUT(Reaper::instance().left(), 0, generous);
    QTRY_VERIFY_WITH_TIMEOUT(QDir(RuntimeFolder::baseFolder()).entryList({"s-*"}, QDir::Dirs).isEmpty(),
                             generous);
  }

  void cleanupTestCase() {
    open_at_the_end_ = std::make_unique<Probe>();
    if (startAndWait(*open_at_the_end_)) last_process = open_at_the_end_->session.processId();
  }
};

namespace {

/// At its end the program leaves no process behind, also where no event loop runs any more.
int sessionsLeftAtTheEnd() {
  const qint64 left = TestSessionEnd::last_process;
  for (int i = 0; i < 1000 && left > 0 && !hasEnded(left); ++i) QThread::msleep(10);
  if (left != 0 && hasEnded(left)) return 0;
  qWarning("the session process %lld outlived the program's end", left);
  return 1;
}

}  // namespace

TAPEDECK_TEST(TestSessionEnd, .alone = "it watches what is left after the program's end",
              .after = sessionsLeftAtTheEnd)
#include "tst_session_end.moc"
