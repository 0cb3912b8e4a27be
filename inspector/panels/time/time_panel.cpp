#include "inspector/panels/time/time_panel.h"

#include "inspector/panels/time/time_view.h"

namespace tapedeck::inspector {

PanelDescriptor timePanel() {
  PanelDescriptor panel;
  panel.id = QStringLiteral("time");
  panel.title = QStringLiteral("Time");
  panel.key = QKeySequence(Qt::ALT | Qt::Key_5);
  panel.tip = QStringLiteral("Where the time of a run went: a track of its ops, a flame, totals, and roofs");
  panel.places = {{workspace_analyze, {PanelPlace::Area::right, 0, 0, 0.62, 0.50}}};
  panel.minimum = QSize(300, 180);
  panel.create = [](const PanelContext& context) { return new TimeView(context.session, context.cells); };
  return panel;
}

}  // namespace tapedeck::inspector
