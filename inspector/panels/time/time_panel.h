// The descriptor of the panel Time.
#pragma once

#include "inspector/panels/panel.h"

namespace tapedeck::inspector {

PanelDescriptor timePanel();

}  // namespace tapedeck::inspector
