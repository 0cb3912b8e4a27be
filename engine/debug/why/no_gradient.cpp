// Why is there no gradient? Where the path of recorded ops from a source to a result is broken.
#include <algorithm>

#include "engine/debug/explain.h"
#include "engine/debug/why/why.h"
#include "engine/protocol/conditions/log_text.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_text.h"

namespace tapedeck::debug {
namespace {

std::string reason_text(BrokenStep::Reason reason) {
  switch (reason) {
    case BrokenStep::Reason::stopped:
      return "stop_gradient blocks the gradient";
    case BrokenStep::Reason::no_gradient:
      return "this op has no gradient";
    case BrokenStep::Reason::integer:
      return "its result is not a floating-point tensor, and integers have no gradient";
    case BrokenStep::Reason::not_taped:
      return "no tape recorded it: it ran outside of the tape's with block, or nothing that it read was "
             "watched";
    case BrokenStep::Reason::assigned:
      return "an assignment stores the value, not its history";
    case BrokenStep::Reason::none_given:
      return "its own gradient function gave None";
    case BrokenStep::Reason::captured:
      break;
  }
  return "it used the value without taking it as an argument, and a custom gradient covers arguments only";
}

protocol::Reason told(Past& past, std::uint32_t record, const std::string& op, const SourceLocation& location,
                      const std::string& role, std::string sentence) {
  protocol::Reason reason;
  if (const RecordView* view = past.record(record)) {
    reason = past.reason(*view, role, {});
    if (!view->outputs.empty()) reason.tensor = protocol::if_there(past.info(view->outputs[0]));
  }
  reason.role = role;
  reason.op = op;
  reason.cell = location.cell;
  reason.file = location.file;
  reason.line = location.line;
  reason.sentence = std::move(sentence);
  return reason;
}

std::string where(const protocol::Reason& reason) {
  std::string text = reason.op;
  if (reason.record) text += " (op " + protocol::count_text(*reason.record);
  if (reason.line) text += (reason.record ? ", line " : " (line ") + std::to_string(reason.line);
  return text + (reason.record || reason.line ? ")" : "");
}

void tell_independent(Past& past, const NoGradient& found, const std::string& source,
                      protocol::Because& answer) {
  for (const LeftTape& left : found.left) {
    answer.reasons.push_back(told(past, left.record, left.op.empty() ? source : left.op, left.location,
                                  "left the tape",
                                  "Python or NumPy read it here: what comes back is a constant."));
    if (answer.reasons.size() == 1)
      answer.sentence += " The path ends where Python or NumPy read " + where(answer.reasons[0]) +
                         ": what comes back from there is a constant.";
  }
  for (const Leaf& leaf : found.leaves)
    answer.reasons.push_back(told(past, leaf.record, leaf.op.empty() ? leaf.text : leaf.op, leaf.location,
                                  "made of", "The result was made of " + leaf.text + ", which enters here."));
  if (found.left.empty()) answer.sentence += " The result does not depend on it by any recorded op.";
}

}  // namespace

protocol::Because why_none(Past& past, std::uint64_t result, std::uint64_t source) {
  const auto assignment = past.assignment(source);
  const std::uint64_t variable = assignment ? assignment->variable : 0;
  const NoGradient found = explain_no_gradient(past.recorder(), result, {source, variable});
  const std::string text = tensor_text(past.recorder(), source);
  protocol::Because answer;
  answer.question = protocol::Question::gradient;
  answer.sentence = "There is no gradient for " + text + ".";
  for (const BrokenStep& step : found.broken) {
    answer.reasons.push_back(told(past, step.record, step.op, step.location, "stopped",
                                  "The path ends here: " + reason_text(step.reason) + "."));
    if (answer.reasons.size() == 1)
      answer.sentence += " The path from it to the result ends at " + where(answer.reasons[0]) + ": " +
                         reason_text(step.reason) + ".";
  }
  if (!found.depends) tell_independent(past, found, text, answer);
  if (found.connected)
    answer.sentence =
        "The result depends on " + text +
        " by recorded ops that all pass gradients on: a tape that watches it, and is asked for it, has one.";
  return answer;
}

}  // namespace tapedeck::debug
