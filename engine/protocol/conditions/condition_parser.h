// From a text to a condition: recursive descent, one function for each rule.
#pragma once

#include "engine/protocol/conditions/condition_reader.h"

namespace tapedeck::protocol::detail {

class ConditionParser : private ConditionReader {
 public:
  ConditionParser(std::string_view text, bool unfinished) : ConditionReader(text, unfinished) {}

  Condition whole();
  Quantity lone_quantity();

 private:
  // How terms are joined: condition_parser.cpp.
  Condition either();
  Condition both();
  Condition negation();
  Condition primary();
  Condition group();
  Condition named(std::size_t from, std::string_view name);

  // Terms on what an op is: condition_terms.cpp. `from`: where the term begins.
  Condition term_of(Term term, std::size_t from) const;
  Condition word_term(std::size_t from);
  Condition part_term(std::size_t from, std::size_t part);
  Condition shape_term(std::size_t from);
  Condition line_term(std::size_t from);
  Condition number_term(std::size_t from, Number number);
  Condition name_term(std::size_t from, std::string_view name);
  void check_name(std::size_t from, std::string_view name) const;
  std::vector<std::int64_t> shape();
  double number_with_unit(Number number);

  // Terms on the values of tensors: condition_values.cpp.
  Condition value_term(std::size_t from);
  Quantity quantity();
  Target target();
  Operand operand(const Quantity& left);

  int depth_ = 0;
};

/// "out", "in0", "grad", "any".
std::optional<Target> target_named(std::string_view name);

}  // namespace tapedeck::protocol::detail
