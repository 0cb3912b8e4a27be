// The debug server as a peer: who may speak, what it survives, when it stops the session and when it lets it
// go.
#include <sys/stat.h>
#include <unistd.h>

#include <QtTest>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tests/engine/debug/served.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using namespace tapedeck::protocol;
using debug::DebugServer;
using debug::ServerError;
using std::chrono::milliseconds;

namespace {

std::string start_error(const std::string& endpoint) {
  Recorder recorder;
  try {
    DebugServer server(recorder, endpoint, key);
    return {};
  } catch (const ServerError& error) {
    return error.what();
  }
}

}  // namespace

class TestDebugServer : public QObject {
  Q_OBJECT
 private slots:
  void a_client_of_the_same_version_is_welcomed() {
    Served served;
    RawClient client = served.client();
    const Welcome welcome = client.greet();
    QCOMPARE(welcome.protocol_version, protocol::version);
    QCOMPARE(welcome.pid, static_cast<std::uint64_t>(::getpid()));
    QVERIFY(!welcome.engine_version.empty());
    QCOMPARE(welcome.devices.at(0), std::string("/cpu:0"));
    QCOMPARE(welcome.started_unix_ms, served.recorder.started_unix_ms());
  }

  void a_client_of_another_version_is_refused_with_both_versions() {
    Served served;
    RawClient client = served.client();
    const Refused refused = client.ask<Refused>(Hello{protocol::version + 1, "Tapedeck 9"});
    QCOMPARE(refused.protocol_version, protocol::version);
    QCOMPARE(refused.reason, "The session speaks version " + std::to_string(protocol::version) +
                                 " of the debug protocol, Tapedeck 9 version " +
                                 std::to_string(protocol::version + 1) +
                                 ". "
                                 "Restart the session with the same version of Tapedeck.");
    QCOMPARE(client.ask<Failure>(GetStatus{}).code, std::string("bad_request"));
  }

  void nothing_is_told_before_hello() {
    Served served;
    RawClient client = served.client();
    const Failure failure = client.ask<Failure>(GetRecords{1, 10, true});
    QCOMPARE(failure.code, std::string("bad_request"));
    QCOMPARE(failure.reason,
             std::string("get_records came before hello: the conversation begins with hello."));
  }

  void a_message_with_another_key_gets_no_answer() {
    Served served;
    RawClient stranger(served.endpoint(), "another key");
    stranger.send(Hello{});
    RawClient unsigned_client(served.endpoint(), "");
    unsigned_client.send(Hello{});
    RawClient client = served.client();
    client.greet();  // what came before it has been looked at by now
    client.ask<Status>(GetStatus{});
    QVERIFY(!stranger.receive(milliseconds(100)));
    QVERIFY(!unsigned_client.receive(milliseconds(1)));
  }

  void without_a_key_messages_are_not_signed() {
    Recording recording;
    QTemporaryDir folder;
    const std::string endpoint = "ipc://" + folder.filePath("debug").toStdString();
    DebugServer server(recording.recorder, endpoint, "");
    RawClient client(endpoint, "");
    client.greet();
  }

  void malformed_messages_are_answered_and_the_connection_stays() {
    Served served;
    RawClient client = served.client();
    client.greet();
    client.send_bytes({1, 2, 3});
    auto reply = client.reply_to(0);
    while (!protocol::holds_alternative<Failure>(reply)) reply = client.reply_to(0);
    QCOMPARE(protocol::get<Failure>(reply).code, std::string("bad_request"));
    QVERIFY(protocol::get<Failure>(reply).reason.starts_with("no message:"));
    client.send_frames({"one frame"});
    client.send_frames({"", "", "", ""});
    std::mt19937 random(3);
    for (int i = 0; i < 2000; ++i) {
      Bytes bytes = encode(5, Request(GetTile{}));
      for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
      client.send_bytes(bytes);
    }
    client.ask<Status>(GetStatus{});
  }

  void endpoints_that_others_can_reach_are_refused() {
    QTemporaryDir folder;
    const std::string path = folder.path().toStdString();
    ::chmod(path.c_str(), 0755);
    const std::string endpoint = "ipc://" + path + "/debug";
    QCOMPARE(start_error(endpoint),
             "debug server at " + endpoint + ": the folder " + path +
                 " has mode 0755; it must be 0700, so that no other user can reach the socket");
    ::chmod(path.c_str(), 0700);
    QCOMPARE(start_error(endpoint), std::string());
    std::ofstream(path + "/debug") << "mine";
    QCOMPARE(start_error(endpoint),
             "debug server at " + endpoint + ": there is something of that name that is not a socket");
    QVERIFY(std::filesystem::exists(path + "/debug"));
    QCOMPARE(start_error("tcp://127.0.0.1:5555"),
             std::string("debug server at tcp://127.0.0.1:5555: it must be ipc:// and an absolute path"));
    QVERIFY(start_error("ipc:///no/such/folder/debug").find("No such file") != std::string::npos);
    QVERIFY(start_error("ipc://" + path + "/" + std::string(200, 'a')).find("the path has") !=
            std::string::npos);
  }

  void the_socket_is_the_users_alone_and_goes_with_the_server() {
    Served served;
    struct stat info {};
    QCOMPARE(::stat(served.path().c_str(), &info), 0);
    QCOMPARE(info.st_mode & 0777, mode_t{0600});
    served.server.reset();
    QVERIFY(::stat(served.path().c_str(), &info) != 0);
    served.server.emplace(served.recorder, served.endpoint(), key);  // and again
    served.client().greet();
  }

  void a_stop_is_told_unasked_to_every_client() {
    Served served;
    RawClient first = served.client(), second = served.client();
    first.greet();
    second.greet();
    QVERIFY(first.ask<Status>(SetGate{GateCommand::pause}).gate == GateState::will_stop);
    std::thread session([] { multiply(scalar(2), scalar(3)); });
    for (RawClient* client : {&first, &second}) {
      std::optional<Status> stopped;
      while (!stopped) {
        const auto reply = client->receive(milliseconds(20000));
        QVERIFY(reply && reply->request == 0);
        const auto& status = protocol::get<Status>(reply->message);
        if (status.gate == GateState::stopped) stopped = status;
      }
      QCOMPARE(stopped->stopped_before, 1u);
      QCOMPARE(stopped->stop_reason, std::string("pause"));
    }
    QVERIFY(second.ask<Status>(SetGate{GateCommand::run}).gate == GateState::open);
    session.join();
    QCOMPARE(first.ask<Records>(GetRecords{1, 1, true}).records.at(0).outputs.at(0).preview,
             std::string("6.0"));
  }

  void the_gate_opens_when_the_last_client_goes() {
    Served served;
    std::atomic<bool> finished{false};
    std::optional<RawClient> first(std::in_place, served.endpoint(), key);
    std::optional<RawClient> second(std::in_place, served.endpoint(), key);
    first->greet();
    second->greet();
    first->ask<Status>(SetGate{GateCommand::pause});
    std::thread session([&] {
      multiply(scalar(2), scalar(3));
      finished = true;
    });
    QVERIFY(wait_for([&] { return served.recorder.gate().status().state == GateState::stopped; }));
    first.reset();
    second->ask<Status>(GetStatus{});
    QVERIFY(!finished);
    second.reset();
    QVERIFY(wait_for([&] { return finished.load(); }));
    session.join();
    served.recorder.gate().command(GateCommand::pause);
    multiply(scalar(1), scalar(1));  // nobody is there who could let it go
  }

  void who_comes_as_another_goes_finds_nothing_stopped() {
    Served served;
    std::atomic<bool> finished{false};
    std::optional<RawClient> first(std::in_place, served.endpoint(), key);
    first->greet();
    first->ask<Status>(SetGate{GateCommand::pause});
    std::thread session([&] {
      multiply(scalar(2), scalar(3));
      finished = true;
    });
    QVERIFY(wait_for([&] { return served.recorder.gate().status().state == GateState::stopped; }));
    first.reset();
    RawClient second = served.client();
    second.greet();
    const bool open = second.ask<Status>(GetStatus{}).gate == GateState::open;
    second.ask<Status>(SetGate{GateCommand::run});
    session.join();
    QVERIFY(open);
    QVERIFY(finished);
  }

  void what_a_program_records_for_itself_outlasts_its_clients() {
    Served served;
    served.server.reset();
    served.recorder.set_recording(false);
    served.server.emplace(served.recorder, served.endpoint(), key, ReplayLimits{}, nullptr,
                          debug::WhenToRecord::while_attended);
    served.server->keep_recording();
    multiply(scalar(2), scalar(3));
    std::optional<RawClient> client(std::in_place, served.endpoint(), key);
    client->greet();
    SetOptions off;
    off.recording = false;
    QVERIFY(!client->ask<Status>(off).recording);
    client.reset();
    QVERIFY(wait_for([&] { return served.recorder.recording(); }));
    multiply(scalar(3), scalar(4));
    RawClient second = served.client();
    second.greet();
    const auto records = second.ask<Records>(GetRecords{1, 2, true}).records;
    QCOMPARE(records.size(), std::size_t{2});
    QCOMPARE(records[0].outputs.at(0).preview, std::string("6.0"));
    QCOMPARE(records[1].outputs.at(0).preview, std::string("12.0"));
  }

  void a_server_that_stops_lets_a_waiting_op_go() {
    Served served;
    RawClient client = served.client();
    client.greet();
    client.ask<Status>(SetGate{GateCommand::pause});
    std::thread session([] { multiply(scalar(2), scalar(3)); });
    QVERIFY(wait_for([&] { return served.recorder.gate().status().state == GateState::stopped; }));
    served.server.reset();
    session.join();
    QVERIFY(served.at(1).state == RecordState::done);
  }
};

TAPEDECK_TEST(TestDebugServer)
#include "tst_debug_server.moc"
