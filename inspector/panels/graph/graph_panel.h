#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::inspector {

PanelDescriptor graphPanel();

}  // namespace tapedeck::inspector
