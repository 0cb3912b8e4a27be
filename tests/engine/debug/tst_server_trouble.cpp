// The debug server when ZeroMQ fails under it: a stopped program must not wait for ever.
#include <dlfcn.h>

#include <QtTest>
#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/engine/debug/served.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using namespace tapedeck::protocol;
using std::chrono::milliseconds;

namespace {

std::atomic<int> poll_error{0};  // the server's next polls fail with it; 0: they work
std::atomic<int> polls_to_fail{0};
thread_local bool fails_never = false;  // the test's own thread

}  // namespace

// Stands in for ZeroMQ's, which the library would find otherwise.
extern "C" int zmq_poll(zmq_pollitem_t* items, int count, long timeout) {
  using Poll = int (*)(zmq_pollitem_t*, int, long);
  static const auto poll = reinterpret_cast<Poll>(::dlsym(RTLD_NEXT, "zmq_poll"));
  if (!fails_never && poll_error != 0 && polls_to_fail.fetch_sub(1) > 0) {
    errno = poll_error;
    return -1;
  }
  return poll(items, count, timeout);
}

namespace {

/// What the process writes to stderr while this lives.
class CapturedErrors {
 public:
  CapturedErrors() : kept_(::dup(STDERR_FILENO)) {
    std::fflush(stderr);
    FILE* file = std::fopen(path().c_str(), "w");
    ::dup2(::fileno(file), STDERR_FILENO);
    std::fclose(file);
  }
  ~CapturedErrors() {
    std::fflush(stderr);
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }
  std::string text() const {
    std::stringstream all;
    all << std::ifstream(path()).rdbuf();
    return all.str();
  }

 private:
  std::string path() const { return folder_.filePath("errors").toStdString(); }
  QTemporaryDir folder_;
  int kept_;
};

/// A session whose program waits at the gate, as a client asked.
struct Stopped : Served {
  Stopped() : debugger(endpoint(), key) {
    fails_never = true;
    debugger.greet();
    debugger.ask<Status>(SetGate{GateCommand::pause});
    program = std::thread([this] {
      multiply(scalar(2), scalar(3));
      finished = true;
    });
    if (!wait_for([this] { return recorder.gate().status().state == GateState::stopped; }))
      throw std::runtime_error("the program did not stop");
  }
  ~Stopped() {
    poll_error = 0;
    server.reset();  // lets it go in any case
    program.join();
  }
  void fail(int error, int times) {
    polls_to_fail = times;
    poll_error = error;
    debugger.send(GetStatus{});  // wakes the server
  }
  RawClient debugger;
  std::atomic<bool> finished{false};
  std::thread program;
};

}  // namespace

class TestServerTrouble : public QObject {
  Q_OBJECT
 private slots:
  void a_server_that_ends_by_an_error_lets_the_program_go_and_says_so() {
    const CapturedErrors errors;
    Stopped session;
    session.fail(ENOTSOCK, 1 << 30);
    QVERIFY(wait_for([&] { return session.finished.load(); }));
    QVERIFY(wait_for([&] { return errors.text().ends_with("\n"); }));
    const std::string said = errors.text();
    QVERIFY2(said.starts_with("Tapedeck: the debug server has ended: ") &&
                 said.ends_with("The program runs on and stops at no op; restart the session to look into it "
                                "again.\n"),
             said.c_str());
    // Nobody is there any longer who could let it go.
    session.recorder.gate().command(GateCommand::pause);
    multiply(scalar(1), scalar(1));
  }

  void an_error_that_passes_changes_nothing() {
    const CapturedErrors errors;
    Stopped session;
    for (const int error : {EINTR, ENOMEM, EAGAIN, EMFILE}) {
      session.fail(error, 5);
      QVERIFY(wait_for([&] { return polls_to_fail <= 0; }));
      QVERIFY(session.debugger.ask<Status>(GetStatus{}).gate == GateState::stopped);
    }
    QVERIFY(!session.finished);
    QVERIFY(session.debugger.ask<Status>(SetGate{GateCommand::run}).gate == GateState::open);
    QVERIFY(wait_for([&] { return session.finished.load(); }));
    QCOMPARE(errors.text(), std::string());
  }

  void an_error_that_should_pass_and_does_not_lets_the_program_go() {
    const CapturedErrors errors;
    Stopped session;
    session.fail(ENOMEM, 1 << 30);
    QVERIFY(wait_for([&] { return session.finished.load(); }));
    QVERIFY(wait_for([&] { return errors.text().find("the debug server has ended") != std::string::npos; }));
  }
};

TAPEDECK_TEST(TestServerTrouble)
#include "tst_server_trouble.moc"
