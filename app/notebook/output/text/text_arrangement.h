// How the user arranged a long text.
#pragma once

#include <cstddef>

namespace tapedeck::app {

struct TextArrangement {
  bool unfolded = false, atEnd = false;
  std::size_t topRow = 0;
};

}  // namespace tapedeck::app
