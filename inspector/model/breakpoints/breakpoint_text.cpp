#include "inspector/model/breakpoints/breakpoint_text.h"

#include "engine/protocol/conditions/condition.h"
#include "inspector/model/format.h"

namespace tapedeck::inspector {

using protocol::Breakpoint;
using protocol::BreakpointAction;
using protocol::BreakpointKind;

std::string notFiniteCondition() {
  return "nan(out) or inf(out)";
}

bool watchesNotFinite(const Breakpoint& breakpoint) {
  return breakpoint.kind == BreakpointKind::condition && breakpoint.condition == notFiniteCondition();
}

QString breakpointText(const Breakpoint& breakpoint) {
  const QString target = QString::fromStdString(breakpoint.target);
  switch (breakpoint.kind) {
    case BreakpointKind::line:
      return QStringLiteral("line %1").arg(breakpoint.line);
    case BreakpointKind::op:
      return target.isEmpty() ? QStringLiteral("any op") : QStringLiteral("op %1").arg(target);
    case BreakpointKind::read:
      return target.isEmpty() ? QStringLiteral("read of any variable")
                              : QStringLiteral("read of %1").arg(target);
    case BreakpointKind::write:
      return target.isEmpty() ? QStringLiteral("write of any variable")
                              : QStringLiteral("write of %1").arg(target);
    case BreakpointKind::cell:
      return QStringLiteral("start of the cell");
    case BreakpointKind::exception:
      return QStringLiteral("exceptions");
    case BreakpointKind::playback:
      return QStringLiteral("playbacks");
    case BreakpointKind::vjp:
      return target.isEmpty() ? QStringLiteral("any VJP") : QStringLiteral("VJP of %1").arg(target);
    case BreakpointKind::condition:
      return watchesNotFinite(breakpoint) ? QStringLiteral("NaN or infinity")
                                          : QString::fromStdString(breakpoint.condition);
  }
  return {};
}

QString withoutOpText(const BreakpointEntry& entry) {
  if (entry.withoutOp == 0) return {};
  bool conditionTakesOp = false;
  try {
    conditionTakesOp = protocol::looks_at_ops(protocol::parse_condition(entry.breakpoint.condition));
  } catch (const protocol::ConditionError&) {
    return {};
  }
  const QString count = countText(entry.withoutOp);
  if (conditionTakesOp)
    return QStringLiteral(
               "The line ran %1 without an op of its own that the condition could fit: no hit then.")
        .arg(entry.withoutOp == 1 ? QStringLiteral("once") : QStringLiteral("%1 times").arg(count));
  const QString hits =
      entry.hits == 1 ? QStringLiteral("1 hit") : QStringLiteral("%1 hits").arg(countText(entry.hits));
  return QStringLiteral("%1 of %2 had no op on the line: ").arg(count, hits) +
         (entry.breakpoint.action == BreakpointAction::point
              ? QStringLiteral("there was nothing to draw.")
              : QStringLiteral("what the text asks of an op has no value there."));
}

}  // namespace tapedeck::inspector
