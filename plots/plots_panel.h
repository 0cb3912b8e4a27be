#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::plots {

inspector::PanelDescriptor plotsPanel();

}  // namespace tapedeck::plots
