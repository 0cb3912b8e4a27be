#include "inspector/panels/vjp/sum_lines.h"

#include <algorithm>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

QString partText(const protocol::GradientPart& part, quint64 place) {
  const QString from = part.vjp ? QStringLiteral("VJP %1 of %2 for input %3")
                                      .arg(countText(part.vjp), QString::fromStdString(part.op))
                                      .arg(part.input)
                                : QStringLiteral("what the playback began with");
  return QStringLiteral("part %1: %2").arg(countText(place), from);
}

QString placeText(std::uint32_t place, std::uint32_t results) {
  if (results <= 1) return QStringLiteral("the result");
  return QStringLiteral("result %1 of %2").arg(countText(quint64{place} + 1), countText(results));
}

void addComplete(const protocol::CompleteGradient& complete, std::vector<SumLine>& lines) {
  const QString source = sourceText(complete);
  lines.push_back({QStringLiteral("Complete: gradient of %1").arg(source), SheetTone::heading});
  lines.push_back({QStringLiteral("The playback adds nothing more to it: it is %1.")
                       .arg(placeText(complete.place, complete.places)),
                   SheetTone::faint});
  if (complete.rows)
    lines.push_back({QStringLiteral("Only some rows have a gradient: their values, one behind the other."),
                     SheetTone::faint});
  lines.push_back({QStringLiteral("gradient of ") + source, SheetTone::plain, complete.gradient});
}

void addSum(const protocol::GradientSum& sum, std::uint32_t results, std::vector<SumLine>& lines) {
  lines.push_back({sumTitle(sum), SheetTone::heading});
  const quint64 left_out = sum.parts_total - std::min<quint64>(sum.parts_total, sum.parts.size());
  if (left_out)
    lines.push_back(
        {QStringLiteral("%1 earlier parts are not listed.").arg(countText(left_out)), SheetTone::faint});
  for (std::size_t i = 0; i < sum.parts.size(); ++i)
    lines.push_back({partText(sum.parts[i], left_out + i + 1), SheetTone::plain, sum.parts[i].value});
  lines.push_back({QStringLiteral("sum so far"), SheetTone::plain, sum.before});
  lines.push_back({QStringLiteral("added here"), SheetTone::plain, sum.contribution});
  if (sum.after)
    lines.push_back({QStringLiteral("sum"), SheetTone::plain, sum.after});
  else
    lines.push_back({QStringLiteral("The next step adds them."), SheetTone::faint});
  if (sum.result) lines.push_back({resultText(*sum.result, results), SheetTone::faint});
}

}  // namespace

QString resultText(std::uint32_t place, std::uint32_t results) {
  return QStringLiteral("The gradient is complete: it is %1.").arg(placeText(place, results));
}

QString sumTitle(const protocol::GradientSum& sum) {
  const QString title = QStringLiteral("Sum of gradients");
  return sum.target && !sum.target->name.empty()
             ? QStringLiteral("%1 of %2").arg(title, QString::fromStdString(sum.target->name))
             : title;
}

std::vector<SumLine> sumLines(const VjpModel& model) {
  std::vector<SumLine> lines;
  if (const auto* complete = model.complete()) addComplete(*complete, lines);
  if (const auto& sum = model.parts().sum) addSum(*sum, model.parts().results, lines);
  return lines;
}

}  // namespace tapedeck::inspector
