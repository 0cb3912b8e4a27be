// What the debug server answers: pages, tapes, stops, pins, options, curves and pictures; and how a long
// answer is cancelled. Of tiles see tst_tiles.
#include <QtTest>
#include <atomic>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/engine/debug/served.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using namespace tapedeck::protocol;
using std::chrono::milliseconds;

namespace {

/// Waits, where it is told to, until the test lets it go on: an op that takes long.
std::atomic<bool> slow_ops{false};
std::atomic<int> slow_ops_running{0};
const OpDef& slow_op() {
  return op_named("test_slow", unary(
                                   [](const OpContext& call) -> Tensors {
                                     ++slow_ops_running;
                                     while (slow_ops) std::this_thread::sleep_for(milliseconds(1));
                                     --slow_ops_running;
                                     return {fill(call.outputs[0], [](std::size_t i) { return double(i); })};
                                   },
                                   nullptr));
}

/// Takes as long as it is told to.
std::atomic<int> dawdling_milliseconds{0};
Tensor dawdling(const Tensor& x) {
  static const OpDef& op =
      op_named("test_dawdling", unary(
                                    [](const OpContext& call) -> Tensors {
                                      std::this_thread::sleep_for(milliseconds(dawdling_milliseconds));
                                      return {fill(call.outputs[0], [](std::size_t i) { return double(i); })};
                                    },
                                    nullptr));
  return run_op1(op, {x});
}

}  // namespace

class TestDebugAnswers : public QObject {
  Q_OBJECT
 private slots:
  void cleanup() { slow_ops = false; }

  void records_come_by_page() {
    Served served;
    Tensor value = scalar(1);
    for (int i = 0; i < 1500; ++i) value = add(value, value);
    RawClient client = served.client();
    client.greet();
    Records page = client.ask<Records>(GetRecords{1, 5000, true});
    QCOMPARE(page.total, 1500u);
    QCOMPARE(page.records.size(), 1000u);
    QCOMPARE(page.records[999].number, 1000u);
    QCOMPARE(page.records[0].outputs.at(0).preview, std::string("2.0"));
    page = client.ask<Records>(GetRecords{1001, 1000, false});
    QCOMPARE(page.records.size(), 500u);
    QCOMPARE(page.records[0].outputs.at(0).preview, std::string());
    QVERIFY(client.ask<Records>(GetRecords{1501, 10, true}).records.empty());
    QVERIFY(client.ask<Records>(GetRecords{~std::uint64_t{0}, 10, true}).records.empty());
    QVERIFY(client.ask<Records>(GetRecords{1, 0, true}).records.empty());
  }

  void a_tape_comes_with_its_playback() {
    Served served;
    const Tensor x = vector_of({3});
    Tape tape;
    tape.start();
    tape.watch(x);
    gradient(tape, sum(custom_square(x)), x);
    RawClient client = served.client();
    client.greet();
    const TapeRecords records = client.ask<TapeRecords>(GetTape{tape.id(), {}, 100, {}});
    QCOMPARE(records.tape, tape.id());
    QVERIFY(records.records.size() >= 7);
    QCOMPARE(records.records[0].op, std::string("custom_square"));
  }

  void the_part_of_a_tape_around_an_op_comes_with_its_vjps() {
    Served served;
    const Tensor x = vector_of({0.5});
    Tape tape;
    tape.start();
    tape.watch(x);
    Tensor y = x;
    constexpr std::uint64_t count = 1000;
    for (std::uint64_t i = 0; i < count; ++i) y = test_ops::multiply(y, x);
    gradient(tape, y, x);
    RawClient client = served.client();
    client.greet();
    const TapeRecords whole = client.ask<TapeRecords>(GetTape{tape.id(), {}, 5000, 1});
    QCOMPARE(whole.ops, count);
    QCOMPARE(whole.vjps, count);
    QCOMPARE(whole.before + whole.after, std::uint64_t{0});
    const std::uint64_t first = whole.records[0].number;
    const auto check = [&](std::uint64_t around, std::uint64_t op, std::uint64_t limit) {
      const TapeRecords part =
          client.ask<TapeRecords>(GetTape{tape.id(), {}, static_cast<std::uint32_t>(limit), around});
      QCOMPARE(part.ops, count);
      const std::uint64_t begin = op < limit / 2 ? 0 : op - limit / 2;
      const std::uint64_t end = std::min(count, op + limit / 2);
      QCOMPARE(part.before, begin);
      QCOMPARE(part.after, count - end);
      std::uint64_t ops = 0, vjps = 0;
      for (const Record& record : part.records) {
        ops += record.kind == RecordKind::op && !record.backward;
        vjps += record.kind == RecordKind::vjp;
        const std::uint64_t forward = record.kind == RecordKind::vjp ? record.forward : record.number;
        if (record.kind == RecordKind::vjp || !record.backward)
          QVERIFY(forward >= first + begin && forward < first + end);
      }
      QCOMPARE(ops, end - begin);
      QCOMPARE(vjps, end - begin);
    };
    check(first + 500, 500, 100);
    check(first, 0, 100);
    check(first + 999, 999, 100);
    std::uint64_t vjp = 0;
    for (const Record& record : whole.records)
      if (record.kind == RecordKind::vjp && record.forward == first + 300) vjp = record.number;
    check(vjp, 300, 100);
    check(vjp + 1, 300, 100);  // an op inside of that VJP
    // As it was when half of it had run.
    const TapeRecords half = client.ask<TapeRecords>(GetTape{tape.id(), first + 499, 100, first + 499});
    QCOMPARE(half.ops, count / 2);
    QCOMPARE(half.vjps, std::uint64_t{0});
    QCOMPARE(half.after, std::uint64_t{0});
  }

  void a_long_answer_can_be_cancelled_and_holds_nobody_up() {
    RecorderOptions options;
    options.keeping.window_bytes = 1;
    options.keeping.recomputed_bytes = 0;
    options.keeping.checkpoint_ns = std::numeric_limits<std::uint64_t>::max();  // however slow the machine is
    options.keeping.window_count = 1;
    Served served(options);
    const Tensor x = ramp(100);
    const Tensor slow = run_op1(slow_op(), {x});
    const Tensor target = multiply(slow, slow);
    multiply(x, x);  // so that neither is held any longer
    slow_ops = true;
    RawClient client = served.client(), other = served.client();
    client.greet();
    other.greet();
    const std::uint64_t request = client.send(tile_of(target, 1, 3));
    QVERIFY(wait_for([] { return slow_ops_running == 1; }));
    client.ask<Status>(GetStatus{});
    QCOMPARE(other.ask<Tile>(tile_of(x, 1, 3)).values.size(), 3u);
    const std::uint64_t second = client.send(GetStatistics{target.id(), 4});
    // One replay at a time: the second waits for its turn, and what is held does not.
    const std::uint64_t waiting = client.send(GetStatistics{target.id(), 8});
    QCOMPARE(other.ask<Statistics>(GetStatistics{x.id(), 4}).source, std::string("held"));
    QCOMPARE(slow_ops_running.load(), 1);
    client.send(Cancel{waiting});
    client.send(Cancel{request});
    client.send(Cancel{123456});
    client.ask<Status>(GetStatus{});
    slow_ops = false;
    std::map<std::uint64_t, Reply> replies;  // in whatever order they come
    while (!replies.contains(request) || !replies.contains(second) || !replies.contains(waiting)) {
      const auto reply = client.receive(milliseconds(20000));
      QVERIFY(reply);
      if (!protocol::holds_alternative<Progress>(reply->message)) replies[reply->request] = reply->message;
    }
    QCOMPARE(protocol::get<Failure>(replies[request]).code, std::string("cancelled"));
    QCOMPARE(protocol::get<Failure>(replies[waiting]).code, std::string("cancelled"));
    QCOMPARE(protocol::get<Statistics>(replies[second]).source, std::string("recomputed"));
  }

  void a_long_recomputation_tells_its_progress_until_it_is_cancelled() {
    RecorderOptions options;
    options.keeping.window_bytes = 1;
    options.keeping.recomputed_bytes = 0;
    options.keeping.checkpoint_ns = std::numeric_limits<std::uint64_t>::max();  // however slow the machine is
    Served served(options);
    Tensor value = ramp(100);
    for (int i = 0; i < 1000; ++i) value = dawdling(value);
    const Tensor target = value;
    multiply(ramp(100), ramp(100));
    RawClient client = served.client();
    client.greet();
    dawdling_milliseconds = 5;
    const std::uint64_t request = client.send(tile_of(target, 1, 1));
    const auto next = [&]() -> Reply {
      while (true) {
        const auto reply = client.receive(milliseconds(20000));
        if (!reply) throw std::runtime_error("nothing came");
        if (reply->request == request) return reply->message;
      }
    };
    const auto progress = protocol::get<Progress>(next());
    QCOMPARE(progress.total, 1000u);
    client.send(Cancel{request});
    Reply last = next();
    while (protocol::holds_alternative<Progress>(last)) last = next();
    QCOMPARE(protocol::get<Failure>(last).code, std::string("cancelled"));
    dawdling_milliseconds = 0;
  }

  void a_stop_brings_the_records_of_the_step() {
    Served served;
    RawClient client = served.client();
    client.greet();
    client.ask<Status>(SetGate{GateCommand::pause});
    std::thread program([] {
      const Tensor x = ramp(2);
      multiply(multiply(x, x), x);
    });
    const auto stop_after = [&](std::uint64_t older) {
      while (true) {
        const auto reply = client.receive(milliseconds(20000));
        if (!reply) throw std::runtime_error("nothing came");
        if (const auto* status = protocol::get_if<Status>(&reply->message))
          if (status->stopped_before.value_or(0) > older) return *status;
      }
    };
    const Status first = stop_after(0);
    QCOMPARE(first.stop.size(), 1u);
    QCOMPARE(first.stop[0].state, RecordState::pending);
    QCOMPARE(first.stop[0].outputs[0].shape, std::vector<std::int64_t>{2});
    const std::uint64_t ended = first.ended;
    client.send(SetGate{GateCommand::step_op});
    const Status second = stop_after(first.stopped_before.value_or(0));
    QCOMPARE(second.stop.size(), 2u);
    QCOMPARE(second.stop[0].number, first.stopped_before.value_or(0));
    QCOMPARE(second.stop[0].state, RecordState::done);
    QCOMPARE(second.stop[0].outputs[0].preview, std::string("[0.25 2.25]"));
    QCOMPARE(second.stop[1].number, second.stopped_before.value_or(0));
    QCOMPARE(second.ended, ended + 1);
    client.send(SetGate{GateCommand::run});
    program.join();
  }

  void pinning_holds_a_value() {
    RecorderOptions options;
    options.keeping.window_bytes = 1;
    options.keeping.recomputed_bytes = 0;
    Served served(options);
    const Tensor x = ramp(100);
    const std::uint64_t id = multiply(x, x).id();
    RawClient client = served.client();
    client.greet();
    client.ask<Status>(Pin{id, true});
    multiply(x, x);
    QVERIFY(served.recorder.values().held(id));
    client.ask<Status>(Pin{id, false});
    QVERIFY(!served.recorder.values().held(id));
    client.ask<Status>(SetOptions{{}, {}, {100}, {}, {}});
    QCOMPARE(client.ask<Failure>(Pin{id, true}).code, std::string("gone"));  // its leaf had to go
  }

  void options_change_only_what_they_name() {
    Served served;
    RawClient client = served.client();
    client.greet();
    Status status = client.ask<Status>(SetOptions{{}, {true}, {5'000'000}, {}, {}});
    QVERIFY(status.recording && status.break_at_cell_start && !status.keep_everything &&
            !status.replay_on_cpu);
    QCOMPARE(status.budget_bytes, 5'000'000u);
    status = client.ask<Status>(SetOptions{{false}, {}, {}, {true}, {true}});
    QVERIFY(!status.recording && status.break_at_cell_start && status.keep_everything &&
            status.replay_on_cpu);
    const Failure failure = client.ask<Failure>(SetGate{GateCommand::pause});
    QVERIFY(failure.reason.find("recording is off") != std::string::npos);
    QVERIFY(client.ask<Status>(SetGate{GateCommand::run}).gate == GateState::open);
    nlohmann::json twice = nlohmann::json::from_cbor(protocol::encode(77, protocol::Request(SetOptions{})));
    twice["body"]["recording"] = {true, false};
    client.send_bytes(nlohmann::json::to_cbor(twice));
    protocol::Reply refusal = client.reply_to(0);
    while (protocol::holds_alternative<Status>(refusal)) refusal = client.reply_to(0);
    QCOMPARE(protocol::get<Failure>(refusal).code, std::string("bad_request"));
  }

  void a_session_reads_no_trace_files() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("other.tapetrace").toStdString();
    Served served;
    RawClient client = served.client();
    client.greet();
    for (const bool left : {true, false}) {
      protocol::MakeComparison make;
      (left ? make.left : make.right).path = path;
      const Failure failure = client.ask<Failure>(make);
      QCOMPARE(failure.code, std::string("bad_request"));
      QCOMPARE(failure.reason,
               std::string("make_comparison: trace files are compared in the process that reads them, "
                           "not in a session."));
    }
  }

  void series_come_from_where_the_last_answer_ended() {
    Served served;
    served.recorder.add_scalar("loss", 0, 3.5);
    RawClient client = served.client();
    client.greet();
    Series series = client.ask<Series>(GetSeries{0});
    QCOMPARE(series.points.at(0).value, 3.5);
    served.recorder.add_scalar("loss", 1, 2.5);
    series = client.ask<Series>(GetSeries{series.next});
    QCOMPARE(series.points.size(), 1u);
    QCOMPARE(client.ask<Status>(GetStatus{}).series_points, 2u);
  }

  void pictures_come_from_where_the_last_answer_ended_with_the_record_that_was_newest() {
    Served served;
    Picture weights;
    weights.name = "weights";
    weights.limits = {0, 1, 2};
    weights.counts = {3, 4};
    weights.not_finite = 5;
    QVERIFY(served.recorder.add_picture(weights));
    RawClient client = served.client();
    client.greet();
    Pictures pictures = client.ask<Pictures>(GetPictures{0});
    QCOMPARE(pictures.pictures.at(0).counts, (std::vector<double>{3, 4}));
    QCOMPARE(pictures.pictures.at(0).not_finite, 5u);
    QVERIFY(!pictures.pictures.at(0).record);  // no op has run
    Picture digits;
    digits.name = "digits";
    digits.pngs = {"cG5n", "cG5o"};
    QVERIFY(served.recorder.add_picture(digits));
    pictures = client.ask<Pictures>(GetPictures{pictures.next});
    QCOMPARE(pictures.pictures.size(), 1u);
    QCOMPARE(pictures.pictures.at(0).pngs, (std::vector<std::string>{"cG5n", "cG5o"}));
    QCOMPARE(client.ask<Status>(GetStatus{}).pictures, 2u);
  }
};

TAPEDECK_TEST(TestDebugAnswers)
#include "tst_debug_answers.moc"
