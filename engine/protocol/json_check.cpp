#include "engine/protocol/json_check.h"

#include <algorithm>

namespace tapedeck::protocol {
namespace {

/// Calls `at(position, depth before it)` for each bracket outside of strings, and follows the depth.
template <class At>
void for_each_bracket(std::string_view text, At&& at) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i)
          if (text[i] == '\\') ++i;
        break;
      case '[':
      case '{':
        at(i, depth++);
        break;
      case ']':
      case '}':
        // More ends than beginnings: no JSON, and a parser stops there.
        if (depth > 0) at(i, depth--);
        break;
      default:
        break;
    }
  }
}

bool opens(char bracket) {
  return bracket == '[' || bracket == '{';
}

}  // namespace

int json_nesting(std::string_view text) {
  int deepest = 0;
  for_each_bracket(text, [&](std::size_t at, int depth) {
    if (opens(text[at])) deepest = std::max(deepest, depth + 1);
  });
  return deepest;
}

std::string cut_json_nesting(std::string_view text, int limit) {
  std::string cut;
  std::size_t kept = 0;
  for_each_bracket(text, [&](std::size_t at, int depth) {
    if (opens(text[at]) && depth == limit) cut.append(text, kept, at - kept).append("null");
    if (depth > limit || (depth == limit && opens(text[at]))) kept = at + 1;
  });
  return cut.append(text, std::min(kept, text.size()));
}

}  // namespace tapedeck::protocol
