#include "app/shell/panel_list.h"

#include "inspector/panels/ops/ops_panel.h"
#include "inspector/panels/tape/tape_panel.h"
#include "inspector/panels/tensor/tensor_panel.h"
#include "inspector/panels/why/why_panel.h"
#include "plots/plots_panel.h"

namespace tapedeck::app {

QList<inspector::PanelDescriptor> panelList() {
  return {
      inspector::tapePanel(),
      inspector::opsPanel(),
      inspector::tensorPanel(),
      inspector::whyPanel(),
      plots::plotsPanel(),
  };
}

}  // namespace tapedeck::app
