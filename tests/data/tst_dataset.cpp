// Data sets without Python: batches of rows, threads that are stopped, saved and restored at any moment.
#include <QtTest>
#include <atomic>
#include <thread>

#include "engine/data/dataset.h"
#include "engine/data/stages.h"
#include "engine/data/state.h"
#include "engine/data/threads.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::data;

namespace {

std::int64_t value_of(const Element& element) {
  return element.at(0).tensor.data<std::int64_t>()[0];
}

Tensor scalar(std::int64_t value) {
  return Tensor::from_values<std::int64_t>({&value, 1}, {});
}

/// x → x · 10; throws for the element that is `bad`.
class TimesTen final : public Function {
 public:
  explicit TimesTen(std::int64_t bad = -1) : bad_(bad) {}
  void call(const Element& arguments, Element& results) const override {
    const std::int64_t x = value_of(arguments);
    if (x == bad_) fail<InvalidArgumentError>("no element ", x);
    results.emplace_back(scalar(x * 10));
  }

 private:
  std::int64_t bad_;
};

class Even final : public Function {
 public:
  void call(const Element& arguments, Element& results) const override {
    results.emplace_back(scalar(value_of(arguments) % 2 == 0));
  }
};

/// Never true; says that it was asked.
class Never final : public Function {
 public:
  void call(const Element&, Element& results) const override {
    asked.store(true);
    results.emplace_back(scalar(0));
  }
  mutable std::atomic<bool> asked{false};
};

/// x → the data set x, x + 1, x + 2, made ahead.
class Three final : public Function {
 public:
  void call(const Element& arguments, Element& results) const override {
    const std::int64_t x = value_of(arguments);
    results.emplace_back(prefetch(range(x, x + 3, 1), 2));
  }
};

std::vector<std::int64_t> rest_of(Iterator& iterator) {
  std::vector<std::int64_t> values;
  for (Element element; iterator.next(element);) values.push_back(value_of(element));
  return values;
}

DatasetPointer threaded(std::int64_t count) {
  auto dataset = shuffle(range(0, count, 1), 16, 3, true);
  dataset = prefetch(parallel_map(std::move(dataset), std::make_shared<TimesTen>(), 3), 4);
  return prefetch(interleave(filter(std::move(dataset), std::make_shared<Even>()), std::make_shared<Three>(),
                             3, 2, true, "interleave"),
                  3);
}

/// Rows 0 … count − 1, each of `width` equal values, and their numbers.
Tensors table(std::int64_t count, std::int64_t width) {
  std::vector<float> values;
  std::vector<std::int64_t> numbers;
  for (std::int64_t row = 0; row < count; ++row) {
    values.insert(values.end(), static_cast<std::size_t>(width), static_cast<float>(row));
    numbers.push_back(row);
  }
  return {Tensor::from_values<float>(values, {count, width}),
          Tensor::from_values<std::int64_t>(numbers, {count})};
}

class Same final : public Function {
 public:
  void call(const Element& arguments, Element& results) const override { results = arguments; }
};

}  // namespace

class TestDataset : public QObject {
  Q_OBJECT

 private slots:
  void gathered_batches_are_those_of_stacked_elements() {
    for (const std::int64_t count : {1, 7, 700}) {
      const DatasetPointer rows =
          repeat(shuffle(skip(take(from_slices(table(count, 5)), count), count / 7), 50, 1, false), 2);
      const auto gathered = iterate(*batch(rows, 6, false)),
                 stacked = iterate(*batch(map(rows, std::make_shared<Same>()), 6, false));
      Element a, b;
      while (gathered->next(a)) {
        QVERIFY(stacked->next(b));
        for (std::size_t i = 0; i < 2; ++i) {
          QVERIFY(a[i].tensor.shape() == b[i].tensor.shape());
          QVERIFY(std::memcmp(a[i].tensor.raw(), b[i].tensor.raw(), a[i].tensor.bytes()) == 0);
        }
      }
      QVERIFY(!stacked->next(b) && !gathered->next(a));
    }
  }

  void a_batch_larger_than_the_data_takes_the_room_of_what_is_there() {
    const auto iterator =
        iterate(*batch(map(range(0, 3, 1), std::make_shared<TimesTen>()), std::int64_t{1} << 40, false));
    Element element;
    QVERIFY(iterator->next(element));
    QVERIFY(element[0].tensor.shape() == Shape({3}));
    const auto filtered =
        iterate(*batch(filter(range(0, 3, 1), std::make_shared<Even>()), std::int64_t{1} << 40, false));
    QVERIFY(filtered->next(element));
    QVERIFY(element[0].tensor.shape() == Shape({2}));
  }

  void threads_give_the_same_elements_as_none() {
    const DatasetPointer one = threaded(60), other = threaded(60);
    QVERIFY(rest_of(*iterate(*one)) == rest_of(*iterate(*other, false)));
  }

  void saved_at_any_moment_it_goes_on_alike() {
    for (int place = 0; place < 60; ++place) {
      const DatasetPointer dataset = threaded(60);
      const auto first = iterate(*dataset);
      Element element;
      for (int i = 0; i < place; ++i) QVERIFY(first->next(element));
      State state;
      StateWriter writer(state);
      first->save(writer);
      const DatasetPointer equal = threaded(60);
      const auto second = iterate(*equal, place % 2 == 0);
      if (place % 3 == 0) QVERIFY(second->next(element));
      StateReader reader(state);
      second->restore(reader);
      reader.end();
      QVERIFY(rest_of(*first) == rest_of(*second));
    }
  }

  void an_iterator_is_dropped_at_any_moment() {
    for (int place = 0; place < 60; ++place) {
      const auto iterator = iterate(*threaded(1000000));
      Element element;
      for (int i = 0; i < place; ++i) QVERIFY(iterator->next(element));
    }
  }

  void an_error_names_stage_and_element_and_the_next_ones_come() {
    for (const int threads : {0, 3}) {
      const auto function = std::make_shared<TimesTen>(2);
      const DatasetPointer mapped =
          threads ? parallel_map(range(0, 5, 1), function, threads) : map(range(0, 5, 1), function);
      const auto iterator = iterate(*prefetch(mapped, 2));
      Element element;
      QVERIFY(iterator->next(element) && iterator->next(element));
      EXPECT_ERROR(StageFailure, iterator->next(element), "map (stage 2 of 3), element 2: no element 2");
      QVERIFY((rest_of(*iterator) == std::vector<std::int64_t>{30, 40}));
    }
  }

  // The last: no data set has threads after it.
  void a_search_that_finds_nothing_ends_with_the_program() {
    const auto never = std::make_shared<Never>();
    const DatasetPointer dataset = prefetch(prefetch(filter(range(0, INT64_MAX, 1), never), 1), 1);
    auto iterator = iterate(*dataset);
    std::thread asking([&] {
      Element element;
      try {
        iterator->next(element);
      } catch (const Error&) {
      }
    });
    while (!never->asked) std::this_thread::yield();
    stop_all_threads();
    asking.join();
    iterator.reset();
    Element element;
    EXPECT_ERROR(FailedPreconditionError, iterate(*prefetch(range(0, 3, 1), 1))->next(element),
                 "the program ends");
  }
};

TAPEDECK_TEST(TestDataset)
#include "tst_dataset.moc"
