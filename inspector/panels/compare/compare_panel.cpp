#include "inspector/panels/compare/compare_panel.h"

#include "inspector/panels/compare/compare_view.h"

namespace tapedeck::inspector {

PanelDescriptor comparePanel() {
  PanelDescriptor panel;
  panel.id = QStringLiteral("compare");
  panel.title = QStringLiteral("Compare");
  panel.key = QKeySequence(Qt::ALT | Qt::Key_8);
  panel.tip = QStringLiteral(
      "Two runs of a cell, two moments or a branch beside its original, op by op: where they differ first");
  panel.places = {{workspace_analyze, {PanelPlace::Area::right, 0, 0, 0.62, 0.50}}};
  panel.minimum = QSize(300, 200);
  panel.create = [](const PanelContext& context) {
    return new CompareView(context.session, context.cells, context.traceReaders);
  };
  return panel;
}

}  // namespace tapedeck::inspector
