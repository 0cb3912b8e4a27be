#include "inspector/panels/console/console_panel.h"

#include "inspector/panels/console/console_view.h"

namespace tapedeck::inspector {

PanelDescriptor consolePanel() {
  PanelDescriptor panel;
  panel.id = QStringLiteral("console");
  panel.title = QStringLiteral("Console");
  panel.key = QKeySequence(Qt::CTRL | Qt::Key_8);
  panel.tip = QStringLiteral("Python in the current frame of the program");
  panel.places = {{workspace_debug, {PanelPlace::Area::right, 1, 0, 0.315, 0.46}}};
  panel.minimum = QSize(220, 140);
  panel.create = [](const PanelContext& context) { return new ConsoleView(context.session, context.frames); };
  return panel;
}

}  // namespace tapedeck::inspector
