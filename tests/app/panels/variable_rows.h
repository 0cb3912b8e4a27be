// Finds things in the table of Variables as a user does.
#pragma once

#include <QTabBar>

#include "inspector/model/variables/variables_model.h"
#include "inspector/panels/variables/value_view.h"
#include "inspector/panels/variables/variables_view.h"
#include "tests/app/window_fixture.h"

namespace tapedeck::app {

/// Clicks the tab of a dock where it is behind another one; its key where the workspace does not have it.
inline void raisePanel(MainWindow& window, const QString& title, Qt::Key key, QWidget* shown) {
  if (shown->isVisible() && !shown->visibleRegion().isEmpty()) return;
  for (QTabBar* bar : window.findChildren<QTabBar*>())
    for (int tab = 0; tab < bar->count(); ++tab)
      if (bar->isVisible() && bar->tabText(tab) == title)
        QTest::mouseClick(bar, Qt::LeftButton, {}, bar->tabRect(tab).center());
  if (!shown->isVisible()) QTest::keyClick(&window, key, Qt::ControlModifier);
  QTRY_VERIFY(shown->isVisible() && !shown->visibleRegion().isEmpty());
}

/// The row of a variable; invalid where it is not shown. `group`: how its group's title begins.
inline QModelIndex variableRow(inspector::VariablesView* panel, const QString& name,
                               const QString& group = {}) {
  const QAbstractItemModel* model = panel->table()->model();
  for (int g = 0; g < model->rowCount(); ++g) {
    const QModelIndex top = model->index(g, 0);
    if (!top.data().toString().startsWith(group)) continue;
    for (int r = 0; r < model->rowCount(top); ++r)
      if (model->index(r, 0, top).data().toString() == name) return model->index(r, 0, top);
  }
  return {};
}

}  // namespace tapedeck::app
