#include "app/kernel/process/python_environment.h"

#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QVersionNumber>

namespace tapedeck::app {
namespace {

bool atLeast(const QString& version, const int (&least)[2]) {
  return QVersionNumber::fromString(version) >= QVersionNumber(least[0], least[1]);
}

QString leastText(const int (&least)[2]) {
  return QStringLiteral("%1.%2").arg(least[0]).arg(least[1]);
}

QString ownFingerprint() {
  QFile file(QStringLiteral(TAPEDECK_MODULE_DIR "/tapedeck/_fingerprint"));
  return file.open(QIODevice::ReadOnly) ? QString::fromLatin1(file.readAll()).trimmed() : QString();
}

/// As it is typed in a shell.
QString shellQuoted(const QString& text) {
  static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_@%+=:,./-]+$"));
  if (plain.match(text).hasMatch()) return text;
  QString quoted = text;
  return QLatin1Char('\'') + quoted.replace(QLatin1Char('\''), QLatin1String("'\\''")) + QLatin1Char('\'');
}

QString pipCommand(const EnvironmentFacts& facts, const QString& package) {
  const QString python = shellQuoted(facts.interpreter);
  if (facts.managed)
    return QStringLiteral("%1 -m venv ~/torch-env && ~/torch-env/bin/pip install torch ipykernel numpy")
        .arg(python);
  const QString install = QStringLiteral("%1 -m pip install %2").arg(python, package);
  return facts.packages.contains(QStringLiteral("pip"))
             ? install
             : QStringLiteral("%1 -m ensurepip && %2").arg(python, install);
}

EnvironmentNeed packageNeed(const EnvironmentFacts& facts, const QString& name, const QString& what) {
  EnvironmentNeed need;
  need.name = name;
  if (facts.packages.contains(name)) {
    need.sentence = QStringLiteral("%1 %2").arg(name, facts.packages.value(name)).trimmed();
    return need;
  }
  need.state = EnvironmentNeed::State::missing;
  need.sentence = QStringLiteral("%1 is missing: %2").arg(name, what);
  need.command = pipCommand(facts, name);
  return need;
}

EnvironmentNeed torchNeed(const EnvironmentFacts& facts) {
  EnvironmentNeed need = packageNeed(facts, QStringLiteral("torch"),
                                     QStringLiteral("PyTorch programs can't run; programs of Tapedeck can"));
  if (need.state != EnvironmentNeed::State::present || facts.torchIsNewEnough()) return need;
  need.state = EnvironmentNeed::State::outdated;
  need.sentence = QStringLiteral("torch is %1; needs %2 or newer")
                      .arg(facts.packages.value(QStringLiteral("torch")), leastText(least_torch));
  need.command = pipCommand(facts, QStringLiteral("--upgrade torch"));
  return need;
}

EnvironmentNeed moduleNeed(const EnvironmentFacts& facts) {
  EnvironmentNeed need;
  need.name = QStringLiteral("tapedeck");
  const QString version = facts.packages.value(need.name);
  need.sentence = QStringLiteral("Tapedeck's module %1, of this build").arg(version);
  if (facts.module.isEmpty()) {
    need.state = EnvironmentNeed::State::missing;
    need.sentence =
        QStringLiteral("Tapedeck's module is missing: cells run, but nothing can be stepped or looked into");
  } else if (!facts.moduleMatches()) {
    need.state = EnvironmentNeed::State::outdated;
    need.sentence = QStringLiteral("Tapedeck's module %1 is of another build than this program")
                        .arg(version)
                        .simplified();
  }
  if (need.state != EnvironmentNeed::State::present && facts.managed)
    need.sentence += QStringLiteral(". It installs into an environment, not into the distribution's Python");
  else if (need.state != EnvironmentNeed::State::present)
    need.command = installCommand(facts.given);
  return need;
}

}  // namespace

bool EnvironmentFacts::pythonIsNewEnough() const {
  return atLeast(python, least_python);
}

bool EnvironmentFacts::torchIsNewEnough() const {
  return atLeast(packages.value(QStringLiteral("torch")), least_torch);
}

bool EnvironmentFacts::moduleMatches() const {
  return !module.isEmpty() && !fingerprint.isEmpty() && fingerprint == ownFingerprint();
}

bool EnvironmentFacts::usable() const {
  return pythonIsNewEnough() && packages.contains(QStringLiteral("ipykernel"));
}

QString EnvironmentFacts::summary() const {
  const QString torch = packages.value(QStringLiteral("torch"));
  return QStringLiteral("Python %1").arg(python) +
         (torch.isEmpty() ? QString() : QStringLiteral(", torch %1").arg(torch));
}

QList<EnvironmentNeed> needsOf(const EnvironmentFacts& facts) {
  EnvironmentNeed python;
  python.name = QStringLiteral("python");
  python.sentence = QStringLiteral("Python %1").arg(facts.python);
  if (facts.managed)
    python.sentence +=
        QStringLiteral(", the distribution's own: pip installs nothing there, but into an environment of it");
  if (!facts.pythonIsNewEnough()) {
    // Nothing that could be installed into it would help.
    python.state = EnvironmentNeed::State::outdated;
    python.sentence =
        QStringLiteral("Python is %1; needs %2 or newer").arg(facts.python, leastText(least_python));
    return {python};
  }
  return {python, packageNeed(facts, QStringLiteral("ipykernel"), QStringLiteral("no session can run there")),
          packageNeed(facts, QStringLiteral("numpy"), QStringLiteral("Tapedeck's module needs it")),
          torchNeed(facts), moduleNeed(facts)};
}

QString interpreterOf(const QString& given, QString* problem) {
  const QFileInfo info(QDir::cleanPath(given));
  if (info.isFile() && info.isExecutable()) return info.absoluteFilePath();
  for (const char* name : {"bin/python3", "bin/python"}) {
    const QFileInfo file(QDir(info.absoluteFilePath()), QLatin1String(name));
    if (file.isFile() && file.isExecutable()) return file.absoluteFilePath();
  }
  *problem =
      !info.exists() ? QStringLiteral("There is no environment %1.").arg(info.absoluteFilePath())
      : info.isFile()
          ? QStringLiteral("%1 is not a Python environment: the file is not executable.")
                .arg(info.absoluteFilePath())
          : QStringLiteral("%1 is not a Python environment: it has neither bin/python3 nor bin/python.")
                .arg(info.absoluteFilePath());
  return {};
}

QString environmentName(const QString& given) {
  QFileInfo info(QDir::cleanPath(given));
  // Of an interpreter, the environment that it is in.
  if (info.isFile() && info.dir().dirName() == QLatin1String("bin"))
    info = QFileInfo(QDir::cleanPath(info.dir().filePath(QStringLiteral(".."))));
  const QString name = info.fileName();
  static const QStringList everybodys = {QStringLiteral("venv"), QStringLiteral(".venv"),
                                         QStringLiteral("env")};
  return everybodys.contains(name) ? info.dir().dirName() + QLatin1Char('/') + name
         : name.isEmpty()          ? given
                                   : name;
}

QString ownPython() {
  return QStringLiteral(TAPEDECK_PYTHON);
}

QString installScript() {
  const QFileInfo script(QStringLiteral(TAPEDECK_RUN_SCRIPT));
  return script.isExecutable() ? script.absoluteFilePath() : QString();
}

QString installCommand(const QString& given) {
  const QString script = installScript();
  return script.isEmpty()
             ? QString()
             : QStringLiteral("%1 --install-into %2").arg(shellQuoted(script), shellQuoted(given));
}

}  // namespace tapedeck::app
