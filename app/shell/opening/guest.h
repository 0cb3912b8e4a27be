// A window on an attached program or a trace file.
#pragma once

#include <QObject>
#include <functional>

#include "app/kernel/debug/attached_program.h"
#include "app/kernel/debug/trace_session.h"
#include "app/shell/window/message_bar.h"
#include "app/shell/window/window_parts.h"

namespace tapedeck::app {

/// Waits until `kernel`, a child of `asking`, answers; then removes its parent and passes ownership to
/// `opened`. Where it does not answer, the message of that topic says why, and `kernel` is deleted.
void awaitGuest(GuestKernel* kernel, QObject* asking, MessageBar* messages, const char* topic,
                const std::function<void()>& opened);

/// Its lines are read-only; actions that would run cells are disabled, and say why.
class Guest : public QObject {
  Q_OBJECT
 public:
  explicit Guest(const WindowParts& parts, QObject* parent = nullptr);
  /// Call it after the window has enabled a notebook's actions.
  void disableActions();

 private:
  void lookAt(AttachedProgram& program);
  void lookAt(const TraceSession& trace);
  void tellUnread(const QString& problem);

  WindowParts parts_;
  QString doubt_;  ///< last reported: that files are newer than the program
};

}  // namespace tapedeck::app
