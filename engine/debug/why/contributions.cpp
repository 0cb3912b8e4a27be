// What made this element? Its largest contributions, from op to op backwards. Of a gradient:
// gradient_parts.cpp.
#include <algorithm>
#include <limits>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/not_finite.h"
#include "engine/debug/why/vjp_again.h"
#include "engine/debug/why/why.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_of_first = 8, most_of_others = 3, most_levels = 8;

/// An element of an input, and how much of the result it is.
struct Part {
  std::size_t input = 0;
  std::int64_t place = 0;
  double amount = 0;   ///< derivative times value: exact for sums and products
  std::string text;    ///< of a product: "a[0, 3] · b[3, 1]"
  bool finite = true;  ///< the element itself
  /// For sorting: an element that is NaN or infinite made the whole so.
  double size() const {
    if (!finite) return std::numeric_limits<double>::infinity();
    return std::isfinite(amount) ? std::abs(amount) : 0;
  }
};

std::string input_name(const RecordView& record, std::size_t input) {
  const auto& names = record.head.op->inputs;
  return names[std::min(input, names.size() - 1)].name;
}

/// "w, as it was 39 assignments before this op": where the operand is not the value that the variable had
/// when the op ran. Nothing: it is not a variable's value, or its newest then.
std::string stale_text(const Past& past, const RecordView& record, std::uint64_t tensor) {
  const auto assignment = past.assignment(tensor);
  if (!assignment || assignment->variable == 0) return {};
  const auto newest = past.recorder().data_flow().value_before(assignment->variable, record.number);
  if (!newest || *newest <= tensor) return {};
  std::uint64_t since = 0;
  for (const std::uint64_t value : past.recorder().data_flow().values_of(assignment->variable))
    since += value > tensor && value <= *newest;
  const std::string name = past.info(tensor).name;
  return (name.empty() ? "a variable" : name.substr(0, name.find(':'))) + ", as it was " +
         counted(since, "assignment") + " before this op";
}

std::string part_text(const RecordView& record, const Tensors& inputs, const Part& part) {
  return input_name(record, part.input) + index_text(inputs[part.input].shape(), part.place) + " = " +
         element_text(inputs[part.input], part.place);
}

/// A matrix product: one part for each pair of factors.
std::vector<Part> parts_of_matmul(const RecordView& record, const Tensors& inputs,
                                  const std::vector<ReadPlaces>& places) {
  std::vector<Part> parts;
  for (std::size_t k = 0; k < places[0]->size(); ++k) {
    const Part a{0, (*places[0])[k], 0, {}}, b{1, (*places[1])[k], 0, {}};
    const double x = element(inputs[0], a.place), y = element(inputs[1], b.place);
    // It is followed along its larger factor.
    Part part = std::abs(x) >= std::abs(y) ? a : b;
    part.amount = x * y;
    part.finite = std::isfinite(x) && std::isfinite(y);
    part.text = part_text(record, inputs, a) + " · " + part_text(record, inputs, b);
    parts.push_back(std::move(part));
  }
  return parts;
}

/// Of a sum of products each factor's parts make the whole element: one factor is reported.
void keep_one_factor(std::vector<Part>& parts, std::size_t inputs, double value) {
  std::vector<double> sums(inputs);
  std::vector<std::size_t> counts(inputs);
  for (const Part& part : parts) {
    sums[part.input] += part.amount;
    ++counts[part.input];
  }
  std::size_t factors = 0;
  for (std::size_t k = 0; k < inputs; ++k)
    if (counts[k] > 1 && std::abs(sums[k] - value) <= 1e-3 * std::abs(value)) ++factors;
  if (factors < 2) return;
  const std::size_t first = parts.front().input;
  std::erase_if(parts, [&](const Part& part) { return part.input != first; });
}

/// Everything else: the op's own VJP says how the element moves with each element of the inputs. `places`:
/// what it can come from; elsewhere a slope is 0, or NaN where 0 met a NaN.
std::vector<Part> parts_by_vjp(const RecordView& record, const Tensors& inputs, const Tensors& outputs,
                               std::size_t slot, std::int64_t place, const std::vector<ReadPlaces>& places) {
  PastVjp call{record.head.op, record.head.attributes, inputs, outputs, {}, {}};
  call.cotangents.resize(outputs.size());
  std::vector<double> one(static_cast<std::size_t>(outputs[slot].count()));
  one[static_cast<std::size_t>(place)] = 1;
  call.cotangents[slot] = Tensor::from_values<double>(one, outputs[slot].shape());
  if (outputs[slot].dtype() != DType::float64)
    call.cotangents[slot] = in_dtype(call.cotangents[slot], outputs[slot].dtype());
  for (const Tensor& input : inputs) call.given.push_back(is_floating(input.dtype()));
  const Tensors slopes = gradients_of(call);
  std::vector<Part> parts;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (k >= slopes.size() || !slopes[k] || !call.given[k]) continue;
    const std::vector<double> slope = slopes[k].to_vector(), value = inputs[k].to_vector();
    const auto read = [&](std::size_t i) {
      if (k >= places.size() || !places[k]) return true;
      return std::find(places[k]->begin(), places[k]->end(), static_cast<std::int64_t>(i)) !=
             places[k]->end();
    };
    for (std::size_t i = 0; i < slope.size(); ++i)
      if (slope[i] != 0 && (std::isfinite(slope[i]) || read(i)))
        parts.push_back({k, static_cast<std::int64_t>(i), slope[i] * value[i], {}, std::isfinite(value[i])});
  }
  keep_one_factor(parts, inputs.size(), element(outputs[slot], place));
  return parts;
}

class Contributions {
 public:
  explicit Contributions(Past& past) : past_(past) {}

  protocol::Because explain(const Subject& subject) {
    answer_.question = protocol::Question::contributions;
    answer_.amount = "share";
    const Tensor value = past_.value(subject.tensor);
    if (value.count() == 0) {
      answer_.sentence = "This tensor has no elements.";
      return std::move(answer_);
    }
    std::int64_t place = subject.element.empty() ? largest(value) : place_of(value.shape(), subject.element);
    const bool chosen = subject.element.empty() && value.count() > 1;
    answer_.sentence = !chosen                             ? "This element, "
                       : std::isnan(element(value, place)) ? "The first NaN, "
                                                           : "The largest element, ";
    answer_.sentence += element_text(value, place) +
                        (value.count() > 1 ? " at " + index_text(value.shape(), place) : "") + ", ";
    std::uint64_t tensor = subject.tensor;
    try {
      for (std::size_t level = 0; level < most_levels; ++level)
        if (!tell(level, tensor, place)) break;
    } catch (const ValueError& error) {
      answer_.complete = false;
      answer_.sentence += std::string(". It cannot be traced further back: ") + error.what();
    }
    if (!answer_.sentence.ends_with(".")) answer_.sentence += ".";
    return std::move(answer_);
  }

 private:
  /// Or the first NaN.
  static std::int64_t largest(const Tensor& value) {
    if (const auto nan = first_of(value, NotFinite::nan, std::nullopt)) return *nan;
    const std::vector<double> values = value.to_vector();
    std::int64_t place = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::abs(values[i]) > std::abs(values[static_cast<std::size_t>(place)]))
        place = static_cast<std::int64_t>(i);
    return place;
  }

  /// Tells what made the element; then `tensor` and `place` are its largest contribution. False at the end.
  bool tell(std::size_t level, std::uint64_t& tensor, std::int64_t& place) {
    past_.step(level, most_levels);
    const RecordView* record = past_.maker(tensor);
    if (!record) {
      if (level == 0) answer_.sentence += "was made by no op: it came from Python or is a variable's value";
      return false;
    }
    Tensors inputs;
    for (const std::uint64_t id : record->inputs) inputs.push_back(past_.value(id));
    const std::size_t slot = Past::output_of(*record, tensor);
    std::vector<Part> parts = parts_of(*record, inputs, slot, tensor, place);
    if (parts.empty()) {
      if (level == 0)
        answer_.sentence += "was made by " + past_.name(*record) + " from inputs without a derivative";
      return false;
    }
    double sum = 0;
    for (const Part& part : parts) sum += std::abs(part.amount);
    const std::size_t count = parts.size();
    const std::size_t told = std::min(count, level == 0 ? most_of_first : most_of_others);
    std::partial_sort(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(told), parts.end(),
                      [](const Part& a, const Part& b) { return a.size() > b.size(); });
    for (std::size_t i = 0; i < told; ++i) add(*record, inputs, parts[i], sum);
    if (level == 0) {
      const std::string& first = answer_.reasons[0].operands[0];
      answer_.sentence +=
          "was made by " + past_.name(*record) + " of " + counted(count, "contribution") + "; ";
      answer_.sentence +=
          std::isfinite(sum) ? "the largest is " + first + " (" + *answer_.reasons[0].amount_text +
                                   " of the sum of magnitudes)"
                             : (parts[0].finite ? std::string("each of them is finite, together they are not")
                                                : first + " is the first that is not finite") +
                                   ", so there are no shares";
      for (std::size_t k = 0; k < record->inputs.size(); ++k)
        if (const std::string stale = stale_text(past_, *record, record->inputs[k]); !stale.empty())
          answer_.sentence += ". Its operand " + input_name(*record, k) + " is " + stale;
    }
    tensor = record->inputs[parts[0].input];
    place = parts[0].place;
    return true;
  }

  std::vector<Part> parts_of(const RecordView& record, const Tensors& inputs, std::size_t slot,
                             std::uint64_t tensor, std::int64_t place) {
    const Output output{slot, past_.value(tensor)};
    const auto places = places_read(elementwise_, record, inputs, output, place);
    if (record.head.op->form == Form::matmul && places.size() == 2 && places[0] && places[1])
      return parts_of_matmul(record, inputs, places);
    if (record.head.op->vjp && is_floating(output.value.dtype())) try {
        Tensors outputs;
        for (const std::uint64_t id : record.outputs) outputs.push_back(past_.value(id));
        std::vector<Part> parts = parts_by_vjp(record, inputs, outputs, slot, place, places);
        if (!parts.empty()) return parts;
      } catch (const Error&) {  // a VJP that refuses: factors that are not unique
      }
    // Without a slope (comparisons, integers) what was read is all there is to say.
    std::vector<Part> parts;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (places[k] && places[k]->size() == 1)
        parts.push_back({k, places[k]->front(), element(inputs[k], places[k]->front()), {}});
    return parts;
  }

  void add(const RecordView& record, const Tensors& inputs, const Part& part, double sum) {
    const std::string text = part.text.empty() ? part_text(record, inputs, part) : part.text;
    const double share = sum > 0 && std::isfinite(sum) ? std::abs(part.amount) / sum : 0;
    protocol::Reason reason =
        past_.reason(record, "contribution", text + " contributes " + short_number(part.amount) + ".");
    reason.tensor = protocol::if_there(past_.info(record.inputs[part.input]));
    reason.element = protocol::if_there(index_of(inputs[part.input].shape(), part.place));
    reason.operands = {text};
    if (const std::string stale = stale_text(past_, record, record.inputs[part.input]); !stale.empty())
      reason.sentence += " " + input_name(record, part.input) + " is " + stale + ".";
    reason.value = short_number(part.amount);
    if (std::isfinite(sum)) {
      reason.amount = share;
      reason.amount_text = share_text(share);
    }
    answer_.reasons.push_back(std::move(reason));
  }

  Past& past_;
  protocol::Because answer_;
  Elementwise elementwise_;
};

}  // namespace

protocol::Because what_made(Past& past, const Subject& subject) {
  const RecordView* maker = past.maker(subject.tensor);
  if (maker && maker->head.backward)
    if (auto parts = gradient_contributions(past, subject)) return std::move(*parts);
  return Contributions(past).explain(subject);
}

}  // namespace tapedeck::debug
