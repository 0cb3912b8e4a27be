// The models of variables and frames, fed by a session in memory. Watches and the console:
// tst_evaluations.cpp.
#include <QAbstractItemModelTester>
#include <QtTest>

#include "inspector/model/variables/value_text.h"
#include "inspector/model/variables/variables_model.h"
#include "tests/model/variables_world.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using protocol::ValueInfo;
using test::tensorValue;
using test::text;
using test::value;
using test::World;

class TestVariables : public QObject {
  Q_OBJECT
 private slots:
  void init() { world_ = std::make_unique<World>(); }
  void cleanup() { world_.reset(); }

  void nothingIsAskedForWhileNobodyLooks() {
    VariablesModel model(&world_->session, &world_->frames);
    world_->endCell();
    world_->stopAt(3);
    QVERIFY(world_->source.askedFor<protocol::GetVariables>().empty());
    model.setActive(true);
    world_->settle();
    QVERIFY(!world_->source.askedFor<protocol::GetVariables>().empty());
  }

  void globalsAfterACellLocalsFirstAtAStop() {
    VariablesModel model(&world_->session, &world_->frames);
    const QAbstractItemModelTester tester(&model);
    world_->places["globals/"] = {value("x", "1")};
    model.setActive(true);
    world_->endCell();
    QCOMPARE(text(model), QString("Globals\n  x = 1\n"));
    world_->stack = {{"step", "c", "", 4, true}, {"<module>", "c", "", 9, false}};
    world_->places["locals/"] = {value("h", "2")};
    world_->places["globals/"] = {value("x", "5"), value("y", "3")};
    world_->stopAt(3);
    QCOMPARE(text(model), QString("Locals of step\n  h = 2\nGlobals\n  x = 5\n  y = 3\n"));
    world_->frames.setCurrent(1);
    world_->settle();
    QCOMPARE(text(model), QString("Globals\n  x = 5\n  y = 3\n"));
    world_->frames.setCurrent(0);
    world_->settle();
    world_->places["globals/"] = {value("y", "3")};
    world_->endCell();
    QCOMPARE(text(model), QString("Globals\n  y = 3\n"));
  }

  /// Names, keys and values are the program's, or a file's: views must not take them for HTML.
  void tipsOfWhatLooksLikeHtmlAreEscaped() {
    const std::string image = "<img src=\"file:///dev/zero\">";
    VariablesModel model(&world_->session, &world_->frames);
    world_->places["globals/"] = {value("'" + image + "'", image, image), value("plain", "1")};
    model.setActive(true);
    world_->stack = {{image, "", image, 4, true}};
    world_->stopAt(3);
    const auto escaped = [&](const QString& tip) {
      return !tip.contains("<img") && tip.contains("&lt;img src=&quot;file:///dev/zero&quot;&gt;");
    };
    int seen = 0, others = 0;
    for (int group = 0; group < model.rowCount(); ++group)
      for (int row = 0; row < model.rowCount(model.index(group, 0)); ++row) {
        const QModelIndex index = model.index(row, 0, model.index(group, 0));
        const QString tip = index.data(Qt::ToolTipRole).toString();
        if (index.data().toString() == "plain") {
          ++others;
          QVERIFY2(tip.startsWith("plain: int"), qPrintable(tip));
        } else {
          ++seen;
          QVERIFY2(escaped(tip), qPrintable(tip));
        }
      }
    QVERIFY(seen > 0 && others > 0);
    const QString frame = world_->frames.index(0, 0).data(Qt::ToolTipRole).toString();
    QVERIFY2(escaped(frame), qPrintable(frame));
  }

  void aRowStaysTheSameRowFromStopToStopAndTellsThatItChanged() {
    VariablesModel model(&world_->session, &world_->frames);
    const QAbstractItemModelTester tester(&model);
    world_->places["globals/"] = {value("a", "1"), value("b", "1"), value("c", "1")};
    model.setActive(true);
    world_->endCell();
    const QPersistentModelIndex c = model.index(2, 0, model.index(0, 0));
    world_->places["globals/"] = {value("b", "1"), value("c", "2")};
    world_->endCell();
    QVERIFY(c.isValid());
    QCOMPARE(c.data().toString(), QString("c"));
    QVERIFY(c.data(ValueTree::ChangedRole).toBool());
    QVERIFY(!model.index(0, 0, model.index(0, 0)).data(ValueTree::ChangedRole).toBool());
  }

  void whatIsUnfoldedIsFetchedOneLevelAtATimeAndStaysUnfolded() {
    VariablesModel model(&world_->session, &world_->frames);
    ValueInfo list = value("list", "[…]", "list");
    list.items = 1200;
    world_->places["globals/"] = {list};
    for (int i = 0; i < 1200; ++i) {
      world_->places["globals/list"].push_back(value("[" + std::to_string(i) + "]", std::to_string(i)));
      world_->places["globals/list"].back().item = static_cast<std::uint64_t>(i);
    }
    model.setActive(true);
    world_->endCell();
    const QPersistentModelIndex row = model.index(0, 0, model.index(0, 0));
    QCOMPARE(model.rowCount(row), 0);
    QVERIFY(model.canFetchMore(row));
    model.fetchMore(row);
    world_->settle();
    QCOMPARE(model.rowCount(row), 501);
    const QModelIndex more = model.index(500, 0, row);
    QCOMPARE(more.data().toString(), QString("… 700 more"));
    model.loadMore(more);
    world_->settle();
    QCOMPARE(model.rowCount(row), 1001);
    model.loadMore(model.index(1000, 0, row));
    world_->settle();
    QCOMPARE(model.rowCount(row), 1200);
    QCOMPARE(model.index(1199, 0, row).data(ValueTree::ExpressionRole).toString(), QString("list[1199]"));
    world_->places["globals/list"][0].text = "changed";
    world_->endCell();
    QCOMPARE(model.index(0, 1, row).data().toString(), QString("changed"));
  }

  void rowsOfLaterPagesStayFromStopToStop() {
    VariablesModel model(&world_->session, &world_->frames);
    const QAbstractItemModelTester tester(&model);
    auto& items = world_->places["globals/list"];
    const auto setItems = [&](int count) {
      items.clear();
      for (int i = 0; i < count; ++i) {
        items.push_back(value("[" + std::to_string(i) + "]", std::to_string(i)));
        items.back().item = static_cast<std::uint64_t>(i);
      }
      ValueInfo list = value("list", "[…]", "list");
      list.items = static_cast<std::uint64_t>(count);
      world_->places["globals/"] = {list};
    };
    setItems(1600);
    model.setActive(true);
    world_->endCell();
    const QPersistentModelIndex row = model.index(0, 0, model.index(0, 0));
    model.fetchMore(row);
    world_->settle();
    model.loadMore(model.index(500, 0, row));
    world_->settle();
    QCOMPARE(model.rowCount(row), 1001);
    const QPersistentModelIndex late = model.index(900, ValueTree::Value, row);
    // As many pages as are shown, and none for the row that says how many more there are.
    items[900].text = "changed";
    world_->source.asked.clear();
    world_->endCell();
    QVERIFY(late.isValid());
    QCOMPARE(late.data().toString(), QString("changed"));
    QVERIFY(late.data(ValueTree::ChangedRole).toBool());
    QCOMPARE(model.rowCount(row), 1001);
    QCOMPARE(model.index(1000, 0, row).data().toString(), QString("… 600 more"));
    const auto asked = world_->source.askedFor<protocol::GetVariables>();
    QCOMPARE(std::count_if(asked.begin(), asked.end(), [](const auto& one) { return one.first >= 1000; }), 0);
    // What is gone goes, on the later pages as well.
    setItems(1600);
    items.erase(items.begin() + 800);
    world_->endCell();
    QCOMPARE(model.rowCount(row), 1001);
    QVERIFY(late.isValid());
    QCOMPARE(model.index(800, 0, row).data().toString(), QString("[801]"));
    setItems(600);
    world_->endCell();
    QVERIFY(!late.isValid());
    QCOMPARE(model.rowCount(row), 600);
  }

  void moreRowsAskedForWhileTheShownOnesComeFollowThem() {
    VariablesModel model(&world_->session, &world_->frames);
    ValueInfo list = value("list", "[…]", "list");
    list.items = 1200;
    world_->places["globals/"] = {list};
    for (int i = 0; i < 1200; ++i)
      world_->places["globals/list"].push_back(value("[" + std::to_string(i) + "]", "old"));
    model.setActive(true);
    world_->endCell();
    const QPersistentModelIndex row = model.index(0, 0, model.index(0, 0));
    model.fetchMore(row);
    world_->settle();
    for (ValueInfo& item : world_->places["globals/list"]) item.text = "new";
    world_->source.automatic = false;
    world_->endCell();
    const auto waitsForItems = [&] {
      const auto& waiting = world_->source.waiting;
      return !waiting.empty() && waiting.back().channel.contains("list");
    };
    while (!waitsForItems() && !world_->source.waiting.empty()) world_->source.answerNext();
    QVERIFY(waitsForItems());
    model.loadMore(model.index(500, 0, row));
    world_->source.answerAll();
    QCOMPARE(model.rowCount(row), 1001);
    for (const int at : {0, 499, 999})
      QCOMPARE(model.index(at, ValueTree::Value, row).data().toString(), QString("new"));
  }

  void whileACellRunsTheRowsStayAndTheLineSaysSo() {
    VariablesModel model(&world_->session, &world_->frames);
    world_->places["globals/"] = {value("x", "1")};
    model.setActive(true);
    world_->endCell();
    world_->source.status.running_cell = "c";
    world_->source.sendStatus();
    QVERIFY(!world_->frames.readable());
    QCOMPARE(world_->frames.placeText(), QString("Running: values as they were before"));
    QCOMPARE(text(model), QString("Globals\n  x = 1\n"));
    QVERIFY(!(model.index(0, 1, model.index(0, 0)).flags() & Qt::ItemIsEditable));
  }

  void aSessionThatEndsLeavesItsValues() {
    VariablesModel model(&world_->session, &world_->frames);
    world_->places["globals/"] = {value("x", "1")};
    model.setActive(true);
    world_->endCell();
    world_->source.setUp(false);
    QCOMPARE(text(model), QString("Globals\n  x = 1\n"));
    QVERIFY(world_->frames.placeText().startsWith("The session has ended"));
  }

  void theFilterKeepsWhatItNamesAndSortingKeepsGroupsAndItems() {
    VariablesModel model(&world_->session, &world_->frames);
    ValueFilter filter(&model);
    const QAbstractItemModelTester tester(&filter);
    ValueInfo function = value("fit", "<function fit>", "function");
    function.kind = protocol::ValueKind::code;
    world_->places["globals/"] = {tensorValue("weights", 4, 9), tensorValue("Bias", 5, 100), value("n", "10"),
                                  function};
    model.setActive(true);
    world_->endCell();
    QCOMPARE(text(filter), QString("Globals\n  Bias = [0., …]\n  n = 10\n  weights = [0., …]\n"));
    filter.sort(ValueTree::Bytes, Qt::DescendingOrder);
    QCOMPARE(text(filter), QString("Globals\n  Bias = [0., …]\n  weights = [0., …]\n  n = 10\n"));
    filter.setText("float w");
    QCOMPARE(text(filter), QString("Globals\n  weights = [0., …]\n"));
    filter.setText("");
    filter.setShowsCode(true);
    QVERIFY(text(filter).contains("fit"));
  }

  void anEditIsAssignedAndTheValuesAreAskedForAnew() {
    VariablesModel model(&world_->session, &world_->frames);
    world_->places["globals/"] = {value("x", "1")};
    model.setActive(true);
    world_->endCell();
    const QModelIndex x = model.index(0, ValueTree::Value, model.index(0, 0));
    QVERIFY(x.flags() & Qt::ItemIsEditable);
    QCOMPARE(x.data(Qt::EditRole).toString(), QString("1"));
    world_->places["globals/"] = {value("x", "2")};
    QVERIFY(model.setData(x, "2"));
    world_->settle();
    QCOMPARE(x.data().toString(), QString("2"));
    QSignalSpy failed(&model, &ValueTree::failed);
    model.setData(x, "wrong");
    world_->settle();
    QCOMPARE(failed.value(0).value(0).toString(),
             QString("x keeps its value: NameError: name 'wrong' is not defined"));
  }

  void withTheCursorInThePastTheValuesAreThatMomentsAndAreNotEdited() {
    VariablesModel model(&world_->session, &world_->frames);
    protocol::Frame f{"f", "c", "", 3, true};
    world_->stack = {f};
    world_->places["globals/"] = {value("x", "1")};
    world_->places["locals/"] = {value("k", "7")};
    model.setActive(true);
    world_->stopAt(5);
    QCOMPARE(text(model), QString("Locals of f\n  k = 7\nGlobals\n  x = 1\n"));
    ValueInfo now = value("x", "2");
    now.as_of = "now";
    world_->places["globals/"] = {now};
    world_->noted = 2;
    world_->session.setCursor(3);
    world_->settle();
    QCOMPARE(model.index(0, ValueTree::Value, model.index(1, 0)).data(ValueTree::AsOfRole).toString(),
             QString("now"));
    QCOMPARE(model.index(0, ValueTree::Type, model.index(1, 0)).data(ValueTree::AsOfRole).toString(),
             QString());
    QCOMPARE(text(model), QString("Locals of f · as of the stop before op 2\n  k = 7\n"
                                  "Globals · as of the stop before op 2\n  x = 2 · now\n"));
    QCOMPARE(world_->source.askedFor<protocol::GetVariables>().back().place.moment.value_or(0), 3ull);
    QVERIFY(world_->frames.placeText().startsWith("At op 3, in the past: "));
    const QModelIndex x = model.index(0, ValueTree::Value, model.index(1, 0));
    QVERIFY(!(x.flags() & Qt::ItemIsEditable));
    QSignalSpy failed(&model, &ValueTree::failed);
    model.tellNotEdited(x);
    QVERIFY(failed.value(0).value(0).toString().startsWith("x is shown as it was at op 3"));
    // A stop before a line has a number above all records'.
    world_->noted = (std::uint64_t{1} << 32) + 1;
    world_->session.setCursor(4);
    world_->settle();
    QCOMPARE(world_->frames.notedText(), QString("as of the stop at line 3"));
    world_->noted = 0;
    world_->session.setCursor(2);
    world_->settle();
    QCOMPARE(model.index(1, 0).data().toString(), QString("Globals · as now"));
    // Back at the stop it is now.
    world_->session.setCursor(5);
    world_->settle();
    QCOMPARE(model.index(1, 0).data().toString(), QString("Globals"));
    QCOMPARE(world_->source.askedFor<protocol::GetVariables>().back().place.moment.value_or(0), 0ull);
    model.tellNotEdited(x);
    QCOMPARE(failed.size(), 1);
  }

  void localsThatNoStopHasNotedHaveAGroupThatSaysSo() {
    VariablesModel model(&world_->session, &world_->frames);
    world_->stack = {{"f", "c", "", 3, true}};
    world_->places["globals/"] = {value("x", "1")};
    world_->places["locals/"] = {value("k", "7")};
    model.setActive(true);
    world_->stopAt(5);
    world_->places["locals/"].clear();
    world_->noted = 1;
    world_->unknownFunction = "f";
    world_->session.setCursor(3);
    world_->settle();
    QCOMPARE(text(model), QString("Locals of f · not known: no stop had been made there by then\n"
                                  "Globals · as of the beginning of c\n  x = 1\n"));
    QVERIFY2(world_->frames.placeText().endsWith(
                 "; the locals of f are not known: no stop had been made there by then"),
             qPrintable(world_->frames.placeText()));
    world_->unknownFunction.clear();
    world_->places["locals/"] = {value("k", "7")};
    world_->session.setCursor(5);
    world_->settle();
    QCOMPARE(text(model), QString("Locals of f\n  k = 7\nGlobals\n  x = 1\n"));
  }

  void anEditThatTheProgramOutranIsToldInOneSentence() {
    VariablesModel model(&world_->session, &world_->frames);
    ValueInfo w = tensorValue("w", 4, 3);
    w.edit = "[0., 0., 0.]";
    world_->places["globals/"] = {w};
    model.setActive(true);
    world_->stopAt(5);
    const QModelIndex at = model.index(0, ValueTree::Value, model.index(0, 0));
    QSignalSpy failed(&model, &ValueTree::failed), told(&model, &ValueTree::told);
    world_->assignNote = "What comes after sees the new value.";
    world_->gone = true;  // F5, before Tensor has asked for what is there now
    QVERIFY(model.setData(at, "[1., 1., 1.]"));
    world_->settle();
    QCOMPARE(told.size(), 1);
    QCOMPARE(told[0][0].toString(), QString("What comes after sees the new value."));
    QCOMPARE(failed.size(), 0);
    QCOMPARE(world_->source.askedFor<protocol::HoldValue>().size(), std::size_t{1});
    model.show(at);  // a click of its own has its own answer
    world_->settle();
    QCOMPARE(failed.value(0).value(0).toString(), QString("The program has gone on since."));
  }

  void anEditorThatIsOpenWhenTheCursorGoesToThePastAssignsNothing() {
    VariablesModel model(&world_->session, &world_->frames);
    world_->stack = {{"f", "c", "", 3, false}};
    world_->places["globals/"] = {value("x", "1")};
    model.setActive(true);
    world_->stopAt(5);
    const QPersistentModelIndex at = model.index(0, ValueTree::Value, model.index(0, 0));
    world_->session.setCursor(3);
    QSignalSpy failed(&model, &ValueTree::failed);
    QVERIFY(!model.setData(at, "2"));
    world_->settle();
    QVERIFY(world_->source.askedFor<protocol::Assign>().empty());
    QCOMPARE(failed.size(), 1);
    QVERIFY2(failed[0][0].toString().startsWith("x is shown as it was at op 3, and the past is not edited"),
             qPrintable(failed[0][0].toString()));
  }

  void histogramsAreAskedForOnceATensorAndOnlyWhereTheyAreLookedAt() {
    VariablesModel model(&world_->session, &world_->frames);
    world_->places["globals/"] = {tensorValue("a", 4, 9), tensorValue("b", 5, 9), value("n", "1")};
    model.setActive(true);
    world_->endCell();
    QVERIFY(world_->source.askedFor<protocol::SummarizeValue>().empty());
    const auto histogram = [&](int row) {
      return model.index(row, ValueTree::Histogram, model.index(0, 0))
          .data(ValueTree::HistogramRole)
          .value<QList<quint64>>();
    };
    QVERIFY(histogram(0).isEmpty() && histogram(2).isEmpty());
    world_->settle();
    QCOMPARE(histogram(0), (QList<quint64>{1, 2, 1}));
    world_->endCell();
    QCOMPARE(histogram(0), (QList<quint64>{1, 2, 1}));
    QCOMPARE(world_->source.askedFor<protocol::SummarizeValue>().size(), std::size_t{1});
  }

  void aClickHasTheTensorHeldAndShown() {
    VariablesModel model(&world_->session, &world_->frames);
    world_->places["globals/"] = {tensorValue("a", 4, 9)};
    model.setActive(true);
    world_->endCell();
    QSignalSpy picked(&world_->session, &Session::namedPicked);
    model.show(model.index(0, 0, model.index(0, 0)));
    world_->settle();
    QCOMPARE(picked.size(), 1);
    QCOMPARE(QString::fromStdString(picked[0][0].value<protocol::TensorInfo>().name), QString("a"));
  }

  void textsOfColumns() {
    const ValueInfo tensor = tensorValue("w", 3, 784);
    QCOMPARE(valueText(tensor, ValueColumn::bytes), QString("3.1 kB"));
    QCOMPARE(bytesText(999), QString("999 bytes"));  // 1 kB is 1,000 bytes, as everywhere
    QCOMPARE(bytesText(1'500), QString("1.5 kB"));
    QCOMPARE(bytesText(20'000'000), QString("20.0 MB"));
    QCOMPARE(valueText(tensor, ValueColumn::shape), QString("784"));
    ValueInfo list = value("l", "[]", "list");
    list.items = 1200;
    QCOMPARE(valueText(list, ValueColumn::shape), QString("1,200 items"));
    list.problem = "its repr raised";
    QCOMPARE(valueText(list, ValueColumn::value), QString("(its repr raised)"));
    QVERIFY(showable(tensor) && !showable(list));
  }

 private:
  std::unique_ptr<World> world_;
};

TAPEDECK_TEST(TestVariables)
#include "tst_variables.moc"
