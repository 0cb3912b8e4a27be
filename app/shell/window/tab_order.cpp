#include "app/shell/window/tab_order.h"

#include <QWidget>

namespace tapedeck::app {
namespace {

/// One with a proxy is only another name for that, which has its own place in the order.
bool takesTab(const QWidget* widget, const QWidget* within) {
  return (widget->focusPolicy() & Qt::TabFocus) == Qt::TabFocus && !widget->focusProxy() &&
         widget->isEnabled() && widget->isVisibleTo(within);
}

}  // namespace

QWidget* nextByTab(QWidget* window, bool forward, const std::function<bool(const QWidget*)>& inSight) {
  QWidget* const from = window->focusWidget() ? window->focusWidget() : window;
  const auto step = [forward](const QWidget* widget) {
    return forward ? widget->nextInFocusChain() : widget->previousInFocusChain();
  };
  for (QWidget* widget = step(from); widget && widget != from; widget = step(widget))
    if (widget->window() == window && takesTab(widget, window) && inSight(widget)) return widget;
  return nullptr;
}

QWidget* firstByTab(QWidget* tree) {
  QWidget* widget = tree;
  do {
    if ((widget == tree || tree->isAncestorOf(widget)) && takesTab(widget, tree)) return widget;
    widget = widget->nextInFocusChain();
  } while (widget && widget != tree);
  return nullptr;
}

}  // namespace tapedeck::app
