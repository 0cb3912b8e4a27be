#include "inspector/model/tensor/value_range.h"

#include <QRegularExpression>
#include <cmath>

namespace tapedeck::inspector {

TypedRange parseRange(const QString& text) {
  const QString typed = QString(text).replace(QChar(0x2212), QLatin1Char('-')).trimmed();
  if (typed.isEmpty()) return {};
  static const QString number =
      QStringLiteral("([+-]?(?:\\d+(?:\\.(?!\\.)\\d*)?|\\.\\d+)(?:[eE][+-]?\\d+)?)");
  static const QRegularExpression two(
      QStringLiteral("^%1\\s*(?:…|\\.{2,3}|:|,|;|to|\\s)\\s*%1$").arg(number));
  static const QRegularExpression both(QStringLiteral("^(?:±|\\+-|\\+/-)\\s*%1$").arg(number));
  ValueRange range;
  if (const QRegularExpressionMatch match = both.match(typed); match.hasMatch()) {
    range.high = std::abs(match.captured(1).toDouble());
    range.low = -range.high;
  } else if (const QRegularExpressionMatch ends = two.match(typed); ends.hasMatch()) {
    range = {ends.captured(1).toDouble(), ends.captured(2).toDouble()};
  } else {
    return {{},
            QStringLiteral("“%1” is not a range of colours: type two numbers, as in “-1 … 2.5”, or “±3”.")
                .arg(typed)};
  }
  if (!std::isfinite(range.low) || !std::isfinite(range.high))
    return {{}, QStringLiteral("“%1” is not a range of colours: a number in it is too large.").arg(typed)};
  if (!(range.low < range.high))
    return {{},
            QStringLiteral("“%1” is not a range of colours: the second number must be the larger one.")
                .arg(typed)};
  return {range, {}};
}

}  // namespace tapedeck::inspector
