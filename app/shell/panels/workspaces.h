// Which panels are around the notebook for which work, kept between starts.
#pragma once

#include <QList>
#include <QObject>
#include <QString>

namespace tapedeck::app {

class PanelDocks;

struct Workspace {
  QString id;
  QString title;
  QString base;  ///< the built-in one that it was made from; its own id for those
  bool own() const { return id != base; }
};

/// Write, Debug, Plots, Present and Analyze, and those that the user saved. Each keeps the layout in
/// which it was left.
class Workspaces : public QObject {
  Q_OBJECT
 public:
  explicit Workspaces(PanelDocks* docks, QObject* parent = nullptr);

  /// The built-in ones, then the user's in the order in which they were saved.
  QList<Workspace> all() const;
  Workspace current() const;

  /// The workspace in which the user worked last.
  void begin();
  /// By the user, who finds it again at the next start; or by itself: then the panels that the user asked for
  /// stay.
  void choose(const QString& id);
  void enter(const QString& id);
  /// Keeps the layout of the current one.
  void keep();
  /// Puts the current one's panels back into their places.
  void reset();

  /// The current layout under a name of its own, which then is the current workspace.
  void saveAs(const QString& title);
  // Of those that the user saved; others are left alone.
  void rename(const QString& id, const QString& title);
  void remove(const QString& id);

 signals:
  void changed();  ///< the list, or the current one
  void chosen();   ///< by the user

 private:
  Workspace find(const QString& id) const;
  void change(const QString& id);
  void lay(const Workspace& workspace);

  PanelDocks* docks_;
  QString current_;
};

}  // namespace tapedeck::app
