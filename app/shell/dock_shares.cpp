#include "app/shell/dock_shares.h"

#include <QDataStream>
#include <QDockWidget>
#include <QEvent>
#include <QMainWindow>
#include <algorithm>
#include <chrono>
#include <cmath>

namespace tapedeck::app {

namespace {

// In a window that is too small for them panels get what there is, in more than one turn of the layout.
constexpr std::chrono::milliseconds follow_time{100};

}  // namespace

DockShares::DockShares(QMainWindow* window, const QList<QDockWidget*>& docks)
    : QObject(window), window_(window), docks_(docks) {
  settled_.setSingleShot(true);
  connect(&settled_, &QTimer::timeout, this, &DockShares::take);
  followed_.setSingleShot(true);
  connect(&followed_, &QTimer::timeout, this, [this] { followers_.clear(); });
  window->installEventFilter(this);
  for (QDockWidget* dock : docks) {
    dock->installEventFilter(this);
    connect(dock, &QObject::destroyed, this, [this, dock] {
      docks_.removeOne(dock);
      shares_.remove(dock);
      followers_.remove(dock);
    });
  }
}

QByteArray DockShares::save() const {
  QByteArray saved;
  QDataStream stream(&saved, QIODevice::WriteOnly);
  for (const QDockWidget* dock : docks_)
    if (shares_.contains(dock)) stream << dock->objectName() << shares_[dock];
  return saved;
}

void DockShares::restore(const QByteArray& saved) {
  QDataStream stream(saved);
  QString name;
  QSizeF share;
  while (!stream.atEnd()) {
    stream >> name >> share;
    const auto within = [](double part) { return std::isfinite(part) && part > 0 && part < 1; };
    if (stream.status() != QDataStream::Ok || !within(share.width()) || !within(share.height())) return;
    for (const QDockWidget* dock : docks_)
      if (dock->objectName() == name) shares_[dock] = share;
  }
}

void DockShares::apply() {
  for (const Qt::DockWidgetArea area :
       {Qt::LeftDockWidgetArea, Qt::RightDockWidgetArea, Qt::TopDockWidgetArea, Qt::BottomDockWidgetArea}) {
    QList<QDockWidget*> docks;
    QList<int> widths, heights;
    for (QDockWidget* dock : docks_) {
      if (!dock->isVisible() || dock->isFloating() || !shares_.contains(dock) ||
          window_->dockWidgetArea(dock) != area)
        continue;
      docks << dock;
      widths << std::max(1, qRound(shares_[dock].width() * window_->width()));
      heights << std::max(1, qRound(shares_[dock].height() * window_->height()));
    }
    if (docks.isEmpty()) continue;
    window_->resizeDocks(docks, widths, Qt::Horizontal);
    window_->resizeDocks(docks, heights, Qt::Vertical);
  }
}

void DockShares::take() {
  for (const QDockWidget* dock : docks_) {
    if (!dock->isVisible() || dock->isFloating() || followers_.contains(dock)) continue;
    QSizeF& share = shares_[dock];
    const auto differs = [](double part, int whole, int length) {
      return std::abs(part * whole - length) > 1;
    };
    if (differs(share.width(), window_->width(), dock->width()))  // else rounding would add up
      share.setWidth(static_cast<double>(dock->width()) / window_->width());
    if (differs(share.height(), window_->height(), dock->height()))
      share.setHeight(static_cast<double>(dock->height()) / window_->height());
  }
}

bool DockShares::eventFilter(QObject* object, QEvent* event) {
  if (object == window_) {
    // Its layout has placed the panels already; their shares are those from before.
    if (event->type() == QEvent::Resize) {
      apply();
      const QList<const QObject*> known = shares_.keys();
      followers_ = QSet<const QObject*>(known.begin(), known.end());
      followed_.start(follow_time);
    }
  } else if (event->type() == QEvent::Resize || event->type() == QEvent::Show) {
    settled_.start(0);  // the layout may still be at work
  }
  return false;
}

}  // namespace tapedeck::app
