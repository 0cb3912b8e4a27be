#include "inspector/panels/what_if/what_if_panel.h"

#include "inspector/panels/what_if/what_if_view.h"

namespace tapedeck::inspector {

PanelDescriptor whatIfPanel() {
  using Area = PanelPlace::Area;
  PanelDescriptor panel;
  panel.id = QStringLiteral("what_if");
  panel.title = QStringLiteral("What if");
  panel.key = QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_I);
  panel.tip = QStringLiteral("The past with something changed, replayed beside the original");
  panel.places = {{workspace_debug, {Area::below, 0, 0, 0.40, 0.29}}};
  panel.minimum = QSize(240, 140);
  panel.create = [](const PanelContext& context) { return new WhatIfView(context.whatIf, context.cells); };
  return panel;
}

}  // namespace tapedeck::inspector
