// A sample's window, and what its Tape panel shows.
#pragma once

#include "inspector/model/tape/tape_graph.h"
#include "inspector/panels/tape/tape_canvas.h"
#include "tests/app/sample_window.h"

namespace tapedeck::app {

/// For test classes to inherit from.
class TapeOfSample : protected SampleWindow {
 protected:
  inspector::TapeCanvas& canvas() { return *tape(*window_)->canvas(); }
  const inspector::TapeGraph& graph() { return canvas().laidOut()->graph; }

  /// What inside a built-in VJP ran is part of that VJP's node.
  quint64 nodeRecord(quint64 record) {
    const auto* at = session().cachedRecord(record);
    if (!at) return 0;  // not fetched yet
    for (; at; at = session().cachedRecord(at->parent))
      if (at->kind == protocol::RecordKind::vjp && !at->custom_gradient) record = at->number;
    return record;
  }

  /// The panel shows the tape as it was at the record.
  bool shows(quint64 record) {
    return waitFor(
        [&] {
          const quint64 node = nodeRecord(record);
          return node && canvas().laidOut() && graph().cursor == node && graph().nodeOf(node) >= 0 &&
                 !tape(*window_)->model()->loading();
        },
        patience);
  }

  int nodeNamed(const QString& name) {
    for (std::size_t i = 0; i < graph().nodes.size(); ++i)
      if (graph().nodes[i].op == name || graph().nodes[i].name == name) return static_cast<int>(i);
    return -1;
  }
};

}  // namespace tapedeck::app
