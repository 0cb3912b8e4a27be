// Which records a filter lets through: as many answers as it takes, the same as one would find by hand.
#include <QtTest>
#include <random>

#include "engine/debug/find_records.h"
#include "engine/protocol/record_filter.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "tests/engine/debug/served.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::protocol;
using test_ops::add;
using test_ops::multiply;
using test_ops::scalar;

namespace {

thread_local std::uint32_t line_of_ops = 0, call_of_ops = 0;
CallSite capture() {
  return {line_of_ops, call_of_ops};
}

using Numbers = std::vector<std::uint64_t>;

void append_runs(const FoundRecords& found, Numbers& numbers) {
  for (std::size_t i = 0; i < found.runs.size(); i += 2)
    for (std::uint64_t number = found.runs[i]; number <= found.runs[i + 1]; ++number)
      numbers.push_back(number);
}

/// Asked on and on, as a view does.
Numbers found(const Recorder& recorder, const std::string& filter, const std::vector<CellLabel>& labels) {
  FindRecords request{filter, labels, 1, {}, {}};
  Numbers numbers;
  while (true) {
    const FoundRecords answer = debug::find_records(recorder, request);
    append_runs(answer, numbers);
    if (answer.scanned >= answer.total) return numbers;
    if (answer.scanned < request.first) throw std::runtime_error("the search does not go on");
    request.first = answer.scanned + 1;
  }
}

/// One record after the other, as messages.
Numbers by_hand(const Recorder& recorder, const std::string& filter, const std::vector<CellLabel>& labels) {
  Numbers numbers;
  const Condition terms = parse_filter(filter);
  for (std::uint32_t number = 1; number <= recorder.trace().newest(); ++number)
    if (matches(terms, debug::describe(recorder, number, false).value(), labels)) numbers.push_back(number);
  return numbers;
}

/// Ops in several cells, files and scopes, with names, gradients, custom gradients and failures.
void run_a_program(Recorder& recorder, unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  for (int round = 0; round < 40; ++round) {
    SourceLocation location;
    location.line = static_cast<std::uint32_t>(1 + pick(9));
    (pick(3) ? location.cell : location.file) = pick(2) ? "cell-a" : "Übung.py";
    line_of_ops = intern_location(location);
    call_of_ops = pick(3) ? intern_call({pick(2) ? "F.relu(x\n       , Größe)" : "x * layer(y)", false}) : 0;
    const NameScope scope(pick(2) ? "layer_one" : "Größe");
    Tensor x = scalar(1.5);
    if (pick(2)) recorder.leaf(x, pick(2) ? "W:0" : "ΔE");
    Tape tape;
    tape.start();
    tape.watch(x);
    Tensor y = multiply(x, x);
    for (int op = pick(6); op > 0; --op) y = pick(2) ? add(y, x) : custom_square(y);
    if (pick(3) == 0)
      gradient(tape, y, x);
    else
      tape.stop();
    if (pick(5) == 0) {
      try {
        test_ops::failing(x, false);
      } catch (const std::exception&) {
      }
    }
  }
  line_of_ops = call_of_ops = 0;
}

}  // namespace

class TestFindRecords : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { set_capture_call_site(capture); }
  void cleanupTestCase() { set_capture_call_site(nullptr); }

  void bookmarks_are_those_that_the_request_names() {
    Recording recording;
    run_a_program(recording.recorder, 3);
    const std::uint64_t newest = recording.recorder.trace().newest();
    QVERIFY(newest > 100);
    FindRecords request{"bookmarked", {}, 1, {}, {}, {2, 50, 51, newest, newest + 7}};
    const auto all = [&] {
      Numbers numbers;
      const FoundRecords answer = debug::find_records(recording.recorder, request);
      append_runs(answer, numbers);
      return numbers;
    };
    QCOMPARE(all(), (Numbers{2, 50, 51, newest}));
    request.filter = "bookmarked and record > 50";
    QCOMPARE(all(), (Numbers{51, newest}));
    request.filter = "bookmarked and nothing_is_called_so";
    QCOMPARE(all(), Numbers{});
    request.bookmarked.clear();
    request.filter = "bookmarked";
    QCOMPARE(all(), Numbers{});
  }

  void a_cells_name_is_that_of_the_execution() {
    Recording recording;
    const auto run = [&](const char* cell, std::uint32_t execution, int ops) {
      recording.recorder.begin_cell(cell, execution);
      for (int i = 0; i < ops; ++i) {
        line_of_ops = intern_location({cell, "", 1});
        add(scalar(1), scalar(2));
      }
      recording.recorder.end_cell();
    };
    run("cell-a", 1, 2);
    run("cell-b", 2, 1);
    run("cell-a", 3, 2);
    line_of_ops = 0;
    const std::vector<CellLabel> labels{{"cell-a", "cell [3]"}, {"cell-b", "cell [2]"}};
    for (const char* filter : {"cell:1", "cell:2", "cell:3", "cell:[3]", "[1]"})
      QCOMPARE(found(recording.recorder, filter, labels), by_hand(recording.recorder, filter, labels));
    QCOMPARE(found(recording.recorder, "cell:[1]", labels), (Numbers{1, 2}));
    QCOMPARE(found(recording.recorder, "cell:[3]", labels), (Numbers{4, 5}));
    QCOMPARE(debug::describe(recording.recorder, 2, false)->execution, 1u);
    QCOMPARE(debug::describe(recording.recorder, 5, false)->execution, 3u);
  }

  void finds_what_one_would_find_by_hand() {
    Recording recording;
    run_a_program(recording.recorder, 3);
    const std::vector<CellLabel> labels{{"cell-a", "[7]"}};
    const char* filters[] = {"",
                             "multiply",
                             "MUL add",
                             "vjp",
                             "custom",
                             "is:backward",
                             "is:failed",
                             "is:forward multiply",
                             "op:add",
                             "kind:playback",
                             "scope:größe",
                             "layer_one vjp",
                             "[7]",
                             "cell:[7]",
                             "cell-a",
                             "übung",
                             "file:py",
                             "name:w",
                             "δe",
                             "w:0 multiply",
                             "name:multiply",
                             "\"forward op\"",
                             "is:",
                             "custom_square is:b",
                             "multiply or add",
                             "not (vjp or playback)",
                             "op=add and not backward",
                             "op:*mul*",
                             "line:3-5",
                             "line:7",
                             "record>100 record<=200",
                             "duration>0ns",
                             "duration>1us or failed",
                             "bytes>=8",
                             "dtype:float64",
                             "shape:3",
                             "reads:W",
                             "call:relu",
                             "call:\"relu(x , größe\" and not vjp",
                             "call:*layer*",
                             "call:f.relu",
                             "not call:x",
                             "out.rank == 0 and in0.dtype == float64",
                             "out.shape != in0.shape",
                             "depth>0",
                             "thread=0",
                             "nan(out)",
                             "softmax"};
    for (const char* filter : filters) {
      const Numbers expected = by_hand(recording.recorder, filter, labels);
      QVERIFY2(found(recording.recorder, filter, labels) == expected, filter);
    }
    QVERIFY(!by_hand(recording.recorder, "name:w", labels).empty());
    QVERIFY(!by_hand(recording.recorder, "is:failed", labels).empty());
    QVERIFY(by_hand(recording.recorder, "softmax", labels).empty());
    // A playback has no op, and a call all the same.
    QVERIFY(!by_hand(recording.recorder, "call:\"relu(x\" playback", labels).empty());
    QVERIFY(!by_hand(recording.recorder, "call:*layer*", labels).empty());
    QVERIFY(by_hand(recording.recorder, "layer(y)", labels).empty());  // a word alone looks at no call
  }

  void forgotten_records_are_found_as_such() {
    RecorderOptions options;
    options.record_limit = 1;
    Recording recording(options);
    const Tensor x = scalar(1);
    for (int i = 0; i < 80'000; ++i) multiply(x, x);
    QVERIFY(recording.recorder.trace().oldest_kept() > 1);
    for (const char* filter : {"forgotten", "multiply", "is:failed"})
      QVERIFY2(found(recording.recorder, filter, {}) == by_hand(recording.recorder, filter, {}), filter);
  }

  void answers_are_bounded_and_go_on_where_they_ended() {
    Recording recording;
    const Tensor x = scalar(1);
    for (int i = 0; i < 60'000; ++i) i % 2 ? multiply(x, x) : add(x, x);
    FindRecords request{"multiply", {}, 1, {}, {}};
    const FoundRecords first = debug::find_records(recording.recorder, request);
    QVERIFY2(first.runs.size() <= 2 * (16384 + 2048), qPrintable(QString::number(first.runs.size())));
    QVERIFY(first.scanned < first.total);
    QCOMPARE(found(recording.recorder, "multiply", {}).size(), std::size_t{30'000});
    request.first = ~std::uint64_t{0};
    QVERIFY(debug::find_records(recording.recorder, request).runs.empty());
    request.first = 0;
    QVERIFY(!debug::find_records(recording.recorder, request).runs.empty());
  }

  void what_is_open_is_looked_at_again() {
    Recording recording;
    Recorder& recorder = recording.recorder;
    const Tensor x = scalar(1);
    const std::array inputs{x};
    Event event;
    event.kind = EventKind::custom;
    event.name = "mine";
    event.inputs = inputs;
    const std::uint64_t outer = recorder.begin(event);
    multiply(x, x);
    FindRecords request{"is:failed", {}, 1, {}, {}};
    FoundRecords found = debug::find_records(recorder, request);
    QCOMPARE(found.open, Numbers{outer});
    QVERIFY(found.runs.empty());
    recorder.end(outer, {}, "it went wrong");
    request.first = found.scanned + 1;
    request.again = {outer, 0, 4711};
    found = debug::find_records(recorder, request);
    QCOMPARE(found.again, Numbers{outer});
    QVERIFY(found.open.empty() && found.runs.empty());
  }

  void a_search_answers_while_ops_run_and_gives_way_to_the_next() {
    Served served;
    std::atomic<bool> stop{false};
    std::thread program([&] {
      const Tensor x = scalar(1);
      while (!stop) multiply(x, x);
    });
    RawClient client = served.client();
    client.greet();
    QVERIFY(wait_for([&] { return served.recorder.trace().newest() > 1000; }));
    const auto answer = client.ask<FoundRecords>(FindRecords{"multiply", {}, 1, {}, {}});
    QVERIFY(answer.scanned >= 1000);
    QCOMPARE(answer.runs.front(), 1u);
    // Of many searches that nobody waits for any longer, each is answered, with a cancellation at most.
    Numbers requests;
    for (int i = 0; i < 50; ++i) {
      if (!requests.empty()) client.send(Cancel{requests.back()});
      requests.push_back(client.send(FindRecords{"add", {}, 1, {}, {}}));
    }
    std::map<std::uint64_t, Reply> replies;
    while (replies.size() < requests.size()) {
      const auto reply = client.receive(std::chrono::milliseconds(20000));
      QVERIFY(reply);
      if (reply->request) replies[reply->request] = reply->message;
    }
    QVERIFY(protocol::holds_alternative<FoundRecords>(replies[requests.back()]));
    stop = true;
    program.join();
  }
};

TAPEDECK_TEST(TestFindRecords)
#include "tst_find_records.moc"
