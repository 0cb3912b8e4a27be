// A Jupyter kernel that misbehaves: its messages are dropped, and the session goes on.
#include <QMessageAuthenticationCode>
#include <QTemporaryDir>
#include <zmq.hpp>

#include "app/kernel/jupyter/connection.h"
#include "app/kernel/jupyter/jupyter_message.h"
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

}  // namespace

class TestOddKernels : public QObject {
  Q_OBJECT
 private slots:
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

void TestOddKernels::aKernelThatSendsGarbageDoesNotDisturb() {
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

void TestOddKernels::contentOfWrongTypesDoesNotDisturb() {
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

void TestOddKernels::aKernelThatDescribesItselfInWrongTypesIsWithoutTheEngine_data() {
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
      << "This Jupyter kernel has no Tapedeck engine: cells run, but can't be stepped.";
}

void TestOddKernels::aKernelThatDescribesItselfInWrongTypesIsWithoutTheEngine() {
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

void TestOddKernels::messagesNestedWithoutBoundDoNotDisturb() {
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

  QTest::ignoreMessage(QtWarningMsg, QRegularExpression("a message was ignored: the content is not JSON"));
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

void TestOddKernels::messagesThatAreTooLongAreRefusedAndTold_data() {
  QTest::addColumn<bool>("reply");
  QTest::newRow("an output") << false;
  QTest::newRow("the reply") << true;
}

void TestOddKernels::messagesThatAreTooLongAreRefusedAndTold() {
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

void TestOddKernels::aCellThatIsTooLongIsNotSent() {
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

void TestOddKernels::aLostIdleMessageDoesNotHangTheCell() {
  QTemporaryDir folder;
  Probe probe;
  auto kernel = startFake(probe, folder);
  probe.session.execute("a", "anything");
  const json parent = kernel->next("execute_request").header;
  kernel->reply("execute_reply", {{"status", "ok"}, {"execution_count", 1}}, parent);
  QTRY_COMPARE_WITH_TIMEOUT(probe.finished.value("a"), QString("ok"), generous);
}

void TestOddKernels::repliesToNobodyAreIgnored() {
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

void TestOddKernels::aCellOfAnotherProgramKeepsTheSessionBusy() {
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

TAPEDECK_TEST(TestOddKernels)
#include "tst_odd_kernels.moc"
