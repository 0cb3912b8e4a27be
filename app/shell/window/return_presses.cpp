#include "app/shell/window/return_presses.h"

#include <QApplication>
#include <QKeyEvent>
#include <QPointer>
#include <QPushButton>
#include <QToolButton>

namespace tapedeck::app {
namespace {

class ReturnPresses : public QObject {
 public:
  using QObject::QObject;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() != QEvent::KeyPress || !watched->isWidgetType()) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool returns = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
    const bool plain = (key->modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier;
    if (!returns || !plain) return false;
    auto* button = qobject_cast<QAbstractButton*>(watched);
    if (!button || !button->isEnabled()) return false;
    if (!qobject_cast<QPushButton*>(button) && !qobject_cast<QToolButton*>(button)) return false;
    // A key that is held presses once: what it opened must not be pressed by it, too.
    if (!key->isAutoRepeat()) press(button);
    event->accept();
    return true;
  }

 private:
  static void press(QAbstractButton* button) {
    auto* tool = qobject_cast<QToolButton*>(button);
    if (tool && tool->menu() && tool->popupMode() == QToolButton::InstantPopup)
      tool->showMenu();
    else
      button->click();
  }
};

}  // namespace

void letReturnPressButtons() {
  static QPointer<QObject> installed;
  if (installed) return;
  installed = new ReturnPresses(qApp);
  qApp->installEventFilter(installed);
}

}  // namespace tapedeck::app
