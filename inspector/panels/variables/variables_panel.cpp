#include "inspector/panels/variables/variables_panel.h"

#include "inspector/panels/variables/variables_view.h"

namespace tapedeck::inspector {

PanelDescriptor variablesPanel() {
  PanelDescriptor panel;
  panel.id = QStringLiteral("variables");
  panel.title = QStringLiteral("Variables");
  panel.key = QKeySequence(Qt::CTRL | Qt::Key_7);
  panel.tip = QStringLiteral("Variables, watch expressions and the call stack of the current frame");
  panel.places = {{workspace_debug, {PanelPlace::Area::right, 1, 0, 0.315, 0.46}}};
  panel.minimum = QSize(220, 140);
  panel.create = [](const PanelContext& context) {
    return new VariablesView(context.session, context.frames, context.watches);
  };
  return panel;
}

}  // namespace tapedeck::inspector
