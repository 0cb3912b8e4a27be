// The panel's descriptor.
#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::inspector {

PanelDescriptor comparePanel();

}  // namespace tapedeck::inspector
