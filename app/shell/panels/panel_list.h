// The panels that a window has.
#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::app {

/// In the order of the menus.
QList<inspector::PanelDescriptor> panelList();

}  // namespace tapedeck::app
