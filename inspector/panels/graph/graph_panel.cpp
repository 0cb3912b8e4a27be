#include "inspector/panels/graph/graph_panel.h"

#include "inspector/model/session/cell_names.h"
#include "inspector/panels/graph/graph_view.h"

namespace tapedeck::inspector {

PanelDescriptor graphPanel() {
  PanelDescriptor panel;
  panel.id = QStringLiteral("graph");
  panel.title = QStringLiteral("Graph");
  panel.key = QKeySequence(Qt::ALT | Qt::Key_9);
  panel.tip = QStringLiteral(
      "The graphs of tf.functions: why each was traced, and what the passes folded, merged and removed");
  panel.places = {{workspace_analyze, {PanelPlace::Area::right, 0, 0, 0.62, 0.50}}};
  panel.minimum = QSize(300, 200);
  panel.create = [](const PanelContext& context) { return new GraphView(context.session, context.cells); };
  return panel;
}

}  // namespace tapedeck::inspector
