#include "app/shell/panels/workspaces.h"

#include <QApplication>
#include <QPointer>
#include <QSettings>
#include <QUuid>
#include <QWidget>

#include "app/shell/panels/panel_docks.h"

namespace tapedeck::app {
namespace {

QList<Workspace> builtIn() {
  const auto one = [](const QString& id, const char* title) { return Workspace{id, title, id}; };
  return {one(inspector::workspace_write, "Write"), one(inspector::workspace_debug, "Debug"),
          one(inspector::workspace_plots, "Plots"), one(inspector::workspace_present, "Present"),
          one(inspector::workspace_analyze, "Analyze")};
}

QString key(const QString& id, const char* part) {
  return QString("workspaces/%1/%2").arg(id, part);
}

constexpr const char own_list[] = "workspaces/own";
constexpr const char last_chosen[] = "workspaces/chosen";

}  // namespace

Workspaces::Workspaces(PanelDocks* docks, QObject* parent)
    : QObject(parent), docks_(docks), current_(inspector::workspace_write) {}

QList<Workspace> Workspaces::all() const {
  QList<Workspace> list = builtIn();
  const QSettings settings;
  for (const QString& id : settings.value(own_list).toStringList())
    list << Workspace{id, settings.value(key(id, "title")).toString(),
                      settings.value(key(id, "base"), inspector::workspace_debug).toString()};
  return list;
}

// One that was deleted in another window is Write.
Workspace Workspaces::find(const QString& id) const {
  const QList<Workspace> list = all();
  for (const Workspace& workspace : list)
    if (workspace.id == id) return workspace;
  return list.first();
}

Workspace Workspaces::current() const {
  return find(current_);
}

void Workspaces::begin() {
  const Workspace workspace = find(QSettings().value(last_chosen).toString());
  current_ = workspace.id;
  lay(workspace);
  emit changed();
}

void Workspaces::lay(const Workspace& workspace) {
  const QSettings settings;
  const PanelLayout layout{settings.value(key(workspace.id, "panels")).toStringList(),
                           settings.value(key(workspace.id, "state")).toByteArray(),
                           settings.value(key(workspace.id, "shares")).toByteArray()};
  if (!docks_->restore(layout)) docks_->arrange(workspace.base);
}

void Workspaces::keep() {
  QSettings settings;
  const PanelLayout layout = docks_->layout();
  settings.setValue(key(current_, "panels"), layout.panels);
  settings.setValue(key(current_, "state"), layout.state);
  settings.setValue(key(current_, "shares"), layout.shares);
}

void Workspaces::choose(const QString& id) {
  QSettings().setValue(last_chosen, id);
  emit chosen();
  change(id);
}

// What the user has just opened, and may be reading, does not go because a curve or a stop came.
void Workspaces::enter(const QString& id) {
  const QPointer<QWidget> focus = QApplication::focusWidget();
  const QStringList asked = docks_->asked();
  change(id);
  docks_->ask(asked);
  if (focus && focus->isVisible() && docks_->inSight(focus)) focus->setFocus();
}

void Workspaces::change(const QString& id) {
  const Workspace workspace = find(id);
  if (workspace.id != current_) {
    keep();
    current_ = workspace.id;
    lay(workspace);
  }
  emit changed();
}

void Workspaces::reset() {
  docks_->arrange(current().base);
  keep();
}

void Workspaces::saveAs(const QString& title) {
  const Workspace from = current();
  const QString id = "own-" + QUuid::createUuid().toString(QUuid::Id128);
  QSettings settings;
  settings.setValue(own_list, settings.value(own_list).toStringList() << id);
  settings.setValue(key(id, "title"), title);
  settings.setValue(key(id, "base"), from.base);
  settings.setValue(last_chosen, id);
  current_ = id;
  keep();
  emit chosen();
  emit changed();
}

void Workspaces::rename(const QString& id, const QString& title) {
  if (!find(id).own()) return;
  QSettings().setValue(key(id, "title"), title);
  emit changed();
}

void Workspaces::remove(const QString& id) {
  const Workspace gone = find(id);
  if (!gone.own()) return;
  if (current_ == id) choose(gone.base);
  QSettings settings;
  QStringList list = settings.value(own_list).toStringList();
  list.removeAll(id);
  settings.setValue(own_list, list);
  settings.remove(QString("workspaces/%1").arg(id));
  emit changed();
}

}  // namespace tapedeck::app
