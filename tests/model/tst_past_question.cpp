// Questions about the past, as they are typed: of a curve, a variable, an element, or any condition.
#include <QTest>

#include "inspector/model/ops/curve_search.h"
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

  // Cell a draws 1, 0.5 after ops 2 and 8, cell b 0.25, 0.125 after ops 4 and 6; then a runs again.
  void everyCurveOfANameIsSearchedInTheOrderOfItsRecords() {
    test::FakeSource source;
    source.automatic = false;
    Session session;
    SeriesModel curves(&session);
    session.setSource(&source);
    source.answerAll();
    const std::string a = protocol::drawn_key("error", "a"), b = protocol::drawn_key("error", "b");
    quint64 next = 0;
    const auto send = [&](protocol::Series series) {
      next += series.points.size() + series.restarted.size();
      source.status.series_points = series.next = next;
      source.sendStatus();
      emit source.received(source.waiting.back().id, series);
    };
    protocol::Series drawn;
    drawn.points = {{a, 0, 1, 2}, {b, 0, .25, 4}, {b, 1, .125, 6}, {a, 1, .5, 8}};
    drawn.curves = {{a, "error", "a", 3, "step"}, {b, "error", "b", 4, "step"}};
    send(drawn);
    const PastQuestion question = readPastQuestion("error < 2", curves);
    QCOMPARE(question.curves.size(), 2);
    CurveSearch search(curves);
    for (const bool forward : {true, false}) {
      search.begin(question);
      QVERIFY(!search.found());
      std::vector<double> values;
      while (const auto point = search.next(forward)) values.push_back(point->curve->values[point->at]);
      QVERIFY(search.found());
      std::vector<double> expected{1, .25, .125, .5};
      if (!forward) std::reverse(expected.begin(), expected.end());
      QCOMPARE(values, expected);
    }
    QCOMPARE(search.subject(), QString("2 curves (error, cell [3]; error, cell [4])"));
    QCOMPARE(search.points(), 4u);
    QCOMPARE(search.leftOut(), QString());
    // The label names one of them.
    search.begin(readPastQuestion("\"error, cell [4]\" < 2", curves));
    QCOMPARE(search.subject(), QString("error, cell [4]"));
    QCOMPARE(search.points(), 2u);
    // A rerun replaces points: who searched those has to search anew, and hears what is not there any longer.
    search.begin(question);
    QVERIFY(search.next(false) && !search.outdated());
    protocol::Series again;
    again.restarted = {a};
    again.points = {{a, 0, 3, 12}};
    again.curves = {{a, "error", "a", 5, "step"}};
    send(again);
    QVERIFY(search.outdated());
    search.begin(readPastQuestion("error > 2", curves));
    QVERIFY(!search.outdated());
    const auto point = search.next(false);
    QVERIFY(point);
    QCOMPARE(point->curve->title(), QString("error, cell [5]"));
    QCOMPARE(search.leftOut(),
             QString(" 2 points of earlier runs of error, cell [5] were not looked at: the cell ran "
                     "again and drew them anew."));
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

  void whatConditionsCanNotCompareIsNoQuestion() {
    for (const char* text :
         {"loss < 0.1 and net.rate < 1", "net.rate<1 and loss < 0.1", "nan(out) or w.x == 3",
          "max(W) > 3 and net.rate >= 1", "not net.rate < 1", "net.rate != 1 or nan(out)"})
      QVERIFY2(read(text).problem.startsWith("It can't be shown to have held: "), text);
    for (const char* text :
         {"net.rate < 1", "norm(net.w1) < 1.8", "net.w1[0,0] < -0.1", "\"a<b\" max(out) > 3",
          "matmul max(out) > 3", "loss < 0.1 and k == 3", "<lambda> max(out) > 3"})
      QVERIFY2(read(text).problem.isEmpty(), qPrintable(read(text).problem));
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
