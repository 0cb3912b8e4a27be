// Notebooks on disk: atomic saves, what can go wrong, damaged input.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QDir>
#include <QProcess>
#include <QRandomGenerator>
#include <QTemporaryDir>
#include <QtTest>
#include <csignal>

#include "app/notebook/document/document.h"
#include "app/notebook/document/json_text.h"
#include "tests/files.h"
#include "tests/notebook/sample_notebook.h"
#include "tests/test_program.h"

using namespace tapedeck::app;
using namespace tapedeck::test;

namespace {

QString saveError(Document& document, const QString& path) {
  try {
    document.save(path);
  } catch (const NotebookError& error) {
    return QString::fromUtf8(error.what());
  }
  return {};
}

QString loadError(const QString& path) {
  Document document;
  try {
    document.load(path);
  } catch (const NotebookError& error) {
    return QString::fromUtf8(error.what());
  }
  return {};
}

QByteArray sample() {
  return notebookOf({markdownCell("m", "# Title"),
                     codeCell("c", "print('é')",
                              nlohmann::json::array({stream("é\n"), result(1, {{"text/plain", "1"}})}), 1)});
}

}  // namespace

class TestDocumentFiles : public QObject {
  Q_OBJECT

 private slots:
  void savesAndLoads() {
    QTemporaryDir folder;
    const QString path = folder.filePath("ä b.ipynb");
    Document document;
    document.setSource(0, "x = 1");
    document.save(path);
    QVERIFY(!document.modified());
    QCOMPARE(document.path(), path);
    QCOMPARE(contents(path), document.serialize());
    QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden), QStringList{"ä b.ipynb"});
    Document again;
    again.load(path);
    QCOMPARE(again.cell(0).source, "x = 1");
    QVERIFY(!again.readOnly());
  }

  void savingKeepsPermissionsAndFollowsLinks() {
    QTemporaryDir folder;
    const QString path = folder.filePath("real.ipynb");
    const QString link = folder.filePath("link.ipynb");
    write(path, sample());
    ::chmod(path.toLocal8Bit().constData(), 0640);
    QVERIFY(QFile::link(path, link));
    Document document;
    document.load(link);
    document.setSource(1, "changed");
    document.save(link);
    QVERIFY(QFileInfo(link).isSymLink());
    QVERIFY(contents(path).contains("changed"));
    struct stat status;
    QCOMPARE(::stat(path.toLocal8Bit().constData(), &status), 0);
    QCOMPARE(status.st_mode & 0777, 0640U);
  }

  void aFullDiskLeavesTheOldFile() {
    QTemporaryDir folder;
    const QString path = folder.filePath("a.ipynb");
    write(path, sample());
    Document document;
    document.load(path);
    document.setSource(1, QString(200'000, 'x'));
    // A limit on the size of files simulates a full disk.
    struct rlimit old;
    ::getrlimit(RLIMIT_FSIZE, &old);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit tiny = {4096, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tiny);
    const QString error = saveError(document, path);
    ::setrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, handler);
    QCOMPARE(error, path +
                        " can't be saved: the file would be larger than this process may write. The file on "
                        "disk is unchanged.");
    QCOMPARE(contents(path), sample());
    QVERIFY(document.modified());
    QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden), QStringList{"a.ipynb"});
    document.save(path);
    QVERIFY(contents(path).contains("xxxx"));
  }

  void aFullFileSystemLeavesTheOldFile() {
    QTemporaryDir folder;
    const QString mount = folder.path();
    if (::geteuid() != 0 ||
        QProcess::execute("mount", {"-t", "tmpfs", "-o", "size=64k", "tmpfs", mount}) != 0) {
      QSKIP("a small file system can't be mounted here: needs root with the right to mount");
    }
    const QString path = mount + "/a.ipynb";
    write(path, sample());
    Document document;
    document.load(path);
    document.setSource(1, QString(200'000, 'x'));
    const QString error = saveError(document, path);
    const QByteArray left = contents(path);
    const QStringList files = QDir(mount).entryList(QDir::Files | QDir::Hidden);
    QProcess::execute("umount", {mount});
    QCOMPARE(error, path + " can't be saved: the disk is full. The file on disk is unchanged.");
    QCOMPARE(left, sample());
    QCOMPARE(files, QStringList{"a.ipynb"});
  }

  void readOnlyFilesAreNotReplaced() {
    QTemporaryDir folder;
    const QString path = folder.filePath("a.ipynb");
    write(path, sample());
    ::chmod(path.toLocal8Bit().constData(), 0444);
    Document document;
    document.load(path);
    QVERIFY(document.readOnly());
    document.setSource(0, "x");
    QCOMPARE(saveError(document, path), path + " can't be saved: the file is read-only.");
    QCOMPARE(contents(path), sample());
  }

  void foldersThatCantBeWrittenAreNamed() {
    QTemporaryDir folder;
    QFile::setPermissions(folder.path(), QFileDevice::ReadOwner | QFileDevice::ExeOwner |
                                             QFileDevice::ReadOther | QFileDevice::ExeOther);
    Document document;
    const QString path = folder.filePath("a.ipynb");
    const bool root = ::geteuid() == 0;
    if (root) QCOMPARE(::seteuid(65534), 0);
    const QString error = saveError(document, path);
    if (root) QCOMPARE(::seteuid(0), 0);
    QFile::setPermissions(folder.path(),
                          QFileDevice::ReadOwner | QFileDevice::WriteOwner | QFileDevice::ExeOwner);
    QCOMPARE(error,
             QString("%1 can't be saved: nothing can be written in the folder %2, you have no permission.")
                 .arg(path, folder.path()));
    QCOMPARE(saveError(document, "/no/such/folder/a.ipynb"),
             QString("/no/such/folder/a.ipynb can't be saved: there is no folder /no/such/folder."));
    QCOMPARE(saveError(document, folder.path()), folder.path() + " can't be saved: it is a folder.");
  }

  void filesThatCantBeReadAreNamed() {
    QTemporaryDir folder;
    QCOMPARE(loadError(folder.filePath("none.ipynb")),
             "There is no file " + folder.filePath("none.ipynb") + ".");
    QCOMPARE(loadError(folder.path()), folder.path() + " is a folder, not a notebook.");
    const QString huge = folder.filePath("huge.ipynb");
    write(huge, "{");
    QCOMPARE(::truncate(huge.toLocal8Bit().constData(), off_t(3) << 30), 0);
    QVERIFY(loadError(huge).startsWith(
        "huge.ipynb has 3.00 GiB; notebooks of more than 2.00 GiB can't be opened."));
  }

  // ---- damaged input ----

  void truncatedNotebooksAreRefused() {
    const QByteArray whole = sample();
    for (qsizetype length = 0; length < whole.size(); ++length) {
      Document document;
      QString error;
      try {
        document.parse(whole.left(length), "x.ipynb");
      } catch (const NotebookError& problem) {
        error = QString::fromUtf8(problem.what());
      }
      QVERIFY2(
          error.startsWith(length == 0 ? "x.ipynb is empty" : "x.ipynb is cut off: it ends in the middle of"),
          qPrintable(error));
    }
  }

  void mutatedNotebooksAreReadOrRefused() {
    QRandomGenerator random(20240607);
    const QByteArray whole = sample();
    int read = 0;
    int refused = 0;
    for (int round = 0; round < 6000; ++round) {
      QByteArray bytes = whole;
      const int changes = 1 + static_cast<int>(random.bounded(4));
      for (int i = 0; i < changes; ++i) {
        const qsizetype at = static_cast<qsizetype>(random.bounded(static_cast<quint32>(bytes.size())));
        switch (random.bounded(4)) {
          case 0:
            bytes[at] = static_cast<char>(random.bounded(256));
            break;
          case 1:
            bytes.remove(at, random.bounded(1, 20));
            break;
          case 2:
            bytes.insert(
                at,
                bytes.mid(static_cast<qsizetype>(random.bounded(static_cast<quint32>(bytes.size()))), 12));
            break;
          default:
            bytes[at] = "{}[]\",:\\0-e.n"[random.bounded(13)];
        }
        if (bytes.isEmpty()) bytes = "x";
      }
      Document document;
      try {
        document.parse(bytes, "x.ipynb");
        ++read;
      } catch (const NotebookError& error) {
        ++refused;
        QVERIFY(QString::fromUtf8(error.what()).startsWith("x.ipynb"));
        continue;
      }
      // What was read must be a notebook again when it is written.
      document.insertCell(0, CellType::code, "new");
      Document again;
      again.parse(document.serialize(), "again");
      QCOMPARE(again.cellCount(), document.cellCount());
      for (int i = 0; i < again.cellCount(); ++i) QCOMPARE(again.cell(i).source, document.cell(i).source);
    }
    QVERIFY(read > 100);
    QVERIFY(refused > 100);
  }

  void pythonReadsEveryFloatThatIsWritten() {
    QRandomGenerator random(7);
    QStringList texts;
    for (int i = 0; i < 4000; ++i) {
      const quint64 bits = random.generate64();
      double value = 0;
      std::memcpy(&value, &bits, sizeof value);
      if (i % 4 == 0) value = static_cast<double>(static_cast<qint64>(bits >> 20)) / 1000.0;
      texts += QString::fromStdString(floatText(value)).replace("Infinity", "inf").replace("NaN", "nan");
    }
    QProcess python;
    python.start("/usr/bin/python3",
                 {"-c", "import sys\nfor t in sys.stdin.read().split(): print(repr(float(t)))"});
    python.write(texts.join('\n').toLatin1());
    python.closeWriteChannel();
    QVERIFY(python.waitForFinished());
    QCOMPARE(QString::fromLatin1(python.readAllStandardOutput()).split('\n', Qt::SkipEmptyParts), texts);
  }
};

TAPEDECK_TEST(TestDocumentFiles)

#include "tst_document_files.moc"
