#include "inspector/model/functions/graph_text.h"

#include <QMap>
#include <QStringList>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

using protocol::TraceCause;

namespace {

QString counted(quint64 count, const char* one, const char* more) {
  return QStringLiteral("%1 %2").arg(countText(count), QLatin1String(count == 1 ? one : more));
}

QString advice(TraceCause cause) {
  switch (cause) {
    case TraceCause::shape:
      return QStringLiteral(
          "give input_signature a TensorSpec with None in the shape, or set reduce_retracing=True");
    case TraceCause::dtype:
      return QStringLiteral("convert it to one dtype before the call (tf.cast)");
    case TraceCause::number:
      return QStringLiteral(
          "pass it as a tensor (tf.constant), for each value of a Python number has a trace");
    case TraceCause::value:
      return QStringLiteral("each of its values has a trace: keep to few values, or pass a tensor");
    case TraceCause::object:
      return QStringLiteral("make the object once, outside of the loop, and pass the same one");
    case TraceCause::structure:
      return QStringLiteral("pass the same arguments of the same kinds each time");
    case TraceCause::first:
      break;
  }
  return {};
}

}  // namespace

QString reasonText(const protocol::FunctionTrace& trace) {
  QStringList texts;
  for (const auto& reason : trace.reasons) texts << QString::fromStdString(reason.text);
  return texts.join(QStringLiteral("; "));
}

QString callsText(const protocol::FunctionTrace& trace) {
  if (!trace.calls) return trace.inlined ? QStringLiteral("only inlined") : QStringLiteral("never ran");
  const QString ran = QStringLiteral("ran %1").arg(counted(trace.calls, "time", "times"));
  return trace.inlined ? QStringLiteral("%1, also inlined").arg(ran) : ran;
}

QString nodesText(quint64 nodes) {
  return counted(nodes, "node", "nodes");
}

QString nodesText(const protocol::FunctionTrace& trace) {
  const QString nodes = nodesText(trace.nodes);
  return trace.nodes == trace.traced_nodes
             ? nodes
             : QStringLiteral("%1, %2 as traced").arg(nodes, countText(trace.traced_nodes));
}

QString gradientName(const protocol::GraphFunctionInfo& function, const protocol::TraceGradient& gradient) {
  return QStringLiteral("gradient of %1: %2")
      .arg(QString::fromStdString(function.name), QString::fromStdString(gradient.inputs));
}

QString gradientReason(const protocol::TraceGradient& gradient) {
  if (gradient.why_played.empty()) return QStringLiteral("called under a tape");
  return QStringLiteral("a tape plays its VJPs one by one: %1")
      .arg(QString::fromStdString(gradient.why_played));
}

QString gradientNote() {
  return QStringLiteral(
      "This graph runs while nothing records. While ops are recorded the tape plays the VJP of each, so that "
      "each can be seen.");
}

QString retraceWarning(const protocol::GraphFunctionInfo& function) {
  if (function.total < many_traces) return {};
  QMap<QPair<int, QString>, int> counts;
  for (const auto& trace : function.traces)
    for (const auto& reason : trace.reasons)
      if (reason.cause != TraceCause::first)
        ++counts[{static_cast<int>(reason.cause), QString::fromStdString(reason.argument)}];
  QPair<int, QString> most;
  int times = 0;
  for (auto count = counts.begin(); count != counts.end(); ++count)
    if (count.value() > times) {
      most = count.key();
      times = count.value();
    }
  QString text =
      QStringLiteral("Traced %1 times, which costs more than it gains.").arg(countText(function.total));
  if (times == 0) return text;
  const QString subject = most.second.isEmpty() ? QStringLiteral("Its arguments change")
                                                : QStringLiteral("Argument %1 changes").arg(most.second);
  return QStringLiteral("%1 %2: %3.").arg(text, subject, advice(static_cast<TraceCause>(most.first)));
}

QString stageText(const protocol::GraphStage& stage, bool first) {
  if (first) return QStringLiteral("As traced");
  QStringList parts;
  const auto add = [&](quint64 count, const char* what) {
    if (count) parts << QStringLiteral("%1 %2").arg(countText(count), QLatin1String(what));
  };
  add(stage.folded, "folded");
  add(stage.merged, "merged");
  add(stage.fused, "fused");
  add(stage.removed, "removed");
  return QStringLiteral("After %1: %2")
      .arg(QString::fromStdString(stage.name),
           parts.isEmpty() ? QStringLiteral("no change") : parts.join(QStringLiteral(", ")));
}

QString inputsText(const protocol::GraphRow& row) {
  QStringList names;
  for (const auto& input : row.inputs) names << QString::fromStdString(input.name);
  return names.join(QStringLiteral(", "));
}

bool isGone(const protocol::GraphRow& row) {
  return row.change == protocol::NodeChange::merged || row.change == protocol::NodeChange::removed;
}

QString rowLine(const protocol::GraphRow& row) {
  const QString op = QString::fromStdString(row.op), attributes = QString::fromStdString(row.attributes);
  const QString result = QString::fromStdString(row.result), note = QString::fromStdString(row.note);
  QString inside = inputsText(row);
  if (!attributes.isEmpty()) inside += (inside.isEmpty() ? QString() : QStringLiteral(", ")) + attributes;
  QString text;
  if (!row.number)
    text = op == QLatin1String("return") ? QStringLiteral("return %1").arg(inside) : op + QLatin1Char(':');
  else
    text = QStringLiteral("%1%2(%3)")
               .arg(result.isEmpty() ? QString() : QString::fromStdString(row.name) + QStringLiteral(" = "),
                    op, inside);
  if (!result.isEmpty()) text += QStringLiteral(" : ") + result;
  if (row.line) text += QStringLiteral("  (line %1)").arg(row.line);
  if (!note.isEmpty()) text += QStringLiteral("  [%1]").arg(note);
  return QString(static_cast<int>(row.depth) * 2, QLatin1Char(' ')) +
         (isGone(row) ? QStringLiteral("# ") : QString()) + text;
}

QString graphAsText(const std::vector<protocol::GraphRow>& rows, const QString& signature) {
  QStringList lines;
  if (!signature.isEmpty()) lines << signature;
  for (const auto& row : rows) lines << rowLine(row);
  return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

}  // namespace tapedeck::inspector
