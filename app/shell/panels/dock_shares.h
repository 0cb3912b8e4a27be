// Panels keep their share of the window when the window changes its size or other panels come and go; Qt
// would give all new room to its centre.
#pragma once

#include <QHash>
#include <QList>
#include <QObject>
#include <QSize>
#include <QSizeF>
#include <QTimer>

class QDockWidget;
class QMainWindow;

namespace tapedeck::app {

/// A panel's share is what the user gave it of the window's width and height: by dragging a splitter or the
/// panel. Nothing else changes it, whatever room there is at times. Panels that float or are hidden are left
/// alone.
class DockShares : public QObject {
 public:
  DockShares(QMainWindow* window, const QList<QDockWidget*>& docks);

  void set(const QDockWidget* dock, QSizeF share);
  /// What all of an area's panels have of the window's width together, whichever of them are seen.
  void setArea(Qt::DockWidgetArea area, double share);
  QByteArray save() const;
  /// What save() gave; anything else is ignored. The window takes it at its next change of size, or at
  /// `apply`.
  void restore(const QByteArray& saved);
  void apply();
  /// While panels are placed by the program, their moves are not the user's.
  void setArranging(bool arranging);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void watch(QDockWidget* dock);
  void take();
  bool isSeen(const QDockWidget* dock) const;
  QList<QDockWidget*> seenIn(Qt::DockWidgetArea area) const;

  QMainWindow* window_;
  QList<QDockWidget*> docks_;
  QHash<const QObject*, QSizeF> shares_;
  QHash<Qt::DockWidgetArea, double> areas_;
  bool arranging_ = false;
  QList<QSize> pressed_;  ///< the panels' sizes when a mouse button went down
  QTimer settled_;        ///< applies, or takes where the user changed something
  bool taking_ = false;
  QTimer restored_;  ///< runs while the window still lays out the state that it was given
  QTimer moved_;     ///< runs while a panel that the user moved still grows into its place
};

}  // namespace tapedeck::app
