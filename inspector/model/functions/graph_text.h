// What the panel Graph says of functions, traces and nodes.
#pragma once

#include <QString>

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

/// TensorFlow warns after so many traces of a function.
constexpr quint64 many_traces = 5;

/// "first call"; "argument x: shape (3,) became (4,); argument k: 2 became 3 (…)"
QString reasonText(const protocol::FunctionTrace& trace);
/// "ran 12 times, also inlined", "only inlined", "never ran"
QString callsText(const protocol::FunctionTrace& trace);
/// "7 nodes, 12 as traced"
QString nodesText(const protocol::FunctionTrace& trace);
QString nodesText(quint64 nodes);
/// "gradient of f: x, w"
QString gradientName(const protocol::GraphFunctionInfo& function, const protocol::TraceGradient& gradient);
/// Why it is there, or why a tape plays VJPs instead.
QString gradientReason(const protocol::TraceGradient& gradient);
/// When that graph runs.
QString gradientNote();
/// What to change where a function is traced again and again: by the cause that most of its traces have.
/// Empty for few traces.
QString retraceWarning(const protocol::GraphFunctionInfo& function);

/// "After constant folding: 3 folded"; of the first one "As traced".
QString stageText(const protocol::GraphStage& stage, bool first);
/// "%3, x"
QString inputsText(const protocol::GraphRow& row);
/// Whether a pass took the node out of the graph.
bool isGone(const protocol::GraphRow& row);
/// A node a line, indented by depth: "%3 = matmul(%1, x, transpose_b=True) : float32 (2, 3)"; what is not in
/// the graph any longer begins with "# ".
QString rowLine(const protocol::GraphRow& row);
QString graphAsText(const std::vector<protocol::GraphRow>& rows, const QString& signature);

}  // namespace tapedeck::inspector
