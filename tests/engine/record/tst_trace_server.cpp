// The process that serves a trace file speaks the protocol, and ends with its client or its standard input.
#include <QProcess>
#include <QtTest>
#include <fstream>

#include "engine/record/trace_file/database.h"
#include "tests/engine/debug/raw_client.h"
#include "tests/engine/record/recording.h"
#include "tests/engine/record/traced_program.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace traced;

namespace {

const std::string server_key = "the key of this file";

struct Server {
  QTemporaryDir folder;
  std::string path = folder.filePath("run é.tapetrace").toStdString();
  QProcess process;

  Server() {
    std::ofstream(folder.filePath("key").toStdString()) << server_key;
    Recording session;
    train(session.recorder, 3);
    session.recorder.set_recording(false);
    count = session.count();
    trace_file::save(session.recorder, request_for(path));
  }
  std::string endpoint() const { return "ipc://" + folder.filePath("debug").toStdString(); }
  void start(const QString& file) {
    process.start(
        TAPEDECK_BUILD_DIR "/app/tapedeck-trace",
        {file, "--endpoint", QString::fromStdString(endpoint()), "--key-file", folder.filePath("key")});
  }
  bool is_ready() { return process.waitForReadyRead() && process.readAllStandardOutput() == "ready\n"; }
  ~Server() {
    process.closeWriteChannel();
    process.waitForFinished();
  }
  std::uint32_t count = 0;
};

}  // namespace

class TraceServerTest : public QObject {
  Q_OBJECT

 private slots:
  void it_serves_records_and_values() {
    Server server;
    server.start(QString::fromStdString(server.path));
    QVERIFY2(server.is_ready(), server.process.readAllStandardError().constData());
    RawClient client(server.endpoint(), server_key);
    client.greet();
    const auto status = client.ask<protocol::Status>(protocol::GetStatus{});
    QCOMPARE(status.records, server.count);
    QCOMPARE(status.trace_file, server.path);
    QVERIFY(!status.recording);
    const auto page = client.ask<protocol::Records>(protocol::GetRecords{1, 1000, true});
    QCOMPARE(page.records.size(), server.count);
    std::uint64_t values = 0;
    for (const protocol::Record& record : page.records)
      for (const protocol::TensorInfo& tensor : record.outputs) {
        if (!tensor.id) continue;
        protocol::GetTile get;
        get.tensor = tensor.id;
        get.rows = get.columns = 2;
        values += client.ask<protocol::Tile>(get).values.size();
      }
    QVERIFY(values > 100);
    QCOMPARE(client.ask<protocol::Failure>(protocol::SetGate{protocol::GateCommand::step_op}).reason,
             "This is a trace file: nothing runs in it.");
    QCOMPARE(client.ask<protocol::Failure>(protocol::Evaluate{}).code, "trace_file");
    QCOMPARE(client.ask<protocol::SourceText>(protocol::GetSource{"cell-1", ""}).text, "x = 1\n");
  }

  void it_ends_when_its_input_is_closed() {
    Server server;
    server.start(QString::fromStdString(server.path));
    QVERIFY(server.is_ready());
    server.process.closeWriteChannel();
    QVERIFY(server.process.waitForFinished());
    QCOMPARE(server.process.exitCode(), 0);
    QVERIFY(!QFileInfo::exists(server.folder.filePath("debug")));
  }

  void it_ends_when_its_client_has_gone() {
    Server server;
    server.start(QString::fromStdString(server.path));
    QVERIFY(server.is_ready());
    {
      RawClient client(server.endpoint(), server_key);
      client.greet();
    }
    QVERIFY(server.process.waitForFinished());
    QCOMPARE(server.process.exitCode(), 0);
  }

  void a_check_reads_all_of_it() {
    Server server;
    const QString file = QString::fromStdString(server.path);
    server.process.start(TAPEDECK_BUILD_DIR "/app/tapedeck-trace", {file, "--check"});
    QVERIFY(server.process.waitForFinished());
    QCOMPARE(server.process.exitCode(), 0);
    const QByteArray said = server.process.readAllStandardOutput();
    QVERIFY2(said.startsWith(QByteArray::number(server.count) + " records, "), said.constData());
    {
      auto database = trace_file::Database::create(server.path);
      database.run("UPDATE pages SET data = zeroblob(length(data)) WHERE section = 'records'");
      database.close();
    }
    server.process.start(TAPEDECK_BUILD_DIR "/app/tapedeck-trace", {file, "--check"});
    QVERIFY(server.process.waitForFinished());
    QCOMPARE(server.process.exitCode(), 1);
    QVERIFY(server.process.readAllStandardOutput().contains("is damaged: its checksum is wrong."));
  }

  void what_cannot_be_opened_is_said() {
    Server server;
    const QString nothing = server.folder.filePath("nothing.tapetrace");
    server.start(nothing);
    QVERIFY(server.process.waitForFinished());
    QCOMPARE(server.process.exitCode(), 1);
    QCOMPARE(server.process.readAllStandardError(), QByteArray("The trace file ") + nothing.toUtf8() +
                                                        " cannot be opened: No such file or directory.\n");
    server.process.start(TAPEDECK_BUILD_DIR "/app/tapedeck-trace", {"--endpoint"});
    QVERIFY(server.process.waitForFinished());
    QCOMPARE(server.process.exitCode(), 2);
    QVERIFY(server.process.readAllStandardError().startsWith("tapedeck-trace FILE --endpoint"));
  }
};

TAPEDECK_TEST(TraceServerTest)
#include "tst_trace_server.moc"
