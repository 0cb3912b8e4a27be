// All messages of a session to its user: what happened to its process, what it can't do, what failed.
#pragma once

#include <QObject>

#include "app/kernel/kernel.h"
#include "inspector/model/session/session.h"

namespace tapedeck::app {

class SessionNotices : public QObject {
  Q_OBJECT
 public:
  enum class Kind { warning, error };
  SessionNotices(Kernel* kernel, inspector::Session* session, QObject* parent = nullptr);

 signals:
  /// `restart`: what the user can do about it is to start a new session.
  void told(tapedeck::app::SessionNotices::Kind kind, const QString& sentence, bool restart);
  /// The last message no longer holds.
  void withdrawn();

 private:
  void tell(Kind kind, const QString& sentence, bool restart);
  void withdraw();
  void follow(KernelState state, const QString& sentence);
  void take(KernelNotice notice, const QString& sentence);

  QString shown_;
  bool silent_ = false;
};

}  // namespace tapedeck::app
