// Recovery files: when they are written, whose they are, and what is made of damaged ones.
#include <sys/stat.h>

#include <QDir>
#include <QProcess>
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QtTest>
#include <csignal>

#include "app/control/recovery.h"
#include "app/control/recovery_journal.h"
#include "app/notebook/document/document.h"
#include "tests/files.h"
#include "tests/notebook/sample_notebook.h"
#include "tests/patience.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using namespace tapedeck::test;

namespace {

/// The notebook that would be restored.
QByteArray kept(const QString& file) {
  RecoveryEntry entry;
  entry.file = file;
  return readRecovery(entry);
}

/// Types and sources, in the order of the cells.
QStringList cellsOf(const Document& document) {
  QStringList cells;
  for (int i = 0; i < document.cellCount(); ++i)
    cells << QString("%1 %2").arg(static_cast<int>(document.cell(i).type)).arg(document.cell(i).source);
  return cells;
}

QStringList keptCells(const QString& file) {
  Document document;
  document.recover(kept(file), {});
  return cellsOf(document);
}

}  // namespace

class TestRecoveryFiles : public QObject {
  Q_OBJECT

  QTemporaryDir data_;

 private slots:
  // Tests that run at the same time keep theirs elsewhere; the crashing runs get this one too.
  void initTestCase() { qputenv("XDG_DATA_HOME", data_.path().toUtf8()); }
  void init() {
    QDir(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/recovery").removeRecursively();
  }

  void aRecoveryFileIsKeptWhileModified() {
    QTemporaryDir folder;
    Document document;
    {
      RecoveryWriter writer(&document);
      QSignalSpy written(&writer, &RecoveryWriter::written);
      writer.setDelays(20, 200);
      tapedeck::nothingMayHappenFor(60);
      QCOMPARE(written.count(), 0);
      document.setSource(0, "x = 1");
      QVERIFY(written.wait());
      const QString file = writer.file();
      struct stat status;
      QCOMPARE(::stat(file.toLocal8Bit().constData(), &status), 0);
      QCOMPARE(status.st_mode & 0777, 0600U);
      QVERIFY(contents(file).endsWith(document.serialize()));
      QVERIFY2(pendingRecoveries().isEmpty(), "a living process' file must not be offered");
      document.setSource(0, "x = 2");
      QVERIFY(written.wait());
      QVERIFY(kept(file).contains("x = 2"));
      document.save(folder.filePath("a.ipynb"));
      QVERIFY(!QFile::exists(file));
      document.setSource(0, "x = 3");
      QVERIFY(written.wait());
      QVERIFY(QFile::exists(writer.file()));
    }
    const QString root = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/recovery";
    for (const QString& name : QDir(root).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
      QVERIFY(QDir(root + "/" + name).entryList({"*.recovery", "*.journal"}).isEmpty());
    }
  }

  void whatACrashLeftIsOfferedAndRecovered() {
    QProcess crashing;
    crashing.start(QCoreApplication::applicationFilePath(), {"--crash", "/home/someone/lost work.ipynb"});
    QVERIFY(crashing.waitForFinished());
    QCOMPARE(crashing.exitStatus(), QProcess::CrashExit);
    const QList<RecoveryEntry> entries = pendingRecoveries();
    QCOMPARE(entries.size(), 1);
    QVERIFY(entries[0].time.secsTo(QDateTime::currentDateTimeUtc()) < 120);
    Document document;
    const QByteArray bytes = readRecovery(entries[0]);
    QCOMPARE(entries[0].size, bytes.size());
    document.recover(bytes, entries[0].path);
    QCOMPARE(document.cell(0).source, "lost = 'é'");
    QVERIFY(document.modified());
    discardRecovery(entries[0]);
    QVERIFY(pendingRecoveries().isEmpty());
    QVERIFY(!QFileInfo::exists(QFileInfo(entries[0].file).absolutePath()));
  }

  void changesDuringAWriteAreInTheNextOne() {
    Document document;
    RecoveryWriter writer(&document);
    writer.setDelays(100'000, 100'000);
    writer.setWholeDelays(100'000, 100'000);
    QSignalSpy written(&writer, &RecoveryWriter::written);
    const QString id = document.cell(0).id;
    document.appendOutput(id, display({{"image/png", std::string(20'000'000, 'A')}}));
    document.setSource(0, "first");
    writer.writeNow();
    document.setSource(0, "second");
    document.appendOutput(id, stream("later"));
    QVERIFY(written.wait(20000));
    QVERIFY(contents(writer.file()).contains("first"));
    QVERIFY(!contents(writer.file()).contains("later"));
    writer.writeNow();
    QVERIFY(written.wait(20000));
    QVERIFY(contents(writer.file()).contains("later"));
  }

  void damagedRecoveryFilesAreNotListed() {
    QProcess crashing;
    crashing.start(QCoreApplication::applicationFilePath(), {"--crash", "/x.ipynb"});
    QVERIFY(crashing.waitForFinished());
    const QList<RecoveryEntry> entries = pendingRecoveries();
    QCOMPARE(entries.size(), 1);
    const QByteArray whole = contents(entries[0].file);
    const qsizetype header = whole.indexOf('\n');
    for (qsizetype cut = 0; cut <= header + 1; ++cut) {
      write(entries[0].file, whole.left(cut));
      QVERIFY2(pendingRecoveries().isEmpty(), qPrintable(QString::number(cut)));
    }
    for (const char* first : {"[]\nx", "{\"path\": 1, \"time\": \"x\"}\nx",
                              "{\"path\": \"a\", \"time\": \"never\"}\nx", "\xff\nx"}) {
      write(entries[0].file, first);
      QVERIFY2(pendingRecoveries().isEmpty(), first);
    }
    // A truncated notebook is recognised when it is opened.
    write(entries[0].file, whole.left(header + 20));
    QCOMPARE(pendingRecoveries().size(), 1);
    Document document;
    QVERIFY_EXCEPTION_THROWN(document.recover(readRecovery(pendingRecoveries()[0]), "/x.ipynb"),
                             NotebookError);
  }

  void mutatedRecoveryHeadersAreReadOrLeft() {
    QProcess crashing;
    crashing.start(QCoreApplication::applicationFilePath(), {"--crash", "/home/someone/ä.ipynb"});
    QVERIFY(crashing.waitForFinished());
    const QString file = pendingRecoveries()[0].file;
    const QByteArray whole = contents(file);
    const auto header = static_cast<quint32>(whole.indexOf('\n') + 1);
    QRandomGenerator random(31);
    int listed = 0;
    for (int round = 0; round < 1500; ++round) {
      QByteArray bytes = whole;
      for (int change = 0; change <= round % 3; ++change) {
        const qsizetype at = random.bounded(header);
        if (random.bounded(3) == 0)
          bytes.remove(at, random.bounded(1, 30));
        else
          bytes[at] = static_cast<char>(random.bounded(2) == 0 ? random.bounded(256)
                                                               : "{}[]\",:\\0\n"[random.bounded(10)]);
      }
      write(file, bytes);
      const QList<RecoveryEntry> entries = pendingRecoveries();
      QVERIFY(entries.size() <= 1);
      if (entries.isEmpty()) continue;
      ++listed;
      QVERIFY(entries[0].time.isValid() && entries[0].size > 0);
      Document document;
      try {
        document.recover(readRecovery(entries[0]), entries[0].path);
        QVERIFY(document.modified());
      } catch (const NotebookError& error) {
        QVERIFY(!QByteArray(error.what()).isEmpty());
      }
    }
    QVERIFY(listed > 50);
    // A header without an end, and one of another program.
    write(file, QByteArray(200'000, '{'));
    QVERIFY(pendingRecoveries().isEmpty());
    write(file, "{\"path\": null, \"time\": []}\n{}");
    QVERIFY(pendingRecoveries().isEmpty());
  }

  void changesAreKeptInTheFirstPauseAndWhileTheyGoOn() {
    Document document;
    RecoveryWriter writer(&document);
    QSignalSpy written(&writer, &RecoveryWriter::written);
    // Changes that leave no pause are written all the same.
    writer.setDelays(100'000, 100);
    document.setSource(0, "a");
    QVERIFY(written.wait());
    // And a pause is enough.
    writer.setDelays(50, 100'000);
    document.setSource(0, "b");
    QVERIFY(written.wait());
    QVERIFY(kept(writer.file()).contains("\"b\""));
    // Nothing new, nothing written.
    QVERIFY(!written.wait(300));
  }

  void typingThatNeverPausesIsKept() {
    Document document;
    RecoveryWriter writer(&document);
    QSignalSpy written(&writer, &RecoveryWriter::written);
    writer.setDelays(10'000, 50);
    QElapsedTimer clock;
    clock.start();
    for (int key = 0; written.count() < 4 && clock.elapsed() < tapedeck::patience; ++key) {
      document.setSource(0, document.cell(0).source + "k");
      QTest::qWait(5);
    }
    QVERIFY(written.count() >= 4);
    QVERIFY(keptCells(writer.file())[0].size() > 3);
  }

  void aLargeNotebookIsNotWrittenAgainForWhatIsTyped() {
    Document document;
    document.appendOutput(document.cell(0).id, display({{"image/png", std::string(5'000'000, 'A')}}));
    RecoveryWriter writer(&document);
    QSignalSpy written(&writer, &RecoveryWriter::written);
    writer.writeNow();
    QVERIFY(written.wait(20'000));
    writer.setDelays(10, 50);
    writer.setWholeDelays(10, 50);
    const FileState whole = fileState(writer.file());
    for (int i = 0; i < 20; ++i) {
      document.setSource(0, QString("sentence %1").arg(i));
      QVERIFY(written.wait());
    }
    QCOMPARE(fileState(writer.file()), whole);
    QVERIFY(QFileInfo(journalOf(writer.file())).size() < 20'000);
    struct stat status;
    QCOMPARE(::stat(journalOf(writer.file()).toLocal8Bit().constData(), &status), 0);
    QCOMPARE(status.st_mode & 0777, 0600U);
    QCOMPARE(keptCells(writer.file()), QStringList("0 sentence 19"));
    QVERIFY2(kept(writer.file()).size() > 5'000'000, "outputs stay");
    // A notebook that is written anew has it all; the journal begins again.
    document.appendOutput(document.cell(0).id, stream("later"));
    QTRY_VERIFY_WITH_TIMEOUT(contents(writer.file()).contains("later"), tapedeck::patience);
    QTRY_VERIFY_WITH_TIMEOUT(!QFile::exists(journalOf(writer.file())), tapedeck::patience);
    QVERIFY(contents(writer.file()).contains("sentence 19"));
  }

  void cellsThatCameWentAndMovedAreInTheJournal() {
    Document document;
    document.recover(QByteArray::fromStdString(
                         notebookOf(nlohmann::json::array(
                                        {codeCell("a", "a"), markdownCell("b", "b"), codeCell("c", "c")}))
                             .toStdString()),
                     {});
    RecoveryWriter writer(&document);
    QSignalSpy written(&writer, &RecoveryWriter::written);
    writer.writeNow();
    QVERIFY(written.wait());
    const QByteArray whole = contents(writer.file());
    writer.setDelays(10, 50);
    writer.setWholeDelays(100'000, 100'000);
    const auto holds = [&] {
      return tapedeck::waitFor([&] { return keptCells(writer.file()) == cellsOf(document); });
    };
    document.insertCell(1, CellType::markdown, "new\n\"quoted\" é \U0001F600");
    QVERIFY(holds());
    document.moveCell(0, 3);
    QVERIFY(holds());
    document.removeCell(0);
    document.setSource(0, "changed");
    QVERIFY(holds());
    document.setCellType(1, CellType::raw);
    QVERIFY(holds());
    document.undoStructure();
    document.undoStructure();
    QVERIFY(holds());
    QCOMPARE(contents(writer.file()), whole);
  }

  void cellsOfAFileWithoutIdsAreFound() {
    Document document;
    document.recover(R"({"cells": [{"cell_type": "markdown", "metadata": {}, "source": "first"},
      {"cell_type": "markdown", "metadata": {}, "source": "second"}],
      "metadata": {}, "nbformat": 4, "nbformat_minor": 2})",
                     {});
    RecoveryWriter writer(&document);
    QSignalSpy written(&writer, &RecoveryWriter::written);
    writer.writeNow();
    QVERIFY(written.wait());
    QVERIFY(!contents(writer.file()).contains("\"id\""));
    writer.setDelays(10, 50);
    document.setSource(1, "typed");
    QVERIFY(written.wait());
    QCOMPARE(keptCells(writer.file()), QStringList({"1 first", "1 typed"}));
  }

  void aJournalThatWasCutOffLosesItsLastRecordAlone() {
    Document document;
    RecoveryWriter writer(&document);
    QSignalSpy written(&writer, &RecoveryWriter::written);
    writer.setDelays(5, 50);
    for (const char* text : {"one", "two", "three"}) {
      document.setSource(0, text);
      QVERIFY(written.wait());
    }
    const QString journal = journalOf(writer.file());
    const QByteArray whole = contents(journal);
    QCOMPARE(whole.count('\n'), 2);
    const qsizetype first = whole.indexOf('\n') + 1;
    for (qsizetype cut = 0; cut <= whole.size(); ++cut) {
      write(journal, whole.left(cut));
      const QString expected = cut == whole.size() ? "0 three" : cut >= first ? "0 two" : "0 one";
      QCOMPARE(keptCells(writer.file()), QStringList(expected));
    }
    // A record that cannot be read costs nothing but itself; one of another writer is none.
    write(journal, "{broken\n" + whole.mid(first));
    QCOMPARE(keptCells(writer.file()), QStringList("0 three"));
    write(journal, QByteArray(whole).replace("\"writer\":\"", "\"writer\":\"x"));
    QCOMPARE(keptCells(writer.file()), QStringList("0 one"));
    QRandomGenerator random(7);
    for (int round = 0; round < 500; ++round) {
      QByteArray bytes = whole;
      for (int change = 0; change <= round % 3; ++change)
        bytes[random.bounded(static_cast<quint32>(bytes.size()))] = "{}[]\",:\\0\n"[random.bounded(10)];
      write(journal, bytes);
      QVERIFY(keptCells(writer.file()).size() <= 3);
    }
    write(journal, whole);
  }

  void aJournalThatCannotBeWrittenIsToldAndTriedAgain() {
    Document document;
    RecoveryWriter writer(&document);
    QSignalSpy written(&writer, &RecoveryWriter::written), failed(&writer, &RecoveryWriter::failed);
    writer.setDelays(5, 50);
    document.setSource(0, "one");
    QVERIFY(written.wait());
    const QString journal = journalOf(writer.file());
    QVERIFY(QDir().mkpath(journal));
    document.setSource(0, "two");
    QVERIFY(failed.wait());
    QVERIFY2(failed[0][0].toString().contains("can't be written"), qPrintable(failed[0][0].toString()));
    QVERIFY(QDir().rmdir(journal));
    QVERIFY(written.wait());
    QCOMPARE(keptCells(writer.file()), QStringList("0 two"));
  }

  void aJournalGoesWithItsFile() {
    QTemporaryDir folder;
    QProcess crashing;
    crashing.start(QCoreApplication::applicationFilePath(),
                   {"--crash", folder.filePath("a.ipynb"), "typed at last"});
    QVERIFY(crashing.waitForFinished());
    const RecoveryEntry entry = pendingRecoveries()[0];
    QVERIFY(QFile::exists(journalOf(entry.file)));
    QVERIFY(!contents(entry.file).contains("typed at last"));
    QVERIFY(readRecovery(entry).contains("typed at last"));
    Document document;
    RecoveryWriter writer(&document);
    QSignalSpy written(&writer, &RecoveryWriter::written);
    document.recover(readRecovery(entry), entry.path);
    QVERIFY(writer.adopt(entry));
    QVERIFY(!QFileInfo::exists(QFileInfo(entry.file).absolutePath()));
    QVERIFY(kept(writer.file()).contains("typed at last"));
    writer.setDelays(5, 50);
    for (const char* text : {"of the next run", "and more of it"}) {
      document.setSource(0, text);
      QVERIFY(written.wait());
      QCOMPARE(keptCells(writer.file()), QStringList(QString("0 ") + text));
    }
    const QString journal = journalOf(writer.file());
    document.save(entry.path);
    QTRY_VERIFY(!QFile::exists(journal));
  }

  void anAdoptedFileStaysUntilTheDocumentIsSaved() {
    QTemporaryDir folder;
    QProcess crashing;
    crashing.start(QCoreApplication::applicationFilePath(), {"--crash", folder.filePath("a.ipynb")});
    QVERIFY(crashing.waitForFinished());
    const RecoveryEntry entry = pendingRecoveries()[0];
    const QByteArray kept = contents(entry.file);
    Document document;
    RecoveryWriter writer(&document);
    document.recover(readRecovery(entry), entry.path);
    QVERIFY(writer.adopt(entry));
    QVERIFY(!QFile::exists(entry.file));
    QCOMPARE(contents(writer.file()), kept);
    QVERIFY2(pendingRecoveries().isEmpty(), "it is this process' own now");
    // Two that want it: the second one gets an error.
    Document other;
    RecoveryWriter second(&other);
    QVERIFY(!second.adopt(entry));
    document.save(entry.path);
    QVERIFY(writer.file().isEmpty());
    QVERIFY(contents(entry.path).contains("lost"));
  }
};

namespace {

/// Another run of the program: works on a notebook, and ends without being asked to.
int crash(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 1;
  QCoreApplication app(argc, argv);
  Document document;
  document.recover(QByteArray::fromStdString(
                       notebookOf(nlohmann::json::array({codeCell("c", "lost = 'é'")})).toStdString()),
                   argv[2]);
  RecoveryWriter writer(&document);
  int count = 0;
  QObject::connect(&writer, &RecoveryWriter::written, [&] {
    if (++count == argc - 2) std::raise(SIGKILL);
    document.setSource(0, argv[argc - 1]);
  });
  writer.setDelays(5, 50);
  writer.writeNow();
  return app.exec();
}

}  // namespace

TAPEDECK_TEST_PROCESS("--crash", crash)
TAPEDECK_TEST(TestRecoveryFiles)
#include "tst_recovery_files.moc"
