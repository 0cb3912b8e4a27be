#include "app/shell/panel_docks.h"

#include <QAction>
#include <QDockWidget>
#include <QMainWindow>
#include <QMenu>
#include <algorithm>
#include <utility>

#include "inspector/ui/keyed_action.h"

namespace tapedeck::app {

using inspector::PanelDescriptor;
using inspector::PanelPlace;

namespace {

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

}  // namespace

PanelDocks::PanelDocks(QMainWindow* window, const QList<PanelDescriptor>& panels,
                       const inspector::PanelContext& context)
    : QObject(window), window_(window) {
  // What the code draws stands below the code, what one step shows beside it.
  window->setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  window->setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
  for (const PanelDescriptor& descriptor : panels) {
    auto* dock = new QDockWidget(descriptor.title, window);
    dock->setObjectName("panel." + descriptor.id);
    inspector::Panel* panel = descriptor.create(context);
    dock->setWidget(panel);
    dock->setToolTip(descriptor.tip);
    QAction* toggle = dock->toggleViewAction();
    toggle->setObjectName("panel." + descriptor.id);
    inspector::setKey(toggle, {descriptor.key}, QString("Show or hide the panel %1").arg(descriptor.title));
    window->addAction(toggle);
    window->addActions(panel->exportActions());
    connect(panel, &inspector::Panel::done, this, &PanelDocks::done);
    connect(panel, &inspector::Panel::failed, this, &PanelDocks::failed);
    entries_ << Entry{descriptor, panel, dock};
  }
}

// Views end before the models that they read.
PanelDocks::~PanelDocks() {
  for (const Entry& entry : entries_) delete entry.dock;
}

QList<QDockWidget*> PanelDocks::docks() const {
  QList<QDockWidget*> list;
  for (const Entry& entry : entries_) list << entry.dock;
  return list;
}

QList<inspector::Panel*> PanelDocks::panels() const {
  QList<inspector::Panel*> list;
  for (const Entry& entry : entries_) list << entry.panel;
  return list;
}

QList<const PanelDocks::Entry*> PanelDocks::placed(const QString& workspace, PanelPlace::Area area) const {
  QList<const Entry*> list;
  for (const Entry& entry : entries_) {
    const auto place = entry.descriptor.places.constFind(workspace);
    if (place != entry.descriptor.places.constEnd() && place->area == area) list << &entry;
  }
  std::stable_sort(list.begin(), list.end(), [&](const Entry* a, const Entry* b) {
    const PanelPlace &left = a->descriptor.places[workspace], &right = b->descriptor.places[workspace];
    return std::pair(left.row, left.column) < std::pair(right.row, right.column);
  });
  return list;
}

void PanelDocks::arrangeArea(const QString& workspace, PanelPlace::Area area) {
  const auto placeOf = [&](const Entry* entry) { return entry->descriptor.places[workspace]; };
  QList<QList<const Entry*>> rows;
  for (const Entry* entry : placed(workspace, area)) {
    if (rows.isEmpty() || placeOf(rows.last().first()).row != placeOf(entry).row)
      rows << QList<const Entry*>();
    rows.last() << entry;
  }
  for (qsizetype row = 0; row < rows.size(); ++row) {
    QDockWidget* first = rows[row].first()->dock;
    window_->addDockWidget(dockArea(area), first);
    if (row > 0) window_->splitDockWidget(rows[row - 1].first()->dock, first, Qt::Vertical);
  }
  QList<QDockWidget*> docks;
  QList<int> widths, heights;
  for (const QList<const Entry*>& row : rows)
    for (qsizetype i = 0; i < row.size(); ++i) {
      QDockWidget* dock = row[i]->dock;
      const PanelPlace place = placeOf(row[i]);
      if (i > 0) {
        QDockWidget* before = row[i - 1]->dock;
        window_->addDockWidget(dockArea(area), dock);
        if (placeOf(row[i - 1]).column == place.column)
          window_->tabifyDockWidget(before, dock);
        else
          window_->splitDockWidget(before, dock, Qt::Horizontal);
      }
      dock->show();
      docks << dock;
      widths << std::max(1, static_cast<int>(place.width * window_->width()));
      heights << std::max(1, static_cast<int>(place.height * window_->height()));
    }
  window_->resizeDocks(docks, widths, Qt::Horizontal);
  window_->resizeDocks(docks, heights, Qt::Vertical);
}

void PanelDocks::arrange(const QString& workspace) {
  for (const Entry& entry : entries_) {
    entry.dock->setFloating(false);
    entry.dock->hide();
  }
  for (const auto area : {PanelPlace::Area::left, PanelPlace::Area::right, PanelPlace::Area::below})
    arrangeArea(workspace, area);
}

void PanelDocks::setEnabled(bool enabled) {
  for (const Entry& entry : entries_) {
    entry.dock->toggleViewAction()->setEnabled(enabled);
    for (QAction* action : entry.panel->exportActions()) action->setEnabled(enabled);
  }
}

void PanelDocks::hideAll() {
  for (const Entry& entry : entries_) entry.dock->hide();
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
