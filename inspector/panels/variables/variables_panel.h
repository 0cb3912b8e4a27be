#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::inspector {

PanelDescriptor variablesPanel();

}  // namespace tapedeck::inspector
