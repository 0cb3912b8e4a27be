// All keys of a window, for the list of keys and for the test that no key is bound twice.
#pragma once

#include <QList>
#include <QString>

class QMenuBar;

namespace tapedeck::app {

class PanelDocks;

struct KeyLine {
  QString keys;  ///< as text: "Ctrl+S", "Up or K"
  QString text;  ///< what they do
};

struct KeyGroup {
  QString title;
  QList<KeyLine> lines;
};

/// From the menus' actions, the keys that panels handle by themselves, and the notebook's table.
QList<KeyGroup> keyGroups(const QMenuBar& menus, const PanelDocks& docks);

}  // namespace tapedeck::app
