// How a call that a program wrote on several lines is shown on one.
#pragma once

#include <string>
#include <string_view>

namespace tapedeck::protocol {

/// Python code on one line: without its comments, line breaks and what indents lines. Strings stay as they
/// are, but for line breaks in them, which become "\n". A text without line breaks is given back whole.
std::string on_one_line(std::string_view code);

}  // namespace tapedeck::protocol
