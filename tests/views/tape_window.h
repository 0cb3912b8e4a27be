// A tape view in a window, over records that a test made.
#pragma once

#include <QTest>
#include <memory>

#include "fake_session.h"
#include "fake_tape.h"
#include "inspector/panels/tape/tape_canvas.h"
#include "inspector/panels/tape/tape_view.h"
#include "view_test.h"

namespace tapedeck::test {

using namespace inspector;

struct TapeWindow {
  FakeSession source;
  Session session;
  std::unique_ptr<TapeView> view;

  explicit TapeWindow(std::vector<protocol::Record> records, QSize size = {1200, 900}) {
    source.records = std::move(records);
    view = std::make_unique<TapeView>(session);
    view->resize(size);
    view->show();
    view->activateWindow();
    if (!QTest::qWaitForWindowActive(view.get(), tapedeck::patience)) qWarning("the window is not active");
    session.setSource(&source);
  }
  TapeCanvas* canvas() { return view->canvas(); }
  void runTo(std::uint64_t pending) { source.stopBefore(pending); }
  /// Waits until what is drawn shows the record as current.
  bool shows(RecordNumber record) {
    return waitFor(
        [&] {
          const LaidOutGraph* laid = canvas()->laidOut();
          if (!laid) return false;
          const int node = laid->graph.nodeOf(record);
          return node >= 0 && laid->graph.nodes[node].current && !canvas()->drawnNodes().empty();
        },
        tapedeck::patience);
  }
  int nodeOf(RecordNumber record) { return canvas()->laidOut()->graph.nodeOf(record); }
  int leaf(const QString& name) {
    const TapeGraph& graph = canvas()->laidOut()->graph;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].op == name) return static_cast<int>(i);
    return -1;
  }
  QPoint centre(RecordNumber record) { return canvas()->nodeRect(nodeOf(record)).center().toPoint(); }
  bool painted() {
    const quint64 before = canvas()->framesPainted();
    canvas()->requestFrame();
    return waitFor([&] { return canvas()->framesPainted() > before; }, tapedeck::patience);
  }
};

}  // namespace tapedeck::test
