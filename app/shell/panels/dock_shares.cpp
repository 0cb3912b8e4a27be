#include "app/shell/panels/dock_shares.h"

#include <QDataStream>
#include <QDockWidget>
#include <QLayout>
#include <QMainWindow>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace tapedeck::app {

namespace {

// A panel that was dropped glides into its place.
constexpr std::chrono::milliseconds glide_time{500};
// After restoreState() QMainWindow repeats the layout for 150 ms and overrides sizes that are set meanwhile.
constexpr std::chrono::milliseconds restoring_time{200};

constexpr std::array<Qt::DockWidgetArea, 4> all_areas = {Qt::LeftDockWidgetArea, Qt::RightDockWidgetArea,
                                                         Qt::TopDockWidgetArea, Qt::BottomDockWidgetArea};

QString nameOf(Qt::DockWidgetArea area) {
  return QString("area.%1").arg(static_cast<int>(area));
}

/// Shares of panels that stand in rows, each wide enough to fill its row: where a neighbour is hidden, the
/// others have its room, and all rows of an area are as wide as the area, or as the widest.
QHash<const QDockWidget*, double> filledRows(const QList<QDockWidget*>& docks,
                                             const QHash<const QObject*, QSizeF>& shares, double widest) {
  const auto rowOf = [&](const QDockWidget* dock) {
    double width = 0;
    for (const QDockWidget* other : docks)
      if (other->y() < dock->y() + dock->height() && dock->y() < other->y() + other->height())
        width += shares[other].width();
    return width;
  };
  for (const QDockWidget* dock : docks) widest = std::max(widest, rowOf(dock));
  QHash<const QDockWidget*, double> filled;
  for (const QDockWidget* dock : docks) filled[dock] = shares[dock].width() * widest / rowOf(dock);
  return filled;
}

QList<QSize> sizesOf(const QList<QDockWidget*>& docks) {
  QList<QSize> sizes;
  for (const QDockWidget* dock : docks) sizes << dock->size();
  return sizes;
}

}  // namespace

DockShares::DockShares(QMainWindow* window, const QList<QDockWidget*>& docks)
    : QObject(window), window_(window), docks_(docks) {
  settled_.setSingleShot(true);
  settled_.setInterval(0);  // the layout may still be at work
  connect(&settled_, &QTimer::timeout, this, [this] { std::exchange(taking_, false) ? take() : apply(); });
  restored_.setSingleShot(true);
  restored_.setInterval(restoring_time);
  connect(&restored_, &QTimer::timeout, this, &DockShares::apply);
  moved_.setSingleShot(true);
  moved_.setInterval(glide_time);
  connect(&moved_, &QTimer::timeout, this, &DockShares::take);
  window->installEventFilter(this);
  for (QDockWidget* dock : docks) watch(dock);
}

void DockShares::watch(QDockWidget* dock) {
  dock->installEventFilter(this);
  const auto moved = [this] {
    if (!arranging_) moved_.start();
  };
  connect(dock, &QDockWidget::topLevelChanged, this, moved);
  connect(dock, &QObject::destroyed, this, [this, dock] {
    docks_.removeOne(dock);
    shares_.remove(dock);
  });
}

void DockShares::set(const QDockWidget* dock, QSizeF share) {
  shares_[dock] = share;
}

void DockShares::setArea(Qt::DockWidgetArea area, double share) {
  areas_[area] = share;
}

void DockShares::setArranging(bool arranging) {
  arranging_ = arranging;
  if (!arranging) restored_.start();
}

QByteArray DockShares::save() const {
  QByteArray saved;
  QDataStream stream(&saved, QIODevice::WriteOnly);
  for (const QDockWidget* dock : docks_)
    if (shares_.contains(dock)) stream << dock->objectName() << shares_[dock];
  if (saved.isEmpty()) return saved;
  for (const Qt::DockWidgetArea area : all_areas)
    if (areas_.contains(area)) stream << nameOf(area) << QSizeF(areas_[area], areas_[area]);
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
    for (const Qt::DockWidgetArea area : all_areas)
      if (nameOf(area) == name) areas_[area] = share.width();
  }
}

// A panel behind another one's tab is visible, too, but is placed outside of the window.
bool DockShares::isSeen(const QDockWidget* dock) const {
  return dock->isVisible() && !dock->isFloating() && window_->rect().intersects(dock->geometry());
}

QList<QDockWidget*> DockShares::seenIn(Qt::DockWidgetArea area) const {
  QList<QDockWidget*> docks;
  for (QDockWidget* dock : docks_)
    if (isSeen(dock) && window_->dockWidgetArea(dock) == area) docks << dock;
  return docks;
}

void DockShares::apply() {
  window_->layout()->activate();  // panels just shown or placed have no sizes before that
  for (const Qt::DockWidgetArea area : all_areas) {
    QList<QDockWidget*> docks = seenIn(area);
    QList<int> widths, heights;
    docks.removeIf([&](const QDockWidget* dock) { return !shares_.contains(dock); });
    if (docks.isEmpty()) continue;
    const QHash<const QDockWidget*, double> filled = filledRows(docks, shares_, areas_.value(area));
    for (const QDockWidget* dock : docks) {
      widths << std::max(1, qRound(filled[dock] * window_->width()));
      heights << std::max(1, qRound(shares_[dock].height() * window_->height()));
    }
    window_->resizeDocks(docks, widths, Qt::Horizontal);
    window_->resizeDocks(docks, heights, Qt::Vertical);
  }
}

void DockShares::take() {
  for (QDockWidget* dock : docks_) {
    if (!isSeen(dock)) continue;
    QSizeF& share = shares_[dock];
    const auto differs = [](double part, int whole, int length) {
      return std::abs(part * whole - length) > 1;
    };
    if (differs(share.width(), window_->width(), dock->width()))  // else rounding would add up
      share.setWidth(static_cast<double>(dock->width()) / window_->width());
    if (differs(share.height(), window_->height(), dock->height()))
      share.setHeight(static_cast<double>(dock->height()) / window_->height());
    const QSizeF taken = share;
    for (const QDockWidget* behind : window_->tabifiedDockWidgets(dock)) shares_[behind] = taken;
  }
  for (const Qt::DockWidgetArea area : all_areas) {
    QRect room;
    for (const QDockWidget* dock : seenIn(area)) room |= dock->geometry();
    if (!room.isEmpty() && std::abs(areas_.value(area) * window_->width() - room.width()) > 1)
      areas_[area] = static_cast<double>(room.width()) / window_->width();
  }
}

bool DockShares::eventFilter(QObject* object, QEvent* event) {
  if (object != window_) {
    const bool shown = event->type() == QEvent::Show;
    if (shown || event->type() == QEvent::Hide) {
      if (shown && !arranging_ && !shares_.contains(object)) taking_ = true;
      settled_.start();
    }
    return false;
  }
  switch (event->type()) {
    case QEvent::Resize:
      // The window's layout has placed the panels already; their shares are those from before.
      apply();
      break;
    case QEvent::MouseButtonPress:
      pressed_ = sizesOf(docks_);
      break;
    case QEvent::MouseButtonRelease:
      // Only splitters get the mouse from the window itself and change what the panels have.
      if (!pressed_.isEmpty() && std::exchange(pressed_, {}) != sizesOf(docks_)) take();
      break;
    default:
      break;
  }
  return false;
}

}  // namespace tapedeck::app
