// What if without a window: changes as they are typed, the replay, and which of branch and original is looked
// at.
#include <QSignalSpy>
#include <QtTest>

#include "inspector/model/tensor/tensor_model.h"
#include "inspector/model/what_if/what_if_model.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using protocol::Branched;
using protocol::Failure;

namespace {

protocol::TensorInfo matrix(quint64 id, const char* dtype, const char* name) {
  protocol::TensorInfo tensor;
  tensor.id = id;
  tensor.dtype = dtype;
  tensor.shape = {2, 3};
  tensor.name = name;
  tensor.preview = "[…]";
  return tensor;
}

protocol::Record opRecord() {
  protocol::Record record;
  record.number = 1;
  record.op = "cumsum";
  record.inputs = {matrix(10, "float32", "W:0")};
  record.outputs = {matrix(11, "float32", "")};
  record.outputs[0].producer = 1;
  record.attributes = {{"axis", "0"}};
  return record;
}

ChangeDraft draftOf(ChangeKind kind, const char* numbers, const char* element = "") {
  return {kind, QString::fromUtf8(element), QString::fromUtf8(numbers), {}, {}};
}

Branched branchOf(quint64 branch) {
  Branched answer;
  answer.branch = branch;
  answer.sentence = "1 result depends on the change.";
  answer.depending = 1;
  answer.moved.emplace_back();
  answer.moved[0].record = 1;
  answer.moved[0].tensor = matrix(11, "float32", "");
  return answer;
}

}  // namespace

class TestWhatIfModel : public QObject {
  Q_OBJECT

  test::FakeSource source_;
  Session session_;
  std::unique_ptr<WhatIfModel> model_;

  void answer(const protocol::Reply& reply) {
    QVERIFY(!source_.waiting.empty());
    const auto asked = source_.waiting.back();
    source_.waiting.pop_back();
    emit source_.received(asked.id, reply);
  }
  ChangeSubject subject(const char* dtype = "float32") const {
    return {matrix(10, dtype, "W:0"), {}, opRecord()};
  }
  BranchChange change(const char* number = "5") {
    ChangeProblem problem;
    const auto made = changeOf(draftOf(ChangeKind::element, number, "0, 2"), subject(), &problem);
    return made ? *made : BranchChange();
  }
  void replay(quint64 branch) {
    model_->replay();
    answer(branchOf(branch));
  }

 private slots:
  void init() {
    source_.records = {opRecord()};
    source_.status = {};
    source_.status.records = source_.status.finished = 1;
    source_.automatic = true;
    session_.setSource(&source_);
    session_.record(1);
    QTRY_VERIFY(session_.cachedRecord(1));
    source_.automatic = false;
    source_.waiting.clear();
    source_.asked.clear();
    model_ = std::make_unique<WhatIfModel>(&session_);
  }
  void cleanup() {
    model_.reset();
    session_.setLook({});
    session_.setSource(nullptr);
  }

  void whatIsTypedBecomesAChangeInWords_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("element");
    QTest::addColumn<QString>("numbers");
    QTest::addColumn<QString>("text");
    const auto row = [](const char* name, ChangeKind kind, const char* element, const char* numbers,
                        const char* text) {
      QTest::newRow(name) << static_cast<int>(kind) << QString(element) << QString(numbers)
                          << QString::fromUtf8(text);
    };
    row("element", ChangeKind::element, "0, 2", "5", "W:0[0, 2] = 5");
    row("from the end", ChangeKind::element, "[-1, -1]", "nan", "W:0[1, 2] = nan");
    row("all the same", ChangeKind::value, "", "1e-3", "W:0 = 1e-3 everywhere");
    row("all of them", ChangeKind::value, "", "[[1, 2, 3], [4, 5, -inf]]", "W:0 = [[1, 2, 3], [4, 5, -inf]]");
    row("skip", ChangeKind::skip, "", "", "cumsum, op 1 skipped");
    row("zero", ChangeKind::zero, "", "", "result of cumsum, op 1 = 0");
    row("scale", ChangeKind::scale, "", "-0.5", "result of cumsum, op 1 × -0.5");
    row("clip", ChangeKind::clip, "", "3", "result of cumsum, op 1 clipped to ±3");
  }
  void whatIsTypedBecomesAChangeInWords() {
    QFETCH(int, kind);
    QFETCH(QString, element);
    QFETCH(QString, numbers);
    QFETCH(QString, text);
    ChangeProblem problem;
    const auto made =
        changeOf({static_cast<ChangeKind>(kind), element, numbers, {}, {}}, subject(), &problem);
    QVERIFY2(made, qPrintable(problem.sentence));
    QCOMPARE(made->text, text);
    const bool ofTensor = kind <= static_cast<int>(ChangeKind::element);
    QCOMPARE(made->change.tensor, protocol::if_there(ofTensor ? std::uint64_t{10} : 0));
    QCOMPARE(made->change.record, protocol::if_there(ofTensor ? 0 : std::uint64_t{1}));
  }

  void oneOfSeveralResultsIsChangedAlone() {
    ChangeSubject several = subject();
    QVERIFY(resultsFor(several, ChangeKind::zero).isEmpty());  // it has one
    several.op.outputs = {matrix(11, "float32", ""), {}, matrix(13, "int32", "")};
    QCOMPARE(resultsFor(several, ChangeKind::scale), (QList<int>{0, 2}));  // one was not made
    QVERIFY(resultsFor(several, ChangeKind::skip).isEmpty());
    QCOMPARE(resultWords(several, 2), QString::fromUtf8("result 2 (int32 2×3)"));
    ChangeDraft draft = draftOf(ChangeKind::scale, "2");
    ChangeProblem problem;
    auto made = changeOf(draft, several, &problem);
    QVERIFY(made && !made->change.result);
    draft.result = 2;
    made = changeOf(draft, several, &problem);
    QVERIFY(made);
    QCOMPARE(made->change.result, std::optional<std::uint64_t>(2));
    QCOMPARE(made->text, QString::fromUtf8("result 2 of cumsum, op 1 × 2"));
    draft.result = 1;
    QVERIFY(!changeOf(draft, several, &problem));
    QCOMPARE(problem.field, ChangeField::result);
    QVERIFY2(problem.sentence.contains("has no result 1"), qPrintable(problem.sentence));
  }

  void whatStaysAsRecordedIsShown() {
    Branched branch = branchOf(3);
    branch.reads.emplace_back();
    branch.reads[0].record = 1;
    model_->add(change());
    model_->replay();
    answer(branch);
    const QSignalSpy chosen(&session_, &Session::cursorChosen);
    model_->showRead(1);  // there is none
    QCOMPARE(chosen.size(), 0);
    model_->showRead(0);
    QCOMPARE(chosen.size(), 1);
    QCOMPARE(session_.cursor(), RecordNumber{1});
  }

  void whatMakesNoSenseIsSaidOfItsField_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("dtype");
    QTest::addColumn<QString>("element");
    QTest::addColumn<QString>("numbers");
    QTest::addColumn<int>("field");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* name, ChangeKind kind, const char* dtype, const char* element,
                        const char* numbers, ChangeField field, const char* part) {
      QTest::newRow(name) << static_cast<int>(kind) << QString(dtype) << QString(element)
                          << QString::fromUtf8(numbers) << static_cast<int>(field) << QString::fromUtf8(part);
    };
    using F = ChangeField;
    row("no number", ChangeKind::scale, "float32", "", "", F::numbers, "Type a number");
    row("a word", ChangeKind::element, "float32", "0, 0", "five", F::numbers, "“five” is not a number");
    row("two", ChangeKind::element, "float32", "0, 0", "5 6", F::numbers, "one number, not 2");
    row("too few", ChangeKind::value, "float32", "", "1 2 3", F::numbers,
        "or 6 of them for the shape 2×3, not 3");
    row("half", ChangeKind::element, "int32", "0, 0", "5.5", F::numbers, "5.5 is not an integer");
    row("below zero", ChangeKind::value, "uint8", "", "-1", F::numbers, "below zero");
    row("truth", ChangeKind::value, "bool", "", "2", F::numbers, "neither True nor False");
    row("one axis", ChangeKind::element, "float32", "1", "5", F::element,
        "2 places for the shape 2×3, not 1");
    row("outside", ChangeKind::element, "float32", "0, 3", "5", F::element,
        "“3” is not an index on an axis of 3");
    row("no place", ChangeKind::element, "float32", "0, x", "5", F::element, "“x” is not an index");
    row("clip", ChangeKind::clip, "float32", "", "-1", F::numbers, "at least 0");
    row("clip nan", ChangeKind::clip, "float32", "", "nan", F::numbers, "at least 0");
    row("attribute", ChangeKind::attribute, "float32", "", "", F::attribute, "Choose an attribute");
  }
  void whatMakesNoSenseIsSaidOfItsField() {
    QFETCH(int, kind);
    QFETCH(QString, dtype);
    QFETCH(QString, element);
    QFETCH(QString, numbers);
    QFETCH(int, field);
    QFETCH(QString, part);
    ChangeProblem problem;
    QVERIFY(!changeOf({static_cast<ChangeKind>(kind), element, numbers, {}, {}},
                      subject(dtype.toLatin1().constData()), &problem));
    QCOMPARE(static_cast<int>(problem.field), field);
    QVERIFY2(problem.sentence.contains(part), qPrintable(problem.sentence));
  }

  void whatCanBeChangedDependsOnWhatIsPointedAt() {
    using K = ChangeKind;
    QCOMPARE(changesFor(subject()),
             (QList<K>{K::element, K::value, K::attribute, K::skip, K::zero, K::scale, K::clip}));
    ChangeSubject scalar = subject();
    scalar.tensor.shape = {};
    scalar.op = {};
    QCOMPARE(changesFor(scalar), (QList<K>{K::value}));
    QVERIFY(changesFor({}).isEmpty());
    // The op is the record, or what made the tensor; a VJP is none.
    const ChangeSubject made = changeSubjectOf(session_, {0, opRecord().outputs[0], {}});
    QCOMPARE(made.op.number, std::uint64_t{1});
    QCOMPARE(tensorWords(made), QString::fromUtf8("the result of cumsum, op 1 (float32 2×3)"));
  }

  void aReplayTellsHowFarItIsAndWhatCameOfIt() {
    QVERIFY(model_->refusal().contains("add a change"));
    model_->replay();
    QVERIFY(source_.askedFor<protocol::MakeBranch>().empty());
    model_->add(change());
    model_->replay();
    QVERIFY(model_->replaying());
    const auto make = source_.askedFor<protocol::MakeBranch>();
    QCOMPARE(make.size(), std::size_t{1});
    QCOMPARE(make[0].changes[0].element, (std::vector<std::int64_t>{0, 2}));
    QCOMPARE(make[0].changes[0].numbers, (std::vector<double>{5}));
    emit source_.received(source_.waiting.back().id, protocol::Progress{3, 1000});
    QVERIFY2(model_->progress().contains("3 of 1,000"), qPrintable(model_->progress()));
    answer(branchOf(4));
    QVERIFY(!model_->replaying());
    QCOMPARE(model_->answer()->depending, std::uint64_t{1});
    QCOMPARE(session_.look().branch, quint64{4});
    QCOMPARE(session_.look().changes, QString("W:0[0, 2] = 5"));
    QCOMPARE(model_->shown(), Beside::original);  // until the user says so
    QSignalSpy picked(&session_, &Session::tensorPicked);
    model_->show(0);
    QCOMPARE(session_.cursor(), RecordNumber{1});
    QCOMPARE(picked.count(), 1);
    // Another list of changes is another branch.
    QVERIFY(!model_->outdated());
    model_->add(change("7"));
    QVERIFY(model_->outdated());
  }

  void changesEditedDuringTheFirstReplayAreNotThoseOfItsBranch() {
    model_->add(change());
    model_->replay();
    model_->replace(0, change("7"));
    answer(branchOf(4));
    QCOMPARE(session_.look().changes, QString("W:0[0, 2] = 5"));
    QVERIFY(model_->outdated());
    replay(5);
    QVERIFY(!model_->outdated());
    // A replay that was given up left no branch that could be outdated.
    model_->forget();
    model_->replay();
    model_->replace(0, change("9"));
    model_->cancel();
    QVERIFY(!model_->outdated());
  }

  void aCancelledOrRefusedReplayLeavesTheBranchBefore() {
    model_->add(change());
    replay(4);
    model_->replay();
    model_->cancel();
    QVERIFY(!model_->replaying());
    QCOMPARE(source_.askedFor<protocol::Cancel>().size(), std::size_t{1});
    QVERIFY(model_->problem().isEmpty());
    model_->replay();
    answer(Failure{"make_branch: there is no op 9", "bad_request"});
    QCOMPARE(model_->problem(), QString("There is no op 9."));
    QCOMPARE(session_.look().branch, quint64{4});
    QVERIFY(model_->answer());
  }

  void theViewsAskForWhatIsLookedAt() {
    model_->add(change());
    replay(4);
    protocol::GetTile get;
    get.tensor = 11;
    const auto ask = [this, get] {
      session_.request(get, this, [](const protocol::Reply&) {});
      session_.request(protocol::GetStatistics{11, 8}, this, [](const protocol::Reply&) {});
    };
    ask();
    QCOMPARE(source_.askedFor<protocol::GetTile>().size(), std::size_t{1});
    model_->setShown(Beside::branch);
    ask();
    QCOMPARE(source_.askedFor<protocol::GetTile>().size(), std::size_t{1});
    const auto tile = source_.askedFor<protocol::GetBranchTile>();
    QCOMPARE(tile.size(), std::size_t{1});
    QCOMPARE(tile[0].branch, std::uint64_t{4});
    QVERIFY(!tile[0].difference);
    QCOMPARE(tile[0].tile.tensor, std::uint64_t{11});
    model_->setShown(Beside::difference);
    ask();
    QVERIFY(source_.askedFor<protocol::GetBranchStatistics>().back().difference);
    QCOMPARE(source_.askedFor<protocol::GetBranchStatistics>().back().statistics.bins, 8u);
  }

  void theTensorIsFetchedAnewWhereOtherValuesAreLookedAt() {
    model_->add(change());
    replay(4);
    TensorModel tensor(&session_);
    session_.setCursor(1);
    QTRY_COMPARE(source_.askedFor<protocol::GetTile>().size(), std::size_t{1});
    protocol::Tile tile;
    tile.tensor = 11;
    tile.rows = 2;
    tile.columns = 3;
    tile.values.assign(6, 1.0);
    for (const auto& asked : std::vector(source_.waiting))
      if (protocol::holds_alternative<protocol::GetTile>(asked.message))
        emit source_.received(asked.id, tile);
    QVERIFY(tensor.tile());
    model_->setShown(Beside::branch);
    QVERIFY(!tensor.tile());  // never the one's values under the other's name
    QTRY_COMPARE(source_.askedFor<protocol::GetBranchTile>().size(), std::size_t{1});
    model_->setShown(Beside::branch);
    nothingMayHappenFor(1);
    QCOMPARE(source_.askedFor<protocol::GetBranchTile>().size(), std::size_t{1});
  }

  void smallValuesAreThoseOfWhatIsLookedAt() {
    QCOMPARE(session_.withShownPreviews(opRecord()).outputs[0].preview, std::string("[…]"));
    model_->add(change());
    replay(4);
    model_->setShown(Beside::branch);
    QSignalSpy arrived(&session_, &Session::previewsChanged);
    QCOMPARE(session_.withShownPreviews(opRecord()).outputs[0].preview, std::string());
    QTRY_COMPARE(source_.askedFor<protocol::GetBranchPreviews>().size(), std::size_t{1});
    const auto get = source_.askedFor<protocol::GetBranchPreviews>()[0];
    QCOMPARE(get.tensors, (std::vector<std::uint64_t>{11, 10}));
    answer(protocol::BranchPreviews{{"[1. 2.]", {}}});
    QCOMPARE(arrived.count(), 1);
    QCOMPARE(session_.withShownPreviews(opRecord()).outputs[0].preview, std::string("[1. 2.]"));
    QCOMPARE(session_.withShownPreviews(opRecord()).inputs[0].preview, std::string());
    nothingMayHappenFor(1);
    QCOMPARE(source_.askedFor<protocol::GetBranchPreviews>().size(), std::size_t{1});
    model_->setShown(Beside::original);
    QCOMPARE(session_.withShownPreviews(opRecord()).outputs[0].preview, std::string("[…]"));
  }

  void aNewBranchTakesThePlaceOfTheOneBefore() {
    model_->add(change());
    replay(4);
    model_->setShown(Beside::difference);
    replay(5);
    QCOMPARE(session_.look().branch, quint64{5});
    QCOMPARE(model_->shown(), Beside::difference);
    QCOMPARE(source_.askedFor<protocol::DropBranch>().at(0).branch, std::uint64_t{4});
    model_->forget();
    QCOMPARE(source_.askedFor<protocol::DropBranch>().at(1).branch, std::uint64_t{5});
    QVERIFY(!model_->answer());
    QCOMPARE(model_->shown(), Beside::original);
    QCOMPARE(model_->changes().size(), std::size_t{1});
  }

  void allOfItEndsWithTheSession() {
    model_->add(change());
    replay(4);
    model_->setShown(Beside::branch);
    source_.setUp(false);
    QVERIFY(!model_->answer());
    QVERIFY(model_->changes().empty());
    QCOMPARE(session_.look().branch, quint64{0});
    QVERIFY(model_->refusal().contains("no session"));
    source_.setUp(true);
  }

  void aVariableTakesOverOnlyWhereNothingRuns() {
    QVERIFY(model_->takeOverRefusal().contains("no branch"));
    model_->add(change());
    replay(4);
    QVERIFY(model_->takeOverRefusal().contains("variable"));
    model_->setSubject({1, opRecord().outputs[0], {}});
    QVERIFY(model_->takeOverRefusal().contains("variable"));
    model_->setSubject({1, opRecord().inputs[0], {}});
    QCOMPARE(model_->takeOverRefusal(), QString());
    source_.status.running_cell = "one";
    source_.sendStatus();
    QVERIFY(model_->takeOverRefusal().contains("running"));
    source_.status.running_cell.reset();
    source_.sendStatus();
    QSignalSpy told(model_.get(), &WhatIfModel::told);
    QSignalSpy taken(model_.get(), &WhatIfModel::takenOver);
    source_.waiting.clear();
    model_->takeOver();
    QCOMPARE(source_.askedFor<protocol::TakeOver>().at(0).tensor, std::uint64_t{10});
    answer(protocol::TakenOver{"W:0", {}});
    QVERIFY(told[0][0].toString().contains("W:0 took over"));
    QCOMPARE(taken.count(), 1);
    model_->takeOver();
    answer(Failure{"The variable of this value is no longer there.", "bad_request"});
    QVERIFY(model_->problem().contains("no longer there"));
    QCOMPARE(taken.count(), 1);
  }
};

TAPEDECK_TEST(TestWhatIfModel)
#include "tst_what_if_model.moc"
