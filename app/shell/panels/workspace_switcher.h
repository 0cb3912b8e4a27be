// Goes to the workspace that fits what the session does: Debug when the first op stops, Plots when a curve,
// a histogram or an image comes.
#pragma once

#include <QObject>
#include <QString>

namespace tapedeck::inspector {
class PictureModel;
class SeriesModel;
class Session;
}  // namespace tapedeck::inspector

namespace tapedeck::app {

class TypingWatch;
class Workspaces;

/// Only from Write, and from Plots to Debug: the workspace Present and the user's own ones are never left. At
/// most once in a run for each reason, and not after the user chose another workspace while it runs. While
/// the user types it waits.
class WorkspaceSwitcher : public QObject {
 public:
  WorkspaceSwitcher(Workspaces* workspaces, inspector::Session* session, inspector::SeriesModel* series,
                    inspector::PictureModel* pictures, TypingWatch* typing);

  /// A cell begins to run, with none running before it.
  void runBegins();

 private:
  void stopped();
  void plotsChanged();
  void want(const QString& workspace);
  void perform();

  Workspaces* workspaces_;
  inspector::SeriesModel* series_;
  inspector::PictureModel* pictures_;
  TypingWatch* typing_;
  bool mayDebug_ = true, mayPlot_ = true;
  bool plots_ = false;
  QString wanted_;
};

}  // namespace tapedeck::app
