#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::inspector {

PanelDescriptor tapePanel();

}  // namespace tapedeck::inspector
