#include "engine/debug/vjp/foreign_rules.h"

#include <algorithm>
#include <unordered_map>

#include "engine/ops/core/run_op.h"

namespace tapedeck::debug {

ForeignRule rule_of(const ForeignOp& op) {
  static const auto* const all = [] {
    auto* rules = new std::unordered_map<std::string_view, ForeignRule>;
    for (const auto& family :
         {elementwise_rules(), array_rules(), reduction_rules(), neural_rules(), loss_rules()})
      for (const NamedRule& named : family) rules->emplace(named.aten, named.rule);
    return rules;
  }();
  std::string_view name = op.row->name;
  if (!name.starts_with("aten.")) return nullptr;
  name.remove_prefix(5);
  name = name.substr(0, name.find_first_of(".#"));
  auto found = all->find(name);
  if (found == all->end() && name.size() > 1 && name.ends_with('_'))
    found = all->find(name.substr(0, name.size() - 1));
  return found == all->end() ? nullptr : found->second;
}

Tensors call_row(const char* op, std::span<const Tensor> inputs,
                 std::initializer_list<std::pair<const char*, Attribute>> attributes) {
  const OpDef& row = *Registry::instance().find(op);
  std::vector<Attribute> values;
  for (const AttributeSpec& spec : row.attributes) {
    const auto given = std::ranges::find(attributes, spec.name, [](const auto& each) { return each.first; });
    values.push_back(given == attributes.end() ? spec.fallback : given->second);
  }
  return run_op(row, inputs, values.empty() ? Attributes() : Attributes(std::move(values)));
}

Tensor call_row1(const char* op, std::initializer_list<Tensor> inputs,
                 std::initializer_list<std::pair<const char*, Attribute>> attributes) {
  return call_row(op, {inputs.begin(), inputs.size()}, attributes)[0];
}

}  // namespace tapedeck::debug
