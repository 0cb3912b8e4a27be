// The panel's descriptor.
#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::inspector {

PanelDescriptor healthPanel();

}  // namespace tapedeck::inspector
