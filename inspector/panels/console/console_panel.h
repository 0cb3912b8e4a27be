#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::inspector {

PanelDescriptor consolePanel();

}  // namespace tapedeck::inspector
