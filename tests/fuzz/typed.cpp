// What is typed into the fields of panels and dialogs: questions about the past, ranges of colours, shapes,
// searches of the tape, changes of sets of ops.
#include <QCoreApplication>
#include <cmath>

#include "engine/protocol/codec.h"
#include "inspector/model/format.h"
#include "inspector/model/ops/past_question.h"
#include "inspector/model/tape/tape_folding.h"
#include "inspector/model/tensor/reshape.h"
#include "inspector/model/tensor/value_range.h"
#include "inspector/model/what_if/set_change.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using fuzz::expect;

extern "C" int LLVMFuzzerInitialize(int* count, char*** texts) {
  new QCoreApplication(*count, *texts);  // Qt needs it to the very end
  return 0;
}

namespace {

/// Answers with the points of two curves.
class Curves : public Source {
 public:
  Curves() {
    for (int i = 0; i < 9; ++i) {
      const double value = i == 6 ? std::nan("") : 0.1 * (i % 4);
      series_.points.push_back({"loss", static_cast<double>(i), value, 10u + static_cast<unsigned>(i)});
      series_.points.push_back({"val loss", static_cast<double>(i), -value, 0});
    }
    series_.next = series_.points.size();
  }
  quint64 request(const protocol::Request& message, const QString&) override {
    const quint64 id = ++last_;
    if (protocol::holds_alternative<protocol::GetSeries>(message))
      QMetaObject::invokeMethod(
          this, [this, id] { emit received(id, series_); }, Qt::QueuedConnection);
    return id;
  }
  bool connected() const override { return true; }
  std::size_t size() const { return series_.points.size(); }

 private:
  protocol::Series series_;
  quint64 last_ = 0;
};

struct Fields {
  Fields() {
    session.setSource(&source);
    protocol::Status status;
    status.series_points = source.size();
    emit source.received(0, status);
    curves.refresh();
    for (int tries = 0; tries < 1'000 && !curves.series("val loss"); ++tries)
      QCoreApplication::processEvents();
    expect(curves.series("loss") && curves.series("val loss"), "the curves are there");
    for (const char* op : {"matmul", "relu", "add"}) {
      GraphNode node;
      node.op = op;
      node.record = graph.nodes.size() + 1;
      node.shape = "3×4";
      node.scope = "network/dense_1";
      node.preview = "nan";
      node.odd = true;
      graph.nodes.push_back(node);
    }
  }
  Curves source;
  Session session;
  SeriesModel curves{&session};
  TapeGraph graph;
};

/// Hits of a curve are found one after the other, the same ones in both directions.
void check_hits(const SeriesData& curve, const PastQuestion& question) {
  std::vector<int> hits[2];
  for (const bool forward : {false, true})
    for (int at = pointWhere(curve, question, -1, forward); at >= 0;
         at = pointWhere(curve, question, at, forward)) {
      auto& found = hits[forward];
      expect(at < static_cast<int>(curve.size()), "a hit is a point");
      expect(found.empty() || (found.back() < at) == forward, "a search goes in its direction");
      found.push_back(at);
    }
  expect(std::equal(hits[0].rbegin(), hits[0].rend(), hits[1].begin(), hits[1].end()),
         "both directions find the same points");
}

void check_search(const QString& text, const PastQuestion& question) {
  expect(question.search.breakpoints.size() == 1, "a question is one breakpoint");
  const protocol::Breakpoint& breakpoint = question.search.breakpoints[0];
  protocol::parse_condition(breakpoint.condition);  // throws where it is none
  if (breakpoint.kind == protocol::BreakpointKind::write)
    expect(!breakpoint.target.empty() && !question.subject.isEmpty(), "a question about a variable names it");
  else
    expect(breakpoint.condition == text.trimmed().toStdString() && !question.search.element,
           "any other question is the condition as it was typed");
  if (const auto& element = question.search.element) {
    const QString digits = text.section('[', 1).section(']', 0, 0);
    for (const std::int64_t index : element->element)
      expect(digits.contains(QString::number(index)), "an index is one that was typed");
  }
  const protocol::Bytes bytes = protocol::encode(3, protocol::Request(question.search));
  expect(protocol::encode(3, protocol::decode_request(bytes).message) == bytes, "a question can be sent");
}

void ask(const Fields& fields, const QString& text) {
  const PastQuestion question = readPastQuestion(text, fields.curves);
  if (!question.problem.isEmpty()) return;
  if (question.curves.isEmpty()) return check_search(text, question);
  for (const QString& name : question.curves) {
    const SeriesData* curve = fields.curves.series(name);
    expect(curve != nullptr, "a question is about curves that there are");
    check_hits(*curve, question);
  }
}

void read_range(const QString& text) {
  const TypedRange typed = parseRange(text);
  if (!typed.range)
    return expect(text.trimmed().isEmpty() == typed.error.isEmpty(), "what is no range has an error");
  const auto& [low, high] = *typed.range;
  expect(typed.error.isEmpty() && std::isfinite(low) && std::isfinite(high) && low < high, "a range is one");
  const TypedRange again = parseRange(QString::number(low, 'g', 17) + " … " + QString::number(high, 'g', 17));
  expect(again.range == typed.range, "a range that is typed again is the same");
}

void read_shape(const QString& text) {
  static const std::vector<std::vector<std::int64_t>> shapes = {{240}, {784, 10}, {}, {0, 3}, {2, 3, 4}};
  for (const auto& shape : shapes) {
    const Reshape read = parseReshape(text, shape);
    if (!read.error.isEmpty() || text.trimmed().isEmpty()) continue;
    if (const auto& images = read.images)
      expect(images->rows * images->columns * images->count == elementCount(shape),
             "images have all elements");
    else
      expect(elementCount(read.shape) == elementCount(shape), "another shape has as many elements");
  }
}

void find(const TapeGraph& graph, const QString& text) {
  const std::vector<int> found = findNodes(graph, text);
  expect(!text.split(' ', Qt::SkipEmptyParts).isEmpty() || found.empty(), "nothing is found by nothing");
  for (const int node : findNodes(graph, text + " relu"))
    expect(graph.nodes[static_cast<std::size_t>(node)].op == "relu", "each word is in what is found");
  for (std::size_t i = 0; i < found.size(); ++i)
    expect(found[i] >= 0 && found[i] < static_cast<int>(graph.nodes.size()) &&
               (i == 0 || found[i - 1] < found[i]),
           "what is found are nodes, in order");
}

/// The text as the set, and its lines as the three fields.
void change_set(const QString& text) {
  const QStringList lines = text.split('\n');
  for (const auto action : {SetAction::scale, SetAction::add, SetAction::set, SetAction::clip})
    for (const protocol::SetChange& draft :
         {protocol::SetChange{text.toStdString(), "learning_rate", action, "0.1"},
          protocol::SetChange{lines.value(0).toStdString(), lines.value(1).toStdString(), action,
                              lines.value(2).toStdString()}}) {
      SetProblem problem;
      const auto change = setChangeOf(draft, &problem);
      expect(change.has_value() == problem.sentence.isEmpty(), "there is a change or a problem");
      const auto letters = QString::fromStdString(draft.filter).size();
      expect(problem.position >= -1 && problem.position <= letters,
             "a problem is in the text, or is the text");
      if (!change) continue;
      expect(change->set && !change->text.isEmpty(), "a change says what it changes");
      protocol::MakeBranch make;
      make.sets = {*change->set};
      const protocol::Bytes sent = protocol::encode(3, protocol::Request(make));
      expect(protocol::encode(3, protocol::decode_request(sent).message) == sent, "a change can be sent");
    }
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  static auto& fields = *new Fields;
  const QString text = QString::fromUtf8(text_of(bytes).data(), static_cast<qsizetype>(bytes.size()));
  ask(fields, text);
  read_range(text);
  read_shape(text);
  find(fields.graph, text);
  change_set(text);
}
