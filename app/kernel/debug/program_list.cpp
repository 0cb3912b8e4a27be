#include "app/kernel/debug/program_list.h"

#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/kernel/process/private_folder.h"
#include "app/kernel/process/runtime_folder.h"
#include "app/kernel/process/short_path.h"
#include "engine/protocol/json_check.h"

namespace tapedeck::app {
namespace {

constexpr qint64 longestEntry = 1 << 20;

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

/// PID and STARTED of the name of an entry; none where it is another name.
std::optional<std::pair<qint64, qint64>> processOf(const QByteArray& name) {
  const QList<QByteArray> parts = name.split('-');
  if (parts.size() != 2) return std::nullopt;
  bool isProcess = false, isStart = false;
  const std::pair<qint64, qint64> process{parts[0].toLongLong(&isProcess), parts[1].toLongLong(&isStart)};
  // As it is written: no signs, spaces or leading zeros.
  const bool decimal =
      QByteArray::number(process.first) == parts[0] && QByteArray::number(process.second) == parts[1];
  if (!isProcess || !isStart || !decimal || process.first <= 0 || process.second < 0) return std::nullopt;
  return process;
}

QString text(const nlohmann::json& entry, const char* key) {
  return QString::fromStdString(entry.at(key).get<std::string>());
}

std::optional<Program> readEntry(const QByteArray& bytes) {
  constexpr int nested = 2;  // an object with the list of arguments
  const std::string written = bytes.toStdString();
  if (protocol::json_nesting(written) > nested) return std::nullopt;
  try {
    const auto entry = nlohmann::json::parse(written);
    Program program;
    program.process = entry.at("pid").get<qint64>();
    program.startedTicks = entry.at("started_ticks").get<qint64>();
    constexpr double latest = 1e11;  // seconds; a number of milliseconds that no date has is none
    program.started = QDateTime::fromMSecsSinceEpoch(
        static_cast<qint64>(std::clamp(entry.at("started").get<double>(), 0.0, latest) * 1000));
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
  return runningPrograms(RuntimeFolder::baseFolders());
}

QList<Program> runningPrograms(const QStringList& bases) {
  QList<Program> programs;
  for (const QString& base : bases) {
    const auto runtime = PrivateFolder::open(base);
    const auto folder = runtime ? runtime->folder("programs") : std::nullopt;
    if (!folder) continue;
    for (const QByteArray& name : folder->names()) {
      const auto process = processOf(name);
      const auto entry = process ? folder->folder(name) : std::nullopt;
      if (!entry) continue;
      if (app::startedTicks(process->first) != process->second) {
        folder->removeFolder(name, {"program.json", "program.json.new", "debug"});
        continue;
      }
      const auto bytes = entry->read("program.json", longestEntry);
      const auto program = bytes ? readEntry(*bytes) : std::nullopt;
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
    return QStringLiteral("No running program can be attached to. Start one with\n    %1\n")
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
