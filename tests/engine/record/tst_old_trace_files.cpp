// A trace file that an older version wrote: data/version_7.tapetrace, saved of data/version_7.py while the
// debug protocol was of version 7. Its pages have 0 and empty texts where messages have absent values now.
#include <QtTest>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "engine/debug/answers.h"
#include "tests/engine/record/saved_trace.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace traced;

namespace {

/// A copy of the file, which may be written to.
struct OldFile {
  OldFile() {
    const char* const source = TAPEDECK_SOURCE_DIR "/tests/engine/record/data/version_7.tapetrace";
    std::filesystem::copy_file(source, path);
    file = trace_file::open(path);
  }
  protocol::Record at(std::uint32_t number) const {
    auto record = debug::describe(*file, number, true);
    return record ? *record : protocol::Record();
  }
  template <class Expected>
  Expected ask(const protocol::Request& request) {
    const QuietScope quiet;
    const auto answer = answers().reply_or_work(request);
    const CancelFlag cancel{false};
    const protocol::Reply reply =
        std::holds_alternative<protocol::Reply>(answer)
            ? std::get<protocol::Reply>(answer)
            : std::get<debug::Jobs::Work>(answer)(cancel, [](const protocol::Progress&) {});
    if (const auto* failure = protocol::get_if<protocol::Failure>(&reply))
      throw std::runtime_error(failure->reason);
    return protocol::get<Expected>(reply);
  }
  debug::Answers& answers() {
    if (!answers_) answers_ = std::make_unique<debug::Answers>(*file);
    return *answers_;
  }

  QTemporaryDir folder;
  const std::string path = folder.filePath("old.tapetrace").toStdString();
  std::unique_ptr<Recorder> file;

 private:
  std::unique_ptr<debug::Answers> answers_;
};

}  // namespace

class OldTraceFilesTest : public QObject {
  Q_OBJECT

 private slots:
  void records_of_version_7_are_read() {
    OldFile old;
    QCOMPARE(old.file->file()->problem(), std::string());
    QCOMPARE(old.file->trace().newest(), 224u);
    std::set<std::string> ops;
    int vjps = 0, custom = 0, failed = 0;
    for (std::uint32_t number = 1; number <= 224; ++number) {
      const protocol::Record record = old.at(number);
      QCOMPARE(record.number, std::uint64_t{number});
      QVERIFY(record.op != "damaged");
      QVERIFY(record.file.ends_with("program.py"));
      ops.insert(record.op);
      vjps += record.kind == protocol::RecordKind::vjp;
      custom += record.kind == protocol::RecordKind::custom;
      failed += record.state == protocol::RecordState::failed;
    }
    QCOMPARE(custom, 6);
    QVERIFY(vjps > 30);
    QVERIFY2(ops.contains("matmul") && ops.contains("cholesky") && ops.contains("gradient"),
             std::to_string(failed).c_str());
  }

  void every_value_of_version_7_can_be_had() {
    OldFile old;
    std::size_t values = 0;
    for (std::uint32_t number = 1; number <= 224; ++number)
      for (const protocol::TensorInfo& output : old.at(number).outputs) {
        if (output.id == 0) continue;
        const Tensor value = find_value(*old.file, output.id).value;
        QCOMPARE(std::vector<std::int64_t>(value.shape().begin(), value.shape().end()), output.shape);
        ++values;
      }
    QVERIFY(values > 150);
    QCOMPARE(old.file->file()->problem(), std::string());
  }

  void what_was_zero_or_empty_in_version_7_is_absent() {
    OldFile old;
    const auto status = old.ask<protocol::Status>(protocol::GetStatus{});
    QCOMPARE(status.trace_file, std::optional(std::filesystem::canonical(old.path).string()));
    QCOMPARE(status.records, 224u);
    QVERIFY(!status.stopped_before && !status.stepped_over && !status.stop_reason && !status.running_cell);
    const auto info = old.ask<protocol::TraceFileInfo>(protocol::GetTraceFile{});
    QVERIFY(!info.notebook);  // a program's trace has an empty text there
    QVERIFY(!info.problem);
    QCOMPARE(info.sources.size(), std::size_t{1});
    const auto source =
        old.ask<protocol::SourceText>(protocol::GetSource{info.sources[0].cell, info.sources[0].file});
    QVERIFY(source.text.find("tf.GradientTape()") != std::string::npos);
  }

  void pictures_of_version_7_know_whether_a_record_was_there() {
    OldFile old;
    const auto pictures = old.ask<protocol::Pictures>(protocol::GetPictures{0}).pictures;
    QCOMPARE(pictures.size(), std::size_t{8});
    QCOMPARE(pictures[0].name, std::string("before"));
    QVERIFY(!pictures[0].record);  // 0 in the file: it was added before the first op
    for (std::size_t i = 1; i < pictures.size(); ++i) {
      QVERIFY2(pictures[i].record, pictures[i].name.c_str());
      QVERIFY(*pictures[i].record >= 1 && *pictures[i].record <= 224);
    }
    QCOMPARE(pictures.back().pngs.size(), std::size_t{1});
    QCOMPARE(pictures.back().width, std::int64_t{2});
    const auto points = old.ask<protocol::Series>(protocol::GetSeries{0}).points;
    QCOMPARE(points.size(), std::size_t{7});
    QCOMPARE(points[0].record, std::uint64_t{0});
    QVERIFY(points.back().record > 0);
  }

  void questions_about_version_7_are_answered() {
    OldFile old;
    std::uint64_t vjp = 0, relu = 0, tape = 0;
    for (std::uint32_t number = 1; number <= 224; ++number) {
      const protocol::Record record = old.at(number);
      if (record.op != "relu") continue;
      if (record.kind == protocol::RecordKind::vjp) vjp = number;
      if (record.kind == protocol::RecordKind::op) relu = number, tape = record.tape;
    }
    QVERIFY(vjp && relu && tape);
    QVERIFY(!old.ask<protocol::TapeRecords>(protocol::GetTape{tape, {}, 100, {}}).records.empty());
    const auto parts = old.ask<protocol::VjpParts>(protocol::GetVjp{vjp});
    QVERIFY(parts.vjp && parts.forward && !parts.problem);
    QCOMPARE(parts.vjp->number, vjp);
    const auto made = old.at(static_cast<std::uint32_t>(relu)).outputs.at(0);
    const auto statistics = old.ask<protocol::Statistics>(protocol::GetStatistics{made.id, 8});
    QCOMPARE(statistics.finite, statistics.count);
    QCOMPARE(statistics.minimum, std::optional(0.0));
    const auto because =
        old.ask<protocol::Because>(protocol::Why{protocol::Question::contributions, made.id, {}, {}});
    QVERIFY(!because.reasons.empty() && because.reasons[0].tensor);
    const auto memory =
        old.ask<protocol::MemoryState>(protocol::GetMemoryState{{}, protocol::MemoryGroup::tensor, 0, 100});
    QVERIFY(!memory.record && !memory.rows.empty());
    const auto profile = old.ask<protocol::Profile>(protocol::GetProfile{0, {}, 5});
    QVERIFY(profile.calls > 100);
    QVERIFY(profile.runs.size() == 1 && !profile.runs[0].number && !profile.runs[0].cell);
  }
};

TAPEDECK_TEST(OldTraceFilesTest)
#include "tst_old_trace_files.moc"
