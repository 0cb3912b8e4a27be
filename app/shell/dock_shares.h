// Panels keep their share of the window when the window changes its size; Qt would give all new room to its
// centre.
#pragma once

#include <QHash>
#include <QList>
#include <QObject>
#include <QSet>
#include <QSizeF>
#include <QTimer>

class QDockWidget;
class QMainWindow;

namespace tapedeck::app {

/// A panel's share is what it had of the window's width and height when it last changed by itself: by a
/// splitter that was dragged, say, not by a window too small for it. Panels that float or are hidden are left
/// alone.
class DockShares : public QObject {
 public:
  DockShares(QMainWindow* window, const QList<QDockWidget*>& docks);

  QByteArray save() const;
  /// What save() gave; anything else is ignored. The window takes it at its next change of size, or at
  /// `apply`.
  void restore(const QByteArray& saved);
  void apply();

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void take();

  QMainWindow* window_;
  QList<QDockWidget*> docks_;
  QHash<const QObject*, QSizeF> shares_;
  QTimer settled_;
  QSet<const QObject*> followers_;  ///< whose sizes are the window's doing, until followed_ ends
  QTimer followed_;
};

}  // namespace tapedeck::app
