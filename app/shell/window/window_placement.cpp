#include "app/shell/window/window_placement.h"

#include <QEvent>
#include <QScreen>
#include <QStyle>
#include <QWidget>
#include <QWindow>
#include <algorithm>
#include <chrono>

namespace tapedeck::app {
namespace {

/// The window manager's frame comes some time after the window is shown.
constexpr std::chrono::seconds frame_time{2};

}  // namespace

QRect fitted(const QRect& wanted, const QMargins& frame, const QRect& available) {
  QRect outer = wanted.marginsAdded(frame);
  outer.setSize(outer.size().boundedTo(available.size()));
  const int right = available.right() - outer.width() + 1, bottom = available.bottom() - outer.height() + 1;
  outer.moveTo(std::clamp(outer.x(), available.x(), right), std::clamp(outer.y(), available.y(), bottom));
  return outer.marginsRemoved(frame);
}

WindowPlacement::WindowPlacement(QWidget* window, QSize size, const QByteArray& saved)
    : QObject(window), window_(window) {
  framed_.setSingleShot(true);
  if (saved.isEmpty() || !window->restoreGeometry(saved)) {
    const int edge = window->style()->pixelMetric(QStyle::PM_MdiSubWindowFrameWidth);
    const int title = window->style()->pixelMetric(QStyle::PM_TitleBarHeight);
    const QRect available = window->screen()->availableGeometry();
    const QMargins usual(edge, title + edge, edge, edge);
    window->resize(fitted({available.topLeft(), size}, usual, available).size());
  }
  window->installEventFilter(this);
}

bool WindowPlacement::eventFilter(QObject*, QEvent* event) {
  if (event->type() == QEvent::Show) {
    framed_.start(frame_time);
    fit();
  } else if (framed_.isActive() && (event->type() == QEvent::Move || event->type() == QEvent::Resize)) {
    fit();
  }
  return false;
}

void WindowPlacement::fit() {
  const QWindow* handle = window_->windowHandle();
  if (!handle || window_->windowState() & (Qt::WindowMaximized | Qt::WindowFullScreen)) return;
  const QRect inside =
      fitted(window_->geometry(), handle->frameMargins(), window_->screen()->availableGeometry());
  if (inside != window_->geometry()) window_->setGeometry(inside);
}

}  // namespace tapedeck::app
