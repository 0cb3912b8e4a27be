#include "inspector/panels/tape/node_details.h"

#include <QFileInfo>

#include "inspector/model/format.h"
#include "inspector/panels/tape/node_style.h"

namespace tapedeck::inspector {

namespace {

constexpr std::size_t maximum_tensors = 6;

void add(QStringList& lines, const QString& key, const QString& value) {
  if (!value.isEmpty())
    lines << key + QLatin1Char('\t') + QString(value).replace(QLatin1Char('\n'), QLatin1Char(' '));
}

QString source(const protocol::Record& record,
               const std::function<QString(const protocol::Record&)>& cell_name) {
  const QString cell = QString::fromStdString(record.cell);
  QString place = cell.isEmpty() ? QFileInfo(QString::fromStdString(record.file)).fileName()
                  : cell_name    ? cell_name(record)
                                 : QStringLiteral("cell %1").arg(cell);
  if (place.isEmpty()) return {};
  if (record.line) place += QStringLiteral(", line %1").arg(record.line);
  return place;
}

void addTensors(QStringList& lines, const QString& word, const std::vector<protocol::TensorInfo>& tensors) {
  for (std::size_t i = 0; i < tensors.size() && i < maximum_tensors; ++i) {
    const QString key = tensors.size() > 1 ? QStringLiteral("%1 %2").arg(word).arg(i) : word;
    add(lines, key,
        tensors[i].id || !tensors[i].dtype.empty() ? tensorText(tensors[i]) : QStringLiteral("none"));
  }
  if (tensors.size() > maximum_tensors)
    add(lines, QString(), QStringLiteral("and %1 more").arg(tensors.size() - maximum_tensors));
}

}  // namespace

QStringList nodeDetails(const GraphNode& node, const protocol::Record* record,
                        const protocol::TensorInfo* tensor,
                        const std::function<QString(const protocol::Record&)>& cell_name) {
  QStringList lines{nodeText(node).title};
  if (!node.fold.isEmpty()) {
    add(lines, QStringLiteral("folded"), nodeText(node).lines.value(0));
    add(lines, QStringLiteral("scope"), node.scope);
    add(lines, QStringLiteral("cursor"), node.here);
    add(lines, QStringLiteral("error"), node.error);
    add(lines, QString(), QStringLiteral("Double click, Enter or O opens it"));
    return lines;
  }
  if (!record) {
    if (node.record) add(lines, QStringLiteral("record"), countText(node.record));
    add(lines, QStringLiteral("shape"), node.shape);
    add(lines, QStringLiteral("dtype"), node.dtype);
    if (tensor) add(lines, QStringLiteral("device"), QString::fromStdString(tensor->device));
    add(lines, QStringLiteral("value"), node.preview);
    add(lines, QStringLiteral("VJP"), node.formula);
    return lines;
  }
  add(lines, QStringLiteral("record"),
      QStringLiteral("%1, %2").arg(countText(record->number), kindText(*record)));
  addTensors(lines, QStringLiteral("in"), record->inputs);
  addTensors(lines, QStringLiteral("out"), record->outputs);
  for (const protocol::AttributeText& attribute : record->attributes)
    add(lines, QString::fromStdString(attribute.name), QString::fromStdString(attribute.value));
  add(lines, QStringLiteral("VJP"),
      node.customGradient ? QStringLiteral("yours (custom gradient)")
                          : QString::fromStdString(record->vjp_formula));
  add(lines, QStringLiteral("scope"), QString::fromStdString(record->scope));
  add(lines, QStringLiteral("source"), source(*record, cell_name));
  add(lines, record->call_is_line ? QStringLiteral("line") : QStringLiteral("call"), callText(*record));
  if (record->state == protocol::RecordState::done)
    add(lines, QStringLiteral("took"),
        record->work == protocol::WorkTime::host ? durationText(record->duration_ns) : workSentence(*record));
  add(lines, QStringLiteral("error"), QString::fromStdString(record->error));
  return lines;
}

}  // namespace tapedeck::inspector
