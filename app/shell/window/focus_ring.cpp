#include "app/shell/window/focus_ring.h"

#include <QApplication>
#include <QEvent>
#include <QMenu>
#include <QMenuBar>
#include <QPainter>
#include <utility>

#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/notebook_view.h"
#include "inspector/ui/theme.h"

namespace tapedeck::app {
namespace {

constexpr int breadth = 2;  ///< pixels

bool showsItsFocus(const QWidget* widget) {
  return qobject_cast<const NotebookView*>(widget) || qobject_cast<const CodeEditor*>(widget) ||
         qobject_cast<const QMenu*>(widget) || qobject_cast<const QMenuBar*>(widget);
}

/// In the window's coordinates, cut at all that it lies in.
QRect inSight(const QWidget* widget, const QWidget* window) {
  QRect rect(widget->mapTo(window, QPoint()), widget->size());
  for (const QWidget* outer = widget->parentWidget(); outer && outer != window; outer = outer->parentWidget())
    rect &= QRect(outer->mapTo(window, QPoint()), outer->size());
  return rect & window->rect();
}

}  // namespace

// Qt leaves focus frames out of what screen readers see.
FocusRing::FocusRing(QWidget* window) : QFocusFrame(window) {
  setObjectName("focusRing");
  setAttribute(Qt::WA_TransparentForMouseEvents);
  setFocusPolicy(Qt::NoFocus);
  hide();
  connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) { follow(now); });
}

void FocusRing::follow(QWidget* widget) {
  for (const auto& one : std::exchange(watched_, {}))
    if (one) one->removeEventFilter(this);
  around_ = widget && widget->window() == window() && widget != window() && !showsItsFocus(widget) ? widget
                                                                                                   : nullptr;
  for (QWidget* outer = around_; outer; outer = outer == window() ? nullptr : outer->parentWidget()) {
    outer->installEventFilter(this);
    watched_ << outer;
  }
  place();
}

void FocusRing::place() {
  const QRect rect = around_ && around_->isVisible() ? inSight(around_, window()) : QRect();
  if (rect.width() <= 2 * breadth || rect.height() <= 2 * breadth) return hide();
  setGeometry(rect);
  // What is inside is neither covered nor drawn again.
  const QRect own = this->rect();
  setMask(QRegion(own) - QRegion(own.adjusted(breadth, breadth, -breadth, -breadth)));
  show();
  raise();
}

bool FocusRing::eventFilter(QObject*, QEvent* event) {
  switch (event->type()) {
    case QEvent::Move:
    case QEvent::Resize:
    case QEvent::Show:
    case QEvent::Hide:
    case QEvent::ParentChange:
      place();
      break;
    case QEvent::PaletteChange:
      update();
      break;
    default:
      break;
  }
  return false;
}

void FocusRing::paintEvent(QPaintEvent*) {
  QPainter(this).fillRect(rect(), inspector::Theme::fromPalette(palette()).accent);
}

}  // namespace tapedeck::app
