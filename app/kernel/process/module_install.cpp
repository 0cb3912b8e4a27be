#include "app/kernel/process/module_install.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <QRegularExpression>

#include "app/kernel/process/safe_environment.h"

namespace tapedeck::app {
namespace {

constexpr int kept_bytes = 64 * 1024;
constexpr int shown_lines = 12;
/// The script's line before it writes into the environment; until then it builds in a folder of its own.
constexpr char reaches_environment[] = "Installing the module into ";

}  // namespace

ModuleInstall::ModuleInstall(QObject* parent) : QObject(parent) {}

ModuleInstall::~ModuleInstall() {
  if (!process_) return;
  process_->disconnect(this);
  killGroup();
  process_->waitForFinished(300);
}

void ModuleInstall::killGroup() {
  if (process_->processId() > 0) ::kill(static_cast<pid_t>(-process_->processId()), SIGTERM);
}

void ModuleInstall::start(const QString& script, const QString& given) {
  if (process_) return;
  given_ = given;
  said_.clear();
  cancelled_ = reached_ = false;
  process_ = new QProcess(this);
  process_->setProcessEnvironment(safeEnvironment());
  process_->setProcessChannelMode(QProcess::MergedChannels);
  process_->setStandardInputFile(
      QProcess::nullDevice());  // where a password is asked for, it fails and says so
  process_->setChildProcessModifier([parent = ::getpid()] {
    // A group of its own: the compilers end with it.
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
  });
  connect(process_, &QProcess::readyReadStandardOutput, this, &ModuleInstall::read);
  connect(process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    read();
    ended(status == QProcess::NormalExit && code == 0);
  });
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    said_ = process_->errorString().toLocal8Bit();
    ended(false);
  });
  emit progressed(QStringLiteral("Starting %1 …").arg(script), -1);
  process_->start(script, {QStringLiteral("--install-into"), given}, QIODevice::ReadOnly);
}

void ModuleInstall::cancel() {
  if (!process_) return;
  cancelled_ = true;
  killGroup();
}

void ModuleInstall::read() {
  said_ = (said_ + process_->readAllStandardOutput()).right(kept_bytes);
  reached_ = reached_ || said_.startsWith(reaches_environment) ||
             said_.contains(QByteArray("\n") + reaches_environment);
  const QString last = QString::fromLocal8Bit(said_.left(said_.lastIndexOf('\n') + 1))
                           .trimmed()
                           .section(QLatin1Char('\n'), -1);
  if (last.isEmpty()) return;
  static const QRegularExpression share(QStringLiteral("(\\d+) %"));
  const auto match = share.match(last);
  emit progressed(last, match.hasMatch() ? match.captured(1).toInt() : -1);
}

void ModuleInstall::ended(bool installed) {
  std::exchange(process_, nullptr)->deleteLater();
  if (installed) return emit finished(true, {});
  if (cancelled_)
    return emit finished(
        false, reached_
                   ? QStringLiteral("The installation was stopped while it wrote into %1: the module may be "
                                    "there in part. Install it again, or remove it (pip uninstall tapedeck).")
                         .arg(given_)
                   : QStringLiteral("The installation was stopped; nothing was changed in the environment."));
  const QStringList lines = QString::fromLocal8Bit(said_).trimmed().split(QLatin1Char('\n'));
  emit finished(false,
                (reached_ ? QStringLiteral("The installation failed; %1 may have changed:\n").arg(given_)
                          : QStringLiteral("The module was not installed:\n")) +
                    lines.mid(std::max<qsizetype>(0, lines.size() - shown_lines)).join(QLatin1Char('\n')));
}

}  // namespace tapedeck::app
