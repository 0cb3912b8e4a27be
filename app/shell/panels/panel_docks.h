// The panels of a window in their docks: made from descriptors, placed, shown and hidden.
#pragma once

#include <QHash>
#include <QList>
#include <QObject>
#include <QSet>

#include "inspector/panels/panel.h"

class QDockWidget;
class QMainWindow;
class QMenu;

namespace tapedeck::app {

class DockShares;
class TypingWatch;

/// Which panels a workspace has, and their arrangement.
struct PanelLayout {
  QStringList panels;
  QByteArray state;   ///< QMainWindow::saveState()
  QByteArray shares;  ///< DockShares::save()
};

/// A panel that is part of the workspace is shown as soon as it has something to show; an empty one takes no
/// room, unless the user asked for it. Nothing comes or goes while the user types.
class PanelDocks : public QObject {
  Q_OBJECT
 public:
  PanelDocks(QMainWindow* window, const QList<inspector::PanelDescriptor>& panels,
             const inspector::PanelContext& context, TypingWatch* typing);
  ~PanelDocks() override;

  /// In the order of the descriptors.
  QList<inspector::Panel*> panels() const;
  inspector::Panel* panel(const QString& id) const;

  QList<inspector::PanelDescriptor> descriptors() const;

  /// Of the panel that has the focus; empty: none has.
  QString focused() const;

  /// Shows a panel, as if the user had asked for it, and brings it to the front.
  void reveal(const QString& id);
  /// Those that the user asked for; panels in front come after those behind them.
  QStringList asked() const;
  /// Shows these, too, each in front of those before it.
  void ask(const QStringList& ids);
  /// Off: no panel is shown, and their keys and menu entries do nothing.
  void setEnabled(bool enabled);
  /// Puts the panels into the places that their descriptors name for a workspace.
  void arrange(const QString& workspace);
  PanelLayout layout() const;
  /// False: `layout` is none that layout() gave, and nothing changed.
  bool restore(const PanelLayout& layout);

  /// False for a widget in a panel that another tab covers.
  bool inSight(const QWidget* widget) const;

  /// A menu for each panel: an entry that shows it, and its actions.
  void fillMenu(QMenu* menu) const;

 signals:
  /// The user left the panel with the focus by Esc, or it was hidden: the focus belongs elsewhere.
  void left();
  void done(const QString& sentence);
  void failed(const QString& sentence);
  /// As Panel::lineWanted.
  void lineWanted(const QString& cell, int line, bool enter);
  /// The "?" of this panel was pressed.
  void helpWanted(const QString& panel);

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  struct Entry {
    inspector::PanelDescriptor descriptor;
    inspector::Panel* panel = nullptr;
    QDockWidget* dock = nullptr;
  };
  Entry makeEntry(const inspector::PanelDescriptor& descriptor, const inspector::PanelContext& context);
  void toggled(const QString& id, bool on);
  static bool hasFocus(const Entry& entry);
  void keepFocus();
  bool isBehind(const QDockWidget* dock) const;
  void place(const QString& workspace, inspector::PanelPlace::Area area);
  void showWhatIsWanted();
  bool keepsItsPlace(const Entry& seen, const Entry& come) const;

  QMainWindow* window_;
  TypingWatch* typing_;
  DockShares* shares_ = nullptr;
  QList<Entry> entries_;
  QSet<QString> wanted_;  ///< part of the workspace
  QSet<QString> asked_;   ///< shown although empty
  QSet<QString> behind_;  ///< shown, but another tab is in front
  QString stays_;         ///< was to be closed, and came to the front instead
  QSet<QString> chosen_;  ///< in front because the user pressed its tab
  bool byKey_ = false;    ///< the key of a panel was pressed, and is being followed
  bool placing_ = false;  ///< panels come to the front by the program's doing
  bool enabled_ = true;
};

}  // namespace tapedeck::app
