#include "engine/protocol/conditions/log_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

namespace tapedeck::protocol {
namespace {

constexpr std::array<std::string_view, 5> fact_names{"op", "record", "line", "hits", "shape"};

bool of_outputs(const Quantity& quantity) {
  return quantity.target.role != Role::input;
}

Quantity quantity_at(std::string_view text, std::size_t begin, std::size_t end) {
  try {
    const Quantity quantity = parse_quantity(text.substr(begin, end - begin));
    if (quantity.measure == Measure::shape || quantity.measure == Measure::dtype)
      throw ConditionError(0, "This is not a number.");
    return quantity;
  } catch (const ConditionError& error) {
    throw ConditionError(begin + error.position, error.what());
  }
}

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// {loss}, {opp}: no quantity was meant, so that a list of functions alone says too little.
bool is_a_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
    return letter == '_' || std::isalnum(static_cast<unsigned char>(letter)) != 0;
  });
}

}  // namespace

LogText LogText::line(std::string_view text) {
  LogText log;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find('{', at), text.size());
    if (open > at) log.pieces_.emplace_back(std::string(text.substr(at, open - at)));
    if (open == text.size()) break;
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) throw ConditionError(open, "A closing brace is missing.");
    const std::string_view inside = without_spaces(text.substr(open + 1, close - open - 1));
    if (std::find(fact_names.begin(), fact_names.end(), inside) != fact_names.end())
      log.pieces_.emplace_back(Fact{std::string(inside)});
    else if (is_a_word(inside))
      throw ConditionError(open + 1, "A log line has no {" + std::string(inside) +
                                         "}: it has {op}, {record}, {line}, {hits}, {shape} and quantities "
                                         "of the op's tensors, such as {max(out)}.");
    else
      log.pieces_.emplace_back(quantity_at(text, open + 1, close));
    at = close + 1;
  }
  if (log.pieces_.empty()) throw ConditionError(0, "There is no text to write.");
  return log;
}

LogText LogText::point(std::string_view text) {
  LogText log;
  const std::size_t equals = text.find('=');
  const std::size_t begin = equals == std::string_view::npos ? 0 : equals + 1;
  log.pieces_.emplace_back(quantity_at(text, begin, text.size()));
  log.curve_ = without_spaces(equals == std::string_view::npos ? text : text.substr(0, equals));
  if (log.curve_.empty()) throw ConditionError(0, "The curve has no name.");
  return log;
}

bool LogText::needs_end() const {
  return std::any_of(pieces_.begin(), pieces_.end(), [](const auto& piece) {
    const auto* quantity = std::get_if<Quantity>(&piece);
    return quantity && of_outputs(*quantity);
  });
}

bool LogText::looks_at_ops() const {
  return std::any_of(pieces_.begin(), pieces_.end(), [](const auto& piece) {
    const auto* known = std::get_if<Fact>(&piece);
    return known ? known->name != "line" && known->name != "hits"
                 : !std::holds_alternative<std::string>(piece);
  });
}

std::string LogText::write(const LogFact& fact, const LogMeasure& measure) const {
  std::string text;
  for (const auto& piece : pieces_) {
    if (const auto* literal = std::get_if<std::string>(&piece)) {
      text += *literal;
    } else if (const auto* name = std::get_if<Fact>(&piece)) {
      text += fact(name->name);
    } else {
      text += measure(std::get<Quantity>(piece));
    }
  }
  return text;
}

std::string quantity_text(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

}  // namespace tapedeck::protocol
