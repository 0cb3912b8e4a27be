// Questions about the past, as they are typed: of a curve, a variable, an element, or any condition.
#include <QTest>

#include "inspector/model/ops/past_question.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using protocol::BreakpointKind;
using protocol::Comparison;

class TestPastQuestion : public QObject {
  Q_OBJECT

  test::FakeSource source_;
  Session session_;
  SeriesModel curves_{&session_};

  PastQuestion read(const QString& text) { return readPastQuestion(text, curves_); }

 private slots:
  void initTestCase() {
    session_.setSource(&source_);
    for (int i = 0; i < 5; ++i)
      source_.points.push_back(
          {"loss", static_cast<double>(i), 1.0 / (i + 1), 10u + static_cast<unsigned>(i)});
    source_.status.series_points = source_.points.size();
    source_.sendStatus();
    QTRY_VERIFY(curves_.series("loss") && curves_.series("loss")->size() == 5);
  }

  void aCurveGoesByItsName() {
    for (const char* text : {"loss < 0.3", " loss<0.3", "loss below 0.3", "\"loss\" < 0.3"}) {
      const PastQuestion question = read(text);
      QVERIFY2(question.problem.isEmpty() && question.curves == QStringList{"loss"}, text);
      QCOMPARE(question.comparison, Comparison::less);
      QCOMPARE(question.value, 0.3);
      const SeriesData& curve = *curves_.series("loss");
      QCOMPARE(pointWhere(curve, question, -1, false), 4);
      QCOMPARE(pointWhere(curve, question, -1, true), 3);
      QCOMPARE(pointWhere(curve, question, 4, false), 3);
      QCOMPARE(pointWhere(curve, question, 3, false), -1);
    }
    QCOMPARE(pointWhere(*curves_.series("loss"), read("loss == 0.333333"), -1, false), 2);
  }

  void aVariableIsLookedForWhereItIsWritten() {
    const PastQuestion question = read("W < 0");
    QVERIFY(question.curves.isEmpty() && question.problem.isEmpty());
    QCOMPARE(question.search.breakpoints.size(), std::size_t{1});
    const protocol::Breakpoint& breakpoint = question.search.breakpoints[0];
    QVERIFY(breakpoint.kind == BreakpointKind::write);
    QCOMPARE(breakpoint.target, std::string("W"));
    QCOMPARE(breakpoint.condition, std::string("min(out) < 0"));
    QCOMPARE(read("W > 1e3").search.breakpoints[0].condition, std::string("max(out) > 1e3"));
    QCOMPARE(read("\"dense/kernel\" above 2").search.breakpoints[0].target, std::string("dense/kernel"));
    const auto function = read("max(abs(W)) > 3").search.breakpoints[0];
    QCOMPARE(function.target, std::string("W"));
    QCOMPARE(function.condition, std::string("max(abs(out)) > 3"));
  }

  void anElementIsTested() {
    const PastQuestion question = read("W[0, 3] == 7.3");
    QCOMPARE(question.search.breakpoints[0].target, std::string("W"));
    QVERIFY(question.search.element);
    QCOMPARE(question.search.element->element, (std::vector<std::int64_t>{0, 3}));
    QCOMPARE(question.search.element->comparison, std::string("=="));
    QCOMPARE(question.search.element->value, 7.3);
    QVERIFY(read("w = 64").search.element->element.empty());
    QCOMPARE(read("W[99999999999999999999] == 1").problem,
             QString("W[99999999999999999999] has an index that no tensor has."));
  }

  void anythingElseIsACondition() {
    for (const char* text :
         {"nan(out)", "op:matmul max(out) > 3", "norm(grad) < 1e-8", "out.rank > 2", "line == 7"}) {
      const PastQuestion question = read(text);
      QVERIFY2(question.problem.isEmpty(), text);
      QVERIFY2(question.search.breakpoints[0].kind == BreakpointKind::condition, text);
      QCOMPARE(question.search.breakpoints[0].condition, std::string(text));
    }
    for (const char* text : {"", "  ", "max(out >", "max(W"})
      QVERIFY2(read(text).problem.contains("Ask for a curve"), text);
  }
};

TAPEDECK_TEST(TestPastQuestion)
#include "tst_past_question.moc"
