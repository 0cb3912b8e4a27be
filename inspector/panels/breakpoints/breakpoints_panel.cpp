#include "inspector/panels/breakpoints/breakpoints_panel.h"

#include "inspector/model/session/cell_names.h"
#include "inspector/panels/breakpoints/breakpoints_view.h"

namespace tapedeck::inspector {

PanelDescriptor breakpointsPanel() {
  PanelDescriptor panel;
  panel.id = QStringLiteral("breakpoints");
  panel.title = QStringLiteral("Breakpoints");
  panel.key = QKeySequence(Qt::CTRL | Qt::Key_0);
  panel.tip = QStringLiteral("Where the session stops, and under which conditions");
  panel.places = {{workspace_debug, {PanelPlace::Area::right, 1, 0, 0.315, 0.46}}};
  panel.minimum = QSize(220, 140);
  panel.create = [](const PanelContext& context) {
    return new BreakpointsView(context.breakpoints, context.session, context.cells);
  };
  return panel;
}

}  // namespace tapedeck::inspector
