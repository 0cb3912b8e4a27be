#include "app/shell/panels/panel_list.h"

#include "inspector/panels/breakpoints/breakpoints_panel.h"
#include "inspector/panels/compare/compare_panel.h"
#include "inspector/panels/console/console_panel.h"
#include "inspector/panels/graph/graph_panel.h"
#include "inspector/panels/health/health_panel.h"
#include "inspector/panels/memory/memory_panel.h"
#include "inspector/panels/ops/ops_panel.h"
#include "inspector/panels/tape/tape_panel.h"
#include "inspector/panels/tensor/tensor_panel.h"
#include "inspector/panels/time/time_panel.h"
#include "inspector/panels/variables/variables_panel.h"
#include "inspector/panels/vjp/vjp_panel.h"
#include "inspector/panels/what_if/what_if_panel.h"
#include "inspector/panels/why/why_panel.h"
#include "plots/plots_panel.h"

namespace tapedeck::app {

QList<inspector::PanelDescriptor> panelList() {
  return {
      inspector::tapePanel(),    inspector::opsPanel(),     inspector::variablesPanel(),
      inspector::consolePanel(), inspector::tensorPanel(),  inspector::breakpointsPanel(),
      inspector::whyPanel(),     inspector::whatIfPanel(),  inspector::vjpPanel(),
      plots::plotsPanel(),       inspector::timePanel(),    inspector::memoryPanel(),
      inspector::healthPanel(),  inspector::comparePanel(), inspector::graphPanel(),
  };
}

}  // namespace tapedeck::app
