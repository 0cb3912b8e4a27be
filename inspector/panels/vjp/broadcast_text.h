// The sum that broadcasting adds to a VJP's formula, which is about elements.
#pragma once

#include <QString>

#include "engine/protocol/vjp.h"

namespace tapedeck::inspector {

/// "summed over axis 1, along which x was repeated (broadcast)"; empty: nothing.
QString broadcastText(const protocol::VjpParts& parts, const protocol::VjpContribution& contribution);

}  // namespace tapedeck::inspector
