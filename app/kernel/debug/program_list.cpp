#include "app/kernel/debug/program_list.h"

#include <sys/stat.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/kernel/process/short_path.h"

namespace tapedeck::app {
namespace {

constexpr qint64 longestEntry = 1 << 20;

/// All places that attachable.py may have taken, whatever its environment was.
QStringList programsFolders() {
  const QString name = QStringLiteral("/tapedeck-%1").arg(::geteuid());
  QStringList bases;
  const QString runtime = qEnvironmentVariable("XDG_RUNTIME_DIR");
  if (QDir::isAbsolutePath(runtime)) bases << QDir::cleanPath(runtime) + QStringLiteral("/tapedeck");
  bases << QDir::tempPath() + name << QStringLiteral("/tmp") + name;
  bases.removeDuplicates();
  for (QString& base : bases) base += QStringLiteral("/programs");
  return bases;
}

/// Nobody but the user can have put something there.
bool isPrivate(const QString& path, mode_t kind) {
  struct stat status {};
  return ::lstat(QFile::encodeName(path).constData(), &status) == 0 && (status.st_mode & S_IFMT) == kind &&
         status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
}

/// None where there is no such process, or it has ended.
std::optional<qint64> startedTicks(qint64 process) {
  QFile file(QStringLiteral("/proc/%1/stat").arg(process));
  if (!file.open(QIODevice::ReadOnly)) return std::nullopt;
  const QByteArray text = file.readAll();
  // The name in brackets may hold anything.
  const QList<QByteArray> fields = text.mid(text.lastIndexOf(')') + 1).simplified().split(' ');
  if (fields.size() < 20 || fields[0] == "Z" || fields[0] == "X") return std::nullopt;
  return fields[19].toLongLong();
}

QString text(const nlohmann::json& entry, const char* key) {
  return QString::fromStdString(entry.at(key).get<std::string>());
}

std::optional<Program> readEntry(const QString& path) {
  QFile file(path);
  if (!isPrivate(path, S_IFREG) || !file.open(QIODevice::ReadOnly) || file.size() > longestEntry)
    return std::nullopt;
  try {
    const auto entry = nlohmann::json::parse(file.readAll().toStdString());
    Program program;
    program.process = entry.at("pid").get<qint64>();
    program.startedTicks = entry.at("started_ticks").get<qint64>();
    program.started =
        QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(entry.at("started").get<double>() * 1000));
    program.file = text(entry, "file");
    for (const auto& argument : entry.at("program"))
      program.arguments << QString::fromStdString(argument.get<std::string>());
    program.folder = text(entry, "folder");
    program.endpoint = text(entry, "endpoint").toUtf8();
    program.key = text(entry, "key").toUtf8();
    program.protocolVersion = entry.at("protocol_version").get<quint32>();
    return program;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

QString Program::name() const {
  if (!file.isEmpty()) return QFileInfo(file).fileName();
  return arguments.isEmpty() || arguments[0].isEmpty() ? QStringLiteral("python3") : arguments.join(' ');
}

QString Program::title() const {
  return QStringLiteral("%1 (pid %2)").arg(name()).arg(process);
}

bool Program::sameAs(const Program& other) const {
  return process == other.process && startedTicks == other.startedTicks;
}

bool Program::running() const {
  return startedTicks == app::startedTicks(process);
}

QList<Program> runningPrograms() {
  QList<Program> programs;
  for (const QString& folder : programsFolders()) {
    if (!isPrivate(folder, S_IFDIR)) continue;
    for (const QFileInfo& entry :
         QDir(folder).entryInfoList(QDir::Dirs | QDir::NoDotAndDotDot | QDir::NoSymLinks)) {
      const QStringList parts = entry.fileName().split('-');
      if (parts.size() != 2 || !isPrivate(entry.filePath(), S_IFDIR)) continue;
      if (app::startedTicks(parts[0].toLongLong()) != parts[1].toLongLong()) {
        QDir(entry.filePath()).removeRecursively();
        continue;
      }
      const auto program = readEntry(entry.filePath() + QStringLiteral("/program.json"));
      if (program && program->running()) programs << *program;
    }
  }
  std::sort(programs.begin(), programs.end(),
            [](const Program& a, const Program& b) { return a.started > b.started; });
  return programs;
}

QString howToStartProgram() {
  return QStringLiteral("TAPEDECK_DEBUG=1 python3 program.py");
}

QString programTable(const QList<Program>& programs) {
  if (programs.isEmpty())
    return QStringLiteral("No program that could be attached to runs now. Start one with\n    %1\n")
        .arg(howToStartProgram());
  QList<QStringList> rows = {{"PID", "SINCE", "PROGRAM", "FOLDER"}};
  for (const Program& program : programs) {
    QStringList words = program.arguments.mid(1);
    words.prepend(program.name());
    rows << QStringList{QString::number(program.process), program.started.toString("yyyy-MM-dd hh:mm:ss"),
                        (program.file.isEmpty() ? program.name() : words.join(' ')),
                        shortPath(program.folder)};
  }
  QList<qsizetype> widths(3, 0);
  for (const QStringList& row : rows)
    for (qsizetype i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  QString table;
  for (const QStringList& row : rows) {
    for (qsizetype i = 0; i < widths.size(); ++i) table += row[i].leftJustified(widths[i]) + "  ";
    table += row.last() + '\n';
  }
  return table;
}

}  // namespace tapedeck::app
