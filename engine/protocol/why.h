// Why: questions about what was recorded, and their answers.
#pragma once

#include "engine/protocol/record.h"

namespace tapedeck::protocol {

enum class Question : std::uint8_t {
  birth,          ///< where was this NaN or Inf born?
  size,           ///< where did it get so large, or so small?
  gradient,       ///< why is this gradient None, or zero?
  contributions,  ///< what made this element? Of a gradient: what did it come from?
  check,          ///< is this gradient right?
  exactness       ///< how exact is this?
};
constexpr auto names(Question) {
  return std::array<std::string_view, 6>{"birth", "size", "gradient", "contributions", "check", "exactness"};
}

/// Answer: Because, or a Failure; Progress before it where it takes long.
struct Why {
  Question question = Question::birth;
  std::optional<std::uint64_t> tensor;               ///< absent: the record's first output
  std::optional<std::vector<std::int64_t>> element;  ///< one index per axis; absent: the whole tensor
  std::optional<std::uint64_t> record;               ///< where the user looks; absent: nowhere
  static constexpr const char* type = "why";
  template <class Visit, class Self = Why>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("question", &Self::question), field("tensor", &Self::tensor),
                 field("element", &Self::element), field("record", &Self::record));
  }
};

/// One record of an answer.
struct Reason {
  std::optional<std::uint64_t> record;  ///< absent: an assignment, or a value from Python
  std::string op;                       ///< as in Record; the variable's name of an assignment
  std::string cell, file;               ///< as in Record
  std::uint32_t line = 0;
  std::uint32_t last_line = 0;  ///< of a loop: its lines are `line` to this one; 0: one line
  std::string role;             ///< "born", "passed on", "VJP", "forward op", "swallowed", "stopped", …
  std::string sentence;
  std::optional<TensorInfo> tensor;                  ///< to be shown
  std::optional<std::vector<std::int64_t>> element;  ///< of that tensor; absent: all of it
  std::vector<std::string> operands;                 ///< the values that the op was given, "x = 0.0"
  std::optional<std::string> value;                  ///< what it made of them
  std::optional<double> amount;                      ///< what Because::amount names
  std::optional<std::string> amount_text;            ///< "62 %", "×1400", "3.2e-04"
  template <class Visit, class Self = Reason>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("record", &Self::record), field("op", &Self::op), field("cell", &Self::cell),
                 field("file", &Self::file), field("line", &Self::line), field("last_line", &Self::last_line),
                 field("role", &Self::role), field("sentence", &Self::sentence),
                 field("tensor", &Self::tensor), field("element", &Self::element),
                 field("operands", &Self::operands), field("value", &Self::value),
                 field("amount", &Self::amount), field("amount_text", &Self::amount_text));
  }
};

struct Because {
  Question question = Question::birth;
  std::string sentence;               ///< the answer, for a reader who is new to the field
  std::optional<std::string> amount;  ///< what the reasons' amounts are: "share", "gain", "error"
  std::vector<Reason> reasons;        ///< the one that matters most first
  bool complete = true;               ///< false: the sentence says what is missing
  static constexpr const char* type = "because";
  template <class Visit, class Self = Because>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("question", &Self::question), field("sentence", &Self::sentence),
                 field("amount", &Self::amount), field("reasons", &Self::reasons),
                 field("complete", &Self::complete));
  }
};

}  // namespace tapedeck::protocol
