// The language in which records are looked for, the same in the window and in the engine.
//
// Words, all of which must be found, in any order; upper and lower case are the same.
//   matmul            in the op's name, its kind ("forward op", "VJP", …), scope, cell, file, or a tensor's
//   name op:matmul         in that part alone; parts are op, kind, scope, cell, file, name is:backward what
//   it is: forward, backward, pending, running, done, failed (also the beginning of one) "my scope" quotes
//   hold words together, also after a part: scope:"my scope"
// Whatever else stands there is a word as it is: nothing is an error while somebody types.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck::protocol {

enum class FilterPart : std::uint8_t { any, op, kind, scope, cell, file, name, is };

struct FilterTerm {
  FilterPart part = FilterPart::any;
  std::string text;  ///< folded
  bool operator==(const FilterTerm&) const = default;

  /// Whether the term looks at `where` and finds its text in it.
  bool finds(FilterPart where, std::string_view value) const;
  /// For terms of the part `is`.
  bool is(bool backward, RecordState state) const;
};
using Filter = std::vector<FilterTerm>;

Filter parse_filter(std::string_view text);

/// UTF-8 in lower case: Latin, Greek and Cyrillic letters; other bytes as they are.
std::string folded(std::string_view text);

/// "forward op", "VJP (custom gradient)", …
const char* kind_text(RecordKind kind, bool custom_gradient, bool backward);

/// The cell as the user knows it; where it has no label, its id.
const std::string& label_of(const std::string& cell, const std::vector<CellLabel>& labels);

bool matches(const Filter& filter, const Record& record, const std::vector<CellLabel>& labels);

}  // namespace tapedeck::protocol
