#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::inspector {

PanelDescriptor breakpointsPanel();

}  // namespace tapedeck::inspector
