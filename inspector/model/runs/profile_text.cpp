#include "inspector/model/runs/profile_text.h"

#include <QFileInfo>
#include <QStringList>
#include <cmath>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

using protocol::ProfileBound;
using protocol::ProfileRole;

namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// Three digits, with a prefix of powers of 1000.
QString scaled(double value, const QString& unit) {
  static const char* const prefixes[] = {"", "k", "M", "G", "T", "P"};
  int power = 0;
  while (std::abs(value) >= 999.5 && power < 5) {
    value /= 1000;
    ++power;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return QString::number(value, 'f', power == 0 && value == std::floor(value) ? 0 : decimals) + u' ' +
         QLatin1String(prefixes[power]) + unit;
}

}  // namespace

QString roleGlyph(ProfileRole role) {
  switch (role) {
    case ProfileRole::forward:
      return QStringLiteral("▼");
    case ProfileRole::backward:
      return QStringLiteral("▲");
    case ProfileRole::update:
      return QStringLiteral("●");
    case ProfileRole::custom:
      return QStringLiteral("◆");
    case ProfileRole::python:
      break;
  }
  return QStringLiteral("○");
}

QString roleText(ProfileRole role) {
  switch (role) {
    case ProfileRole::forward:
      return QStringLiteral("forward");
    case ProfileRole::backward:
      return QStringLiteral("backward");
    case ProfileRole::update:
      return QStringLiteral("optimiser");
    case ProfileRole::custom:
      return QStringLiteral("custom gradient");
    case ProfileRole::python:
      break;
  }
  return QStringLiteral("Python");
}

QString boundText(ProfileBound bound) {
  switch (bound) {
    case ProfileBound::compute:
      return QStringLiteral("compute");
    case ProfileBound::memory:
      return QStringLiteral("memory");
    case ProfileBound::overhead:
      return QStringLiteral("overhead");
    case ProfileBound::unknown:
      break;
  }
  return {};
}

QString shareText(double share) {
  const double percent = share * 100;
  return QString::number(percent, 'f', percent < 9.95 && percent > 0 ? 1 : 0) + QStringLiteral(" %");
}

QString rateText(double per_nanosecond, const QString& unit) {
  return scaled(per_nanosecond * 1e9, unit + QStringLiteral("/s"));
}

QString amountText(double amount, const QString& unit) {
  return scaled(amount, unit);
}

QString placeText(const std::string& cell, const std::string& file, std::uint32_t line, quint64 record,
                  const CellName& name) {
  QString text = cell.empty() ? QFileInfo(QString::fromStdString(file)).fileName()
                              : name(QString::fromStdString(cell), record);
  if (line != 0) text += (text.isEmpty() ? QStringLiteral("line %1") : QStringLiteral(" line %1")).arg(line);
  return text;
}

QString gapText(const protocol::ProfileGap& gap, const CellName& name, const std::string& cell) {
  const bool at_begin = !gap.from_line, at_end = !gap.to_line;
  const std::string& from_cell = at_begin ? gap.to_cell : gap.from_cell;
  const std::string& to_cell = at_end ? gap.from_cell : gap.to_cell;
  const std::string& from_file = at_begin ? gap.to_file : gap.from_file;
  const std::string& to_file = at_end ? gap.from_file : gap.to_file;
  const auto whole = [&](const std::string& of, const std::string& file, std::uint32_t line) {
    return placeText(of == cell ? std::string() : of, of.empty() ? file : std::string(), line, gap.record,
                     name);
  };
  if (at_begin && at_end) return QStringLiteral("outside of any line");
  if (at_begin) return QStringLiteral("before %1").arg(whole(to_cell, to_file, *gap.to_line));
  if (at_end) return QStringLiteral("after %1").arg(whole(from_cell, from_file, *gap.from_line));
  if (from_cell != to_cell || from_file != to_file)
    return QStringLiteral("between %1 and %2")
        .arg(whole(from_cell, from_file, *gap.from_line), whole(to_cell, to_file, *gap.to_line));
  if (gap.from_line == gap.to_line)
    return QStringLiteral("at %1").arg(whole(from_cell, from_file, *gap.from_line));
  const QString of = whole(from_cell, from_file, 0);
  // A loop goes back to an earlier line.
  const QString lines = QStringLiteral("between lines %1 and %2").arg(*gap.from_line).arg(*gap.to_line);
  return of.isEmpty() ? lines : QStringLiteral("%1 of %2").arg(lines, of);
}

namespace {

/// "/gpu:0 worked on 340 ops for 1.20 s (60 % of that): forward 40 %, backward 20 %. "
QString deviceSentence(const protocol::ProfileDevice& device, const protocol::Profile& profile) {
  const std::int64_t busy = device.forward_ns + device.backward_ns + device.update_ns;
  const std::uint64_t timed = device.calls - device.pending - device.lost;
  const QString name = QString::fromStdString(device.device);
  QString text;
  if (timed > 0) {
    text = QStringLiteral("%1 worked on %2 ops for %3 (%4 of that time)")
               .arg(name, countText(timed), durationText(busy), shareText(ratio(busy, profile.run_ns)));
    QStringList parts;
    const auto add = [&](const QString& what, std::int64_t time) {
      if (time > 0 && time < busy) parts << what + u' ' + durationText(time);
    };
    add(QStringLiteral("forward"), device.forward_ns);
    add(QStringLiteral("backward"), device.backward_ns);
    add(QStringLiteral("optimiser"), device.update_ns);
    if (!parts.isEmpty()) text += QStringLiteral(": ") + parts.join(QStringLiteral(", "));
    text += QStringLiteral(". ");
  }
  if (device.pending > 0)
    text +=
        QStringLiteral("The times of %1 ops on %2 are not known yet. ").arg(countText(device.pending), name);
  if (device.lost > 0)
    text +=
        QStringLiteral("The times of %1 ops on %2 were never reported. ").arg(countText(device.lost), name);
  return text;
}

}  // namespace

QString profileSentence(const protocol::Profile& profile, const QString& whole, const CellName& name,
                        const std::string& cell, bool of_several_runs) {
  if (profile.run_ns <= 0) return QStringLiteral("No op ran in %1.").arg(whole);
  QString text =
      QStringLiteral("Python took %1 of %2’s %3 between ops")
          .arg(shareText(ratio(profile.python_ns, profile.run_ns)), whole, durationText(profile.run_ns));
  if (!profile.gaps.empty() && profile.gaps.front().total_ns * 50 > profile.run_ns) {
    const protocol::ProfileGap& largest = profile.gaps.front();
    const bool most = largest.total_ns * 2 > profile.python_ns;
    text += (most ? QStringLiteral(", most of it %1 (%2)") : QStringLiteral(", the largest part %1 (%2)"))
                .arg(gapText(largest, name, cell), durationText(largest.total_ns));
  }
  QStringList parts;
  const auto add = [&](const QString& what, std::int64_t time) {
    if (time > 0) parts << what + u' ' + shareText(ratio(time, profile.run_ns));
  };
  add(QStringLiteral("forward"), profile.forward_ns);
  add(QStringLiteral("backward"), profile.backward_ns);
  add(QStringLiteral("optimiser"), profile.update_ns);
  text += QStringLiteral(". ") + (profile.devices.empty()
                                      ? QStringLiteral("%1 ops").arg(countText(profile.calls))
                                      : QStringLiteral("%1 calls of ops").arg(countText(profile.calls)));
  if (profile.backward_ns > 0) text += QStringLiteral(" (VJPs not counted)");  // elsewhere they are
  if (!parts.isEmpty()) text += QStringLiteral(": ") + parts.join(QStringLiteral(", "));
  text += QStringLiteral(". ");
  for (const protocol::ProfileDevice& device : profile.devices) text += deviceSentence(device, profile);
  text.chop(1);
  if (profile.steps == 1)
    text += QStringLiteral(" One step, %1.").arg(durationText(profile.step_median_ns));
  else if (profile.steps > 1)
    text += QStringLiteral(" %1 steps: median %2; slowest %5 (%3%4).")
                .arg(countText(profile.steps), durationText(profile.step_median_ns))
                .arg(ordinalText(profile.slowest_step.value_or(0)))
                .arg(profile.slowest_step.value_or(0) > profile.steps || of_several_runs
                         ? QStringLiteral(" of its run")
                         : QString(),
                     durationText(profile.step_max_ns));
  if (profile.gate_ns > 0)
    text += QStringLiteral(" Time at the gate (%1) is left out.").arg(durationText(profile.gate_ns));
  return text;
}

}  // namespace tapedeck::inspector
