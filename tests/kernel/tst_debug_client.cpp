// The debug client against a server that the test plays.
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "app/kernel/debug/debug_client.h"
#include "tests/kernel/fake_debug_server.h"
#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

struct Peers {
  explicit Peers(const QByteArray& serverKey = "the key") {
    QObject::connect(&client, &inspector::Source::received,
                     [this](quint64 request, const protocol::Reply& reply) {
                       replies.append({request, reply});
                     });
    server.emplace(endpoint, serverKey);
    client.open(endpoint, "the key");
  }
  bool shakeHands() {
    if (const auto hello = server->expect<protocol::Hello>()) server->welcome(hello->first);
    return waitFor([this] { return client.connected(); }, generous);
  }
  /// The replies to `request` so far.
  QList<protocol::Reply> repliesTo(quint64 request) const {
    QList<protocol::Reply> result;
    for (const auto& [id, reply] : replies)
      if (id == request) result << reply;
    return result;
  }

  QTemporaryDir folder;
  QByteArray endpoint = "ipc://" + QFile::encodeName(folder.filePath("debug"));
  QList<QPair<quint64, protocol::Reply>> replies;
  std::optional<FakeDebugServer> server;
  DebugClient client;
  QSignalSpy refused{&client, &inspector::Source::refused};
  QSignalSpy connectedChanged{&client, &inspector::Source::connectedChanged};
};

}  // namespace

class TestDebugClient : public QObject {
  Q_OBJECT
 private slots:
  void aWelcomeConnects();
  void repliesComeUnderTheirRequest();
  void statusSentUnaskedHasRequestZero();
  void theHeartbeatsAnswerCountsAsUnasked();
  void aNewerRequestOfAChannelDropsAndCancelsTheOlder();
  void channelsDoNotDisturbEachOther();
  void requestsWithoutAConnectionAreCancelled();
  void aRefusalIsToldAndEndsTheConversation();
  void aWelcomeOfAnotherVersionIsRefusedWithBothVersions();
  void aMessageThatCannotBeDecodedIsRefused();
  void garbageFramesAreIgnored();
  void mutatedMessagesNeverCrash();
  void aServerWithAnotherKeyIsNotBelieved();
  void aServerThatComesLaterIsFound();
  void aServerThatGoesCancelsAndOneThatReturnsConnects();
  void closeDisconnects();
};

void TestDebugClient::aWelcomeConnects() {
  Peers peers;
  const auto hello = peers.server->expect<protocol::Hello>();
  QVERIFY(hello);
  QCOMPARE(hello->second.protocol_version, protocol::version);
  QCOMPARE(hello->second.program, std::string("Tapedeck"));
  QVERIFY(!peers.client.connected());
  peers.server->welcome(hello->first);
  QTRY_COMPARE_WITH_TIMEOUT(peers.connectedChanged.size(), 1, generous);
  QVERIFY(peers.client.connected());
  QTRY_VERIFY(!peers.replies.isEmpty());
  QVERIFY(protocol::holds_alternative<protocol::Welcome>(peers.replies[0].second));
  QCOMPARE(peers.replies[0].first, quint64{0});
}

void TestDebugClient::repliesComeUnderTheirRequest() {
  Peers peers;
  QVERIFY(peers.shakeHands());
  const quint64 first = peers.client.request(protocol::GetRecords{5, 10, true});
  const quint64 second = peers.client.request(protocol::GetTape{3, 9, 100, {}});
  QVERIFY(first != 0 && second != 0 && first != second);
  const auto records = peers.server->expect<protocol::GetRecords>();
  const auto tape = peers.server->expect<protocol::GetTape>();
  QVERIFY(records && tape);
  QCOMPARE(records->first, first);
  QCOMPARE(records->second.first, std::uint64_t{5});
  protocol::TapeRecords reply;
  reply.tape = 3;
  peers.server->send(tape->first, reply);
  peers.server->send(records->first, protocol::Failure{"no", "gone"});
  QTRY_COMPARE_WITH_TIMEOUT(peers.repliesTo(first).size(), 1, generous);
  QCOMPARE(protocol::get<protocol::TapeRecords>(peers.repliesTo(second).at(0)).tape, std::uint64_t{3});
  QCOMPARE(protocol::get<protocol::Failure>(peers.repliesTo(first).at(0)).code, std::string("gone"));
}

void TestDebugClient::statusSentUnaskedHasRequestZero() {
  Peers peers;
  QVERIFY(peers.shakeHands());
  protocol::Status status;
  status.records = 77;
  peers.server->send(0, status);
  const auto arrived = [&] {
    for (const auto& [request, reply] : peers.replies)
      if (const auto* told = protocol::get_if<protocol::Status>(&reply))
        return request == 0 && told->records == 77;
    return false;
  };
  QTRY_VERIFY_WITH_TIMEOUT(arrived(), generous);
}

void TestDebugClient::theHeartbeatsAnswerCountsAsUnasked() {
  Peers peers;
  QVERIFY(peers.shakeHands());
  const auto beat = peers.server->expect<protocol::GetStatus>();
  QVERIFY(beat);
  protocol::Status status;
  status.records = 5;
  peers.replies.clear();
  peers.server->send(beat->first, status);
  QTRY_COMPARE_WITH_TIMEOUT(peers.replies.size(), 1, generous);
  QCOMPARE(peers.replies[0].first, quint64{0});
  QVERIFY(peers.server->expect<protocol::GetStatus>());
}

void TestDebugClient::aNewerRequestOfAChannelDropsAndCancelsTheOlder() {
  Peers peers;
  QVERIFY(peers.shakeHands());
  protocol::GetTile tile;
  tile.tensor = 1;
  const quint64 older = peers.client.request(tile, "tensor/tile");
  tile.tensor = 2;
  const quint64 newer = peers.client.request(tile, "tensor/tile");
  const auto cancel = peers.server->expect<protocol::Cancel>();
  QVERIFY(cancel);
  QCOMPARE(cancel->second.request, std::uint64_t{older});
  peers.server->send(older, protocol::Tile{});
  protocol::Tile answer;
  answer.tensor = 2;
  peers.server->send(newer, answer);
  QTRY_COMPARE_WITH_TIMEOUT(peers.repliesTo(newer).size(), 1, generous);
  QVERIFY(peers.repliesTo(older).isEmpty());
  QCOMPARE(peers.server->expect<protocol::GetTile>()->first, newer);
  // One that is answered is not cancelled by the next.
  const quint64 third = peers.client.request(tile, "tensor/tile");
  auto request = peers.server->next();
  while (request && protocol::holds_alternative<protocol::GetStatus>(request->message))
    request = peers.server->next();
  QVERIFY(request);
  QVERIFY(protocol::holds_alternative<protocol::GetTile>(request->message));
  QCOMPARE(request->request, third);
}

void TestDebugClient::channelsDoNotDisturbEachOther() {
  Peers peers;
  QVERIFY(peers.shakeHands());
  const QList<quint64> requests = {
      peers.client.request(protocol::GetTile{}, "a"), peers.client.request(protocol::GetTile{}, "b"),
      peers.client.request(protocol::GetTile{}), peers.client.request(protocol::GetTile{})};
  for (const quint64 request : requests) {
    const auto got = peers.server->expect<protocol::GetTile>();
    QVERIFY(got);
    QCOMPARE(got->first, request);
    peers.server->send(got->first, protocol::Tile{});
  }
  for (const quint64 request : requests)
    QTRY_COMPARE_WITH_TIMEOUT(peers.repliesTo(request).size(), 1, generous);
}

void TestDebugClient::requestsWithoutAConnectionAreCancelled() {
  Peers peers;
  const quint64 request = peers.client.request(protocol::GetRecords{});
  QVERIFY(peers.repliesTo(request).isEmpty());
  QTRY_COMPARE(peers.repliesTo(request).size(), 1);
  const auto failure = protocol::get<protocol::Failure>(peers.repliesTo(request).at(0));
  QCOMPARE(failure.code, std::string("cancelled"));
  QCOMPARE(failure.reason, std::string("The session is not connected."));
}

void TestDebugClient::aRefusalIsToldAndEndsTheConversation() {
  Peers peers;
  const auto hello = peers.server->expect<protocol::Hello>();
  QVERIFY(hello);
  peers.server->send(hello->first,
                     protocol::Refused{10, "This session speaks version 10, the program version 1."});
  QTRY_COMPARE_WITH_TIMEOUT(peers.refused.size(), 1, generous);
  QCOMPARE(peers.refused[0][0].toString(), QString("This session speaks version 10, the program version 1."));
  QVERIFY(!peers.client.connected());
  QVERIFY(!peers.server->next(1500));
}

void TestDebugClient::aWelcomeOfAnotherVersionIsRefusedWithBothVersions() {
  Peers peers;
  const auto hello = peers.server->expect<protocol::Hello>();
  QVERIFY(hello);
  peers.server->welcome(hello->first, 99);
  QTRY_COMPARE_WITH_TIMEOUT(peers.refused.size(), 1, generous);
  QCOMPARE(
      peers.refused[0][0].toString(),
      QString(
          "The session speaks version 99 of the debug protocol, this program version %1. Restart the session "
          "with this version of Tapedeck.")
          .arg(protocol::version));
  QVERIFY(!peers.client.connected());
}

void TestDebugClient::aMessageThatCannotBeDecodedIsRefused() {
  Peers peers;
  QVERIFY(peers.shakeHands());
  const std::string body = "no CBOR at all";
  peers.server->sendRaw({peers.server->sign(body), body});
  QTRY_COMPARE_WITH_TIMEOUT(peers.refused.size(), 1, generous);
  QVERIFY(peers.refused[0][0].toString().startsWith(
      "The session's debug server sent a message that this program does not know: "));
  QVERIFY(!peers.client.connected());
}

void TestDebugClient::garbageFramesAreIgnored() {
  Peers peers;
  QVERIFY(peers.shakeHands());
  for (int i = 0; i < 4; ++i)
    QTest::ignoreMessage(QtWarningMsg, QRegularExpression("^Debug client: a message"));
  const auto bytes = protocol::encode(0, protocol::Reply(protocol::Status{}));
  const std::string body(bytes.begin(), bytes.end());
  peers.server->sendRaw({""});
  peers.server->sendRaw({"one", "two", "three"});
  peers.server->sendRaw({"a wrong signature", body});
  peers.server->sendRaw({std::string(32, 'x'), body});
  const quint64 request = peers.client.request(protocol::GetTape{});
  const auto got = peers.server->expect<protocol::GetTape>();
  QVERIFY(got);
  peers.server->send(got->first, protocol::TapeRecords{});
  QTRY_COMPARE_WITH_TIMEOUT(peers.repliesTo(request).size(), 1, generous);
  QVERIFY(peers.refused.isEmpty());
}

void TestDebugClient::mutatedMessagesNeverCrash() {
  QRandomGenerator random(20240607);
  protocol::Records records;
  records.records.resize(3);
  const auto bytes = protocol::encode(4, protocol::Reply(records));
  for (int round = 0; round < 40; ++round) {
    Peers peers;
    QVERIFY(peers.shakeHands());
    std::string body(bytes.begin(), bytes.end());
    if (round % 2)
      body.resize(random.bounded(quint32(body.size())));
    else
      for (int i = 0; i < 4; ++i) body[random.bounded(quint32(body.size()))] = char(random.bounded(256));
    peers.server->sendRaw({peers.server->sign(body), body});
    // Refused, or understood and dropped as unrequested; in both cases the client lives.
    const quint64 request = peers.client.request(protocol::GetTape{});
    std::optional<std::pair<quint64, protocol::GetTape>> got;
    QVERIFY(waitFor([&] {
      got = peers.server->expect<protocol::GetTape>(0);
      return got || !peers.refused.isEmpty();
    }));
    if (got) peers.server->send(got->first, protocol::TapeRecords{});
    QTRY_COMPARE_WITH_TIMEOUT(peers.repliesTo(request).size(), 1, generous);
  }
}

void TestDebugClient::aServerWithAnotherKeyIsNotBelieved() {
  Peers peers("another key");
  QTest::ignoreMessage(QtWarningMsg,
                       "Debug client: a message of 2 frames was ignored: the signature is wrong");
  QVERIFY(!peers.server->next());  // a Hello came, and is not signed as this server wants
  peers.server.reset();
  FakeDebugServer other(peers.endpoint, "the key");
  const auto hello = other.expect<protocol::Hello>();
  QVERIFY(hello);
  const auto bytes = protocol::encode(hello->first, protocol::Reply(protocol::Welcome{}));
  const std::string body(bytes.begin(), bytes.end());
  other.sendRaw({std::string(32, '\0'), body});
  nothingMayHappenFor(200);
  QVERIFY(!peers.client.connected());
}

void TestDebugClient::aServerThatComesLaterIsFound() {
  QTemporaryDir folder;
  const QByteArray endpoint = "ipc://" + QFile::encodeName(folder.filePath("debug"));
  DebugClient client;
  client.open(endpoint, "k");
  nothingMayHappenFor(300);
  FakeDebugServer server(endpoint, "k");
  const auto hello = server.expect<protocol::Hello>();
  QVERIFY(hello);
  server.welcome(hello->first);
  QTRY_VERIFY_WITH_TIMEOUT(client.connected(), generous);
}

void TestDebugClient::aServerThatGoesCancelsAndOneThatReturnsConnects() {
  Peers peers;
  QVERIFY(peers.shakeHands());
  const quint64 request = peers.client.request(protocol::GetRecords{});
  QVERIFY(peers.server->expect<protocol::GetRecords>());
  peers.server.reset();
  QTRY_VERIFY_WITH_TIMEOUT(!peers.client.connected(), generous);
  QTRY_COMPARE(peers.repliesTo(request).size(), 1);
  QCOMPARE(protocol::get<protocol::Failure>(peers.repliesTo(request).at(0)).code, std::string("cancelled"));
  peers.server.emplace(peers.endpoint, "the key");
  QVERIFY(peers.shakeHands());
  QCOMPARE(peers.connectedChanged.size(), 3);
  const quint64 again = peers.client.request(protocol::GetRecords{});
  const auto got = peers.server->expect<protocol::GetRecords>();
  QVERIFY(got);
  QCOMPARE(got->first, again);
}

void TestDebugClient::closeDisconnects() {
  Peers peers;
  QVERIFY(peers.shakeHands());
  peers.client.close();
  QVERIFY(!peers.client.connected());
  QCOMPARE(peers.connectedChanged.size(), 2);
  peers.replies.clear();
  peers.server->send(0, protocol::Status{});
  nothingMayHappenFor(100);
  QVERIFY(peers.replies.isEmpty());
}

TAPEDECK_TEST(TestDebugClient)
#include "tst_debug_client.moc"
