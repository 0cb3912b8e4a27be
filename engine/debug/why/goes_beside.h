// What of a derivative the path of a gradient leaves out.
#pragma once

#include <string>

#include "engine/debug/why/vjp_check.h"

namespace tapedeck::debug {

/// Values that went around the tape, by way of Python or through an op that stops gradients, as a sentence
/// for each; empty: there are none. Throws Cancelled.
std::string what_goes_beside(Past& past, const GradientPath& path);

}  // namespace tapedeck::debug
