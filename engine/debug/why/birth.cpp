// Where was this NaN or infinity born? From op to op back to the first that made it of values that had none.
#include <algorithm>
#include <deque>

#include "engine/debug/why/birth_parts.h"
#include "engine/debug/why/elements.h"
#include "engine/debug/why/not_finite.h"
#include "engine/debug/why/vanished.h"
#include "engine/debug/why/why.h"
#include "engine/debug/why/written_memory.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_text.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t shown_of_the_way = 20;  // at its start, and at its end

/// An element that is not finite.
struct Spot {
  std::uint64_t tensor = 0;
  std::int64_t place = 0;
  NotFinite kind = NotFinite::nan;
};

class Birth {
 public:
  Birth(Past& past, const Subject& subject) : past_(past), subject_(subject) {}

  protocol::Because explain() {
    answer_.question = protocol::Question::birth;
    const Tensor value = past_.value(subject_.tensor);
    const std::optional<Spot> spot = look(value);
    if (!spot) return std::move(answer_);
    go_back(*spot);
    finish(*spot, value);
    return std::move(answer_);
  }

 private:
  /// The element that is asked about; nothing, and a sentence, where there is none.
  std::optional<Spot> look(const Tensor& value) {
    if (!subject_.element.empty() || value.count() == 1) {
      const std::int64_t place =
          place_of(value.shape(), subject_.element.empty() ? index_of(value.shape(), 0) : subject_.element);
      const double number = element(value, place);
      if (std::isnan(number)) return Spot{subject_.tensor, place, NotFinite::nan};
      if (std::isinf(number)) return Spot{subject_.tensor, place, NotFinite::infinite};
      answer_.sentence = "This element is " + element_text(value, place) +
                         ", a finite number: there is no NaN or infinity to explain.";
      return std::nullopt;
    }
    for (const NotFinite kind : {NotFinite::nan, NotFinite::infinite})
      if (const auto place = first_of(value, kind, std::nullopt)) return Spot{subject_.tensor, *place, kind};
    answer_.sentence = value.count() == 0
                           ? "This tensor has no elements."
                           : "All of the " + counted(static_cast<std::uint64_t>(value.count()), "element") +
                                 " are finite: there is no NaN or infinity here.";
    return std::nullopt;
  }

  void go_back(Spot spot) {
    std::uint64_t steps = 0;
    while (true) {
      past_.step(++steps);
      const RecordView* record = past_.maker(spot.tensor);
      if (!record) {
        if (follow_assignment(spot) || follow_memory(spot)) continue;
        return came_in(spot);
      }
      if (record->head.kind != EventKind::op) return;
      Tensors inputs;
      try {
        inputs = past_.inputs(*record);
        const Output output{Past::output_of(*record, spot.tensor), past_.value(spot.tensor)};
        const auto places = places_read(elementwise_, *record, inputs, output, spot.place);
        if (const auto next = worse_input(*record, inputs, places, spot.kind)) {
          pass_on(*record, spot, output.value);
          spot = *next;
          continue;
        }
        return born(*record, spot, inputs, places, output.value);
      } catch (const ValueError& error) {
        missing_ = error.what();
        return;
      }
    }
  }

  /// An input that had one already.
  static std::optional<Spot> worse_input(const RecordView& record, const Tensors& inputs,
                                         const std::vector<ReadPlaces>& places, NotFinite kind) {
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (const auto place = first_of(inputs[k], kind, places[k]))
        return Spot{record.inputs[k], *place, kind};
    if (kind == NotFinite::nan) return std::nullopt;
    for (std::size_t k = 0; k < inputs.size(); ++k)  // an Inf may come of a NaN: maximum(…)
      if (const auto place = first_of(inputs[k], NotFinite::nan, places[k]))
        return Spot{record.inputs[k], *place, NotFinite::nan};
    return std::nullopt;
  }

  bool follow_assignment(Spot& spot) {
    const auto assignment = past_.assignment(spot.tensor);
    if (!assignment || assignment->value == spot.tensor || assignment->value == 0) return false;
    const protocol::TensorInfo info = past_.info(spot.tensor);
    RecordView none;
    none.head.location = assignment->location;
    protocol::Reason reason = past_.reason(none, "assigned", info.name + " was given this value.");
    reason.record = {};
    reason.op = info.name;
    show(reason, spot);
    keep(std::move(reason));
    spot.tensor = assignment->value;
    return true;
  }

  /// A tensor of PyTorch's whose memory was written to through another one: the element came with that write,
  /// or was there before.
  bool follow_memory(Spot& spot) {
    Spot next;
    const RecordView* writer = nullptr;
    if (const auto source = memory_.source(spot.tensor, spot.place)) {
      next = {source->tensor, source->place, spot.kind};
      writer = past_.maker(source->tensor);
      if (const ForeignOp* op = writer ? foreign_op_of(*writer) : nullptr; !op || !op->writes)
        writer = nullptr;
    } else {
      writer = guess_by_memory(spot, next);
    }
    if (!next.tensor) return false;
    if (writer) {
      protocol::Reason reason = past_.reason(*writer, "same memory",
                                             "It was written into the memory here, through another tensor.");
      show(reason, spot);
      keep(std::move(reason));
    }
    spot = next;
    return true;
  }

  /// Where the places in memory are not known (a trace file): what has such an element.
  const RecordView* guess_by_memory(const Spot& spot, Spot& next) {
    if (past_.recorder().trace().newest() == 0) return nullptr;
    const RecordView* writer = past_.record(memory_.shared().writer_of(spot.tensor));
    if (!writer) return nullptr;
    if (const std::uint64_t older = memory_.shared().older_value(spot.tensor);
        older && first_of(past_.value(older), spot.kind, Places{spot.place}))
      next = {older, spot.place, spot.kind};
    for (const std::uint64_t id : writer->outputs)
      if (id && !next.tensor)
        if (const auto place = first_of(past_.value(id), spot.kind, std::nullopt))
          next = {id, *place, spot.kind};
    return writer;
  }

  void came_in(const Spot& spot) {
    protocol::Reason reason;
    reason.role = "came in";
    reason.op = past_.info(spot.tensor).name;
    if (reason.op.empty()) reason.op = "a constant";
    reason.sentence = std::string("The ") + kind_text(spot.kind) +
                      " was in this value already when it came from Python: no op made it.";
    show(reason, spot);
    origin_ = reason.sentence;
    answer_.reasons.insert(answer_.reasons.begin(), std::move(reason));
  }

  void pass_on(const RecordView& record, const Spot& spot, const Tensor& value) {
    protocol::Reason reason = past_.reason(
        record, "passed on",
        std::string("One of its inputs was already ") + (spot.kind == NotFinite::nan ? "NaN." : "infinite."));
    show(reason, spot);
    reason.value = element_text(value, spot.place);
    keep(std::move(reason));
  }

  /// The answer follows the data from the birth on: what was met last comes first.
  void keep(protocol::Reason reason) {
    way_.push_front(std::move(reason));
    if (way_.size() <= 2 * shown_of_the_way) return;
    way_.erase(way_.begin() + shown_of_the_way);
    ++left_out_;
  }

  void show(protocol::Reason& reason, const Spot& spot) const {
    reason.tensor = protocol::if_there(past_.info(spot.tensor));
    const Shape shape(std::span<const std::int64_t>(past_.info(spot.tensor).shape));
    reason.element = protocol::if_there(index_of(shape, spot.place));
  }

  /// Of values that had no NaN, or were finite all: here it was born. An Inf that a NaN was made of was born
  /// somewhere, too.
  void born(const RecordView& record, const Spot& spot, const Tensors& inputs,
            const std::vector<ReadPlaces>& places, const Tensor& value) {
    const std::vector<ReadOperand> operands = operands_read(record, inputs, places);
    const std::vector<double> numbers = numbers_of(operands);
    const std::string given = argument_not_finite(record);
    const std::string call = given.empty() ? call_text(record, inputs, places) : std::string();
    const bool products = spot.kind == NotFinite::nan && form_of(*record.head.op) == Form::matmul &&
                          inputs.size() == 2 && places[0] && places[1];
    const std::string undefined = spot.kind == NotFinite::nan
                                      ? why_undefined(record, inputs, places, value, spot.place)
                                      : std::string();
    const std::string what = !given.empty()       ? given
                             : !undefined.empty() ? undefined
                             : products ? why_products_are_nan(inputs[0], *places[0], inputs[1], *places[1])
                                        : what_happened(*record.head.op, numbers, spot.kind, value.dtype());
    const bool infinite =
        std::any_of(numbers.begin(), numbers.end(), [](double number) { return std::isinf(number); });
    std::string sentence = std::string("Here the ") + kind_text(spot.kind) + " was made: ";
    if (!given.empty())
      sentence += record.head.op->name;
    else
      sentence += call.empty()
                      ? record.head.op->name + (infinite ? " of infinite values" : " of finite values")
                      : call;
    if (!what.empty()) sentence += ". Here " + what;
    protocol::Reason reason = past_.reason(record, births_.empty() ? "born" : "cause", sentence + ".");
    show(reason, spot);
    for (const ReadOperand& operand : operands) reason.operands.push_back(operand.text);
    reason.value = element_text(value, spot.place);
    Spot cause;
    if (spot.kind == NotFinite::nan && given.empty())
      for (const ReadOperand& operand : operands)
        if (operand.tensor && std::isinf(operand.value) && !cause.tensor)
          cause = {operand.tensor, operand.place, NotFinite::infinite};
    births_.push_back({past_.name(record), call, what, {}, spot.kind});
    if (!record.head.backward && spot.kind == NotFinite::nan)
      births_.back().also = where_divisor_came_from(past_, elementwise_, record, inputs, places);
    std::vector<protocol::Reason> told{std::move(reason)};
    try {
      tell_backward(record, spot, numbers, told);
    } catch (const ValueError& error) {
      missing_ = error.what();
    }
    found_.insert(found_.end(), std::make_move_iterator(told.begin()), std::make_move_iterator(told.end()));
    if (!cause.tensor) return;
    const auto before = std::move(way_);
    way_.clear();
    go_back(cause);
    way_.insert(way_.end(), before.begin(), before.end());
  }

  /// In a playback: whose VJP it was, and the forward value behind it.
  void tell_backward(const RecordView& record, const Spot& spot, const std::vector<double>& numbers,
                     std::vector<protocol::Reason>& told) {
    const RecordView* vjp = past_.around(record, EventKind::vjp);
    if (!vjp) return;
    const RecordView* forward = past_.record(vjp->head.forward);
    std::string sentence = "It is the gradient of " + vjp->name() + " that runs here";
    // Of another framework's call the formula need not be that of its arguments.
    if (forward && forward->head.op && forward->head.op == vjp->head.op && !is_foreign(*forward->head.op) &&
        forward->head.op->vjp_formula != "none")
      sentence += ": " + forward->head.op->vjp_formula;
    told.push_back(past_.reason(*vjp, "VJP", sentence + "."));
    if (!vjp->inputs.empty() && vjp->inputs[0])
      told.back().tensor = protocol::if_there(past_.info(vjp->inputs[0]));
    if (!forward) return;
    const bool by_element = elementwise_.is(*forward, past_.inputs(*forward));
    protocol::Reason reason =
        forward_reason(past_, *forward, by_element, past_.info(spot.tensor).shape, spot.place);
    std::string values;
    for (const std::string& operand : reason.operands) values += (values.empty() ? "" : ", ") + operand;
    if (births_.back().also.empty())
      births_.back().also =
          "Its forward op is " + past_.name(*forward) + (values.empty() ? "" : " with " + values) + ".";
    if (by_element && std::ranges::find(numbers, 0) != numbers.end()) tell_zero_cotangent(*vjp, spot);
    told.push_back(std::move(reason));
    for (const std::uint64_t id : forward->inputs)
      if (id != 0 && past_.info(id).shape == past_.info(spot.tensor).shape)
        if (auto vanished = why_vanished(past_, elementwise_, id, spot.place)) {
          if (vanished_.empty()) vanished_ = vanished->sentence;
          told.push_back(std::move(*vanished));
        }
  }

  /// The gradient of what `where` does not choose is 0, and 0 times an infinite slope is NaN.
  void tell_zero_cotangent(const RecordView& vjp, const Spot& spot) {
    if (spot.kind != NotFinite::nan || vjp.inputs.size() != 1 || vjp.inputs[0] == 0) return;
    const Tensor cotangent = past_.value(vjp.inputs[0]);
    if (!is_floating(cotangent.dtype()) || spot.place >= cotangent.count() ||
        cotangent.count() !=
            element_count(Shape(std::span<const std::int64_t>(past_.info(spot.tensor).shape))) ||
        element(cotangent, spot.place) != 0)
      return;
    const RecordView* maker = past_.maker(vjp.inputs[0]);
    const RecordView* before = maker ? past_.around(*maker, EventKind::vjp) : nullptr;
    const RecordView* chooser = before ? past_.record(before->head.forward) : nullptr;
    zero_came_ = "The gradient that came in there is 0";
    if (chooser && chooser->head.op && short_name(*chooser->head.op) == "where")
      zero_came_ += ", because " + past_.name(*chooser) + " did not choose that element";
    zero_came_ += ": 0 times a slope that is not finite is NaN.";
  }

  void finish(const Spot& spot, const Tensor& value) {
    answer_.reasons.insert(answer_.reasons.begin(), std::make_move_iterator(found_.begin()),
                           std::make_move_iterator(found_.end()));
    for (protocol::Reason& reason : way_) answer_.reasons.push_back(std::move(reason));
    std::string& sentence = answer_.sentence;
    const std::string what = std::string("The ") + kind_text(spot.kind) +
                             (value.count() > 1 ? " at " + index_text(value.shape(), spot.place) : "");
    if (!births_.empty()) {
      const BirthPlace& first = births_.front();
      sentence = what + " was born in " + first.name + (first.call.empty() ? "" : ": " + first.call);
      if (!first.what.empty()) sentence += ". There " + first.what;
      sentence += ".";
      if (!first.also.empty()) sentence += " " + first.also;
      if (!zero_came_.empty()) sentence += " " + zero_came_;
      if (!vanished_.empty()) sentence += " " + vanished_;
      for (std::size_t i = 1; i < births_.size(); ++i)
        sentence += std::string(" The ") + kind_text(births_[i].kind) + " in it was born in " +
                    births_[i].name + (births_[i].call.empty() ? "" : ": " + births_[i].call) + "." +
                    also_text(births_[i]);
      if (!origin_.empty()) sentence += " The infinity in it came from Python.";
    } else if (!origin_.empty()) {
      sentence = what + " was born in no op: it came in with a value from Python.";
    } else {
      sentence = what + " is older than the oldest record that is kept.";
    }
    answer_.complete = missing_.empty();
    if (!missing_.empty()) sentence += " It cannot be traced further back: " + missing_;
    if (left_out_)
      sentence +=
          " Of the ops that passed it on, " + counted(left_out_, "op") + " in the middle are left out.";
  }

  struct BirthPlace {
    std::string name, call, what;
    std::string also;  ///< the forward op behind it; where its divisor came from
    NotFinite kind = NotFinite::nan;
  };

  /// Of a later birth "its forward op" could be read as that of the first.
  static std::string also_text(const BirthPlace& birth) {
    constexpr std::string_view its = "Its forward op";
    if (birth.also.empty()) return {};
    if (!birth.also.starts_with(its)) return " " + birth.also;
    return std::string(" The forward op of that ") + kind_text(birth.kind) + birth.also.substr(its.size());
  }

  Past& past_;
  const Subject& subject_;
  protocol::Because answer_;
  Elementwise elementwise_;
  std::vector<BirthPlace> births_;
  std::vector<protocol::Reason> found_;
  std::deque<protocol::Reason> way_;
  std::uint64_t left_out_ = 0;
  WrittenMemory memory_{past_};
  std::string origin_, missing_, zero_came_, vanished_;
};

}  // namespace

protocol::Because where_born(Past& past, const Subject& subject) {
  return Birth(past, subject).explain();
}

}  // namespace tapedeck::debug
