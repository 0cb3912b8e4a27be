// What names of the Python program hold, for the conditions of breakpoints.
#pragma once

#include <string>

#include "engine/protocol/conditions/condition.h"

namespace tapedeck::python {

/// A number, a string or a boolean that the calling thread's program knows by that name: in its innermost
/// function of the user's, then in that one's module, then in what called it. Throws protocol::NameError,
/// also where the thread runs no Python.
protocol::NameValue name_of_program(const std::string& name);

}  // namespace tapedeck::python
