#include "inspector/panels/vjp/vjp_panel.h"

#include "inspector/model/session/cell_names.h"
#include "inspector/panels/vjp/vjp_view.h"

namespace tapedeck::inspector {

PanelDescriptor vjpPanel() {
  using Area = PanelPlace::Area;
  PanelDescriptor panel;
  panel.id = QStringLiteral("vjp");
  panel.title = QStringLiteral("VJP");
  panel.key = QKeySequence(Qt::CTRL | Qt::Key_6);
  panel.tip =
      QStringLiteral("The vector-Jacobian product at the cursor: its formula with its values filled in");
  panel.places = {{workspace_debug, {Area::right, 0, 1, 0.26, 0.46}}};
  panel.minimum = QSize(240, 160);
  panel.create = [](const PanelContext& context) { return new VjpView(context.session, context.cells); };
  return panel;
}

}  // namespace tapedeck::inspector
