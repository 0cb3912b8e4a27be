// The models of watches and of the console, which have the session evaluate code.
#include <QAbstractItemModelTester>
#include <QtTest>

#include "inspector/model/variables/console_model.h"
#include "inspector/model/variables/watch_model.h"
#include "tests/model/variables_world.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using test::text;
using test::value;
using test::World;

class TestEvaluations : public QObject {
  Q_OBJECT
 private slots:
  void init() { world_ = std::make_unique<World>(); }
  void cleanup() { world_.reset(); }

  void watchesAreEvaluatedInOrderAtEachStopAndAnErrorIsOneRow() {
    WatchModel watches(&world_->session, &world_->frames);
    const QAbstractItemModelTester tester(&watches);
    protocol::Evaluation one;
    one.value = value("x + 1", "2");
    one.result = 5;
    protocol::Evaluation bad;
    bad.error = "NameError: name 'nope' is not defined";
    world_->evaluations = {{"nope", bad}, {"x + 1", one}};
    watches.add("nope");
    watches.add("x + 1");
    QVERIFY(world_->source.askedFor<protocol::Evaluate>().empty());
    watches.setActive(true);
    world_->endCell();
    QCOMPARE(text(watches), QString("nope = NameError: name 'nope' is not defined\nx + 1 = 2\n"));
    QVERIFY(watches.index(0, 1).data(ValueTree::ErrorRole).toBool());
    world_->evaluations["x + 1"].value->text = "3";
    world_->stack = {{"step", "c", "", 4, true}};
    world_->stopAt(3);
    QCOMPARE(watches.index(1, 1).data().toString(), QString("3"));
    QVERIFY(watches.index(1, 1).data(ValueTree::ChangedRole).toBool());
    QCOMPARE(world_->source.askedFor<protocol::Evaluate>().back().stop, quint64{3});
  }

  // A file that is read anew in a live session may hold anything.
  void watchesOfAFileAreNotEvaluatedBeforeTheUserAcceptsThem() {
    WatchModel watches(&world_->session, &world_->frames);
    const QAbstractItemModelTester tester(&watches);
    QSignalSpy changed(&watches, &WatchModel::expressionsChanged),
        told(&watches, &WatchModel::waitingChanged);
    const auto asked = [&] {
      QStringList codes;
      for (const auto& request : world_->source.askedFor<protocol::Evaluate>())
        codes << QString::fromStdString(request.code);
      world_->source.asked.clear();
      return codes;
    };
    protocol::Evaluation one;
    one.value = value("x", "1");
    world_->evaluations = {{"x", one}, {"y", one}, {"mine", one}};
    watches.setExpressions({"x", "y"});
    watches.setActive(true);
    world_->endCell();
    world_->stopAt(3);
    QCOMPARE(asked(), QStringList());
    QCOMPARE(watches.waiting(), (QStringList{"x", "y"}));
    QCOMPARE(watches.index(0, 1).data().toString(), QString("not evaluated until you accept it"));
    watches.add("mine");  // the user's own
    world_->stopAt(4);
    QCOMPARE(asked(), (QStringList{"mine", "mine"}));
    told.clear();
    watches.accept();
    world_->settle();
    QCOMPARE(told.size(), 1);
    QCOMPARE(watches.waiting(), QStringList());
    QCOMPARE(asked(), (QStringList{"x", "y", "mine"}));
    QCOMPARE(text(watches), QString("x = 1\ny = 1\nmine = 1\n"));

    // The same expressions of another file are other code: what they call may be another function.
    changed.clear();
    watches.setExpressions({"x", "y", "mine"});
    world_->stopAt(5);
    QCOMPARE(asked(), QStringList());
    QCOMPARE(changed.size(), 0);
    watches.add("y");  // typed by the user
    QVERIFY(watches.setData(watches.index(0, 0), "x + 1"));
    world_->settle();
    QCOMPARE(asked(), (QStringList{"y", "x + 1", "y"}));
    QCOMPARE(watches.waiting(), QStringList{"mine"});
    changed.clear();
    watches.discard();
    QCOMPARE(watches.expressions(), (QStringList{"x + 1", "y"}));
    QCOMPARE(changed.size(), 1);
    QCOMPARE(watches.waiting(), QStringList());
    watches.setExpressions({"x"});
    watches.remove(0);
    QCOMPARE(watches.waiting(), QStringList());
  }

  void whatIsEvaluatedOfAnEarlierFileStartsNothingOfTheNext() {
    WatchModel watches(&world_->session, &world_->frames);
    const QAbstractItemModelTester tester(&watches);
    watches.add("y");
    watches.add("z");
    watches.setActive(true);
    world_->settle();
    world_->source.asked.clear();
    world_->source.automatic = false;
    world_->endCell();
    QCOMPARE(world_->source.askedFor<protocol::Evaluate>().size(), std::size_t{1});
    watches.setExpressions({"w", "x"});
    QVERIFY(!world_->source.askedFor<protocol::Cancel>().empty());
    world_->source.answerAll();
    QCOMPARE(world_->source.askedFor<protocol::Evaluate>().size(), std::size_t{1});
    QCOMPARE(text(watches).section('\n', 0, 0).section(' ', 0, 0), QString("w"));
  }

  void watchesAreAddedEditedAndRemoved() {
    WatchModel watches(&world_->session, &world_->frames);
    const QAbstractItemModelTester tester(&watches);
    QSignalSpy changed(&watches, &WatchModel::expressionsChanged);
    watches.setExpressions({"a"});
    QCOMPARE(changed.size(), 0);
    watches.add("b");
    watches.add("b");
    watches.add("  ");
    QCOMPARE(watches.expressions(), (QStringList{"a", "b"}));
    QVERIFY(watches.setData(watches.index(0, 0), "c"));
    QVERIFY(watches.setData(watches.index(1, 0), ""));
    QCOMPARE(watches.expressions(), QStringList{"c"});
    QCOMPARE(changed.size(), 3);
  }

  void theConsoleSaysWhatCameOfIt() {
    ConsoleModel console(&world_->session, &world_->frames);
    QStringList said;
    connect(&console, &ConsoleModel::said, [&](ConsoleModel::Part part, const QString& text) {
      said << QString::number(static_cast<int>(part)) + text;
    });
    protocol::Evaluation answer;
    answer.printed = "printed";
    answer.text = "2";
    answer.note = "a note";
    world_->evaluations["1+1"] = answer;
    QVERIFY(console.evaluate("1+1"));
    QVERIFY(console.running() && !console.evaluate("2"));
    world_->settle();
    QVERIFY(!console.running());
    QCOMPARE(said, (QStringList{"01+1", "1printed", "22", "4a note"}));
    QCOMPARE(console.history(), QStringList{"1+1"});
    world_->source.automatic = false;
    QVERIFY(console.evaluate("while True: pass"));
    console.stop();
    QVERIFY(!console.running());
    QVERIFY(!world_->source.askedFor<protocol::Cancel>().empty());
  }

  void codeIsWholeWhereItsBracketsAndBlocksEnd() {
    for (const char* whole : {"1", "f(1,\n2)", "for i in x:\n  y\n", "s = '(('", "# (", "x = {1: 2}"})
      QVERIFY2(ConsoleModel::isWhole(whole), whole);
    for (const char* open :
         {"f(1,", "for i in x:", "for i in x:\n  y", "[", "@decorated", "def f():\n    pass"})
      QVERIFY2(!ConsoleModel::isWhole(open), open);
  }

 private:
  std::unique_ptr<World> world_;
};

TAPEDECK_TEST(TestEvaluations)
#include "tst_evaluations.moc"
