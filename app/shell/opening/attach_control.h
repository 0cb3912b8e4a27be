// Attaching to running programs: the list, and the windows that look into them.
#pragma once

#include <QObject>
#include <functional>

#include "app/kernel/debug/attached_program.h"
#include "app/shell/window/actions.h"
#include "app/shell/window/message_bar.h"

class QWidget;

namespace tapedeck::app {

/// A program gets a window of its own as soon as it has answered; until then, and where it refuses, the
/// window that asked says so.
class AttachControl : public QObject {
  Q_OBJECT
 public:
  /// `kernel`: what `window` itself looks at.
  AttachControl(Kernel* kernel, MessageBar* messages, Actions& actions, QWidget* window);
  ~AttachControl() override;

  /// Shows the list.
  void choose();
  void attach(const Program& program);
  /// The program of that number; says so where there is none.
  void attach(qint64 process);
  void detach();

 signals:
  /// A window for this kernel, which is its own from now on.
  void opened(tapedeck::app::Kernel* kernel);
  void told(const QString& sentence);

 private:
  AttachedProgram* program_;  ///< what the window itself looks at; nullptr: something else
  MessageBar* messages_;
  QWidget* window_;
};

}  // namespace tapedeck::app
