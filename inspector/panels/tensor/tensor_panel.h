#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::inspector {

PanelDescriptor tensorPanel();

}  // namespace tapedeck::inspector
