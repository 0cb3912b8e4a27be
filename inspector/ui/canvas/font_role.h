// The fonts of the canvases.
#pragma once

namespace tapedeck::inspector {

enum class FontRole { regular, bold, mono };

}  // namespace tapedeck::inspector
