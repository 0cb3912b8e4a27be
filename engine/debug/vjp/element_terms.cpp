#include "engine/debug/vjp/element_terms.h"

#include <algorithm>
#include <cmath>

#include "engine/debug/tile.h"
#include "engine/debug/vjp/formula_values.h"
#include "engine/debug/vjp/term_names.h"
#include "engine/ops/core/alias.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/replay/replay.h"
#include "engine/tape/tape.h"

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

Derivatives differentiate(VjpCall again, std::size_t input, std::int64_t element) {
  const UnobservedScope aside;
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

/// The same with `instead` for every NaN and Inf.
Tensor without_not_finite(const Tensor& tensor, double instead) {
  if (!tensor || !is_floating(tensor.dtype())) return tensor;
  std::vector<double> values = tensor.to_vector();
  if (std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
    return tensor;
  for (double& value : values)
    if (!std::isfinite(value)) value = instead;
  const Tensor doubles = Tensor::from_values<double>(values, tensor.shape());
  if (tensor.dtype() == DType::float64) return doubles;
  return run_op1(*Registry::instance().find("cast"), {doubles}, Attributes{tensor.dtype()});
}

VjpCall without_not_finite(VjpCall call, double instead) {
  for (Tensor& tensor : call.inputs) tensor = without_not_finite(tensor, instead);
  for (Tensor& tensor : call.outputs) tensor = without_not_finite(tensor, instead);
  for (Tensor& tensor : call.cotangents) tensor = without_not_finite(tensor, instead);
  return call;
}

/// Numbers of no meaning in place of all that are floating-point: what an element depends on at all.
Tensor with_any_numbers(const Tensor& tensor, std::size_t first) {
  if (!tensor || !is_floating(tensor.dtype())) return tensor;
  std::vector<double> values(static_cast<std::size_t>(tensor.count()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.25 + static_cast<double>((first + 37 * i) % 101) / 202;
  const Tensor doubles = Tensor::from_values<double>(values, tensor.shape());
  if (tensor.dtype() == DType::float64) return doubles;
  return run_op1(*Registry::instance().find("cast"), {doubles}, Attributes{tensor.dtype()});
}

VjpCall with_any_numbers(VjpCall call, std::size_t first) {
  for (Tensors* tensors : {&call.inputs, &call.outputs, &call.cotangents})
    for (Tensor& tensor : *tensors) tensor = with_any_numbers(tensor, first++);
  return call;
}

using Factors = std::vector<std::vector<double>>;

/// Finds out which derivatives are not numbers only because 0·Inf was computed on the way, as where another
/// element of the operand is Inf; and what they are.
class Settling {
 public:
  Settling(const VjpCall& call, std::size_t input, std::int64_t element, Factors& factors,
           const CancelFlag* cancel)
      : call_(call), input_(input), element_(element), factors_(factors), cancel_(cancel) {}

  struct Place {
    std::size_t output = 0, element = 0;
  };

  void run() {
    if (call_.custom || open().empty()) return;
    with_other_numbers();
    if (open().empty()) return;
    const UnobservedScope aside;
    // What is NaN whatever comes in tells nothing of single cotangents.
    if (!std::isfinite(element_from({}))) without_strangers();
    const std::vector<Place> left = open();
    if (!left.empty() && std::isfinite(element_from({}))) alone(left);
  }

  /// What is not finite now belongs to the element: 0 times it is not a number.
  bool settled() const { return !call_.custom && runs_ < most_runs; }

  /// Cotangents that are not numbers, times a factor that is 0: those of them that the element is made of.
  std::vector<Place> times_zero() {
    std::vector<Place> open, found;
    if (call_.custom) return found;
    for (std::size_t k = 0; k < factors_.size(); ++k) {
      if (factors_[k].empty()) continue;
      const std::vector<double> cotangent = call_.cotangents[k].to_vector();
      for (std::size_t j = 0; j < factors_[k].size(); ++j)
        if (factors_[k][j] == 0 && !std::isfinite(cotangent[j])) open.push_back({k, j});
    }
    if (open.empty()) return found;
    const UnobservedScope aside;
    if (std::isfinite(element_from({}, true))) which(open, found);
    return found;
  }

 private:
  std::vector<Place> open() const {
    std::vector<Place> places;
    for (std::size_t k = 0; k < factors_.size(); ++k)
      for (std::size_t j = 0; j < factors_[k].size(); ++j)
        if (!std::isfinite(factors_[k][j])) places.push_back({k, j});
    return places;
  }

  /// It is what it is with any numbers in place of NaNs and Infs, where those change nothing.
  void with_other_numbers() {
    const Derivatives one = differentiate(without_not_finite(call_, 0.375), input_, element_);
    check_cancelled(cancel_);
    const Derivatives other = differentiate(without_not_finite(call_, 0.625), input_, element_);
    for (std::size_t k = 0; k < factors_.size(); ++k) {
      if (factors_[k].empty() || !one.of[k] || !other.of[k]) continue;
      const std::vector<double> first = one.of[k].to_vector(), second = other.of[k].to_vector();
      for (std::size_t j = 0; j < factors_[k].size(); ++j)
        if (!std::isfinite(factors_[k][j]) && first[j] == second[j]) factors_[k][j] = first[j];
    }
  }

  /// Nothing of a cotangent that the element does not depend on with any numbers.
  void without_strangers() {
    try {
      const Derivatives one = differentiate(with_any_numbers(call_, 1), input_, element_);
      check_cancelled(cancel_);
      const Derivatives other = differentiate(with_any_numbers(call_, 50), input_, element_);
      for (const Place& place : open()) {
        const Tensor &first = one.of[place.output], &second = other.of[place.output];
        const auto at = static_cast<std::int64_t>(place.element);
        if (first && second && element_of(first, at) == 0 && element_of(second, at) == 0)
          factors_[place.output][place.element] = 0;
      }
    } catch (const Error&) {  // it refuses such numbers
    }
  }

  /// The element, where the cotangents are 0 but at these places; `own`: what they are there, else numbers.
  double element_from(std::span<const Place> places, bool own = false) {
    VjpCall call = call_;
    for (std::size_t i = 0; i < call.wanted.size(); ++i) call.wanted[i] = i == input_;
    for (std::size_t k = 0; k < call.cotangents.size(); ++k) {
      Tensor& cotangent = call.cotangents[k];
      if (!cotangent) continue;
      std::vector<double> values(static_cast<std::size_t>(cotangent.count()));
      const std::vector<double> given = own ? cotangent.to_vector() : std::vector<double>();
      // Unlike each other, so that they do not cancel.
      for (const Place& place : places)
        if (place.output == k)
          values[place.element] = own                  ? given[place.element]
                                  : places.size() == 1 ? 1.0
                                                       : 1.0 + static_cast<double>(place.element % 97) / 128;
      const Tensor doubles = Tensor::from_values<double>(values, cotangent.shape());
      cotangent = cotangent.dtype() == DType::float64
                      ? doubles
                      : run_op1(*Registry::instance().find("cast"), {doubles}, Attributes{cotangent.dtype()});
    }
    const Tensors gradients = call.run();
    return input_ < gradients.size() && gradients[input_] ? element_of(gradients[input_], element_) : 0;
  }

  /// Where a whole half gives 0, nothing of it matters.
  void alone(std::span<const Place> places) {
    if (places.empty() || runs_ == most_runs) return;
    ++runs_;
    check_cancelled(cancel_);
    const double value = element_from(places);
    if (value == 0) {
      for (const Place& place : places) factors_[place.output][place.element] = 0;
    } else if (places.size() == 1) {
      factors_[places[0].output][places[0].element] = value;
    } else {
      alone(places.first(places.size() / 2));
      alone(places.subspan(places.size() / 2));
    }
  }

  /// By halves: those that alone make the element no number.
  void which(std::span<const Place> places, std::vector<Place>& found) {
    if (places.empty() || runs_ == most_runs) return;
    ++runs_;
    check_cancelled(cancel_);
    if (std::isfinite(element_from(places, true))) return;
    if (places.size() == 1) {
      found.push_back(places[0]);
    } else {
      which(places.first(places.size() / 2), found);
      which(places.subspan(places.size() / 2), found);
    }
  }

  static constexpr int most_runs = 100;
  const VjpCall& call_;
  const std::size_t input_;
  const std::int64_t element_;
  Factors& factors_;
  const CancelFlag* cancel_;
  int runs_ = 0;
};

/// NaN first, then the largest.
bool matters_more(const Term& a, const Term& b) {
  const double x = std::abs(a.value), y = std::abs(b.value);
  if (std::isnan(x) != std::isnan(y)) return std::isnan(x);
  return x != y && !std::isnan(x) ? x > y : std::pair(a.output, a.element) < std::pair(b.output, b.element);
}

/// The terms that matter most, and the others as a sum: there may be millions.
class TopTerms {
 public:
  explicit TopTerms(std::size_t most) : most_(most) {}

  void add(const Term& term) {
    ++total_;
    if (top_.size() == most_ && (most_ == 0 || !matters_more(term, top_.front()))) {
      rest_ += term.value;
      return;
    }
    if (top_.size() == most_) {
      std::pop_heap(top_.begin(), top_.end(), matters_more);  // to the end: the one that matters least
      rest_ += top_.back().value;
      top_.pop_back();
    }
    top_.push_back(term);
    std::push_heap(top_.begin(), top_.end(), matters_more);
  }
  std::vector<Term> sorted() const {
    std::vector<Term> terms = top_;
    std::sort(terms.begin(), terms.end(), matters_more);
    return terms;
  }
  std::uint64_t total() const { return total_; }
  double rest() const { return rest_; }

 private:
  const std::size_t most_;
  std::vector<Term> top_;  ///< a heap
  std::uint64_t total_ = 0;
  double rest_ = 0;
};

TopTerms terms_of(const VjpCall& call, std::size_t input, std::int64_t element,
                  const Derivatives& derivatives, std::size_t most, const CancelFlag* cancel) {
  Factors factors(call.cotangents.size());
  for (std::size_t k = 0; k < factors.size(); ++k)
    if (call.cotangents[k] && derivatives.of[k]) factors[k] = derivatives.of[k].to_vector();
  check_cancelled(cancel);
  Settling settling(call, input, element, factors, cancel);
  settling.run();
  TopTerms terms(most);
  constexpr std::size_t between_checks = 1 << 16;
  for (std::size_t k = 0; k < factors.size(); ++k) {
    if (factors[k].empty()) continue;
    const std::vector<double> cotangent = call.cotangents[k].to_vector();
    for (std::size_t j = 0; j < factors[k].size(); ++j) {
      if (j % between_checks == 0) check_cancelled(cancel);
      const bool no_number = cotangent[j] == 0 && !std::isfinite(factors[k][j]) && settling.settled();
      if (no_number || (factors[k][j] != 0 && cotangent[j] != 0))
        terms.add(
            {k, static_cast<std::int64_t>(j), cotangent[j], factors[k][j], cotangent[j] * factors[k][j]});
    }
  }
  if (!std::isfinite(derivatives.value))
    for (const auto& place : settling.times_zero()) {
      const double cotangent =
          element_of(call.cotangents[place.output], static_cast<std::int64_t>(place.element));
      terms.add({place.output, static_cast<std::int64_t>(place.element), cotangent, 0, cotangent * 0});
    }
  return terms;
}

/// A gradient that the user wrote may add what does not come from the cotangent: noise, a penalty. Or it is
/// no linear function of it: clipped, normalised.
std::string remark_of(double value, double sum) {
  const double other = value - sum;
  if (!(std::abs(other) > 1e-5 * (std::abs(value) + std::abs(sum)))) return {};
  return number_text(other) +
         " of it is not a multiple of the cotangent: this gradient adds it, or is not a linear "
         "function of the cotangent.";
}

/// Where all is 0, the formula's numbers still say why: relu below zero, a saturated sigmoid.
void add_zero(const VjpCall& call, std::size_t input, std::int64_t element, std::vector<Term>& terms) {
  if (call.cotangents.size() != 1 || call.cotangents[0].shape() != call.inputs[input].shape()) return;
  terms.push_back({0, element, element_of(call.cotangents[0], element), 0, 0});
}

/// A number of two parts has two derivatives with respect to each part.
void refuse_complex(const VjpCall& call) {
  for (const Tensors* tensors : {&call.inputs, &call.outputs, &call.cotangents})
    for (const Tensor& tensor : *tensors)
      if (tensor && is_complex(tensor.dtype()))
        throw ValueError("complex", (call.op ? call.op->name : std::string("The gradient")) +
                                        " works on complex numbers; their elements are not taken apart.");
}

}  // namespace

protocol::ElementTerms element_terms(const VjpCall& call, const protocol::ExplainElement& request,
                                     const CancelFlag* cancel) {
  if (request.input >= call.inputs.size() || !call.wanted[request.input])
    throw BadRequest("explain_element: the VJP gives input " + std::to_string(request.input) +
                     " no gradient.");
  refuse_complex(call);
  std::int64_t elements = 0;
  for (const Tensor& cotangent : call.cotangents) elements += cotangent ? cotangent.count() : 0;
  if (elements > most_elements)
    throw ValueError("too_expensive", "The cotangents have " + std::to_string(elements) +
                                          " elements; the terms of more than " +
                                          std::to_string(most_elements) + " are not computed.");
  const auto element = static_cast<std::int64_t>(std::min<std::uint64_t>(request.element, INT64_MAX));
  const Derivatives derivatives = differentiate(call, request.input, element);
  const TopTerms found =
      terms_of(call, request.input, element, derivatives, std::min(request.terms, most_terms), cancel);
  std::vector<Term> terms = found.sorted();
  double sum = found.rest();
  for (const Term& term : terms) sum += term.value;
  if (found.total() == 0 && derivatives.value == 0 && request.terms > 0)
    add_zero(call, request.input, element, terms);

  protocol::ElementTerms answer;
  answer.record = request.record;
  answer.input = request.input;
  answer.element = request.element;
  answer.value = derivatives.value;
  answer.total = found.total();
  answer.rest = found.rest();
  TermNames names(call, request.input, element, terms);
  if (found.total() == 0 && !names.from_formula()) names = TermNames(call, request.input, element, {});
  // Where no term was found that makes it what it is, none is made up.
  answer.formula = names.count() == 0 && derivatives.value != 0 ? names.element() : names.formula();
  answer.names = names.names();
  if (call.custom) answer.remark = protocol::if_there(remark_of(derivatives.value, sum));
  for (std::size_t i = 0; i < names.count(); ++i)
    answer.terms.push_back({names.expression(i), names.numbers(i), terms[i].value,
                            static_cast<std::uint32_t>(terms[i].output),
                            static_cast<std::uint64_t>(terms[i].element)});
  return answer;
}

}  // namespace tapedeck::debug
