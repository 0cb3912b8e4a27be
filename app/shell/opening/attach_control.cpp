#include "app/shell/opening/attach_control.h"

#include <QAction>
#include <QHash>
#include <QWidget>

#include "app/shell/opening/attach_dialog.h"
#include "app/shell/opening/guest.h"

namespace tapedeck::app {
namespace {

constexpr char about_attaching[] = "attach";

/// Windows of programs, by their kernels.
QHash<AttachedProgram*, QWidget*>& attachedWindows() {
  static QHash<AttachedProgram*, QWidget*> windows;
  return windows;
}

}  // namespace

AttachControl::AttachControl(Kernel* kernel, MessageBar* messages, Actions& actions, QWidget* window)
    : QObject(window),
      program_(qobject_cast<AttachedProgram*>(kernel)),
      messages_(messages),
      window_(window) {
  connect(actions["session.attach"], &QAction::triggered, this, &AttachControl::choose);
  connect(actions["session.detach"], &QAction::triggered, this, &AttachControl::detach);
  if (program_) attachedWindows().insert(program_, window);
}

AttachControl::~AttachControl() {
  attachedWindows().remove(program_);
}

void AttachControl::choose() {
  AttachDialog dialog(window_);
  if (dialog.exec() != QDialog::Accepted) return;
  if (const auto program = dialog.chosen()) attach(*program);
}

void AttachControl::attach(qint64 process) {
  for (const Program& program : runningPrograms())
    if (program.process == process) return attach(program);
  messages_->show(MessageBar::Kind::error,
                  QString("No program with PID %1 can be attached to. Start it with %2")
                      .arg(process)
                      .arg(howToStartProgram()),
                  {}, about_attaching);
}

void AttachControl::attach(const Program& program) {
  for (auto entry = attachedWindows().cbegin(); entry != attachedWindows().cend(); ++entry) {
    AttachedProgram* known = entry.key();
    if (known->state() == KernelState::busy && known->program().sameAs(program)) {
      entry.value()->raise();
      return entry.value()->activateWindow();
    }
  }
  for (const AttachedProgram* asked : findChildren<AttachedProgram*>(Qt::FindDirectChildrenOnly))
    if (asked->state() == KernelState::starting && asked->program().sameAs(program)) return;
  messages_->show(MessageBar::Kind::information, QString("Attaching to %1 …").arg(program.title()), {},
                  about_attaching);
  auto* kernel = new AttachedProgram(program, this);
  awaitGuest(kernel, this, messages_, about_attaching, [this, kernel] { emit opened(kernel); });
  kernel->attach();
}

void AttachControl::detach() {
  if (!program_ || program_->state() != KernelState::busy) return;
  program_->detach();
  emit told(QString("Detached from %1, which keeps running.").arg(program_->title()));
}

}  // namespace tapedeck::app
