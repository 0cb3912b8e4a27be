// Conditions that nothing can fulfil.
#pragma once

#include <string>

#include "engine/protocol/conditions/condition.h"

namespace tapedeck::protocol {

/// A sentence that says why the condition can never hold; empty where it may. `line`: the only line that it
/// is looked at in; 0: any. Looks at directions, kinds, names of ops and numbers, not at values.
std::string contradiction_in(const Condition& condition, int line = 0);

}  // namespace tapedeck::protocol
