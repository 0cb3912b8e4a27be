#include "app/shell/panels/workspace_switcher.h"

#include <utility>

#include "app/shell/panels/workspaces.h"
#include "app/shell/window/typing_watch.h"
#include "inspector/model/runs/picture_model.h"
#include "inspector/model/runs/series_model.h"
#include "inspector/model/session/session.h"
#include "inspector/panels/panel.h"

namespace tapedeck::app {

using namespace inspector;

WorkspaceSwitcher::WorkspaceSwitcher(Workspaces* workspaces, Session* session, SeriesModel* series,
                                     PictureModel* pictures, TypingWatch* typing)
    : QObject(workspaces), workspaces_(workspaces), series_(series), pictures_(pictures), typing_(typing) {
  connect(session, &Session::stopped, this, [this](RecordNumber number) {
    if (number) stopped();
  });
  connect(series, &SeriesModel::namesChanged, this, [this] { plotsChanged(); });
  connect(pictures, &PictureModel::namesChanged, this, [this] { plotsChanged(); });
  connect(typing, &TypingWatch::ended, this, [this] { perform(); });
  connect(workspaces, &Workspaces::chosen, this, [this] {
    mayDebug_ = mayPlot_ = false;
    wanted_.clear();
  });
}

void WorkspaceSwitcher::runBegins() {
  mayDebug_ = mayPlot_ = true;
}

void WorkspaceSwitcher::stopped() {
  if (std::exchange(mayDebug_, false)) want(workspace_debug);
}

void WorkspaceSwitcher::plotsChanged() {
  const bool plots = !series_->names().isEmpty() || !pictures_->isEmpty();
  if (std::exchange(plots_, plots) || !plots) return;
  if (std::exchange(mayPlot_, false) && wanted_.isEmpty()) want(workspace_plots);
}

void WorkspaceSwitcher::want(const QString& workspace) {
  wanted_ = workspace;
  if (!typing_->typing()) perform();
}

void WorkspaceSwitcher::perform() {
  const QString wanted = std::exchange(wanted_, {});
  const QString current = workspaces_->current().id;
  const bool from_here =
      current == workspace_write || (current == workspace_plots && wanted == workspace_debug);
  if (!wanted.isEmpty() && from_here) workspaces_->enter(wanted);
}

}  // namespace tapedeck::app
