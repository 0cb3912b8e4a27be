// How often the threads of a process woke up: what an idle program costs, counted and not timed.
#pragma once

#include <QDir>
#include <QFile>

namespace tapedeck {

/// Of all its threads so far, each time that one went to sleep by itself. `without`: a thread that is left
/// out.
inline qint64 wakeups(qint64 process, qint64 without = 0) {
  qint64 sum = 0;
  const QDir threads(QStringLiteral("/proc/%1/task").arg(process));
  for (const QString& thread : threads.entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
    QFile status(threads.filePath(thread) + QStringLiteral("/status"));
    if (thread.toLongLong() == without || !status.open(QIODevice::ReadOnly)) continue;
    for (const QByteArray& line : status.readAll().split('\n'))
      if (line.startsWith("voluntary_ctxt_switches:")) sum += line.mid(24).trimmed().toLongLong();
  }
  return sum;
}

/// Of a process, in nanoseconds of its threads that are there now.
inline qint64 cpuNanoseconds(qint64 process) {
  qint64 sum = 0;
  const QDir threads(QStringLiteral("/proc/%1/task").arg(process));
  for (const QString& thread : threads.entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
    QFile times(threads.filePath(thread) + QStringLiteral("/schedstat"));
    if (times.open(QIODevice::ReadOnly)) sum += times.readAll().split(' ').first().toLongLong();
  }
  return sum;
}

}  // namespace tapedeck
