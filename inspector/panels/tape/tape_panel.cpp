#include "inspector/panels/tape/tape_panel.h"

#include "inspector/model/session/cell_names.h"
#include "inspector/panels/tape/tape_view.h"

namespace tapedeck::inspector {

PanelDescriptor tapePanel() {
  using Area = PanelPlace::Area;
  PanelDescriptor panel;
  panel.id = QStringLiteral("tape");
  panel.title = QStringLiteral("Tape");
  panel.key = QKeySequence(Qt::CTRL | Qt::Key_1);
  panel.tip = QStringLiteral("The gradient tape as a graph: forward ops, and the VJPs that run backwards");
  panel.places = {{workspace_debug, {Area::right, 0, 0, 0.34, 0.46}},
                  {workspace_present, {Area::right, 0, 0, 0.55, 0.62}}};
  panel.minimum = QSize(240, 160);
  panel.create = [](const PanelContext& context) {
    auto* view = new TapeView(context.session);
    view->setCellName(
        [cells = &context.cells](const protocol::Record& record) { return cells->name(record); });
    view->setWhy(context.why);
    if (context.bookmarks) view->setBookmarks(*context.bookmarks);
    return view;
  };
  return panel;
}

}  // namespace tapedeck::inspector
