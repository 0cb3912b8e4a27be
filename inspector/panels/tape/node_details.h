// The tooltip of a node.
#pragma once

#include <QStringList>
#include <functional>

#include "inspector/model/tape/tape_graph.h"

namespace tapedeck::inspector {

/// A title, then "key\tvalue" lines: kind, value, inputs and outputs, attributes, VJP, source line, time.
/// `record` and `tensor` may be null (not fetched); `cell_name` may be empty.
QStringList nodeDetails(const GraphNode& node, const protocol::Record* record,
                        const protocol::TensorInfo* tensor,
                        const std::function<QString(const protocol::Record&)>& cell_name);

}  // namespace tapedeck::inspector
