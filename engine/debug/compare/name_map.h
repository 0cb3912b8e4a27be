// Which layer or value of one side of a comparison is which of the other, as the user writes it down.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapedeck::debug {

/// "encoder/layer_0 = blocks.0": in lines, or as a JSON object of texts. Names are of layers (scopes) or of
/// values in them; a layer's name speaks for all below it. '.' and '/' are the same.
struct NamePair {
  std::string left, right;  ///< normal_name() of what is written
  std::size_t line = 0;     ///< from 1
};
using NameMap = std::vector<NamePair>;

/// "blocks.0/" is "blocks/0"; ":0" behind a variable's name is not part of it.
std::string normal_name(std::string_view name);

/// Throws BadRequest: "line 3: …". Empty lines, and what follows a '#', are left out.
NameMap parse_name_map(std::string_view text);

/// The right side's name of a name of the left, by the longest entry that it is or lies below; empty: none.
std::string mapped_name(const NameMap& map, const std::string& left);

}  // namespace tapedeck::debug
