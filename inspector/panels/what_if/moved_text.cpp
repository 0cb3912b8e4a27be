#include "inspector/panels/what_if/moved_text.h"

#include <QObject>
#include <cmath>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

constexpr int moved_digits = 5;

QString numberText(double number) {
  if (std::isnan(number)) return QStringLiteral("nan");
  if (std::isinf(number)) return number > 0 ? QStringLiteral("inf") : QStringLiteral("−inf");
  return QString::number(number, 'g', moved_digits).replace(QLatin1Char('-'), QStringLiteral("−"));
}

}  // namespace

QString movementText(const protocol::Moved& moved) {
  const bool one = elementCount(moved.tensor.shape) == 1;
  const auto text = [one](double number) {
    return one ? numberText(number) : QStringLiteral("‖%1‖").arg(numberText(number));
  };
  return QStringLiteral("%1 → %2").arg(text(moved.before), text(moved.after));
}

QString shareText(const protocol::Moved& moved) {
  if (!std::isfinite(moved.difference))
    return std::isfinite(moved.before) && std::isfinite(moved.after) ? QStringLiteral("from 0")
                                                                     : QStringLiteral("not finite");
  const double percent = moved.difference * 100;
  if (percent < 0.1) return QStringLiteral("under 0.1 %");
  if (percent >= 1e9) return QStringLiteral("%1 %").arg(percent, 0, 'g', 3);
  if (percent >= 1000) return QStringLiteral("%1 %").arg(countText(static_cast<quint64>(percent + 0.5)));
  return QStringLiteral("%1 %").arg(percent, 0, 'g', 3);
}

QString readSubject(const protocol::ReadUse& use) {
  return use.link == protocol::ReadLink::decision ? QStringLiteral("decision")
                                                  : QString::fromStdString(use.subject);
}

QString readValues(const protocol::ReadUse& use) {
  const QString first = QString::fromStdString(use.first), last = QString::fromStdString(use.last);
  return first == last ? first : QStringLiteral("%1 … %2").arg(first, last);
}

QString readLink(const protocol::ReadUse& use) {
  switch (use.link) {
    case protocol::ReadLink::decision:
      return QStringLiteral("yes: branch flipped");
    case protocol::ReadLink::same:
      return QStringLiteral("yes: value was read");
    case protocol::ReadLink::possible:
      break;
  }
  return QStringLiteral("maybe: appeared later");
}

QString readSentence(const protocol::ReadUse& use) {
  switch (use.link) {
    case protocol::ReadLink::decision:
      return QStringLiteral(
          "Python read this truth value, and it differs in the branch: the program would have gone "
          "another way there");
    case protocol::ReadLink::same:
      return QStringLiteral("This is what Python read of a value that differs in the branch");
    case protocol::ReadLink::possible:
      break;
  }
  return QStringLiteral(
      "This came up only after Python had read a value that differs in the branch. Python may have "
      "calculated it from that, or not");
}

QString answerText(const protocol::Branched& answer, const QKeySequence& curves) {
  QString text = QString::fromStdString(answer.sentence);
  for (const std::string& note : answer.notes) text += QStringLiteral("\n⚠ ") + QString::fromStdString(note);
  if (answer.curve_points > 0)
    text += QStringLiteral("\nPlots (%1) shows the branch's curves dashed, beside the original's.")
                .arg(curves.toString(QKeySequence::NativeText));
  return text;
}

}  // namespace tapedeck::inspector
