// The descriptor of the memory panel.
#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::inspector {

PanelDescriptor memoryPanel();

}  // namespace tapedeck::inspector
