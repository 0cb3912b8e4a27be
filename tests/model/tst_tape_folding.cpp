// Groups of a tape's nodes, and the graph that is left where some are folded.
#include <QTest>
#include <algorithm>

#include "graph_text.h"
#include "inspector/model/tape/repeats.h"
#include "inspector/model/tape/tape_folding.h"
#include "records_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;

namespace {

std::vector<Repeat> repeatsOf(const char* letters, int least = 2, const std::function<int(int)>& cost = {}) {
  std::vector<int> row;
  for (const char* at = letters; *at; ++at) row.push_back(*at);
  return findRepeats(
      row, [least](int, int) { return least; }, [&cost](int at) { return cost ? cost(at) : 0; });
}

/// A network of `blocks` equal blocks of three ops, each with a weight, between two other ops; played back.
QByteArray network(int blocks) {
  QString text = QStringLiteral("op cast(x:4x4) -> h0:4x4 tape=1 scope=net cell=a:1\n");
  const auto line = [&text](QString format, int first = 0, int second = 0, int third = 0) {
    text += format.replace(QStringLiteral("%1"), QString::number(first))
                .replace(QStringLiteral("%2"), QString::number(second))
                .replace(QStringLiteral("%3"), QString::number(third)) +
            QLatin1Char('\n');
  };
  for (int i = 0; i < blocks; ++i) {
    line(QStringLiteral("op matmul(h%1, W%1:4x4) -> a%1:4x4 tape=1 scope=net/block_%1/dense_%1 cell=a:2"), i);
    line(QStringLiteral("op relu(a%1) -> b%1:4x4 tape=1 scope=net/block_%1 cell=a:3"), i);
    line(QStringLiteral("op add(b%1, h%1) -> h%2:4x4 tape=1 scope=net/block_%1 cell=a:4"), i, i + 1);
  }
  line(QStringLiteral("op reduce_mean(h%1) -> loss:=1 tape=1 cell=a:5"), blocks);
  const int last = 3 * blocks + 2;
  line(QStringLiteral("playback gradient(loss) -> g tape=1"));
  line(QStringLiteral("  vjp reduce_mean(one:=1) -> g%1:4x4 of=%2 tape=1"), blocks, last);
  for (int i = blocks; i-- > 0;) {
    const int matmul = 3 * i + 2;
    line(QStringLiteral("  vjp add(g%1) -> p%2:4x4, q%2:4x4 of=%3 tape=1"), i + 1, i, matmul + 2);
    line(QStringLiteral("  vjp relu(p%1) -> r%1:4x4 of=%2 tape=1"), i, matmul + 1);
    line(QStringLiteral("  vjp matmul(r%1) -> s%1:4x4, V%1:4x4 of=%2 tape=1"), i, matmul);
    line(QStringLiteral("  op add(q%1, s%1) -> g%1:4x4"), i);
  }
  return text.toUtf8();
}

struct Made {
  TapeGraph graph;
  TapeGroups groups;
  explicit Made(const QByteArray& text, RecordNumber cursor = 100000) {
    const RecordsText read(text.constData());
    graph =
        buildTapeGraph(read.records, std::min<RecordNumber>(cursor, read.records.size()), {}, Moment::now);
    groups = TapeGroups(graph);
  }
  FoldedTape folded(const Folding& folding = {}) const { return foldTape(graph, groups, folding); }
  QStringList titles() const {
    QStringList list;
    for (const TapeGroup& group : groups.all())
      list << QString(2 * group.depth, QLatin1Char(' ')) + group.title;
    return list;
  }
};

QStringList names(const TapeGraph& graph) {
  QStringList list;
  for (const GraphNode& node : graph.nodes)
    list << (node.kind == NodeKind::vjp ? QStringLiteral("∂ ") : QString()) + node.op;
  return list;
}

const GraphNode& named(const TapeGraph& graph, const QString& op, NodeKind kind = NodeKind::op) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [&](const GraphNode& node) { return node.op == op && node.kind == kind; });
  if (found == graph.nodes.end()) throw std::runtime_error("no node " + op.toStdString());
  return *found;
}

}  // namespace

class TapeFoldingTest : public QObject {
  Q_OBJECT
 private slots:
  void findsWhatRepeats() {
    QCOMPARE(repeatsOf("abcabcabcx"), (std::vector<Repeat>{{0, 3, 3}}));
    QCOMPARE(repeatsOf("xaaaay"), (std::vector<Repeat>{{1, 1, 4}}));
    QCOMPARE(repeatsOf("xabbbcabbbcabbbcy"),
             (std::vector<Repeat>{{1, 5, 3}}));  // the outer loop, not the inner
    QCOMPARE(repeatsOf("ababxcdcd"), (std::vector<Repeat>{{0, 2, 2}, {5, 2, 2}}));
    QCOMPARE(repeatsOf("abab", 3), std::vector<Repeat>());
    QCOMPARE(repeatsOf(""), std::vector<Repeat>());
    QCOMPARE(repeatsOf("a"), std::vector<Repeat>());
  }

  void cutsWhereLeastLeadsOver() {
    // "bcabcabc" could begin at b, c or a: borders at multiples of three of the row are the cheap ones.
    const auto cost = [](int at) { return at % 3 == 2 ? 1 : 5; };
    QCOMPARE(repeatsOf("xbcabcabcy", 2, cost).at(0).first, 2);
    // Of equally cheap ones the last.
    QCOMPARE(repeatsOf("xbcabcabcy").at(0).first, 3);
  }

  void equalBlocksAreOneGroup() {
    const Made made(network(6));
    QCOMPARE(made.titles().mid(0, 4), (QStringList{"net", "  block × 6", "    block_0", "    block_1"}));
    QCOMPARE(made.groups.group(0).ops, 19);
    QCOMPARE(made.groups.group(0).items, 2);
    QCOMPARE(made.groups.group(1).times, 6);
    // 20 forward ops are shown whole; 38 are not.
    QCOMPARE(made.folded().folds, 0);
    const Made large(network(12));
    QCOMPARE(names(large.folded().graph), (QStringList{"constant", "cast", "block × 12", "reduce_mean",
                                                       "gradient", "∂ reduce_mean", "∂ block × 12", "add"}));
    QCOMPARE(named(large.folded().graph, QStringLiteral("block × 12")).folded, 36);
  }

  void itsVjpsFoldWithIt() {
    const FoldedTape folded = Made(network(12)).folded();
    const GraphNode& back = named(folded.graph, QStringLiteral("block × 12"), NodeKind::vjp);
    QVERIFY(back.backward);
    QCOMPARE(folded.graph.nodes.at(static_cast<std::size_t>(back.forward)).op, QStringLiteral("block × 12"));
    QCOMPARE(back.shape, QStringLiteral("4×4"));
    const QStringList edges = edgesOf(folded.graph);
    QCOMPARE(edges.filter(QStringLiteral("block × 12#2 -> ")).size(),
             1);  // six values become one edge each way
    QVERIFY2(edges.contains(QStringLiteral("cast#1 -> block × 12#2")),
             qPrintable(edges.join(QLatin1Char('\n'))));
    QCOMPARE(edges.filter(QStringLiteral("arrives")).filter(QStringLiteral("=> block")).size(), 0);
  }

  void openingShowsOneLevel() {
    const Made made(network(12));
    Folding folding;
    folding.chosen[made.groups.group(1).key] = true;
    const FoldedTape folded = made.folded(folding);
    QVERIFY(names(folded.graph).contains(QStringLiteral("block_11")));
    QVERIFY(names(folded.graph).contains(QStringLiteral("∂ block_11")));
    QVERIFY(!names(folded.graph).contains(QStringLiteral("relu")));
    const auto place = names(folded.graph).indexOf(QStringLiteral("block_3"));
    QCOMPARE(folded.around.at(static_cast<std::size_t>(place)), made.groups.group(1).key);
    folding.chosen[made.groups.group(0).key] = false;
    QCOMPARE(names(made.folded(folding).graph),
             (QStringList{"net", "reduce_mean", "gradient", "∂ reduce_mean", "∂ net"}));
    folding = {};
    folding.all = true;
    QCOMPARE(made.folded(folding).graph.nodes.size(), made.graph.nodes.size());
    QCOMPARE(edgesOf(made.folded(folding).graph), edgesOf(made.graph));
  }

  void turnsOfALoopAreFoundByTheirLines() {
    QString text = QStringLiteral("op cast(x:=1) -> h0:=1 tape=1 cell=a:1\n");
    for (int i = 0; i < 12; ++i)
      text +=
          QStringLiteral(
              "op multiply(h%1, W:=2) -> t%1:=2 tape=1 cell=a:4\nop tanh(t%1) -> h%2:=1 tape=1 cell=a:5\n")
              .arg(i)
              .arg(i + 1);
    text += QStringLiteral("op square(h12) -> z:=1 tape=1 cell=a:7\n");
    const Made made(text.toUtf8());
    QCOMPARE(made.titles().mid(0, 3), (QStringList{"lines 4–5 × 12", "  iteration 1", "  iteration 2"}));
    const FoldedTape folded = made.folded();
    QCOMPARE(names(folded.graph), (QStringList{"constant", "cast", "lines 4–5 × 12", "square"}));
    // What all turns read belongs to the loop, and is folded with it.
    QVERIFY(!names(folded.graph).contains(QStringLiteral("W:0")));
    Folding folding;
    folding.chosen[made.groups.group(0).key] = true;
    QVERIFY(names(made.folded(folding).graph).contains(QStringLiteral("W:0")));
    QVERIFY(names(made.folded(folding).graph).contains(QStringLiteral("iteration 12")));
  }

  void opsOfDifferentLinesAreNoLoop() {
    QString text;
    for (int i = 0; i < 12; ++i)
      text += QStringLiteral("op tanh(h%1:=1) -> h%2:=1 tape=1 cell=a:%2\n").arg(i).arg(i + 1);
    QCOMPARE(Made(text.toUtf8()).titles(), QStringList());
  }

  void keysAreTheSameInTheNextStep() {
    const auto keys = [](const Made& made) {
      QStringList list;
      for (const TapeGroup& group : made.groups.all()) list << group.key;
      return list;
    };
    QByteArray later("op negative(u:=1) -> v:=1 tape=2\n");
    QByteArray second = network(6);
    for (int record = 60; record > 0; --record)  // the numbers of records move on by one
      second.replace("of=" + QByteArray::number(record) + " ", "of=" + QByteArray::number(record + 1) + " ");
    const Made made(later + second);
    QCOMPARE(keys(made), keys(Made(network(6))));
    const QStringList all = keys(made);
    QCOMPARE(QSet<QString>(all.begin(), all.end()).size(), all.size());
  }

  void theCursorsGroupIsMarkedAndFound() {
    const Made made(network(12), 6);  // relu of block_1 … the tape as far as that
    const Made large(network(12));
    TapeGraph graph = large.graph;
    const int relu = graph.nodeOf(6);
    for (GraphNode& node : graph.nodes) node.current = false;
    graph.nodes[static_cast<std::size_t>(relu)].current = true;
    const FoldedTape folded = foldTape(graph, large.groups, {});
    const GraphNode& fold = named(folded.graph, QStringLiteral("block × 12"));
    QVERIFY(fold.current);
    QCOMPARE(fold.here, QStringLiteral("relu"));
    QVERIFY(!named(folded.graph, QStringLiteral("block × 12"), NodeKind::vjp).current);
    QCOMPARE(folded.graph.nodes.at(static_cast<std::size_t>(folded.graph.nodeOf(6))).op, fold.op);
    QCOMPARE(large.groups.around(relu).size(), 3);  // net, block × 12, block_1
    QVERIFY(made.groups.all().size() < large.groups.all().size());
  }

  void whatIsOddInAGroupIsToldByIt() {
    QByteArray text = network(12);
    text.replace("b5:4x4", "b5:=nan");
    const FoldedTape folded = Made(text).folded();
    QVERIFY(named(folded.graph, QStringLiteral("block × 12")).odd);
    QVERIFY(!named(folded.graph, QStringLiteral("cast")).odd);
    QVERIFY(saysOdd(QStringLiteral("[1, -inf]")) && saysOdd(QStringLiteral("nan")));
    QVERIFY(!saysOdd(QStringLiteral("'information'")) && !saysOdd(QStringLiteral("'nan'")));
  }

  void ancestorsAndDescendantsAreWhatValuesWentThrough() {
    const Made made(network(2));
    const auto keys = [&](const std::vector<int>& nodes) {
      QStringList list;
      for (const int node : nodes) list << nameOf(made.graph, node);
      return list;
    };
    const int relu = made.graph.nodeOf(3);
    const QStringList up = keys(ancestors(made.graph, std::span(&relu, 1)));
    QCOMPARE(up, (QStringList{"constant", "cast#1", "W0:0", "matmul#2", "relu#3"}));
    const QStringList down = keys(descendants(made.graph, std::span(&relu, 1)));
    QVERIFY(down.contains("reduce_mean#8") && down.contains("vjp matmul#13") && !down.contains("matmul#2"));
    Folding only;
    only.only = QSet<quint64>();
    for (const int node : ancestors(made.graph, std::span(&relu, 1)))
      only.only->insert(nodeKey(made.graph.nodes[static_cast<std::size_t>(node)]));
    const FoldedTape folded = made.folded(only);
    QCOMPARE(folded.graph.nodes.size(), std::size_t(5));
    QCOMPARE(folded.left_out, static_cast<int>(made.graph.nodes.size()) - 5);
    for (const GraphEdge& edge : folded.graph.edges) QVERIFY(edge.from >= 0 && edge.to < 5);
  }

  void findsNodesByWords() {
    const Made made(network(3));
    const auto found = [&](const char* text) {
      return findNodes(made.graph, QString::fromUtf8(text)).size();
    };
    QCOMPARE(found("matmul"), std::size_t(6));
    QCOMPARE(found("matmul vjp"), std::size_t(3));
    QCOMPARE(found("MATMUL block_1/"), std::size_t(1));
    QCOMPARE(found("W2:0"), std::size_t(1));
    QCOMPARE(found("nothing"), std::size_t(0));
    QCOMPARE(found("  "), std::size_t(0));
  }
};

TAPEDECK_TEST(TapeFoldingTest)
#include "tst_tape_folding.moc"
