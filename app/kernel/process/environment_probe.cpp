// Asks an interpreter what it can run.
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPointer>
#include <QTimer>

#include "app/kernel/process/python_environment.h"
#include "app/kernel/process/safe_environment.h"

namespace tapedeck::app {
namespace {

constexpr int longest_answer = 64 * 1024;  // bytes

}  // namespace

EnvironmentProbe::EnvironmentProbe(QObject* parent) : QObject(parent) {}

EnvironmentProbe::~EnvironmentProbe() {
  cancel();
}

void EnvironmentProbe::cancel() {
  if (!process_) return;
  process_->disconnect(this);
  // Its end is awaited by the event loop, not here.
  connect(process_, &QProcess::finished, process_, &QObject::deleteLater);
  process_->setParent(nullptr);
  process_->kill();
  process_ = nullptr;
}

void EnvironmentProbe::ask(const QString& given) {
  cancel();
  QString problem;
  const QString interpreter = interpreterOf(given, &problem);
  const QString script = QStringLiteral(TAPEDECK_MODULE_DIR "/tapedeck/_session/environment.py");
  if (!interpreter.isEmpty() && !QFileInfo::exists(script))
    problem = QStringLiteral("Tapedeck's Python module is not built: there is no %1.").arg(script);
  if (!problem.isEmpty()) {
    // By the event loop: the caller sets its state first.
    QMetaObject::invokeMethod(
        this, [this, problem] { emit failed(problem); }, Qt::QueuedConnection);
    return;
  }
  late_ = false;
  process_ = new QProcess(this);
  process_->setProcessEnvironment(safeEnvironment());
  process_->setStandardErrorFile(QProcess::nullDevice());
  process_->setStandardInputFile(QProcess::nullDevice());
  connect(process_, &QProcess::finished, this, [this, given, interpreter] { finished(given, interpreter); });
  connect(process_, &QProcess::errorOccurred, this, [this, interpreter](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      fail(QStringLiteral("%1 can't be started: %2").arg(interpreter, process_->errorString()));
  });
  // A process that was cancelled may live on, and this with another one.
  QTimer::singleShot(limit_, this, [this, asked = QPointer(process_)] {
    if (!asked || asked != process_) return;
    late_ = true;
    process_->kill();
  });
  // Not in the current folder, which may be anybody's.
  process_->setWorkingDirectory(QStringLiteral("/"));
  process_->start(interpreter, {script}, QIODevice::ReadOnly);
}

void EnvironmentProbe::fail(const QString& sentence) {
  if (QProcess* process = std::exchange(process_, nullptr)) process->deleteLater();
  emit failed(sentence);
}

void EnvironmentProbe::finished(const QString& given, const QString& interpreter) {
  if (late_)
    return fail(QStringLiteral("%1 did not answer within %2 seconds.").arg(interpreter).arg(limit_ / 1000.0));
  const QByteArray answer = process_->readAllStandardOutput().left(longest_answer);
  const QJsonObject object = QJsonDocument::fromJson(answer).object();
  if (process_->exitStatus() != QProcess::NormalExit || process_->exitCode() != 0 ||
      !object.value(QLatin1String("python")).isString())
    return fail(QStringLiteral("%1 does not run as Python.").arg(interpreter));
  EnvironmentFacts facts;
  facts.given = given;
  // A shim's answer is the interpreter behind it.
  const QString behind = object.value(QLatin1String("interpreter")).toString();
  facts.interpreter = QFileInfo(behind).isExecutable() ? behind : interpreter;
  facts.python = object.value(QLatin1String("python")).toString();
  const QJsonObject packages = object.value(QLatin1String("packages")).toObject();
  for (auto item = packages.begin(); item != packages.end(); ++item)
    if (item.value().isString()) facts.packages.insert(item.key(), item.value().toString());
  facts.module = object.value(QLatin1String("module")).toString();
  facts.fingerprint = object.value(QLatin1String("fingerprint")).toString();
  facts.managed = object.value(QLatin1String("managed")).toBool();
  std::exchange(process_, nullptr)->deleteLater();
  emit answered(facts);
}

}  // namespace tapedeck::app
