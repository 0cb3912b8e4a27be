#include "app/control/chosen_environments.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QSettings>
#include <QVariantMap>

#include "app/notebook/document/document.h"
#include "app/notebook/document/script.h"

namespace tapedeck::app {
namespace {

constexpr const char* environment_key = "environment";
constexpr char recent_key[] = "environments/recent";
constexpr char programs_key[] = "environments/programs";
constexpr qsizetype most_recent = 10, most_programs = 100;
constexpr qsizetype longest_path = 4096;
constexpr qint64 longest_kernelspec = 64 * 1024;

/// Jupyter's folders, those of the user first.
QStringList kernelFolders() {
  QStringList folders = qEnvironmentVariable("JUPYTER_PATH").split(QLatin1Char(':'), Qt::SkipEmptyParts);
  const QString data =
      qEnvironmentVariable("XDG_DATA_HOME", QDir::homePath() + QStringLiteral("/.local/share"));
  folders << qEnvironmentVariable("JUPYTER_DATA_DIR", data + QStringLiteral("/jupyter"))
          << QStringLiteral("/usr/local/share/jupyter") << QStringLiteral("/usr/share/jupyter");
  // A relative one would be looked for in the current folder, which may be anybody's.
  folders.removeIf([](const QString& folder) { return !folder.startsWith(QLatin1Char('/')); });
  return folders;
}

}  // namespace

QStringList recentEnvironments() {
  return QSettings().value(QLatin1String(recent_key)).toStringList();
}

void addRecentEnvironment(const QString& given) {
  if (given.isEmpty()) return;
  QStringList recent = recentEnvironments();
  recent.removeAll(given);
  recent.prepend(given);
  QSettings().setValue(QLatin1String(recent_key), recent.mid(0, most_recent));
}

WantedEnvironment wantedEnvironment(const Document& document) {
  if (isScript(document.path())) {
    const QVariantMap programs = QSettings().value(QLatin1String(programs_key)).toMap();
    return {programs.value(document.path()).toString(), {}};
  }
  const nlohmann::ordered_json kept = document.kept(environment_key);
  if (kept.is_string()) {
    const QString given = QString::fromStdString(kept.get<std::string>());
    // Only whole paths: one beside the notebook is as foreign as the notebook.
    return {given.startsWith(QLatin1Char('/')) && given.size() <= longest_path ? given : QString(), {}};
  }
  const QString name = document.kernelspecName();
  const QString interpreter = kernelspecInterpreter(name);
  return {interpreter, interpreter.isEmpty() ? QString() : name};
}

void keepEnvironment(Document& document, const QString& given) {
  if (!isScript(document.path())) {
    // Against the interpreter of a Jupyter kernel, the program's own Python is a choice, too.
    const bool plain = given.isEmpty() && kernelspecInterpreter(document.kernelspecName()).isEmpty();
    document.keep(environment_key,
                  plain ? nlohmann::ordered_json() : nlohmann::ordered_json(given.toStdString()));
    return;
  }
  QVariantMap programs = QSettings().value(QLatin1String(programs_key)).toMap();
  programs.remove(document.path());
  if (!given.isEmpty()) {
    while (programs.size() >= most_programs) programs.erase(programs.begin());
    programs.insert(document.path(), given);
  }
  QSettings().setValue(QLatin1String(programs_key), programs);
}

bool importsTorch(const Document& document) {
  static const QRegularExpression import(QStringLiteral("^[ \\t]*(?:import|from)[ \\t]+torch\\b"),
                                         QRegularExpression::MultilineOption);
  for (int i = 0; i < document.cellCount(); ++i) {
    const Cell& cell = document.cell(i);
    if (cell.type == CellType::code && cell.source.contains(QLatin1String("torch")) &&
        import.match(cell.source).hasMatch())
      return true;
  }
  return false;
}

QString kernelspecInterpreter(const QString& name) {
  // As Jupyter has them; python3 is whatever Python Jupyter itself has, and most notebooks name it.
  static const QRegularExpression usual(QStringLiteral("^[A-Za-z0-9._-]+$"));
  if (!usual.match(name).hasMatch() || name.startsWith(QLatin1Char('.')) ||
      name == QLatin1String("python3") || name == QLatin1String("tapedeck"))
    return {};
  for (const QString& folder : kernelFolders()) {
    QFile file(folder + QStringLiteral("/kernels/%1/kernel.json").arg(name));
    if (!file.open(QIODevice::ReadOnly)) continue;
    const QJsonObject spec = QJsonDocument::fromJson(file.read(longest_kernelspec)).object();
    const QString program = spec.value(QLatin1String("argv")).toArray().at(0).toString();
    const bool python = spec.value(QLatin1String("language"))
                            .toString()
                            .compare(QLatin1String("python"), Qt::CaseInsensitive) == 0;
    return python && program.startsWith(QLatin1Char('/')) && QFileInfo(program).isExecutable() ? program
                                                                                               : QString();
  }
  return {};
}

}  // namespace tapedeck::app
