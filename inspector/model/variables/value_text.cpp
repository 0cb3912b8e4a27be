#include "inspector/model/variables/value_text.h"

#include <QLocale>
#include <QObject>
#include <algorithm>
#include <array>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

QString bytesText(quint64 bytes) {
  return QLocale(QLocale::English)
      .formattedDataSize(static_cast<qint64>(bytes), bytes < 1000 ? 0 : 1, QLocale::DataSizeSIFormat);
}

bool showable(const protocol::ValueInfo& value) {
  if (value.tensor) return true;
  constexpr std::array dtypes = {"bool",   "int8",   "int16",   "int32",   "int64",  "uint8",
                                 "uint16", "uint32", "float16", "float32", "float64"};
  return value.dtype && std::find(dtypes.begin(), dtypes.end(), *value.dtype) != dtypes.end();
}

QString asOfMark(const QString& asOf) {
  return asOf.isEmpty() ? QString() : QStringLiteral(" · ") + asOf;
}

QString valueText(const protocol::ValueInfo& value, ValueColumn column) {
  switch (column) {
    case ValueColumn::name:
      return QString::fromStdString(value.name);
    case ValueColumn::value:
      return QString::fromStdString(value.problem ? "(" + *value.problem + ")" : value.text) +
             asOfMark(QString::fromStdString(value.as_of.value_or("")));
    case ValueColumn::type:
      return QString::fromStdString(value.type);
    case ValueColumn::shape:
      if (value.shape) return shapeText(*value.shape);
      return value.items ? QStringLiteral("%1 items").arg(countText(value.items)) : QString();
    case ValueColumn::dtype:
      return QString::fromStdString(value.dtype.value_or(""));
    case ValueColumn::device:
      return QString::fromStdString(value.device.value_or(""));
    case ValueColumn::bytes:
      return value.bytes ? bytesText(*value.bytes) : QString();
    case ValueColumn::histogram:
      break;
  }
  return {};
}

QVariant valueSortKey(const protocol::ValueInfo& value, ValueColumn column) {
  if (column == ValueColumn::bytes) return static_cast<qulonglong>(value.bytes.value_or(0));
  if (column == ValueColumn::shape)
    return value.shape ? static_cast<qlonglong>(elementCount(*value.shape))
                       : static_cast<qlonglong>(value.items);
  if (column == ValueColumn::value) {
    bool number = false;
    const double real = QString::fromStdString(value.text).toDouble(&number);
    if (number) return real;
  }
  return valueText(value, column).toLower();
}

QString valueTip(const protocol::ValueInfo& value) {
  if (value.type.empty()) return valueText(value, ValueColumn::value);
  QStringList facts{QString::fromStdString(value.type)};
  for (const auto column : {ValueColumn::shape, ValueColumn::dtype, ValueColumn::device, ValueColumn::bytes})
    if (const QString text = valueText(value, column); !text.isEmpty()) facts << text;
  QStringList lines{
      valueText(value, ValueColumn::name) + QStringLiteral(": ") + facts.join(QStringLiteral(" · ")),
      valueText(value, ValueColumn::value)};
  if (showable(value)) lines << QStringLiteral("A click shows it in Tensor");
  if (value.edit) lines << QStringLiteral("A double click on the value edits it (F2)");
  return lines.join(QLatin1Char('\n'));
}

}  // namespace tapedeck::inspector
