// The model of the VJP's panel: what it asks the session for, and what it makes of the answers.
#include <QSignalSpy>
#include <QTest>
#include <cmath>

#include "inspector/model/tape/vjp_model.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using inspector::Session;
using inspector::VjpModel;
using protocol::RecordKind;

namespace {

protocol::TensorInfo info(quint64 id, std::vector<std::int64_t> shape) {
  protocol::TensorInfo tensor;
  tensor.id = id;
  tensor.dtype = "float32";
  tensor.shape = std::move(shape);
  return tensor;
}

/// 1: matmul, 2: its playback, 3: its VJP, 4: an op inside, 5: another op, without a VJP.
std::vector<protocol::Record> trace() {
  std::vector<protocol::Record> records(5);
  for (std::size_t i = 0; i < records.size(); ++i) records[i].number = i + 1;
  records[0].op = "matmul";
  records[0].vjp_formula = "dA = dC·Bᵀ, dB = Aᵀ·dC";
  records[1].kind = RecordKind::playback;
  records[1].backward = records[2].backward = records[3].backward = true;
  records[2].kind = RecordKind::vjp;
  records[2].op = "matmul";
  records[2].parent = 2;
  records[2].forward = 1;
  records[3].op = "matmul";
  records[3].parent = 3;
  records[4].op = "argmax";
  return records;
}

struct VjpBench {
  test::FakeSource source{trace()};
  Session session;
  VjpModel model{&session};
  bool refuse = false;
  bool foreseen = false;  ///< what a pending VJP will give is known
  quint64 extra = 0;      ///< how many inputs more each VJP has, of its own

  explicit VjpBench(protocol::RecordState vjp = protocol::RecordState::done) {
    source.records[2].state = vjp;
    source.tensors = [this](const protocol::Request& request) { return answer(request); };
    session.setSource(&source);
    source.sendStatus();
    QCoreApplication::processEvents();
  }

  std::optional<protocol::RecordState> state() const {
    const auto& vjp = model.parts().vjp;
    return vjp ? std::optional(vjp->state) : std::nullopt;
  }

  protocol::Reply answer(const protocol::Request& request) {
    if (refuse) return protocol::Failure{"The value is gone.", "gone"};
    if (const auto* get = protocol::get_if<protocol::GetVjp>(&request)) {
      protocol::VjpParts parts;
      parts.asked = get->record;
      if (get->record == 5) return parts;
      parts.forward = source.records[0];
      parts.symbols = {{protocol::VjpRole::cotangent, "C", 0, info(10, {2, 3}), {}},
                       {protocol::VjpRole::input, "B", 1, info(11, {300, 500}), {}}};
      for (quint64 i = 0; i < extra; ++i)
        parts.symbols.push_back({protocol::VjpRole::input,
                                 "X",
                                 static_cast<std::uint32_t>(i) + 2,
                                 info(1000 * get->record + i, {2, 3}),
                                 {}});
      if (get->record != 1) {
        parts.vjp = source.records[2];
        protocol::VjpContribution contribution;
        contribution.symbol = "A";
        contribution.contribution = info(12, {2, 3, 4});
        contribution.after = contribution.contribution;
        contribution.foreseen = foreseen && source.records[2].state == protocol::RecordState::pending;
        parts.contributions = {contribution};
      }
      return parts;
    }
    if (const auto* get = protocol::get_if<protocol::ExplainElement>(&request)) {
      protocol::ElementTerms terms;
      terms.record = get->record;
      terms.element = get->element;
      terms.value = 7;
      return terms;
    }
    if (const auto* get = protocol::get_if<protocol::GetTile>(&request)) {
      protocol::Tile tile;
      tile.tensor = get->tensor;
      tile.rows = get->reshape->at(0) / get->row_step;
      tile.columns = get->reshape->at(1) / get->column_step;
      tile.row_step = get->row_step;
      tile.column_step = get->column_step;
      tile.dtype = "float32";
      for (std::int64_t i = 0; i < tile.rows * tile.columns; ++i)
        tile.values.push_back(i == 5 ? NAN : double(i));
      return tile;
    }
    protocol::Statistics statistics;
    statistics.tensor = protocol::get<protocol::GetStatistics>(request).tensor;
    statistics.count = 150'000;
    statistics.finite = 149'999;
    statistics.nan = 1;
    statistics.minimum = -2;
    statistics.maximum = 5;
    statistics.mean = 3;
    statistics.deviation = 4;
    return statistics;
  }
  int asked() const { return static_cast<int>(source.askedFor<protocol::GetVjp>().size()); }
};

}  // namespace

class TestVjpModel : public QObject {
  Q_OBJECT
 private slots:
  void aSumIsAskedForAgainOnceItIsMade() {
    VjpBench bench;
    bench.source.records[4].op = "add";
    bench.source.records[4].sums_gradients = true;
    bench.source.records[4].state = protocol::RecordState::pending;
    bench.source.tensors = [&](const protocol::Request& request) -> protocol::Reply {
      if (!protocol::get_if<protocol::GetVjp>(&request)) return bench.answer(request);
      protocol::VjpParts parts;
      parts.asked = 5;
      parts.sum = protocol::GradientSum{5, {}, {}, 0, info(20, {2, 3}), info(21, {2, 3}), {}, {}};
      if (bench.source.records[4].state == protocol::RecordState::done) parts.sum->after = info(22, {2, 3});
      return parts;
    };
    bench.model.setActive(true);
    bench.source.stopAtNewest();
    QTRY_VERIFY(bench.model.parts().sum && !bench.model.parts().sum->after);
    QVERIFY(bench.model.problem().isEmpty());
    QTRY_VERIFY(bench.model.value(20) && bench.model.value(20)->tile);
    // Made; the program stops at the same record, where the gradient is complete.
    bench.source.records[4].state = protocol::RecordState::done;
    bench.source.status.stopped_after = true;
    bench.source.status.stop = {bench.source.records[4]};
    bench.source.status.complete_gradient =
        protocol::CompleteGradient{std::uint64_t{1} << 33, info(1, {2, 3}), info(23, {2, 3}), false, 0, 1};
    QSignalSpy changed(&bench.model, &VjpModel::partsChanged);
    bench.source.sendStatus();
    QTRY_VERIFY(bench.model.parts().sum->after);
    QVERIFY(bench.model.complete() && bench.model.complete()->gradient.id == 23);
    QTRY_VERIFY(bench.model.value(23) && bench.model.value(23)->tile);
    QVERIFY(!changed.isEmpty());
    bench.session.setCursor(3);
    QVERIFY(!bench.model.complete());
  }

  void nothingIsAskedForWhileNobodyLooks() {
    VjpBench bench;
    bench.session.setCursor(3);
    nothingMayHappenFor(10);
    QCOMPARE(bench.asked(), 0);
    bench.model.setActive(true);
    QTRY_VERIFY(bench.model.parts().vjp && bench.model.parts().vjp->number == 3);
    QCOMPARE(bench.asked(), 1);
    bench.model.setActive(false);
    bench.session.setCursor(4);
    nothingMayHappenFor(10);
    QCOMPARE(bench.asked(), 1);
    bench.session.setCursor(3);
    bench.model.setActive(true);
    nothingMayHappenFor(10);
    QCOMPARE(bench.asked(), 1);  // it is here already
  }

  void itHasSomethingToShowOnceThePlaybackIsAtTheCursor() {
    VjpBench bench;
    QSignalSpy spy(&bench.model, &VjpModel::seenChanged);
    bench.session.setCursor(1);
    QTRY_VERIFY(bench.session.cachedRecord(1));
    bench.session.setCursor(2);
    nothingMayHappenFor(10);
    QVERIFY(!bench.model.seen());
    bench.session.setCursor(4);
    QTRY_VERIFY(bench.model.seen());
    bench.session.setCursor(1);
    QVERIFY(bench.model.seen());
    QCOMPARE(spy.count(), 1);
  }

  // "Will come out: 3" would give the answer away.
  void whatWillComeOutIsFetchedOnRequestAlone() {
    VjpBench bench(protocol::RecordState::pending);
    bench.foreseen = true;
    bench.model.setActive(true);
    bench.session.setCursor(3);
    QTRY_VERIFY(bench.model.value(10) && bench.model.value(10)->tile);
    QVERIFY(bench.model.hidesResults());
    nothingMayHappenFor(10);
    QVERIFY(!bench.model.value(12));
    QSignalSpy changed(&bench.model, &VjpModel::partsChanged);
    bench.model.showResults();
    QVERIFY(!bench.model.hidesResults());
    QCOMPARE(changed.count(), 1);
    QTRY_VERIFY(bench.model.value(12) && bench.model.value(12)->tile);
    bench.model.showResults();
    QCOMPARE(changed.count(), 1);
  }

  void explainingAnElementOfWhatWillComeOutShowsIt() {
    VjpBench bench(protocol::RecordState::pending);
    bench.foreseen = true;
    bench.model.setActive(true);
    bench.session.setCursor(3);
    QTRY_VERIFY(bench.model.hidesResults());
    bench.model.explain(0, 5);
    QVERIFY(!bench.model.hidesResults());
    QTRY_VERIFY(bench.model.terms());
  }

  void whatCameOutIsNotHidden() {
    VjpBench bench;
    bench.foreseen = true;
    bench.model.setActive(true);
    bench.session.setCursor(3);
    QTRY_VERIFY(bench.model.value(12) && bench.model.value(12)->tile);
    QVERIFY(!bench.model.hidesResults());
  }

  void valuesCarryTheirFigures() {
    VjpBench bench;
    bench.model.setActive(true);
    bench.session.setCursor(3);
    QTRY_VERIFY(bench.model.value(12) && bench.model.value(12)->tile);
    const auto* small = bench.model.value(10);
    QVERIFY(small && small->small);
    QCOMPARE(small->tile->values.size(), std::size_t{6});
    QCOMPARE(*small->norm, std::sqrt(0. + 1 + 4 + 9 + 16));
    QCOMPARE(*small->minimum, 0.0);
    QCOMPARE(*small->maximum, 4.0);
    QCOMPARE(small->odd, quint64{1});
    QTRY_VERIFY(bench.model.value(11) && bench.model.value(11)->norm);
    const auto* large = bench.model.value(11);
    QVERIFY(!large->small);
    QVERIFY(large->tile->rows <= 100 && large->tile->columns <= 100);
    QVERIFY(std::abs(*large->norm - std::sqrt(149'999.0) * 5) < 1e-6);
    QCOMPARE(large->odd, quint64{1});
    // The same values are not fetched again.
    const auto tiles = bench.source.askedFor<protocol::GetTile>().size();
    bench.session.setCursor(4);
    QTRY_COMPARE(bench.model.parts().asked, quint64{4});
    nothingMayHappenFor(10);
    QCOMPARE(bench.source.askedFor<protocol::GetTile>().size(), tiles);
  }

  // Only so many values are kept: those of other VJPs go, never those that are shown.
  void allValuesOfAVjpAreThereHoweverManyOthersWereShown() {
    VjpBench bench;
    bench.extra = 200;
    bench.model.setActive(true);
    const auto missing = [&] {
      const auto& symbols = bench.model.parts().symbols;
      return std::count_if(symbols.begin(), symbols.end(), [&](const protocol::VjpSymbol& symbol) {
        const auto* value = bench.model.value(symbol.tensor.value().id);
        return !value || !value->tile;
      });
    };
    for (const quint64 record : {3, 4, 1}) {
      bench.session.setCursor(record);
      QTRY_COMPARE(bench.model.parts().asked, record);
      QTRY_COMPARE(missing(), 0);
      QCOMPARE(bench.model.parts().symbols.size(), std::size_t{202});
    }
    QVERIFY(!bench.model.value(3000));
    QVERIFY(bench.model.value(10));
  }

  void anElementIsExplainedUntilAnotherVjpIsShown() {
    VjpBench bench;
    bench.model.setActive(true);
    bench.session.setCursor(3);
    QTRY_COMPARE(bench.model.parts().contributions.size(), std::size_t{1});
    bench.model.explain(0, 99);
    bench.model.explain(1, 0);
    bench.model.explain(-1, 0);
    QVERIFY(!bench.model.element());
    bench.model.explain(0, 17);
    QTRY_VERIFY(bench.model.terms());
    QCOMPARE(bench.model.terms()->element, quint64{17});
    QCOMPARE(bench.source.askedFor<protocol::ExplainElement>().at(0).record, quint64{3});
    bench.session.setCursor(4);  // inside of the same VJP
    QTRY_COMPARE(bench.model.parts().asked, quint64{4});
    QVERIFY(bench.model.element());
    bench.session.setCursor(1);
    QTRY_VERIFY(!bench.model.parts().vjp);
    QVERIFY(!bench.model.element() && !bench.model.terms());
    bench.session.setCursor(5);
    QTRY_VERIFY(bench.model.problem().startsWith("No VJP here."));
  }

  void anElementIsNamedByItsPlace() {
    VjpBench bench;
    bench.model.setActive(true);
    bench.session.setCursor(3);
    QTRY_COMPARE(bench.model.parts().contributions.size(), std::size_t{1});
    QString wrong;
    QCOMPARE(bench.model.elementAt(0, "1, 2, 3", &wrong), std::optional<qint64>(23));
    QCOMPARE(bench.model.elementAt(0, "[0,0,-1]", &wrong), std::optional<qint64>(3));
    QVERIFY(wrong.isEmpty());
    QVERIFY(!bench.model.elementAt(0, "1, 2", &wrong));
    QCOMPARE(wrong, QString("3 numbers are needed for the shape 2×3×4, not 2"));
    QVERIFY(!bench.model.elementAt(0, "1, 3, 0", &wrong));
    QCOMPARE(wrong, QString("3 is not an index on an axis of 3"));
    QVERIFY(!bench.model.elementAt(0, "a, 0, 0", &wrong));
    QCOMPARE(inspector::indexText({2, 3, 4}, 23), QString("1,2,3"));
    QCOMPARE(inspector::indexText({}, 0), QString());
  }

  void whatCannotBeHadSaysWhy() {
    VjpBench bench;
    bench.model.setActive(true);
    bench.session.setCursor(3);
    QTRY_VERIFY(bench.model.parts().vjp && bench.model.parts().vjp->number == 3);
    bench.refuse = true;
    bench.model.explain(0, 1);
    QTRY_COMPARE(bench.model.termsProblem(), QString("The value is gone."));
    bench.session.setCursor(4);
    QTRY_COMPARE(bench.model.problem(), QString("The value is gone."));
    bench.refuse = false;
    bench.session.setCursor(3);
    QTRY_VERIFY(bench.model.parts().vjp && bench.model.parts().vjp->number == 3);
    bench.source.setUp(false);
    bench.session.setCursor(1);
    QTRY_COMPARE(bench.model.problem(), QString("This VJP was not fetched before the session ended."));
  }

  void aVjpThatRanMeanwhileIsAskedForAgain() {
    VjpBench bench(protocol::RecordState::pending);
    bench.model.setActive(true);
    bench.session.setCursor(3);
    QTRY_COMPARE(bench.state(), protocol::RecordState::pending);
    QTRY_VERIFY(bench.session.cachedRecord(3));
    const int asked = bench.asked();
    bench.source.records[2].state = protocol::RecordState::done;
    bench.source.status.finished = 3;
    bench.source.status.ended += 1;
    bench.source.sendStatus();
    QTRY_COMPARE(bench.state(), protocol::RecordState::done);
    QVERIFY(bench.asked() > asked);
  }
};

TAPEDECK_TEST(TestVjpModel)
#include "tst_vjp_model.moc"
