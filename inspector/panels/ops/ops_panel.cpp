#include "inspector/panels/ops/ops_panel.h"

#include "inspector/model/session/cell_names.h"
#include "inspector/panels/ops/timeline_view.h"

namespace tapedeck::inspector {

PanelDescriptor opsPanel() {
  PanelDescriptor panel;
  panel.id = QStringLiteral("ops");
  panel.title = QStringLiteral("Ops");
  panel.key = QKeySequence(Qt::CTRL | Qt::Key_2);
  panel.tip = QStringLiteral("The timeline of all records");
  panel.places = {{workspace_debug, {PanelPlace::Area::right, 1, 0, 0.315, 0.46}},
                  {workspace_analyze, {PanelPlace::Area::right, 1, 0, 0.32, 0.40}}};
  panel.minimum = QSize(220, 140);
  panel.create = [](const PanelContext& context) {
    auto* view = new TimelineView(context.session);
    view->setCellLabels(context.cells.all());
    view->setWhy(context.why);
    view->setRecordActions(context.recordActions);
    if (context.bookmarks) view->setBookmarks(*context.bookmarks);
    QObject::connect(&context.cells, &CellNames::changed, view,
                     [view, cells = &context.cells] { view->setCellLabels(cells->all()); });
    return view;
  };
  return panel;
}

}  // namespace tapedeck::inspector
