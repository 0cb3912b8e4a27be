#include "app/shell/window/typing_watch.h"

#include <QApplication>
#include <QKeyEvent>
#include <QWidget>
#include <chrono>

namespace tapedeck::app {
namespace {

constexpr std::chrono::milliseconds pause_time{2000};

bool writes(const QKeyEvent& key) {
  if (key.key() == Qt::Key_Backspace || key.key() == Qt::Key_Delete) return true;
  if (key.modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) return false;
  if (key.key() == Qt::Key_Return || key.key() == Qt::Key_Enter) return key.modifiers() == Qt::NoModifier;
  return key.key() == Qt::Key_Tab || (!key.text().isEmpty() && key.text()[0].isPrint());
}

bool isModifier(int key) {
  return key == Qt::Key_Shift || key == Qt::Key_Control || key == Qt::Key_Alt || key == Qt::Key_Meta ||
         key == Qt::Key_AltGr;
}

}  // namespace

TypingWatch::TypingWatch(QWidget* window) : QObject(window), window_(window) {
  pause_.setSingleShot(true);
  pause_.setInterval(pause_time);
  connect(&pause_, &QTimer::timeout, this, &TypingWatch::ended);
  qApp->installEventFilter(this);
}

bool TypingWatch::eventFilter(QObject* object, QEvent* event) {
  // Shortcuts are seen only where the field is asked whether it wants the key for itself.
  if (event->type() != QEvent::ShortcutOverride && event->type() != QEvent::KeyPress) return false;
  if (object != QApplication::focusWidget()) return false;
  auto* field = static_cast<QWidget*>(object);
  if (field->window() != window_) return false;
  const auto& key = static_cast<const QKeyEvent&>(*event);
  if (writes(key)) {
    if (field->testAttribute(Qt::WA_InputMethodEnabled)) pause_.start();
  } else if (pause_.isActive() && !isModifier(key.key()) && key.modifiers() & ~Qt::KeypadModifier) {
    pause_.stop();
    emit ended();
  } else if (pause_.isActive() && key.key() >= Qt::Key_F1 && key.key() <= Qt::Key_F35) {
    pause_.stop();
    emit ended();
  }
  return false;
}

}  // namespace tapedeck::app
