// Questions and answers without a window: what makes sense where, what is asked, and what a reason shows.
#include <QSignalSpy>
#include <QtTest>

#include "inspector/model/what_if/why.h"
#include "tests/model/fake_source.h"
#include "tests/model/records_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using protocol::Because;
using protocol::Failure;
using protocol::Question;

namespace {

protocol::TensorInfo tensorOf(quint64 id, const char* dtype) {
  protocol::TensorInfo tensor;
  tensor.id = id;
  tensor.dtype = dtype;
  tensor.shape = {2, 3};
  tensor.name = "W:0";
  return tensor;
}

protocol::Record recordOf(quint64 number, protocol::RecordKind kind, quint64 input, quint64 output) {
  protocol::Record record;
  record.number = number;
  record.kind = kind;
  record.op = kind == protocol::RecordKind::playback ? "gradient" : "matmul";
  record.inputs = {tensorOf(input, "float32")};
  record.outputs = {output ? tensorOf(output, "float32") : protocol::TensorInfo{}};
  return record;
}

Because answerOf(const std::string& sentence, quint64 record = 1) {
  Because because;
  because.sentence = sentence;
  because.reasons.emplace_back();
  because.reasons[0].record = record;
  because.reasons[0].tensor = tensorOf(11, "float32");
  because.reasons[0].element = {1, 2};
  return because;
}

}  // namespace

class TestWhyModel : public QObject {
  Q_OBJECT

  test::FakeSource source_;
  Session session_;
  std::unique_ptr<WhyModel> model_;

  void answer(const protocol::Reply& reply) {
    QVERIFY(!source_.waiting.empty());
    const auto asked = source_.waiting.back();
    source_.waiting.pop_back();
    emit source_.received(asked.id, reply);
  }
  WhySubject subject(const char* dtype = "float32") const { return {1, tensorOf(11, dtype), {1, 2}}; }

 private slots:
  void init() {
    source_.records = {recordOf(1, protocol::RecordKind::op, 10, 11),
                       recordOf(2, protocol::RecordKind::playback, 11, 0)};
    source_.status.records = source_.status.finished = 2;
    session_.setSource(&source_);
    session_.record(1);
    QTRY_VERIFY(session_.cachedRecord(1) && session_.cachedRecord(2));
    source_.automatic = false;
    source_.waiting.clear();
    source_.asked.clear();
    model_ = std::make_unique<WhyModel>(&session_);
  }
  void cleanup() {
    model_.reset();
    session_.setSource(nullptr);
    source_.automatic = true;
  }

  void aQuestionIsAskedWithItsElement() {
    QSignalSpy asked(model_.get(), &WhyModel::asked);
    model_->setSubject(subject());
    model_->ask(Question::birth);
    QCOMPARE(asked.count(), 1);
    QVERIFY(model_->asking());
    const auto why = source_.askedFor<protocol::Why>();
    QCOMPARE(why.size(), std::size_t{1});
    QCOMPARE(why[0].tensor, std::uint64_t{11});
    QCOMPARE(why[0].element, (std::vector<std::int64_t>{1, 2}));
    QCOMPARE(why[0].record, std::uint64_t{1});
    emit source_.received(source_.waiting.back().id, protocol::Progress{3, 10});
    QVERIFY(model_->progress().contains("3 of 10"));
    answer(answerOf("It was born."));
    QVERIFY(!model_->asking());
    QCOMPARE(model_->answer()->because.sentence, std::string("It was born."));
    QCOMPARE(model_->answer()->about, QString("W:0 [1, 2]"));
    QCOMPARE(model_->path(), (std::vector<RecordNumber>{1}));
  }

  void ofAPlaybackItsGradientsAreMeant() {
    model_->setSubject({2, tensorOf(11, "float32"), {}});
    model_->ask(Question::gradient);
    QVERIFY(!source_.askedFor<protocol::Why>().back().tensor);
    QCOMPARE(source_.askedFor<protocol::Why>().back().record, std::uint64_t{2});
  }

  void aGradientIsCalledByTheVjpThatWasChosen() {
    protocol::Record vjp = recordOf(1, protocol::RecordKind::vjp, 10, 11);
    protocol::Record inside = recordOf(2, protocol::RecordKind::op, 10, 11);
    vjp.op = "scaled_tanh";
    inside.op = "multiply";
    source_.records = {vjp, inside};
    source_.automatic = true;
    session_.setSource(nullptr);
    session_.setSource(&source_);
    session_.record(1);
    QTRY_VERIFY(session_.cachedRecord(1) && session_.cachedRecord(2));
    protocol::TensorInfo gradient = tensorOf(11, "float32");
    gradient.name.clear();
    gradient.producer = 2;
    source_.automatic = false;
    for (const auto& [chosen, text] : {std::pair{1, "scaled_tanh, op 1"}, {2, "multiply, op 2"}}) {
      model_->setSubject({static_cast<RecordNumber>(chosen), gradient, {}});
      model_->ask(Question::exactness);
      answer(answerOf("It is."));
      QCOMPARE(model_->answer()->about, QString(text));
    }
  }

  // The forward record of an op on a tape represents its VJP.
  void aCheckTakesOpsOfTapesAndCountsVjps() {
    protocol::Record taped = recordOf(1, protocol::RecordKind::custom, 10, 11);
    taped.tape = 1;
    source_.records = {taped, recordOf(2, protocol::RecordKind::op, 10, 12)};
    source_.automatic = true;
    session_.setSource(nullptr);
    session_.setSource(&source_);
    session_.record(1);
    QTRY_VERIFY(session_.cachedRecord(1) && session_.cachedRecord(2));
    source_.automatic = false;
    QVERIFY(model_->refusal(Question::check, {2, tensorOf(12, "float32"), {}}).contains("No tape recorded"));
    const WhySubject taken{1, tensorOf(11, "float32"), {}};
    QCOMPARE(model_->refusal(Question::check, taken), QString());
    model_->setSubject(taken);
    model_->ask(Question::check);
    emit source_.received(source_.waiting.back().id, protocol::Progress{3, 12});
    QCOMPARE(model_->progress(), QString("3 of 12 VJPs"));
    answer(answerOf("It is right."));
  }

  void whatMakesNoSenseSaysWhy() {
    QVERIFY(!model_->refusal(Question::birth, {}).isEmpty());
    QVERIFY(model_->refusal(Question::birth, subject("int32")).contains("int32"));
    QVERIFY(model_->refusal(Question::gradient, subject("bool")).contains("bool"));
    QVERIFY(!model_->refusal(Question::check, subject()).isEmpty());  // of the forward pass
    QVERIFY(model_->refusal(Question::birth, subject()).isEmpty());
    QVERIFY(model_->refusal(Question::contributions, subject("int32")).isEmpty());
    model_->setSubject(subject("int32"));
    model_->ask(Question::birth);
    QVERIFY(source_.askedFor<protocol::Why>().empty());
    source_.setUp(false);
    QVERIFY(model_->refusal(Question::birth, subject()).contains("session"));
    source_.setUp(true);
  }

  // The session answers of what was recorded, whatever the panels show beside it.
  void answersAreAboutTheOriginalAlone() {
    model_->setSubject(subject());
    QSignalSpy changed(model_.get(), &WhyModel::subjectChanged);
    for (const Beside beside : {Beside::branch, Beside::difference}) {
      session_.setLook({4, beside, "x = 5"});
      QVERIFY(model_->refusal(Question::birth, subject()).contains("F12"));
      model_->ask(Question::birth);
      QVERIFY(!model_->asking());
    }
    QCOMPARE(changed.count(), 2);
    session_.setLook({4, Beside::original, "x = 5"});
    QVERIFY(model_->refusal(Question::birth, subject()).isEmpty());
    QCOMPARE(changed.count(), 3);
    session_.setLook({});
  }

  void answersStayAndAreGoneThrough() {
    model_->setSubject(subject());
    for (const char* text : {"one", "two", "three"}) {
      model_->ask(Question::birth);
      answer(answerOf(text));
    }
    QVERIFY(!model_->canGoForward());
    model_->back();
    model_->back();
    QCOMPARE(model_->answer()->because.sentence, std::string("one"));
    QVERIFY(!model_->canGoBack());
    model_->forward();
    QCOMPARE(model_->answer()->because.sentence, std::string("two"));
    model_->ask(Question::birth);
    answer(answerOf("four"));
    QCOMPARE(model_->count(), 3);
    QVERIFY(!model_->canGoForward());
  }

  void aReasonMovesTheCursorAndShowsItsElement() {
    QSignalSpy picked(&session_, &Session::elementPicked);
    model_->setSubject(subject());
    model_->ask(Question::birth);
    answer(answerOf("It was born."));
    model_->show(0);
    QCOMPARE(session_.cursor(), RecordNumber{1});
    QCOMPARE(picked.count(), 1);
    QCOMPARE(picked[0][1].value<std::vector<std::int64_t>>(), (std::vector<std::int64_t>{1, 2}));
    model_->show(7);
    QCOMPARE(picked.count(), 1);
  }

  void aCancelledQuestionLeavesTheAnswerBefore() {
    model_->setSubject(subject());
    model_->ask(Question::birth);
    answer(answerOf("first"));
    model_->ask(Question::birth);
    model_->cancel();
    QVERIFY(!model_->asking());
    QCOMPARE(source_.askedFor<protocol::Cancel>().size(), std::size_t{1});
    QCOMPARE(model_->answer()->because.sentence, std::string("first"));
    model_->ask(Question::birth);
    answer(Failure{"The value is gone.", "gone"});
    QVERIFY(model_->answer()->failed);
    QCOMPARE(model_->answer()->because.sentence, std::string("The value is gone."));
  }

  void anotherSessionForgetsAll() {
    model_->setSubject(subject());
    model_->ask(Question::birth);
    answer(answerOf("first"));
    test::FakeSource other;
    session_.setSource(&other);
    QVERIFY(!model_->answer());
    QCOMPARE(model_->count(), 0);
    session_.setSource(&source_);
  }
};

TAPEDECK_TEST(TestWhyModel)
#include "tst_why_model.moc"
