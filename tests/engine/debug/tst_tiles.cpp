// What the debug server answers of a tensor's values: tiles, the element that is looked for, statistics.
#include <QtTest>
#include <cmath>
#include <limits>

#include "engine/tensor/strings.h"
#include "tests/engine/debug/served.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace test_ops;
using namespace tapedeck::protocol;

class TestTiles : public QObject {
  Q_OBJECT
 private slots:
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
             std::string("bad_request: get_tile: reshape (-2, -3) is not a shape"));
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
};

TAPEDECK_TEST(TestTiles)
#include "tst_tiles.moc"
