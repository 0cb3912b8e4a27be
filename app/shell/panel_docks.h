// The panels of a window in their docks: made from descriptors, placed, shown and hidden.
#pragma once

#include <QHash>
#include <QList>
#include <QObject>

#include "inspector/panels/panel.h"

class QDockWidget;
class QMainWindow;
class QMenu;

namespace tapedeck::app {

class PanelDocks : public QObject {
  Q_OBJECT
 public:
  PanelDocks(QMainWindow* window, const QList<inspector::PanelDescriptor>& panels,
             const inspector::PanelContext& context);
  ~PanelDocks() override;

  /// In the order of the descriptors.
  QList<QDockWidget*> docks() const;
  QList<inspector::Panel*> panels() const;

  /// Puts the panels of a workspace into their places and shows them; hides all others.
  void arrange(const QString& workspace);
  void setEnabled(bool enabled);  ///< whether their keys and menu entries work
  void hideAll();
  /// An entry that shows the panel, and one for each of its actions.
  void fillMenu(QMenu* menu) const;

 signals:
  void done(const QString& sentence);
  void failed(const QString& sentence);

 private:
  struct Entry {
    inspector::PanelDescriptor descriptor;
    inspector::Panel* panel = nullptr;
    QDockWidget* dock = nullptr;
  };
  QList<const Entry*> placed(const QString& workspace, inspector::PanelPlace::Area area) const;
  void arrangeArea(const QString& workspace, inspector::PanelPlace::Area area);

  QMainWindow* window_;
  QList<Entry> entries_;
};

}  // namespace tapedeck::app
