#include "inspector/panels/why/why_panel.h"

#include "inspector/model/session/cell_names.h"
#include "inspector/panels/why/why_view.h"

namespace tapedeck::inspector {

PanelDescriptor whyPanel() {
  using Area = PanelPlace::Area;
  PanelDescriptor panel;
  panel.id = QStringLiteral("why");
  panel.title = QStringLiteral("Why");
  panel.key = QKeySequence(Qt::CTRL | Qt::Key_9);
  panel.tip =
      QStringLiteral("Answers to questions about a tensor: where a NaN was born, why a gradient is zero");
  panel.places = {{workspace_debug, {Area::below, 0, 0, 0.40, 0.29}}};
  panel.minimum = QSize(220, 120);
  panel.create = [](const PanelContext& context) {
    auto* view = new WhyView(*context.why.model());
    view->setCellName([cells = &context.cells](const QString& id, RecordNumber record) {
      return record ? cells->name(id, record) : cells->name(id);
    });
    QObject::connect(&context.cells, &CellNames::changed, view, &WhyView::showAnswer);
    return view;
  };
  return panel;
}

}  // namespace tapedeck::inspector
