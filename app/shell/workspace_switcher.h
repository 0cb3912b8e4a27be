// Goes to the workspace that fits what the session does: Debug when the first op stops, Plots when a curve
// begins.
#pragma once

#include <QObject>
#include <QString>

namespace tapedeck::inspector {
class SeriesModel;
class Session;
}  // namespace tapedeck::inspector

namespace tapedeck::app {

class TypingWatch;
class Workspaces;

/// Only from Write, and from Plots to Debug: whoever presents, or made a workspace, stays in it. At most once
/// in a run for each reason, and not after the user chose another workspace while it runs. While the user
/// types it waits.
class WorkspaceSwitcher : public QObject {
 public:
  WorkspaceSwitcher(Workspaces* workspaces, inspector::Session* session, inspector::SeriesModel* series,
                    TypingWatch* typing);

  /// A cell begins to run, with none running before it.
  void runBegins();

 private:
  void stopped();
  void curvesChanged();
  void want(const QString& workspace);
  void perform();

  Workspaces* workspaces_;
  inspector::SeriesModel* series_;
  TypingWatch* typing_;
  bool mayDebug_ = true, mayPlot_ = true;
  bool curves_ = false;
  QString wanted_;
};

}  // namespace tapedeck::app
