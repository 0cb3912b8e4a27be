// Records are looked for in the language of conditions (condition.h), the same in the window and in the
// engine. Whatever does not fit the language is a word as it is: nothing is an error while the user types.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/protocol/conditions/condition.h"
#include "engine/protocol/messages.h"

namespace tapedeck::protocol {

/// The condition that a filter's text says. A text that ends too early means what is there so far; any other
/// that is not a condition: words, and parts with a colon, all of which must be found.
Condition parse_filter(std::string_view text);

/// Why a filter does not do what its text seems to say, as a sentence: it is not a condition and is taken as
/// words, or it asks for Python names or curves, which only breakpoints look at. Empty: it does.
std::string filter_problem(std::string_view text);
/// What it takes the values of tensors to decide: each may have to be computed again.
bool asks_for_values(const Condition& condition);

/// It asks for bookmarks, which the window knows.
bool asks_for_bookmarks(const Condition& condition);

/// For terms of the part `is`.
bool is_state(const TextTerm& term, bool backward, RecordState state);
/// No record has a bookmark by what it is: `bookmarked` is decided by its number.
bool has_flag(Flag flag, RecordKind kind, bool backward, RecordState state);

/// "forward op", "VJP (custom gradient)", …
const char* kind_text(RecordKind kind, bool custom_gradient, bool backward);

/// What an execution of a cell is called, "cell [3]": the number that Jupyter gave it.
std::string execution_label(std::uint64_t execution);
/// The cell as the user knows it: by the execution, where that is not 0; else its label; without one its id.
std::string label_of(const std::string& cell, std::uint64_t execution, const std::vector<CellLabel>& labels);

/// `bookmarked`: numbers of records, ascending.
bool matches(const Condition& filter, const Record& record, const std::vector<CellLabel>& labels,
             std::span<const std::uint64_t> bookmarked = {});

}  // namespace tapedeck::protocol
