// Damaged trace files: each gives an error or the right thing, never a crash. Bytes are changed, cut off,
// moved; half of the time inside of pages whose checksums are then made right again, so that what is read is
// what has to be checked.
#include <QtTest>
#include <fstream>
#include <random>

#include "engine/debug/answers.h"
#include "engine/record/trace_file/bytes.h"
#include "engine/record/trace_file/database.h"
#include "tests/campaign.h"
#include "tests/engine/record/recording.h"
#include "tests/engine/record/traced_program.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace traced;
using trace_file::TraceFileError;

namespace {

using Generator = std::mt19937_64;

/// From 0 to `most`.
std::size_t pick(Generator& random, std::size_t most) {
  return std::uniform_int_distribution<std::size_t>(0, most)(random);
}

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
  struct Page {
    std::int64_t row;
    std::string section;
    std::uint64_t number;
    std::vector<std::uint8_t> data;
  };
  std::vector<Page> pages;  ///< those of values are of the section "value", and their parts the numbers

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
    read_pages();
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

  void read_pages() {
    auto database = trace_file::Database::open(whole);
    auto rows = database.prepare("SELECT rowid, section, number, data FROM pages");
    while (rows.step()) {
      const auto data = rows.blob(3);
      pages.push_back({rows.integer(0),
                       rows.text(1),
                       static_cast<std::uint64_t>(rows.integer(2)),
                       {data.begin(), data.end()}});
    }
    auto parts = database.prepare("SELECT rowid, tensor, part, data FROM value_parts");
    while (parts.step()) {
      const auto data = parts.blob(3);
      pages.push_back(
          {parts.integer(0), "", static_cast<std::uint64_t>(parts.integer(1)), {data.begin(), data.end()}});
    }
  }
};

/// What the file says of all its pages, and of itself, made right again after they were changed.
void make_sums_right(trace_file::Database& database) {
  trace_file::PageSums sums;
  auto pages = database.prepare("SELECT section, number, checksum FROM pages");
  while (pages.step())
    sums[pages.text(0)][static_cast<std::uint64_t>(pages.integer(1))] =
        static_cast<std::uint64_t>(pages.integer(2));
  const auto set = [&](const char* name, std::uint64_t sum) {
    auto update = database.prepare("UPDATE about SET value = ? WHERE name = ?");
    update.bind(0, static_cast<std::int64_t>(sum)).bind(1, std::string_view(name)).run();
  };
  set("index_checksum", trace_file::index_checksum(sums));
  trace_file::PageWriter all;
  auto facts = database.prepare("SELECT name, value FROM about ORDER BY rowid");
  while (facts.step()) {
    if (facts.text(0) == "engine_version")
      all.text(facts.text(1));
    else if (facts.text(0) != "checksum")
      all.signed_number(facts.integer(1));
  }
  facts.reset();
  set("checksum", trace_file::page_checksum("about", 0, all.bytes()));
}

class Look {
 public:
  Look(Recorder& recorder, Generator& random) : recorder_(recorder), random_(random), answers_(recorder) {}

  /// Asks what views ask.
  void ask() {
    const std::uint64_t newest = recorder_.trace().newest();
    const std::uint64_t record = pick(random_, static_cast<std::size_t>(newest)), tensor = any_tensor();
    protocol::GetTile tile;
    tile.tensor = tensor;
    tile.rows = tile.columns = 3;
    protocol::Why why;
    why.question = static_cast<decltype(why.question)>(
        pick(random_, protocol::names(decltype(why.question){}).size() - 1));
    why.tensor = tensor;
    why.record = record;
    protocol::MakeBranch branch;
    branch.changes.resize(1);
    branch.changes[0].kind = static_cast<protocol::ChangeKind>(pick(random_, 6));
    branch.changes[0].tensor = tensor;
    branch.changes[0].record = record;
    branch.changes[0].numbers = {0.5};
    const protocol::Request requests[] = {
        tile,
        protocol::GetStatistics{tensor, 8},
        protocol::GetTape{1 + pick(random_, 20), {}, 50, record},
        protocol::GetVjp{record},
        protocol::ExplainElement{record, 0, {0}, 4},
        protocol::FindRecords{"matmul or shape:(12,5) or dtype:string", {}, 1, {}, {}},
        why,
        branch,
        protocol::GetTraceFile{},
        protocol::GetSource{"cell-1", ""}};
    for (int i = 0; i < 3; ++i) answer(requests[pick(random_, std::size(requests) - 1)]);
    answer(protocol::GetStatus{});
    answer(protocol::GetSeries{});
    answer(protocol::GetPictures{});
  }

  std::uint64_t any_tensor() {
    RecordView view;
    for (int tries = 0; tries < 20; ++tries) {
      const auto number = static_cast<std::uint32_t>(pick(random_, recorder_.trace().newest()));
      if (number && recorder_.trace().read(number, view) && !view.outputs.empty())
        return view.outputs[pick(random_, view.outputs.size() - 1)];
    }
    return 0;
  }

 private:
  void answer(const protocol::Request& request) {
    const auto answer = answers_.reply_or_work(request);
    const CancelFlag cancel{false};
    if (const auto* work = std::get_if<debug::Jobs::Work>(&answer))
      (*work)(cancel, [](const protocol::Progress&) {});
  }

  Recorder& recorder_;
  Generator& random_;
  debug::Answers answers_;
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
        auto pages = database.prepare("UPDATE pages SET data = ?, checksum = ? WHERE rowid = ?");
        auto parts = database.prepare("UPDATE value_parts SET data = ?, checksum = ? WHERE rowid = ?");
        for (std::size_t times = pick(random, 2) + 1; times > 0; --times) {
          const auto& page = original.pages[pick(random, original.pages.size() - 1)];
          std::vector<std::uint8_t> data = page.data;
          change_bytes(data, random);
          const bool is_value = page.section.empty();
          const std::uint64_t sum = is_value ? trace_file::part_checksum(page.number, 0, data)
                                             : trace_file::page_checksum(page.section, page.number, data);
          auto& statement = is_value ? parts : pages;
          statement.bind(0, std::span<const std::uint8_t>(data)).bind(1, static_cast<std::int64_t>(sum));
          statement.bind(2, page.row).run();
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
