#include <QDir>
#include <QPainter>
#include <QSignalSpy>
#include <QSvgRenderer>
#include <QTest>
#include <QXmlStreamReader>
#include <algorithm>
#include <random>

#include "engine/protocol/foreign_tapes.h"
#include "fake_tape.h"
#include "inspector/model/format.h"
#include "inspector/model/torch_words.h"
#include "inspector/panels/tape/layout_worker.h"
#include "inspector/panels/tape/node_details.h"
#include "inspector/panels/tape/node_style.h"
#include "inspector/panels/tape/scope_lanes.h"
#include "inspector/panels/tape/tape_scene.h"
#include "inspector/panels/tape/tape_svg.h"
#include "tape_geometry.h"
#include "tests/campaign.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;

namespace {

TapeGraph graphOf(const std::vector<protocol::Record>& records, RecordNumber cursor = 1000000) {
  return buildTapeGraph(records, std::min<RecordNumber>(cursor, records.size()));
}

std::vector<protocol::Record> programs(int program) {
  return program == 0   ? regressionTape()
         : program == 1 ? noisySquareTape()
         : program == 4 ? noisyGradientTape()
         : program == 2 ? longTape(60)
                        : randomTape(7);
}

QByteArray strangerInFrame(const TapeGraph& graph, const GraphLayout& layout) {
  for (const GraphLayout::Frame& frame : layout.frames) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      bool member = static_cast<int>(i) == frame.node;
      for (int group = graph.nodes[i].group; group >= 0; group = graph.nodes[group].group)
        member = member || group == frame.node;
      if (member != frame.rect.intersects(layout.nodes[i]))
        return (graph.nodes[frame.node].op + ": " + graph.nodes[i].op).toUtf8();
    }
  }
  return {};
}

/// Random edges over random nodes, as a damaged trace could give.
TapeGraph randomGraph(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&random](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  TapeGraph graph;
  graph.tape = 1;
  const int count = 1 + below(40);
  for (int i = 0; i < count; ++i) {
    GraphNode node;
    node.kind = static_cast<NodeKind>(below(7));
    node.record = isLeaf(node) ? 0 : static_cast<RecordNumber>(i + 1);
    node.tensor = static_cast<TensorId>(1000 + i);
    node.op = QString(below(30), QLatin1Char('x'));
    node.backward = below(2);
    node.group = i && below(4) == 0 ? below(i) : -1;
    node.forward = i && below(3) == 0 ? below(i) : -1;
    graph.nodes.push_back(node);
  }
  for (GraphNode& node : graph.nodes)
    if (node.group >= 0) graph.nodes[static_cast<std::size_t>(node.group)].expanded = true;
  const int edges = below(3 * count);
  for (int i = 0; i < edges; ++i) {
    GraphEdge edge;
    edge.from = below(count);
    edge.to = below(count);
    edge.fromSlot = below(3);
    edge.toSlot = below(4) - 1;
    edge.backward = below(2);
    edge.arrives = below(5) == 0;
    edge.tensor = static_cast<TensorId>(1000 + below(count));
    graph.edges.push_back(edge);
  }
  return graph;
}

}  // namespace

class TapeLayoutTest : public QObject {
  Q_OBJECT
 private slots:
  void valuesRunDownAndGradientsUp() {
    const TapeGraph graph = graphOf(regressionTape());
    const GraphLayout layout = layoutTapeGraph(graph);
    int forward = 0, backward = 0;
    for (std::size_t i = 0; i < graph.edges.size(); ++i) {
      const GraphEdge& edge = graph.edges[i];
      const QRectF &from = layout.nodes[edge.from], &to = layout.nodes[edge.to];
      const QByteArray name = nameOf(graph, edge).toUtf8();
      if (edge.backward) {
        QVERIFY2(to.bottom() <= from.top() + 1, name);
        ++backward;
      } else if (!graph.nodes[edge.to].backward) {
        QVERIFY2(from.bottom() <= to.top() + 1, name);
        ++forward;
      }
      QVERIFY2(layout.edges[i].size() >= 4 && layout.edges[i].size() % 3 == 1, name);
      // The curve begins and ends at its nodes.
      QVERIFY2(from.adjusted(-1, -1, 1, 1).contains(layout.edges[i].front()), name);
      QVERIFY2(to.adjusted(-1, -1, 1, 1).contains(layout.edges[i].back()), name);
    }
    QVERIFY(forward >= 8 && backward >= 7);
  }

  void theWayBackMirrorsTheWayThere_data() {
    QTest::addColumn<int>("program");
    QTest::newRow("regression") << 0;
    QTest::newRow("noisy square") << 1;
    QTest::newRow("long") << 2;
    QTest::newRow("played back") << 3;
    QTest::newRow("noisy gradient") << 4;
  }
  void theWayBackMirrorsTheWayThere() {
    QFETCH(int, program);
    const std::vector<protocol::Record> records = programs(program);
    for (RecordNumber cursor = 1; cursor <= records.size(); ++cursor) {
      const TapeGraph graph = graphOf(records, cursor);
      const GraphLayout layout = layoutTapeGraph(graph);
      QCOMPARE(overlap(graph, layout), QString());
      QCOMPARE(misread(graph, layout), QString());
      QCOMPARE(unpaired(graph, layout), QString());
      QCOMPARE(strangerInFrame(graph, layout), QByteArray());
    }
  }

  void customGradientsAreFramed() {
    const TapeGraph graph = graphOf(noisySquareTape());
    const GraphLayout layout = layoutTapeGraph(graph);
    QCOMPARE(layout.frames.size(), std::size_t(2));
    for (const GraphLayout::Frame& frame : layout.frames) {
      QVERIFY(!frame.title.isNull());
      QVERIFY(frame.rect.contains(frame.title));
    }
    // Both feet on one row.
    QCOMPARE(layout.frames[0].rect.bottom(), layout.frames[1].rect.bottom());
  }

  // A constant beside the frame once drove what came then far to the right, and no frame was drawn.
  void aConstantBesideItsFrameDrivesNothingAway() {
    const TapeGraph graph = graphOf(noisyGradientTape());
    const GraphLayout layout = layoutTapeGraph(graph);
    QCOMPARE(layout.frames.size(), std::size_t(2));
    const int vjp = graph.nodeOf(4);
    const int column = layout.cells[static_cast<std::size_t>(vjp)].column;
    for (const RecordNumber record : {5, 6, 7, 8}) {
      const auto node = static_cast<std::size_t>(graph.nodeOf(record));
      QCOMPARE(graph.nodes[node].group, vjp);
      QVERIFY2(std::abs(layout.cells[node].column - column) <= 1, qPrintable(graph.nodes[node].op));
    }
  }

  void noRandomTapeCanBeMisread() {
    const Campaign tapes{"tape_layouts", "random tapes", 25, 150, "further random tapes"};
    auto random = tapes.random();
    for (std::uint64_t round = 0; round < tapes.count(); ++round) {
      const auto seed = static_cast<unsigned>(random());
      const std::vector<protocol::Record> records = randomTape(seed);
      for (const std::size_t share : {1, 2, 3}) {
        const TapeGraph graph = graphOf(records, records.size() * share / 3);
        const GraphLayout layout = layoutTapeGraph(graph);
        const QString where = QStringLiteral("seed %1, %2/3: ").arg(seed).arg(share);
        for (const QString& wrong : {overlap(graph, layout), misread(graph, layout), unpaired(graph, layout)})
          QVERIFY2(wrong.isEmpty(), qPrintable(where + wrong));
      }
    }
  }

  void stepsMoveNothing_data() { theWayBackMirrorsTheWayThere_data(); }
  void stepsMoveNothing() {
    QFETCH(int, program);
    const std::vector<protocol::Record> records = programs(program);
    std::map<quint64, QPointF> places;
    for (RecordNumber cursor = 1; cursor <= records.size(); ++cursor) {
      const TapeGraph graph = graphOf(records, cursor);
      const GraphLayout layout = layoutTapeGraph(graph);
      for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const auto [place, added] = places.try_emplace(nodeKey(graph.nodes[i]), layout.nodes[i].center());
        QVERIFY2(place->second == layout.nodes[i].center(), qPrintable(graph.nodes[i].op));
      }
    }
  }

  void whatIsOnNoTapeStandsApart() {
    std::vector<protocol::Record> records = regressionTape();
    FakeTape t;
    t.records = records;
    t.tape = 0;
    const std::uint64_t gradient = 25;
    t.add(protocol::RecordKind::op, "multiply", {t.tensor(gradient, {784, 10}), t.tensor(90, {}, "0.1")},
          {t.tensor(91, {784, 10})});
    t.add(protocol::RecordKind::op, "subtract", {t.tensor(2, {784, 10}), t.tensor(91, {784, 10})},
          {t.tensor(92, {784, 10})});
    const TapeGraph graph = graphOf(t.records);
    const GraphLayout layout = layoutTapeGraph(graph);
    QCOMPARE(graph.ops, quint64(5));
    QCOMPARE(graph.vjps, quint64(5));
    QCOMPARE(graph.offTape, quint64(2));
    QVERIFY(!layout.apart.isNull());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (isLeaf(graph.nodes[i])) continue;
      QCOMPARE(layout.nodes[i].top() > layout.apart.bottom(), graph.nodes[i].offTape);
    }
    QCOMPARE(misread(graph, layout), QString());
    const QByteArray svg = tapeGraphSvg(graph, layout);
    QVERIFY(svg.contains(apartTitle(graph).toUtf8()));
    QCOMPARE(svg.count("stroke-dasharray=\"3 3\""), 2 + 1);  // and the legend's
    QVERIFY(layoutTapeGraph(graphOf(records)).apart.isNull());
  }

  void aValueThatArrivesDoesNotResizeItsNode() {
    GraphNode node;
    node.op = QStringLiteral("add");
    node.shape = QStringLiteral("2×2");
    node.dtype = QStringLiteral("float32");
    const QSizeF before = nodeSize(node);
    node.preview = QStringLiteral("[[1.25 2.5] [3.75 5.125]]");
    QCOMPARE(nodeSize(node), before);
  }

  void nothingBreaksIt() {
    const Campaign graphs{"graph_layouts", "random graphs", 40, 300, "further random graphs"};
    auto random = graphs.random();
    for (std::uint64_t round = 0; round < graphs.count(); ++round) {
      const auto seed = static_cast<unsigned>(random());
      const TapeGraph graph = randomGraph(seed);
      const GraphLayout layout = layoutTapeGraph(graph);
      QCOMPARE(layout.nodes.size(), graph.nodes.size());
      QCOMPARE(layout.edges.size(), graph.edges.size());
      for (const QRectF& rect : layout.nodes) QVERIFY2(rect.isValid(), qPrintable(QString::number(seed)));
      QVERIFY2(overlap(graph, layout).isEmpty(), qPrintable(QString::number(seed) + overlap(graph, layout)));
      QVERIFY2(misread(graph, layout).isEmpty(), qPrintable(QString::number(seed) + misread(graph, layout)));
      QSvgRenderer renderer;
      QVERIFY2(renderer.load(tapeGraphSvg(graph, layout)), qPrintable(QString::number(seed)));
    }
  }

  void anEmptyGraphIsNoProblem() {
    const GraphLayout layout = layoutTapeGraph({});
    QVERIFY(layout.nodes.empty());
    QSvgRenderer renderer;
    QVERIFY(renderer.load(tapeGraphSvg({}, layout)));
    QVERIFY(tapeGraphSvg({}, layout).contains("Nothing is on the tape."));
  }

  void cullingKeepsWhatIsInSight() {
    const auto made = layOut(graphOf(longTape(300)));
    const LaidOutGraph& laid = *made;
    const QRectF target = laid.layout.nodes[40];
    const VisibleItems items = visibleItems(laid, target.adjusted(-200, -200, 200, 200));
    QVERIFY(std::find(items.nodes.begin(), items.nodes.end(), 40) != items.nodes.end());
    QVERIFY(items.nodes.size() < laid.graph.nodes.size() / 4);
    QCOMPARE(visibleItems(laid, laid.layout.bounds).nodes.size(), laid.graph.nodes.size());
    QCOMPARE(nodeAt(laid, target.center()), 40);
    QCOMPARE(nodeAt(laid, laid.layout.bounds.topLeft() - QPointF(50, 50)), -1);
  }

  void theNewestRequestWins() {
    LayoutWorker worker;
    std::vector<std::size_t> sizes;
    connect(&worker, &LayoutWorker::finished, this, [&](const std::shared_ptr<const LaidOutGraph>& laid) {
      sizes.push_back(laid->graph.nodes.size());
    });
    const TapeGraph large = graphOf(longTape(600)), small = graphOf(regressionTape());
    worker.request(large);
    worker.request(large);
    worker.request(small);
    QVERIFY(worker.busy());
    QTRY_VERIFY_WITH_TIMEOUT(!worker.busy(), 20000);
    QCOMPARE(sizes, std::vector<std::size_t>{small.nodes.size()});
    worker.request(large);
    worker.cancel();
    QVERIFY(!worker.busy());
    worker.request(small);
    QTRY_VERIFY_WITH_TIMEOUT(!worker.busy(), 20000);
    QCOMPARE(sizes, (std::vector<std::size_t>{small.nodes.size(), small.nodes.size()}));
  }

  void theSvgIsAWholePicture() {
    const TapeGraph graph = graphOf(noisySquareTape());
    const QByteArray svg = tapeGraphSvg(graph, layoutTapeGraph(graph), QStringLiteral("a <title> & more"));
    QXmlStreamReader reader(svg);
    QStringList texts, classes;
    QString title;
    while (!reader.atEnd()) {
      reader.readNext();
      if (!reader.isStartElement()) continue;
      if (reader.name() == QLatin1String("g"))
        classes << reader.attributes().value(QLatin1String("class")).toString();
      if (reader.name() == QLatin1String("text")) texts << reader.readElementText();
      if (reader.name() == QLatin1String("title") && title.isEmpty()) title = reader.readElementText();
    }
    QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
    QCOMPARE(title, QStringLiteral("a <title> & more"));
    for (const char* text : {"noisy_square", "∂ noisy_square", "custom ∂", "square", "random_normal", "9.02",
                             "∂ 0.5", "playback", "variable", "∂ gradient"})
      QVERIFY2(texts.contains(QString::fromUtf8(text)), text);
    QVERIFY(classes.contains(QStringLiteral("legend")));
    int backward_edges = 0;
    for (const GraphEdge& edge : graph.edges) backward_edges += edge.backward;
    QCOMPARE(svg.count("stroke-dasharray=\"6 4\""), backward_edges + 1);  // and the legend's
    QSvgRenderer renderer;
    QVERIFY(renderer.load(svg));
    QImage image(renderer.defaultSize(), QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    renderer.render(&painter);
    painter.end();
    QDir().mkpath(QStringLiteral(TAPEDECK_BUILD_DIR "/screenshots"));
    image.save(QStringLiteral(TAPEDECK_BUILD_DIR "/screenshots/tape-svg.png"));
    int colored = 0;
    for (int y = 0; y < image.height(); y += 2)
      for (int x = 0; x < image.width(); x += 2) colored += image.pixelColor(x, y).saturation() > 60;
    QVERIFY2(colored > 500, qPrintable(QString::number(colored)));
  }

  void namesCanHoldAnything() {
    std::vector<protocol::Record> records = regressionTape();
    records[0].op = "a<b>&\"c'\x01\xEF\xBF\xBF";
    records[0].inputs[1].name = "<script>";
    const TapeGraph graph = graphOf(records);
    const QByteArray svg = tapeGraphSvg(graph, layoutTapeGraph(graph));
    QXmlStreamReader reader(svg);
    while (!reader.atEnd()) {
      reader.readNext();
      QVERIFY(reader.name() != QLatin1String("script"));
    }
    QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
  }

  void layersAreLanesBehindTheirNodes() {
    std::vector<protocol::Record> records = longTape(60);
    for (protocol::Record& record : records) {
      const std::uint64_t of = record.forward ? record.forward : record.number;
      if (record.kind != protocol::RecordKind::playback)
        record.scope = of < 20 ? "model/a" : of < 40 ? "" : "model/b";
    }
    const TapeGraph graph = graphOf(records);
    const GraphLayout layout = layoutTapeGraph(graph);
    QVERIFY(layout.lanes.size() >= 2);
    for (std::size_t i = 0; i < layout.lanes.size(); ++i) {
      const GraphLayout::Lane& lane = layout.lanes[i];
      QVERIFY(lane.title.right() < lane.rect.left() && layout.bounds.contains(lane.title));
      if (i > 0) QVERIFY(layout.lanes[i - 1].rect.bottom() < lane.rect.top());
      int inside = 0;
      for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
        const bool sum = graph.nodes[node].kind == NodeKind::op && graph.nodes[node].backward;
        if (isLeaf(graph.nodes[node]) || sum || !lane.rect.intersects(layout.nodes[node])) continue;
        QCOMPARE(graph.nodes[node].scope, lane.scope);
        QVERIFY(lane.rect.contains(layout.nodes[node]));
        ++inside;
      }
      QVERIFY(inside > 0);
    }
    QVERIFY(tapeGraphSvg(graph, layout).contains("model/a"));
  }

  void aRowOfSeveralScopesHasNoLane() {
    TapeGraph graph;
    graph.nodes.resize(2);
    graph.nodes[0].scope = "a";
    graph.nodes[1].scope = "b";
    const std::vector<GridCell> cells = {{0, 0}, {0, 1}};
    const std::vector<QRectF> nodes = {QRectF(0, 0, 100, 50), QRectF(200, 0, 100, 50)};
    QVERIFY(scopeLanes(graph, nodes, cells).empty());
    graph.nodes[1].scope = "a";
    QCOMPARE(scopeLanes(graph, nodes, cells).size(), std::size_t{1});
    graph.nodes[0].scope = graph.nodes[1].scope = QString();
    QVERIFY(scopeLanes(graph, nodes, cells).empty());
  }

  void tooltipsTellEverything() {
    const std::vector<protocol::Record> records = regressionTape();
    const TapeGraph graph = graphOf(records);
    const int node = graph.nodeOf(1);
    const QStringList lines = nodeDetails(
        graph.nodes[node], &records[0], nullptr,
        [](const protocol::Record& record) { return "cell of " + QString::fromStdString(record.cell); });
    QCOMPARE(lines.first(), QStringLiteral("matmul"));
    for (const char* line : {"transpose_a\tFalse", "VJP\tdA = dC·Bᵀ, dB = Aᵀ·dC",
                             "source\tcell of a1b2c3, line 1", "took\t2.50 µs"})
      QVERIFY2(lines.contains(QString::fromUtf8(line)), qPrintable(lines.join('\n')));
    QVERIFY(lines.filter(QStringLiteral("in 1")).value(0).contains(QStringLiteral("W:0")));
  }

  void graphsOfPyTorchHaveItsWords() {
    protocol::Record record;
    record.kind = protocol::RecordKind::playback;
    record.op = "gradient";
    record.tape = 3;
    QCOMPARE(opText(record), QStringLiteral("gradient"));
    record.tape = protocol::first_foreign_tape;
    QCOMPARE(opText(record), QStringLiteral("backward"));

    GraphNode node;
    node.kind = NodeKind::playback;
    node.op = QStringLiteral("gradient");
    QCOMPARE(nodeText(node).title, QStringLiteral("playback"));
    QCOMPARE(nodeText(node).lines, QStringList(QStringLiteral("the tape runs backwards")));
    node.op = opText(record);
    QCOMPARE(nodeText(node).title, QStringLiteral("backward"));
    QCOMPARE(nodeText(node).lines, QStringList(QStringLiteral("the graph runs backwards")));

    TapeGraph graph;
    graph.nodes.resize(1);
    graph.nodes[0].op = QStringLiteral("matmul");
    graph.nodes[0].offTape = true;
    QCOMPARE(apartTitle(graph), QStringLiteral("Not on a tape:"));
    QVERIFY(spokenNode(graph.nodes[0]).endsWith(QStringLiteral("on no tape")));
    graph.nodes[0].op = QStringLiteral("aten.mm");
    QCOMPARE(apartTitle(graph), QStringLiteral("Not in the graph:"));
    QVERIFY(spokenNode(graph.nodes[0]).endsWith(QStringLiteral("in no graph")));
    graph.tape = 3;
    QVERIFY(!isOfTorch(graph));
    graph.tape = protocol::first_foreign_tape + 1;
    QVERIFY(isOfTorch(graph));
    QCOMPARE(torchDevice(QStringLiteral("/cpu:0")), QStringLiteral("cpu"));
    QCOMPARE(torchDevice(QStringLiteral("/gpu:1")), QStringLiteral("cuda:1"));
    QCOMPARE(torchDevice(QStringLiteral("cuda:0")), QStringLiteral("cuda:0"));
  }

  void nodesSayWhatTheyAre() {
    GraphNode node;
    node.kind = NodeKind::vjp;
    node.op = QStringLiteral("square");
    node.shape = QStringLiteral("scalar");
    node.dtype = QStringLiteral("float32");
    node.preview = QStringLiteral("6");
    node.customGradient = true;
    QCOMPARE(nodeText(node).title, QStringLiteral("∂ square"));
    QCOMPARE(nodeText(node).lines, QStringList({QStringLiteral("scalar · float32"), QStringLiteral("6")}));
    QCOMPARE(nodeText(node).badge, QStringLiteral("custom ∂"));
    QCOMPARE(spokenNode(node), QStringLiteral("custom VJP of square, scalar float32, value 6"));
    node.state = protocol::RecordState::pending;
    QCOMPARE(nodeText(node).state, QStringLiteral("next"));
    GraphEdge edge;
    edge.backward = true;
    edge.label = QStringLiteral("2.5");
    QCOMPARE(edgeLabel(edge), QStringLiteral("∂ 2.5"));
  }
};

TAPEDECK_TEST(TapeLayoutTest)
#include "tst_tape_layout.moc"
