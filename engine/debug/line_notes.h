// Why a breakpoint on a line of a traced function is never hit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/protocol/breakpoints.h"

namespace tapedeck::debug {

/// A sentence where the line is one of a function whose traces have no op that runs there; else nothing: ops
/// run there, or the function was not traced so far, or functions run eagerly.
std::optional<std::string> note_of_line(const std::string& cell, std::uint32_t line);

/// "merged with line 3", "folded" or "removed": what the passes made of the op of that name on the line, in a
/// trace that is alive; nothing where they made nothing of it.
std::optional<std::string> change_of_op(const std::string& cell, std::uint32_t line, const std::string& op);

/// Gives those on lines their notes, where they have none. `states`: in the order of the breakpoints.
void add_line_notes(const protocol::SetBreakpoints& set, protocol::Breakpoints& states);

}  // namespace tapedeck::debug
