// The panel of the VJP.
#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::inspector {

PanelDescriptor vjpPanel();

}  // namespace tapedeck::inspector
