// Jupyter's messages as bytes, what is gathered for the UI, and a Jupyter kernel that misbehaves.
#include <QMessageAuthenticationCode>
#include <QRandomGenerator>
#include <QTemporaryDir>
#include <zmq.hpp>

#include "app/kernel/event_outbox.h"
#include "app/kernel/jupyter/connection.h"
#include "app/kernel/jupyter/jupyter_message.h"
#include "engine/protocol/limits.h"
#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

/// A Jupyter kernel played by the test, at the addresses that a KernelSession has written for its process.
class FakeKernel {
 public:
  explicit FakeKernel(const QString& connectionFile) {
    QFile file(connectionFile);
    if (!file.open(QIODevice::ReadOnly)) return;
    const json info = json::parse(file.readAll().toStdString());
    key_ = QByteArray::fromStdString(info["key"]);
    connection_.ip = QString::fromStdString(info["ip"]);
    packer_ = JupyterPacker(QByteArray::fromStdString(info["key"]));
    shell_ = zmq::socket_t(context_, zmq::socket_type::router);
    published_ = zmq::socket_t(context_, zmq::socket_type::pub);
    for (auto* socket : {&shell_, &published_}) socket->set(zmq::sockopt::linger, 0);
    shell_.set(zmq::sockopt::router_handover, true);  // as ipykernel does
    shell_.bind(connection_.endpoint(Channel::shell).toStdString());
    published_.bind(connection_.endpoint(Channel::iopub).toStdString());
  }
  /// What has come, if anything has; a kernel_info_request is answered.
  std::optional<JupyterMessage> answer() {
    const auto frames = receiveFrames(shell_);
    if (!frames) return std::nullopt;
    peer_ = frames->front();
    JupyterMessage message = packer_.unpack(*frames);
    if (message.type() == "kernel_info_request") {
      publish("status", {{"execution_state", "idle"}}, message.header);
      reply("kernel_info_reply", described, message.header);
    }
    return message;
  }
  /// The next request, of the type; answers kernel_info_requests that come before it.
  JupyterMessage next(const std::string& type) {
    JupyterMessage message;
    const bool came = waitFor(
        [&] {
          const auto request = answer();
          if (request) message = *request;
          return request && message.type() == type;
        },
        generous);
    if (!came) throw std::runtime_error("no " + type + " came");
    return message;
  }
  void reply(const std::string& type, json content, const json& parent) {
    Frames frames = packer_.pack(packer_.make(type, std::move(content), parent));
    frames.insert(frames.begin(), peer_);
    sendFrames(shell_, frames);
  }
  void publish(const std::string& type, json content, const json& parent) {
    publishRaw(packer_.pack(packer_.make(type, std::move(content), parent)));
  }
  /// `content`: as JSON text.
  Frames signedFrames(const std::string& type, const std::string& content, const json& parent) {
    Frames frames = packer_.pack(packer_.make(type, json::object(), parent));
    frames[5] = content;
    QMessageAuthenticationCode code(QCryptographicHash::Sha256, key_);
    for (std::size_t i = 2; i < 6; ++i) code.addData(frames[i].data(), qsizetype(frames[i].size()));
    frames[1] = code.result().toHex().toStdString();
    return frames;
  }
  void publishRaw(Frames frames) {
    frames.insert(frames.begin(), "topic");
    sendFrames(published_, frames);
  }
  void replyRaw(Frames frames) {
    frames.insert(frames.begin(), peer_);
    sendFrames(shell_, frames);
  }
  JupyterPacker& packer() { return packer_; }

  json described = {{"status", "ok"}, {"language_info", {{"name", "fake"}}}};  ///< the kernel_info_reply

 private:
  QByteArray key_;
  Connection connection_;
  JupyterPacker packer_;
  zmq::context_t context_;
  zmq::socket_t shell_, published_;
  std::string peer_;
};

/// Starts a process that does nothing, and plays its kernel.
std::unique_ptr<FakeKernel> startFake(Probe& probe, const QTemporaryDir& folder, KernelLaunch launch = {}) {
  const QString copy = folder.filePath("connection.json");
  launch.arguments =
      QStringList{"/bin/sh", "-c", "cp \"$0\" \"$1.part\" && mv \"$1.part\" \"$1\" && exec sleep 1000",
                  "{connection_file}", copy};
  probe.session.setLaunch(launch);
  probe.session.start(folder.path());
  if (!waitFor([&] { return QFile::exists(copy); }, generous)) throw std::runtime_error("did not start");
  return std::make_unique<FakeKernel>(copy);
}

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
  void streamTextKeepsBeginningAndEnd();
  void streamTextIsCutBetweenCharacters();
  void neighbouringStreamsAreJoinedInOrder();
  void clearDropsWhatItTakesAway();
  void clearThatWaitsKeepsWhatNothingReplaces();
  void aCellGetsNoMoreOutputsThanItKeeps();
  void aCellGetsNoMoreBytesThanItKeeps();
  void theUiGetsNoMoreThanItTakes();
  void aKernelThatSendsGarbageDoesNotDisturb();
  void contentOfWrongTypesDoesNotDisturb();
  void aKernelThatDescribesItselfInWrongTypesIsWithoutTheEngine_data();
  void aKernelThatDescribesItselfInWrongTypesIsWithoutTheEngine();
  void messagesNestedWithoutBoundDoNotDisturb();
  void messagesThatAreTooLongAreRefusedAndTold_data();
  void messagesThatAreTooLongAreRefusedAndTold();
  void aCellThatIsTooLongIsNotSent();
  void aLostIdleMessageDoesNotHangTheCell();
  void repliesToNobodyAreIgnored();
  void aCellOfAnotherProgramKeepsTheSessionBusy();
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
  QTest::newRow("no JSON") << QStringList{"<IDS|MSG>", "", "{", "{}", "{}", "{}"} << "the header is no JSON";
  QTest::newRow("array") << QStringList{"<IDS|MSG>", "", header, "[]", "{}", "{}"}
                         << "the parent header is no JSON object";
  QTest::newRow("content") << QStringList{"<IDS|MSG>", "", header, "{}", "{}", "7"}
                           << "the content is no JSON object";
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

void TestJupyterWire::streamTextKeepsBeginningAndEnd() {
  StreamText small;
  small.append("all ");
  small.append("of it");
  QCOMPARE(small.take(100), std::string("all of it"));

  StreamText big;
  std::size_t written = 0;
  for (int i = 0; i < 50000; ++i) {
    const std::string line = "line " + std::to_string(i) + std::string(100, '.') + "\n";
    written += line.size();
    big.append(line);
  }
  const std::string text = big.take(20000);
  QVERIFY(text.starts_with("line 0."));
  QVERIFY(text.ends_with("\n"));
  QVERIFY(text.find("line 49999.") != std::string::npos);
  QVERIFY(text.size() < 21000);
  const auto note =
      QRegularExpression("\\[… ([\\d,]+) bytes of output left out").match(QString::fromStdString(text));
  QVERIFY(note.hasMatch());
  const std::size_t noteSize = std::string("\n[… ").size() + std::size_t(note.captured(1).size()) +
                               std::string(" bytes of output left out: more than can be shown …]\n").size();
  QCOMPARE(note.captured(1).remove(',').toULongLong() + text.size() - noteSize, written);
}

void TestJupyterWire::streamTextIsCutBetweenCharacters() {
  for (std::size_t limit = 100; limit < 120; ++limit) {
    StreamText text;
    for (int i = 0; i < 1000; ++i) text.append("🦉é");
    const std::string cut = text.take(limit);
    QVERIFY(!QString::fromStdString(cut).contains(QChar::ReplacementCharacter));
    QVERIFY(cut.size() < 250);
  }
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
  QCOMPARE(deliveries, 2);  // two under way, and nobody takes them
  outbox.taken();
  outbox.flush(now);
  QCOMPARE(deliveries, 3);
}

void TestJupyterWire::aKernelThatSendsGarbageDoesNotDisturb() {
  QTemporaryDir folder;
  Probe probe;
  auto kernel = startFake(probe, folder);
  probe.session.execute("a", "anything");
  const auto request = kernel->next("execute_request");
  QCOMPARE(request.metadata["cellId"], "a");
  QTest::ignoreMessage(QtWarningMsg,
                       QRegularExpression("Jupyter client: a message was ignored: no delimiter"));
  QTest::ignoreMessage(QtWarningMsg,
                       QRegularExpression("Jupyter client: a message was ignored: only 1 frames"));
  QTest::ignoreMessage(QtWarningMsg,
                       QRegularExpression("Jupyter client: a message was ignored: the signature is wrong"));
  kernel->publishRaw({"garbage", std::string("\0\xff\xfe", 3)});
  kernel->publishRaw({"<IDS|MSG>", "x"});
  JupyterPacker forger("not the key");
  kernel->publishRaw(
      forger.pack(forger.make("stream", {{"name", "stdout"}, {"text", "forged"}}, request.header)));
  kernel->publish("stream", {{"name", "stdout"}, {"text", "genuine"}}, request.header);
  kernel->reply("execute_reply", {{"status", "ok"}, {"execution_count", 3}}, request.header);
  kernel->publish("status", {{"execution_state", "idle"}}, request.header);
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString("ok"), generous);
  QCOMPARE(probe.printed("a"), QString("genuine"));
  QCOMPARE(probe.counts.value("a"), 3);
  QCOMPARE(probe.infos.at(0)["language_info"]["name"], "fake");
}

void TestJupyterWire::contentOfWrongTypesDoesNotDisturb() {
  QTemporaryDir folder;
  Probe probe;
  auto kernel = startFake(probe, folder);
  probe.session.execute("a", "anything");
  const json parent = kernel->next("execute_request").header;
  for (const char* type : {"stream", "display_data", "execute_result", "error", "execute_input",
                           "clear_output", "status", "update_display_data", "comm_open", "unheard_of"})
    for (const json& value :
         {json(nullptr), json(1e300), json("text"), json::array({1, json::object()}), json::object()})
      kernel->publish(type,
                      {{"text", value},
                       {"name", value},
                       {"data", value},
                       {"metadata", value},
                       {"transient", value},
                       {"traceback", value},
                       {"ename", value},
                       {"evalue", value},
                       {"execution_count", value},
                       {"execution_state", value},
                       {"wait", value},
                       {"code", value}},
                      parent);
  kernel->reply("complete_reply", {{"matches", 3}}, parent);
  kernel->reply("execute_reply", {{"status", 7}, {"payload", {3, json::object()}}, {"execution_count", "x"}},
                parent);
  kernel->publish("status", {{"execution_state", "idle"}}, parent);
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString("error"), generous);
}

void TestJupyterWire::aKernelThatDescribesItselfInWrongTypesIsWithoutTheEngine_data() {
  QTest::addColumn<QString>("described");
  QTest::addColumn<QString>("sentence");
  const QString noServer = "This session runs without Tapedeck's debug server, so nothing can be stepped: ";
  QTest::newRow("debug is text") << R"({"debug": "yes", "error": "why"})" << noServer + "why";
  QTest::newRow("debug is a number") << R"({"debug": 1})" << noServer + "it did not start";
  QTest::newRow("debug is null") << R"({"debug": null})" << noServer + "it did not start";
  QTest::newRow("error is an object")
      << R"({"debug": false, "error": {"a": 1}})" << noServer + "it did not start";
  QTest::newRow("error is a list") << R"({"error": ["a"]})" << noServer + "it did not start";
  QTest::newRow("no object")
      << R"([true])"
      << "This Jupyter kernel is without Tapedeck's engine: cells run, and nothing can be stepped.";
}

void TestJupyterWire::aKernelThatDescribesItselfInWrongTypesIsWithoutTheEngine() {
  QFETCH(QString, described);
  QFETCH(QString, sentence);
  QTemporaryDir folder;
  Probe probe;
  auto kernel = startFake(probe, folder);
  kernel->described["tapedeck"] = json::parse(described.toStdString());
  probe.session.execute("a", "anything");
  const json parent = kernel->next("execute_request").header;
  kernel->reply("execute_reply", {{"status", "ok"}, {"execution_count", 1}}, parent);
  kernel->publish("status", {{"execution_state", "idle"}}, parent);
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString("ok"), generous);
  QCOMPARE(probe.session.engine(), Engine::missing);
  QCOMPARE(probe.sentence, sentence);
}

void TestJupyterWire::messagesNestedWithoutBoundDoNotDisturb() {
  QTemporaryDir folder;
  Probe probe;
  auto kernel = startFake(probe, folder);
  probe.session.execute("a", "anything");
  const json parent = kernel->next("execute_request").header;
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const char* type : {"clear_output", "display_data", "execute_result", "update_display_data", "stream",
                           "error", "status", "unheard_of"})
    kernel->publishRaw(kernel->signedFrames(type,
                                            R"({"transient": {"display_id": "d"}, "metadata": )" + deep +
                                                R"(, "data": {"text/html": )" + deep + "}}",
                                            parent));

  QTest::ignoreMessage(QtWarningMsg, QRegularExpression("a message was ignored: the content is no JSON"));
  kernel->publishRaw(kernel->signedFrames("display_data", std::string(200'000, '['), parent));
  kernel->replyRaw(kernel->signedFrames(
      "execute_reply",
      R"({"status": "ok", "execution_count": 3, "payload": [{"source": "page", "data": {"text/plain": )" +
          deep + "}}]}",
      parent));
  kernel->publish("status", {{"execution_state", "idle"}}, parent);
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString("ok"), generous);
  const auto& outputs = probe.outputs["a"];
  int notes = 0;
  for (const json& output : outputs)
    if (output.contains("data"))
      notes += output["data"].dump().find("nested 200002 deep") != std::string::npos ||
               output["data"].dump().find("nested 200004 deep") != std::string::npos;
  QCOMPARE(notes, 3);  // display, result and page
  QCOMPARE(probe.updates.size(), 1);
  QVERIFY(probe.updates[0].second.contains("nested 200002 deep"));
}

void TestJupyterWire::messagesThatAreTooLongAreRefusedAndTold_data() {
  QTest::addColumn<bool>("reply");
  QTest::newRow("an output") << false;
  QTest::newRow("the reply") << true;
}

void TestJupyterWire::messagesThatAreTooLongAreRefusedAndTold() {
  QFETCH(bool, reply);
  QTemporaryDir folder;
  KernelLaunch launch;
  launch.largestMessage = 1 << 20;
  Probe probe(launch);
  auto kernel = startFake(probe, folder, launch);
  probe.session.execute("a", "anything");
  const json parent = kernel->next("execute_request").header;
  const std::string longText(3 << 20, 'x');
  kernel->publish("stream", {{"name", "stdout"}, {"text", "before"}}, parent);
  QTRY_COMPARE_WITH_TIMEOUT(probe.printed("a", "stdout"), QString("before"), generous);
  if (reply)
    kernel->reply("execute_reply", {{"status", "ok"}, {"execution_count", 3}, {"junk", longText}}, parent);
  else
    kernel->publish("stream", {{"name", "stdout"}, {"text", longText}}, parent);
  QTRY_VERIFY2_WITH_TIMEOUT(probe.printed("a", "stderr").contains("larger than 1 MiB"),
                            qPrintable(probe.printed("a", "stderr")), generous);
  if (!reply) {
    // It goes on: what comes afterwards is shown.
    QTRY_VERIFY_WITH_TIMEOUT((kernel->publish("stream", {{"name", "stdout"}, {"text", "after"}}, parent),
                              probe.printed("a", "stdout").contains("after")),
                             generous);
    kernel->reply("execute_reply", {{"status", "ok"}, {"execution_count", 3}}, parent);
  }
  QVERIFY(!probe.finished.contains("a"));  // as long as the session has not said so
  kernel->publish("status", {{"execution_state", "idle"}}, parent);
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString(reply ? "error" : "ok"), generous);
  QVERIFY(!probe.printed("a", "stdout").contains("xxx"));
}

void TestJupyterWire::aCellThatIsTooLongIsNotSent() {
  QTemporaryDir folder;
  KernelLaunch launch;
  launch.largestMessage = 1 << 20;
  Probe probe(launch);
  auto kernel = startFake(probe, folder, launch);
  probe.session.execute("a", QString(2 << 20, 'x'));
  QTRY_COMPARE_WITH_TIMEOUT((kernel->answer(), probe.finished.value("a")), QString("error"), generous);
  QCOMPARE(probe.printed("a", "stderr"),
           QString("This cell was not run: its text is longer than the 1 MiB of a message.\n"));
}

void TestJupyterWire::aLostIdleMessageDoesNotHangTheCell() {
  QTemporaryDir folder;
  Probe probe;
  auto kernel = startFake(probe, folder);
  probe.session.execute("a", "anything");
  const json parent = kernel->next("execute_request").header;
  kernel->reply("execute_reply", {{"status", "ok"}, {"execution_count", 1}}, parent);
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString("ok"), generous);
}

void TestJupyterWire::repliesToNobodyAreIgnored() {
  QTemporaryDir folder;
  Probe probe;
  auto kernel = startFake(probe, folder);
  probe.session.execute("a", "anything");
  const json parent = kernel->next("execute_request").header;
  json other = parent;
  other["msg_id"] = "another program's";
  kernel->publish("stream", {{"name", "stdout"}, {"text", "not ours"}}, other);
  kernel->reply("execute_reply", {{"status", "error"}, {"execution_count", 9}}, other);
  kernel->publish("status", {{"execution_state", "idle"}}, other);
  kernel->reply("execute_reply", {{"status", "ok"}, {"execution_count", 1}}, parent);
  kernel->publish("status", {{"execution_state", "idle"}}, parent);
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString("ok"), generous);
  QVERIFY(probe.outputs.isEmpty());
}

void TestJupyterWire::aCellOfAnotherProgramKeepsTheSessionBusy() {
  QTemporaryDir folder;
  Probe probe;
  auto kernel = startFake(probe, folder);
  probe.session.execute("a", "anything");
  const json ours = kernel->next("execute_request").header;
  json other = ours;
  other["msg_id"] = "another program's";
  kernel->publish("status", {{"execution_state", "busy"}}, other);
  kernel->reply("execute_reply", {{"status", "ok"}, {"execution_count", 1}}, ours);
  kernel->publish("status", {{"execution_state", "idle"}}, ours);
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString("ok"), generous);
  QCOMPARE(probe.session.state(), KernelState::busy);
  // It ends while a cell of ours waits for it: only ours keeps the session busy.
  probe.session.execute("b", "anything");
  const json second = kernel->next("execute_request").header;
  kernel->publish("status", {{"execution_state", "idle"}}, other);
  kernel->publish("stream", {{"name", "stdout"}, {"text", "behind it"}}, second);
  QTRY_VERIFY_WITH_TIMEOUT(probe.printed("b").contains("behind it"), generous);
  QCOMPARE(probe.session.state(), KernelState::busy);
  kernel->reply("execute_reply", {{"status", "ok"}, {"execution_count", 2}}, second);
  kernel->publish("status", {{"execution_state", "idle"}}, second);
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("b"), QString("ok"), generous);
  QCOMPARE(probe.session.state(), KernelState::idle);
}

TAPEDECK_TEST(TestJupyterWire)
#include "tst_jupyter_wire.moc"
