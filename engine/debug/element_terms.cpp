#include "engine/debug/element_terms.h"

#include <algorithm>
#include <cmath>

#include "engine/debug/formula_values.h"
#include "engine/debug/term_names.h"
#include "engine/debug/tile.h"
#include "engine/ops/observer.h"
#include "engine/ops/run_op.h"
#include "engine/record/replay.h"
#include "engine/tape/tape_state.h"

namespace tapedeck::debug {
namespace {

constexpr std::int64_t most_elements = 50'000'000;
constexpr std::uint32_t most_terms = 1000;

Tensor one_hot_at(const Tensor& like, std::int64_t element) {
  Tensor tensor = Tensor::allocate(DType::float64, like.shape());
  std::fill_n(tensor.writable_data<double>(), tensor.count(), 0.0);
  tensor.writable_data<double>()[element] = 1.0;
  if (like.dtype() == DType::float64) return tensor;
  const OpDef* cast = Registry::instance().find("cast");
  return run_op1(*cast, {tensor}, Attributes{like.dtype()});
}

/// The derivatives of the element with respect to the cotangents, one for each; undefined: it depends on none
/// of it.
struct Derivatives {
  double value = 0;  ///< the element
  Tensors of;
};

Derivatives differentiate(const VjpCall& call, std::size_t input, std::int64_t element) {
  const UnobservedScope aside;
  VjpCall again = call;
  for (bool& wanted : again.wanted) wanted = false;
  again.wanted[input] = true;  // a VJP skips work for the others
  Tape tape;
  tape.start();
  Tensors watched;
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < again.cotangents.size(); ++k) {
    if (!again.cotangents[k]) continue;
    again.cotangents[k] = detail::alias(again.cotangents[k]);  // it may be one of the inputs, too
    tape.watch(again.cotangents[k]);
    watched.push_back(again.cotangents[k]);
    places.push_back(k);
  }
  const Tensors gradients = again.run();
  tape.stop();
  if (input >= gradients.size() || !gradients[input])
    throw BadRequest("explain_element: the VJP gives input " + std::to_string(input) + " no gradient.");
  const Tensor& target = gradients[input];
  if (element >= target.count())
    throw BadRequest("explain_element: element " + std::to_string(element) + " of " +
                     std::to_string(target.count()) + " was asked for.");
  Derivatives result;
  result.value = element_of(target, element);
  result.of.resize(again.cotangents.size());
  const Tensor seed = one_hot_at(target, element);
  Tensors derivatives = tape.gradient({&target, 1}, watched, {&seed, 1});
  for (std::size_t i = 0; i < places.size(); ++i) result.of[places[i]] = std::move(derivatives[i]);
  return result;
}

/// NaN first, then the largest.
bool matters_more(const Term& a, const Term& b) {
  const double x = std::abs(a.value), y = std::abs(b.value);
  if (std::isnan(x) != std::isnan(y)) return std::isnan(x);
  return x != y ? x > y : std::pair(a.output, a.element) < std::pair(b.output, b.element);
}

std::vector<Term> all_terms(const VjpCall& call, const Derivatives& derivatives, const CancelFlag* cancel) {
  std::vector<Term> terms;
  for (std::size_t k = 0; k < call.cotangents.size(); ++k) {
    check_cancelled(cancel);
    if (!call.cotangents[k] || !derivatives.of[k]) continue;
    const std::vector<double> factors = derivatives.of[k].to_vector();
    const std::vector<double> cotangent = call.cotangents[k].to_vector();
    for (std::size_t j = 0; j < factors.size(); ++j)
      if (factors[j] != 0 && cotangent[j] != 0)
        terms.push_back(
            {k, static_cast<std::int64_t>(j), cotangent[j], factors[j], cotangent[j] * factors[j]});
  }
  std::sort(terms.begin(), terms.end(), matters_more);
  return terms;
}

/// A gradient that the user wrote may add what does not come from the cotangent: noise, a penalty. Or it is
/// no linear function of it: clipped, normalised.
std::string remark_of(double value, std::span<const Term> terms) {
  double sum = 0;
  for (const Term& term : terms) sum += term.value;
  const double other = value - sum;
  if (!(std::abs(other) > 1e-5 * (std::abs(value) + std::abs(sum)))) return {};
  return number_text(other) +
         " of it is no multiple of the cotangent: this gradient adds it, or is no linear "
         "function of the cotangent.";
}

/// Where all is 0, the formula's numbers still say why: relu below zero, a saturated sigmoid.
void add_zero(const VjpCall& call, std::size_t input, std::int64_t element, std::vector<Term>& terms) {
  if (call.cotangents.size() != 1 || call.cotangents[0].shape() != call.inputs[input].shape()) return;
  terms.push_back({0, element, element_of(call.cotangents[0], element), 0, 0});
}

}  // namespace

protocol::ElementTerms element_terms(const VjpCall& call, const protocol::ExplainElement& request,
                                     const CancelFlag* cancel) {
  if (request.input >= call.inputs.size() || !call.wanted[request.input])
    throw BadRequest("explain_element: the VJP gives input " + std::to_string(request.input) +
                     " no gradient.");
  std::int64_t elements = 0;
  for (const Tensor& cotangent : call.cotangents) elements += cotangent ? cotangent.count() : 0;
  if (elements > most_elements)
    throw ValueError("too_expensive", "The cotangents have " + std::to_string(elements) +
                                          " elements; the terms of more than " +
                                          std::to_string(most_elements) + " are not looked for.");
  const auto element = static_cast<std::int64_t>(std::min<std::uint64_t>(request.element, INT64_MAX));
  const Derivatives derivatives = differentiate(call, request.input, element);
  std::vector<Term> terms = all_terms(call, derivatives, cancel);
  const std::uint64_t total = terms.size();
  if (terms.empty()) add_zero(call, request.input, element, terms);
  const std::size_t shown = std::min<std::size_t>({terms.size(), request.terms, most_terms});

  protocol::ElementTerms answer;
  answer.record = request.record;
  answer.input = request.input;
  answer.element = request.element;
  answer.value = derivatives.value;
  answer.total = total;
  for (std::size_t i = shown; i < terms.size(); ++i) answer.rest += terms[i].value;
  TermNames names(call, request.input, element, std::span(terms).first(shown));
  if (total == 0 && !names.from_formula()) names = TermNames(call, request.input, element, {});
  answer.formula = names.formula();
  answer.names = names.names();
  if (call.custom) answer.remark = remark_of(derivatives.value, terms);
  for (std::size_t i = 0; i < names.count(); ++i)
    answer.terms.push_back({names.expression(i), names.numbers(i), terms[i].value,
                            static_cast<std::uint32_t>(terms[i].output),
                            static_cast<std::uint64_t>(terms[i].element)});
  return answer;
}

}  // namespace tapedeck::debug
