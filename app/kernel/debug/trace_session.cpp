#include "app/kernel/debug/trace_session.h"

#include <fcntl.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QRandomGenerator>
#include <QTimer>
#include <array>
#include <stdexcept>
#include <utility>

#include "app/kernel/process/safe_environment.h"

namespace tapedeck::app {
namespace {

constexpr int applicationIdAt = 68;
constexpr int openWithinMs = 60000;
constexpr int endAtOnceMs = 40;
constexpr int endWithinMs = 1000;

/// Beside the program, or where the build has put it.
QString server() {
  const QString beside = QCoreApplication::applicationDirPath() + QStringLiteral("/tapedeck-trace");
  return QFileInfo::exists(beside) ? beside : QStringLiteral(TAPEDECK_TRACE_SERVER);
}

QByteArray newKey() {
  std::array<quint32, 8> words;
  QRandomGenerator::system()->generate(words.begin(), words.end());
  return QByteArray(reinterpret_cast<const char*>(words.data()), sizeof(words)).toHex();
}

void writeKey(const QString& path, const QByteArray& key) {
  const int file = ::open(QFile::encodeName(path).constData(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && ::write(file, key.data(), static_cast<std::size_t>(key.size())) == key.size();
  if (file >= 0) ::close(file);
  if (!written) throw std::runtime_error("The file " + path.toStdString() + " can't be written.");
}

}  // namespace

bool isTraceFile(const QString& path) {
  const auto is = [&](const char* ending) {
    return path.endsWith(QLatin1String(ending), Qt::CaseInsensitive);
  };
  if (is(".tapetrace")) return true;
  if (is(".ipynb") || is(".py") || !QFileInfo(path).isFile()) return false;
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return false;
  // A database of SQLite, with the application id of traces.
  const QByteArray head = file.read(applicationIdAt + 4);
  return head.startsWith("SQLite format 3") && head.mid(applicationIdAt) == "TAPE";
}

TraceSession::TraceSession(const QString& path, QObject* parent)
    : GuestKernel(parent), path_(QFileInfo(path).absoluteFilePath()) {
  connect(&debug_, &DebugClient::received, this, &TraceSession::take);
  connect(&debug_, &DebugClient::refused, this, &TraceSession::fail);
  connect(&debug_, &DebugClient::connectedChanged, this, [this](bool connected) {
    if (connected && state() == KernelState::starting)
      infoRequest_ = debug_.request(protocol::GetTraceFile{});
  });
  connect(&patience_, &QTimer::timeout, this, [this] {
    fail(QStringLiteral("%1 could not be opened within %2 seconds.").arg(path_).arg(openWithinMs / 1000));
  });
}

// The process ends with its input. One that hangs is not waited for, but killed later: the window is closing.
TraceSession::~TraceSession() {
  if (!process_) return;
  process_->disconnect(this);
  process_->closeWriteChannel();
  if (process_->state() == QProcess::NotRunning || process_->waitForFinished(endAtOnceMs)) return;
  QProcess* process = process_.release();
  process->setParent(QCoreApplication::instance());
  QObject::connect(process, &QProcess::finished, process, &QObject::deleteLater);
  QTimer::singleShot(endWithinMs, process, &QProcess::kill);
}

void TraceSession::open() {
  if (state() == KernelState::starting || state() == KernelState::idle) return;
  setState(KernelState::starting);
  // The caller gets the answer later in every case.
  QMetaObject::invokeMethod(this, &TraceSession::launch, Qt::QueuedConnection);
}

void TraceSession::launch() {
  try {
    RuntimeFolder::removeStale();
    runtime_ = std::make_unique<RuntimeFolder>();
    key_ = newKey();
    writeKey(runtime_->path() + QStringLiteral("/key"), key_);
  } catch (const std::exception& error) {
    return fail(QString::fromUtf8(error.what()));
  }
  endpoint_ = "ipc://" + QFile::encodeName(runtime_->path()) + "/debug";
  process_ = std::make_unique<QProcess>();
  process_->setProcessEnvironment(safeEnvironment());
  connect(process_.get(), &QProcess::readyReadStandardOutput, this, &TraceSession::readOutput);
  connect(process_.get(), &QProcess::finished, this, &TraceSession::processEnded);
  connect(process_.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      fail(QStringLiteral("Trace files can't be opened: %1 does not start (%2).")
               .arg(server(), process_->errorString()));
  });
  patience_.start(openWithinMs);
  process_->start(server(), {path_, QStringLiteral("--endpoint"), QFile::decodeName(endpoint_),
                             QStringLiteral("--key-file"), runtime_->path() + QStringLiteral("/key")});
}

void TraceSession::readOutput() {
  output_ += process_->readAllStandardOutput();
  if (!output_.contains("ready\n")) return;
  output_.clear();
  debug_.open(endpoint_, key_);
}

void TraceSession::processEnded() {
  const QString said = QString::fromLocal8Bit(process_->readAllStandardError()).trimmed();
  const QString last = said.section(QLatin1Char('\n'), -1);
  if (state() == KernelState::starting)
    fail(last.isEmpty()
             ? QStringLiteral("%1 can't be opened: the process that reads it has ended.").arg(path_)
             : last);
  else if (state() == KernelState::idle)
    fail(QStringLiteral(
             "The process that reads %1 has ended%2 What was fetched from it stays here; open the file "
             "again to see all of it.")
             .arg(path_, last.isEmpty() ? QStringLiteral(".") : QStringLiteral(": ") + last));
}

void TraceSession::take(quint64 request, const protocol::Reply& reply) {
  if (state() != KernelState::starting) return;
  const auto* failure = protocol::get_if<protocol::Failure>(&reply);
  if (failure && failure->code == "cancelled") return;  // the process ends, and says why
  if (request == infoRequest_ && request != 0) {
    if (const auto* info = protocol::get_if<protocol::TraceFileInfo>(&reply)) {
      info_ = *info;
      return askSources();
    }
    if (failure) return fail(path_ + QStringLiteral(": ") + QString::fromStdString(failure->reason));
  }
  const auto asked = sourceRequests_.constFind(request);
  if (asked == sourceRequests_.constEnd() || protocol::holds_alternative<protocol::Progress>(reply)) return;
  // One that can't be read is left out: everything else is here.
  if (const auto* text = protocol::get_if<protocol::SourceText>(&reply))
    info_.sources[*asked].text = text->text;
  sourceRequests_.erase(asked);
  if (!sourceRequests_.isEmpty()) return;
  patience_.stop();
  setState(KernelState::idle);
}

void TraceSession::askSources() {
  for (std::size_t i = 0; i < info_.sources.size(); ++i)
    sourceRequests_.insert(debug_.request(protocol::GetSource{info_.sources[i].cell, info_.sources[i].file}),
                           i);
  if (!sourceRequests_.isEmpty()) return;
  patience_.stop();
  setState(KernelState::idle);
}

void TraceSession::fail(const QString& sentence) {
  patience_.stop();
  if (state() == KernelState::dead || state() == KernelState::stopped) return;
  debug_.close();
  setState(KernelState::dead, sentence);
}

void TraceSession::shutdown() {
  patience_.stop();
  debug_.close();
  if (process_) process_->closeWriteChannel();
  setState(KernelState::stopped);
}

QString TraceSession::title() const {
  return QFileInfo(path_).fileName();
}

QString TraceSession::whyNoCells() const {
  return QStringLiteral("%1 is a trace: nothing in it can be run or changed.").arg(title());
}

}  // namespace tapedeck::app
