#include "app/shell/panels/panel_docks.h"

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QMainWindow>
#include <QMenu>
#include <algorithm>
#include <utility>

#include "app/shell/panels/dock_shares.h"
#include "app/shell/panels/help_button.h"
#include "app/shell/panels/panel_escape.h"
#include "app/shell/panels/panel_frame.h"
#include "app/shell/window/tab_order.h"
#include "app/shell/window/typing_watch.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/keyed_action.h"

namespace tapedeck::app {

using inspector::PanelDescriptor;
using inspector::PanelPlace;

namespace {

/// Panels that a workspace does not name go below those that it does, when the user shows them.
constexpr int rows_of_others = 100;
/// They leave the notebook as much of the window's width at least.
constexpr double least_notebook = 0.4;

Qt::DockWidgetArea dockArea(PanelPlace::Area area) {
  switch (area) {
    case PanelPlace::Area::left:
      return Qt::LeftDockWidgetArea;
    case PanelPlace::Area::right:
      return Qt::RightDockWidgetArea;
    case PanelPlace::Area::below:
      break;
  }
  return Qt::BottomDockWidgetArea;
}

PanelPlace placeIn(const PanelDescriptor& descriptor, const QString& workspace) {
  const auto place = descriptor.places.constFind(workspace);
  if (place != descriptor.places.constEnd()) return *place;
  PanelPlace other = descriptor.places.value(inspector::workspace_debug, descriptor.places.first());
  other.row += rows_of_others;
  return other;
}

struct Placed {
  PanelPlace place;
  QDockWidget* dock;
};

/// The share of the window that the widest row has, of those that the workspace names, or of the others.
/// `list`: in order.
double widestRow(const QList<Placed>& list, bool named) {
  double widest = 0, width = 0;
  const Placed* left = nullptr;
  for (const Placed& one : list) {
    if ((one.place.row < rows_of_others) != named) continue;
    const bool same_row = left && left->place.row == one.place.row;
    if (same_row && left->place.column == one.place.column) continue;
    width = (same_row ? width : 0) + one.place.width;
    widest = std::max(widest, width);
    left = &one;
  }
  return widest;
}

/// The share of the window's height that the rows have together which the workspace names. `list`: in order.
double namedHeight(const QList<Placed>& list) {
  double height = 0;
  int row = -1;
  for (const Placed& one : list) {
    if (one.place.row == row || one.place.row >= rows_of_others) continue;
    row = one.place.row;
    height += one.place.height;
  }
  return height;
}

}  // namespace

PanelDocks::PanelDocks(QMainWindow* window, const QList<PanelDescriptor>& panels,
                       const inspector::PanelContext& context, TypingWatch* typing)
    : QObject(window), window_(window), typing_(typing) {
  // The code's curves are below the code, the panels about one step beside it.
  window->setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  window->setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  QList<QDockWidget*> docks;
  for (const PanelDescriptor& descriptor : panels) {
    entries_ << makeEntry(descriptor, context);
    docks << entries_.last().dock;
  }
  shares_ = new DockShares(window, docks);
  connect(new PanelEscape(docks, this), &PanelEscape::escaped, this, &PanelDocks::left);
  connect(typing, &TypingWatch::ended, this, &PanelDocks::showWhatIsWanted);
}

// Views end before the models that they read.
PanelDocks::~PanelDocks() {
  for (const Entry& entry : entries_) delete entry.dock;
}

PanelDocks::Entry PanelDocks::makeEntry(const PanelDescriptor& descriptor,
                                        const inspector::PanelContext& context) {
  auto* dock = new QDockWidget(descriptor.title, window_);
  dock->setObjectName("panel." + descriptor.id);
  inspector::Panel* panel = descriptor.create(context);
  dock->setWidget(new PanelFrame(panel, descriptor.minimum));
  dock->setToolTip(inspector::plainTip(descriptor.tip));
  dock->installEventFilter(this);
  connect(new HelpButton(dock), &QToolButton::clicked, this,
          [this, id = descriptor.id] { emit helpWanted(id); });
  QAction* toggle = dock->toggleViewAction();
  toggle->setText("Show " + descriptor.title);  // a list of all panels has these, too
  toggle->setObjectName("panel." + descriptor.id);
  inspector::setKey(toggle, {descriptor.key}, QString("Show or hide the panel %1").arg(descriptor.title));
  toggle->installEventFilter(this);
  window_->addAction(toggle);
  connect(toggle, &QAction::triggered, this, [this, dock, panel, id = descriptor.id](bool on) {
    const bool stays = std::exchange(stays_, QString()) == id;
    if (!stays) toggled(id, on);
    if (on) dock->raise();  // it may come beside others that have tabs
    if (!std::exchange(byKey_, false) || !(on || stays)) return;
    panel->setFocus(Qt::ShortcutFocusReason);
    const auto inside = [panel] {
      const QWidget* focus = QApplication::focusWidget();
      return focus == panel || panel->isAncestorOf(focus);
    };
    if (QWidget* first = inside() ? nullptr : firstByTab(panel)) first->setFocus(Qt::ShortcutFocusReason);
    // Nothing in it could take the keyboard: its frame does, for Esc and for the panel's own keys.
    if (!inside()) dock->setFocus(Qt::ShortcutFocusReason);
  });
  connect(dock, &QDockWidget::visibilityChanged, this, [this, dock, id = descriptor.id](bool visible) {
    if (visible && behind_.remove(id) && !placing_) chosen_ << id;
    if (visible) return;
    chosen_.remove(id);
    if (dock->isHidden()) {
      // However it was hidden: keys must not reach nothing.
      QMetaObject::invokeMethod(this, &PanelDocks::keepFocus, Qt::QueuedConnection);
      return;
    }
    behind_ << id;
    // Keystrokes must not reach a hidden widget.
    if (window_->isVisible() && isBehind(dock) && dock->isAncestorOf(QApplication::focusWidget()))
      emit left();
  });
  window_->addActions(panel->exportActions());
  connect(panel, &inspector::Panel::emptyChanged, this, [this] {
    if (!typing_->typing()) showWhatIsWanted();
  });
  connect(panel, &inspector::Panel::done, this, &PanelDocks::done);
  connect(panel, &inspector::Panel::failed, this, &PanelDocks::failed);
  connect(panel, &inspector::Panel::lineWanted, this, &PanelDocks::lineWanted);
  connect(panel, &inspector::Panel::guideWanted, this, [this, id = descriptor.id] { emit helpWanted(id); });
  return {descriptor, panel, dock};
}

void PanelDocks::keepFocus() {
  const QWidget* focus = QApplication::focusWidget();
  if (window_->isActiveWindow() && (focus == nullptr || focus == window_ || !focus->isVisible())) emit left();
}

QList<inspector::Panel*> PanelDocks::panels() const {
  QList<inspector::Panel*> list;
  for (const Entry& entry : entries_) list << entry.panel;
  return list;
}

QList<PanelDescriptor> PanelDocks::descriptors() const {
  QList<PanelDescriptor> list;
  for (const Entry& entry : entries_) list << entry.descriptor;
  return list;
}

inspector::Panel* PanelDocks::panel(const QString& id) const {
  for (const Entry& entry : entries_)
    if (entry.descriptor.id == id) return entry.panel;
  return nullptr;
}

void PanelDocks::reveal(const QString& id) {
  if (!enabled_) return;
  for (const Entry& entry : entries_) {
    if (entry.descriptor.id != id) continue;
    toggled(id, true);
    entry.dock->show();
    entry.dock->raise();
  }
}

QStringList PanelDocks::asked() const {
  QStringList behind, in_front;
  for (const Entry& entry : entries_) {
    const QString& id = entry.descriptor.id;
    if (asked_.contains(id)) (behind_.contains(id) ? behind : in_front) << id;
  }
  return behind + in_front;
}

void PanelDocks::ask(const QStringList& ids) {
  for (const QString& id : ids) toggled(id, true);
  showWhatIsWanted();
  const bool outer = std::exchange(placing_, true);
  for (const QString& id : ids)
    for (const Entry& entry : entries_)
      if (entry.descriptor.id == id) entry.dock->raise();
  placing_ = outer;
}

QString PanelDocks::focused() const {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), &PanelDocks::hasFocus);
  return entry == entries_.end() ? QString() : entry->descriptor.id;
}

bool PanelDocks::hasFocus(const Entry& entry) {
  const QWidget* focus = QApplication::focusWidget();
  return focus == entry.dock || entry.dock->isAncestorOf(focus);
}

// Docks with tabs lie outside of the window while another one is in front.
bool PanelDocks::isBehind(const QDockWidget* dock) const {
  return !dock->isFloating() && !window_->rect().intersects(dock->geometry());
}

bool PanelDocks::inSight(const QWidget* widget) const {
  return std::none_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.dock->isAncestorOf(widget) && isBehind(entry.dock);
  });
}

void PanelDocks::setEnabled(bool enabled) {
  enabled_ = enabled;
  for (const Entry& entry : entries_) {
    entry.dock->toggleViewAction()->setEnabled(enabled);
    for (QAction* action : entry.panel->exportActions()) action->setEnabled(enabled);
  }
  showWhatIsWanted();
}

void PanelDocks::showWhatIsWanted() {
  const bool outer = std::exchange(placing_, true);
  QList<const Entry*> in_front, come;
  for (const Entry& entry : entries_)
    if (!entry.dock->isHidden() && !behind_.contains(entry.descriptor.id)) in_front << &entry;
  for (const Entry& entry : entries_) {
    const QString& id = entry.descriptor.id;
    const bool shown = enabled_ && wanted_.contains(id) && (!entry.panel->isEmpty() || asked_.contains(id));
    if (shown == !entry.dock->isHidden()) continue;
    entry.dock->setVisible(shown);
    if (shown) come << &entry;
  }
  for (const Entry* entry : come) {
    const QList<QDockWidget*> group = window_->tabifiedDockWidgets(entry->dock);
    const auto seen = std::find_if(in_front.begin(), in_front.end(), [&](const Entry* other) {
      return group.contains(other->dock) && !other->dock->isHidden();
    });
    if (seen != in_front.end() && keepsItsPlace(**seen, *entry)) {
      (*seen)->dock->raise();
      continue;
    }
    if (seen != in_front.end()) in_front.erase(seen);
    entry->dock->raise();
    in_front << entry;
  }
  placing_ = outer;
}

/// A panel that opens automatically does not cover one that the user chose, nor an earlier
/// one.
bool PanelDocks::keepsItsPlace(const Entry& seen, const Entry& come) const {
  const QString& id = seen.descriptor.id;
  return asked_.contains(id) || chosen_.contains(id) || &seen < &come;
}

void PanelDocks::toggled(const QString& id, bool on) {
  if (on) {
    wanted_ << id;
    asked_ << id;
  } else {
    wanted_.remove(id);
    asked_.remove(id);
  }
}

// The button of its frame closes a panel, too.
bool PanelDocks::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::Shortcut) byKey_ = true;
  if (event->type() != QEvent::Close) return false;
  for (const Entry& entry : entries_) {
    if (entry.dock != object) continue;
    // A user who presses the key of a panel that is behind another wants to see it. (One that came there was
    // never visible, and it would get no hide event.) And of a visible one, to work in it: only where
    // the focus is in it already, the key hides it.
    const bool elsewhere = byKey_ && !hasFocus(entry);
    if ((isBehind(entry.dock) || elsewhere) && window_->isVisible()) {
      event->ignore();
      entry.dock->raise();
      entry.dock->toggleViewAction()->setChecked(true);
      stays_ = entry.descriptor.id;
      return true;
    }
    toggled(entry.descriptor.id, false);
    if (hasFocus(entry)) emit left();
  }
  return false;
}

void PanelDocks::place(const QString& workspace, PanelPlace::Area area) {
  QList<Placed> list;
  for (const Entry& entry : entries_)
    if (const PanelPlace place = placeIn(entry.descriptor, workspace); place.area == area)
      list << Placed{place, entry.dock};
  std::stable_sort(list.begin(), list.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.place.row, a.place.column) < std::pair(b.place.row, b.place.column);
  });
  if (const double widest = widestRow(list, false); area == PanelPlace::Area::right && widest > 0) {
    double left = 0;
    for (const Entry& entry : entries_)
      if (const auto place = entry.descriptor.places.constFind(workspace);
          place != entry.descriptor.places.constEnd() && place->area == PanelPlace::Area::left)
        left = std::max(left, place->width);
    const double narrower = std::min(1.0, (1 - least_notebook - left) / widest);
    for (Placed& one : list)
      if (one.place.row >= rows_of_others) one.place.width *= narrower;
  }
  // A user who shows one of the others wants to work with it: it gets as much of the height as the rest
  // together.
  const double height = namedHeight(list);
  for (Placed& one : list)
    if (one.place.row >= rows_of_others) one.place.height = std::max(one.place.height, height);
  // The rows' first panels stand below each other, before any of them is split.
  const Placed* above = nullptr;
  for (const Placed& one : list) {
    if (above && above->place.row == one.place.row) continue;
    window_->addDockWidget(dockArea(area), one.dock);
    if (above) window_->splitDockWidget(above->dock, one.dock, Qt::Vertical);
    above = &one;
  }
  // Then the columns of a row, before any of them gets tabs: what is split off a dock with tabs becomes one.
  const Placed* before = nullptr;
  for (const Placed& one : list) {
    const bool same_row = before && before->place.row == one.place.row;
    if (same_row && before->place.column == one.place.column) continue;
    if (same_row) {
      window_->addDockWidget(dockArea(area), one.dock);
      window_->splitDockWidget(before->dock, one.dock, Qt::Horizontal);
    }
    before = &one;
  }
  shares_->setArea(dockArea(area), widestRow(list, true));
  const Placed* front = nullptr;
  for (const Placed& one : list) {
    shares_->set(one.dock, QSizeF(one.place.width, one.place.height));
    if (front && front->place.row == one.place.row && front->place.column == one.place.column) {
      window_->addDockWidget(dockArea(area), one.dock);
      window_->tabifyDockWidget(front->dock, one.dock);
    } else {
      if (front) front->dock->raise();
      front = &one;
    }
  }
  if (front) front->dock->raise();
}

void PanelDocks::arrange(const QString& workspace) {
  shares_->setArranging(true);
  placing_ = true;
  chosen_.clear();
  wanted_.clear();
  asked_.clear();
  for (const Entry& entry : entries_) {
    entry.dock->setFloating(false);
    window_->removeDockWidget(entry.dock);
    if (entry.descriptor.places.contains(workspace)) wanted_ << entry.descriptor.id;
  }
  for (const auto area : {PanelPlace::Area::left, PanelPlace::Area::right, PanelPlace::Area::below})
    place(workspace, area);
  showWhatIsWanted();
  placing_ = false;
  shares_->apply();
  shares_->setArranging(false);
}

PanelLayout PanelDocks::layout() const {
  PanelLayout layout;
  for (const Entry& entry : entries_)
    if (wanted_.contains(entry.descriptor.id)) layout.panels << entry.descriptor.id;
  layout.state = window_->saveState();
  layout.shares = shares_->save();
  return layout;
}

bool PanelDocks::restore(const PanelLayout& layout) {
  shares_->setArranging(true);
  const bool restored = window_->restoreState(layout.state);
  if (restored) {
    wanted_ = QSet<QString>(layout.panels.begin(), layout.panels.end());
    asked_.clear();
    shares_->restore(layout.shares);
    showWhatIsWanted();
    shares_->apply();
  }
  shares_->setArranging(false);
  return restored;
}

void PanelDocks::fillMenu(QMenu* menu) const {
  for (const Entry& entry : entries_) {
    QMenu* panel = menu->addMenu(entry.descriptor.title);
    panel->setToolTipsVisible(true);
    panel->addAction(entry.dock->toggleViewAction());
    panel->addSeparator();
    panel->addActions(entry.panel->menuActions());
  }
}

}  // namespace tapedeck::app
