#include "inspector/panels/health/health_panel.h"

#include "inspector/model/session/cell_names.h"
#include "inspector/panels/health/health_view.h"
#include "inspector/panels/why_actions.h"

namespace tapedeck::inspector {

PanelDescriptor healthPanel() {
  using Area = PanelPlace::Area;
  PanelDescriptor panel;
  panel.id = QStringLiteral("health");
  panel.title = QStringLiteral("Health");
  panel.key = QKeySequence(Qt::ALT | Qt::Key_7);
  panel.tip = QStringLiteral(
      "Gradients, weights and activations over the steps: dead units, vanishing gradients, what stopped "
      "learning, and L-BFGS's pairs");
  panel.places = {{workspace_analyze, {Area::right, 0, 0, 0.62, 0.50}}};
  panel.minimum = QSize(260, 180);
  panel.create = [](const PanelContext& context) {
    return new HealthView(context.session, context.cells, *context.why.model());
  };
  return panel;
}

}  // namespace tapedeck::inspector
