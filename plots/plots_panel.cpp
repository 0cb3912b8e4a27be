#include "plots/plots_panel.h"

#include "plots/plots_view.h"

namespace tapedeck::plots {

inspector::PanelDescriptor plotsPanel() {
  using Area = inspector::PanelPlace::Area;
  inspector::PanelDescriptor panel;
  panel.id = QStringLiteral("plots");
  panel.title = QStringLiteral("Plots");
  panel.key = QKeySequence(Qt::CTRL | Qt::Key_4);
  panel.tip = QStringLiteral("Curves, histograms and images that the session draws");
  // In Debug the code's curves are below the code, the panels about one step beside it.
  panel.places = {{inspector::workspace_debug, {Area::below, 0, 0, 0.40, 0.29}},
                  {inspector::workspace_plots, {Area::right, 0, 0, 0.52, 0.90}}};
  panel.minimum = QSize(220, 120);
  panel.create = [](const inspector::PanelContext& context) {
    return new PlotsView(context.series, context.pictures, context.session);
  };
  return panel;
}

}  // namespace tapedeck::plots
