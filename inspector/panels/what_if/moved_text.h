// How a result that moved is written.
#pragma once

#include <QString>

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

/// "3.2 → 4.1"; of several elements their norms: "‖3.2‖ → ‖4.1‖".
QString movementText(const protocol::Moved& moved);
/// "12 %", "8,400 %"; where no share says it: "from 0", "not finite".
QString shareText(const protocol::Moved& moved);

}  // namespace tapedeck::inspector
