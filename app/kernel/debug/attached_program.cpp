#include "app/kernel/debug/attached_program.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace tapedeck::app {
namespace {

constexpr int patienceMs = 10000;
/// The server ends a moment before its process does.
constexpr int silenceMs = 2000;

}  // namespace

AttachedProgram::AttachedProgram(Program program, QObject* parent)
    : GuestKernel(parent), program_(std::move(program)) {
  connect(&debug_, &DebugClient::connectedChanged, this, &AttachedProgram::connectionChanged);
  connect(&debug_, &DebugClient::refused, this, [this](const QString& sentence) {
    debug_.close();
    setState(KernelState::dead, program_.title() + QStringLiteral(": ") + sentence);
  });
  connect(&patience_, &QTimer::timeout, this, [this] {
    if (!program_.running()) return ended();
    if (answered_)
      emit noticed(
          KernelNotice::silent,
          QStringLiteral("%1 does not answer: it is stopped, or it is ending.").arg(program_.title()));
    else
      setState(KernelState::dead,
               QStringLiteral("%1 did not answer within %2 seconds, so nothing was attached to.")
                   .arg(program_.title())
                   .arg(patienceMs / 1000));
  });
}

AttachedProgram::~AttachedProgram() {
  end_.reset();
  if (process_ >= 0) ::close(process_);
}

void AttachedProgram::attach() {
  if (state() == KernelState::starting || state() == KernelState::busy) return;
  answered_ = false;
  setState(KernelState::starting);
  if (!program_.running()) return ended();
  watchProcess();
  patience_.start(patienceMs);
  debug_.open(program_.endpoint, program_.key);
}

void AttachedProgram::detach() {
  if (state() != KernelState::starting && state() != KernelState::busy) return;
  patience_.stop();
  setState(KernelState::stopped);
  debug_.close();
}

// Its sockets may live on in processes that it forked: they tell nothing of its end.
void AttachedProgram::watchProcess() {
  if (end_) return;
#ifdef SYS_pidfd_open
  process_ = static_cast<int>(::syscall(SYS_pidfd_open, program_.process, 0));
#endif
  if (process_ < 0) return;  // an old kernel: the connection's end tells of it
  end_ = std::make_unique<QSocketNotifier>(process_, QSocketNotifier::Read);
  connect(end_.get(), &QSocketNotifier::activated, this, &AttachedProgram::ended);
}

void AttachedProgram::ended() {
  if (end_) end_->setEnabled(false);
  patience_.stop();
  if (state() == KernelState::dead) return;
  const bool attached = state() == KernelState::starting || state() == KernelState::busy;
  debug_.close();
  if (!attached) return;  // detached in the meantime
  setState(KernelState::dead,
           answered_
               ? QStringLiteral("%1 has ended. What was fetched from it stays here.").arg(program_.title())
               : QStringLiteral("%1 has ended.").arg(program_.title()));
}

void AttachedProgram::connectionChanged(bool connected) {
  if (state() == KernelState::stopped || state() == KernelState::dead) return;
  if (!connected) {
    patience_.start(silenceMs);
    return;
  }
  patience_.stop();
  if (std::exchange(answered_, true)) emit noticed(KernelNotice::answersAgain, {});
  setState(KernelState::busy);
}

QString AttachedProgram::whyNoCells() const {
  return QStringLiteral("%1 runs on its own: its lines are shown here, and can't be run or changed.")
      .arg(program_.title());
}

}  // namespace tapedeck::app
