// What made this element? Its largest contributions, from op to op backwards; where it is no sum of what went
// in, its operands. Of a gradient: gradient_parts.cpp.
#include <algorithm>
#include <limits>
#include <tuple>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_memory.h"
#include "engine/debug/why/not_finite.h"
#include "engine/debug/why/update_source.h"
#include "engine/debug/why/vjp_again.h"
#include "engine/debug/why/why.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_of_first = 8, most_of_others = 3, most_levels = 8;
/// Operands and equal contributions that the sentence names.
constexpr std::size_t most_named = 3;

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

/// The largest first; of equal ones, in the order of the inputs.
bool comes_first(const Part& a, const Part& b) {
  if (a.size() != b.size()) return a.size() > b.size();
  return std::tie(a.input, a.place) < std::tie(b.input, b.place);
}

struct PartList {
  std::vector<Part> parts;
  /// The element is their sum, so that each has a share of it. The factors of a product have none.
  bool summed = false;
  bool finite = true;  ///< the amounts are
  double magnitudes = 0;

  void measure() {
    for (const Part& part : parts) magnitudes += std::abs(part.amount);
    finite = std::isfinite(magnitudes);
  }
};

/// Derivative times value of all parts is the element where it is a sum of them: of x·y it is twice, of x/y 0
/// times the element. Where all are 0, there is nothing to share.
bool add_up_to(const PartList& list, double value, DType dtype) {
  double sum = 0;
  for (const Part& part : list.parts) sum += part.amount;
  const double rounding = dtype == DType::float64 || dtype == DType::float32 ? 1e-4 : 1e-2;
  return list.magnitudes > 0 && std::abs(sum - value) <= rounding * list.magnitudes;
}

/// "a, b and c", or "a, b, c and 7 others".
std::string list_text(const std::vector<std::string>& words, std::size_t others) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() && others == 0 ? " and " : ", ";
    text += words[i];
  }
  return others ? text + " and " + counted(others, "other") : text;
}

std::string input_name(const RecordView& record, std::size_t input) {
  if (const ForeignOp* op = foreign_op_of(record))  // a list of tensors is many inputs of one name
    if (const auto arguments = arguments_of(*op, record.head.attributes, record.inputs.size());
        input < arguments.size())
      return arguments[input]->name;
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

/// Of a sum of products each factor's parts make the whole of it, and of an element what its other summands
/// leave (a bias): one factor is reported.
void keep_one_factor(std::vector<Part>& parts, std::size_t inputs, double value) {
  std::vector<double> sums(inputs);
  std::vector<std::size_t> counts(inputs);
  double all = 0, magnitudes = std::abs(value);
  for (const Part& part : parts) {
    sums[part.input] += part.amount;
    ++counts[part.input];
    all += part.amount;
  }
  for (const double sum : sums) magnitudes += std::abs(sum);
  const auto agree = [&](double x, double y) { return std::abs(x - y) <= 1e-3 * magnitudes; };
  for (std::size_t k = 0; k < inputs; ++k) {
    std::vector<std::size_t> others;
    for (std::size_t other = k + 1; other < inputs; ++other)
      if (counts[other] > 1 && agree(sums[k], sums[other])) others.push_back(other);
    if (counts[k] < 2 || others.empty()) continue;
    double rest = all;
    for (const std::size_t other : others) rest -= sums[other];
    if (!agree(rest, value)) continue;
    std::erase_if(parts,
                  [&](const Part& part) { return std::ranges::find(others, part.input) != others.end(); });
    return;
  }
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
  for (const Tensor& input : inputs) call.given.push_back(input && is_floating(input.dtype()));
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
    while (!record && ((level == 0 && follow_assignment(past_, tensor)) || follow_memory(tensor, place)))
      record = past_.maker(tensor);
    if (!record) {
      if (level == 0) answer_.sentence += "was made by no op: it came from Python or is a variable's value";
      return false;
    }
    if (const ForeignOp* op = foreign_op_of(*record); op && op->reads_shapes_alone) {
      if (level == 0)
        answer_.sentence +=
            draws_numbers(*record, past_.inputs(*record))
                ? "was drawn at random by " + past_.name(*record) + ": it comes from no other value"
                : "was made by " + past_.name(*record) + ", which reads no other values";
      return false;
    }
    const Tensors inputs = past_.inputs(*record);
    const std::size_t slot = Past::output_of(*record, tensor);
    PartList list = parts_of(*record, inputs, slot, tensor, place);
    std::vector<Part>& parts = list.parts;
    if (parts.empty()) {
      if (level == 0 && draws_numbers(*record, inputs)) {
        answer_.sentence += "was drawn at random by " + past_.name(*record) +
                            (record->inputs.empty() ? ": it comes from no other value"
                                                    : ": how likely it was comes from the op's inputs, the "
                                                      "number itself from none");
      } else if (level == 0 && record->inputs.empty()) {
        answer_.sentence += "was made by " + past_.name(*record) + ", which reads no other values";
      } else if (level == 0 && is_foreign(*record->head.op)) {
        answer_.complete = false;
        answer_.sentence += "was made by " + past_.name(*record) +
                            "; which elements of its inputs it comes from cannot be found out" +
                            (cannot_.empty() ? std::string() : " (" + cannot_ + ")");
      } else if (level == 0) {
        answer_.sentence += "was made by " + past_.name(*record) + " from inputs without a derivative";
      }
      return false;
    }
    const std::size_t told = std::min(parts.size(), level == 0 ? most_of_first : most_of_others);
    std::partial_sort(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(told), parts.end(),
                      comes_first);
    const std::size_t first = answer_.reasons.size();
    for (std::size_t i = 0; i < told; ++i) add(*record, inputs, list, parts[i]);
    if (level == 0) {
      answer_.sentence += "was made by " + past_.name(*record) + made_of(list, first);
      if (auto gradient = gradient_taken(past_, *record, slot, place)) {
        answer_.sentence += ". " + gradient->sentence.substr(0, gradient->sentence.size() - 1);
        answer_.reasons.push_back(std::move(*gradient));
      }
      for (std::size_t k = 0; k < record->inputs.size(); ++k)
        if (const std::string stale = stale_text(past_, *record, record->inputs[k]); !stale.empty())
          answer_.sentence += ". Its operand " + input_name(*record, k) + " is " + stale;
    }
    tensor = record->inputs[parts[0].input];
    place = parts[0].place;
    return true;
  }

  /// Where the element was written through another tensor: on to that one.
  bool follow_memory(std::uint64_t& tensor, std::int64_t& place) {
    const auto source = memory_.source(tensor, place);
    if (!source) return false;
    tensor = source->tensor;
    place = source->place;
    return true;
  }

  /// Of the first op's reasons, which begin at `first`: " of 3 contributions; the largest is …", or
  /// " from x = 2.0 and y = 3.0".
  std::string made_of(const PartList& list, std::size_t first) const {
    const std::vector<Part>& parts = list.parts;
    const auto named = [&](std::size_t count) {
      std::vector<std::string> words;
      for (std::size_t i = 0; i < std::min(count, most_named); ++i)
        words.push_back(answer_.reasons[first + i].operands[0]);
      return list_text(words, count - words.size());
    };
    const std::string contributions = " of " + counted(parts.size(), "contribution") + "; ";
    if (!list.finite)
      return contributions +
             (parts[0].finite ? std::string("each of them is finite, together they are not")
                              : named(1) + " is the first that is not finite") +
             ", so there are no shares";
    if (!list.summed || parts.size() == 1) return " from " + named(parts.size());
    const auto equal = static_cast<std::size_t>(std::count_if(
        parts.begin(), parts.end(), [&](const Part& part) { return part.size() == parts[0].size(); }));
    const std::string share = *answer_.reasons[first].amount_text + " of the sum of magnitudes)";
    if (equal == 1) return contributions + "the largest is " + named(1) + " (" + share;
    if (equal == parts.size())
      return contributions + "they are equally large: " + named(equal) + " (each " + share;
    return contributions + "the largest are " + named(equal) + " (each " + share;
  }

  PartList parts_of(const RecordView& record, const Tensors& inputs, std::size_t slot, std::uint64_t tensor,
                    std::int64_t place) {
    const Output output{slot, past_.value(tensor)};
    const auto places = places_read(elementwise_, record, inputs, output, place);
    PartList list;
    if (form_of(*record.head.op) == Form::matmul && places.size() == 2 && places[0] && places[1]) {
      list.parts = parts_of_matmul(record, inputs, places);
      list.summed = true;
      list.measure();
      return list;
    }
    const std::vector<std::size_t> of_slot = inputs_of_slot(record, slot);
    if (!of_slot.empty()) {  // one op for many tensors: of this one
      std::vector<ReadPlaces> here(inputs.size());
      for (const std::size_t k : of_slot)
        if (inputs[k] && inputs[k].shape() == output.value.shape())
          here[k] = Places{place};
        else if (inputs[k] && inputs[k].count() == 1)
          here[k] = Places{0};
      add_operands(list, inputs, here);
      return list;
    }
    if (can_differentiate(*record.head.op) && is_floating(output.value.dtype())) try {
        Tensors outputs;
        for (const std::uint64_t id : record.outputs) outputs.push_back(id ? past_.value(id) : Tensor());
        list.parts = parts_by_vjp(record, inputs, outputs, slot, place, places);
        list.measure();
        list.summed = add_up_to(list, element(output.value, place), output.value.dtype());
      } catch (const Error& error) {  // a VJP that refuses: factors that are not unique
        list = {};
        cannot_ = error.what();
      }
    if (!list.summed) add_operands(list, inputs, places);
    return list;
  }

  /// What was read and has no slope, or slope 0: all there is to say of comparisons and integers; the 5 in
  /// 0·5.
  static void add_operands(PartList& list, const Tensors& inputs, const std::vector<ReadPlaces>& places) {
    for (std::size_t k = 0; k < inputs.size() && k < places.size(); ++k)
      if (places[k] && places[k]->size() == 1 &&
          std::none_of(list.parts.begin(), list.parts.end(),
                       [&](const Part& part) { return part.input == k; })) {
        const double value = element(inputs[k], places[k]->front());
        list.parts.push_back({k, places[k]->front(), 0, {}, std::isfinite(value)});
      }
  }

  void add(const RecordView& record, const Tensors& inputs, const PartList& list, const Part& part) {
    const std::string text = part.text.empty() ? part_text(record, inputs, part) : part.text;
    protocol::Reason reason =
        list.summed
            ? past_.reason(record, "contribution", text + " contributes " + short_number(part.amount) + ".")
            : past_.reason(record, "operand", text + " went in.");
    reason.tensor = protocol::if_there(past_.info(record.inputs[part.input]));
    reason.element = protocol::if_there(index_of(inputs[part.input].shape(), part.place));
    reason.operands = {text};
    if (const std::string stale = stale_text(past_, record, record.inputs[part.input]); !stale.empty())
      reason.sentence += " " + input_name(record, part.input) + " is " + stale + ".";
    reason.value = list.summed ? short_number(part.amount) : element_text(inputs[part.input], part.place);
    if (list.finite && list.summed) {
      const double share = list.magnitudes > 0 ? std::abs(part.amount) / list.magnitudes : 0;
      reason.amount = share;
      reason.amount_text = share_text(share);
    }
    answer_.reasons.push_back(std::move(reason));
  }

  Past& past_;
  protocol::Because answer_;
  Elementwise elementwise_;
  WrittenMemory memory_{past_};
  std::string cannot_;  ///< why an op cannot be differentiated
};

}  // namespace

protocol::Because what_made(Past& past, const Subject& subject) {
  const RecordView* maker = past.maker(subject.tensor);
  if (maker ? maker->head.backward : past.giver(subject.tensor) != nullptr)
    if (auto parts = gradient_contributions(past, subject)) return std::move(*parts);
  return Contributions(past).explain(subject);
}

}  // namespace tapedeck::debug
