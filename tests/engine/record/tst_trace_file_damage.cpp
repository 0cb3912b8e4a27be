// Damaged trace files: each gives an error or the right thing, never a crash. Bytes are changed, cut off,
// moved; half of the time inside of pages whose checksums are then made right again, so that what is read is
// what has to be checked.
#include <QtTest>
#include <fstream>
#include <random>

#include "tests/campaign.h"
#include "tests/engine/record/recording.h"
#include "tests/engine/record/trace_pages.h"
#include "tests/engine/record/traced_program.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace traced;
using trace_file::TraceFileError;

namespace {

/// Some bytes become others, are doubled, or go.
void change_bytes(std::vector<std::uint8_t>& bytes, Generator& random) {
  for (std::size_t times = pick(random, 3) + 1; times > 0 && !bytes.empty(); --times) {
    const std::size_t at = pick(random, bytes.size() - 1);
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    constexpr std::uint8_t extremes[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    switch (pick(random, 5)) {
      case 0:
        *place = static_cast<std::uint8_t>(pick(random, 255));
        break;
      case 1:
        *place ^= static_cast<std::uint8_t>(1u << pick(random, 7));
        break;
      case 2:
        *place = extremes[pick(random, 5)];
        break;
      case 3:
        bytes.insert(place, pick(random, 9) + 1, extremes[pick(random, 5)]);
        break;
      case 4:
        bytes.erase(place,
                    place + static_cast<std::ptrdiff_t>(std::min(bytes.size() - at, pick(random, 8) + 1)));
        break;
      default:
        ++*place;
    }
  }
}

struct Original {
  QTemporaryDir folder;
  std::string whole = folder.filePath("whole.tapetrace").toStdString();
  std::string damaged = folder.filePath("damaged.tapetrace").toStdString();
  std::vector<std::uint8_t> bytes;
  std::string problem;
  std::vector<std::string> records;
  std::map<std::uint64_t, Tensor> values;
  std::vector<TracePage> pages;

  Original() {
    Recording session;
    train(session.recorder, 8);
    every_dtype(session.recorder);
    failures();
    views(session.recorder);
    decompose();
    session.recorder.set_recording(false);
    trace_file::save(session.recorder, request_for(whole));
    std::ifstream file(whole, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    const auto opened = trace_file::open(whole);
    for (std::uint32_t number = 1; number <= session.count(); ++number) {
      records.push_back(text_of(*opened, number, false));
      RecordView view;
      opened->trace().read(number, view);
      for (const std::uint64_t id : view.outputs) try {
          if (id) values[id] = find_value(*opened, id).value;
        } catch (const ValueError&) {
        }
    }
    problem = opened->file()->problem();
    pages = pages_of(whole);
  }

  /// Ops with several results, and their gradients.
  static void decompose() {
    const Tensor matrix = ops::random_normal({4, 4}, 0, 1, DType::float64, 11);
    Tape tape;
    tape.start();
    tape.watch(matrix);
    const Tensors parts = ops::split(matrix, {2});
    const Tensor sum =
        ops::reduce_sum(ops::matmul(ops::concat(std::span(parts.data(), parts.size()), 0), matrix));
    tape.stop();
    gradient(tape, sum, matrix);
    Tape again;
    again.start();
    again.watch(matrix);
    const Tensors factors =
        run_op(*Registry::instance().find("qr"), std::span(&matrix, 1), Attributes{false});
    const Tensor trace = ops::reduce_sum(ops::multiply(factors[0], factors[1]));
    again.stop();
    gradient(again, trace, matrix);
  }
};

}  // namespace

class TraceFileDamageTest : public QObject {
  Q_OBJECT

  void write(const std::vector<std::uint8_t>& bytes, const std::string& path) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

 private slots:
  /// What is read is right, or is said to be damaged.
  void changed_or_cut_off_it_gives_an_error_or_what_was_saved() {
    Original original;
    QVERIFY2(original.problem.empty(), original.problem.c_str());
    const Campaign files{"trace_file_damage", "damaged files", 250, 5'000,
                         "further random damage of the same kinds"};
    auto random = files.random<Generator>();
    std::size_t opened = 0, damaged = 0, values = 0;
    for (std::uint64_t call = 0; call < files.count(); ++call) {
      std::vector<std::uint8_t> bytes = original.bytes;
      if (pick(random, 3) == 0) {
        bytes.resize(pick(random, bytes.size() - 1));
      } else {
        for (std::size_t times = pick(random, 20) + 1; times > 0; --times)
          bytes[pick(random, bytes.size() - 1)] = static_cast<std::uint8_t>(pick(random, 255));
        if (pick(random, 3) == 0) {
          const std::size_t from = pick(random, bytes.size() - 1), to = pick(random, bytes.size() - 1);
          std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                      std::min({bytes.size() - from, bytes.size() - to, std::size_t{4096}}),
                      bytes.begin() + static_cast<std::ptrdiff_t>(to));
        }
      }
      write(bytes, original.damaged);
      std::unique_ptr<Recorder> file;
      try {
        file = trace_file::open(original.damaged);
      } catch (const TraceFileError& error) {
        QVERIFY(std::string(error.what())
                    .starts_with("The trace file " + original.damaged + " cannot be opened: "));
        continue;
      }
      ++opened;
      QCOMPARE(file->trace().newest(), original.records.size());
      for (std::uint32_t number = 1; number <= original.records.size(); ++number) {
        const std::string text = text_of(*file, number, false);
        const bool told = text.find("is damaged: ") != std::string::npos || !file->file()->problem().empty();
        damaged += told;
        if (told) continue;
        const std::string& expected = original.records[number - 1];
        QVERIFY2(text == expected, (expected + "\nbut the file has\n" + text).c_str());
      }
      for (int i = 0; i < 5; ++i) {
        auto value = original.values.begin();
        std::advance(value, static_cast<std::ptrdiff_t>(pick(random, original.values.size() - 1)));
        try {
          QVERIFY(same_bits(find_value(*file, value->first).value, value->second));
          ++values;
        } catch (const ValueError&) {
          QVERIFY(!file->file()->problem().empty());
        }
      }
    }
    QVERIFY(opened > files.count() / 25 && damaged > 0 && values > opened);
  }

  /// Whatever a page says, it is an error or something that could be.
  void with_right_checksums_it_gives_no_crash() {
    Original original;
    QVERIFY2(original.problem.empty(), original.problem.c_str());
    const Campaign files{"trace_file_pages", "files with changed pages and right checksums", 250, 5'000,
                         "further random changes of the same kinds"};
    auto random = files.random<Generator>();
    std::size_t opened = 0, replayed = 0;
    for (std::uint64_t call = 0; call < files.count(); ++call) {
      write(original.bytes, original.damaged);
      {
        auto database = trace_file::Database::create(original.damaged);
        for (std::size_t times = pick(random, 2) + 1; times > 0; --times) {
          TracePage page = original.pages[pick(random, original.pages.size() - 1)];
          change_bytes(page.data, random);
          write_page(database, page);
        }
        if (pick(random, 19) == 0) {
          constexpr const char* facts[] = {"newest_record", "oldest_record", "newest_tensor", "oldest_tensor",
                                           "records_ended"};
          auto change = database.prepare("UPDATE about SET value = max(0, value + ?) WHERE name = ?");
          change.bind(0, static_cast<std::int64_t>(pick(random, 40)) - 20);
          change.bind(1, std::string_view(facts[pick(random, 4)])).run();
        }
        make_sums_right(database);
      }
      try {
        const auto file = trace_file::open(original.damaged);
        ++opened;
        for (std::uint32_t number = 1; number <= file->trace().newest(); ++number) text_of(*file, number);
        Look look(*file, random);
        for (int i = 0; i < 4; ++i) try {
            find_value(*file, look.any_tensor(), ReplayLimits{std::uint64_t{64} << 20});
            ++replayed;
          } catch (const ValueError&) {
          }
        look.ask();
      } catch (const TraceFileError&) {
      }
    }
    QVERIFY(opened > files.count() / 25 && replayed > opened);
  }
};

TAPEDECK_TEST(TraceFileDamageTest)
#include "tst_trace_file_damage.moc"
