// What if of a set of ops, without a window: what is typed, what the session is asked, and the branch's
// curves.
#include <QSignalSpy>
#include <QtTest>

#include "inspector/model/what_if/branch_series.h"
#include "inspector/model/what_if/set_change.h"
#include "inspector/model/what_if/what_if_model.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;

class TestWhatIfSetsModel : public QObject {
  Q_OBJECT

  test::FakeSource source_;
  Session session_;

  void answer(const protocol::Reply& reply) {
    QVERIFY(!source_.waiting.empty());
    const auto asked = source_.waiting.back();
    source_.waiting.pop_back();
    emit source_.received(asked.id, reply);
  }
  static protocol::Series points(double first, int count, quint64 next) {
    protocol::Series series;
    series.next = next;
    series.curves = {
        {"loss\x1f"
         "cell",
         "loss", "cell", 3, "step"}};
    for (int i = 0; i < count; ++i) series.points.push_back({series.curves[0].series, first + i, 0.5, 7});
    return series;
  }

 private slots:
  void init() {
    source_.status = {};
    source_.automatic = false;
    session_.setSource(&source_);
    source_.waiting.clear();
    source_.asked.clear();
  }
  void cleanup() {
    session_.setLook({});
    session_.setSource(nullptr);
  }

  void whatIsTypedBecomesAChangeInWords_data() {
    QTest::addColumn<int>("action");
    QTest::addColumn<QString>("subject");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QString>("text");
    const auto row = [](const char* name, SetAction action, const char* subject, const char* value,
                        const char* text) {
      QTest::newRow(name) << static_cast<int>(action) << QString(subject) << QString(value)
                          << QString::fromUtf8(text);
    };
    row("scale", SetAction::scale, " learning_rate ", "0.1", "op:adam and step >= 60: learning_rate × 0.1");
    row("add", SetAction::add, "out", "1", "op:adam and step >= 60: results + 1");
    row("one result", SetAction::scale, "out1", "2", "op:adam and step >= 60: result 1 × 2");
    row("subtract", SetAction::add, "in0", "-2.5", "op:adam and step >= 60: in0 − 2.5");
    row("set", SetAction::set, "axis", "None", "op:adam and step >= 60: axis = None");
    row("clip", SetAction::clip, "gradient", "1", "op:adam and step >= 60: gradient clipped to ±1");
  }
  void whatIsTypedBecomesAChangeInWords() {
    QFETCH(int, action);
    QFETCH(QString, subject);
    QFETCH(QString, value);
    QFETCH(QString, text);
    SetProblem problem;
    const auto change = setChangeOf({" op:adam and step >= 60", subject.toStdString(),
                                     static_cast<SetAction>(action), value.toStdString()},
                                    &problem);
    QVERIFY2(change, qPrintable(problem.sentence));
    QCOMPARE(change->text, text);
    QCOMPARE(change->set->filter, std::string("op:adam and step >= 60"));
    QCOMPARE(change->set->subject, subject.trimmed().toStdString());
  }

  void whatIsWrongIsToldWithItsFieldAndPlace_data() {
    QTest::addColumn<QString>("filter");
    QTest::addColumn<QString>("subject");
    QTest::addColumn<QString>("value");
    QTest::addColumn<int>("field");
    QTest::addColumn<int>("position");
    QTest::addColumn<QString>("told");
    const auto row = [](const char* filter, const char* subject, const char* value, SetField field,
                        int position, const char* told) {
      QTest::newRow(told) << QString::fromUtf8(filter) << QString(subject) << QString(value)
                          << static_cast<int>(field) << position << QString::fromUtf8(told);
    };
    row("", "out", "1", SetField::filter, -1, "Type which ops");
    row("op:adam and (step > 2", "out", "1", SetField::filter, 21, "At character 22: ");
    row("scope:größe and epoch > 2", "out", "1", SetField::filter, 16, "At character 17: “epoch”");
    row("loss rose", "out", "1", SetField::filter, 0, "At character 1: Curves can be used");
    row("op:adam", " ", "1", SetField::subject, -1, "Name an attribute or an input");
    row("op:adam", "out", "", SetField::value, -1, "Type a number.");
    row("op:adam", "out", "1,5", SetField::value, -1, "“1,5” is not a number.");
  }
  void whatIsWrongIsToldWithItsFieldAndPlace() {
    QFETCH(QString, filter);
    QFETCH(QString, subject);
    QFETCH(QString, value);
    QFETCH(int, field);
    QFETCH(int, position);
    QFETCH(QString, told);
    SetProblem problem;
    QVERIFY(!setChangeOf({filter.toStdString(), subject.toStdString(), SetAction::scale, value.toStdString()},
                         &problem));
    QCOMPARE(static_cast<int>(problem.field), field);
    QVERIFY2(problem.sentence.startsWith(told), qPrintable(problem.sentence));
    QCOMPARE(problem.position, position);
  }

  void aSetGoesToTheSessionAndItsNotesComeBack() {
    WhatIfModel model(&session_);
    SetProblem problem;
    model.add(*setChangeOf({"op:adam", "step_size", SetAction::scale, "0.1"}, &problem));
    model.replay();
    const auto asked = source_.askedFor<protocol::MakeBranch>();
    QCOMPARE(asked.size(), std::size_t{1});
    QVERIFY(asked[0].changes.empty());
    QCOMPARE(asked[0].sets.size(), std::size_t{1});
    QCOMPARE(asked[0].sets[0].subject, std::string("step_size"));
    protocol::Branched branched;
    branched.branch = 4;
    branched.curve_points = 41;
    branched.notes = {"3 ops use numbers."};
    answer(branched);
    QCOMPARE(session_.look().branch, quint64{4});
    QCOMPARE(session_.look().points, quint64{41});
    QCOMPARE(session_.look().notes, QStringList{"3 ops use numbers."});
    QCOMPARE(session_.look().changes, QString::fromUtf8("op:adam: step_size × 0.1"));
  }

  void theCurvesOfABranchComeByPageAndGoWithIt() {
    BranchSeries curves(&session_);
    QSignalSpy changed(&curves, &BranchSeries::changed);
    session_.setLook({4, Beside::original, "lr × 0.1", 5, {"One point is left out."}});
    answer(points(59, 3, 3));
    answer(points(62, 2, 5));  // asked for, as there are five
    QVERIFY(source_.waiting.empty());
    QCOMPARE(source_.askedFor<protocol::GetBranchSeries>().at(1).first, std::uint64_t{3});
    QCOMPARE(curves.names().size(), 1);
    const SeriesData* data = curves.series(curves.names().first());
    QCOMPARE(data->steps, (std::vector<double>{59, 60, 61, 62, 63}));
    QCOMPARE(data->title(), QString::fromUtf8("loss, what if lr × 0.1"));
    QCOMPARE(curves.original(curves.names().first()).cell, QString("cell"));
    QCOMPARE(curves.sentence(), QString::fromUtf8("Dashed: what if lr × 0.1"));
    QCOMPARE(curves.notes(), QString::fromUtf8("⚠ One point is left out."));
    // Another look at the same branch is no other branch.
    const int before = static_cast<int>(changed.size());
    BranchLook look = session_.look();
    look.shown = Beside::branch;
    session_.setLook(look);
    QCOMPARE(changed.size(), before);
    session_.setLook({});
    QVERIFY(curves.names().isEmpty() && curves.sentence().isEmpty());
    // One without curves is asked for none.
    const std::size_t asked = source_.askedFor<protocol::GetBranchSeries>().size();
    session_.setLook({5, Beside::original, "x = 5"});
    QCOMPARE(source_.askedFor<protocol::GetBranchSeries>().size(), asked);
  }
};

TAPEDECK_TEST(TestWhatIfSetsModel)
#include "tst_what_if_sets_model.moc"
