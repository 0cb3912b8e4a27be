// Looking for a name among those that a condition may hold (part_names() and the others of condition.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tapedeck::protocol::detail {

using Names = std::span<const std::string_view>;

std::optional<std::size_t> place_of(Names names, std::string_view name);
/// "nan, inf and zeros"
std::string listed(Names names);

}  // namespace tapedeck::protocol::detail
