#include "app/kernel/process/death_report.h"

#include <signal.h>
#include <unistd.h>

#include <QFile>
#include <QLocale>
#include <QRegularExpression>
#include <QStringList>

#include "engine/protocol/exit_message.h"

namespace tapedeck::app {
namespace {

/// The number after `name` in a file of lines "name number"; 0 where there is none.
qint64 counter(const QString& path, const QByteArray& name) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return 0;
  for (const QByteArray& line : file.readAll().split('\n'))
    if (line.startsWith(name + ' ')) return line.mid(name.size() + 1).trimmed().toLongLong();
  return 0;
}

/// OOM kills of the whole system and of this control group: a container's limit shows only in the latter.
qint64 outOfMemoryKills() {
  qint64 kills = counter(QStringLiteral("/proc/vmstat"), "oom_kill");
  QFile groups(QStringLiteral("/proc/self/cgroup"));
  if (groups.open(QIODevice::ReadOnly))
    for (const QByteArray& line : groups.readAll().split('\n'))
      if (line.startsWith("0::"))
        kills += counter(QStringLiteral("/sys/fs/cgroup") + QFile::decodeName(line.mid(3)) +
                             QStringLiteral("/memory.events"),
                         "oom_kill");
  return kills;
}

QString signalName(int number) {
  switch (number) {
    case SIGSEGV:
      return QStringLiteral("segmentation fault");
    case SIGBUS:
      return QStringLiteral("bus error");
    case SIGFPE:
      return QStringLiteral("arithmetic error");
    case SIGILL:
      return QStringLiteral("illegal instruction");
    case SIGABRT:
      return QStringLiteral("aborted by a check in native code");
    case SIGTRAP:
      return QStringLiteral("trap");
    case SIGSYS:
      return QStringLiteral("forbidden system call");
    default:
      return {};
  }
}

/// Where Python's fault handler says the code was: `  File "/tmp/ipykernel_12/34.py", line 3 in f`, innermost
/// first.
QString crashPlace(const QString& errors) {
  static const QRegularExpression frame(
      QStringLiteral("^  File \"[^\"\\n]*ipykernel_\\d+/\\d+\\.py\", line (\\d+) in ([^\\n]+)$"),
      QRegularExpression::MultilineOption);
  const auto match = frame.match(errors);
  if (!match.hasMatch()) return {};
  const QString function = match.captured(2);
  const QString where =
      function == QLatin1String("<module>") ? QString() : QStringLiteral(" (in %1)").arg(function);
  return QStringLiteral(", in line %1 of a cell%2").arg(match.captured(1), where);
}

QString lastLine(const QString& text) {
  const QStringList lines = text.split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  return lines.isEmpty() ? QString() : lines.last().trimmed();
}

QString signalSentence(const ProcessEnd& end) {
  if (end.outOfMemory) {
    const QString held =
        end.residentBytes > 0
            ? QStringLiteral("; it held %1").arg(QLocale::c().formattedDataSize(end.residentBytes, 1))
            : QString();
    return QStringLiteral("The system ran out of memory and the session process was killed (signal %1)%2.")
        .arg(end.code)
        .arg(held);
  }
  if (end.code == SIGKILL) return QStringLiteral("The session process was killed (signal 9).");
  const QString name = signalName(end.code);
  if (!name.isEmpty())
    return QStringLiteral("The session process crashed: %1 (signal %2)%3.")
        .arg(name)
        .arg(end.code)
        .arg(crashPlace(end.errors));
  return QStringLiteral("The session process was ended by signal %1 (%2).")
      .arg(end.code)
      .arg(QString::fromLocal8Bit(strsignal(end.code)));
}

/// What every call on a GPU gave before the session gave up; empty where that is not why it ended.
QString lostGpu(const QString& errors) {
  static const QRegularExpression words(
      u'^' + QRegularExpression::escape(QString::fromUtf8(protocol::lost_gpu_prefix.data())) +
          QStringLiteral("(.+)$"),
      QRegularExpression::MultilineOption);
  return words.match(errors).captured(1);
}

QString exitSentence(const ProcessEnd& end) {
  if (const QString why = lostGpu(end.errors); !why.isEmpty())
    return QStringLiteral("The session process ended, because it lost a GPU: %1.").arg(why);
  if (end.calledExit) return QStringLiteral("The session ended: a cell called exit().");
  static const QRegularExpression missing(QStringLiteral("No module named '?(ipykernel\\w*)'?"));
  if (!end.wasReady && missing.match(end.errors).hasMatch())
    return QStringLiteral(
        "The session process could not start: its Python has no ipykernel. Debian's package is "
        "python3-ipykernel "
        "(sudo apt-get install python3-ipykernel).");
  if (!end.wasReady) {
    const QString line = lastLine(end.errors);
    return QStringLiteral("The session process ended before it was ready (exit code %1)%2")
        .arg(end.code)
        .arg(line.isEmpty() ? QStringLiteral(".") : QStringLiteral(": ") + line);
  }
  if (end.code == 0) return QStringLiteral("The session process ended by itself (exit code 0).");
  return QStringLiteral("The session process ended with exit code %1.").arg(end.code);
}

}  // namespace

QString deathSentence(const ProcessEnd& end) {
  const QString what = end.signalled ? signalSentence(end) : exitSentence(end);
  if (!end.wasReady) return what;
  return what + QStringLiteral(
                    " Its variables are gone; the notebook stays as it is. Restart the session to go on.");
}

void MemoryWatch::begin(qint64 processId) {
  processId_ = processId;
  residentBytes_ = 0;
  kills_ = killsBefore_ = outOfMemoryKills();
}

void MemoryWatch::sample() {
  killsBefore_ = kills_;
  kills_ = outOfMemoryKills();
  QFile memory(QStringLiteral("/proc/%1/statm").arg(processId_));
  if (!memory.open(QIODevice::ReadOnly)) return;
  const QList<QByteArray> fields = memory.readAll().split(' ');
  if (fields.size() > 1 && fields[1].toLongLong() > 0)
    residentBytes_ = fields[1].toLongLong() * ::sysconf(_SC_PAGESIZE);
}

bool MemoryWatch::killedByOutOfMemory() const {
  return outOfMemoryKills() > killsBefore_;
}

}  // namespace tapedeck::app
