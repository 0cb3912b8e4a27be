// The languages that are typed or stand in messages: conditions, filters, quantities and formulas; and the
// look over JSON text.
#include <nlohmann/json.hpp>

#include "engine/protocol/conditions/contradiction.h"
#include "engine/protocol/formula.h"
#include "engine/protocol/json_check.h"
#include "engine/protocol/record_filter.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck::protocol;
using fuzz::expect;

namespace {

Record record() {
  Record record;
  record.number = 7;
  record.op = "max_pool2d";
  record.scope = "model/Dense";
  record.cell = "cell-1";
  record.line = 3;
  TensorInfo tensor;
  tensor.id = 4;
  tensor.name = "loss";
  tensor.dtype = "float32";
  tensor.shape = {10, 784};
  record.inputs = {tensor};
  record.outputs = {tensor, tensor};
  return record;
}

void look_at(const Condition& condition) {
  static const Record sample = record();
  static const std::vector<CellLabel> labels = {{"cell-1", "[3]"}};
  matches(condition, sample, labels);
  contradiction_in(condition);
  contradiction_in(condition, 3);
}

void read_conditions(std::string_view text) {
  bool is_condition = false;
  fuzz::may_refuse<ConditionError>([&] {
    look_at(parse_condition(text));
    is_condition = true;
  });
  fuzz::may_refuse<ConditionError>([&] { look_at(parse_unfinished(text)); });
  fuzz::may_refuse<ConditionError>([&] { parse_quantity(text); });
  const Condition filter = parse_filter(text);
  look_at(filter);
  filter_problem(text);
  if (is_condition) expect(filter == parse_condition(text), "a condition is a filter that says the same");
}

void read_json(std::string_view text) {
  const int nesting = json_nesting(text);
  if (nesting > 10'000) return;  // as deep as the comparison below can go
  const nlohmann::json whole = nlohmann::json::parse(text, nullptr, false);
  if (whole.is_discarded()) return;
  for (const int limit : {0, 1, 2, 5}) {
    const std::string cut = cut_json_nesting(text, limit);
    expect(json_nesting(cut) <= limit, "JSON that was cut is nested no deeper than the limit");
    const nlohmann::json rest = nlohmann::json::parse(cut, nullptr, false);
    expect(!rest.is_discarded(), "JSON that was cut is JSON");
    expect(nesting > limit || rest == whole, "JSON that is not too deep stays");
  }
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  read_conditions(text);
  static const std::vector<std::string> names = {"x", "logits", "data", "axis"};
  may_refuse<FormulaError>([&] { parse_formula(text, names); });
  may_refuse<FormulaError>([&] { parse_expression(text, names); });
  read_json(text);
  const std::size_t middle = text.size() / 2;
  matches_pattern(folded(text.substr(0, middle)), folded(text.substr(middle)));
}
