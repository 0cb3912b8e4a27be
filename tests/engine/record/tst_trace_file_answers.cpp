// What the debug server answers of a trace file, and of a session that is to be saved.
#include <QtTest>
#include <filesystem>
#include <fstream>

#include "engine/debug/answers.h"
#include "tests/engine/record/saved_trace.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace traced;

namespace {

protocol::Reply answer(debug::Answers& answers, const protocol::Request& request) {
  const auto answer = answers.reply_or_work(request);
  if (const auto* reply = std::get_if<protocol::Reply>(&answer)) return *reply;
  const CancelFlag cancel{false};
  return std::get<debug::Jobs::Work>(answer)(cancel, [](const protocol::Progress&) {});
}

std::string failure_code(const protocol::Reply& reply) {
  const auto* failure = protocol::get_if<protocol::Failure>(&reply);
  return failure ? failure->code : "";
}

}  // namespace

class TraceFileAnswersTest : public QObject {
  Q_OBJECT

 private slots:
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
                                               protocol::GetTape{hidden.tape, {}, 100, {}},
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
        const auto time = [](protocol::Record& record) {
          record.start_ns = record.call_ns = record.work_start_ns = record.duration_ns = 0;
        };
        const auto times = [&](std::vector<protocol::Record>& records) {
          for (protocol::Record& record : records) time(record);
        };
        if (auto* page = protocol::get_if<protocol::Records>(&reply)) times(page->records);
        if (auto* tape = protocol::get_if<protocol::TapeRecords>(&reply)) times(tape->records);
        if (auto* parts = protocol::get_if<protocol::VjpParts>(&reply)) {
          times(parts->inside);
          for (auto* record : {&parts->vjp, &parts->forward}) time(record->value());
        }
        if (auto* one = protocol::get_if<protocol::Tile>(&reply)) one->source.clear();
        if (auto* one = protocol::get_if<protocol::Statistics>(&reply)) one->source.clear();
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
    record.recording = true;
    for (const protocol::Request& request : std::vector<protocol::Request>{
             protocol::SetGate{protocol::GateCommand::pause}, record, protocol::GetFrames{},
             protocol::Evaluate{}, protocol::Assign{}, protocol::TakeOver{}, protocol::SaveTrace{},
             protocol::GetGraphFunctions{}, protocol::GetGraph{}})
      QCOMPARE(failure_code(answer(answers, request)), "trace_file");
    QCOMPARE(failure_code(answer(answers, protocol::SetGate{protocol::GateCommand::run})), "");
    protocol::SetBreakpoints set;
    set.breakpoints.resize(1);
    set.breakpoints[0].id = 4;
    const auto states = protocol::get<protocol::Breakpoints>(answer(answers, set)).states;
    QCOMPARE(states.at(0).id, 4u);
    QCOMPARE(states.at(0).note,
             "This is a trace file: nothing runs in it. Reverse continue goes back to where it would have "
             "stopped.");
    QVERIFY(!states.at(0).problem);
    set.breakpoints[0].kind = protocol::BreakpointKind::condition;
    set.breakpoints[0].condition = "max(out";
    const auto wrong = protocol::get<protocol::Breakpoints>(answer(answers, set)).states;
    QVERIFY(wrong.at(0).problem);
    file->set_recording(true);
    QVERIFY(!file->recording());
    const auto status = protocol::get<protocol::Status>(answer(answers, protocol::GetStatus{}));
    QCOMPARE(status.trace_file, session.path());
    QCOMPARE(status.trace_title, "/somewhere/program.py");
    QCOMPARE(status.records, session.count());
    QCOMPARE(status.ended, session.recorder.trace().ended());
    QVERIFY(!status.recording);
    QVERIFY(!debug::describe_status(session.recorder).trace_file);
    debug::Answers live(session.recorder);
    QCOMPARE(failure_code(answer(live, protocol::GetTraceFile{})), "bad_request");
  }

  void a_request_saves_the_live_session() {
    Saved session;
    ops::square(ramp(40));
    debug::Answers answers(session.recorder);
    const auto saved = protocol::get<protocol::TraceSaved>(answer(answers, request_for(session.path())));
    QCOMPARE(saved.path, session.path());
    QCOMPARE(saved.last, 1u);
    QCOMPARE(saved.values, 2u);  // what came from outside, and what the op made of it
    const auto failure =
        protocol::get<protocol::Failure>(answer(answers, request_for(session.path("nowhere/x"))));
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
    const auto info = protocol::get<protocol::TraceFileInfo>(answer(answers, protocol::GetTraceFile{}));
    QCOMPARE(info.title, "/somewhere/program.py");
    QCOMPARE(info.notebook, "{\"cells\": []}");
    QCOMPARE(info.labels.size(), 1u);
    QCOMPARE(info.labels[0].label, "[3]");
    QVERIFY(!info.engine_version.empty());
    QCOMPARE(info.sources.size(), 2u);
    QCOMPARE(protocol::get<protocol::SourceText>(answer(answers, protocol::GetSource{"", source})).text,
             "print('it runs')\n");
    QCOMPARE(protocol::get<protocol::SourceText>(answer(answers, protocol::GetSource{"cell-1", ""})).text,
             "x = 1\n");
    QCOMPARE(failure_code(answer(answers, protocol::GetSource{"", "/elsewhere.py"})), "gone");
  }
};

TAPEDECK_TEST(TraceFileAnswersTest)
#include "tst_trace_file_answers.moc"
