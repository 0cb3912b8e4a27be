#include "app/kernel/process/interpreter_finder.h"

#include <QFileInfo>
#include <QStandardPaths>
#include <QTimer>

namespace tapedeck::app {
namespace {

// find_spec looks without importing: 30 ms where an import of ipykernel takes half a second. The current
// folder, which may be anybody's, is not looked into.
constexpr auto question =
    "import sys\n"
    "sys.path[:] = [folder for folder in sys.path if folder]\n"
    "import importlib.util\n"
    "found = importlib.util.find_spec('ipykernel')\n"
    "print(sys.executable)\n"
    "sys.exit(0 if found else 7)\n";
constexpr int probeLimitMs = 30000;

const QString packageHint =
    QStringLiteral("Debian's package is python3-ipykernel (sudo apt-get install python3-ipykernel).");

/// Empty: there is none. Not by the window's own PATH, which may name the current folder.
QString inPath(const QString& program, const QProcessEnvironment& environment) {
  const QStringList folders =
      environment.value(QStringLiteral("PATH")).split(QLatin1Char(':'), Qt::SkipEmptyParts);
  // Without any folder Qt would look through the window's PATH.
  return folders.isEmpty() ? QString() : QStandardPaths::findExecutable(program, folders);
}

}  // namespace

InterpreterFinder::InterpreterFinder(QObject* parent) : QObject(parent) {}

InterpreterFinder::~InterpreterFinder() {
  cancel();
}

void InterpreterFinder::cancel() {
  candidates_.clear();
  if (!probe_) return;
  probe_->disconnect(this);
  // Its end is awaited by the event loop, not here.
  connect(probe_, &QProcess::finished, probe_, &QObject::deleteLater);
  probe_->setParent(nullptr);
  probe_->kill();
  probe_ = nullptr;
}

void InterpreterFinder::find(const QString& chosen, const QProcessEnvironment& environment) {
  cancel();
  tried_.clear();
  environment_ = environment;
  chosen_ = !chosen.isEmpty();
  if (chosen_)
    candidates_ = {chosen};
  else
    candidates_ = {QStringLiteral(TAPEDECK_PYTHON), inPath(QStringLiteral("python3"), environment),
                   QStringLiteral("/usr/bin/python3")};
  candidates_.removeAll(QString());
  candidates_.removeDuplicates();
  // By the event loop also where the first candidate fails at once: the caller connects and sets its state
  // first.
  QMetaObject::invokeMethod(this, &InterpreterFinder::tryNext, Qt::QueuedConnection);
}

void InterpreterFinder::tryNext() {
  if (probe_) return;
  if (candidates_.isEmpty()) {
    if (tried_.isEmpty()) return;  // cancelled
    const QString names = tried_.join(QStringLiteral(", "));
    emit notFound(
        chosen_
            ? QStringLiteral("The Python interpreter %1 can't run the session. %2").arg(names, packageHint)
            : QStringLiteral("No Python interpreter with ipykernel was found (tried: %1). %2")
                  .arg(names, packageHint));
    return;
  }
  QString candidate = candidates_.takeFirst();
  if (!candidate.contains(QLatin1Char('/'))) {
    const QString program = inPath(candidate, environment_);
    if (program.isEmpty()) {
      tried_ << candidate + QStringLiteral(": no such program");
      return tryNext();
    }
    candidate = program;
  }
  const QFileInfo file(candidate);
  if (file.isAbsolute() && !file.isExecutable()) {
    tried_ << candidate +
                  (file.exists() ? QStringLiteral(": not executable") : QStringLiteral(": no such file"));
    return tryNext();
  }
  tried_ << candidate;
  probe_ = new QProcess(this);
  probe_->setProcessEnvironment(environment_);
  probe_->setStandardErrorFile(QProcess::nullDevice());
  connect(probe_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    if (status == QProcess::NormalExit && code == 7) tried_.last() += QStringLiteral(": has no ipykernel");
    finished(status == QProcess::NormalExit && code == 0);
  });
  connect(probe_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) finished(false);
  });
  QTimer::singleShot(probeLimitMs, probe_, &QProcess::kill);
  probe_->start(candidate, {QStringLiteral("-c"), QLatin1String(question)}, QIODevice::ReadOnly);
}

void InterpreterFinder::finished(bool usable) {
  // A shim's answer is the interpreter behind it.
  const QString executable = QString::fromLocal8Bit(probe_->readAllStandardOutput()).trimmed();
  probe_->deleteLater();
  probe_ = nullptr;
  if (!usable || executable.isEmpty()) {
    if (!tried_.last().contains(QLatin1Char(':')))
      tried_.last() += QStringLiteral(": does not run as Python");
    return tryNext();
  }
  candidates_.clear();
  tried_.clear();
  emit found(executable);
}

}  // namespace tapedeck::app
