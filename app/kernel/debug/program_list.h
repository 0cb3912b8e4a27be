// The user's programs that a window can attach to: those that `import tapedeck` with TAPEDECK_DEBUG=1.
#pragma once

#include <QByteArray>
#include <QDateTime>
#include <QList>
#include <QString>
#include <QStringList>

namespace tapedeck::app {

/// What a program says of itself (engine/python/tapedeck/_session/attachable.py writes it).
struct Program {
  qint64 process = 0;
  qint64 startedTicks = 0;  ///< of the machine's clock: tells it from a later process with its number
  QDateTime started;
  QString file;  ///< of its code; empty: it has none (python3 -c)
  QStringList arguments;
  QString folder;  ///< where it runs
  QByteArray endpoint, key;
  quint32 protocolVersion = 0;

  /// "train.py"
  QString name() const;
  /// "train.py (pid 4711)"
  QString title() const;
  bool sameAs(const Program& other) const;
  bool running() const;
};

/// Those that run now, the newest first. Entries of programs that are gone are removed, and those that others
/// could have written are left out.
QList<Program> runningPrograms();
/// `bases`: the user's folders of sessions, as RuntimeFolder::baseFolders() has them.
QList<Program> runningPrograms(const QStringList& bases);

/// For a terminal: a line for each program below a heading; without any, how to start one.
QString programTable(const QList<Program>& programs);

/// How to start a program that can be attached to.
QString howToStartProgram();

}  // namespace tapedeck::app
