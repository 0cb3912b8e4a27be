#include "engine/protocol/formula_tokens.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/protocol/formula.h"

namespace tapedeck::protocol::detail {
namespace {

using Kind = FormulaToken::Kind;
using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array raised = {Pair{"ᵀ", "T"}, Pair{"ᴴ", "H"}, Pair{"²", "2"}, Pair{"³", "3"}, Pair{"⁻", "−"},
                               Pair{"¹", "1"}, Pair{"ˣ", "x"}, Pair{"ᵃ", "a"}, Pair{"ᵇ", "b"}};
constexpr std::array lowered = {Pair{"ᵢ", "i"}, Pair{"ⱼ", "j"}, Pair{"ₖ", "k"}, Pair{"₀", "0"},
                                Pair{"₁", "1"}, Pair{"₂", "2"}, Pair{"₃", "3"}, Pair{"₄", "4"},
                                Pair{"₅", "5"}, Pair{"₆", "6"}, Pair{"₇", "7"}, Pair{"₈", "8"},
                                Pair{"₉", "9"}, Pair{"ₗ", "l"}, Pair{"ₘ", "m"}, Pair{"ₙ", "n"}};
constexpr std::array<std::string_view, 28> signs = {"+",  "−", "-", "·", "/", "=", "<", ">", "≤", "≥",
                                                    "≠",  ",", ";", ":", "^", "√", "Σ", "Π", "∘", "⋆",
                                                    "->", "→", "≈", "∂", "…", "'", "×", "÷"};
constexpr std::array<std::string_view, 6> brackets = {"(", ")", "[", "]", "⌊", "⌋"};
constexpr std::array<std::string_view, 12> greek = {"α", "β", "ζ", "λ", "π", "σ",
                                                    "φ", "ψ", "Φ", "Γ", "ω", "μ"};

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_number_digit(char c) {
  return c >= '0' && c <= '9';
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<FormulaToken> read() {
    while (at_ < text_.size()) {
      if (text_[at_] == ' ') {
        spaced_ = true;
        ++at_;
        continue;
      }
      read_one();
      spaced_ = false;
    }
    if (!open_.empty()) refuse("a bracket is not closed", open_.back());
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what, std::size_t position) const {
    throw FormulaError("formula '" + std::string(text_) + "', position " + std::to_string(position) + ": " +
                       what);
  }
  bool starts(std::string_view with) const { return text_.substr(at_).starts_with(with); }
  template <class List>
  const typename List::value_type* first_of(const List& list) const {
    for (const auto& entry : list) {
      if constexpr (requires { entry.first; }) {
        if (starts(entry.first)) return &entry;
      } else {
        if (starts(entry)) return &entry;
      }
    }
    return nullptr;
  }
  void add(Kind kind, std::string text, std::size_t bytes) {
    tokens_.push_back({kind, std::move(text), spaced_, at_});
    at_ += bytes;
  }

  void read_one() {
    if (is_name_letter(text_[at_])) return read_name();
    if (is_number_digit(text_[at_])) return read_number();
    if (starts("½")) return add(Kind::number, "½", std::string_view("½").size());
    if (first_of(raised)) return read_shifted(Kind::raised, raised);
    if (first_of(lowered)) return read_shifted(Kind::lowered, lowered);
    if (const auto* letter = first_of(greek)) return add(Kind::name, std::string(*letter), letter->size());
    if (text_[at_] == '|') return read_bar();
    if (const auto* bracket = first_of(brackets)) return read_bracket(*bracket);
    if (starts("->")) return add(Kind::sign, "→", 2);
    if (starts("-")) return add(Kind::sign, "−", 1);
    if (const auto* sign = first_of(signs)) return add(Kind::sign, std::string(*sign), sign->size());
    refuse("this character cannot occur in a formula", at_);
  }

  /// Letters, digits, underscores; "input's" is one word.
  void read_name() {
    std::size_t end = at_;
    while (end < text_.size() &&
           (is_name_letter(text_[end]) || is_number_digit(text_[end]) || text_[end] == '_'))
      ++end;
    if (text_.substr(end).starts_with("'s") && !(end + 2 < text_.size() && is_name_letter(text_[end + 2])))
      end += 2;
    add(Kind::name, std::string(text_.substr(at_, end - at_)), end - at_);
  }

  void read_number() {
    std::size_t end = at_;
    while (end < text_.size() &&
           (is_number_digit(text_[end]) ||
            (text_[end] == '.' && end + 1 < text_.size() && is_number_digit(text_[end + 1]))))
      ++end;
    // 1.5e-07
    if (end + 1 < text_.size() && text_[end] == 'e') {
      std::size_t digits = end + 1 + (text_[end + 1] == '-' || text_[end + 1] == '+');
      if (digits < text_.size() && is_number_digit(text_[digits])) {
        while (digits < text_.size() && is_number_digit(text_[digits])) ++digits;
        end = digits;
      }
    }
    add(Kind::number, std::string(text_.substr(at_, end - at_)), end - at_);
  }

  /// A whole superscript, or subscript; a relation between two of it belongs to it: Πⱼ≠ᵢ.
  template <class List>
  void read_shifted(Kind kind, const List& list) {
    const std::size_t start = at_;
    std::string text;
    while (at_ < text_.size()) {
      if (const Pair* entry = first_of(list)) {
        text += entry->second;
        at_ += entry->first.size();
        continue;
      }
      const std::string_view relation = starts("≠") ? "≠" : starts("≥") ? "≥" : starts("≤") ? "≤" : "";
      if (relation.empty()) break;
      at_ += relation.size();
      if (!first_of(list)) {
        at_ -= relation.size();
        break;
      }
      text += relation;
    }
    tokens_.push_back({kind, std::move(text), spaced_, start});
  }

  void read_bar() {
    if (!open_.empty() && text_[open_.back()] == '|') {
      open_.pop_back();
      add(Kind::close, "|", 1);
    } else {
      open_.push_back(at_);
      add(Kind::open, "|", 1);
    }
  }

  void read_bracket(std::string_view bracket) {
    if (bracket == "(" || bracket == "[" || bracket == "⌊") {
      open_.push_back(at_);
      return add(Kind::open, std::string(bracket), bracket.size());
    }
    if (open_.empty()) refuse("a bracket closes nothing", at_);
    const std::string_view opened =
        text_.substr(open_.back()).starts_with("⌊") ? std::string_view("⌊") : text_.substr(open_.back(), 1);
    if (closing_bracket(opened) != bracket) refuse("another bracket was opened", at_);
    open_.pop_back();
    add(Kind::close, std::string(bracket), bracket.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool spaced_ = false;
  std::vector<std::size_t> open_;
  std::vector<FormulaToken> tokens_;
};

}  // namespace

std::vector<FormulaToken> formula_tokens(std::string_view text) {
  return Reader(text).read();
}

}  // namespace tapedeck::protocol::detail
