// Health's model without a window: what it asks while it is shown, and what it says.
#include <QSignalSpy>
#include <QtTest>

#include "inspector/model/runs/health_model.h"
#include "tests/model/fake_source.h"
#include "tests/model/records_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;

namespace {

protocol::Health tableOf(quint64 steps, quint64 sampled, quint64 recomputed, std::uint32_t every = 0) {
  protocol::Health table;
  table.steps = steps;
  table.run = 4;
  table.runs.resize(1);
  table.runs[0].number = 4;
  table.runs[0].cell = "a";
  table.runs[0].first = 1;
  table.runs[0].last = 1000;
  table.runs[0].steps = steps;
  table.runs[0].sampled = sampled;
  table.runs[0].recomputed = recomputed;
  table.every = protocol::if_there(every);
  table.version = sampled;
  table.total = 2;
  table.rows.resize(2);
  table.rows[0].subject = 7;
  table.rows[0].name = "W1";
  table.rows[0].strips = {{"gradient", 0.5, 3, {1e-6, std::nan(""), 0, 2}}};
  table.rows[1].subject = 8;
  table.rows[1].kind = protocol::HealthKind::published;
  table.rows[1].name = "L-BFGS";
  return table;
}

}  // namespace

class TestHealthModel : public QObject {
  Q_OBJECT

  test::FakeSource source_;
  Session session_;
  std::unique_ptr<HealthModel> model_;

 private slots:
  void init() {
    source_.status.records = source_.status.finished = 2;
    source_.status.running_cell.reset();
    session_.setSource(&source_);
    QTRY_VERIFY(session_.live() && session_.recordCount() == 2);
    source_.automatic = false;
    source_.waiting.clear();
    source_.asked.clear();
    model_ = std::make_unique<HealthModel>(&session_);
  }
  void cleanup() {
    model_.reset();
    session_.setSource(nullptr);
    source_.automatic = true;
  }

  void hiddenItAsksNothing() {
    source_.status.records = 100;
    source_.sendStatus();
    nothingMayHappenFor(50);
    QCOMPARE(source_.count<protocol::GetHealth>(), std::size_t{0});
    model_->setShown(true);
    QCOMPARE(source_.count<protocol::GetHealth>(), std::size_t{1});
    QVERIFY(source_.askedFor<protocol::GetHealth>()[0].live_ms > 0);
    model_->setShown(false);
    QCOMPARE(source_.askedFor<protocol::GetHealth>().back().live_ms,
             0U);  // at once, not when its time is over
    const std::size_t before = source_.count<protocol::GetHealth>();
    source_.sendStatus();
    QCOMPARE(source_.count<protocol::GetHealth>(), before);
  }

  void stepsAreRecomputedUntilAllThatIsWantedIsHere() {
    model_->setShown(true);
    source_.answer<protocol::GetHealth>(tableOf(2000, 0, 0));
    QVERIFY(model_->recomputing());
    QCOMPARE(source_.askedFor<protocol::SampleHealth>().back().steps, 40U);
    source_.answer<protocol::SampleHealth>(protocol::HealthSampled{12, 40, false, {}});
    QCOMPARE(model_->howSampled(), QString("Recomputing: 12 of 40 steps"));
    source_.answer<protocol::GetHealth>(tableOf(2000, 12, 12));
    source_.answer<protocol::SampleHealth>(protocol::HealthSampled{40, 40, true, {}});
    source_.answer<protocol::GetHealth>(tableOf(2000, 40, 40));
    QVERIFY(!model_->recomputing());
    QCOMPARE(model_->howSampled(), QString("40 of 2,000 steps, recomputed"));
    const std::size_t before = source_.count<protocol::SampleHealth>();
    source_.sendStatus();
    nothingMayHappenFor(500);
    QCOMPARE(source_.count<protocol::SampleHealth>(), before);
    model_->sampleMore();
    source_.answer<protocol::GetHealth>(tableOf(2000, 40, 40));
    QCOMPARE(source_.askedFor<protocol::SampleHealth>().back().steps, 80U);
    model_->cancel();
    QVERIFY(!model_->recomputing());
    QVERIFY(source_.count<protocol::Cancel>() > 0 ||
            source_.askedFor<protocol::SampleHealth>().size() > before);
  }

  void whileACellRunsNothingIsRecomputed() {
    source_.status.running_cell = "cell";
    source_.sendStatus();
    model_->setShown(true);
    source_.answer<protocol::GetHealth>(tableOf(10, 4, 0, 4));
    QCOMPARE(source_.count<protocol::SampleHealth>(), std::size_t{0});
    QCOMPARE(model_->howSampled(), QString("4 of 10 steps, sampled live; from now on one of every 4 steps"));
    QVERIFY(!source_.askedFor<protocol::GetHealthFindings>().back().explain);
  }

  void rowsCurvesAndRanges() {
    model_->setShown(true);
    source_.answer<protocol::GetHealth>(tableOf(2000, 40, 40));
    QCOMPARE(model_->rowCount(), 2);
    QCOMPARE(model_->selected(), quint64{7});  // the first layer
    QCOMPARE(model_->range("gradient"), (std::pair{1e-6, 2.0}));
    QCOMPARE(model_->published().size(), std::size_t{1});
    protocol::HealthCurve curve;
    curve.subject = 7;
    curve.run = 4;
    curve.quantity = "gradient";
    curve.steps = {1, 2};
    curve.values = {3, 4};
    curve.records = {1, 2};
    source_.answer<protocol::GetHealthCurve>(curve);
    QCOMPARE(model_->curves().size(), std::size_t{1});
    QCOMPARE(model_->curves()[0]->values, (std::vector<double>{3, 4}));
    model_->select(8);
    QVERIFY(model_->curves().empty());
  }

  void aRunIsChosenAndAFindingOfAnotherShowsItsRows() {
    protocol::Health table = tableOf(300, 40, 40);
    table.runs.insert(table.runs.begin(), table.runs[0]);
    table.runs[0].number = 3;
    table.runs[0].sampled = 77;
    table.runs[0].recomputed = 70;
    model_->setShown(true);
    QVERIFY(!source_.askedFor<protocol::GetHealth>().back().run);
    source_.answer<protocol::GetHealth>(table);
    QCOMPARE(model_->run(), -1);
    QVERIFY(model_->shownRun() && model_->shownRun()->number == 4);
    protocol::HealthFindings findings;
    findings.version = table.version;
    findings.findings.resize(1);
    findings.findings[0].run = 3;
    findings.findings[0].subject = 7;
    findings.not_seen = {{3, "77 of 300 steps were sampled."}};
    QVERIFY(!source_.askedFor<protocol::GetHealthFindings>().back().run);
    source_.answer<protocol::GetHealthFindings>(findings);
    QCOMPARE(model_->notSeen(3), QString("77 of 300 steps were sampled."));
    QCOMPARE(model_->notSeen(4), QString());
    model_->show(0);
    QCOMPARE(source_.askedFor<protocol::GetHealth>().back().run, std::optional<std::uint64_t>(3));
    QCOMPARE(model_->run(), -1);  // the findings are those of all still
    table.run = 3;
    source_.answer<protocol::GetHealth>(table);
    QCOMPARE(model_->shownRun()->number, std::uint64_t{3});
    source_.answer<protocol::SampleHealth>(protocol::HealthSampled{80, 80, true, {}});
    QVERIFY(model_->howSampled().startsWith("77 of 300 steps: 7 sampled live, 70 recomputed"));
    QCOMPARE(source_.askedFor<protocol::GetHealthCurve>().back().run, std::optional<std::uint64_t>(3));
    // A curve of the run that was shown before comes too late.
    protocol::HealthCurve curve{7, 4, "gradient", {1, 2}, {3, 4}, {1, 2}};
    source_.answer<protocol::GetHealthCurve>(curve);
    QVERIFY(model_->curves().empty());
    model_->stepRun(1);
    QCOMPARE(model_->run(), 1);
    QCOMPARE(source_.askedFor<protocol::GetHealth>().back().run, std::optional<std::uint64_t>(4));
    table.run = 4;
    source_.answer<protocol::GetHealth>(table);
    QCOMPARE(source_.askedFor<protocol::GetHealthFindings>().back().run, std::optional<std::uint64_t>(4));
    source_.answer<protocol::GetHealthFindings>(protocol::HealthFindings{table.version, {}, {}});
    QVERIFY(model_->findings().empty() && model_->judged());
    model_->stepRun(-1);
    QCOMPARE(model_->run(), 0);
    model_->setRun(-1);
    QCOMPARE(model_->run(), -1);
    QVERIFY(!source_.askedFor<protocol::GetHealth>().back().run);
  }

  void noFindingsSayNothingBeforeTheRulesWereAsked() {
    model_->setShown(true);
    source_.answer<protocol::GetHealth>(tableOf(2, 2, 2));
    QVERIFY(model_->findings().empty() && !model_->judged());
    source_.answer<protocol::GetHealthFindings>(protocol::HealthFindings{2, {}, {}});
    QVERIFY(model_->judged());
  }

  void theCurveOfAFindingIsShownThoughItsRowIsNotInSight() {
    model_->setShown(true);
    source_.answer<protocol::GetHealth>(tableOf(2, 2, 2));
    protocol::HealthFindings findings;
    findings.findings.resize(1);
    findings.findings[0].run = 4;
    findings.findings[0].subject = 99;
    findings.findings[0].quantity = "dead";
    source_.answer<protocol::GetHealthFindings>(findings);
    model_->show(0);
    QCOMPARE(source_.askedFor<protocol::GetHealthCurve>().back().subject, std::uint64_t{99});
    protocol::HealthCurve curve{99, 4, "dead", {1, 2}, {0, 1}, {1}};
    source_.answer<protocol::GetHealthCurve>(curve);
    QVERIFY(model_->curves().empty());  // its lists do not go together
    model_->select(7);
    model_->show(0);
    curve.records = {1, 2};
    source_.answer<protocol::GetHealthCurve>(curve);
    QCOMPARE(model_->curves().size(), std::size_t{1});
    // Hidden it waits for no curve.
    model_->select(7);
    const auto asks = [](const auto& one) {
      return protocol::holds_alternative<protocol::GetHealthCurve>(one.message);
    };
    QVERIFY(std::any_of(source_.waiting.begin(), source_.waiting.end(), asks));
    model_->setShown(false);
    QVERIFY(std::none_of(source_.waiting.begin(), source_.waiting.end(), asks));
  }

  void thatTheSessionEndedIsNoProblemOfTheTable() {
    model_->setShown(true);
    source_.setUp(false);
    QCOMPARE(model_->problem(), QString());
    source_.setUp(true);
  }

  void aFindingIsAClickFromItsOp() {
    source_.records = test::RecordsText("op matmul(X:2x3) -> y:2x3\nop relu(y) -> z").records;
    model_->setShown(true);
    source_.answer<protocol::GetHealth>(tableOf(2, 2, 2));
    protocol::HealthFindings findings;
    findings.findings.resize(1);
    findings.findings[0].sentence = "W1 is dead.";
    findings.findings[0].record = 2;
    findings.findings[0].run = 4;
    findings.findings[0].subject = 8;
    findings.findings[0].tensor.emplace().id = 5;
    QSignalSpy picked(&session_, &Session::tensorPicked);
    source_.answer<protocol::GetHealthFindings>(findings);
    QCOMPARE(model_->findings().size(), std::size_t{1});
    model_->show(0);
    QCOMPARE(session_.cursor(), quint64{2});
    QCOMPARE(picked.count(), 1);
    QCOMPARE(model_->selected(), quint64{8});
    model_->show(5);  // there is none
  }
};

TAPEDECK_TEST(TestHealthModel)
#include "tst_health_model.moc"
