// A window that looks at what runs, or ran, elsewhere: an attached program, or a trace file.
#pragma once

#include <QObject>
#include <functional>

#include "app/kernel/debug/attached_program.h"
#include "app/kernel/debug/trace_session.h"
#include "app/shell/window/message_bar.h"
#include "app/shell/window/window_parts.h"

namespace tapedeck::app {

/// Waits until `kernel`, a child of `asking`, answers: then it is nobody's child, and `opened` gets it. Where
/// it does not, the message of that topic says why, and it goes.
void awaitGuest(GuestKernel* kernel, QObject* asking, MessageBar* messages, const char* topic,
                const std::function<void()>& opened);

/// Its lines are shown and can't be changed; what would run cells is disabled, and says why.
class Guest : public QObject {
  Q_OBJECT
 public:
  explicit Guest(const WindowParts& parts, QObject* parent = nullptr);
  /// After the window has enabled what belongs to a notebook.
  void disableActions();

 private:
  void lookAt(AttachedProgram& program);
  void lookAt(const TraceSession& trace);
  void tellUnread(const QString& problem);

  WindowParts parts_;
  QString doubt_;  ///< told last: that files are newer than the program
};

}  // namespace tapedeck::app
