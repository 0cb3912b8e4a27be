// What records are called and which code they ran, while cells change and run again.
#include <QSignalSpy>

#include "inspector/model/session/cell_names.h"
#include "tests/model/fake_source.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;

namespace {

/// Runs of cell "a": (first record, execution).
struct Runs {
  test::FakeSource source;
  Session session;
  CellNames names;

  explicit Runs(std::vector<std::pair<quint64, quint64>> runs) {
    session.setSource(&source);
    source.sendStatus();
    source.automatic = false;
    names.follow(&session);
    protocol::CellRuns answer;
    for (const auto& [first, execution] : runs) {
      protocol::CellRun run;
      run.cell = "a";
      run.first = first;
      run.execution = execution;
      answer.runs.push_back(run);
    }
    for (const test::FakeSource::Asked& one : source.asked)
      if (protocol::holds_alternative<protocol::GetCellRuns>(one.message))
        emit source.received(one.id, protocol::Reply(answer));
    names.setCode([](const QString& id) { return id + " now\n  second"; });
  }
};

}  // namespace

class TestCellNames : public QObject {
  Q_OBJECT

 private slots:
  void aRecordHasTheCodeOfItsExecution() {
    Runs runs({{1, 2}, {10, 3}, {20, 5}});
    runs.names.noteCode("a", 2, "first = 1\n  old()");
    runs.names.noteCode("a", 3, "first = 1\n  old()");  // as it was
    runs.names.noteCode("b", 4, "other");
    runs.names.noteCode("a", 5, "first = 2\n  new()");
    QCOMPARE(runs.names.code("a", 2, 1), QString("old()"));
    QCOMPARE(runs.names.code("a", 2, 9), QString("old()"));
    QCOMPARE(runs.names.code("a", 1, 19), QString("first = 1"));
    QCOMPARE(runs.names.code("a", 2, 20), QString("new()"));
    QCOMPARE(runs.names.code("a", 3, 20), QString());
    QCOMPARE(runs.names.newestCode("a"), QString("first = 2\n  new()"));
  }

  void aSessionThatBeginsAgainForgetsTheCodesOfTheOther() {
    Runs runs({});
    runs.names.noteCode("a", 1, "x");
    runs.names.noteCode("b", 2, "y");
    QCOMPARE(runs.names.code("b", 1, 7), QString("y"));
    runs.names.noteCode("a", 1, "z");
    QCOMPARE(runs.names.code("a", 1, 7), QString("z"));
    QCOMPARE(runs.names.newestCode("b"), QString());
  }

  void withoutNotesOnlyTheNewestRunHasTheCodeThatIsThere() {
    Runs runs({{1, 2}, {10, 3}});
    QCOMPARE(runs.names.code("a", 2, 12), QString("second"));
    QCOMPARE(runs.names.code("a", 2, 5), QString());  // the cell may have changed since
    QCOMPARE(runs.names.code("/home/user/model.py", 2, 5), QString("second"));
    runs.names.noteNewestCode("a", "as it ran");
    QCOMPARE(runs.names.code("a", 1, 12), QString("as it ran"));
    QCOMPARE(runs.names.code("a", 1, 5), QString());
  }

  void manyRunsOneAfterAnotherAreToldTogether() {
    Runs runs({});
    QSignalSpy changed(&runs.names, &CellNames::changed);
    runs.names.noteCode("first", 1, "x");
    QCOMPARE(changed.size(), 1);  // one alone is reported at once
    for (int i = 2; i <= 500; ++i) runs.names.noteCode(QString("cell %1").arg(i), i, "x");
    QCOMPARE(changed.size(), 1);
    QTRY_COMPARE(changed.size(), 2);
    QCOMPARE(runs.names.newestCode("cell 500"), QString("x"));
    runs.names.rename({{"first", "cell [1]"}});
    QCOMPARE(changed.size(), 3);
    runs.names.rename({{"first", "cell [1]"}});
    QCOMPARE(changed.size(), 3);
    QCOMPARE(runs.names.name("first"), QString("cell [1]"));
  }
};

TAPEDECK_TEST(TestCellNames)
#include "tst_cell_names.moc"
