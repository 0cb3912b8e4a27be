// Einstein sums: any product of tensors with sums over some of their axes, as pairwise matrix products.
#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "engine/ops/core/cost.h"
#include "engine/ops/core/rows.h"
#include "engine/ops/elementwise/binary_row.h"
#include "engine/ops/linear_algebra/einsum_equation.h"
#include "engine/ops/linear_algebra/linear_algebra.h"

namespace tapedeck::ops {
namespace {

TensorSpecs einsum_shape(const OpContext& c) {
  if (c.inputs.empty()) fail<InvalidArgumentError>("einsum: inputs is empty");
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    require_kind(c, i, Kind::numeric);
    require_same_dtype(c, 0, i);
  }
  const Equation equation = parse_equation(c.get<std::string>("equation"), c.inputs);
  Shape shape;
  for (const Label label : equation.output) shape.push_back(equation.extents.at(label));
  return spec(c.inputs[0].dtype(), shape);
}

// ---- cost ----

/// The pairwise products that the forward function makes, in the order of best_pair: each is a product and a
/// sum for every combination of its labels, without the sum if no label is removed.
OpCost einsum_cost(const CostContext& c) {
  const auto* text = std::get_if<std::string>(&c.attribute("equation"));
  if (!text) return {0, cost::traffic(c)};
  std::vector<Shape> shapes;
  for (const TensorSpec& input : c.inputs) shapes.push_back(input.shape);
  const Equation equation = parse_equation(*text, shapes);
  const auto size_of = [&](const std::set<Label>& labels) {
    double size = 1;
    for (const Label label : labels) size *= static_cast<double>(equation.extents.at(label));
    return size;
  };
  std::vector<std::set<Label>> terms;
  for (const Labels& labels : equation.inputs) terms.emplace_back(labels.begin(), labels.end());
  const auto kept_of = [&](std::size_t a, std::size_t b, const std::set<Label>& all) {
    std::set<Label> kept(equation.output.begin(), equation.output.end());
    for (std::size_t i = 0; i < terms.size(); ++i)
      if (i != a && i != b) kept.insert(terms[i].begin(), terms[i].end());
    std::set<Label> result;
    std::set_intersection(all.begin(), all.end(), kept.begin(), kept.end(),
                          std::inserter(result, result.end()));
    return result;
  };
  double flops = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {  // sums over labels that no other term has
    const std::set<Label> kept = kept_of(i, i, terms[i]);
    if (kept.size() < terms[i].size()) flops += size_of(terms[i]);
    terms[i] = kept;
  }
  while (terms.size() > 1) {
    std::pair<std::size_t, std::size_t> best{0, 1};
    double least = std::numeric_limits<double>::infinity();
    const auto joined = [&](std::size_t i, std::size_t j) {
      std::set<Label> both = terms[i];
      both.insert(terms[j].begin(), terms[j].end());
      return both;
    };
    for (std::size_t i = 0; i < terms.size(); ++i)
      for (std::size_t j = i + 1; j < terms.size(); ++j) {
        const double grown = size_of(kept_of(i, j, joined(i, j))) - size_of(terms[i]) - size_of(terms[j]);
        if (grown >= least) continue;
        least = grown;
        best = {i, j};
      }
    const std::set<Label> both = joined(best.first, best.second);
    const std::set<Label> kept = kept_of(best.first, best.second, both);
    flops += (kept.size() < both.size() ? 2 : 1) * size_of(both);
    terms[best.first] = kept;
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(best.second));
  }
  return {flops * cost::real_products(c.outputs[0]), cost::traffic(c)};
}

// ---- forward ----

/// A tensor whose axes have distinct labels.
struct Operand {
  Tensor tensor;
  Labels labels;

  std::int64_t stride(Label label) const {
    const auto at = std::find(labels.begin(), labels.end(), label);
    return at == labels.end() ? 0 : tensor.strides()[static_cast<int>(at - labels.begin())];
  }
};

/// The operand's axes in the order of `labels`; an axis that it lacks repeats it.
Tensor arranged(const Operand& operand, const Labels& labels, const Equation& equation) {
  Shape shape;
  Strides strides;
  for (const Label label : labels) {
    shape.push_back(equation.extents.at(label));
    strides.push_back(operand.stride(label));
  }
  return view_of(operand.tensor, shape, strides);
}

/// Labels that occur twice select the diagonal; broadcast axes are omitted.
Operand with_own_axes(const Tensor& tensor, const Labels& labels, const Equation& equation) {
  Operand result;
  Shape shape;
  Strides strides;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const Label label = labels[static_cast<std::size_t>(axis)];
    if (tensor.dim(axis) != equation.extents.at(label)) continue;
    const auto at = std::find(result.labels.begin(), result.labels.end(), label);
    if (at != result.labels.end()) {
      strides[static_cast<int>(at - result.labels.begin())] += tensor.strides()[axis];
      continue;
    }
    result.labels.push_back(label);
    shape.push_back(tensor.dim(axis));
    strides.push_back(tensor.strides()[axis]);
  }
  result.tensor = view_of(tensor, shape, strides);
  return result;
}

/// Sums over the axes whose labels are not in `kept`.
Operand summed(const Operand& operand, const std::set<Label>& kept) {
  std::vector<bool> flags;
  Labels labels;
  for (const Label label : operand.labels) {
    flags.push_back(!kept.contains(label));
    if (!flags.back()) labels.push_back(label);
  }
  if (labels.size() == operand.labels.size()) return operand;
  const Shape& shape = operand.tensor.shape();
  const RowOrder order(shape, flags);
  const Tensor rows = order.rows_of(operand.tensor);
  const Tensor out = Tensor::allocate(rows.dtype(), reduced_shape(shape, flags, false));
  backend().reduce(kernels::Reduction::sum, rows.dtype(), rows.raw(), order.rows, order.count, 1,
                   out.writable_data<std::byte>());
  return {out, labels};
}

Labels concatenated(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::int64_t extent_of(const Labels& labels, const Equation& equation) {
  std::int64_t product = 1;
  for (const Label label : labels) product *= equation.extents.at(label);
  return product;
}

/// The sum over the labels of both that are not in `kept`.
Operand contracted(const Operand& a, const Operand& b, const std::set<Label>& kept,
                   const Equation& equation) {
  Labels batch, inner, left, right;
  for (const Label label : a.labels)
    (!has(b.labels, label) ? left : kept.contains(label) ? batch : inner).push_back(label);
  for (const Label label : b.labels)
    if (!has(a.labels, label)) right.push_back(label);
  const Labels labels = concatenated({batch, left, right});
  const DType dtype = a.tensor.dtype();
  if (inner.empty()) {
    const Tensor x = arranged(a, labels, equation);
    return {run_binary(kernels::Binary::multiply, x, arranged(b, labels, equation), {dtype, x.shape()}),
            labels};
  }
  // The labels' order alone decides which operand is read transposed, so equal values give equal bits.
  const auto stands_before = [](const Operand& operand, const Labels& first, const Labels& second) {
    return first.empty() || second.empty() ||
           std::find(operand.labels.begin(), operand.labels.end(), first.back()) <
               std::find(operand.labels.begin(), operand.labels.end(), second.back());
  };
  const bool transpose_a = !stands_before(a, left, inner);
  const bool transpose_b = !stands_before(b, inner, right);
  const Tensor x = contiguous(
      arranged(a, concatenated({batch, transpose_a ? inner : left, transpose_a ? left : inner}), equation));
  const Tensor y = contiguous(
      arranged(b, concatenated({batch, transpose_b ? right : inner, transpose_b ? inner : right}), equation));
  const std::int64_t m = extent_of(left, equation);
  const std::int64_t n = extent_of(right, equation);
  const std::int64_t k = extent_of(inner, equation);
  const kernels::MatmulSize size{m, n, k, transpose_a, transpose_b, transpose_a ? m : k, transpose_b ? k : n};
  std::vector<const void*> xs, ys;
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  for (std::int64_t i = 0; i < extent_of(batch, equation); ++i) {
    xs.push_back(x.raw() + i * m * k * item);
    ys.push_back(y.raw() + i * k * n * item);
  }
  Shape shape;
  for (const Label label : labels) shape.push_back(equation.extents.at(label));
  const Tensor out = Tensor::allocate(dtype, shape);
  backend().matmul(dtype, size, xs, ys, out.writable_data<std::byte>());
  return {out, labels};
}

/// The labels to keep: those of the result and of the other operands.
std::set<Label> labels_to_keep(const std::vector<Operand>& operands, const Equation& equation, std::size_t a,
                               std::size_t b) {
  std::set<Label> kept(equation.output.begin(), equation.output.end());
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (i != a && i != b) kept.insert(operands[i].labels.begin(), operands[i].labels.end());
  return kept;
}

/// The pair whose product grows least: opt_einsum's greedy choice (Smith and Gray 2018, JOSS 3(26), 753).
std::pair<std::size_t, std::size_t> best_pair(const std::vector<Operand>& operands,
                                              const Equation& equation) {
  std::pair<std::size_t, std::size_t> best{0, 1};
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < operands.size(); ++i)
    for (std::size_t j = i + 1; j < operands.size(); ++j) {
      const std::set<Label> kept = labels_to_keep(operands, equation, i, j);
      double size = 1;
      std::set<Label> both(operands[i].labels.begin(), operands[i].labels.end());
      both.insert(operands[j].labels.begin(), operands[j].labels.end());
      for (const Label label : both)
        if (kept.contains(label)) size *= static_cast<double>(equation.extents.at(label));
      size -= static_cast<double>(operands[i].tensor.count() + operands[j].tensor.count());
      if (size < least) {
        least = size;
        best = {i, j};
      }
    }
  return best;
}

Tensors einsum_forward(const OpContext& c) {
  const Equation equation = parse_equation(c.get<std::string>("equation"), c.inputs);
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    operands.push_back(with_own_axes(c.inputs[i], equation.inputs[i], equation));
  for (std::size_t i = 0; i < operands.size(); ++i)
    operands[i] = summed(operands[i], labels_to_keep(operands, equation, i, i));
  while (operands.size() > 1) {
    const auto [i, j] = best_pair(operands, equation);
    const Operand product =
        contracted(operands[i], operands[j], labels_to_keep(operands, equation, i, j), equation);
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(j));
    operands[i] = product;
  }
  Labels unique;
  for (const Label label : equation.output)
    if (!has(unique, label)) unique.push_back(label);
  const Tensor result = arranged(operands[0], unique, equation);
  if (unique.size() == equation.output.size()) return one(result);
  // A label that the result has twice: zeros beside the diagonal.
  Tensor out = allocate_output(c);
  constexpr std::byte zero{0};
  backend().fill(1, &zero, out.writable_data<std::byte>(), static_cast<std::int64_t>(out.bytes()));
  Strides strides;
  strides.resize(static_cast<int>(unique.size()));
  for (std::size_t axis = 0; axis < equation.output.size(); ++axis) {
    const auto at = std::find(unique.begin(), unique.end(), equation.output[axis]) - unique.begin();
    strides[static_cast<int>(at)] += out.strides()[static_cast<int>(axis)];
  }
  place(result, out, result.shape(), result.strides(), strides, 0);
  return one(std::move(out));
}

// ---- VJP: an einsum for each input ----

/// A term without the axes along which the tensor repeats, and the tensor without them.
struct Term {
  Labels labels;
  Shape shape;
};
Term own_term(const Shape& shape, const Labels& labels, const Equation& equation) {
  Term term;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Label label = labels[static_cast<std::size_t>(axis)];
    if (shape[axis] != equation.extents.at(label)) continue;
    term.labels.push_back(label);
    term.shape.push_back(shape[axis]);
  }
  return term;
}

/// Letters for all labels: the axes of `...` get those that are free.
std::map<Label, char> letters_of(const Equation& equation) {
  std::map<Label, char> letters;
  std::string free = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const auto& [label, extent] : equation.extents)
    if (label < first_ellipsis_axis) {
      letters[label] = static_cast<char>(label);
      std::erase(free, static_cast<char>(label));
    }
  for (const auto& [label, extent] : equation.extents)
    if (label >= first_ellipsis_axis) {
      if (free.empty()) fail<InvalidArgumentError>("einsum: the gradient finds no free letter for '...'");
      letters[label] = free.front();
      free.erase(free.begin());
    }
  return letters;
}

Tensor input_gradient(const VjpContext& c, const Equation& equation, std::size_t input) {
  const std::map<Label, char> letters = letters_of(equation);
  std::string text;
  std::vector<Tensor> operands;
  std::set<Label> present;
  const auto add = [&](const Tensor& tensor, const Term& term) {
    operands.push_back(tensor.shape() == term.shape ? tensor : reshape(tensor, term.shape));
    if (operands.size() > 1) text += ',';
    for (const Label label : term.labels) text += letters.at(label);
    present.insert(term.labels.begin(), term.labels.end());
  };
  add(c.cotangents[0], {equation.output, c.cotangents[0].shape()});
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    if (i != input) add(c.inputs[i], own_term(c.inputs[i].shape(), equation.inputs[i], equation));
  const Shape& shape = c.inputs[input].shape();
  const Term target = own_term(shape, equation.inputs[input], equation);
  // A label that was summed alone: its gradient is the same everywhere.
  for (const Label label : target.labels)
    if (!present.contains(label)) {
      const std::int64_t extent = equation.extents.at(label);
      add(ones({extent}, c.inputs[input].dtype()), {{label}, {extent}});
    }
  text += "->";
  for (const Label label : target.labels) text += letters.at(label);
  const Tensor gradient = run_op1(c.op, operands, {text});
  return gradient.shape() == shape ? gradient : reshape(gradient, shape);
}

Tensors einsum_vjp(const VjpContext& c) {
  const Equation equation = parse_equation(c.get<std::string>("equation"), c.inputs);
  Tensors gradients(c.inputs.size());
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    if (c.wanted[i]) gradients[i] = input_gradient(c, equation, i);
  return gradients;
}

}  // namespace

TAPEDECK_OP(einsum_op) = {
    .name = "einsum",
    .python_names = {"einsum", "linalg.einsum"},
    .inputs = {{.name = "inputs", .variadic = true}},
    .attributes = {{.name = "equation", .kind = AttributeKind::text, .fallback = {}, .required = true}},
    .shape_rule = einsum_shape,
    .forward = einsum_forward,
    .form = Form::einsum,
    .vjp_reads = VjpReads::inputs,
    .vjp = einsum_vjp,
    .vjp_formula = "dxᵢ = einsum(dz, the other inputs -> the axes of xᵢ)",
    .cost = einsum_cost,
    .doc =
        "Products of tensors, summed over axes: \"ij,jk->ik\" is Σⱼ a[i, j]·b[j, k].\n\n"
        "inputs: any numeric dtype, one for all; equation: a letter for each axis of "
        "each input, commas between inputs; behind '->' the axes of the result. Axes that are not in the "
        "result are summed. A letter twice in an input means its diagonal; twice in the result, a diagonal "
        "with zeros beside it. '...' matches any axes, which broadcast. Without '->' the result has the "
        "axes of '...' and the letters that occur once, in the order of the alphabet.\n"
        "Returns: the dtype of the inputs, the axes behind '->'. Several inputs are multiplied in pairs, "
        "the smallest results first.\n"
        "Errors: InvalidArgumentError for an equation that does not fit the inputs' shapes; "
        "TypeMismatchError for other or different dtypes.",
    .python_order = {"equation", "inputs"},
};

}  // namespace tapedeck::ops
