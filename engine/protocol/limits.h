// Limits of what programs send each other and keep in files: those who write and those who read have the same
// ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapedeck::protocol {

/// Lists and objects inside of each other, in any JSON that this program reads or writes. Deep enough for any
/// notebook, shallow enough for the stack.
constexpr int max_json_nesting = 500;
/// The same within one output: a notebook's object, its list of cells, the cell and its list of outputs are
/// around it.
constexpr int max_output_nesting = max_json_nesting - 4;

/// Of one message, also between window and Jupyter kernel. Sockets refuse longer ones before they are read:
/// the connection ends. So longer ones are not sent, and the client is notified.
constexpr std::int64_t max_message_bytes = std::int64_t{1} << 30;

/// Of one cell, beside what it prints: a loop that displays without end must not fill the window's memory.
/// More is left out, and a note says how much.
constexpr std::size_t max_cell_outputs = 10'000;
constexpr std::size_t max_cell_output_bytes = std::size_t{256} << 20;

}  // namespace tapedeck::protocol
