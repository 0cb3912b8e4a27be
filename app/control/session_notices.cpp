#include "app/control/session_notices.h"

#include <utility>

namespace tapedeck::app {

SessionNotices::SessionNotices(Kernel* kernel, inspector::Session* session, QObject* parent)
    : QObject(parent) {
  connect(kernel, &Kernel::stateChanged, this, &SessionNotices::follow);
  connect(kernel, &Kernel::noticed, this, &SessionNotices::take);
  connect(session, &inspector::Session::failed, this, [this](const QString& reason) {
    if (reason != shown_) tell(Kind::error, reason, false);
  });
}

void SessionNotices::follow(KernelState state, const QString& sentence) {
  switch (state) {
    case KernelState::dead:
      tell(Kind::error, sentence.isEmpty() ? QString("The session ended.") : sentence, true);
      break;
    case KernelState::starting:
    case KernelState::stopped:
      withdraw();
      break;
    case KernelState::idle:
    case KernelState::busy:
      break;
  }
}

void SessionNotices::take(KernelNotice notice, const QString& sentence) {
  switch (notice) {
    case KernelNotice::silent:
      tell(Kind::warning, sentence, true);
      silent_ = true;
      break;
    case KernelNotice::answersAgain:
      if (silent_) withdraw();
      break;
    case KernelNotice::withoutEngine:
      tell(Kind::warning, sentence, true);
      break;
    case KernelNotice::unreachable:
      tell(Kind::error, sentence, true);
      break;
  }
}

void SessionNotices::tell(Kind kind, const QString& sentence, bool restart) {
  silent_ = false;
  shown_ = sentence;
  emit told(kind, sentence, restart);
}

void SessionNotices::withdraw() {
  silent_ = false;
  if (!std::exchange(shown_, {}).isEmpty()) emit withdrawn();
}

}  // namespace tapedeck::app
