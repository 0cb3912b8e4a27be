#include "engine/debug/vjp/term_names.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "engine/debug/vjp/formula_values.h"
#include "engine/debug/vjp/operand_places.h"

namespace tapedeck::debug {
namespace {

using protocol::FormulaNode;

Index indices_at(const Shape& shape, std::int64_t element) {
  Index index(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<std::size_t>(axis)] = element % shape[axis];
    element /= shape[axis];
  }
  return index;
}

std::int64_t element_at(const Shape& shape, const Index& index) {
  std::int64_t element = 0;
  for (int axis = 0; axis < shape.rank(); ++axis)
    element = element * shape[axis] + index[static_cast<std::size_t>(axis)];
  return element;
}

bool inside(const Shape& shape, const Index& index) {
  if (index.size() != static_cast<std::size_t>(shape.rank())) return false;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (index[static_cast<std::size_t>(axis)] < 0 || index[static_cast<std::size_t>(axis)] >= shape[axis])
      return false;
  return true;
}

/// Where an element of the larger shape is in the one that is repeated to it.
std::optional<Index> repeated_place(const Shape& small, const Shape& large, const Index& index) {
  if (small.rank() > large.rank()) return std::nullopt;
  Index place;
  for (int axis = 0; axis < small.rank(); ++axis) {
    const int at = axis + large.rank() - small.rank();
    if (small[axis] != 1 && small[axis] != large[at]) return std::nullopt;
    place.push_back(small[axis] == 1 ? 0 : index[static_cast<std::size_t>(at)]);
  }
  return place;
}

/// Of two computations of one number in the op's dtype.
bool alike(double a, double b, double scale, DType dtype) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  const double step = dtype == DType::float64 ? 1e-9 : dtype == DType::float32 ? 2e-5 : 2e-2;
  return std::abs(a - b) <= step * (std::abs(a) + 0.1 * std::abs(scale));
}

bool is_plain(const std::string& name) {
  return name.size() == 1 || static_cast<unsigned char>(name[0]) >= 0x80 ||
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string gradient_text(const std::string& name) {
  return is_plain(name) ? "d" + name : "d(" + name + ")";
}

void collect_symbols(const FormulaNode& node, std::set<std::pair<std::string, bool>>& symbols) {
  if (node.kind == FormulaNode::Kind::symbol) symbols.insert({node.text, false});
  if (node.kind == FormulaNode::Kind::gradient) symbols.insert({node.text, true});
  for (const FormulaNode& part : node.parts) collect_symbols(part, symbols);
}

std::string brackets(const std::vector<std::string>& places) {
  if (places.empty()) return {};
  std::string text = "[";
  for (std::size_t i = 0; i < places.size(); ++i) text += (i ? "," : "") + places[i];
  return text + "]";
}

std::vector<std::string> as_text(const Index& index) {
  std::vector<std::string> places;
  for (const std::int64_t at : index) places.push_back(std::to_string(at));
  return places;
}

}  // namespace

double element_of(const Tensor& tensor, std::int64_t element) {
  std::int64_t offset = tensor.offset();
  const Index index = indices_at(tensor.shape(), element);
  for (int axis = 0; axis < tensor.rank(); ++axis)
    offset += index[static_cast<std::size_t>(axis)] * tensor.strides()[axis];
  return Tensor::view(tensor.storage(), tensor.dtype(), Shape{}, Strides{}, offset).item();
}

TermNames::TermNames(const VjpCall& call, std::size_t input, std::int64_t element,
                     std::span<const Term> terms)
    : call_(&call),
      input_(input),
      terms_(terms),
      bound_(bind_call(call.op, call.inputs.size(), call.cotangents.size())),
      own_(indices_at(call.inputs[input].shape(), element)) {
  if (use_formula() || use_product() || use_units()) return;
  atoms_.clear();
  add_cotangents();
  way_ = Way::derivative;
}

void TermNames::add_cotangents() {
  Atom cotangent;
  cotangent.gradient = true;
  for (const Term& term : terms_) {
    cotangent.symbol = bound_.outputs[term.output];
    cotangent.indices.push_back(indices_at(call_->cotangents[term.output].shape(), term.element));
    cotangent.values.push_back(term.cotangent);
  }
  atoms_.push_back(std::move(cotangent));
}

const TermNames::Atom* TermNames::atom(const std::string& symbol, bool gradient) const {
  for (const Atom& one : atoms_)
    if (one.symbol == symbol && one.gradient == gradient) return &one;
  return nullptr;
}

std::optional<double> TermNames::known_number(const std::string& symbol) const {
  for (std::size_t i = 0; call_->op && i < call_->op->attributes.size() && i < call_->attributes.size();
       ++i) {
    if (call_->op->attributes[i].name != symbol) continue;
    const Attribute& attribute = call_->attributes[i];
    if (const auto* real = std::get_if<double>(&attribute)) return *real;
    if (const auto* whole = std::get_if<std::int64_t>(&attribute)) return static_cast<double>(*whole);
    return std::nullopt;
  }
  if (symbol == "n" && bound_.counts && call_->outputs[0].count() > 0)
    return static_cast<double>(call_->inputs[0].count() / call_->outputs[0].count());
  return std::nullopt;
}

std::optional<Index> TermNames::place(const Tensor& tensor, std::size_t input, const Index& j) const {
  if (input == input_) return own_;
  if (auto repeated = repeated_place(tensor.shape(), call_->outputs[0].shape(), j)) return repeated;
  if (tensor.shape() == call_->inputs[input_].shape()) return own_;
  return std::nullopt;
}

/// A symbol of the formula, with the element of it that each term reads. True also for one that is none of a
/// tensor: a constant, a function.
bool TermNames::add_atom(const std::string& symbol, bool gradient) {
  if (atom(symbol, gradient)) return true;
  if (gradient) return false;
  Atom fresh;
  fresh.symbol = symbol;
  const Tensor* tensor = nullptr;
  std::size_t input = call_->inputs.size();
  for (std::size_t i = 0; i < call_->inputs.size(); ++i)
    if (bound_.inputs[i] == symbol) tensor = &call_->inputs[i], input = i;
  if (bound_.outputs[0] == symbol && call_->outputs.size() == 1) tensor = &call_->outputs[0];
  if (!tensor) return true;
  for (const Term& term : terms_) {
    const Index j = indices_at(call_->cotangents[term.output].shape(), term.element);
    const auto at = input < call_->inputs.size() ? place(*tensor, input, j) : std::optional(j);
    if (!at || !inside(tensor->shape(), *at)) return false;
    fresh.values.push_back(element_of(*tensor, element_at(tensor->shape(), *at)));
    fresh.indices.push_back(*at);
  }
  atoms_.push_back(std::move(fresh));
  return true;
}

bool TermNames::use_formula() {
  const auto* statement = bound_.gradient_of(input_);
  if (!statement || call_->cotangents.size() != 1 || call_->outputs.size() != 1 || terms_.empty())
    return false;
  right_ = statement->right;
  std::erase_if(right_.parts, [](const FormulaNode& part) {
    return part.kind == FormulaNode::Kind::sign && part.text == "Σ";
  });
  atoms_.clear();
  add_cotangents();
  std::set<std::pair<std::string, bool>> symbols;
  collect_symbols(right_, symbols);
  for (const auto& statement_of : bound_.formula.statements)
    if (statement_of.kind == protocol::FormulaStatement::Kind::helper)
      collect_symbols(statement_of.right, symbols);
  for (const auto& [symbol, gradient] : symbols)
    if (!add_atom(symbol, gradient)) return false;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const auto value = [&](const std::string& symbol, bool gradient) -> std::optional<double> {
      if (const Atom* found = atom(symbol, gradient)) return found->values[i];
      return gradient ? std::nullopt : known_number(symbol);
    };
    const auto result = evaluate(right_, bound_, value);
    if (!result || !alike(*result, terms_[i].value, terms_[i].cotangent, call_->cotangents[0].dtype()))
      return false;
  }
  way_ = Way::formula;
  return true;
}

bool TermNames::use_product() {
  if (terms_.empty()) return false;
  atoms_.clear();
  add_cotangents();
  Atom factor;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const auto at = operand_place(*call_, input_, own_, atoms_[0].indices[i]);
    if (!at || !call_->inputs[at->input]) return false;
    const Tensor& other = call_->inputs[at->input];
    if (!inside(other.shape(), at->index)) return false;
    factor.symbol = bound_.inputs[at->input];
    const double value = element_of(other, element_at(other.shape(), at->index));
    if (!alike(value, terms_[i].factor, value, other.dtype())) return false;
    factor.indices.push_back(at->index);
    factor.values.push_back(value);
  }
  atoms_.push_back(std::move(factor));
  way_ = Way::product;
  return true;
}

bool TermNames::use_units() {
  if (terms_.empty()) return false;
  for (const Term& term : terms_)
    if (term.factor != terms_[0].factor || std::abs(term.factor) != 1) return false;
  atoms_.clear();
  add_cotangents();
  way_ = Way::unit;
  return true;
}

/// `letters`: by atom the index in its brackets instead of the term's own.
std::string TermNames::text(std::size_t term, const std::vector<std::vector<std::string>>* letters,
                            bool numbers) const {
  const auto atom_text = [&](const Atom& one) {
    if (numbers) return number_text(one.values[term]);
    const auto at = static_cast<std::size_t>(&one - atoms_.data());
    const std::string name = !one.gradient ? one.symbol
                             : way_ == Way::derivative || way_ == Way::unit
                                 ? gradient_text(bound_.outputs[terms_[term].output])
                                 : gradient_text(one.symbol);
    return name + brackets(letters ? (*letters)[at] : as_text(one.indices[term]));
  };
  const std::string cotangent = atom_text(atoms_[0]);
  switch (way_) {
    case Way::formula:
      return to_text(right_, [&](const std::string& symbol, bool gradient) -> std::string {
        if (const Atom* found = atom(symbol, gradient)) return atom_text(*found);
        if (const auto number = numbers && !gradient ? known_number(symbol) : std::nullopt)
          return number_text(*number);
        return {};
      });
    case Way::product:
      return cotangent + "·" + atom_text(atoms_[1]);
    case Way::unit:
      return terms_[term].factor < 0 ? "−" + cotangent : cotangent;
    case Way::derivative:
      break;
  }
  if (numbers) return cotangent + "·" + number_text(terms_[term].factor);
  const std::string place = brackets(letters ? (*letters)[0] : as_text(atoms_[0].indices[term]));
  const std::string &from = bound_.inputs[input_], &to = bound_.outputs[terms_[term].output];
  const std::string own = brackets(as_text(own_));
  // What a gradient's author multiplies with need not be the function's derivative.
  if (!call_->op)
    return cotangent + "·(∂" + gradient_text(from) + own + " / ∂" + gradient_text(to) + place + ")";
  return cotangent + "·(∂" + to + place + " / ∂" + from + own + ")";
}

std::string TermNames::expression(std::size_t term) const {
  return text(term, nullptr, false);
}

std::string TermNames::numbers(std::size_t term) const {
  return text(term, nullptr, true);
}

std::string TermNames::element() const {
  return gradient_text(bound_.inputs[input_]) + brackets(as_text(own_));
}

std::string TermNames::formula() const {
  const std::string left = element() + " = ";
  if (terms_.empty()) return left + "0";
  if (terms_.size() == 1) return left + expression(0);
  // An axis along which the terms differ gets a letter, those that go along with it the same one.
  constexpr std::array<std::string_view, 6> free = {"k", "i", "j", "l", "m", "n"};
  constexpr std::array<std::string_view, 6> below = {"ₖ", "ᵢ", "ⱼ", "ₗ", "ₘ", "ₙ"};
  std::vector<Index> columns;
  std::string sum = "Σ";
  std::vector<std::vector<std::string>> letters;
  for (const Atom& one : atoms_) {
    std::vector<std::string>& own = letters.emplace_back();
    for (std::size_t axis = 0; axis < one.indices[0].size(); ++axis) {
      Index column;
      for (const Index& index : one.indices) column.push_back(axis < index.size() ? index[axis] : 0);
      if (std::all_of(column.begin(), column.end(), [&](auto at) { return at == column[0]; })) {
        own.push_back(std::to_string(column[0]));
        continue;
      }
      const auto known = std::find(columns.begin(), columns.end(), column);
      const auto letter = static_cast<std::size_t>(known - columns.begin());
      if (known == columns.end()) {
        columns.push_back(column);
        if (letter < below.size()) sum += below[letter];
      }
      own.push_back(letter < free.size() ? std::string(free[letter]) : "…");
    }
  }
  return left + sum + " " + text(0, &letters, false);
}

}  // namespace tapedeck::debug
