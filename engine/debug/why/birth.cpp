// Where was this NaN or infinity born? From op to op back to the first that made it of values that had none.
#include <algorithm>
#include <deque>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/not_finite.h"
#include "engine/debug/why/vanished.h"
#include "engine/debug/why/why.h"
#include "engine/debug/why/written_memory.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_text.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t shown_of_the_way = 20;  // at its start, and at its end
constexpr std::int64_t most_listed = 4;       // operands of one input

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
  struct Operand {
    std::string text;
    double value = 0;
    std::uint64_t tensor = 0;
    std::int64_t place = 0;
  };

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

  std::vector<Operand> operands_of(const RecordView& record, const Tensors& inputs,
                                   const std::vector<ReadPlaces>& places) const {
    std::vector<Operand> operands;
    const auto& names = record.head.op->inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (!inputs[k]) continue;
      const std::string name = names[std::min(k, names.size() - 1)].name;
      const std::int64_t count = places[k] ? static_cast<std::int64_t>(places[k]->size()) : inputs[k].count();
      Places order;
      if (count > most_listed)  // those that are farthest from 0: they overflow
        order = farthest_from_zero(inputs[k], places[k], most_listed);
      else
        for (std::int64_t i = 0; i < count; ++i)
          order.push_back(places[k] ? (*places[k])[static_cast<std::size_t>(i)] : i);
      for (const std::int64_t place : order)
        operands.push_back(
            {name + index_text(inputs[k].shape(), place) + " = " + element_text(inputs[k], place),
             element(inputs[k], place), record.inputs[k], place});
      if (count > most_listed)
        operands.push_back({"… of " + counted(static_cast<std::uint64_t>(count), "element") + " of " + name,
                            std::nan(""), 0, 0});
    }
    return operands;
  }

  /// "its argument value is nan": of PyTorch's fill_, full and the like.
  static std::string argument_not_finite(const RecordView& record) {
    const ForeignOp* op = foreign_op_of(record);
    if (!op) return {};
    const auto& attributes = op->row->attributes;
    for (std::size_t i = 0; i < std::min(attributes.size(), record.head.attributes.size()); ++i)
      if (const auto* number = std::get_if<double>(&record.head.attributes[i]);
          number && !std::isfinite(*number))
        return "its argument " + attributes[i].name + " is " +
               (std::isnan(*number) ? "nan"
                : *number > 0       ? "inf"
                                    : "-inf");
    return {};
  }

  /// Of values that had no NaN, or were finite all: here it was born. An Inf that a NaN was made of was born
  /// somewhere, too.
  void born(const RecordView& record, const Spot& spot, const Tensors& inputs,
            const std::vector<ReadPlaces>& places, const Tensor& value) {
    const std::vector<Operand> operands = operands_of(record, inputs, places);
    std::vector<double> numbers;
    for (const Operand& operand : operands)
      if (operand.tensor) numbers.push_back(operand.value);
    const std::string given = argument_not_finite(record);
    const std::string call = given.empty() ? call_text(record, inputs, places) : std::string();
    const bool products = spot.kind == NotFinite::nan && form_of(*record.head.op) == Form::matmul &&
                          inputs.size() == 2 && places[0] && places[1];
    const std::string what = !given.empty() ? given
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
    for (const Operand& operand : operands) reason.operands.push_back(operand.text);
    reason.value = element_text(value, spot.place);
    Spot cause;
    if (spot.kind == NotFinite::nan && given.empty())
      for (const Operand& operand : operands)
        if (operand.tensor && std::isinf(operand.value) && !cause.tensor)
          cause = {operand.tensor, operand.place, NotFinite::infinite};
    births_.push_back({past_.name(record), call, what, spot.kind});
    std::vector<protocol::Reason> told{std::move(reason)};
    try {
      tell_backward(record, spot, told);
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
  void tell_backward(const RecordView& record, const Spot& spot, std::vector<protocol::Reason>& told) {
    const RecordView* vjp = past_.around(record, EventKind::vjp);
    if (!vjp) return;
    const RecordView* forward = past_.record(vjp->head.forward);
    std::string sentence = "It is the gradient of " + vjp->name() + " that runs here";
    if (forward && forward->head.op && forward->head.op == vjp->head.op &&
        forward->head.op->vjp_formula != "none")
      sentence += ": " + forward->head.op->vjp_formula;
    told.push_back(past_.reason(*vjp, "VJP", sentence + "."));
    if (!vjp->inputs.empty() && vjp->inputs[0])
      told.back().tensor = protocol::if_there(past_.info(vjp->inputs[0]));
    if (!forward) return;
    protocol::Reason reason = past_.reason(*forward, "forward op", {});
    const Shape made(std::span<const std::int64_t>(past_.info(spot.tensor).shape));
    std::string values;
    const auto add = [&](std::uint64_t id, const std::string& name) {
      const protocol::TensorInfo info = past_.info(id);
      const Shape shape(std::span<const std::int64_t>(info.shape));
      if (id == 0 || element_count(shape) != element_count(made)) return;
      const std::string text =
          name + index_text(shape, spot.place) + " = " + element_text(past_.value(id), spot.place);
      reason.operands.push_back(text);
      values += (values.empty() ? "" : ", ") + text;
      if (reason.tensor) return;
      reason.tensor = info;
      reason.element = protocol::if_there(index_of(shape, spot.place));
    };
    for (std::size_t k = 0; k < forward->inputs.size(); ++k)
      add(forward->inputs[k],
          forward->head.op ? forward->head.op->inputs[std::min(k, forward->head.op->inputs.size() - 1)].name
                           : "argument " + std::to_string(k));
    for (const std::uint64_t id : forward->outputs) add(id, "its result");
    if (!reason.tensor && !forward->outputs.empty())
      reason.tensor = protocol::if_there(past_.info(forward->outputs[0]));
    reason.sentence =
        values.empty() ? "The forward op behind it." : "The forward op behind it ran with " + values + ".";
    forward_ = past_.name(*forward) + (values.empty() ? "" : " with " + values);
    if (elementwise_.is(*forward, past_.inputs(*forward))) tell_zero_cotangent(*vjp, spot);
    told.push_back(std::move(reason));
    for (const std::uint64_t id : forward->inputs)
      if (id != 0 &&
          element_count(Shape(std::span<const std::int64_t>(past_.info(id).shape))) == element_count(made))
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
      if (!forward_.empty()) sentence += " Its forward op is " + forward_ + ".";
      if (!zero_came_.empty()) sentence += " " + zero_came_;
      if (!vanished_.empty()) sentence += " " + vanished_;
      for (std::size_t i = 1; i < births_.size(); ++i)
        sentence += std::string(" The ") + kind_text(births_[i].kind) + " in it was born in " +
                    births_[i].name + (births_[i].call.empty() ? "" : ": " + births_[i].call) + ".";
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
    NotFinite kind = NotFinite::nan;
  };

  Past& past_;
  const Subject& subject_;
  protocol::Because answer_;
  Elementwise elementwise_;
  std::vector<BirthPlace> births_;
  std::vector<protocol::Reason> found_;
  std::deque<protocol::Reason> way_;
  std::uint64_t left_out_ = 0;
  WrittenMemory memory_{past_};
  std::string origin_, missing_, forward_, zero_came_, vanished_;
};

}  // namespace

protocol::Because where_born(Past& past, const Subject& subject) {
  return Birth(past, subject).explain();
}

}  // namespace tapedeck::debug
