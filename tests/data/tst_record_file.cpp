// Record files: framing, checksums, compression, and thousands of damaged ones.
#include <QTemporaryDir>
#include <QtTest>
#include <fstream>

#include "engine/data/crc32c.h"
#include "engine/data/data_error.h"
#include "engine/data/record_file.h"
#include "tests/campaign.h"
#include "tests/data/mutation.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::data;

namespace {

std::vector<std::string> some_records() {
  std::mt19937 random(5);
  std::vector<std::string> records = {"", "a", std::string(300000, 'x')};
  for (std::size_t length = 2; length < 2000; length = length * 3 + 1) {
    std::string record(length, '\0');
    for (char& byte : record) byte = static_cast<char>(random());
    records.push_back(record);
  }
  return records;
}

void write_records(const std::string& path, const std::vector<std::string>& records,
                   Compression compression) {
  RecordWriter writer(path, compression);
  for (const std::string& record : records) writer.write(record);
  writer.close();
}

std::vector<std::string> read_records(const std::string& path, Compression compression,
                                      std::size_t buffer = 4096) {
  RecordReader reader(path, compression, buffer);
  std::vector<std::string> records;
  for (std::string record; reader.read(record);) records.push_back(record);
  return records;
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

constexpr Compression all[] = {Compression::none, Compression::gzip, Compression::zlib};

}  // namespace

class TestRecordFile : public QObject {
  Q_OBJECT
  QTemporaryDir folder_;
  std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }

 private slots:
  void the_checksum_is_the_one_of_the_standards_examples() {
    // RFC 3720, appendix B.4.
    QCOMPARE(crc32c(std::string(32, '\0')), 0x8A9136AAU);
    QCOMPARE(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
    QCOMPARE(crc32c("123456789"), 0xE3069283U);
  }

  void instruction_and_table_give_the_same_checksum_at_any_length_and_place() {
    std::mt19937 random(1);
    std::string bytes(300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    for (std::size_t length = 0; length < 200; ++length) {
      const std::string_view part = std::string_view(bytes).substr(length % 9, length);
      QCOMPARE(crc32c(part), crc32c_by_table(part));
      QCOMPARE(crc32c(part.substr(length / 3), crc32c(part.substr(0, length / 3))), crc32c(part));
    }
  }

  void a_record_has_the_framing_that_other_programs_read() {
    write_records(path("one"), {"abc"}, Compression::none);
    const std::string bytes = read_whole_file(path("one"));
    // Made with another implementation of the format.
    QCOMPARE(QByteArray(bytes.data(), static_cast<int>(bytes.size())).toHex(),
             QByteArray("0300000000000000b099490e6162636e57f121"));
  }

  void what_is_written_is_read_for_every_compression_and_buffer() {
    const auto records = some_records();
    for (const Compression compression : all) {
      write_records(path("many"), records, compression);
      for (const std::size_t buffer : {1, 7, 4096, 1 << 20})
        QVERIFY(read_records(path("many"), compression, buffer) == records);
    }
  }

  void skipped_records_leave_the_same_rest() {
    const auto records = some_records();
    for (const Compression compression : all) {
      write_records(path("skipped"), records, compression);
      for (std::size_t skipped = 0; skipped <= records.size(); ++skipped) {
        RecordReader reader(path("skipped"), compression, 512);
        for (std::size_t i = 0; i < skipped; ++i) QVERIFY(reader.skip());
        std::string record;
        for (std::size_t i = skipped; i < records.size(); ++i) {
          QVERIFY(reader.read(record));
          QVERIFY(record == records[i]);
        }
        QVERIFY(!reader.read(record) && !reader.skip());
        QCOMPARE(reader.records_read(), std::uint64_t{records.size()});
      }
    }
  }

  void a_flushed_record_is_there_for_another_reader_before_the_file_is_closed() {
    RecordWriter writer(path("flushed"));
    writer.write("first");
    writer.flush();
    QVERIFY(read_records(path("flushed"), Compression::none) == std::vector<std::string>{"first"});
    writer.close();
    EXPECT_ERROR(FailedPreconditionError, writer.write("late"), "already closed");
    RecordWriter more(path("flushed"), Compression::none, true);
    more.write("second");
    more.close();
    QVERIFY(
        (read_records(path("flushed"), Compression::none) == std::vector<std::string>{"first", "second"}));
  }

  void errors_name_path_record_offset_and_what_is_wrong() {
    write_records(path("bad"), {"abc", "defgh"}, Compression::none);
    const std::string good = read_whole_file(path("bad"));
    const auto refused = [&](const std::string& bytes, const std::string& words) {
      write_file(path("bad"), bytes);
      EXPECT_ERROR(DataLossError, read_records(path("bad"), Compression::none), path("bad") + ": " + words);
    };
    std::string changed = good;
    changed[12] = 'x';
    refused(changed, "record 0 at byte 0: the checksum of its bytes does not match");
    changed = good;
    changed[19 + 8] = static_cast<char>(changed[19 + 8] + 1);
    refused(changed, "record 1 at byte 19: the checksum of its length does not match");
    refused(good.substr(0, 25), "record 1 at byte 19: the file ends within its header, after 6 of 12 bytes");
    refused(good.substr(0, 33), "record 1 at byte 19: its length 5 extends beyond the end of the file");
    char header[12];
    const std::uint64_t length = std::uint64_t{1} << 60;
    std::memcpy(header, &length, 8);
    const std::uint32_t crc = masked_crc32c({header, 8});
    std::memcpy(header + 8, &crc, 4);
    refused(std::string(header, 12),
            "record 0 at byte 0: its length 1152921504606846976 extends beyond the end of the file");
    EXPECT_ERROR(NotFoundError, RecordReader("/nowhere/at all"), "/nowhere/at all: there is no such file");
    EXPECT_ERROR(FailedPreconditionError, RecordReader("/"), "it is a folder");
  }

  void thousands_of_damaged_files_are_refused_or_read_in_part() {
    const Campaign files{"record_file_damage", "damaged files of each compression", 500, 1'500,
                         "further random damage of the same kinds"};
    auto random = files.random();
    const std::vector<std::string> records = {"abc", "", std::string(100, 'q'), "some more bytes"};
    for (const Compression compression : all) {
      write_records(path("good"), records, compression);
      const std::string good = read_whole_file(path("good"));
      for (std::uint64_t round = 0; round < files.count(); ++round) {
        write_file(path("damaged"), mutated(good, random));
        try {
          for (const std::string& record : read_records(path("damaged"), compression))
            QVERIFY(std::find(records.begin(), records.end(), record) != records.end());
        } catch (const DataLossError&) {
        }
      }
    }
  }

  void lines_are_the_parts_between_newlines() {
    const std::string text = "one\n\nthree\r\n" + std::string(5000, 'x') + "\nlast";
    for (const std::size_t buffer : {1, 3, 100000}) {
      write_file(path("text"), text);
      ByteReader reader(path("text"), Compression::none, buffer);
      std::vector<std::string> lines;
      for (std::string line; reader.read_line(line);) lines.push_back(line);
      QVERIFY((lines == std::vector<std::string>{"one", "", "three\r", std::string(5000, 'x'), "last"}));
      QCOMPARE(reader.position(), std::uint64_t{text.size()});
    }
  }
};

TAPEDECK_TEST(TestRecordFile)
#include "tst_record_file.moc"
