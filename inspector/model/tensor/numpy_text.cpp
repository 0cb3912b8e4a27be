#include "inspector/model/tensor/numpy_text.h"

#include <charconv>
#include <cmath>

namespace tapedeck::inspector {

namespace {

/// "d.ddde±xx" as NumPy writes it: plainly from 0.0001 up to 10¹⁶, always with a point or an exponent.
QString fromScientific(const QString& scientific) {
  const qsizetype e = scientific.indexOf(QLatin1Char('e'));
  const int exponent = scientific.mid(e + 1).toInt();
  QString mantissa = scientific.left(e);
  const bool negative = mantissa.startsWith(QLatin1Char('-'));
  if (negative) mantissa.remove(0, 1);
  QString digits = QString(mantissa).remove(QLatin1Char('.'));
  while (digits.size() > 1 && digits.endsWith(QLatin1Char('0'))) digits.chop(1);
  QString text;
  if (exponent < -4 || exponent >= 16) {
    text = digits.left(1) + (digits.size() > 1 ? QLatin1Char('.') + digits.mid(1) : QString()) +
           QLatin1Char('e') + (exponent < 0 ? QLatin1Char('-') : QLatin1Char('+')) +
           QStringLiteral("%1").arg(std::abs(exponent), 2, 10, QLatin1Char('0'));
  } else if (exponent < 0) {
    text = QStringLiteral("0.") + QString(-exponent - 1, QLatin1Char('0')) + digits;
  } else {
    digits = digits.leftJustified(exponent + 1, QLatin1Char('0'));
    text = digits.left(exponent + 1) + QLatin1Char('.') +
           (digits.size() > exponent + 1 ? digits.mid(exponent + 1) : QStringLiteral("0"));
  }
  return negative ? QLatin1Char('-') + text : text;
}

template <class T>
QString shortestScientific(T value) {
  char buffer[48];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  return QString::fromLatin1(buffer, end - buffer);
}

QString unusualText(double value) {
  if (std::isnan(value)) return QStringLiteral("nan");
  return value > 0 ? QStringLiteral("inf") : QStringLiteral("-inf");
}

}  // namespace

bool isComplexDtype(const std::string& dtype) {
  return dtype.starts_with("complex");
}

bool isFloatingDtype(const std::string& dtype) {
  return dtype.starts_with("float") || dtype == "bfloat16";
}

QString numpyText(double value, const std::string& dtype) {
  if (dtype == "bool") return value != 0 ? QStringLiteral("True") : QStringLiteral("False");
  if (!std::isfinite(value)) return unusualText(value);
  if (!isFloatingDtype(dtype)) return QString::number(value, 'f', 0);
  if (dtype == "float64") return fromScientific(shortestScientific(value));
  const float single = static_cast<float>(value);
  if (!std::isfinite(single)) return unusualText(static_cast<double>(single));
  const QString text = fromScientific(shortestScientific(single));
  // Python and NumPy read a double and round it to the dtype: of a few numbers the shortest text would become
  // the number beside (7.038531e-26).
  return static_cast<float>(text.toDouble()) == single
             ? text
             : fromScientific(shortestScientific(static_cast<double>(single)));
}

QString numpyShortText(double value, int digits, const std::string& dtype) {
  if (!std::isfinite(value)) return unusualText(value);
  if (!isFloatingDtype(dtype) && !isComplexDtype(dtype) && value == std::floor(value) &&
      std::abs(value) < 1e9)
    return QString::number(value, 'f', 0);
  const QString scientific = QString::number(value, 'e', digits - 1);
  // Zeros that stand for other digits would lie.
  if (std::abs(value) >= std::pow(10.0, digits) && scientific.toDouble() != value) return scientific;
  return fromScientific(scientific);
}

}  // namespace tapedeck::inspector
