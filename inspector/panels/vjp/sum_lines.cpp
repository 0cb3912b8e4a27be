#include "inspector/panels/vjp/sum_lines.h"

#include <algorithm>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

QString partText(const protocol::GradientPart& part, quint64 place) {
  const QString from = part.vjp ? QStringLiteral("VJP %1 of %2, for input %3")
                                      .arg(countText(part.vjp), QString::fromStdString(part.op))
                                      .arg(part.input)
                                : QStringLiteral("what the playback began with");
  return QStringLiteral("part %1: %2").arg(countText(place), from);
}

void addComplete(const protocol::CompleteGradient& complete, std::vector<SumLine>& lines) {
  const QString source = sourceText(complete);
  lines.push_back({QStringLiteral("Complete: gradient of %1").arg(source), SheetTone::heading});
  QString words = QStringLiteral("The playback adds nothing more to it: it is ");
  words +=
      complete.places == 1
          ? QStringLiteral("the result.")
          : QStringLiteral("result %1 of %2.").arg(countText(complete.place + 1), countText(complete.places));
  lines.push_back({words, SheetTone::faint});
  if (complete.rows)
    lines.push_back({QStringLiteral("Only some rows have a gradient: their values, one behind the other."),
                     SheetTone::faint});
  lines.push_back({QStringLiteral("gradient of ") + source, SheetTone::plain, complete.gradient});
}

void addSum(const protocol::GradientSum& sum, std::vector<SumLine>& lines) {
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
}

}  // namespace

QString sumTitle(const protocol::GradientSum& sum) {
  const QString title = QStringLiteral("Sum of gradients");
  return sum.target && !sum.target->name.empty()
             ? QStringLiteral("%1 of %2").arg(title, QString::fromStdString(sum.target->name))
             : title;
}

std::vector<SumLine> sumLines(const VjpModel& model) {
  std::vector<SumLine> lines;
  if (const auto* complete = model.complete()) addComplete(*complete, lines);
  if (const auto& sum = model.parts().sum) addSum(*sum, lines);
  return lines;
}

}  // namespace tapedeck::inspector
