#include "inspector/panels/tensor/tensor_panel.h"

#include "inspector/panels/tensor/tensor_view.h"

namespace tapedeck::inspector {

PanelDescriptor tensorPanel() {
  using Area = PanelPlace::Area;
  PanelDescriptor panel;
  panel.id = QStringLiteral("tensor");
  panel.title = QStringLiteral("Tensor");
  panel.key = QKeySequence(Qt::CTRL | Qt::Key_3);
  panel.tip = QStringLiteral("Values of the tensors at the cursor");
  panel.places = {{workspace_debug, {Area::right, 1, 1, 0.30, 0.46}},
                  {workspace_present, {Area::right, 1, 0, 0.55, 0.30}},
                  {workspace_analyze, {Area::right, 1, 1, 0.30, 0.40}}};
  panel.minimum = QSize(280, 160);
  panel.create = [](const PanelContext& context) {
    auto* view = new TensorView(context.session);
    view->setWhy(context.why);
    return view;
  };
  return panel;
}

}  // namespace tapedeck::inspector
