// Breakpoints as the window keeps them, and the words that complete a condition.
#include <QtTest>

// Designated initializers name what matters; the rest has its defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#include "inspector/model/breakpoints/breakpoint_text.h"
#include "inspector/model/breakpoints/breakpoints_model.h"
#include "inspector/model/breakpoints/condition_completion.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using protocol::Breakpoint;
using protocol::BreakpointKind;
using test::FakeSource;

namespace {

QStringList offered(const QString& text, const QStringList& ops = {"matmul", "max_pool2d", "mean"}) {
  return completeCondition(text, static_cast<int>(text.size()), ops).words;
}

}  // namespace

class TestBreakpointsModel : public QObject {
  Q_OBJECT
 private slots:
  void aLineIsToggledAndMovesWithItsText() {
    Session session;
    BreakpointsModel model(&session);
    QSignalSpy edited(&model, &BreakpointsModel::edited);
    model.toggleLine("a", 3);
    model.toggleLine("a", 5);
    model.toggleLine("b", 3);
    QCOMPARE(model.ofCell("a").size(), std::size_t{2});
    model.moveLines({{model.atLine("a", 5)->breakpoint.id, 6}});
    QVERIFY(model.atLine("a", 6) && !model.atLine("a", 5));
    model.toggleLine("a", 3);
    QVERIFY(!model.atLine("a", 3));
    QVERIFY(model.atLine("b", 3));
    QCOMPARE(edited.size(), 5);
  }

  void neighboursMoveTogether_data() {
    QTest::addColumn<QList<int>>("lines");
    QTest::addColumn<int>("by");
    QTest::newRow("upper first, down") << QList<int>{3, 4} << 1;
    QTest::newRow("lower first, down") << QList<int>{4, 3} << 1;
    QTest::newRow("upper first, up") << QList<int>{3, 4} << -1;
    QTest::newRow("lower first, up") << QList<int>{4, 3} << -1;
  }
  void neighboursMoveTogether() {
    QFETCH(QList<int>, lines);
    QFETCH(int, by);
    Session session;
    BreakpointsModel model(&session);
    QHash<quint64, int> moves;
    for (const int line : lines) {
      model.toggleLine("a", line);
      moves[model.atLine("a", line)->breakpoint.id] = line + by;
    }
    QSignalSpy edited(&model, &BreakpointsModel::edited);
    model.moveLines(moves);
    QCOMPARE(edited.size(), 1);
    QCOMPARE(model.all().size(), std::size_t{2});
    for (const BreakpointEntry& one : model.all())
      QCOMPARE(static_cast<int>(one.breakpoint.line), moves.value(one.breakpoint.id));
    model.moveLines(moves);  // there already
    QCOMPARE(edited.size(), 1);
  }

  void whereLinesBecomeOneTheOlderBreakpointStays() {
    Session session;
    BreakpointsModel model(&session);
    model.toggleLine("a", 4);
    model.toggleLine("a", 3);
    model.toggleLine("b", 3);
    const quint64 older = model.atLine("a", 4)->breakpoint.id;
    model.moveLines({{older, 3}});
    QCOMPARE(model.all().size(), std::size_t{2});
    QCOMPARE(model.atLine("a", 3)->breakpoint.id, older);
    QVERIFY(model.atLine("b", 3));
  }

  void whatManyWantIsOneSwitch() {
    Session session;
    BreakpointsModel model(&session);
    model.setStopAtNotFinite(true);
    model.setStopAtExceptions(true);
    QCOMPARE(model.all().size(), std::size_t{2});
    QVERIFY(model.stopsAtNotFinite() && model.stopsAtExceptions());
    model.setEnabled(model.all()[0].breakpoint.id, false);
    QVERIFY(!model.stopsAtNotFinite());
    model.setStopAtNotFinite(true);
    QCOMPARE(model.all().size(), std::size_t{2});
    model.setStopAtExceptions(false);
    QCOMPARE(model.all().size(), std::size_t{1});
  }

  void passingOnesAreSavedNowhere() {
    Session session;
    BreakpointsModel model(&session);
    QSignalSpy edited(&model, &BreakpointsModel::edited);
    Breakpoint passing;
    passing.cell = "a";
    passing.line = 3;
    model.addPassing(passing);
    QVERIFY(edited.isEmpty());
    QVERIFY(!model.atLine("a", 3));
    QVERIFY(model.all().at(0).breakpoint.once);
    model.addPassing(passing);
    QCOMPARE(model.all().size(), std::size_t{1});
  }

  void aPassingOneThatIsNotReachedGoesToo() {
    FakeSource source;
    Session session;
    BreakpointsModel model(&session);
    session.setSource(&source);
    model.toggleLine("a", 5);
    Breakpoint passing;
    passing.cell = "a";
    passing.line = 3;
    model.addPassing(passing);
    source.sendStatus();
    QCOMPARE(model.all().size(), std::size_t{2});
    QSignalSpy edited(&model, &BreakpointsModel::edited);
    model.dropPassing();
    QCOMPARE(model.all().size(), std::size_t{1});
    QVERIFY(model.atLine("a", 5));
    QCOMPARE(source.askedFor<protocol::SetBreakpoints>().back().breakpoints.size(), std::size_t{1});
    model.addPassing(passing);
    source.setUp(false);
    QCOMPARE(model.all().size(), std::size_t{1});
    QVERIFY(edited.isEmpty());
  }

  void aTextThatCanNotBeWrittenIsRefusedWithoutASession() {
    Session session;
    BreakpointsModel model(&session);
    Breakpoint log;
    log.cell = "a";
    log.line = 2;
    log.action = protocol::BreakpointAction::log;
    log.text = "größe {max(out}";
    const quint64 id = model.add(log);
    QCOMPARE(model.all()[0].part, QString("text"));
    QCOMPARE(model.all()[0].problem, QString("A closing parenthesis is missing."));
    QCOMPARE(model.all()[0].position, 14);  // in UTF-16 units
    log.id = id;
    log.text = "{max(out)}";
    model.change(log);
    QCOMPARE(model.all()[0].problem, QString());
    log.action = protocol::BreakpointAction::point;
    log.text = "loss = ";
    model.change(log);
    QCOMPARE(model.all()[0].part, QString("text"));
  }

  void runsWithoutAnOpAreNoted() {
    FakeSource source;
    Session session;
    BreakpointsModel model(&session);
    session.setSource(&source);
    const auto add = [&](protocol::BreakpointAction action, const char* text, const char* condition) {
      Breakpoint breakpoint;
      breakpoint.cell = "a";
      breakpoint.line = 2;
      breakpoint.action = action;
      breakpoint.text = text;
      breakpoint.condition = condition;
      model.add(breakpoint);
    };
    add(protocol::BreakpointAction::log, "{op}", "");
    add(protocol::BreakpointAction::point, "n = max(out)", "");
    add(protocol::BreakpointAction::stop, "", "max(out) > 3");
    source.status.hits = {{1, 1'200, 3}, {2, 1, 1}, {3, 0, 7}};
    source.sendStatus();
    QCOMPARE(
        model.all()[0].note,
        QString("3 of 1,200 hits had no op on the line: what the text asks of an op has no value there."));
    QCOMPARE(model.all()[1].note, QString("1 of 1 hit had no op on the line: there was nothing to draw."));
    QCOMPARE(
        model.all()[2].note,
        QString("The line ran 7 times without an op of its own that the condition could fit: no hit then."));
    model.setPlaceNotes({{1, "Line 2 is a comment."}});
    QCOMPARE(model.all()[0].note, QString("Line 2 is a comment."));
    source.status.hits = {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
    source.sendStatus();
    QCOMPARE(model.all()[2].note, QString());
  }

  // A function may be traced by then, which has no op on the line.
  void linesAreAskedAboutAgainAtTheFirstStopAndWhenACellHasEnded() {
    FakeSource source;
    Session session;
    BreakpointsModel model(&session);
    session.setSource(&source);
    const auto asked = [&] { return source.askedFor<protocol::SetBreakpoints>().size(); };
    Breakpoint condition;
    condition.kind = BreakpointKind::condition;
    condition.condition = "isnan(out)";
    model.add(condition);
    std::size_t before = asked();
    source.status.cells_ended = 1;
    source.sendStatus();
    QCOMPARE(asked(), before);  // there is none on a line
    model.toggleLine("a", 2);
    before = asked();
    source.sendStatus();
    QCOMPARE(asked(), before);
    source.records.emplace_back();
    source.stopAtNewest();
    QCOMPARE(asked(), before + 1);
    source.stopAtNewest();
    QCOMPARE(asked(), before + 1);
    source.status.gate = protocol::GateState::open;
    source.status.cells_ended = 2;
    source.sendStatus();
    QCOMPARE(asked(), before + 2);
  }

  void whatTheNotebookSaysAgainstALineStaysWhenItsBreakpointIsEdited() {
    Session session;
    BreakpointsModel model(&session);
    model.toggleLine("a", 2);
    const quint64 id = model.all()[0].breakpoint.id;
    model.setPlaceNotes({{id, "Line 2 is a comment."}});
    Breakpoint edited = model.all()[0].breakpoint;
    edited.condition = "max(out) > 3";
    model.change(edited);
    QCOMPARE(model.all()[0].note, QString("Line 2 is a comment."));
    model.setPlaceNotes({{id, QString()}});
    QVERIFY(model.all()[0].note.isEmpty());
  }

  void words() {
    const struct {
      Breakpoint breakpoint;
      const char* text;
    } rows[] = {
        {{.kind = BreakpointKind::line, .line = 7}, "line 7"},
        {{.kind = BreakpointKind::op, .target = "*pool*"}, "op *pool*"},
        {{.kind = BreakpointKind::vjp}, "any VJP"},
        {{.kind = BreakpointKind::write, .target = "W"}, "write of W"},
        {{.kind = BreakpointKind::write}, "write of any variable"},
        {{.kind = BreakpointKind::read, .target = "W"}, "read of W"},
        {{.kind = BreakpointKind::read}, "read of any variable"},
        {{.kind = BreakpointKind::condition, .condition = "nan(out) or inf(out)"}, "NaN or infinity"}};
    for (const auto& row : rows) QCOMPARE(breakpointText(row.breakpoint), QString(row.text));
  }

  void completionsGoOnFromWhatStandsThere() {
    QVERIFY(offered("na").contains("nan("));
    QVERIFY(offered("na").contains("name:"));
    QCOMPARE(offered("op:ma"), (QStringList{"matmul", "max_pool2d"}));
    QCOMPARE(offered("x and op:me"), QStringList{"mean"});
    QVERIFY(offered("nan(").contains("out"));
    QCOMPARE(offered("max(ab"), QStringList{"abs("});
    QCOMPARE(offered("max(abs(gr"), QStringList{"grad"});
    QVERIFY(offered("out.").contains("shape"));
    QCOMPARE(offered("is:fa"), QStringList{"failed"});
    QCOMPARE(offered("backwar"), QStringList{"backward"});
    // Only the filter of Ops knows bookmarks.
    QVERIFY(offered("bookm").isEmpty());
    QCOMPARE(completeCondition("bookm", 5, {}, true).words, QStringList{"bookmarked"});
    QCOMPARE(completeCondition("op:add and book", 15, {}, true).words, QStringList{"bookmarked"});
    QVERIFY(offered("").isEmpty());
    QVERIFY(offered("x ").isEmpty());
    QVERIFY(offered("\"na").isEmpty());
    QVERIFY(offered("backward").isEmpty());
    const ConditionCompletion middle = completeCondition("max(ou) > 3", 6, {});
    QCOMPARE(middle.begin, 4);
    QVERIFY(middle.words.contains("out"));
  }
};

TAPEDECK_TEST(TestBreakpointsModel)
#include "tst_breakpoints_model.moc"
