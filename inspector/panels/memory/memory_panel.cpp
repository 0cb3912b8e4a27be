#include "inspector/panels/memory/memory_panel.h"

#include "inspector/model/session/cell_names.h"
#include "inspector/panels/memory/memory_view.h"

namespace tapedeck::inspector {

PanelDescriptor memoryPanel() {
  using Area = PanelPlace::Area;
  PanelDescriptor panel;
  panel.id = QStringLiteral("memory");
  panel.title = QStringLiteral("Memory");
  panel.key = QKeySequence(Qt::ALT | Qt::Key_6);
  panel.tip =
      QStringLiteral("What is alive at the cursor and who holds it, its curve and peak, and what grows");
  panel.places = {{workspace_analyze, {Area::right, 0, 0, 0.62, 0.50}}};
  panel.minimum = QSize(260, 200);
  panel.create = [](const PanelContext& context) {
    auto* view = new MemoryView(context.session);
    view->setCellName(
        [cells = &context.cells](const QString& id, RecordNumber record) { return cells->name(id, record); });
    QObject::connect(&context.cells, &CellNames::changed, view, &MemoryView::showState);
    return view;
  };
  return panel;
}

}  // namespace tapedeck::inspector
