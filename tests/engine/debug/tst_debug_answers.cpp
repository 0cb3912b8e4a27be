// What the debug server answers: pages, tapes, tiles, statistics, pins; and what of it can be cancelled.
#include <QtTest>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/tensor/strings.h"
#include "tests/engine/debug/served.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using namespace tapedeck::protocol;
using std::chrono::milliseconds;

namespace {

GetTile tile_of(const Tensor& tensor, std::int64_t rows, std::int64_t columns) {
  GetTile request;
  request.tensor = tensor.id();
  request.rows = rows;
  request.columns = columns;
  return request;
}

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

  void a_tile_of_strings_or_complex_numbers_carries_their_texts() {
    Served served;
    const Tensor words =
        string_tensor({2, 2}, std::vector<std::string>{"tape", "", "d\xc3\xa9", std::string(500, 'x')});
    const Tensor pairs = Tensor::from_values<double>(std::vector<double>{3, 4, 0, -2}, {2, 2});
    const Tensor complex = Tensor::view(pairs.storage(), DType::complex128, {2}, {1}, 0);
    for (const Tensor& tensor : {words, complex}) served.recorder.values().add_leaf(tensor, 0);
    RawClient client = served.client();
    client.greet();
    Tile tile = client.ask<Tile>(tile_of(words, 5, 5));
    QCOMPARE(tile.dtype, std::string("string"));
    QCOMPARE(tile.exact.size(), std::size_t{4});
    QCOMPARE(tile.exact[2], std::string("b'd\\xc3\\xa9'"));
    QCOMPARE(tile.exact[3], "b'" + std::string(60, 'x') + "…'");
    QCOMPARE(tile.values, (std::vector<double>{4, 0, 3, 500}));  // bytes
    tile = client.ask<Tile>(tile_of(complex, 5, 5));
    QCOMPARE(tile.exact, (std::vector<std::string>{"3.0+4.0j", "0.0-2.0j"}));
    QCOMPARE(tile.values, (std::vector<double>{5, 2}));  // magnitudes
    QCOMPARE(client.ask<Statistics>(GetStatistics{words.id()}).count, std::uint64_t{4});
  }

  void tiles_show_rows_columns_slices_steps_and_reshapes() {
    Served served;
    Tensor cube = Tensor::allocate(DType::float64, {2, 3, 4});
    for (int i = 0; i < 24; ++i) cube.writable_data<double>()[i] = i;
    served.recorder.values().add_leaf(cube, 0);
    RawClient client = served.client();
    client.greet();
    Tile tile = client.ask<Tile>(tile_of(cube, 10, 10));
    QCOMPARE(tile.shape, (std::vector<std::int64_t>{2, 3, 4}));
    QVERIFY(tile.rows == 3 && tile.columns == 4 && tile.total_rows == 3 && tile.total_columns == 4);
    QCOMPARE(tile.values[5], 5.0);
    QCOMPARE(tile.source, std::string("held"));
    QCOMPARE(tile.dtype, std::string("float64"));
    GetTile request = tile_of(cube, 2, 2);
    request.slice = std::vector<std::int64_t>{-1, 2, -1};
    request.row = 1;
    request.column = 1;
    tile = client.ask<Tile>(request);
    QVERIFY(tile.rows == 1 && tile.columns == 2 && tile.total_rows == 2);
    QCOMPARE(tile.values, (std::vector<double>{21, 22}));
    request = tile_of(cube, 5, 5);
    request.reshape = std::vector<std::int64_t>{4, 6};
    request.row_step = 3;
    request.column_step = 4;
    tile = client.ask<Tile>(request);
    QVERIFY(tile.rows == 2 && tile.columns == 2);
    QCOMPARE(tile.values, (std::vector<double>{7.5, 10.5, 19.5, 22.5}));
    request = tile_of(cube, 1, 30);
    request.reshape = std::vector<std::int64_t>{24};
    tile = client.ask<Tile>(request);
    QVERIFY(tile.rows == 1 && tile.columns == 24 && tile.values[23] == 23);
    const Tensor transposed = Tensor::view(cube.storage(), DType::float64, {4, 6}, {1, 4}, 0);
    served.recorder.values().add_leaf(transposed, 0);
    request = tile_of(transposed, 1, 3);
    QCOMPARE(client.ask<Tile>(request).values, (std::vector<double>{0, 4, 8}));
    request.reshape = std::vector<std::int64_t>{24, 1};
    request.rows = 3;
    QCOMPARE(client.ask<Tile>(request).values, (std::vector<double>{0, 4, 8}));
  }

  void large_cells_show_extremes_where_that_is_asked_for() {
    Served served;
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    // Cells of 2 × 2: the sides of a cell with NaN, with infinities, with whole numbers of both signs.
    const double numbers[] = {1, -7, 3, 2,  nan, 5,    //
                              4, 6,  0, -9, 1,   inf,  //
                              8, 8,  2, 2,  -4,  4};
    const Tensor matrix = Tensor::from_values<double>(numbers, {3, 6});
    served.recorder.values().add_leaf(matrix, 0);
    RawClient client = served.client();
    client.greet();
    const auto cells = [&](CellValue cell) {
      GetTile request = tile_of(matrix, 3, 3);
      request.row_step = request.column_step = 2;
      request.cell = cell;
      return client.ask<Tile>(request).values;
    };
    const auto are = [](const std::vector<double>& found, const std::vector<double>& due) {
      return found.size() == due.size() &&
             std::equal(found.begin(), found.end(), due.begin(),
                        [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
    };
    QVERIFY(are(cells(CellValue::mean), {1, -1, nan, 8, 2, 0}));
    QVERIFY(are(cells(CellValue::extreme), {-7, -9, nan, 8, 2, 4}));
    QVERIFY(are(cells(CellValue::minimum), {-7, -9, nan, 8, 2, -4}));
    QVERIFY(are(cells(CellValue::maximum), {6, 3, nan, 8, 2, 4}));
  }

  void one_element_of_many_is_found_with_all_that_are_alike() {
    Served served;
    constexpr double inf = std::numeric_limits<double>::infinity();
    const Shape shape{70, 3, 1000};  // several blocks of work
    std::vector<double> numbers(210'000, 0.5);
    for (const std::size_t at : {70'000u, 131'072u, 209'999u}) numbers[at] = std::nan("");
    numbers[5] = inf;
    numbers[123'456] = -2;
    numbers[4] = numbers[65'536] = 9;
    const Tensor tensor = Tensor::from_values<double>(numbers, shape);
    served.recorder.values().add_leaf(tensor, 0);
    RawClient client = served.client();
    client.greet();
    const auto find = [&](Sought sought, std::optional<std::int64_t> after = {}) {
      return client.ask<FoundElement>(FindElement{tensor.id(), sought, after, {}, false});
    };
    FoundElement found = find(Sought::nan);
    QCOMPARE(found.place, std::optional<std::int64_t>(70'000));
    QCOMPARE(found.index, (std::vector<std::int64_t>{23, 1, 0}));
    QVERIFY(std::isnan(found.value) && found.alike == 3 && found.rank == 1 && found.source == "held");
    found = find(Sought::nan, 131'072);
    QVERIFY(found.place == 209'999 && found.rank == 3);
    found = find(Sought::nan, 209'999);
    QVERIFY(found.place == 70'000 && found.rank == 1);  // from the beginning again
    found = find(Sought::infinity);
    QVERIFY(found.place == 5 && found.value == inf && found.alike == 1);
    found = find(Sought::maximum);
    QVERIFY(found.place == 4 && found.value == 9 && found.alike == 2);
    found = find(Sought::maximum, 4);
    QVERIFY(found.place == 65'536 && found.rank == 2);
    found = find(Sought::minimum);
    QVERIFY(found.place == 123'456 && found.value == -2 && found.alike == 1);
  }

  void where_nothing_is_found_the_answer_says_so() {
    Served served;
    const Tensor whole = vector_of({3, 1, 2}, DType::int32), lost = vector_of({std::nan(""), std::nan("")}),
                 empty = Tensor::allocate(DType::float32, {0, 3}), one = scalar(5),
                 words = string_tensor({3}, std::vector<std::string>{"a", "", "long"});
    for (const Tensor& tensor : {whole, lost, empty, one, words})
      served.recorder.values().add_leaf(tensor, 0);
    RawClient client = served.client();
    client.greet();
    const auto find = [&](const Tensor& tensor, Sought sought) {
      return client.ask<FoundElement>(FindElement{tensor.id(), sought, {}, {}, false});
    };
    for (const Sought sought : {Sought::nan, Sought::infinity}) {
      QVERIFY(!find(whole, sought).place && find(whole, sought).alike == 0);
      QVERIFY(!find(empty, sought).place);
    }
    QVERIFY(!find(lost, Sought::maximum).place && !find(empty, Sought::minimum).place);
    QVERIFY(find(whole, Sought::minimum).index == std::vector<std::int64_t>{1});
    const FoundElement scalar_found = find(one, Sought::maximum);
    QVERIFY(scalar_found.place == 0 && scalar_found.index.empty() && scalar_found.value == 5);
    const FoundElement longest = find(words, Sought::maximum);
    QVERIFY(longest.place == 2 && longest.value == 4);  // bytes
    const Failure wrong = client.ask<Failure>(FindElement{whole.id(), Sought::nan, -1, {}, false});
    QCOMPARE(wrong.code, std::string("bad_request"));
    QCOMPARE(wrong.reason, std::string("find_element: the place -1 must not be negative"));
  }

  void tiles_of_scalars_empty_tensors_nan_and_long_integers() {
    Served served;
    constexpr double inf = std::numeric_limits<double>::infinity();
    const Tensor odd = vector_of({std::nan(""), inf, -inf, 1});
    const Tensor empty = Tensor::allocate(DType::float32, {0, 3}), one = scalar(5);
    const std::int64_t numbers[] = {(std::int64_t{1} << 53) + 1, -3};
    const Tensor longs = Tensor::from_values<std::int64_t>(numbers, {2});
    const Tensor truths = vector_of({1, 0}, DType::bool_);
    for (const Tensor& tensor : {odd, empty, one, longs, truths})
      served.recorder.values().add_leaf(tensor, 0);
    RawClient client = served.client();
    client.greet();
    const Tile tile = client.ask<Tile>(tile_of(odd, 1, 10));
    QVERIFY(std::isnan(tile.values.at(0)) && tile.values[1] == inf && tile.values[2] == -inf);
    const Tile none = client.ask<Tile>(tile_of(empty, 10, 10));
    QVERIFY(none.values.empty() && none.rows == 0 && none.total_columns == 3);
    QCOMPARE(client.ask<Tile>(tile_of(one, 1, 1)).values, std::vector<double>{5});
    QCOMPARE(client.ask<Tile>(tile_of(longs, 1, 2)).exact,
             (std::vector<std::string>{"9007199254740993", "-3"}));
    QCOMPARE(client.ask<Tile>(tile_of(truths, 1, 2)).values, (std::vector<double>{1, 0}));
    const Statistics statistics = client.ask<Statistics>(GetStatistics{odd.id(), 4});
    QVERIFY(statistics.count == 4 && statistics.finite == 1 && statistics.nan == 1 && statistics.mean == 1);
    const Statistics nothing = client.ask<Statistics>(GetStatistics{empty.id(), 4});
    QVERIFY(!nothing.minimum && !nothing.maximum && !nothing.mean && !nothing.deviation);
  }

  void tiles_that_make_no_sense_are_refused_with_the_values() {
    Served served;
    const Tensor matrix = Tensor::allocate(DType::float64, {2, 3});
    served.recorder.values().add_leaf(matrix, 0);
    RawClient client = served.client();
    client.greet();
    const auto refusal = [&](auto&& change) {
      GetTile request = tile_of(matrix, 1, 1);
      change(request);
      const Failure failure = client.ask<Failure>(request);
      return failure.code + ": " + failure.reason;
    };
    QCOMPARE(refusal([](GetTile& r) {
               r.reshape = std::vector<std::int64_t>{4, 2};
             }),
             std::string("bad_request: get_tile: reshape (4, 2) has 8 elements, the tensor (2, 3) has 6"));
    QCOMPARE(refusal([](GetTile& r) {
               r.reshape = std::vector<std::int64_t>{-2, -3};
             }),
             std::string("bad_request: get_tile: reshape (-2, -3) is no shape"));
    QCOMPARE(refusal([](GetTile& r) {
               r.slice = std::vector<std::int64_t>{0, 3};
             }),
             std::string("bad_request: get_tile: slice: index 3 of axis 1 is outside of the shape (2, 3)"));
    QCOMPARE(refusal([](GetTile& r) { r.slice = std::vector<std::int64_t>{0}; }),
             std::string("bad_request: get_tile: slice has 1 entries, the shape (2, 3) has 2"));
    QCOMPARE(refusal([](GetTile& r) { r.row_step = 0; }),
             std::string("bad_request: get_tile: row_step is 0, it must be at least 1"));
    QCOMPARE(refusal([](GetTile& r) { r.row = -1; }),
             std::string("bad_request: get_tile: row -1 and number 1 must not be negative"));
    QCOMPARE(refusal([](GetTile& r) {
               r.reshape = std::vector<std::int64_t>{1, 2, 3};
               r.slice = std::vector<std::int64_t>{-1, -1, -1};
             }),
             std::string("bad_request: get_tile: slice: 3 axes are shown, the most is 2"));
    QCOMPARE(refusal([](GetTile& r) { r.tensor = 99999999; }),
             std::string("no_such_tensor: No record mentions a tensor 99999999."));
    QCOMPARE(client.ask<Failure>(GetStatistics{matrix.id(), 100000}).code, std::string("bad_request"));
  }

  void a_dropped_leaf_leaves_its_statistics() {
    RecorderOptions options;
    options.keeping.budget_bytes = 10'000;
    Served served(options);
    const Tensor first = ramp(1000);
    served.recorder.values().add_leaf(first, 0);
    served.recorder.values().add_leaf(ramp(1000), 0);
    RawClient client = served.client();
    client.greet();
    const Statistics statistics = client.ask<Statistics>(GetStatistics{first.id(), 64});
    QCOMPARE(statistics.source, std::string("kept statistics"));
    QCOMPARE(statistics.mean, 500.0);
    const Failure failure = client.ask<Failure>(tile_of(first, 1, 1));
    QCOMPARE(failure.code, std::string("gone"));
    QVERIFY(failure.reason.find("float64 (1000,)") != std::string::npos);
    QCOMPARE(client.ask<Status>(GetStatus{}).leaves_dropped, 1u);
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
