// Graph's model without a window: what it asks, what it keeps of a session that ended, and what it says.
#include <QSignalSpy>
#include <QtTest>

#include "inspector/model/functions/functions_model.h"
#include "inspector/model/functions/graph_text.h"
#include "inspector/model/functions/graph_tree.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;

namespace {

protocol::FunctionTrace traceOf(quint64 id, std::vector<protocol::TraceReason> reasons) {
  protocol::FunctionTrace trace;
  trace.id = id;
  trace.signature = "f(k=" + std::to_string(id) + ")";
  trace.reasons = std::move(reasons);
  trace.calls = 1;
  trace.nodes = 3;
  trace.traced_nodes = 5;
  return trace;
}

protocol::GraphFunctionInfo functionOf(const std::string& name, std::vector<protocol::FunctionTrace> traces) {
  protocol::GraphFunctionInfo function;
  function.id = traces.empty() ? 1 : 100 + traces[0].id;
  function.name = name;
  function.total = traces.size();
  function.traces = std::move(traces);
  return function;
}

protocol::GraphFunctions listOf(std::vector<protocol::GraphFunctionInfo> functions, bool eagerly = false) {
  protocol::GraphFunctions list;
  list.run_eagerly = eagerly;
  list.total = static_cast<std::uint32_t>(functions.size());
  list.functions = std::move(functions);
  return list;
}

protocol::GraphRow nodeRow(std::int64_t number, const std::string& op, std::vector<std::int64_t> inputs,
                           std::uint32_t depth = 0) {
  protocol::GraphRow row;
  row.depth = depth;
  row.number = number;
  row.name = "%" + std::to_string(number);
  row.op = op;
  for (const std::int64_t input : inputs) row.inputs.push_back({"%" + std::to_string(input), input});
  row.result = "float32 ()";
  return row;
}

protocol::GraphRow heading(const std::string& op, std::uint32_t depth) {
  protocol::GraphRow row;
  row.depth = depth;
  row.op = op;
  return row;
}

protocol::GraphRows pageOf(quint64 trace, std::uint32_t first, std::uint32_t count, std::uint32_t total) {
  protocol::GraphRows rows;
  rows.trace = trace;
  rows.stages = {{"as traced", total}};
  rows.first = first;
  rows.total = total;
  for (std::uint32_t i = first; i < first + count; ++i) rows.rows.push_back(nodeRow(i, "negative", {}));
  return rows;
}

const protocol::TraceReason first_call{protocol::TraceCause::first, "", "first call"};

}  // namespace

class TestFunctionsModel : public QObject {
  Q_OBJECT

  test::FakeSource source_;
  Session session_;
  std::unique_ptr<FunctionsModel> model_;

 private slots:
  void init() {
    source_.status = {};
    source_.status.records = source_.status.finished = 2;
    source_.up = true;
    session_.setSource(&source_);
    QTRY_VERIFY(session_.live() && session_.recordCount() == 2);
    source_.automatic = false;
    source_.waiting.clear();
    source_.asked.clear();
    model_ = std::make_unique<FunctionsModel>(&session_);
  }
  void cleanup() {
    model_.reset();
    session_.setSource(nullptr);
    source_.automatic = true;
  }

  void hiddenItAsksNothing() {
    source_.status.records = 100;
    source_.sendStatus();
    nothingMayHappenFor(500);
    QCOMPARE(source_.count<protocol::GetGraphFunctions>(), std::size_t{0});
    model_->setShown(true);
    QCOMPARE(source_.count<protocol::GetGraphFunctions>(), std::size_t{1});
    QCOMPARE(model_->emptyText(), QString("Asking the session for its functions …"));
    source_.answer<protocol::GetGraphFunctions>(listOf({}));
    QVERIFY(model_->emptyText().startsWith("No function was traced yet"));
    source_.status.records = 101;
    source_.sendStatus();
    source_.answer<protocol::GetGraphFunctions>(listOf({}, true));
    QVERIFY(model_->emptyText().startsWith("Functions run eagerly"));
  }

  void manyFunctionsComeByPage() {
    model_->setShown(true);
    std::vector<protocol::GraphFunctionInfo> some;
    for (quint64 i = 1; i <= 100; ++i)
      some.push_back(functionOf("f" + std::to_string(i), {traceOf(i, {first_call})}));
    auto page = listOf(some);
    page.total = 150;
    source_.answer<protocol::GetGraphFunctions>(page);
    QVERIFY(model_->functions().empty());  // all at once
    QCOMPARE(source_.askedFor<protocol::GetGraphFunctions>().back().first, 100u);
    some.resize(50);
    page = listOf(some);
    page.first = 100;
    page.total = 150;
    source_.answer<protocol::GetGraphFunctions>(page);
    QCOMPARE(model_->functions().size(), std::size_t{150});
    QCOMPARE(model_->listNote(), QString());
  }

  void aGraphComesInPiecesAndTheOldOneStaysUntilAllAreHere() {
    model_->setShown(true);
    source_.answer<protocol::GetGraphFunctions>(
        listOf({functionOf("f", {traceOf(1, {first_call}), traceOf(2, {first_call})})}));
    QCOMPARE(model_->trace(), 2u);  // the newest
    QCOMPARE(model_->graphNote(), QString("Fetching the graph …"));
    source_.answer<protocol::GetGraph>(pageOf(2, 0, 1000, 1500));
    QCOMPARE(model_->graphNote(), QString("Fetching the graph: 1,000 of 1,500 rows"));
    QVERIFY(model_->rows().empty());
    source_.answer<protocol::GetGraph>(pageOf(2, 1000, 500, 1500));
    QCOMPARE(model_->rows().size(), std::size_t{1500});
    QCOMPARE(model_->graphNote(), QString());
    model_->choose(1);
    QCOMPARE(model_->rows().size(), std::size_t{1500});
    source_.answer<protocol::GetGraph>(pageOf(1, 0, 3, 3));
    QCOMPARE(model_->rows().size(), std::size_t{3});
    // Rows that do not follow are an error, and no graph.
    model_->choose(2);
    source_.answer<protocol::GetGraph>(pageOf(2, 7, 3, 1500));
    QVERIFY(model_->graphNote().contains("malformed"));
    QVERIFY(model_->rows().empty() && model_->stages().empty());
    // The one that is here is shown again, and asked for no more.
    const std::size_t before = source_.count<protocol::GetGraph>();
    model_->choose(1);
    QCOMPARE(model_->rows().size(), std::size_t{3});
    QCOMPARE(model_->graphNote(), QString());
    QCOMPARE(source_.count<protocol::GetGraph>(), before);
  }

  void theGradientOfATraceIsChosenLikeATrace() {
    protocol::FunctionTrace trace = traceOf(1, {first_call});
    trace.gradients = {{7, "x, w", "", 0}, {8, "x", "it plays a tape of its own", 0}};
    model_->setShown(true);
    source_.answer<protocol::GetGraphFunctions>(listOf({functionOf("f", {trace})}));
    QCOMPARE(model_->trace(), 1u);  // the newest trace, though the gradient has a higher number
    source_.answer<protocol::GetGraph>(pageOf(1, 0, 3, 3));
    QCOMPARE(model_->chosenSignature(), QString("f(k=1)"));
    model_->choose(7);
    QCOMPARE(source_.askedFor<protocol::GetGraph>().back().trace, 7u);
    source_.answer<protocol::GetGraph>(pageOf(7, 0, 4, 4));
    QCOMPARE(model_->rows().size(), std::size_t{4});
    QCOMPARE(model_->chosenSignature(), QString("gradient of f: x, w"));
    QCOMPARE(model_->graphNote(), QString());
    QCOMPARE(model_->chosenGradient()->inputs, std::string("x, w"));
    QCOMPARE(model_->chosenTrace()->id, 1u);
    QCOMPARE(gradientReason(trace.gradients[0]), QString("called under a tape"));
    QCOMPARE(gradientReason(trace.gradients[1]),
             QString("a tape plays its VJPs one by one: it plays a tape of its own"));
    model_->choose(8);
    source_.answer<protocol::GetGraph>(protocol::Failure{"A tape plays the VJPs of f one by one.", "played"});
    QCOMPARE(model_->graphNote(), QString("A tape plays the VJPs of f one by one."));
    QVERIFY(model_->rows().empty());
  }

  void theNewestTraceOfTheSameFunctionTakesThePlaceOfOneThatHasGone() {
    model_->setShown(true);
    source_.answer<protocol::GetGraphFunctions>(
        listOf({functionOf("f", {traceOf(1, {first_call})}), functionOf("g", {traceOf(2, {first_call})})}));
    model_->choose(1);
    source_.answer<protocol::GetGraph>(pageOf(1, 0, 3, 3));
    source_.status.records = 9;
    source_.sendStatus();
    source_.answer<protocol::GetGraphFunctions>(
        listOf({functionOf("g", {traceOf(2, {first_call})}), functionOf("f", {traceOf(5, {first_call})}),
                functionOf("h", {traceOf(6, {first_call})})}));
    QCOMPARE(model_->trace(), 5u);
    source_.answer<protocol::GetGraph>(protocol::Failure{"Trace 5 is not there any longer.", "gone"});
    QCOMPARE(model_->graphNote(), QString("Trace 5 is not there any longer."));
    QVERIFY(model_->rows().empty() && model_->stages().empty());
  }

  void aSessionThatEndedIsShownAsOfThen() {
    model_->setShown(true);
    source_.answer<protocol::GetGraphFunctions>(
        listOf({functionOf("f", {traceOf(1, {first_call}), traceOf(2, {first_call})})}));
    source_.answer<protocol::GetGraph>(pageOf(2, 0, 3, 3));
    source_.setUp(false);
    QTRY_VERIFY(!session_.live());
    QCOMPARE(model_->listNote(), QString("The session has ended; this is as of then."));
    QCOMPARE(model_->rows().size(), std::size_t{3});
    QSignalSpy changes(model_.get(), &FunctionsModel::graphChanged);
    model_->choose(1);
    QCOMPARE(model_->graphNote(), QString("The session has ended: this graph was not fetched before."));
    QVERIFY(model_->rows().empty() && model_->stages().empty());
    QCOMPARE(changes.count(), 1);
    model_->choose(2);
    QCOMPARE(model_->graphNote(), QString());
    QCOMPARE(model_->rows().size(), std::size_t{3});
    QCOMPARE(changes.count(), 2);
    // Another stage of it was not fetched: the list of stages leads back.
    model_->setStage(1);
    QCOMPARE(model_->graphNote(), QString("The session has ended: this graph was not fetched before."));
    QVERIFY(model_->rows().empty());
    QCOMPARE(model_->stages().size(), std::size_t{1});
    model_->setStage(0);
    QCOMPARE(model_->rows().size(), std::size_t{3});
  }

  void aTraceFileIsNotAsked() {
    const QString words = "A trace file has the ops that ran, and no graphs of functions";
    QString shown;  // by a view
    connect(model_.get(), &FunctionsModel::noteChanged, this, [&] { shown = model_->emptyText(); });
    source_.status.trace_file = "/tmp/x.tapetrace";
    source_.sendStatus();
    QTRY_VERIFY(session_.status().trace_file);
    QVERIFY2(shown.startsWith(words), qPrintable(shown));
    shown.clear();
    model_->setShown(true);
    QVERIFY2(shown.startsWith(words), qPrintable(shown));
    QCOMPARE(source_.count<protocol::GetGraphFunctions>(), std::size_t{0});
    disconnect(model_.get(), &FunctionsModel::noteChanged, this, nullptr);
  }

  void adviceFollowsTheCauseOfMostTraces() {
    using enum protocol::TraceCause;
    std::vector<protocol::FunctionTrace> traces{traceOf(1, {first_call})};
    for (quint64 i = 2; i <= 4; ++i) traces.push_back(traceOf(i, {{shape, "x", "…"}}));
    QCOMPARE(retraceWarning(functionOf("f", traces)), QString());
    traces.push_back(traceOf(5, {{number, "k", "…"}}));
    const QString warning = retraceWarning(functionOf("f", traces));
    QVERIFY2(
        warning.startsWith("Traced 5 times") && warning.contains("Argument x changes: give input_signature"),
        qPrintable(warning));
    QCOMPARE(reasonText(traceOf(1, {{shape, "x", "a"}, {number, "k", "b"}})), QString("a; b"));
    protocol::FunctionTrace trace = traceOf(1, {});
    trace.inlined = 2;
    QCOMPARE(callsText(trace), QString("ran 1 time, also inlined"));
    trace.calls = 0;
    QCOMPARE(callsText(trace), QString("only inlined"));
    trace.inlined = 0;
    QCOMPARE(callsText(trace), QString("never ran"));
    QCOMPARE(nodesText(trace), QString("3 nodes, 5 as traced"));
    QCOMPARE(stageText({"dead code", 3, 0, 1, 2}, false), QString("After dead code: 1 merged, 2 removed"));
    QCOMPARE(stageText({"dead code", 3}, false), QString("After dead code: no change"));
    QCOMPARE(stageText({"fusion", 3, 0, 0, 0, 2}, false), QString("After fusion: 2 fused"));
  }

  void rowsBecomeATreeThatAFilterThins() {
    GraphTree tree;
    auto gone = nodeRow(4, "square", {0});
    gone.change = protocol::NodeChange::merged;
    gone.note = "merged: the same as %1";
    auto last = heading("return", 0);
    last.inputs = {{"%2", 2}};
    tree.setRows({nodeRow(0, "argument", {}), nodeRow(1, "square", {0}), nodeRow(2, "loop", {0, 1}),
                  heading("while", 1), nodeRow(0, "less", {}, 2), heading("do", 1),
                  nodeRow(0, "argument", {}, 2), nodeRow(1, "exp", {0}, 2), gone, last});
    QCOMPARE(tree.rowCount(), 5);
    QCOMPARE(tree.nodes(), 4);  // no argument, and none that has gone
    const QModelIndex loop = tree.index(2, 0), body = tree.index(1, 0, loop);
    QCOMPARE(tree.rowCount(loop), 2);
    QCOMPARE(tree.rowCount(body), 2);
    QCOMPARE(tree.parent(body), loop);
    // Inputs are of the same graph.
    QCOMPARE(tree.inputNode(loop, 1), tree.index(1, 0));
    QCOMPARE(tree.inputNode(tree.index(1, 0, body), 0), tree.index(0, 0, body));
    QVERIFY(!tree.inputNode(loop, 2).isValid());
    QCOMPARE(tree.reader(tree.index(0, 0)), tree.index(1, 0));
    QCOMPARE(tree.reader(tree.index(0, 0, body)), tree.index(1, 0, body));
    QVERIFY(tree.index(3, 0).data(GraphTree::GoneRole).toBool());
    QVERIFY(!tree.index(2, 0).data(GraphTree::GoneRole).toBool());
    tree.setFilter("exp");
    QCOMPARE(tree.rowCount(), 1);
    QCOMPARE(tree.matches(), 1);
    QCOMPARE(tree.rowCount(tree.index(0, 0)), 1);
    QVERIFY(!tree.inputNode(tree.index(0, 0), 0).isValid());  // filtered out
    tree.setFilter("square merged");
    QCOMPARE(tree.rowCount(), 1);
    QCOMPARE(tree.matches(), 0);
    QCOMPARE(tree.others(), 1);
    tree.setFilter("argument");
    QCOMPARE(tree.matches(), 0);
    QCOMPARE(tree.others(), 2);
    tree.setFilter("nothing of the kind");
    QCOMPARE(tree.rowCount(), 0);
    tree.setFilter({});
    QCOMPARE(tree.rowCount(), 5);
    QCOMPARE(
        graphAsText({nodeRow(1, "square", {0}), gone, last}, "f(x)"),
        QString("f(x)\n%1 = square(%0) : float32 ()\n# %4 = square(%0) : float32 ()  [merged: the same as "
                "%1]\nreturn %2\n"));
  }
};

TAPEDECK_TEST(TestFunctionsModel)
#include "tst_functions_model.moc"
