// What cells put out is in the recovery file soon, though the notebook is written seldom: each change of an
// output goes into the journal beside it, of a long text what is new.
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QtTest>

#include "app/control/recovery.h"
#include "app/control/recovery_journal.h"
#include "app/notebook/document/nbformat.h"
#include "tests/files.h"
#include "tests/notebook/sample_notebook.h"
#include "tests/patience.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using namespace tapedeck::test;

namespace {

struct Results {
  nlohmann::ordered_json outputs;
  int count = 0;
  nlohmann::ordered_json metadata;
  bool operator==(const Results&) const = default;
};

Results resultsOf(const Document& document, int index) {
  const Cell& cell = document.cell(index);
  return {storedOutputs(cell, 0), cell.executionCount,
          document.cellMembers(index).value("metadata", nlohmann::ordered_json())};
}

std::unique_ptr<Document> restored(const QString& file) {
  RecoveryEntry entry;
  entry.file = file;
  auto document = std::make_unique<Document>();
  document->recover(readRecovery(entry), {});
  return document;
}

std::string restoredText(const QString& file) {
  const auto document = restored(file);
  return document->cell(0).outputs.empty() ? std::string()
                                           : document->cell(0).outputs[0].value("text", std::string());
}

std::string lines(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) text += "line " + std::to_string(i) + " of a long output\n";
  return text;
}

}  // namespace

class TestRecoveryOutputs : public QObject {
  Q_OBJECT

  std::unique_ptr<Document> document_;
  std::unique_ptr<RecoveryWriter> writer_;
  QString id_;
  QTemporaryDir data_;

  /// From now on the notebook is not written again by itself.
  void write() {
    const FileState before = fileState(writer_->file());
    QVERIFY(tapedeck::waitFor([&] {
      // While it still learns that the one before is written it begins none.
      writer_->writeNow();
      const FileState now = fileState(writer_->file());
      return now.exists && now != before;
    }));
  }

  bool isRestored() const {
    return tapedeck::waitFor([&] {
      const auto other = restored(writer_->file());
      for (int i = 0; i < document_->cellCount(); ++i)
        if (resultsOf(*other, i) != resultsOf(*document_, i)) return false;
      return true;
    });
  }

 private slots:
  // Tests that run at the same time empty their folder.
  void initTestCase() { qputenv("XDG_DATA_HOME", data_.path().toUtf8()); }

  void init() {
    document_ = std::make_unique<Document>();
    document_->setSource(0, "print('a')");
    id_ = document_->cell(0).id;
    writer_ = std::make_unique<RecoveryWriter>(document_.get());
    writer_->setDelays(5, 50);
    writer_->setWholeDelays(10'000'000, 10'000'000);
    write();
  }

  void cleanup() {
    writer_.reset();
    document_.reset();
  }

  void everyChangeOfAnOutputIsRestoredWithoutTheNotebookBeingWrittenAgain() {
    const QByteArray whole = contents(writer_->file());
    document_->setExecutionCount(id_, 3);
    document_->setExecutionTimes(id_, {{"iopub.execute_input", "2026-11-28T12:00:00.000000Z"}});
    document_->appendOutput(id_, stream("first\n"));
    QVERIFY(isRestored());
    document_->appendOutput(id_, stream("second é\n"));
    document_->appendOutput(id_, stream("a warning\n", "stderr"));
    QVERIFY(isRestored());
    nlohmann::json shown = display({{"text/plain", "a picture"}, {"image/png", "AAAA"}});
    shown["transient"] = {{"display_id", "d"}};
    document_->appendOutput(id_, shown);
    document_->appendOutput(id_, result(3, {{"text/plain", "42"}}));
    QVERIFY(isRestored());
    document_->updateDisplay("d", {{"text/plain", "another one"}}, nlohmann::json::object());
    QVERIFY(isRestored());
    document_->clearOutputs(id_);
    document_->appendOutput(id_, stream("anew\n"));
    QVERIFY(isRestored());
    document_->appendOutput(id_, stream("\r10 %\r20 %\r30 %"));
    QVERIFY(isRestored());
    document_->appendOutput(id_, stream("\r100 %\n"));
    QVERIFY(isRestored());
    document_->removeOutputs({0});
    QVERIFY(isRestored());
    document_->undoStructure();
    QVERIFY(isRestored());
    QCOMPARE(contents(writer_->file()), whole);
  }

  void cellsThatArePastedBringTheirOutputs() {
    document_->appendOutput(id_, stream("copied with its cell\n"));
    document_->insertCells(1, document_->shareCells({0}));
    QVERIFY(isRestored());
    QVERIFY(restored(writer_->file())->cell(1).outputs[0]["text"] == "copied with its cell\n");
  }

  void ofALongTextTheJournalHasWhatIsNew() {
    document_->appendOutput(id_, stream(lines(0, 20'000)));
    QVERIFY(isRestored());
    const qint64 before = QFileInfo(journalOf(writer_->file())).size();
    document_->appendOutput(id_, stream("one line more\n"));
    QVERIFY(isRestored());
    const qint64 after = QFileInfo(journalOf(writer_->file())).size();
    QVERIFY2(after > before && after - before < 2'000, qPrintable(QString::number(after - before)));
  }

  void aTextThatTheNotebookHasAPartOfGoesOnAtItsEnd() {
    document_->appendOutput(id_, stream(lines(0, 200'000)));  // 6 MB, of which the file has 1 MB
    write();
    QVERIFY(contents(writer_->file()).contains("are not stored here"));
    document_->appendOutput(id_, stream("50 %"));
    document_->appendOutput(id_, stream("\r60 %\n"));
    document_->appendOutput(id_, stream("the end\n"));
    const std::string end = lines(199'000, 200'000) + "60 %\nthe end\n";
    QVERIFY(tapedeck::waitFor([&] { return restoredText(writer_->file()).ends_with(end); }));
    QVERIFY(restoredText(writer_->file()).starts_with(lines(0, 1'000)));
  }

  void ofVeryMuchAtOnceTheEndIsKeptAndWhatIsMissingIsSaid() {
    document_->appendOutput(id_, stream(lines(0, 100)));
    QVERIFY(isRestored());
    document_->appendOutput(id_, stream(lines(100, 200'000)));
    const auto ends = [&](const std::string& end) {
      return tapedeck::waitFor([&] { return restoredText(writer_->file()).ends_with(end); });
    };
    QVERIFY(ends(lines(199'000, 200'000)));
    std::string text = restoredText(writer_->file());
    QVERIFY(text.starts_with(lines(0, 100) + "[… "));
    QVERIFY(
        text.find(" of this output are missing here: Tapedeck ended before it had written them …]\nline ") !=
        std::string::npos);
    QVERIFY(QFileInfo(journalOf(writer_->file())).size() < 1'500'000);
    // It goes on behind that.
    document_->appendOutput(id_, stream("and on\n"));
    QVERIFY(ends(lines(199'000, 200'000) + "and on\n"));
    // The notebook that is written next has it again.
    write();
    QVERIFY(tapedeck::waitFor([&] { return !QFile::exists(journalOf(writer_->file())); }));
    text = restoredText(writer_->file());
    QVERIFY(text.find("are missing here") == std::string::npos && text.ends_with("and on\n"));
  }

  void whateverComesInWhateverOrderIsRestored() {
    QRandomGenerator random(5);
    document_->insertCell(1, CellType::code);
    const std::vector<std::string> pieces = {
        "é", "\n", "a\r", "bb\rc", "\u2028", "€uro ", std::string(300, 'x'), "\x1b[31mred"};
    for (int round = 0; round < 40; ++round) {
      for (int change = 0; change < 8; ++change) {
        const QString id = document_->cell(static_cast<int>(random.bounded(2))).id;
        const int what = static_cast<int>(random.bounded(12));
        if (what == 0)
          document_->clearOutputs(id);
        else if (what == 1)
          document_->appendOutput(id, display({{"text/plain", "shown"}}));
        else if (what == 2)
          document_->setExecutionCount(id, round + 1);
        else if (what == 3 && round % 7 == 3)
          writer_->writeNow();
        else
          document_->appendOutput(id, stream(pieces[random.bounded(quint64{pieces.size()})],
                                             what % 4 == 0 ? "stderr" : "stdout"));
        if (change % 3 == 0) QCoreApplication::processEvents();
      }
      QVERIFY2(isRestored(), qPrintable(QString::number(round)));
    }
  }

  void aDamagedRecordCostsNoMoreThanItself() {
    document_->appendOutput(id_, stream("kept\n"));
    document_->appendOutput(id_, display({{"text/html", "<b>kept</b>"}}));
    document_->setExecutionCount(id_, 4);
    QVERIFY(isRestored());
    const QString journal = journalOf(writer_->file());
    const QByteArray whole = contents(journal);
    QRandomGenerator random(11);
    for (int round = 0; round < 600; ++round) {
      QByteArray bytes = whole;
      for (int change = 0; change <= round % 3; ++change)
        bytes[random.bounded(static_cast<quint32>(bytes.size()))] = "{}[]\",:\\0n9\n"[random.bounded(12)];
      tapedeck::test::write(journal, bytes);
      QCOMPARE(restored(writer_->file())->cell(0).source, QString("print('a')"));
    }
    // What no notebook may hold is not taken from a journal either.
    QByteArray bytes = whole;
    tapedeck::test::write(journal, bytes.replace("\"text/html\":\"<b>kept</b>\"", "\"text/html\":17"));
    QCOMPARE(restored(writer_->file())->cell(0).source, QString("print('a')"));
    tapedeck::test::write(journal, whole);
  }

  void outputsThatCannotBeWrittenAreTriedAgain() {
    QSignalSpy failed(writer_.get(), &RecoveryWriter::failed);
    QVERIFY(QDir().mkpath(journalOf(writer_->file())));
    document_->appendOutput(id_, stream("one\n"));
    QVERIFY(failed.wait());
    document_->appendOutput(id_, stream("two\n"));
    QVERIFY(QDir().rmdir(journalOf(writer_->file())));
    QVERIFY(isRestored());
  }
};

TAPEDECK_TEST(TestRecoveryOutputs)
#include "tst_recovery_outputs.moc"
