// A trace as a file: what is saved comes back, to the last bit; and where it cannot be saved nothing is lost.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <QFileInfo>
#include <QtTest>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/debug/answers.h"
#include "engine/record/clock.h"
#include "engine/record/trace_file/database.h"
#include "tests/engine/all_rows.h"
#include "tests/engine/recording.h"
#include "tests/engine/traced_program.h"

using namespace tapedeck;
using namespace traced;
using trace_file::TraceFileError;

namespace {

struct Saved : Recording {
  explicit Saved(const RecorderOptions& options = {}) : Recording(options) {}
  std::string path(const char* name = "run.tapetrace") const { return folder.filePath(name).toStdString(); }
  protocol::TraceSaved save() const { return trace_file::save(recorder, request_for(path())); }
  std::unique_ptr<Recorder> open() const { return trace_file::open(path()); }
  QTemporaryDir folder;
};

/// Every record of both, and every value that the live session has or can have again. Empty: the same.
std::string difference(Recorder& live, Recorder& file) {
  const std::uint32_t newest = live.trace().newest();
  if (file.trace().newest() != newest) return "another number of records";
  RecordView left, right;
  for (std::uint32_t number = 1; number <= newest; ++number) {
    const std::string expected = text_of(live, number), found = text_of(file, number);
    if (expected != found) return expected + "\nbut the file has\n" + found;
    if (!live.trace().read(number, left) || !file.trace().read(number, right)) return "a record is gone";
    if (std::abs(left.start_ns - right.start_ns) > 1 || std::abs(left.duration_ns - right.duration_ns) > 1)
      return "times of record " + std::to_string(number);
    for (const TensorIds* ids : {&left.inputs, &left.outputs})
      for (const std::uint64_t id : *ids) {
        if (id == 0) continue;
        const std::string which = "the value of tensor " + std::to_string(id) + " at " + expected;
        Tensor original;
        try {
          original = find_value(live, id).value;
        } catch (const ValueError&) {
          continue;
        }
        try {
          if (!same_bits(original, find_value(file, id).value)) return which + " is another one";
        } catch (const ValueError& error) {
          return which + ": " + error.what();
        }
      }
  }
  return {};
}

protocol::Reply answer(debug::Answers& answers, const protocol::Request& request) {
  const auto answer = answers.reply_or_work(request);
  if (const auto* reply = std::get_if<protocol::Reply>(&answer)) return *reply;
  const CancelFlag cancel{false};
  return std::get<debug::Jobs::Work>(answer)(cancel, [](const protocol::Progress&) {});
}

std::string failure_code(const protocol::Reply& reply) {
  const auto* failure = std::get_if<protocol::Failure>(&reply);
  return failure ? failure->code : "";
}

}  // namespace

class TraceFileTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { register_all_ops(); }

  void records_and_values_come_back() {
    Saved session;
    train(session.recorder, 12);
    every_dtype(session.recorder);
    failures();
    views(session.recorder);
    session.recorder.set_recording(false);
    const protocol::TraceSaved saved = session.save();
    QCOMPARE(saved.first, 1u);
    QCOMPARE(saved.last, session.count());
    QCOMPARE(saved.bytes, static_cast<std::uint64_t>(QFileInfo(session.path().c_str()).size()));
    const auto file = session.open();
    QCOMPARE(difference(session.recorder, *file), std::string());
    QVERIFY(text_of(*file, session.count() - 6, false) != "none");
    QCOMPARE(file->file()->problem(), std::string());
    QCOMPARE(file->started_unix_ms(), session.recorder.started_unix_ms());
  }

  void every_op_of_the_registry_comes_back() {
    Saved session;
    testing::Random random(7);
    for (const testing::Row& row : testing::all_rows()) {
      const OpDef* op = Registry::instance().find(row.op);
      for (const auto& make : row.calls) {
        const testing::Call call = make(random);
        try {
          testing::run_call(*op, call);
        } catch (const std::exception&) {  // rows of refusals
        }
      }
    }
    // What Python may give for numbers.
    run_op1(*Registry::instance().find("one_hot"), {Tensor::scalar(1, DType::int32)},
            Attributes{std::int64_t{3}, true, std::int64_t{0}, std::int64_t{-1}, DType::float32});
    session.recorder.set_recording(false);
    QVERIFY(session.count() > 1000);
    session.save();
    const auto file = session.open();
    const std::string differs = difference(session.recorder, *file);
    QVERIFY2(differs.empty(), differs.c_str());
  }

  void values_come_back_without_what_was_held() {
    RecorderOptions options;
    options.keeping.window_bytes = 0;
    Saved session(options);
    train(session.recorder, 30);
    session.recorder.set_recording(false);
    session.save();
    const auto file = session.open();
    QCOMPARE(difference(session.recorder, *file), std::string());
    for (std::uint32_t number = session.count(); number > session.count() - 30; --number) {
      RecordView record;
      QVERIFY(file->trace().read(number, record));
      for (const std::uint64_t id : record.outputs)
        if (id) QVERIFY(find_value(*file, id).value);
    }
  }

  void curves_pictures_and_assignments_come_back() {
    Saved session;
    train(session.recorder, 5);
    session.recorder.series().add("nothing", 1, std::nan(""), 2);
    session.recorder.series().restart("nothing");
    session.recorder.series().add("nothing", 4, 5, 3);
    session.recorder.set_recording(false);
    session.save();
    const auto file = session.open();
    const auto curves = session.recorder.series().read(0), again = file->series().read(0);
    QCOMPARE(again.points.size(), curves.points.size());
    for (std::size_t i = 0; i < curves.points.size(); ++i) {
      QCOMPARE(again.points[i].series, curves.points[i].series);
      QCOMPARE(again.points[i].step, curves.points[i].step);
      QCOMPARE(again.points[i].value, curves.points[i].value);
      QCOMPARE(again.points[i].record, curves.points[i].record);
    }
    const auto pictures = file->pictures().read(0).pictures;
    QCOMPARE(pictures.size(), 2u);
    QCOMPARE(pictures[0].limits, (std::vector<double>{-1, 0, 1}));
    QCOMPARE(pictures[0].counts, (std::vector<double>{3, 4}));
    QCOMPARE(pictures[1].pngs, std::vector<std::string>{"iVBORw0KGgo="});
    const auto before = session.recorder.handoffs().assignments(), after = file->handoffs().assignments();
    QVERIFY(before.size() >= 12);
    QCOMPARE(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      QCOMPARE(after[i].leaf, before[i].leaf);
      QCOMPARE(after[i].value, before[i].value);
      QCOMPARE(after[i].variable, before[i].variable);
      QCOMPARE(location_of(after[i].location).line, location_of(before[i].location).line);
    }
    QCOMPARE(file->handoffs().departures().size(), session.recorder.handoffs().departures().size());
    QCOMPARE(file->handoffs().newest_playback(), session.recorder.handoffs().newest_playback());
  }

  void statistics_of_leaves_that_had_to_go_come_back() {
    RecorderOptions options;
    options.keeping.budget_bytes = 100'000;
    Saved session(options);
    std::uint64_t first = 0;
    for (int i = 0; i < 20; ++i) {
      const Tensor leaf = ramp(2000);
      if (!first) first = leaf.id();
      session.recorder.leaf(leaf, "");
      ops::square(leaf);
    }
    session.recorder.set_recording(false);
    session.save();
    const auto file = session.open();
    QVERIFY(session.recorder.values().statistics_of_dropped(first));
    const auto kept = file->values().statistics_of_dropped(first);
    QVERIFY(kept);
    QCOMPARE(kept->mean, session.recorder.values().statistics_of_dropped(first)->mean);
    QCOMPARE(kept->histogram, session.recorder.values().statistics_of_dropped(first)->histogram);
    QCOMPARE(file->values().leaves_dropped(), session.recorder.values().leaves_dropped());
    EXPECT_ERROR(ValueError, find_value(*file, first), "had to go");
  }

  void answers_are_those_of_the_live_session() {
    Saved session;
    train(session.recorder, 6);
    session.recorder.set_recording(false);
    session.save();
    const auto file = session.open();
    debug::Answers live(session.recorder), stored(*file);
    const auto record_where = [&](auto&& holds) {
      for (std::uint32_t number = session.count(); number > 0; --number)
        if (holds(session.at(number))) return session.at(number);
      return protocol::Record();
    };
    const auto vjp =
        record_where([](const auto& r) { return r.kind == protocol::RecordKind::vjp && r.op == "tanh"; });
    const auto hidden =
        record_where([](const auto& r) { return r.kind == protocol::RecordKind::op && r.op == "tanh"; });
    QVERIFY(vjp.number && hidden.number);
    protocol::GetTile tile;
    tile.tensor = hidden.outputs[0].id;
    tile.rows = tile.columns = 4;
    protocol::MakeBranch branch;
    branch.changes.resize(1);
    branch.changes[0].kind = protocol::ChangeKind::scale;
    branch.changes[0].record = hidden.number;
    branch.changes[0].numbers = {0.5};
    std::vector<protocol::Request> requests = {protocol::GetRecords{3, 40, true},
                                               protocol::GetTape{hidden.tape, 0, 100, 0},
                                               tile,
                                               protocol::GetStatistics{hidden.outputs[0].id, 16},
                                               protocol::GetVjp{vjp.number},
                                               protocol::FindRecords{"matmul or scope:odd", {}, 1, {}, {}},
                                               branch};
    for (const char* question : {"size", "gradient", "contributions", "exactness"}) {
      protocol::Why why;
      const auto known = protocol::names(decltype(why.question){});
      for (std::size_t i = 0; i < known.size(); ++i)
        if (known[i] == question) why.question = static_cast<decltype(why.question)>(i);
      why.tensor = hidden.outputs[0].id;
      requests.push_back(why);
    }
    for (const protocol::Request& request : requests) {
      const protocol::Reply expected = answer(live, request);
      protocol::Reply found = answer(stored, request);
      QVERIFY2(failure_code(expected).empty(), protocol::type_name(request).c_str());
      // What differs are times, by a nanosecond, and where a value was.
      const auto plain = [](protocol::Reply reply) {
        const auto times = [](std::vector<protocol::Record>& records) {
          for (protocol::Record& record : records) record.start_ns = record.duration_ns = 0;
        };
        if (auto* page = std::get_if<protocol::Records>(&reply)) times(page->records);
        if (auto* tape = std::get_if<protocol::TapeRecords>(&reply)) times(tape->records);
        if (auto* parts = std::get_if<protocol::VjpParts>(&reply)) {
          times(parts->inside);
          parts->vjp.start_ns = parts->vjp.duration_ns = 0;
          parts->forward.start_ns = parts->forward.duration_ns = 0;
        }
        if (auto* one = std::get_if<protocol::Tile>(&reply)) one->source.clear();
        if (auto* one = std::get_if<protocol::Statistics>(&reply)) one->source.clear();
        return protocol::encode(1, reply);
      };
      QVERIFY2(plain(expected) == plain(found), (protocol::type_name(request)).c_str());
    }
  }

  void nothing_runs_in_a_file() {
    Saved session;
    train(session.recorder, 1);
    session.recorder.set_recording(false);
    session.save();
    const auto file = session.open();
    debug::Answers answers(*file);
    protocol::SetOptions record;
    record.recording = {true};
    for (const protocol::Request& request : std::vector<protocol::Request>{
             protocol::SetGate{protocol::GateCommand::pause}, record, protocol::GetFrames{},
             protocol::Evaluate{}, protocol::Assign{}, protocol::TakeOver{}, protocol::SaveTrace{}})
      QCOMPARE(failure_code(answer(answers, request)), "trace_file");
    QCOMPARE(failure_code(answer(answers, protocol::SetGate{protocol::GateCommand::run})), "");
    protocol::SetBreakpoints set;
    set.breakpoints.resize(1);
    set.breakpoints[0].id = 4;
    const auto states = std::get<protocol::Breakpoints>(answer(answers, set)).states;
    QCOMPARE(states.at(0).id, 4u);
    QCOMPARE(states.at(0).note, "This is a trace file: nothing runs in it.");
    file->set_recording(true);
    QVERIFY(!file->recording());
    const auto status = std::get<protocol::Status>(answer(answers, protocol::GetStatus{}));
    QCOMPARE(status.trace_file, session.path());
    QCOMPARE(status.trace_title, "/somewhere/program.py");
    QCOMPARE(status.records, session.count());
    QCOMPARE(status.ended, session.recorder.trace().ended());
    QVERIFY(!status.recording);
    QCOMPARE(debug::describe_status(session.recorder).trace_file, "");
    debug::Answers live(session.recorder);
    QCOMPARE(failure_code(answer(live, protocol::GetTraceFile{})), "bad_request");
  }

  void a_request_saves_the_live_session() {
    Saved session;
    ops::square(ramp(40));
    debug::Answers answers(session.recorder);
    const auto saved = std::get<protocol::TraceSaved>(answer(answers, request_for(session.path())));
    QCOMPARE(saved.path, session.path());
    QCOMPARE(saved.last, 1u);
    QCOMPARE(saved.values, 2u);  // what came from outside, and what the op made of it
    const auto failure = std::get<protocol::Failure>(answer(answers, request_for(session.path("nowhere/x"))));
    QCOMPARE(failure.code, "not_saved");
    QVERIFY2(failure.reason.ends_with("nowhere/x: No such file or directory."), failure.reason.c_str());
    const CancelFlag cancelled{true};
    const auto work = std::get<debug::Jobs::Work>(answers.reply_or_work(request_for(session.path())));
    const auto reply = work(cancelled, [](const protocol::Progress&) {});
    QCOMPARE(failure_code(reply), "cancelled");
    session.recorder.set_recording(false);
    QCOMPARE(session.open()->trace().newest(), 1u);
  }

  void the_notebook_its_labels_and_sources_are_in_it() {
    Saved session;
    const std::string source = session.path("source.py");
    std::ofstream(source) << "print('it runs')\n";
    const std::uint32_t location = intern_location({"", source, 1});
    static std::uint32_t captured = 0;
    captured = location;
    set_capture_location([]() -> std::uint32_t { return captured; });
    ops::zeros({2});
    set_capture_location(nullptr);
    session.recorder.set_recording(false);
    session.save();
    std::filesystem::remove(source);
    const auto file = session.open();
    debug::Answers answers(*file);
    const auto info = std::get<protocol::TraceFileInfo>(answer(answers, protocol::GetTraceFile{}));
    QCOMPARE(info.title, "/somewhere/program.py");
    QCOMPARE(info.notebook, "{\"cells\": []}");
    QCOMPARE(info.labels.size(), 1u);
    QCOMPARE(info.labels[0].label, "[3]");
    QVERIFY(!info.engine_version.empty());
    QCOMPARE(info.sources.size(), 2u);
    QCOMPARE(std::get<protocol::SourceText>(answer(answers, protocol::GetSource{"", source})).text,
             "print('it runs')\n");
    QCOMPARE(std::get<protocol::SourceText>(answer(answers, protocol::GetSource{"cell-1", ""})).text,
             "x = 1\n");
    QCOMPARE(failure_code(answer(answers, protocol::GetSource{"", "/elsewhere.py"})), "gone");
  }

  void a_long_trace_is_read_by_page() {
    Saved session;
    const Tensor x = Tensor::scalar(1.5), y = Tensor::scalar(2.5);
    for (int i = 0; i < 60'000; ++i) ops::multiply(x, y);
    session.recorder.set_recording(false);
    session.save();
    const auto file = session.open();
    const std::uint64_t at_first = file->trace().bytes();
    QVERIFY(at_first < 100'000);
    for (const std::uint32_t number : {1u, 18431u, 18432u, 59'999u, 60'000u})
      QCOMPARE(text_of(*file, number), text_of(session.recorder, number));
    QCOMPARE(text_of(*file, 60'001), "none");
    std::uint64_t seen = 0;
    std::uint32_t next = 1;
    while (next <= 60'000)
      next = file->trace().glance(next, next + 9999, [&](const RecordGlance& r) { seen += r.number; });
    QCOMPARE(seen, 60'000ull * 60'001 / 2);
    QVERIFY(file->trace().bytes() > at_first);
  }

  void a_trace_whose_first_records_were_forgotten_is_saved_from_there() {
    RecorderOptions options;
    options.record_limit = 20'000;
    Saved session(options);
    const Tensor x = Tensor::scalar(1.5);
    for (int i = 0; i < 80'000; ++i) ops::square(x);
    session.recorder.set_recording(false);
    QVERIFY(session.recorder.trace().oldest_kept() > 1);
    QCOMPARE(session.save().first, session.recorder.trace().oldest_kept());
    const auto file = session.open();
    QCOMPARE(file->trace().oldest_kept(), session.recorder.trace().oldest_kept());
    QCOMPARE(text_of(*file, 80'000), text_of(session.recorder, 80'000));
    QVERIFY(text_of(*file, 5).find("forgotten") != std::string::npos);
  }

  void an_empty_trace_is_a_file_too() {
    Saved session;
    session.recorder.set_recording(false);
    QCOMPARE(session.save().last, 0u);
    const auto file = session.open();
    QCOMPARE(file->trace().newest(), 0u);
    QCOMPARE(debug::describe_page(*file, {1, 10, true}).records.size(), 0u);
  }

  void it_is_saved_while_the_program_goes_on() {
    Saved session;
    std::atomic<bool> stop{false};
    std::thread program([&] {
      while (!stop && session.recorder.trace().newest() < 20'000) train(session.recorder, 3);
    });
    const auto end = qScopeGuard([&] {
      stop = true;
      program.join();
      session.recorder.set_recording(false);
    });
    while (session.recorder.trace().newest_finished() < 200) std::this_thread::yield();
    for (int i = 0; i < 3; ++i) {
      const protocol::TraceSaved saved = session.save();
      const auto file = session.open();
      QVERIFY(saved.last >= 200);
      for (std::uint32_t number = 1; number <= saved.last; ++number) {
        const auto record = debug::describe(*file, number, true);
        QVERIFY(record && record->op != "damaged");
        if (record->state != RecordState::done) continue;
        const std::string found = text_of(*file, number, false),
                          live = text_of(session.recorder, number, false);
        QVERIFY2(found == live, (live + "\nbut the file has\n" + found).c_str());
      }
    }
  }

  void the_file_is_the_users_alone_and_replaces_the_older_one() {
    Saved session;
    ops::zeros({4});
    session.save();
    struct stat facts {};
    QCOMPARE(::stat(session.path().c_str(), &facts), 0);
    QCOMPARE(facts.st_mode & 0777, 0600u);
    ops::zeros({4});
    session.save();
    QCOMPARE(session.open()->trace().newest(), 2u);
    session.recorder.set_recording(false);
    QCOMPARE(QDir(session.folder.path()).entryList(QDir::Files).size(), 1);
  }

  void a_full_disk_leaves_the_older_file() {
    Saved session;
    ops::zeros({4});
    session.save();
    session.recorder.leaf(ramp(200'000), "");
    session.recorder.set_recording(false);
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{200'000, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    std::string sentence;
    try {
      session.save();
    } catch (const TraceFileError& error) {
      sentence = error.what();
    }
    ::setrlimit(RLIMIT_FSIZE, &before);
    const std::string expected = "The trace cannot be saved as " + session.path() + ": File too large.";
    QVERIFY2(sentence == expected, sentence.c_str());
    QCOMPARE(session.open()->trace().newest(), 1u);
    QCOMPARE(QDir(session.folder.path()).entryList(QDir::Files).size(), 1);
  }

  void a_disk_without_room_says_so() {
    Saved session;
    const std::string disk = session.path("disk");
    std::filesystem::create_directory(disk);
    if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=600k") != 0)
      QSKIP("no file system can be mounted here");
    const auto unmount = qScopeGuard([&] { ::umount(disk.c_str()); });
    const std::string path = disk + "/run.tapetrace";
    ops::zeros({4});
    trace_file::save(session.recorder, request_for(path));
    session.recorder.leaf(ramp(200'000), "");
    session.recorder.set_recording(false);
    EXPECT_ERROR(TraceFileError, trace_file::save(session.recorder, request_for(path)),
                 "The trace cannot be saved as " + path + ": No space left on device.");
    QCOMPARE(trace_file::open(path)->trace().newest(), 1u);
    QCOMPARE(QDir(disk.c_str()).entryList(QDir::Files).size(), 1);
  }

  void a_folder_that_is_not_there_or_read_only_says_so() {
    Saved session;
    session.recorder.set_recording(false);
    const auto to = [&](const std::string& path) {
      return trace_file::save(session.recorder, request_for(path));
    };
    const std::string nowhere = session.path("nowhere/run.tapetrace");
    EXPECT_ERROR(TraceFileError, to(nowhere), "saved as " + nowhere + ": No such file or directory.");
    EXPECT_ERROR(TraceFileError, to(session.folder.path().toStdString()), "that is a folder");
    EXPECT_ERROR(TraceFileError, to(""), "that is no file's name");
    EXPECT_ERROR(TraceFileError, to("/proc/run.tapetrace"), "saved as /proc/run.tapetrace: ");
  }

  void a_save_that_is_cancelled_leaves_the_older_file() {
    Saved session;
    ops::zeros({4});
    session.save();
    for (int i = 0; i < 2000; ++i) session.recorder.leaf(ramp(100), "");
    session.recorder.set_recording(false);
    const CancelFlag cancel{true};
    bool cancelled = false;
    try {
      trace_file::save(session.recorder, request_for(session.path()), &cancel);
    } catch (const Cancelled&) {
      cancelled = true;
    }
    QVERIFY(cancelled);
    QCOMPARE(session.open()->trace().newest(), 1u);
    QCOMPARE(QDir(session.folder.path()).entryList(QDir::Files).size(), 1);
  }

  void a_file_that_is_none_says_so() {
    Saved session;
    ops::zeros({4});
    session.recorder.set_recording(false);
    session.save();
    const std::string other = session.path("other");
    const auto open = [&] { return trace_file::open(other); };
    EXPECT_ERROR(TraceFileError, open(),
                 "The trace file " + other + " cannot be opened: No such file or directory.");
    std::ofstream(other) << "";
    EXPECT_ERROR(TraceFileError, open(), "it is empty");
    std::ofstream(other) << "a notebook, perhaps, with some text in it";
    EXPECT_ERROR(TraceFileError, open(), "it is no trace file");
    EXPECT_ERROR(TraceFileError, trace_file::open(session.folder.path().toStdString()), "it is no file");
    const auto changed = [&](const char* sql) {
      std::filesystem::copy_file(session.path(), other, std::filesystem::copy_options::overwrite_existing);
      auto database = trace_file::Database::create(other);
      database.run(sql);
      database.close();
    };
    changed("PRAGMA user_version=7");
    EXPECT_ERROR(TraceFileError, open(), "it has version 7 of the format, this program reads version 1");
    changed("PRAGMA application_id=7");
    EXPECT_ERROR(TraceFileError, open(), "it is a database, but no trace file");
    changed("CREATE VIEW other AS SELECT 1");
    EXPECT_ERROR(TraceFileError, open(), "it has a view that no trace file has");
    changed("DELETE FROM pages WHERE section = 'notebook'");
    EXPECT_ERROR(TraceFileError, open(), "it has other pages than were written");
    changed("UPDATE about SET value = 3 WHERE name = 'newest_record'");
    EXPECT_ERROR(TraceFileError, open(), "its checksum is wrong");
    std::filesystem::copy_file(session.path(), other, std::filesystem::copy_options::overwrite_existing);
    const auto size = std::filesystem::file_size(other);
    std::filesystem::resize_file(other, size - 1000);
    EXPECT_ERROR(
        TraceFileError, open(),
        "it is cut off: it has " + std::to_string(size - 1000) + " bytes of " + std::to_string(size));
  }

  void a_damaged_page_is_told_of_by_its_records() {
    Saved session;
    const Tensor x = Tensor::scalar(1.5);
    for (int i = 0; i < 40'000; ++i) ops::square(x);
    session.recorder.set_recording(false);
    session.save();
    {
      auto database = trace_file::Database::create(session.path());
      database.run("UPDATE pages SET data = zeroblob(length(data)) WHERE section = 'records' AND number = 1");
      database.close();
    }
    const auto file = session.open();
    QCOMPARE(text_of(*file, 5), text_of(session.recorder, 5));
    QCOMPARE(text_of(*file, 39'000), text_of(session.recorder, 39'000));
    const auto record = debug::describe(*file, 20'000, true);
    QVERIFY(record);
    QCOMPARE(record->op, "damaged");
    QCOMPARE(record->error, "In the trace file " + session.path() +
                                " the page of the records 18432 to 36863 is damaged: its checksum is wrong.");
    QCOMPARE(file->file()->problem(), record->error);
    QCOMPARE(file->file()->info().problem, record->error);
  }
};

QTEST_GUILESS_MAIN(TraceFileTest)
#include "tst_trace_file.moc"
