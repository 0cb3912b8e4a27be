// Why a variable keeps its value though its gradient is not zero: which zero its update was made of.
#include <algorithm>

#include "engine/debug/health/health.h"
#include "engine/debug/tile.h"
#include "engine/debug/why/elements.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_ops_followed = 200;

/// Where the zero came from: into that op, as that operand; or the op made it of other numbers.
struct ZeroOrigin {
  const RecordView* into = nullptr;
  std::size_t input = 0;
  bool made = false;
};

bool has_only_zeros(Past& past, std::uint64_t tensor) {
  const Tensor value = past.value(tensor);
  if (!is_floating(value.dtype()) || value.count() == 0) return false;
  bool zero = true;
  visit_elements(value, [&](const auto* at, std::int64_t count) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(*at)>>)
      for (std::int64_t i = 0; i < count; ++i) zero = zero && at[i] == 0;
  });
  return zero;
}

/// Back along operands that are zero, from what the update added. A small one first: it is the factor.
std::optional<ZeroOrigin> origin_of_zero(Past& past, const RecordView& update, std::uint64_t before) {
  ZeroOrigin found{&update, 0, false};
  const RecordView* at = &update;
  for (std::size_t ops = 0; ops < most_ops_followed; ++ops) {
    check_cancelled(past.cancel());
    std::optional<std::size_t> zero;
    double least = 0;
    for (std::size_t i = 0; i < at->inputs.size(); ++i) {
      if (at->inputs[i] == before || !has_only_zeros(past, at->inputs[i])) continue;
      const auto count = static_cast<double>(past.value(at->inputs[i]).count());
      if (zero && count >= least) continue;
      zero = i;
      least = count;
    }
    if (!zero) {
      found.made = ops > 0;
      found.into = at;
      return ops > 0 ? std::optional(found) : std::nullopt;
    }
    found = {at, *zero, false};
    const RecordView* maker = past.maker(at->inputs[*zero]);
    if (!maker) return found;
    at = maker;
  }
  return std::nullopt;
}

std::string name_of_operand(const RecordView& record, std::size_t input) {
  if (!record.head.op || record.head.op->inputs.empty()) return "an operand";
  const auto& names = record.head.op->inputs;
  return names[std::min(input, names.size() - 1)].name;
}

std::string origin_text(Past& past, const ZeroOrigin& zero) {
  if (zero.made) return past.name(*zero.into) + " makes zeros of what is not zero";
  const std::uint64_t tensor = zero.into->inputs[zero.input];
  const std::string name = past.info(tensor).name;
  return "the operand " + name_of_operand(*zero.into, zero.input) + " of " + past.name(*zero.into) + " is 0" +
         (name.empty() ? ", a constant from Python" : ", the value of " + name.substr(0, name.find(':')));
}

}  // namespace

void HealthReader::explain_rest(protocol::HealthFinding& finding, const Run& run, Past& past) {
  const std::size_t step = run.first + finding.since - 1;
  const auto data = recorder_.health().read({static_cast<std::uint32_t>(finding.subject)});
  if (data.empty()) return;
  std::uint64_t now = 0, before = 0;
  {
    const std::lock_guard lock(steps_mutex_);
    if (finding.since == 0 || step > steps_.size()) return;
    for (const HandUpdate& update : steps_.hand_updates(step)) {
      if (update.variable != data[0].subject.variable) continue;
      now = update.now;
      before = update.before;
    }
  }
  try {
    const RecordView* update =
        now ? maker_behind_assignment(past, now) : past.record(static_cast<std::uint32_t>(finding.record));
    if (!update || !update->head.op || update->inputs.empty()) return;
    const auto zero = origin_of_zero(past, *update, now ? before : update->inputs[0]);
    if (!zero) return;
    finding.sentence += " At step " + std::to_string(finding.since) + " its update is 0, for " +
                        origin_text(past, *zero) + ".";
    finding.cure =
        "Enter goes to the op that takes the 0: look at where the program made that number (an integer "
        "division, a schedule at its end, a mask, a clip).";
    finding.record = zero->into->number;
    place(finding);
  } catch (const ValueError&) {  // the values on the way are gone: the finding has no reason
  }
}

}  // namespace tapedeck::debug
