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
#include "app/notebook/document/document.h"
#include "tests/files.h"
#include "tests/notebook/sample_notebook.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using namespace tapedeck::test;

class TestRecoveryFiles : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { QStandardPaths::setTestModeEnabled(true); }
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
      QVERIFY(contents(file).contains("x = 2"));
      document.save(folder.filePath("a.ipynb"));
      QVERIFY(!QFile::exists(file));
      document.setSource(0, "x = 3");
      QVERIFY(written.wait());
      QVERIFY(QFile::exists(writer.file()));
    }
    const QString root = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/recovery";
    for (const QString& name : QDir(root).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
      QVERIFY(QDir(root + "/" + name).entryList({"*.recovery"}).isEmpty());
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
    // A notebook that was cut off can be told when it is opened.
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
    QVERIFY(contents(writer.file()).contains("\"b\""));
    // Nothing new, nothing written.
    QVERIFY(!written.wait(300));
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
    // Two that want it: the second one is told.
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
  if (argc != 3) return 1;
  QCoreApplication app(argc, argv);
  QStandardPaths::setTestModeEnabled(true);
  Document document;
  document.recover(QByteArray::fromStdString(
                       notebookOf(nlohmann::json::array({codeCell("c", "lost = 'é'")})).toStdString()),
                   argv[2]);
  RecoveryWriter writer(&document);
  QObject::connect(&writer, &RecoveryWriter::written, [] { std::raise(SIGKILL); });
  writer.writeNow();
  return app.exec();
}

}  // namespace

TAPEDECK_TEST_PROCESS("--crash", crash)
TAPEDECK_TEST(TestRecoveryFiles)
#include "tst_recovery_files.moc"
