#include "engine/protocol/record_filter.h"

#include <algorithm>
#include <array>

namespace tapedeck::protocol {
namespace {

constexpr std::array<std::pair<std::string_view, FilterPart>, 7> parts{{{"op", FilterPart::op},
                                                                        {"kind", FilterPart::kind},
                                                                        {"scope", FilterPart::scope},
                                                                        {"cell", FilterPart::cell},
                                                                        {"file", FilterPart::file},
                                                                        {"name", FilterPart::name},
                                                                        {"is", FilterPart::is}}};

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// A word without its quotes; `at` moves behind it. Quotes open at the word's begin or after a part's colon.
std::string take_word(std::string_view text, std::size_t& at) {
  std::string word;
  bool quoted = false;
  for (; at < text.size() && (quoted || !is_space(text[at])); ++at) {
    const bool opens = !quoted && (word.empty() || word.back() == ':');
    if (text[at] == '"' && (quoted || opens))
      quoted = !quoted;
    else
      word += text[at];
  }
  return word;
}

/// The lower case of a letter of two bytes in UTF-8, as a code point.
unsigned lower(unsigned letter) {
  if ((letter >= 0xc0 && letter <= 0xde && letter != 0xd7) || (letter >= 0x391 && letter <= 0x3a9) ||
      (letter >= 0x410 && letter <= 0x42f))
    return letter + 0x20;
  if (letter >= 0x400 && letter <= 0x40f) return letter + 0x50;
  if (letter >= 0x100 && letter <= 0x137 && letter != 0x130) return letter | 1;
  return letter;
}

}  // namespace

std::string folded(std::string_view text) {
  std::string result(text);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto byte = static_cast<unsigned char>(result[i]);
    if (byte >= 'A' && byte <= 'Z') {
      result[i] = static_cast<char>(byte + ('a' - 'A'));
    } else if (byte >= 0xc3 && byte <= 0xdf && i + 1 < result.size()) {
      const auto next = static_cast<unsigned char>(result[i + 1]);
      if ((next & 0xc0u) != 0x80) continue;
      const unsigned letter = lower((byte & 0x1fu) << 6 | (next & 0x3fu));
      result[i] = static_cast<char>(0xc0u | letter >> 6);
      result[++i] = static_cast<char>(0x80u | (letter & 0x3fu));
    }
  }
  return result;
}

Filter parse_filter(std::string_view text) {
  Filter filter;
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    const std::string_view rest = text.substr(at);
    FilterTerm term;
    for (const auto& [name, part] : parts) {
      if (rest.size() <= name.size() || rest[name.size()] != ':' ||
          folded(rest.substr(0, name.size())) != name)
        continue;
      term.part = part;
      at += name.size() + 1;
      break;
    }
    term.text = folded(take_word(text, at));
    if (!term.text.empty()) filter.push_back(std::move(term));
  }
  return filter;
}

bool FilterTerm::finds(FilterPart where, std::string_view value) const {
  if (part == FilterPart::is || (part != FilterPart::any && part != where)) return false;
  return folded(value).find(text) != std::string::npos;
}

bool FilterTerm::is(bool backward, RecordState state) const {
  return std::string_view(backward ? "backward" : "forward").starts_with(text) ||
         names(state).at(static_cast<std::size_t>(state)).starts_with(text);
}

const char* kind_text(RecordKind kind, bool custom_gradient, bool backward) {
  switch (kind) {
    case RecordKind::custom:
      return "function with a custom gradient";
    case RecordKind::playback:
      return "playback";
    case RecordKind::vjp:
      return custom_gradient ? "VJP (custom gradient)" : "VJP";
    case RecordKind::op:
      break;
  }
  return backward ? "backward op" : "forward op";
}

const std::string& label_of(const std::string& cell, const std::vector<CellLabel>& labels) {
  const auto found =
      std::find_if(labels.begin(), labels.end(), [&](const CellLabel& label) { return label.cell == cell; });
  return found == labels.end() ? cell : found->label;
}

bool matches(const Filter& filter, const Record& record, const std::vector<CellLabel>& labels) {
  const auto named = [](const FilterTerm& term, const std::vector<TensorInfo>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const TensorInfo& tensor) { return term.finds(FilterPart::name, tensor.name); });
  };
  return std::all_of(filter.begin(), filter.end(), [&](const FilterTerm& term) {
    if (term.part == FilterPart::is) return term.is(record.backward, record.state);
    return term.finds(FilterPart::op, record.op) ||
           term.finds(FilterPart::kind, kind_text(record.kind, record.custom_gradient, record.backward)) ||
           term.finds(FilterPart::scope, record.scope) ||
           term.finds(FilterPart::cell, label_of(record.cell, labels)) ||
           term.finds(FilterPart::file, record.file) || named(term, record.inputs) ||
           named(term, record.outputs);
  });
}

}  // namespace tapedeck::protocol
