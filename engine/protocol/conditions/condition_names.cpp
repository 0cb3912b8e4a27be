// The names of parts, numbers, flags, functions and properties that a condition may hold.
#include "engine/protocol/conditions/condition_names.h"

#include <algorithm>
#include <array>

#include "engine/protocol/conditions/condition.h"

namespace tapedeck::protocol {
namespace {

// In the order of the enumerators; FilterPart::any has no name.
constexpr std::array<std::string_view, 13> parts{"op",    "kind",  "scope",  "cell", "file",  "name", "is",
                                                 "dtype", "reads", "writes", "call", "shape", "line"};
constexpr std::array<std::string_view, 6> numbers{"record", "line", "duration", "bytes", "thread", "depth"};
constexpr std::array<std::string_view, 6> flags{"forward",  "backward", "vjp",
                                                "playback", "failed",   "bookmarked"};
constexpr std::array<std::string_view, 9> functions{"nan",  "inf", "zeros", "max",      "min",
                                                    "mean", "sum", "norm",  "deviation"};
constexpr std::array<std::string_view, 5> properties{"size", "bytes", "rank", "shape", "dtype"};
static_assert(parts[static_cast<std::size_t>(FilterPart::call) - 1] == "call");

}  // namespace

std::span<const std::string_view> part_names() {
  return parts;
}
std::span<const std::string_view> number_names() {
  return numbers;
}
std::span<const std::string_view> flag_names() {
  return flags;
}
std::span<const std::string_view> function_names() {
  return functions;
}
std::span<const std::string_view> property_names() {
  return properties;
}

std::optional<ConditionError> bookmarks_error(const Condition& condition) {
  std::optional<ConditionError> error;
  for_each_term(condition, [&](const Condition& leaf) {
    if (const auto* flag = std::get_if<Flag>(&leaf.term); flag && *flag == Flag::bookmarked && !error)
      error.emplace(
          leaf.position,
          "\"bookmarked\" is for the filter of Ops: bookmarks are set in the window, on ops that ran.");
  });
  return error;
}

namespace detail {

std::optional<std::size_t> place_of(Names names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - names.begin()));
}

std::string listed(Names names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + std::string(names[i]);
  return text;
}

}  // namespace detail
}  // namespace tapedeck::protocol
