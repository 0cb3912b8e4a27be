#include "inspector/panels/vjp/broadcast_text.h"

#include <QStringList>
#include <algorithm>
#include <array>

#include "engine/protocol/formula.h"

namespace tapedeck::inspector {
namespace {

using protocol::FormulaNode;

/// Of the shape with ones before it, as many as it lacks.
std::int64_t extentAt(const std::vector<std::int64_t>& shape, std::size_t axis, std::size_t rank) {
  const std::size_t before = rank - std::min(rank, shape.size());
  return axis < before ? 1 : shape[axis - before];
}

bool speaksOfElements(const FormulaNode& node) {
  using Kind = FormulaNode::Kind;
  constexpr std::array<std::string_view, 5> conditions = {"where", "else", "but", "for", "ln"};
  if (node.kind == Kind::subscript || node.text == "T" || node.text == "Σ" || node.text == "⋆") return false;
  if (node.kind == Kind::word &&
      std::find(conditions.begin(), conditions.end(), node.text) == conditions.end())
    return false;
  return std::all_of(node.parts.begin(), node.parts.end(),
                     [](const FormulaNode& part) { return speaksOfElements(part); });
}

/// Whether the statement of that gradient has no sums, transposes, functions and prose but conditions.
bool speaksOfElements(const protocol::VjpParts& parts, const std::string& symbol) {
  try {
    for (const auto& statement : protocol::parse_formula(parts.forward->vjp_formula, parts.names).statements)
      if (statement.kind == protocol::FormulaStatement::Kind::gradient && statement.subject == symbol)
        return speaksOfElements(statement.right);
  } catch (const protocol::FormulaError&) {  // from a session of another make
  }
  return false;
}

/// Axes of the result along which the input was repeated: where all inputs together have the result's
/// shape by the rule of broadcasting, and the formula is one of elements.
std::vector<std::int64_t> repeatedAxes(const protocol::VjpParts& parts,
                                       const protocol::VjpContribution& contribution) {
  if (!parts.forward) return {};
  const protocol::Record& forward = *parts.forward;
  if (!contribution.symbol || forward.outputs.size() != 1 || !speaksOfElements(parts, *contribution.symbol))
    return {};
  const std::vector<std::int64_t>& to = forward.outputs[0].shape;
  std::vector<std::int64_t> widest(to.size(), 1), axes;
  for (const protocol::TensorInfo& input : forward.inputs) {
    if (input.shape.size() > to.size()) return {};
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      const std::int64_t extent = extentAt(input.shape, axis, to.size());
      if (extent != 1 && extent != to[axis]) return {};
      if (extent != 1) widest[axis] = extent;
    }
  }
  if (widest != to) return {};
  for (std::size_t axis = 0; axis < to.size(); ++axis)
    if (extentAt(contribution.target.shape, axis, to.size()) != to[axis] ||
        axis + contribution.target.shape.size() < to.size())
      axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}

}  // namespace

QString broadcastText(const protocol::VjpParts& parts, const protocol::VjpContribution& contribution) {
  const std::vector<std::int64_t> axes = repeatedAxes(parts, contribution);
  if (axes.empty()) return {};
  QStringList words;
  for (const std::int64_t axis : axes) words << QString::number(axis);
  return QStringLiteral("summed over %1 %2, along which %3 was repeated (broadcast)")
      .arg(axes.size() == 1 ? QStringLiteral("axis") : QStringLiteral("axes"),
           words.join(QStringLiteral(" and ")), QString::fromStdString(*contribution.symbol));
}

}  // namespace tapedeck::inspector
