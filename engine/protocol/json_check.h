// Checks JSON text before it is parsed: unbounded nesting would overflow the stack of code that copies,
// writes or shows the parsed value.
#pragma once

#include <string>
#include <string_view>

#include "engine/protocol/limits.h"

namespace tapedeck::protocol {

/// How many lists and objects are inside of each other at the deepest place: 2 for {"a": [1]}, 0 for a
/// number. Of text that is not JSON: what a parser would have open when it finds that out, or more. Allocates
/// nothing.
int json_nesting(std::string_view text);

/// The text with null in place of every list and object nested deeper than `limit`.
std::string cut_json_nesting(std::string_view text, int limit);

}  // namespace tapedeck::protocol
