#include "inspector/model/format.h"

#include <algorithm>

#include "engine/protocol/call_text.h"
#include "engine/protocol/record_filter.h"
#include "inspector/model/torch_words.h"

namespace tapedeck::inspector {

using protocol::Record;
using protocol::RecordKind;

QString shapeText(const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return QStringLiteral("scalar");
  QStringList sizes;
  for (const std::int64_t size : shape) sizes << QString::number(size);
  return sizes.join(QStringLiteral("×"));
}

QString countText(quint64 count) {
  QString text = QString::number(count);
  for (qsizetype at = text.size() - 3; at > 0; at -= 3) text.insert(at, QLatin1Char(','));
  return text;
}

QString ordinalText(quint64 place) {
  const quint64 tens = place % 100, ones = place % 10;
  const bool teens = tens >= 11 && tens <= 13;
  const QString ending = !teens && ones == 1   ? QStringLiteral("st")
                         : !teens && ones == 2 ? QStringLiteral("nd")
                         : !teens && ones == 3 ? QStringLiteral("rd")
                                               : QStringLiteral("th");
  return countText(place) + ending;
}

QString notFetchedText(quint64 record) {
  return QStringLiteral("Op %1 was not fetched before the session ended.").arg(countText(record));
}

QString durationText(qint64 nanoseconds) {
  const auto scaled = [&](double unit, const QString& name) {
    const double value = static_cast<double>(nanoseconds) / unit;
    const int decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
    return QString::number(value, 'f', decimals) + QLatin1Char(' ') + name;
  };
  if (nanoseconds < 1000) return QString::number(nanoseconds) + QStringLiteral(" ns");
  if (nanoseconds < 1'000'000) return scaled(1e3, QStringLiteral("µs"));
  if (nanoseconds < 1'000'000'000) return scaled(1e6, QStringLiteral("ms"));
  return scaled(1e9, QStringLiteral("s"));
}

QString workText(const Record& record) {
  switch (record.work) {
    case protocol::WorkTime::pending:
      return QStringLiteral("…");
    case protocol::WorkTime::lost:
      return QStringLiteral("?");
    default:
      return durationText(record.duration_ns);
  }
}

QString workSentence(const Record& record) {
  const QString device = QString::fromStdString(record.device);
  const QString call = durationText(record.call_ns);
  switch (record.work) {
    case protocol::WorkTime::pending:
      return QStringLiteral("not known yet: %1 has not reported when it did the work (the call took %2)")
          .arg(device, call);
    case protocol::WorkTime::lost:
      return QStringLiteral("not known: %1 never reported when it did the work (the call took %2)")
          .arg(device, call);
    case protocol::WorkTime::known:
      return QStringLiteral("%1 on %2, started %3 after the program called it (the call took %4)")
          .arg(durationText(record.duration_ns), device,
               durationText(std::max<std::int64_t>(0, record.work_start_ns - record.start_ns)), call);
    default:
      return {};
  }
}

bool isCall(const Record& record) {
  return record.kind == RecordKind::call && record.op.ends_with(')');
}

QString kindGlyph(const Record& record) {
  if (record.kind == RecordKind::call) return isCall(record) ? QStringLiteral("ƒ") : QStringLiteral("↳");
  if (record.kind == RecordKind::playback) return QStringLiteral("◀◀");
  if (record.kind == RecordKind::custom || record.custom_gradient) return QStringLiteral("◆");
  if (!deviceCopy(record).device.isEmpty()) return QStringLiteral("⇄");
  return record.backward ? QStringLiteral("▲") : QStringLiteral("▼");
}

DeviceCopy deviceCopy(const Record& record) {
  DeviceCopy copy;
  if (record.op != "copy_to_device" || record.kind != RecordKind::op) return copy;
  for (const auto& attribute : record.attributes) {
    // As Python writes a text, in quotes.
    const QString text = QString::fromStdString(attribute.value);
    if (attribute.name == "device") copy.device = text.mid(1, text.size() - 2);
    if (attribute.name == "reason") copy.reason = text.mid(1, text.size() - 2);
  }
  return copy;
}

QString opText(const Record& record) {
  if (record.sums_gradients) return QStringLiteral("sum of gradients");
  if (record.kind == RecordKind::playback && isOfTorch(record)) return torchPlayback;
  const QString device = deviceCopy(record).device;
  return device.isEmpty() ? QString::fromStdString(record.op) : QStringLiteral("copy to ") + device;
}

QString callText(const Record& record) {
  return QString::fromStdString(protocol::on_one_line(record.call));
}

QString sourceText(const protocol::CompleteGradient& complete) {
  if (!complete.source.name.empty()) return QString::fromStdString(complete.source.name);
  if (complete.places <= 1) return QStringLiteral("the source");
  return QStringLiteral("source %1 of %2").arg(complete.place + 1).arg(complete.places);
}

QString deviceText(const std::string& device) {
  return device.starts_with("/cpu:") ? QString() : QString::fromStdString(device);
}

QString kindText(const Record& record) {
  return QString::fromLatin1(protocol::kind_text(record.kind, record.custom_gradient, record.backward));
}

QString tensorText(const protocol::TensorInfo& tensor) {
  if (tensor.id == 0 && tensor.dtype.empty()) return QStringLiteral("none");
  QStringList parts;
  if (!tensor.name.empty()) parts << QString::fromStdString(tensor.name);
  parts << QString::fromStdString(tensor.dtype) << shapeText(tensor.shape);
  QString text = parts.join(QLatin1Char(' '));
  if (const QString device = deviceText(tensor.device); !device.isEmpty())
    text += QStringLiteral(" on ") + device;
  if (!tensor.preview.empty()) text += QStringLiteral(" = ") + QString::fromStdString(tensor.preview);
  return text;
}

std::int64_t elementCount(const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t limit = std::int64_t{1} << 53;
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || (size > 0 && count > limit / size)) return -1;
    count *= size;
  }
  return count;
}

}  // namespace tapedeck::inspector
