// Is this gradient right? Asked about a gradient: every VJP on its path beside finite differences. Asked
// about a VJP, or an op with one: that VJP alone, which the answer says.
#include <algorithm>
#include <cmath>

#include "engine/debug/tile.h"
#include "engine/debug/why/beside_path.h"
#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_gradient.h"
#include "engine/debug/why/foreign_memory.h"
#include "engine/debug/why/foreign_path.h"
#include "engine/debug/why/goes_beside.h"
#include "engine/debug/why/gradient_asked.h"
#include "engine/debug/why/not_finite.h"
#include "engine/debug/why/vjp_check.h"
#include "engine/debug/why/why.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_text.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_vjps_listed = 200, most_reasons_told = 3;
constexpr std::chrono::milliseconds path_time(20'000), shortest_aim(40), longest_aim(600);

std::string op_name(const Past& past, const VjpCheck& check) {
  return past.name(check.forward ? *check.forward : *check.vjp);
}

std::string numbers_at(const CheckedInput& input) {
  const Look& look = input.compared.worst;
  if (input.tensor == 0)
    return "It gave None for " + input.name + ", and finite differences in float64 say " +
           short_number(look.found) + " at " + input.at() + ".";
  return "At " + input.at() + " its VJP says " + short_number(look.given) +
         ", and finite differences in float64 say " + short_number(look.found) + ".";
}

protocol::Reason reason_of(const Past& past, const VjpCheck& check, const CheckedInput& input) {
  const Look& look = input.compared.worst;
  std::string sentence = "The worst of " + counted(input.compared.looks.size(), "compared element") +
                         " of the gradient of " + input.name + ": at " + input.at() + " the VJP says " +
                         short_number(look.given) + ", differences say " + short_number(look.found) + ".";
  if (input.wrong) sentence += " The error: " + input.error_text() + ".";
  if (input.rounded) sentence += " In float64 the VJP says what differences say: digits were lost.";
  protocol::Reason reason = past.reason(*check.vjp, input.wrong ? "wrong" : "right", std::move(sentence));
  if (input.tensor) {
    reason.tensor = protocol::if_there(past.info(input.tensor));
    reason.element = protocol::if_there(index_of(input.shape, look.place));
  }
  reason.operands = {input.at() + ": VJP " + (input.tensor ? short_number(look.given) : "None"),
                     "differences " + short_number(look.found)};
  reason.amount = look.error;
  reason.amount_text =
      input.factor ? input.error_text().substr(0, input.error_text().find(' ')) : short_number(look.error);
  return reason;
}

/// What was left out, sampled or added up.
std::string remarks(const std::vector<VjpCheck>& checks) {
  std::string text;
  const auto add = [&](std::size_t count, const char* one, const char* several) {
    if (count > 0) text += " " + counted(count, "element") + (count == 1 ? one : several);
  };
  std::size_t kinks = 0, not_comparable = 0, compared = 0, elements = 0, sampled = 0;
  for (const VjpCheck& check : checks) {
    kinks += check.kinks;
    not_comparable += check.not_comparable;
    for (const CheckedInput& input : check.inputs) {
      if (input.slots > 1)
        text += " The " + input.name + " are one tensor: the sum of their gradients was compared.";
      if (input.rounded)
        text += " At " + input.at() + " rounding costs digits (a relative error of " +
                short_number(input.compared.worst.error) + "): in float64 the VJP agrees.";
      if (input.compared.all) continue;
      ++sampled;
      compared += input.compared.looks.size();
      elements += static_cast<std::size_t>(element_count(input.shape));
    }
  }
  if (sampled > 0)
    text += " Large inputs (" + counted(sampled, "gradient") +
            ") were sampled: " + counted(compared, "element") + " of " + counted(elements, "element") +
            " were compared, and sums along random directions.";
  add(kinks, " lies at a kink, where there is no derivative, and was left out.",
      " lie at kinks, where there is no derivative, and were left out.");
  add(not_comparable,
      " could not be compared: differences, or the gradient that came in, are not finite numbers there.",
      " could not be compared: differences, or the gradient that came in, are not finite numbers there.");
  return text;
}

/// "dropout (op 4): it draws random numbers, others in float64"
std::string unchecked_text(const Past& past, const VjpCheck& check) {
  std::string text = op_name(past, check) + ": ";
  if (check.unchecked.empty()) return text + "nothing of it could be compared";
  for (const std::string& why : check.unchecked) text += (&why == &check.unchecked.front() ? "" : "; ") + why;
  return text;
}

const char* const on_purpose =
    " Its author wrote this gradient; where it differs on purpose, as one that is clipped or reversed does, "
    "it is not the gradient of the function.";

protocol::Because about_one(Past& past, const VjpCheck& check) {
  protocol::Because answer;
  for (const CheckedInput& input : check.inputs) answer.reasons.push_back(reason_of(past, check, input));
  std::stable_sort(answer.reasons.begin(), answer.reasons.end(), [](const auto& a, const auto& b) {
    if ((a.role == "wrong") != (b.role == "wrong")) return a.role == "wrong";
    return a.amount > b.amount;
  });
  const std::string name = op_name(past, check);
  if (const CheckedInput* worst = check.worst(); !worst) {
    answer.sentence = "This VJP gave no gradient that could be checked.";
  } else if (worst->wrong) {
    answer.sentence = "The VJP of " + name + (worst->zero_times ? " gives " : " is wrong: ") +
                      worst->error_text() + ". " + numbers_at(*worst);
    if (check.vjp->head.custom_gradient) answer.sentence += on_purpose;
  } else {
    answer.sentence = "The VJP of " + name +
                      " is right: finite differences in float64 say the same. The largest difference is at " +
                      worst->at() + ": " + short_number(worst->compared.worst.given) + " here, " +
                      short_number(worst->compared.worst.found) + " there.";
  }
  if (!check.unchecked.empty()) {
    answer.complete = false;
    answer.sentence += " Not compared: " + unchecked_text(past, check) + ".";
  }
  answer.sentence += remarks({check});
  answer.sentence +=
      " This covers this VJP alone, given the gradient that came in; ask at the playback about a whole "
      "gradient.";
  return answer;
}

/// The verdict on a path, from what was found of its VJPs.
class PathVerdict {
 public:
  PathVerdict(Past& past, const GradientAsked& asked, const std::vector<VjpCheck>& checks,
              std::size_t forgotten, const BesidePath& beside)
      : past_(past), asked_(asked), checks_(checks), forgotten_(forgotten), beside_(beside) {
    for (const VjpCheck& check : checks) {
      if (check.wrong()) wrong_.push_back(&check);
      if (check.compared() && !check.wrong()) right_.push_back(&check);
      if (!check.compared() || !check.unchecked.empty()) unchecked_.push_back(&check);
    }
  }

  protocol::Because tell() {
    std::string& sentence = answer_.sentence;
    const bool none_beside = beside_.view_writes == 0 && beside_.ops == 0;
    if (!beside_.hooks.empty() && wrong_.empty()) tell_hook();
    if (!sentence.empty() && !right_.empty() && unchecked_.empty() && forgotten_ == 0 && none_beside)
      sentence += " Without it it would be: " + each() + " agrees with finite differences in float64.";
    else if (!sentence.empty())
      sentence += " " + std::to_string(right_.size()) + " of the " + counted(checks_.size(), "VJP") +
                  " on its path " + (right_.size() == 1 ? "agrees" : "agree") +
                  " with finite differences in float64.";
    else if (checks_.empty() && forgotten_ == 0 && !none_beside)
      sentence = "No VJP that is known is on the path of " + gradient() + ".";
    else if (checks_.empty() && forgotten_ == 0)
      sentence = "No VJP is on the path of " + gradient() + ": it is what the playback began with, or zeros.";
    else if (!wrong_.empty())
      tell_wrong();
    else if (unchecked_.empty() && forgotten_ == 0 && none_beside)
      sentence = capital(gradient()) + " is right: " + each() + " agrees with finite differences in float64.";
    else if (right_.empty())
      sentence = capital(gradient()) + " could not be checked: nothing of the " +
                 counted(checks_.size(), "VJP") + " on its path could be compared with finite differences.";
    else
      sentence = "No error was found in " + gradient() +
                 ", but not all of it could be checked: " + std::to_string(right_.size()) + " of the " +
                 counted(checks_.size(), "VJP") + " on its path " +
                 (right_.size() == 1 ? "agrees" : "agree") + " with finite differences in float64.";
    tell_unchecked();
    sentence += remarks(checks_);
    tell_not_finite();
    list();
    return std::move(answer_);
  }

 private:
  static std::string capital(std::string text) {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
  }

  std::string gradient() const { return "the gradient with respect to " + asked_.of; }

  std::string each() const {
    if (checks_.size() == 1) return "the one VJP on its path, that of " + op_name(past_, checks_[0]) + ",";
    return "each of the " + counted(checks_.size(), "VJP") + " on its path, from " +
           op_name(past_, checks_.front()) + " back to " + op_name(past_, checks_.back()) + ",";
  }

  void tell_wrong() {
    const VjpCheck& first = *wrong_.front();
    const CheckedInput& worst = *first.worst();
    std::string& sentence = answer_.sentence;
    sentence = capital(gradient()) + " is wrong. Of the " + counted(checks_.size(), "VJP") +
               " on its path the first wrong one in the order of the playback is that of " +
               op_name(past_, first) + ": " + worst.error_text() + ". " + numbers_at(worst);
    if (wrong_.size() > 1) {
      sentence += " " + counted(wrong_.size() - 1, "other") +
                  (wrong_.size() == 2 ? " is wrong, too: " : " are wrong, too: ");
      for (std::size_t i = 1; i < std::min(wrong_.size(), 1 + most_reasons_told); ++i)
        sentence += std::string(i > 1 ? "; " : "") + op_name(past_, *wrong_[i]) + " (" +
                    wrong_[i]->worst()->error_text() + ")";
      sentence += wrong_.size() > 1 + most_reasons_told ? "; …" : ".";
    }
    if (first.vjp->head.custom_gradient) sentence += on_purpose;
  }

  /// The gradient is another one than that of the result, and no VJP is to blame.
  void tell_hook() {
    const HookChange& first = beside_.hooks.front();
    answer_.sentence = capital(gradient()) +
                       " is not the derivative of the result: " + hook_name(past_, first) +
                       " changed it in " + past_.name(*first.op) + hook_factor(past_, first) + ".";
    if (beside_.hooks.size() > 1)
      answer_.sentence += " " + counted(beside_.hooks.size() - 1, "other change") + " of hooks " +
                          (beside_.hooks.size() == 2 ? "follows." : "follow.");
    for (const HookChange& hook : beside_.hooks) {
      if (answer_.reasons.size() == most_reasons_told) break;
      answer_.reasons.push_back(past_.reason(
          *hook.op, "hook",
          hook_name(past_, hook) + " changed the gradient here" + hook_factor(past_, hook) + "."));
      std::string& sentence = answer_.reasons.back().sentence;
      sentence[0] = 'A';
      answer_.reasons.back().tensor = protocol::if_there(past_.info(hook.after));
    }
  }

  void tell_not_finite() {
    if (!asked_.gradient) return;
    try {
      const Tensor gradient = past_.value(asked_.gradient);
      const std::uint64_t odd = count_not_finite(gradient),
                          all = static_cast<std::uint64_t>(gradient.count());
      if (odd > 0)
        answer_.sentence += " Of its " + counted(all, "element") + ", " + std::to_string(odd) +
                            (odd == 1 ? " is" : " are") + " NaN or infinite.";
    } catch (const ValueError&) {  // its value is gone
    }
  }

  void tell_unchecked() {
    std::string& sentence = answer_.sentence;
    if (forgotten_ > 0) {
      answer_.complete = false;
      sentence += " The forward ops of " + counted(forgotten_, "VJP") +
                  " of this playback were forgotten: the path may go through them, too.";
    }
    if (beside_.ops > 0) {
      answer_.complete = false;
      sentence += " " + counted(beside_.ops, "op") + (beside_.ops == 1 ? " belongs" : " belong") +
                  " to no VJP that is known, the first " + past_.name(*beside_.first) +
                  ": of a hook beside the path, or of a view whose whole was written to. What " +
                  (beside_.ops == 1 ? "it" : "they") + " did was not compared.";
    }
    if (beside_.view_writes > 0) {
      answer_.complete = false;
      sentence += " " + counted(beside_.view_writes, "VJP") + " of " +
                  (beside_.view_writes == 1 ? "a write through a view" : "writes through views") +
                  " ran in this backward pass, too; the path may go through it, and it was not compared.";
    }
    if (unchecked_.empty()) return;
    answer_.complete = false;
    sentence += " Not checked: ";
    for (std::size_t i = 0; i < std::min(unchecked_.size(), most_reasons_told); ++i)
      sentence += std::string(i ? "; " : "") + unchecked_text(past_, *unchecked_[i]);
    sentence += unchecked_.size() > most_reasons_told
                    ? "; and " + counted(unchecked_.size() - most_reasons_told, "other") + "."
                    : ".";
  }

  void list() {
    const auto add = [&](const VjpCheck& check) {
      if (const CheckedInput* worst = check.worst(); worst && answer_.reasons.size() < most_vjps_listed)
        answer_.reasons.push_back(reason_of(past_, check, *worst));
    };
    for (const VjpCheck* check : wrong_) add(*check);
    for (const VjpCheck* check : unchecked_)
      if (answer_.reasons.size() < most_vjps_listed)
        answer_.reasons.push_back(
            past_.reason(*check->vjp, "not checked", unchecked_text(past_, *check) + "."));
    for (const VjpCheck* check : right_) add(*check);
  }

  Past& past_;
  const GradientAsked& asked_;
  const std::vector<VjpCheck>& checks_;
  const std::size_t forgotten_;
  const BesidePath beside_;
  std::vector<const VjpCheck*> wrong_, right_, unchecked_;
  protocol::Because answer_;
};

protocol::Because about_path(Past& past, const GradientAsked& asked) {
  const GradientPath path = path_from(past, *asked.playback, asked.tensors);
  std::vector<VjpCheck> checks;
  for (const OnPath& on : path.vjps) {
    CompareAim aim{
        std::clamp(path_time / static_cast<std::int64_t>(path.vjps.size()), shortest_aim, longest_aim),
        checks.size(), path.vjps.size()};
    past.step(aim.done, aim.total);
    checks.push_back(check_vjp(past, *on.vjp, on.slots, aim));
  }
  protocol::Because answer =
      PathVerdict(past, asked, checks, path.forgotten, beside_in(past, *asked.playback, path, asked.gradient))
          .tell();
  answer.sentence += what_goes_beside(past, path);
  return answer;
}

}  // namespace

protocol::Because is_right(Past& past, const Subject& subject) {
  if (subject.tensor == 0 && !past.record(subject.record))
    throw BadRequest("why: there is no record " + std::to_string(subject.record));
  const GradientAsked asked = gradient_asked(past, subject);
  protocol::Because answer;
  if (!asked.refusal.empty()) {
    answer.sentence = asked.refusal;
  } else if (asked.playback) {
    answer = about_path(past, asked);
  } else {
    const VjpCheck check = check_vjp(past, *asked.vjp, {}, {});
    answer = about_one(past, check);
    if (check.wrong() && check.forward->head.kind == EventKind::custom) {
      answer.reasons.push_back(
          past.reason(*check.forward, "forward op", "The function whose gradient it is."));
      if (!check.forward->outputs.empty())
        answer.reasons.back().tensor = protocol::if_there(past.info(check.forward->outputs[0]));
    }
  }
  answer.sentence += asked.note;
  answer.question = protocol::Question::check;
  answer.amount = "error";
  return answer;
}

}  // namespace tapedeck::debug
