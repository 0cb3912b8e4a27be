// Memory without a window: its requests, when it sends them, and its texts.
#include <QSignalSpy>
#include <QtTest>

#include "inspector/model/runs/memory_model.h"
#include "tests/model/fake_source.h"
#include "tests/model/records_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using protocol::MemoryGroup;
using protocol::MemoryHolder;

namespace {

protocol::Record recordOf(quint64 number) {
  protocol::Record record;
  record.number = number;
  record.op = "matmul";
  return record;
}

protocol::MemoryCurve curveOf(quint64 total) {
  protocol::MemoryCurve curve;
  curve.first = 1;
  curve.last = curve.total = total;
  for (quint64 i = 1; i <= total; ++i) {
    curve.records.push_back(static_cast<double>(i));
    for (auto* values : {&curve.variables, &curve.tapes, &curve.program, &curve.recorder, &curve.least})
      values->push_back(1000.0 * static_cast<double>(i));
  }
  curve.peak_record = 3;
  curve.peak_bytes = 9000;
  protocol::MemoryGrowth growth;
  growth.sentence = "Memory grows by 34 MB with each step.";
  growth.record = 4;
  growth.tensors = {11};
  growth.tapes = {7};
  curve.growth = {growth};
  return curve;
}

protocol::MemoryRow rowOf(quint64 tensor, MemoryHolder holder, quint64 tape = 0) {
  protocol::MemoryRow row;
  row.holder = holder;
  row.held_by = holder == MemoryHolder::tape ? "tape 7, for the VJP of matmul, op 2" : "the program";
  row.count = 1;
  row.bytes = 4000;
  row.tensor.id = tensor;
  row.tape = protocol::if_there(tape);
  return row;
}

}  // namespace

class TestMemoryModel : public QObject {
  Q_OBJECT

  test::FakeSource source_;
  Session session_;
  std::unique_ptr<MemoryModel> model_;

  /// Answers the newest request of that kind; false: there is none.
  template <class Message>
  bool answer(const protocol::Reply& reply) {
    for (std::size_t i = source_.waiting.size(); i-- > 0;) {
      if (!protocol::holds_alternative<Message>(source_.waiting[i].message)) continue;
      const quint64 id = source_.waiting[i].id;
      source_.waiting.erase(source_.waiting.begin() + static_cast<std::ptrdiff_t>(i));
      emit source_.received(id, reply);
      return true;
    }
    return false;
  }
  template <class Message>
  bool isAsked() {
    return waitFor(
        [&] {
          return std::any_of(source_.waiting.begin(), source_.waiting.end(), [](const auto& one) {
            return protocol::holds_alternative<Message>(one.message);
          });
        },
        tapedeck::patience);
  }

 private slots:
  void init() {
    source_.records.clear();
    for (quint64 i = 1; i <= 5; ++i) source_.records.push_back(recordOf(i));
    source_.status.records = source_.status.finished = 5;
    session_.setSource(&source_);
    source_.sendStatus();
    QTRY_COMPARE(session_.recordCount(), RecordNumber{5});
    QCoreApplication::processEvents();  // what it answers by itself
    source_.automatic = false;
    source_.waiting.clear();
    source_.asked.clear();
    model_ = std::make_unique<MemoryModel>(&session_);
  }
  void cleanup() {
    model_.reset();
    session_.setSource(nullptr);
    source_.automatic = true;
  }

  void nothingIsAskedWhileItIsHidden() {
    session_.setCursor(2);
    source_.sendStatus();
    nothingMayHappenFor(600);
    QVERIFY(source_.askedFor<protocol::GetMemoryCurve>().empty());
    QVERIFY(source_.askedFor<protocol::GetMemoryState>().empty());
    model_->setShown(true);
    QVERIFY(isAsked<protocol::GetMemoryCurve>() && isAsked<protocol::GetMemoryState>());
    QVERIFY(answer<protocol::GetMemoryCurve>(curveOf(5)));
    model_->setShown(false);
    source_.asked.clear();
    session_.setCursor(3);
    nothingMayHappenFor(600);
    QVERIFY(source_.askedFor<protocol::GetMemoryState>().empty());
  }

  void theNewestRecordIsNow() {
    model_->setShown(true);
    QVERIFY(isAsked<protocol::GetMemoryState>());
    QVERIFY(!source_.askedFor<protocol::GetMemoryState>().back().record);
    session_.setCursor(2);
    QTRY_COMPARE(source_.askedFor<protocol::GetMemoryState>().back().record, std::uint64_t{2});
  }

  void aFilesEndIsWhenItWasSaved() {
    source_.status.trace_file = "/somewhere/run.tapetrace";
    source_.sendStatus();
    QTRY_VERIFY(session_.status().trace_file);
    model_->setShown(true);
    QVERIFY(isAsked<protocol::GetMemoryState>());
    protocol::MemoryState state;
    QVERIFY(answer<protocol::GetMemoryState>(state));
    QVERIFY2(model_->summary().startsWith("When it was saved: "), qPrintable(model_->summary()));
    source_.status.trace_file.reset();
    source_.sendStatus();
    QTRY_VERIFY(!session_.status().trace_file);
    QVERIFY2(model_->summary().startsWith("Now: "), qPrintable(model_->summary()));
  }

  void whileTheRunGoesOnTheAnswerUnderWayIsWaitedFor() {
    model_->setShown(true);
    QVERIFY(isAsked<protocol::GetMemoryState>());
    for (int i = 0; i < 2; ++i) {
      source_.status.finished = ++source_.status.records;
      source_.sendStatus();
      nothingMayHappenFor(400);
    }
    QCOMPARE(source_.askedFor<protocol::GetMemoryState>().size(), std::size_t{1});
    QVERIFY(answer<protocol::GetMemoryState>(protocol::MemoryState{}));
    QTRY_COMPARE(source_.askedFor<protocol::GetMemoryState>().size(), std::size_t{2});
  }

  void savingsAreAskedForWhileSomebodyLooks() {
    model_->setSavingsShown(true);
    QVERIFY(source_.askedFor<protocol::GetRecomputeSavings>().empty());
    model_->setShown(true);
    model_->setShown(false);  // what was under way is given up
    model_->setShown(true);
    QCOMPARE(source_.askedFor<protocol::GetRecomputeSavings>().size(), std::size_t{2});
    QVERIFY(answer<protocol::GetRecomputeSavings>(protocol::RecomputeSavings{}));
    QVERIFY(model_->savings());
    model_->setSpan(2, 4);
    QCOMPARE(source_.askedFor<protocol::GetRecomputeSavings>().back().last, std::uint64_t{4});
    QVERIFY(!model_->savings());  // that was of another span
  }

  void aCurveWhoseListsDoNotGoTogetherIsNotShown() {
    model_->setShown(true);
    QVERIFY(isAsked<protocol::GetMemoryCurve>());
    protocol::MemoryCurve curve = curveOf(5);
    curve.tapes.pop_back();
    QVERIFY(answer<protocol::GetMemoryCurve>(curve));
    QVERIFY(!model_->curve());
    QVERIFY(model_->problem().contains("do not match"));
    QCOMPARE(model_->waitingText(), model_->problem());
  }

  void whoHoldsAGroupOfLinesIsSaid() {
    model_->setShown(true);
    model_->setGroup(MemoryGroup::line);
    QVERIFY(isAsked<protocol::GetMemoryState>());
    protocol::MemoryRow row = rowOf(0, MemoryHolder::tape);
    row.held_by.reset();
    protocol::MemoryState state;
    state.rows = {row};
    QVERIFY(answer<protocol::GetMemoryState>(state));
    QCOMPARE(model_->holderOf(row), QString("tapes"));
  }

  void namesAreAskedForAndTold() {
    model_->setShown(true);
    QVERIFY(isAsked<protocol::GetMemoryState>());
    protocol::MemoryState state;
    state.total = 2;
    state.rows = {rowOf(11, MemoryHolder::tape, 7), rowOf(12, MemoryHolder::program)};
    QVERIFY(answer<protocol::GetMemoryCurve>(curveOf(5)));
    QVERIFY(answer<protocol::GetMemoryState>(state));
    QVERIFY(isAsked<protocol::FindNames>());
    const protocol::FindNames find = source_.askedFor<protocol::FindNames>().back();
    QCOMPARE(find.tensors, (std::vector<std::uint64_t>{11, 12}));
    QCOMPARE(find.tapes, std::vector<std::uint64_t>{7});
    QCOMPARE(model_->holderOf(state.rows[1]), QString("the program"));
    QVERIFY(answer<protocol::FindNames>(
        protocol::FoundNames{{{{}, 7, "history[3].tape", "history", 24}, {12, {}, "x", "x", {}}}, true}));
    QCOMPARE(model_->holderOf(state.rows[0]),
             QString("tape 7, for the VJP of matmul, op 2 (history[3].tape)"));
    QCOMPARE(model_->holderOf(state.rows[1]), QString("x"));
    QCOMPARE(model_->growthText(model_->curve()->growth[0]),
             QString("Memory grows by 34 MB with each step. Kept alive by the name history (24 items)."));
    model_->goToPeak();
    QCOMPARE(session_.cursor(), RecordNumber{3});
    model_->goToGrowth();
    QCOMPARE(session_.cursor(), RecordNumber{4});
  }

  void namesAreNotAskedForWhileACellRuns() {
    source_.status.running_cell = "cell";
    source_.sendStatus();
    model_->setShown(true);
    QVERIFY(isAsked<protocol::GetMemoryState>());
    QVERIFY(answer<protocol::GetMemoryCurve>(curveOf(5)));
    nothingMayHappenFor(50);
    QVERIFY(source_.askedFor<protocol::FindNames>().empty());
    source_.status.running_cell.reset();
    source_.sendStatus();
    QVERIFY(isAsked<protocol::GetMemoryCurve>());
    QVERIFY(answer<protocol::GetMemoryCurve>(curveOf(5)));
    QVERIFY(isAsked<protocol::FindNames>());
  }

  void moreRowsAreFetchedBehindThoseThatAreThere() {
    model_->setShown(true);
    QVERIFY(isAsked<protocol::GetMemoryState>());
    protocol::MemoryState state;
    state.total = 3;
    state.rows = {rowOf(1, MemoryHolder::program), rowOf(2, MemoryHolder::program)};
    QVERIFY(answer<protocol::GetMemoryState>(state));
    model_->fetchMore();
    QCOMPARE(source_.askedFor<protocol::GetMemoryState>().back().first, std::uint64_t{2});
    state.first = 2;
    state.rows = {rowOf(3, MemoryHolder::program)};
    QVERIFY(answer<protocol::GetMemoryState>(state));
    QCOMPARE(model_->state()->rows.size(), std::size_t{3});
    source_.asked.clear();
    model_->fetchMore();
    QVERIFY(source_.askedFor<protocol::GetMemoryState>().empty());
  }

  void bytesAreWrittenInThreeFigures() {
    QCOMPARE(memoryText(0), QString("0 bytes"));
    QCOMPARE(memoryText(999), QString("999 bytes"));
    QCOMPARE(memoryText(1000), QString("1.00 kB"));
    QCOMPARE(memoryText(65536), QString("65.5 kB"));
    QCOMPARE(memoryText(999'900), QString("1.00 MB"));
    QCOMPARE(memoryText(123'456'789), QString("123 MB"));
  }
};

TAPEDECK_TEST(TestMemoryModel)
#include "tst_memory_model.moc"
