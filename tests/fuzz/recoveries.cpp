// What other processes of the program leave in folders: recovery files, and entries of programs that can be
// attached to.
#include <sys/stat.h>

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <algorithm>

#include "app/control/recovery.h"
#include "app/kernel/debug/program_list.h"
#include "app/notebook/document/nbformat.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck::app;

namespace {

/// Folders of this process alone.
struct Folders {
  Folders() {
    qputenv("XDG_DATA_HOME", folder.path().toUtf8());
    qputenv("XDG_RUNTIME_DIR", folder.path().toUtf8());
    recovery = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/recovery/gone";
    // This process' own entry: those of others are removed.
    QFile status("/proc/self/stat");
    fuzz::expect(status.open(QIODevice::ReadOnly), "a process can read its own state");
    const QByteArray text = status.readAll();
    const QByteArray started = text.mid(text.lastIndexOf(')') + 2).split(' ').value(19);
    program = folder.path() + "/tapedeck/programs/" + QString::number(QCoreApplication::applicationPid()) +
              "-" + started;
    for (const QString& each : {recovery, program}) QDir().mkpath(each);
    for (QString each = program; each != folder.path(); each = QFileInfo(each).path())
      ::chmod(QFile::encodeName(each).constData(), 0700);
  }
  QTemporaryDir folder{QFile::exists("/dev/shm") ? "/dev/shm/tapedeck_fuzz_XXXXXX"
                                                 : "/tmp/tapedeck_fuzz_XXXXXX"};
  QString recovery, program;
};

void write(const QString& path, fuzz::Bytes bytes) {
  QFile file(path);
  fuzz::expect(file.open(QIODevice::WriteOnly) && file.write(reinterpret_cast<const char*>(bytes.data()),
                                                             static_cast<qint64>(bytes.size())) >= 0,
               "a file can be written");
  file.setPermissions(QFile::ReadOwner | QFile::WriteOwner);
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  static const Folders folders;
  QDir().mkpath(folders.recovery);
  write(folders.recovery + "/lock", {});
  write(folders.recovery + "/a.recovery", bytes);
  // A journal of what stands behind the notebook's line, or of all of it.
  const auto* const begin = bytes.data();
  const auto* const end = begin + bytes.size();
  const auto* const line = std::find(begin, end, static_cast<std::uint8_t>('\n'));
  const auto* const rest = line == end ? end : std::find(line + 1, end, static_cast<std::uint8_t>('\n'));
  write(folders.recovery + "/a.journal", rest == end ? bytes : Bytes(rest + 1, end));
  for (const RecoveryEntry& entry : pendingRecoveries())
    may_refuse<NotebookError>([&] { readNotebook(readRecovery(entry), "lost"); });
  write(folders.program + "/program.json", bytes);
  programTable(runningPrograms());
}
