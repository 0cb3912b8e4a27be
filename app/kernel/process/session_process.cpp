#include "app/kernel/process/session_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <QFileInfo>
#include <QLoggingCategory>

namespace tapedeck::app {
namespace {

Q_LOGGING_CATEGORY(logSession, "tapedeck.session", QtWarningMsg)

constexpr int keptErrors = 16 * 1024;
constexpr int sampleMs = 1000, idleSampleMs = 10000;
constexpr int lastWaitMs = 300;

}  // namespace

SessionProcess::SessionProcess(QObject* parent) : QObject(parent), process_(new QProcess(this)) {
  sampling_.setInterval(sampleMs);
  connect(&sampling_, &QTimer::timeout, this, [this] { memory_.sample(); });
  grace_.setSingleShot(true);
  connect(&grace_, &QTimer::timeout, this, [this] {
    if (terminated_) return kill();
    terminated_ = true;
    signalGroup(SIGTERM);
    grace_.start();
  });
  connect(process_, &QProcess::started, this, [this] {
    id_ = process_->processId();
    memory_.begin(id_);
    sampling_.start();
  });
  connect(process_, &QProcess::readyReadStandardError, this, &SessionProcess::readErrors);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      emit ended({}, QStringLiteral("The session process %1 can't be started: %2")
                         .arg(process_->program(), process_->errorString()));
  });
  connect(process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    readErrors();
    sampling_.stop();
    grace_.stop();
    ending_.reset();
    signalGroup(SIGKILL);  // what the session started and left behind
    ProcessEnd end;
    end.signalled = status == QProcess::CrashExit;
    end.code = code;
    end.outOfMemory = end.signalled && code == SIGKILL && memory_.killedByOutOfMemory();
    end.residentBytes = memory_.residentBytes();
    end.errors = QString::fromLocal8Bit(errors_);
    id_ = 0;
    emit ended(end, {});
  });
}

SessionProcess::~SessionProcess() {
  process_->disconnect(this);
  if (!running()) return;
  kill();
  // One that the system can't end yet (it frees a GPU's memory, say) would hold up ~QProcess for half a
  // minute.
  if (!process_->waitForFinished(lastWaitMs)) process_->setParent(nullptr);
}

void SessionProcess::start(const QString& program, const QStringList& arguments,
                           const QProcessEnvironment& environment, const QString& folder) {
  process_->setProgram(program);
  process_->setArguments(arguments);
  process_->setProcessEnvironment(environment);
  process_->setWorkingDirectory(folder);
  process_->setStandardInputFile(QProcess::nullDevice());
  process_->setStandardOutputFile(QProcess::nullDevice());
  process_->setChildProcessModifier([parent = ::getpid()] {
    // A group of its own: an interrupt reaches what the session started, and the terminal's Ctrl+C only the
    // app.
    ::setsid();
    // Ends with the app also where that crashes; else it would stay as an orphan.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
  });
  process_->start(QIODevice::ReadOnly);
}

void SessionProcess::setWorking(bool working) {
  const int interval = working ? sampleMs : idleSampleMs;
  if (sampling_.interval() == interval) return;
  if (sampling_.isActive()) memory_.sample();
  // Those of all windows fire at the same moment then: the program wakes once.
  sampling_.setTimerType(working ? Qt::CoarseTimer : Qt::VeryCoarseTimer);
  sampling_.setInterval(interval);
}

void SessionProcess::readErrors() {
  const QByteArray text = process_->readAllStandardError();
  if (text.isEmpty()) return;
  qCDebug(logSession).noquote() << text;
  errors_ = (errors_ + text).right(keptErrors);
}

void SessionProcess::signalGroup(int number) {
  if (id_ > 0) ::kill(static_cast<pid_t>(-id_), number);
}

void SessionProcess::interrupt() {
  signalGroup(SIGINT);
}

void SessionProcess::endWithin(int graceMs) {
  if (!running()) return;
  if (!ending_) ending_ = std::make_unique<QEventLoopLocker>();
  grace_.start(graceMs);
}

void SessionProcess::kill() {
  signalGroup(SIGKILL);
  if (running()) process_->kill();
  ending_.reset();  // one that the system can't end yet does not delay the program's end
}

}  // namespace tapedeck::app
