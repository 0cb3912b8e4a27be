// Where a trace cannot be saved nothing is lost; and a file that is none, or damaged, says so.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QtTest>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "engine/record/trace_file/database.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/record/saved_trace.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace traced;
using trace_file::TraceFileError;

namespace {

std::ptrdiff_t files_in(const std::string& folder) {
  return std::ranges::count_if(std::filesystem::directory_iterator(folder),
                               [](const auto& entry) { return entry.is_regular_file(); });
}

}  // namespace

class TraceFileErrorsTest : public QObject {
  Q_OBJECT

 private slots:
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
    QCOMPARE(files_in(session.folder.path().toStdString()), 1);
  }

  void what_a_save_left_whose_process_died_goes_with_the_next() {
    Saved session;
    ops::zeros({4});
    session.recorder.set_recording(false);
    const std::string left = session.path("run.tapetrace.aB3dE9.writing");
    const std::string underway = session.path("run.tapetrace.bB3dE9.writing");
    const std::string others = session.path("walk.tapetrace.aB3dE9.writing");
    const std::string users = session.path("run.tapetrace.backup");
    for (const std::string& path : {left, underway, others, users}) std::ofstream(path) << "bytes";
    const int writer = ::open(underway.c_str(), O_RDWR | O_CLOEXEC);
    QCOMPARE(::flock(writer, LOCK_EX | LOCK_NB), 0);
    session.save();
    QVERIFY(!std::filesystem::exists(left));
    for (const std::string& path : {underway, others, users}) QVERIFY(std::filesystem::exists(path));
    ::close(writer);
    session.save();
    QVERIFY(!std::filesystem::exists(underway));
    QCOMPARE(files_in(session.folder.path().toStdString()), 3);
    QCOMPARE(session.open()->trace().newest(), 1u);
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
    QCOMPARE(files_in(session.folder.path().toStdString()), 1);
  }

  void a_disk_without_room_says_so() {
    Saved session;
    const std::string disk = session.path("disk");
    std::filesystem::create_directory(disk);
    if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=600k") != 0)
      QSKIP("needs root with the right to mount a small file system");
    const auto unmount = qScopeGuard([&] { ::umount(disk.c_str()); });
    const std::string path = disk + "/run.tapetrace";
    ops::zeros({4});
    trace_file::save(session.recorder, request_for(path));
    session.recorder.leaf(ramp(200'000), "");
    session.recorder.set_recording(false);
    EXPECT_ERROR(TraceFileError, trace_file::save(session.recorder, request_for(path)),
                 "The trace cannot be saved as " + path + ": No space left on device.");
    QCOMPARE(trace_file::open(path)->trace().newest(), 1u);
    QCOMPARE(files_in(disk), 1);
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
    EXPECT_ERROR(TraceFileError, to(""), "that is not a file name");
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
    QCOMPARE(files_in(session.folder.path().toStdString()), 1);
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
    EXPECT_ERROR(TraceFileError, open(), "it is not a trace file");
    EXPECT_ERROR(TraceFileError, trace_file::open(session.folder.path().toStdString()),
                 "it is not a regular file");
    const auto changed = [&](const char* sql) {
      std::filesystem::copy_file(session.path(), other, std::filesystem::copy_options::overwrite_existing);
      auto database = trace_file::Database::create(other);
      database.run(sql);
      database.close();
    };
    changed("PRAGMA user_version=7");
    EXPECT_ERROR(TraceFileError, open(),
                 "it has version 7 of the format, this program reads versions 1 to 4");
    changed("PRAGMA application_id=7");
    EXPECT_ERROR(TraceFileError, open(), "it is a database, but not a trace file");
    changed("CREATE VIEW other AS SELECT 1");
    EXPECT_ERROR(TraceFileError, open(), "it has an unexpected view");
    changed("DELETE FROM pages WHERE section = 'notebook'");
    EXPECT_ERROR(TraceFileError, open(), "it has other pages than were written");
    changed("UPDATE about SET value = 3 WHERE name = 'newest_record'");
    EXPECT_ERROR(TraceFileError, open(), "its checksum is wrong");
    std::filesystem::copy_file(session.path(), other, std::filesystem::copy_options::overwrite_existing);
    const auto size = std::filesystem::file_size(other);
    std::filesystem::resize_file(other, size - 1000);
    EXPECT_ERROR(
        TraceFileError, open(),
        "it is truncated: it has " + std::to_string(size - 1000) + " bytes of " + std::to_string(size));
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

TAPEDECK_TEST(TraceFileErrorsTest)
#include "tst_trace_file_errors.moc"
