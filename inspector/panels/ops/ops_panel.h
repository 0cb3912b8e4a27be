#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::inspector {

PanelDescriptor opsPanel();

}  // namespace tapedeck::inspector
