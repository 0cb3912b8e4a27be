// Jupyter's messages as bytes, and what is gathered for the UI.
#include <QRandomGenerator>

#include "app/kernel/event_outbox.h"
#include "app/kernel/jupyter/jupyter_message.h"
#include "engine/protocol/limits.h"
#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

std::vector<events::Event> flushed(const std::function<void(EventOutbox&)>& fill) {
  std::vector<events::Event> all;
  EventOutbox outbox([&](std::vector<events::Event> batch) {
    std::move(batch.begin(), batch.end(), std::back_inserter(all));
  });
  fill(outbox);
  outbox.flush(Clock::now());
  return all;
}

json shown(const std::string& text) {
  return {{"output_type", "display_data"}, {"data", {{"text/plain", text}}}, {"metadata", json::object()}};
}

json stream(const std::string& text, const char* name = "stdout") {
  return {{"output_type", "stream"}, {"name", name}, {"text", text}};
}

}  // namespace

class TestJupyterWire : public QObject {
  Q_OBJECT
 private slots:
  void packedMessagesUnpack();
  void signatureIsThatOfTheProtocol();
  void anotherKeyIsNotAccepted();
  void malformedFramesAreNamed_data();
  void malformedFramesAreNamed();
  void truncatedAndMutatedFramesThrowOrUnpack();
  void mimeBundlesAreJoined();
  void streamTextComesWholeInPieces();
  void ofTextThatNobodyTakesTheMiddleIsLeftOut();
  void aDeliveryHasABoundedPieceAndTheRestFollows();
  void streamTextIsCutBetweenCharacters();
  void neighbouringStreamsAreJoinedInOrder();
  void clearDropsWhatItTakesAway();
  void clearThatWaitsKeepsWhatNothingReplaces();
  void aCellGetsNoMoreOutputsThanItKeeps();
  void aCellGetsNoMoreBytesThanItKeeps();
  void theUiGetsNoMoreThanItTakes();
};

void TestJupyterWire::packedMessagesUnpack() {
  JupyterPacker packer("key");
  const auto message = packer.make("execute_request", {{"code", "π = 3"}},
                                   {{"msg_id", "p"}, {"msg_type", "q"}}, {{"cellId", "c"}});
  Frames frames = packer.pack(message);
  frames.insert(frames.begin(), "identity");
  frames.push_back("a buffer");
  const auto back = packer.unpack(frames);
  QCOMPARE(back.header, message.header);
  QCOMPARE(back.content["code"], "π = 3");
  QCOMPARE(back.metadata["cellId"], "c");
  QCOMPARE(back.parentId(), std::string("p"));
  QCOMPARE(back.header["version"], "5.3");
  QVERIFY(packer.make("x", json::object()).id() != message.id());
}

void TestJupyterWire::signatureIsThatOfTheProtocol() {
  // hmac.new(b"key", b"{}{}{}{}", hashlib.sha256).hexdigest() of Python.
  const Frames frames = {"<IDS|MSG>", "b7e3b5e4f2a64a0d", "{}", "{}", "{}", "{}"};
  JupyterPacker packer("key");
  QVERIFY_EXCEPTION_THROWN(packer.unpack(frames), MessageError);
  JupyterMessage empty{json::object(), json::object(), json::object(), json::object()};
  QCOMPARE(packer.pack(empty)[1],
           std::string("ca767b02c5bc061ed184a9a029e7f93a7f2f7ed4e8fe74120fc1212f0b008fa3"));
}

void TestJupyterWire::anotherKeyIsNotAccepted() {
  JupyterPacker ours("ours"), theirs("theirs");
  const Frames frames = theirs.pack(theirs.make("status", json::object()));
  try {
    ours.unpack(frames);
    QFAIL("accepted");
  } catch (const MessageError& error) {
    QCOMPARE(error.what(), "the signature is wrong");
  }
}

void TestJupyterWire::malformedFramesAreNamed_data() {
  QTest::addColumn<QStringList>("frames");
  QTest::addColumn<QString>("what");
  const QString header = R"({"msg_id": "a", "msg_type": "b"})";
  QTest::newRow("nothing") << QStringList{} << "no delimiter <IDS|MSG> among its frames";
  QTest::newRow("short") << QStringList{"<IDS|MSG>", "", "{}"}
                         << "only 2 frames after the delimiter, 5 are needed";
  QTest::newRow("no JSON") << QStringList{"<IDS|MSG>", "", "{", "{}", "{}", "{}"} << "the header is not JSON";
  QTest::newRow("array") << QStringList{"<IDS|MSG>", "", header, "[]", "{}", "{}"}
                         << "the parent header is not a JSON object";
  QTest::newRow("content") << QStringList{"<IDS|MSG>", "", header, "{}", "{}", "7"}
                           << "the content is not a JSON object";
  QTest::newRow("no id") << QStringList{"<IDS|MSG>", "", "{}", "{}", "{}", "{}"}
                         << "the header has no string msg_id";
  QTest::newRow("type") << QStringList{"<IDS|MSG>", "", R"({"msg_id": "a", "msg_type": 3})", "{}", "{}", "{}"}
                        << "the header has no string msg_type";
}

void TestJupyterWire::malformedFramesAreNamed() {
  QFETCH(QStringList, frames);
  QFETCH(QString, what);
  Frames bytes;
  for (const QString& frame : frames) bytes.push_back(frame.toStdString());
  try {
    JupyterPacker().unpack(bytes);
    QFAIL("accepted");
  } catch (const MessageError& error) {
    QCOMPARE(QString(error.what()), what);
  }
}

void TestJupyterWire::truncatedAndMutatedFramesThrowOrUnpack() {
  QRandomGenerator random(7);
  JupyterPacker packer;  // no key, so that not every mutation ends at the signature
  const auto whole =
      packer.pack(packer.make("display_data", {{"data", {{"text/plain", "x"}, {"image/svg+xml", {"a", "b"}}}},
                                               {"transient", {{"display_id", "d"}}}}));
  int understood = 0, refused = 0;
  for (int round = 0; round < 5000; ++round) {
    Frames frames = whole;
    std::string& frame = frames[2 + random.bounded(4)];
    if (round % 3 == 0)
      frame.resize(random.bounded(quint32(frame.size() + 1)));
    else
      for (int i = 0; i <= round % 4; ++i)
        frame[random.bounded(quint32(frame.size()))] = char(random.bounded(256));
    try {
      outputOf(packer.unpack(frames));
      ++understood;
    } catch (const MessageError&) {
      ++refused;
    }
  }
  QVERIFY(understood > 0 && refused > 0);
}

void TestJupyterWire::mimeBundlesAreJoined() {
  JupyterPacker packer;
  const auto output = outputOf(packer.make(
      "execute_result", {{"data", {{"text/plain", {"a\n", "b"}}, {"application/json", {"kept", "apart"}}}},
                         {"metadata", {{"image/png", {{"width", 3}}}}},
                         {"execution_count", 4}}));
  QCOMPARE(output["data"]["text/plain"], "a\nb");
  QCOMPARE(output["data"]["application/json"].size(), std::size_t{2});
  QCOMPARE(output["metadata"]["image/png"]["width"], 3);
  QCOMPARE(output["execution_count"], 4);
  QVERIFY(!output.contains("transient"));
}

void TestJupyterWire::streamTextComesWholeInPieces() {
  StreamText small;
  small.append("all ");
  small.append("of it");
  QCOMPARE(small.take(100), std::string("all of it"));
  QVERIFY(small.empty());

  StreamText big;
  std::string written, taken;
  for (int i = 0; i < 400'000; ++i) {
    const std::string line = "line " + std::to_string(i) + std::string(100, '.') + "\n";
    written += line;
    big.append(line);
  }
  QVERIFY(written.size() > 40'000'000);
  while (!big.empty()) {
    const std::string piece = big.take(1'000'000);
    QVERIFY(!piece.empty() && piece.size() <= 1'000'000);
    taken += piece;
  }
  QVERIFY(taken == written);
}

void TestJupyterWire::ofTextThatNobodyTakesTheMiddleIsLeftOut() {
  StreamText text;
  std::size_t written = 0;
  for (int i = 0; i < 250; ++i) {
    const std::string piece = "piece " + std::to_string(i) + std::string(1'000'000, '.') + "\n";
    written += piece.size();
    text.append(piece);
  }
  std::string taken;
  while (!text.empty()) taken += text.take(10'000'000);
  QVERIFY(taken.starts_with("piece 0."));
  QVERIFY(taken.find("piece 249.") != std::string::npos);
  const std::size_t at = taken.find("[… ");
  QVERIFY(at != std::string::npos);
  const auto note = QRegularExpression(
                        "\\[… ([\\d,]+) bytes of output left out: more came at once than the "
                        "window could take …\\]\n")
                        .match(QString::fromStdString(taken.substr(at, 200)));
  QVERIFY(note.hasMatch());
  QCOMPARE(note.captured(1).remove(',').toULongLong() + taken.size() - 1 -
               std::size_t(note.captured(0).toUtf8().size()),
           written);
}

void TestJupyterWire::streamTextIsCutBetweenCharacters() {
  for (std::size_t limit = 1; limit < 20; ++limit) {
    StreamText text;
    std::string taken;
    for (int i = 0; i < 1000; ++i) text.append("🦉é");
    while (!text.empty()) {
      const std::string piece = text.take(limit);
      QVERIFY(!piece.empty() && piece.size() <= std::max<std::size_t>(limit, 4));
      if (limit >= 4) QVERIFY(!QString::fromStdString(piece).contains(QChar::ReplacementCharacter));
      taken += piece;
    }
    QCOMPARE(QString::fromStdString(taken), QString("🦉é").repeated(1000));
  }
}

void TestJupyterWire::aDeliveryHasABoundedPieceAndTheRestFollows() {
  std::vector<std::vector<events::Event>> deliveries;
  EventOutbox outbox([&](std::vector<events::Event> batch) { deliveries.push_back(std::move(batch)); });
  outbox.pushOutput("a", stream(std::string(5'000'000, 'x')));
  outbox.push(events::Finished{"a", "ok", 1});
  Clock::time_point now = Clock::now();
  std::string text;
  for (int i = 0;
       i < 10 && (deliveries.empty() || !std::holds_alternative<events::Finished>(deliveries.back().back()));
       ++i) {
    const auto next = outbox.flush(now);
    QVERIFY(next <= now + std::chrono::hours(1));
    now += std::chrono::milliseconds(40);
    outbox.taken();
  }
  QVERIFY(deliveries.size() >= 3);
  for (const auto& batch : deliveries)
    for (const events::Event& event : batch)
      if (const auto* output = std::get_if<events::Output>(&event)) {
        const auto piece = output->output["text"].get<std::string>();
        QVERIFY(piece.size() <= (std::size_t{2} << 20));
        text += piece;
      }
  QCOMPARE(text.size(), std::size_t{5'000'000});
}

void TestJupyterWire::neighbouringStreamsAreJoinedInOrder() {
  const auto events = flushed([](EventOutbox& outbox) {
    outbox.pushOutput("a", stream("1"));
    outbox.pushOutput("a", stream("2"));
    outbox.pushOutput("a", stream("3", "stderr"));
    outbox.pushOutput("a", stream("4"));
    outbox.pushOutput("b", stream("5"));
    outbox.push(events::Finished{"b", "ok", 1});
  });
  QCOMPARE(events.size(), std::size_t{5});
  const auto text = [&](std::size_t i) { return std::get<events::Output>(events[i]).output["text"]; };
  QCOMPARE(text(0), "12");
  QCOMPARE(text(1), "3");
  QCOMPARE(text(2), "4");
  QCOMPARE(text(3), "5");
  QVERIFY(std::holds_alternative<events::Finished>(events[4]));
}

void TestJupyterWire::clearDropsWhatItTakesAway() {
  const auto events = flushed([](EventOutbox& outbox) {
    outbox.pushOutput("a", stream("gone"));
    outbox.pushOutput("b", stream("of another cell"));
    outbox.pushCleared("a", false);
    outbox.pushOutput("a", stream("stays"));
  });
  QCOMPARE(events.size(), std::size_t{3});
  QCOMPARE(std::get<events::Output>(events[0]).cell, std::string("b"));
  QVERIFY(std::holds_alternative<events::Cleared>(events[1]));
  QCOMPARE(std::get<events::Output>(events[2]).output["text"], "stays");
}

void TestJupyterWire::clearThatWaitsKeepsWhatNothingReplaces() {
  const auto events = flushed([](EventOutbox& outbox) {
    for (int frame = 0; frame < 3; ++frame) {
      outbox.pushCleared("a", true);
      outbox.pushOutput("a", stream(std::to_string(frame)));
    }
    outbox.pushCleared("a", true);
  });
  QCOMPARE(events.size(), std::size_t{3});
  QVERIFY(std::get<events::Cleared>(events[0]).wait);
  QCOMPARE(std::get<events::Output>(events[1]).output["text"], "2");
  QVERIFY(std::get<events::Cleared>(events[2]).wait);
}

void TestJupyterWire::aCellGetsNoMoreOutputsThanItKeeps() {
  constexpr std::size_t most = tapedeck::protocol::max_cell_outputs;
  std::vector<events::Event> batch;
  EventOutbox outbox([&](std::vector<events::Event> given) { batch = std::move(given); });
  auto now = Clock::now();
  const auto send = [&] {
    batch.clear();
    now += std::chrono::seconds(1);
    outbox.flush(now);
    outbox.taken();
    return batch.size();
  };
  const auto leftOut = [&](std::size_t i) { return std::get<events::LeftOut>(batch.at(i)).count; };
  for (std::size_t i = 0; i < most + 3; ++i) outbox.pushOutput("a", shown("x"));
  outbox.pushOutput("b", shown("of another cell"));
  QCOMPARE(send(), most + 2);
  QCOMPARE(leftOut(most), std::uint64_t{3});
  QCOMPARE(std::get<events::Output>(batch[most + 1]).cell, std::string("b"));
  // What is printed goes on, and so does the count; why the cell failed comes through once.
  const json error = {{"output_type", "error"}, {"ename", "E"}, {"evalue", ""}, {"traceback", json::array()}};
  for (int i = 0; i < 2; ++i) {
    outbox.pushOutput("a", stream("printed"));
    outbox.pushOutput("a", shown("x"));
  }
  outbox.pushOutput("a", error);
  outbox.pushOutput("a", error);
  QCOMPARE(send(), std::size_t{4});
  QCOMPARE(std::get<events::Output>(batch[0]).output["text"], "printed");
  QCOMPARE(leftOut(1), std::uint64_t{3});
  QCOMPARE(std::get<events::Output>(batch[2]).output["text"], "printed");
  QCOMPARE(std::get<events::Output>(batch[3]).output["output_type"], "error");
  // Cleared at once, with the next output, or by a further run, the cell has room again.
  outbox.pushCleared("a", false);
  for (std::size_t i = 0; i < most + 1; ++i) outbox.pushOutput("a", shown("y"));
  QCOMPARE(send(), most + 2);
  outbox.pushCleared("a", true);
  QCOMPARE(send(), std::size_t{1});
  for (std::size_t i = 0; i < most + 1; ++i) outbox.pushOutput("a", shown("z"));
  QCOMPARE(send(), most + 1);
  outbox.begin("a");
  outbox.pushOutput("a", shown("again"));
  QCOMPARE(send(), std::size_t{1});
  QVERIFY(std::holds_alternative<events::Output>(batch[0]));
}

void TestJupyterWire::aCellGetsNoMoreBytesThanItKeeps() {
  const std::string part(tapedeck::protocol::max_cell_output_bytes / 4, 'x');
  const auto events = flushed([&](EventOutbox& outbox) {
    for (int i = 0; i < 6; ++i) outbox.pushOutput("a", shown(part));
    outbox.pushOutput("a", shown("small"));
  });
  // Three and what is around their text; the fourth no longer fits, a small one does.
  QCOMPARE(events.size(), std::size_t{5});
  QCOMPARE(std::get<events::LeftOut>(events[3]).count, std::uint64_t{3});
  QCOMPARE(std::get<events::Output>(events[4]).output["data"]["text/plain"], "small");
}

void TestJupyterWire::theUiGetsNoMoreThanItTakes() {
  int deliveries = 0;
  EventOutbox outbox([&](std::vector<events::Event>) { ++deliveries; });
  auto now = Clock::now();
  for (int i = 0; i < 10; ++i) {
    outbox.pushOutput("a", stream("x"));
    outbox.flush(now);
    now += std::chrono::milliseconds(20);
  }
  QCOMPARE(deliveries, 2);  // two under way, which the test does not take
  outbox.taken();
  outbox.flush(now);
  QCOMPARE(deliveries, 3);
}

TAPEDECK_TEST(TestJupyterWire)
#include "tst_jupyter_wire.moc"
