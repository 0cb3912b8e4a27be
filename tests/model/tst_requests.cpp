// Requests through the session: who gets an answer, and who must not.
#include <QTest>

#include "inspector/model/session/session.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using inspector::Session;

namespace {

struct Asker {
  test::FakeSource source;
  Session session;
  std::unique_ptr<QObject> context = std::make_unique<QObject>();
  QStringList answers;  ///< types, or a failure's code

  Asker() {
    source.tensors = [](const protocol::Request& request) -> protocol::Reply {
      if (const auto* get = protocol::get_if<protocol::GetTile>(&request)) {
        protocol::Tile tile;
        tile.tensor = get->tensor;
        return tile;
      }
      return protocol::Failure{"The value is gone.", "gone"};
    };
    session.setSource(&source);
    source.answerAll();
    source.automatic = false;
  }
  bool tile(quint64 tensor, const QString& channel = {}) {
    protocol::GetTile get;
    get.tensor = tensor;
    return session.request<protocol::Tile>(
        get, context.get(),
        [this](const protocol::Tile& tile) { answers << QStringLiteral("tile %1").arg(tile.tensor); },
        [this](const protocol::Failure& failure) { answers << QString::fromStdString(failure.code); },
        channel);
  }
};

}  // namespace

class TestRequests : public QObject {
  Q_OBJECT
 private slots:
  void eachAskerGetsItsOwnAnswer();
  void aFailureAndAnAnswerOfAnotherKindGoToFailed();
  void nothingComesWhenTheContextIsGone();
  void aNewerRequestOfTheChannelDropsTheOlder();
  void aDroppedChannelIsCancelled();
  void theEndOfTheSessionIsAnAnswer();
  void anotherSessionAnswersNobody();
  void anAnswerMayAskAgain();
  void sendTellsFailures();
};

void TestRequests::eachAskerGetsItsOwnAnswer() {
  Asker asker;
  QVERIFY(asker.tile(1));
  QVERIFY(asker.tile(2));
  QCOMPARE(asker.answers, QStringList());  // never at once
  std::swap(asker.source.waiting[0], asker.source.waiting[1]);
  asker.source.answerAll();
  QCOMPARE(asker.answers, QStringList({"tile 2", "tile 1"}));
  emit asker.source.received(2, protocol::Tile{});  // a second answer
  emit asker.source.received(4711, protocol::Tile{});
  QCOMPARE(asker.answers.size(), 2);
}

void TestRequests::aFailureAndAnAnswerOfAnotherKindGoToFailed() {
  Asker asker;
  asker.tile(1);
  asker.tile(2);
  emit asker.source.received(asker.source.waiting[0].id, protocol::Failure{"gone", "gone"});
  emit asker.source.received(asker.source.waiting[1].id, protocol::Series{});
  QCOMPARE(asker.answers, QStringList({"gone", "bad_answer"}));
}

void TestRequests::nothingComesWhenTheContextIsGone() {
  Asker asker;
  asker.tile(1);
  asker.context.reset();
  asker.source.answerAll();
  QCOMPARE(asker.answers, QStringList());
}

void TestRequests::aNewerRequestOfTheChannelDropsTheOlder() {
  Asker asker;
  asker.tile(1, "a");
  asker.tile(2, "b");
  const quint64 older = asker.source.waiting[0].id;
  asker.tile(3, "a");
  // Even where the source answered it already.
  emit asker.source.received(older, protocol::Tile{});
  QVERIFY(asker.session.asking("a"));
  asker.source.answerAll();
  QCOMPARE(asker.answers, QStringList({"tile 2", "tile 3"}));
  QVERIFY(!asker.session.asking("a"));
}

void TestRequests::aDroppedChannelIsCancelled() {
  Asker asker;
  asker.tile(1, "a");
  const quint64 id = asker.source.waiting[0].id;
  asker.session.drop("a");
  QVERIFY(!asker.session.asking("a"));
  QCOMPARE(asker.source.askedFor<protocol::Cancel>().size(), 1u);
  QCOMPARE(asker.source.askedFor<protocol::Cancel>()[0].request, id);
  emit asker.source.received(id, protocol::Tile{});
  QCOMPARE(asker.answers, QStringList());
  asker.session.drop("a");  // nothing there any more
  QCOMPARE(asker.source.askedFor<protocol::Cancel>().size(), 1u);
}

void TestRequests::theEndOfTheSessionIsAnAnswer() {
  Asker asker;
  asker.tile(1, "a");
  asker.tile(2);
  asker.source.setUp(false);
  QCOMPARE(asker.answers, QStringList({"ended", "ended"}));
  QVERIFY(!asker.session.asking("a"));
  QVERIFY(!asker.tile(3));
  QCOMPARE(asker.answers.size(), 2);
}

void TestRequests::anotherSessionAnswersNobody() {
  Asker asker;
  asker.tile(1, "a");
  test::FakeSource other;
  asker.session.setSource(&other);
  emit asker.source.received(asker.source.waiting[0].id, protocol::Tile{});
  emit other.received(asker.source.waiting[0].id, protocol::Tile{});
  QCOMPARE(asker.answers, QStringList());
}

void TestRequests::anAnswerMayAskAgain() {
  Asker asker;
  int left = 3;
  std::function<void()> ask = [&] {
    asker.session.request(
        protocol::GetTile{}, asker.context.get(),
        [&](const protocol::Reply&) {
          if (--left) ask();
        },
        "again");
  };
  ask();
  asker.source.answerAll();
  QCOMPARE(left, 0);
}

void TestRequests::sendTellsFailures() {
  Asker asker;
  QStringList failures;
  connect(&asker.session, &Session::failed, &asker.session,
          [&](const QString& reason) { failures << reason; });
  asker.session.send(protocol::Pin{17, true});
  emit asker.source.received(asker.source.waiting[0].id, protocol::Failure{"It does not fit.", "gone"});
  QCOMPARE(failures, QStringList("It does not fit."));
  asker.session.send(protocol::Pin{18, true});
  asker.source.setUp(false);  // told otherwise
  QCOMPARE(failures.size(), 1);
}

TAPEDECK_TEST(TestRequests)
#include "tst_requests.moc"
