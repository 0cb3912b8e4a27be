#include "inspector/panels/tape/node_details.h"

#include <QCoreApplication>
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

QString source(const protocol::Record& record, const std::function<QString(const QString&)>& cell_name) {
  const QString cell = QString::fromStdString(record.cell);
  QString place = cell.isEmpty() ? QFileInfo(QString::fromStdString(record.file)).fileName()
                  : cell_name    ? cell_name(cell)
                                 : graphText("cell %1").arg(cell);
  if (place.isEmpty()) return {};
  if (record.line) place += graphText(", line %1").arg(record.line);
  return place;
}

void addTensors(QStringList& lines, const QString& word, const std::vector<protocol::TensorInfo>& tensors) {
  for (std::size_t i = 0; i < tensors.size() && i < maximum_tensors; ++i) {
    const QString key = tensors.size() > 1 ? QStringLiteral("%1 %2").arg(word).arg(i) : word;
    add(lines, key, tensors[i].id || !tensors[i].dtype.empty() ? tensorText(tensors[i]) : graphText("none"));
  }
  if (tensors.size() > maximum_tensors)
    add(lines, QString(), graphText("and %1 more").arg(tensors.size() - maximum_tensors));
}

}  // namespace

QStringList nodeDetails(const GraphNode& node, const protocol::Record* record,
                        const protocol::TensorInfo* tensor,
                        const std::function<QString(const QString&)>& cell_name) {
  QStringList lines{nodeText(node).title};
  if (!record) {
    if (node.record) add(lines, graphText("record"), countText(node.record));
    add(lines, graphText("shape"), node.shape);
    add(lines, graphText("dtype"), node.dtype);
    if (tensor) add(lines, graphText("device"), QString::fromStdString(tensor->device));
    add(lines, graphText("value"), node.preview);
    add(lines, graphText("VJP"), node.formula);
    return lines;
  }
  add(lines, graphText("record"), graphText("%1, %2").arg(countText(record->number), kindText(*record)));
  addTensors(lines, graphText("in"), record->inputs);
  addTensors(lines, graphText("out"), record->outputs);
  for (const protocol::AttributeText& attribute : record->attributes)
    add(lines, QString::fromStdString(attribute.name), QString::fromStdString(attribute.value));
  add(lines, graphText("VJP"),
      node.customGradient ? graphText("yours (custom gradient)")
                          : QString::fromStdString(record->vjp_formula));
  add(lines, graphText("scope"), QString::fromStdString(record->scope));
  add(lines, graphText("source"), source(*record, cell_name));
  if (record->state == protocol::RecordState::done)
    add(lines, graphText("took"),
        record->work == protocol::WorkTime::host ? durationText(record->duration_ns) : workSentence(*record));
  add(lines, graphText("error"), QString::fromStdString(record->error));
  return lines;
}

}  // namespace tapedeck::inspector
