// Panning Tape over a graph of 50,000 ops, one JSON line per case: with 3,000 nodes in sight, as boxes, and
// nearer, with their names. A frame's time is from the camera's move until it is painted; drawing is the
// canvas' own part of it, without OpenGL's. "nothing" is an empty frame. Run it on a display (xvfb-run); the
// first argument is another number of ops.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "inspector/panels/tape/tape_canvas.h"
#include "tests/app/window_fixture.h"

using namespace tapedeck;
using namespace tapedeck::app;
using namespace tapedeck::inspector;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int frames = 60;
constexpr int chains = 12;  ///< side by side, joined now and then

double since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

/// Chains of ops, each of which reads the one before it, and sometimes the chain beside it.
TapeGraph wideGraph(int ops) {
  TapeGraph graph;
  graph.tape = 1;
  graph.ops = static_cast<quint64>(ops);
  for (int i = 0; i < ops; ++i) {
    GraphNode node;
    node.record = static_cast<RecordNumber>(i + 1);
    node.tensor = static_cast<TensorId>(i + 1);
    node.op = i % 3 == 0   ? QStringLiteral("matmul")
              : i % 3 == 1 ? QStringLiteral("add")
                           : QStringLiteral("relu");
    node.shape = QStringLiteral("64×64");
    node.dtype = QStringLiteral("float32");
    node.scope = QStringLiteral("network/layer_%1").arg(i / 600);
    node.line = static_cast<std::uint32_t>(i);  // nothing repeats
    node.inputs = node.outputs = 1;
    node.current = i + 1 == ops;
    graph.shownAs[node.record] = i;
    graph.nodes.push_back(std::move(node));
    const auto read = [&](int from, int slot) {
      GraphEdge edge;
      edge.from = from;
      edge.to = i;
      edge.toSlot = slot;
      edge.tensor = static_cast<TensorId>(from + 1);
      edge.label = QStringLiteral("64×64");
      graph.edges.push_back(std::move(edge));
    };
    if (i >= chains) read(i - chains, 0);
    if (i > chains && i % 7 == 0) read(i - chains - 1, 1);
  }
  return graph;
}

/// Knows how long its drawing takes, without OpenGL's part of a frame.
class TimedCanvas : public TapeCanvas {
 public:
  std::vector<double> drawn;

 protected:
  void paintCanvas(CanvasPainter& painter) override {
    const auto began = Clock::now();
    TapeCanvas::paintCanvas(painter);
    drawn.push_back(since(began));
  }
};

/// `away`: nothing is in sight, which is what an empty frame costs here.
void measure(TimedCanvas& canvas, const char* name, double zoom, bool away = false) {
  canvas.drawn.clear();
  const QRectF bounds = canvas.laidOut()->layout.bounds;
  Camera camera;
  camera.zoom = zoom;
  camera.centre(bounds.center(), bounds, canvas.canvasSize());
  if (away) camera.offset += QPointF(1e6, 0);
  std::vector<double> times;
  std::size_t seen = 0;
  for (int i = 0; i < frames; ++i) {
    camera.offset += QPointF(i % 40 < 20 ? 3 : -3, -11);
    const quint64 before = canvas.framesPainted();
    const auto began = Clock::now();
    canvas.setCamera(camera);
    while (canvas.framesPainted() == before) QApplication::processEvents(QEventLoop::WaitForMoreEvents, 1000);
    times.push_back(since(began));
    seen = std::max(seen, canvas.drawnNodes().size());
  }
  const auto at = [](std::vector<double>& values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  std::printf(
      "{\"case\": \"tape_pan_%s\", \"ops\": %zu, \"visible\": %zu, \"frame_median_ms\": %.1f, "
      "\"frame_p95_ms\": %.1f, \"drawing_median_ms\": %.2f, \"drawing_p95_ms\": %.2f}\n",
      name, canvas.laidOut()->graph.nodes.size(), seen, at(times, .5), at(times, .95), at(canvas.drawn, .5),
      at(canvas.drawn, .95));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  QApplication program(argc, argv);
  useOwnSettingsAndCache();
  const int ops = argc > 1 ? std::max(100, std::atoi(argv[1])) : 50'000;
  TimedCanvas canvas;
  canvas.resize(2560, 1440);
  if (!showActive(&canvas)) return 1;
  Folding folding;
  folding.all = true;
  TapeGraph graph = wideGraph(ops);
  const auto began = Clock::now();
  auto laid = layOut(std::move(graph), folding);
  std::printf("{\"case\": \"tape_layout\", \"ops\": %d, \"ms\": %.0f}\n", ops, since(began));
  canvas.showGraph(std::move(laid));
  // As far away as shows 3,000 nodes: rows of `chains`, 120 pixels apart.
  measure(canvas, "boxes", 1440.0 / (120.0 * 3000 / chains));
  measure(canvas, "titles", 0.25);
  measure(canvas, "full", 0.7);
  measure(canvas, "nothing", 0.7, true);
  return 0;
}
