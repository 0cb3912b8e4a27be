// Attaching to running programs: the list, and the windows of attached programs.
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
  /// `kernel`: what `window` itself shows.
  AttachControl(Kernel* kernel, MessageBar* messages, Actions& actions, QWidget* window);
  ~AttachControl() override;

  /// Shows the list.
  void choose();
  void attach(const Program& program);
  /// Attaches to the program of that process ID; reports where there is none.
  void attach(qint64 process);
  void detach();

 signals:
  /// Asks for a window for this kernel, and passes ownership of it.
  void opened(tapedeck::app::Kernel* kernel);
  void told(const QString& sentence);

 private:
  AttachedProgram* program_;  ///< what the window itself shows; nullptr: something else
  MessageBar* messages_;
  QWidget* window_;
};

}  // namespace tapedeck::app
