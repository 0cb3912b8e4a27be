#include "engine/debug/change_set.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <variant>

#include "engine/debug/past_change.h"
#include "engine/debug/term_look.h"
#include "engine/debug/tile.h"
#include "engine/debug/training_steps.h"
#include "engine/debug/value_look.h"
#include "engine/debug/why/elements.h"
#include "engine/protocol/change_set.h"
#include "engine/protocol/conditions/log_text.h"
#include "engine/protocol/record_filter.h"

namespace tapedeck::debug {
namespace {

using protocol::SetAction;

constexpr std::size_t most_changed = 500'000;
constexpr std::uint32_t set_records_at_once = 2048;
constexpr std::size_t most_kinds_told = 4;

[[noreturn]] void refuse_set(const std::string& reason) {
  throw BadRequest("make_branch: " + reason);
}

protocol::Condition filter_of(const std::string& text) {
  try {
    return protocol::parse_set(text);
  } catch (const protocol::ConditionError& error) {
    refuse_set("in the set “" + text + "”, " + protocol::place_text(text, error.position) + ": " +
               error.what());
  }
}

/// The ops that ran which a filter finds.
class SetSearch {
 public:
  SetSearch(const Recorder& recorder, protocol::Condition filter, const FindTensor& find)
      : recorder_(recorder), filter_(std::move(filter)), steps_(recorder) {
    for_each_term(filter_, [&](const protocol::Condition& leaf) {
      terms_.emplace_back(leaf.term, recorder, labels_);
      step_terms_.push_back(protocol::is_step_term(leaf) ? &leaf : nullptr);
    });
    if (protocol::asks_for_values(filter_)) values_.emplace(recorder, find);
  }

  std::vector<std::uint32_t> run(const CancelFlag& cancel) {
    const Trace& trace = recorder_.trace();
    const std::uint32_t newest = trace.newest();
    if (protocol::asks_for_step(filter_)) steps_.extend(&cancel, newest);
    for (std::uint32_t next = trace.oldest_kept(); next <= newest;) {
      check_cancelled(&cancel);
      const std::uint32_t last = std::min(newest, next + set_records_at_once - 1);
      const std::uint32_t after = trace.glance(next, last, [&](const RecordGlance& glance) { look(glance); });
      decide_open(cancel);
      if (after <= next) break;  // its thread writes it just now
      next = after;
    }
    return std::move(found_);
  }
  /// Values that a record was asked for and that are gone.
  std::uint64_t lost() const { return lost_; }
  std::size_t step_of(std::uint32_t record) const { return steps_.step_of(record); }
  bool by_step() const { return protocol::asks_for_step(filter_); }
  std::uint32_t uncounted() const { return by_step() ? steps_.forgotten() : 0; }

 private:
  protocol::Verdict verdict(std::size_t term, const RecordGlance& record) {
    if (const protocol::Condition* step = step_terms_[term])
      return protocol::step_verdict(*step, static_cast<double>(steps_.step_of(record.number)));
    return terms_[term].verdict(record);
  }

  void look(const RecordGlance& record) {
    if (record.head.kind != EventKind::op || record.state != RecordState::done) return;
    const protocol::Verdict known =
        evaluate(filter_, [&](const protocol::Condition& leaf) { return verdict(leaf.number, record); });
    if (known == protocol::Verdict::yes) open_.push_back({record.number, std::nullopt});
    if (known != protocol::Verdict::unknown || !values_) return;
    Undecided undecided;
    undecided.number = record.number;
    undecided.inputs.assign(record.inputs.begin(), record.inputs.end());
    undecided.outputs.assign(record.outputs.begin(), record.outputs.end());
    for (std::size_t term = 0; term < terms_.size(); ++term) undecided.terms.push_back(verdict(term, record));
    open_.push_back({record.number, std::move(undecided)});
  }

  void decide_open(const CancelFlag& cancel) {
    for (const auto& [number, undecided] : open_) {
      if (undecided) {
        check_cancelled(&cancel);
        const protocol::Verdict verdict = decide(filter_, *undecided, *values_);
        lost_ += verdict == protocol::Verdict::unknown && values_->lost();
        if (verdict != protocol::Verdict::yes) continue;
      }
      found_.push_back(number);
    }
    open_.clear();
    if (found_.size() > most_changed)
      refuse_set("the set has more than " + std::to_string(most_changed) + " ops: narrow it");
  }

  const Recorder& recorder_;
  const protocol::Condition filter_;
  const std::vector<protocol::CellLabel> labels_;
  TrainingSteps steps_;
  std::vector<TermLook> terms_;
  std::vector<const protocol::Condition*> step_terms_;  ///< by number; nullptr: about something else
  std::optional<ValueLook> values_;
  std::vector<std::pair<std::uint32_t, std::optional<Undecided>>> open_;
  std::vector<std::uint32_t> found_;
  std::uint64_t lost_ = 0;
};

/// What of an op a subject names.
struct SubjectPlace {
  enum class Kind : std::uint8_t { none, results, result, input, attribute };
  Kind kind = Kind::none;
  std::size_t at = 0;
};

std::optional<std::size_t> index_behind(std::string_view name, std::string_view begin) {
  if (!name.starts_with(begin)) return std::nullopt;
  std::size_t index = 0;
  const char *from = name.data() + begin.size(), *end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(from, end, index);
  return error == std::errc() && stop == end ? std::optional(index) : std::nullopt;
}

SubjectPlace place_in(const RecordView& record, const std::string& subject) {
  using Kind = SubjectPlace::Kind;
  const auto result_at = [&](std::size_t at) -> SubjectPlace {
    return {at < record.outputs.size() && record.outputs[at] ? Kind::result : Kind::none, at};
  };
  if (subject == "out") return {record.outputs.empty() ? Kind::none : Kind::results, 0};
  if (const auto index = index_behind(subject, "out")) return result_at(*index);
  if (subject == "in") return {record.inputs.size() == 1 ? Kind::input : Kind::none, 0};
  if (const auto index = index_behind(subject, "in"))
    return {*index < record.inputs.size() ? Kind::input : Kind::none, *index};
  if (!record.head.op) return {};
  const auto& attributes = record.head.op->attributes;
  const auto attribute = std::ranges::find(attributes, subject, &AttributeSpec::name);
  const auto at = static_cast<std::size_t>(attribute - attributes.begin());
  if (attribute != attributes.end() && at < record.head.attributes.size()) return {Kind::attribute, at};
  const auto& inputs = record.head.op->inputs;
  const auto input = std::ranges::find(inputs, subject, &InputSpec::name);
  const auto slot = static_cast<std::size_t>(input - inputs.begin());
  if (input != inputs.end())
    return {input->variadic || slot >= record.inputs.size() ? Kind::none : Kind::input, slot};
  const auto& results = record.head.op->results.fields;
  const auto result = std::ranges::find(results, subject);
  return result == results.end() ? SubjectPlace{}
                                 : result_at(static_cast<std::size_t>(result - results.begin()));
}

/// "gradient_descent has value, gradient and learning_rate"
std::string subjects_of(const RecordView& record) {
  std::vector<std::string> names;
  if (record.head.op) {
    for (const InputSpec& input : record.head.op->inputs) names.push_back(input.name);
    for (const AttributeSpec& attribute : record.head.op->attributes) names.push_back(attribute.name);
  }
  names.emplace_back("out");
  if (record.outputs.size() > 1)
    for (std::size_t at = 0; at < record.outputs.size(); ++at)
      if (record.outputs[at]) names.push_back("out" + std::to_string(at));
  std::string text = record.name() + " has ";
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

std::string subject_name(std::string text) {
  std::erase_if(text, [](char c) { return c == '\t'; });
  while (text.starts_with(' ')) text.erase(0, 1);
  while (text.ends_with(' ')) text.pop_back();
  std::ranges::replace(text, ' ', '_');
  return text;
}

std::optional<double> number_of(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

double acted(SetAction action, double value, double amount) {
  if (action == SetAction::scale) return value * amount;
  if (action == SetAction::add) return value + amount;
  return std::clamp(value, -amount, amount);
}

/// One change of one op of a set.
class SetChanger {
 public:
  SetChanger(const Recorder& recorder, const protocol::SetChange& asked)
      : recorder_(recorder),
        asked_(asked),
        subject_(subject_name(asked.subject)),
        number_(number_of(asked.value)) {
    if (subject_.empty())
      refuse_set(
          "no subject: name an attribute or an input, “out” for the results, or “out1” for one of them");
    if (asked.action == SetAction::clip && number_ && !(*number_ >= 0))
      refuse_set("“" + asked.value + "”: what is clipped is cut at plus and minus a number of at least 0");
  }
  const std::string& subject() const { return subject_; }

  /// Nothing: the op has no such subject.
  std::optional<Change> change(const RecordView& record) const {
    const SubjectPlace place = place_in(record, subject_);
    if (place.kind == SubjectPlace::Kind::none) return std::nullopt;
    if (place.kind == SubjectPlace::Kind::attribute) return attribute_change(record, place.at);
    Change change;
    change.record = record.number;
    change.kind = place.kind == SubjectPlace::Kind::input ? Change::Kind::input : Change::Kind::instead;
    if (place.kind == SubjectPlace::Kind::input) change.input = place.at;
    if (place.kind == SubjectPlace::Kind::result) change.result = place.at;
    change.instead = asked_.action == SetAction::scale  ? Instead::scale
                     : asked_.action == SetAction::add  ? Instead::add
                     : asked_.action == SetAction::clip ? Instead::clip
                                                        : Instead::set;
    change.amount = amount();
    return change;
  }

 private:
  double amount() const {
    if (!number_) refuse_set("“" + asked_.value + "” is not a number");
    return *number_;
  }

  Change attribute_change(const RecordView& record, std::size_t at) const {
    if (asked_.action == SetAction::set) {
      protocol::PastChange set;
      set.kind = protocol::ChangeKind::attribute;
      set.record = record.number;
      set.attribute = subject_;
      set.text = asked_.value;
      return change_of(recorder_, set);
    }
    Change change;
    change.kind = Change::Kind::attribute;
    change.record = record.number;
    change.attribute = at;
    const Attribute& before = record.head.attributes[at];
    if (const auto* real = std::get_if<double>(&before)) {
      change.setting = acted(asked_.action, *real, amount());
    } else if (const auto* whole = std::get_if<std::int64_t>(&before)) {
      const double made = acted(asked_.action, static_cast<double>(*whole), amount());
      const bool is_whole = made == std::trunc(made) && std::abs(made) <= 9007199254740992.0;
      if (!is_whole && kind_of(*record.head.op, at, "0.5") == AttributeKind::real) {
        change.setting = made;
        return change;
      }
      if (!is_whole)
        refuse_set("the attribute " + subject_ + " of " + record.name() + " takes integers, and of " +
                   std::to_string(*whole) + " the change makes " + short_number(made));
      change.setting = static_cast<std::int64_t>(made);
    } else {
      refuse_set("the attribute " + subject_ + " of " + record.name() + " (op " +
                 protocol::count_text(record.number) +
                 ") is not a number there: it can be set, but not calculated with");
    }
    return change;
  }

  const Recorder& recorder_;
  const protocol::SetChange& asked_;
  const std::string subject_;
  const std::optional<double> number_;
};

/// "momentum and gradient_descent"
std::string kinds_text(const std::map<std::string, std::uint64_t>& kinds) {
  std::string text;
  std::size_t told = 0;
  for (const auto& [name, count] : kinds) {
    if (told == most_kinds_told) return text + " and others";
    text += (told == 0 ? "" : told + 1 == kinds.size() ? " and " : ", ") + name;
    ++told;
  }
  return text;
}

}  // namespace

ChangedSet changes_of(const Recorder& recorder, const protocol::SetChange& asked, const FindTensor& find,
                      const CancelFlag& cancel) {
  const SetChanger changer(recorder, asked);
  SetSearch search(recorder, filter_of(asked.filter), find);
  const std::vector<std::uint32_t> found = search.run(cancel);
  if (found.empty()) refuse_set("the set “" + asked.filter + "” has no op: no recorded op that ran fits");
  ChangedSet set;
  std::map<std::string, std::uint64_t> kinds;
  std::string without;
  std::uint64_t unfit = 0;
  RecordView record;
  for (const std::uint32_t number : found) {
    check_cancelled(&cancel);
    if (!recorder.trace().read(number, record)) continue;
    if (auto change = changer.change(record)) {
      set.changes.push_back(std::move(*change));
      ++kinds[record.name()];
    } else if (unfit++ == 0) {
      without = subjects_of(record);
    }
  }
  set.ops = set.changes.size();
  if (set.changes.empty())
    refuse_set("none of the " + counted(found.size(), "op") + " of the set “" + asked.filter +
               "” has an attribute, an input or a result “" + changer.subject() + "”: " + without);
  set.sentence = counted(set.ops, "op") + (set.ops == 1 ? " is" : " are") + " changed: " + kinds_text(kinds);
  if (search.by_step()) {
    const std::size_t first = search.step_of(set.changes.front().record),
                      last = search.step_of(set.changes.back().record);
    set.sentence += first == last ? ", in step " + std::to_string(first)
                                  : ", in steps " + std::to_string(first) + " to " + std::to_string(last);
  }
  set.sentence += ".";
  if (unfit > 0)
    set.notes.push_back(counted(unfit, "op") + " of the set " + (unfit == 1 ? "has" : "have") + " no “" +
                        changer.subject() + "” and " + (unfit == 1 ? "stays" : "stay") + " as recorded.");
  if (search.lost() > 0)
    set.notes.push_back("Of " + counted(search.lost(), "op") +
                        " a value that the set asks for is lost: they stay as recorded.");
  if (search.uncounted() > 0)
    set.notes.push_back("Records up to " + std::to_string(search.uncounted()) +
                        " were forgotten, and steps are counted from there.");
  return set;
}

}  // namespace tapedeck::debug
