// Event files: the bytes of messages, the writer's thread, and what happens when several use it.
#include <QTemporaryDir>
#include <QtTest>
#include <array>
#include <cmath>
#include <filesystem>
#include <thread>

#include "engine/data/data_error.h"
#include "engine/data/event_file.h"
#include "engine/data/event_message.h"
#include "engine/data/record_file.h"
#include "tests/data/mutation.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::data;

namespace {

std::vector<std::string> records_of(const std::string& path) {
  RecordReader reader(path);
  std::vector<std::string> records;
  for (std::string record; reader.read(record);) records.push_back(record);
  return records;
}

std::string hex(const std::string& bytes) {
  return QByteArray(bytes.data(), static_cast<qsizetype>(bytes.size())).toHex(' ').toStdString();
}

EventFileOptions waiting(std::size_t most) {
  EventFileOptions options;
  options.most_waiting = most;
  return options;
}

}  // namespace

class TestEventFile : public QObject {
  Q_OBJECT
  QTemporaryDir folder_;
  std::string folder(const char* name) const { return folder_.filePath(name).toStdString(); }

 private slots:
  void messages_are_encoded_as_the_specification_says() {
    // protobuf.dev/programming-guides/encoding: 150 is 96 01, "testing" is 07 and its letters.
    QCOMPARE(hex(WireWriter().integer(1, 150).text()), std::string("08 96 01"));
    QCOMPARE(hex(WireWriter().bytes(2, "testing").text()), std::string("12 07 74 65 73 74 69 6e 67"));
    QCOMPARE(hex(WireWriter().integer(3, -2).text()), std::string("18 fe ff ff ff ff ff ff ff ff 01"));
    QCOMPARE(hex(WireWriter().real32(2, 1.5F).text()), std::string("15 00 00 c0 3f"));
    QCOMPARE(hex(WireWriter().real(16, 1.0).text()), std::string("81 01 00 00 00 00 00 00 f0 3f"));
    const double two[] = {1.0, 0.0};
    QCOMPARE(hex(WireWriter().packed(6, two).text()),
             std::string("32 10 00 00 00 00 00 00 f0 3f 00 00 00 00 00 00 00 00"));
    QCOMPARE(hex(scalar_value("a", 1.5F)), std::string("0a 01 61 15 00 00 c0 3f"));
    const std::string values[] = {scalar_value("a", 1.5F)};
    QCOMPARE(hex(summary_event(1.0, 3, values)),
             std::string("09 00 00 00 00 00 00 f0 3f 10 03 2a 0a 0a 08 0a 01 61 15 00 00 c0 3f"));
  }

  void histograms_count_each_value_once_below_the_limit_of_its_bucket() {
    const Tensor values =
        Tensor::from_values<double>(std::vector{-2.0, 0.0, 1e-13, 1.0, 1.0, 3e22}, Shape{6});
    const Histogram histogram = histogram_of(values);
    QCOMPARE(histogram.minimum, -2.0);
    QCOMPARE(histogram.maximum, 3e22);
    QCOMPARE(histogram.number, 6.0);
    QCOMPARE(histogram.sum_of_squares, 4.0 + 1.0 + 1.0 + 9e44 + 1e-26);
    QCOMPARE(histogram.limits.size(), histogram.counts.size());
    double total = 0;
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
      total += histogram.counts[i];
      if (i) QVERIFY(histogram.limits[i] > histogram.limits[i - 1]);
      if (i) QVERIFY(histogram.counts[i] > 0 || histogram.counts[i - 1] > 0);
    }
    QCOMPARE(total, 6.0);
    EXPECT_ERROR(InvalidArgumentError,
                 histogram_of(Tensor::from_values<double>(std::vector{1.0, std::nan("")}, Shape{2})),
                 "histogram: element 1 is nan; needs finite numbers");
  }

  void what_is_flushed_is_in_the_file_and_what_is_not_comes_with_the_end() {
    std::string path;
    {
      EventFile file(folder("flushed"), waiting(100));
      path = file.path();
      QCOMPARE(records_of(path).size(), std::size_t{1});  // the version
      file.add("one");
      file.flush();
      QCOMPARE(records_of(path), (std::vector<std::string>{records_of(path)[0], "one"}));
      file.add("two");
    }
    QCOMPARE(records_of(path).size(), std::size_t{3});
    QCOMPARE(records_of(path)[2], std::string("two"));
  }

  void more_than_may_wait_is_handed_over_by_who_adds_it() {
    EventFile file(folder("handed"), waiting(2));
    for (int i = 0; i < 3; ++i) file.add("event");
    QCOMPARE(records_of(file.path()).size(), std::size_t{4});
    EventFile at_once(folder("handed"), waiting(0));
    for (std::size_t i = 0; i < 3; ++i) {
      at_once.add("event");
      QCOMPARE(records_of(at_once.path()).size(), i + 2);
    }
  }

  void a_closed_file_takes_nothing() {
    EventFile file(folder("closed"), waiting(2));
    file.add("event");
    file.close();
    file.close();
    file.flush();
    QVERIFY(file.closed());
    QCOMPARE(records_of(file.path()).size(), std::size_t{2});
    EXPECT_ERROR(FailedPreconditionError, file.add("more"), "is closed");
  }

  void threads_that_add_and_flush_at_once_lose_nothing_and_keep_their_order() {
    EventFile file(folder("threads"), waiting(5));
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&file, thread] {
        for (int i = 0; i < 500; ++i) {
          file.add(std::to_string(thread) + " " + std::to_string(i));
          if (i % 50 == thread) file.flush();
        }
      });
    for (std::thread& thread : threads) thread.join();
    file.close();
    std::array<int, 4> next{};
    const auto records = records_of(file.path());
    for (std::size_t i = 1; i < records.size(); ++i) {
      const auto thread = static_cast<std::size_t>(records[i][0] - '0');
      QCOMPARE(records[i].substr(2), std::to_string(next[thread]++));
    }
    for (const int count : next) QCOMPARE(count, 500);
  }

  void folders_are_made_where_they_may_be() {
    EventFileOptions alone;
    alone.make_parents = false;
    EXPECT_ERROR(NotFoundError, EventFile(folder("no/parent"), alone), "create_file_writer: ");
    QVERIFY(!std::filesystem::exists(folder("no")));
    EventFile(folder("no/parent"));
    QVERIFY(std::filesystem::is_directory(folder("no/parent")));
  }

  void a_damaged_file_is_refused_or_ends_earlier() {
    EventFile file(folder("damaged"), waiting(5));
    for (int i = 0; i < 20; ++i) {
      const std::string values[] = {scalar_value("loss", static_cast<float>(i))};
      file.add(summary_event(i, i, values));
    }
    file.close();
    const std::string whole = read_whole_file(file.path());
    const auto records = records_of(file.path());
    std::mt19937 random(3);
    const std::string copy = folder("damaged/copy");
    for (int i = 0; i < 400; ++i) {
      ByteWriter writer(copy, Compression::none);
      writer.write(mutated(whole, random));
      writer.close();
      RecordReader reader(copy);
      std::size_t read = 0;
      try {
        for (std::string record; reader.read(record); ++read)
          QVERIFY(std::find(records.begin(), records.end(), record) != records.end());
      } catch (const DataLossError& error) {
        QVERIFY(std::string(error.what()).find("record " + std::to_string(read)) != std::string::npos);
      }
    }
  }
};

TAPEDECK_TEST(TestEventFile)
#include "tst_event_file.moc"
