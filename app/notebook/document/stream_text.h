// What a program printed, joined as a terminal would show it.
#pragma once

#include <string>

namespace tapedeck::app {

/// Appends `text` to a stream's text. A carriage return takes back the line that it overwrites, so a progress
/// bar that repaints itself for hours stays one line; a line with terminal colours is only taken back by one
/// of at least its width. A carriage return at the end waits for what follows. Returns how many bytes of
/// `stream` stayed as they were.
std::size_t appendStreamText(std::string& stream, const std::string& text);

}  // namespace tapedeck::app
