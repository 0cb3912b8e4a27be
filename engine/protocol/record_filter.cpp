#include "engine/protocol/record_filter.h"

#include <algorithm>

#include "engine/protocol/call_text.h"

namespace tapedeck::protocol {
namespace {

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// A word without its quotes; `at` moves behind it. Quotes open at the word's start or after a part's colon.
std::string take_word(std::string_view text, std::size_t& at) {
  std::string word;
  bool quoted = false;
  for (; at < text.size() && (quoted || !is_blank(text[at])); ++at) {
    const bool opens = !quoted && (word.empty() || word.back() == ':');
    if (text[at] == '"' && (quoted || opens))
      quoted = !quoted;
    else
      word += text[at];
  }
  return word;
}

/// Words and parts, whatever the text is.
Condition parse_words(std::string_view text) {
  Condition all;
  for (std::size_t at = 0; at < text.size();) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    Condition condition;
    condition.kind = Condition::Kind::term;
    condition.position = at;
    const std::string_view rest = text.substr(at);
    TextTerm term;
    for (std::size_t part = 0; part < static_cast<std::size_t>(FilterPart::call); ++part) {
      const std::string_view name = part_names()[part];
      if (rest.size() <= name.size() || rest[name.size()] != ':' ||
          folded(rest.substr(0, name.size())) != name)
        continue;
      term.part = static_cast<FilterPart>(part + 1);
      at += name.size() + 1;
      break;
    }
    term.text = folded(take_word(text, at));
    if (term.text.empty()) continue;
    condition.term = std::move(term);
    all.parts.push_back(std::move(condition));
  }
  number_terms(all);
  if (all.parts.size() == 1) return Condition(std::move(all.parts.front()));
  return all;
}

/// The Python name that a term asks for.
const std::string* name_in(const Term& term) {
  if (const auto* named = std::get_if<NameTerm>(&term)) return &named->name;
  const auto* value = std::get_if<ValueTerm>(&term);
  const auto* right = value ? std::get_if<PythonName>(&value->right) : nullptr;
  return right ? &right->name : nullptr;
}

std::string unrecorded_term_of(const Condition& condition) {
  std::string sentence;
  for_each_term(condition, [&](const Condition& leaf) {
    if (const std::string* name = name_in(leaf.term))
      sentence = "\"" + *name +
                 "\" is read as a Python name, and the values of Python names are not recorded: they work in "
                 "breakpoints only. Quotes turn it into a word.";
    else if (std::holds_alternative<SeriesTerm>(leaf.term))
      sentence = "Curves can be used in breakpoints only: a filter sees what was recorded of each op.";
  });
  return sentence;
}

TensorFacts facts_of_record(const TensorInfo& tensor) {
  TensorFacts facts{tensor.shape, tensor.dtype, 1, 0};
  for (const std::int64_t extent : tensor.shape) facts.size *= static_cast<std::uint64_t>(extent);
  facts.bytes = facts.size * bytes_of_dtype(tensor.dtype);
  return facts;
}

class Look {
 public:
  Look(const Record& record, const std::vector<CellLabel>& labels, std::span<const std::uint64_t> bookmarked)
      : record_(record), labels_(labels), bookmarked_(bookmarked) {}

  Verdict operator()(const Condition& term) const {
    return std::visit([this](const auto& one) { return look(one); }, term.term);
  }

 private:
  Verdict look(const TextTerm& term) const {
    if (term.part == FilterPart::is) return verdict_of(is_state(term, record_.backward, record_.state));
    const auto finds = [&](FilterPart where, std::string_view value) { return term.finds(where, value); };
    const auto any = [&](const std::vector<TensorInfo>& tensors, FilterPart role) {
      return std::any_of(tensors.begin(), tensors.end(), [&](const TensorInfo& tensor) {
        return finds(FilterPart::name, tensor.name) || finds(FilterPart::dtype, tensor.dtype) ||
               (!tensor.name.empty() && finds(role, tensor.name));
      });
    };
    return verdict_of(
        finds(FilterPart::op, record_.op) ||
        finds(FilterPart::kind, kind_text(record_.kind, record_.custom_gradient, record_.backward)) ||
        finds(FilterPart::scope, record_.scope) ||
        finds(FilterPart::cell, label_of(record_.cell, record_.execution, labels_)) ||
        finds(FilterPart::file, record_.file) || finds(FilterPart::call, on_one_line(record_.call)) ||
        any(record_.inputs, FilterPart::reads) || any(record_.outputs, FilterPart::writes));
  }
  Verdict look(Flag flag) const {
    if (flag == Flag::bookmarked)
      return verdict_of(std::binary_search(bookmarked_.begin(), bookmarked_.end(), record_.number));
    return verdict_of(has_flag(flag, record_.kind, record_.backward, record_.state));
  }
  Verdict look(const ShapeTerm& term) const {
    const auto fits = [&](const TensorInfo& tensor) {
      return !tensor.dtype.empty() && term.fits(tensor.shape);
    };
    return verdict_of(std::any_of(record_.inputs.begin(), record_.inputs.end(), fits) ||
                      std::any_of(record_.outputs.begin(), record_.outputs.end(), fits));
  }
  Verdict look(const NumberTerm& term) const {
    const bool known = record_.work == WorkTime::host || record_.work == WorkTime::known;
    if (term.number == Number::duration && !known) return Verdict::unknown;
    return verdict_of(term.holds(number(term.number)));
  }
  Verdict look(const ValueTerm& term) const {
    OpFacts op;
    std::vector<TensorFacts> inputs, outputs;
    for (const TensorInfo& tensor : record_.inputs)
      if (!tensor.dtype.empty()) inputs.push_back(facts_of_record(tensor));
    for (const TensorInfo& tensor : record_.outputs)
      if (!tensor.dtype.empty()) outputs.push_back(facts_of_record(tensor));
    op.inputs = inputs;
    op.outputs = outputs;
    op.gives_gradients = record_.kind == RecordKind::vjp || record_.kind == RecordKind::playback;
    return evaluate(term, op);
  }
  Verdict look(const SeriesTerm&) const { return Verdict::unknown; }
  Verdict look(const NameTerm&) const { return Verdict::unknown; }

  double number(Number number) const {
    switch (number) {
      case Number::record:
        return static_cast<double>(record_.number);
      case Number::line:
        return record_.line;
      case Number::duration:
        return static_cast<double>(record_.duration_ns);
      case Number::bytes: {
        double bytes = 0;
        for (const TensorInfo& tensor : record_.outputs)
          if (!tensor.dtype.empty()) bytes += static_cast<double>(facts_of_record(tensor).bytes);
        return bytes;
      }
      case Number::thread:
        return static_cast<double>(record_.thread);
      case Number::depth:
        return record_.depth;
    }
    return 0;
  }

  const Record& record_;
  const std::vector<CellLabel>& labels_;
  const std::span<const std::uint64_t> bookmarked_;
};

}  // namespace

Condition parse_filter(std::string_view text) {
  try {
    return parse_unfinished(text);
  } catch (const ConditionError&) {
    return parse_words(text);
  }
}

std::string filter_problem(std::string_view text) {
  try {
    return unrecorded_term_of(parse_unfinished(text));
  } catch (const ConditionError& error) {
    return std::string(error.what()) + " The text is searched for word by word.";
  }
}

bool asks_for_values(const Condition& condition) {
  bool asks = false;
  for_each_term(condition, [&](const Condition& leaf) {
    const auto* value = std::get_if<ValueTerm>(&leaf.term);
    const auto* other = value ? std::get_if<Quantity>(&value->right) : nullptr;
    asks = asks || (value && (reads_values(value->left.measure) || (other && reads_values(other->measure))));
  });
  return asks;
}

bool asks_for_bookmarks(const Condition& condition) {
  return bookmarks_error(condition).has_value();
}

bool is_state(const TextTerm& term, bool backward, RecordState state) {
  return std::string_view(backward ? "backward" : "forward").starts_with(term.text) ||
         names(state).at(static_cast<std::size_t>(state)).starts_with(term.text);
}

bool has_flag(Flag flag, RecordKind kind, bool backward, RecordState state) {
  switch (flag) {
    case Flag::forward:
      return !backward;
    case Flag::backward:
      return backward;
    case Flag::vjp:
      return kind == RecordKind::vjp;
    case Flag::playback:
      return kind == RecordKind::playback;
    case Flag::failed:
      return state == RecordState::failed;
    case Flag::bookmarked:
      return false;
  }
  return false;
}

const char* kind_text(RecordKind kind, bool custom_gradient, bool backward) {
  switch (kind) {
    case RecordKind::custom:
      return "function with a custom gradient";
    case RecordKind::playback:
      return "playback";
    case RecordKind::vjp:
      return custom_gradient ? "VJP (custom gradient)" : "VJP";
    case RecordKind::call:
      return "graph function";
    case RecordKind::op:
      break;
  }
  return backward ? "backward op" : "forward op";
}

std::string execution_label(std::uint64_t execution) {
  return "cell [" + std::to_string(execution) + "]";
}

std::string label_of(const std::string& cell, std::uint64_t execution, const std::vector<CellLabel>& labels) {
  if (execution != 0) return execution_label(execution);
  const auto found =
      std::find_if(labels.begin(), labels.end(), [&](const CellLabel& label) { return label.cell == cell; });
  return found == labels.end() ? cell : found->label;
}

bool matches(const Condition& filter, const Record& record, const std::vector<CellLabel>& labels,
             std::span<const std::uint64_t> bookmarked) {
  return evaluate(filter, Look(record, labels, bookmarked)) == Verdict::yes;
}

}  // namespace tapedeck::protocol
