// The list of programs that can be attached to: it shows and removes only what this user's programs wrote.
#include <sys/stat.h>
#include <unistd.h>

#include <QTemporaryDir>

#include "app/kernel/debug/program_list.h"
#include "tests/files.h"
#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

/// No process has it: the kernel gives none beyond 4,194,304.
constexpr const char* gone = "4999999-17";

}  // namespace

class TestProgramList : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;

  QString path(const QString& name) const { return folder_->filePath(name); }
  QString base() const { return path("tmp/tapedeck-%1").arg(::geteuid()); }

  static void makeFolder(const QString& path, int mode = 0700) {
    QVERIFY(QDir().mkpath(path));
    QCOMPARE(::chmod(QFile::encodeName(path).constData(), static_cast<mode_t>(mode)), 0);
  }
  static void write(const QString& path, const QByteArray& bytes = "x", int mode = 0600) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(bytes);
    file.close();
    QCOMPARE(::chmod(QFile::encodeName(path).constData(), static_cast<mode_t>(mode)), 0);
  }
  /// An entry as attachable.py makes it.
  void makeEntry(const QString& programs, const QString& name) {
    makeFolder(programs);
    makeFolder(programs + "/" + name);
    for (const char* file : {"program.json", "program.json.new", "debug"})
      write(programs + "/" + name + "/" + file);
  }
  /// An entry of this process, which runs.
  QByteArray ownEntry(QString* name) const {
    QFile file("/proc/self/stat");
    if (!file.open(QIODevice::ReadOnly)) return {};
    const QByteArray text = file.readAll();
    const QByteArray ticks = text.mid(text.lastIndexOf(')') + 2).split(' ')[19];
    *name = QString("%1-%2").arg(::getpid()).arg(QString(ticks));
    return QString(
               "{\"pid\": %1, \"started_ticks\": %2, \"started\": 1e300, \"file\": \"/a/train.py\", "
               "\"program\": [\"train.py\"],"
               " \"folder\": \"/a\", \"endpoint\": \"ipc:///a/debug\", \"key\": \"k\", \"protocol_version\": "
               "1}")
        .arg(::getpid())
        .arg(QString(ticks))
        .toUtf8();
  }

 private slots:
  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    makeFolder(path("tmp"));
  }

  void entriesOfDeadProgramsAreRemovedWithTheirFilesAlone() {
    makeFolder(base());
    makeEntry(base() + "/programs", gone);
    makeEntry(base() + "/programs", "4999998-17");
    write(base() + "/programs/4999998-17/mine");
    QVERIFY(runningPrograms({base()}).isEmpty());
    QVERIFY(!QFile::exists(base() + "/programs/" + gone));
    QCOMPARE(QDir(base() + "/programs/4999998-17").entryList(QDir::Files), QStringList{"mine"});
  }

  /// In a folder that all users share, another user takes the name, as a link to the user's folder.
  void nothingIsRemovedThroughALink_data() {
    QTest::addColumn<QString>("link");
    QTest::addColumn<QString>("target");
    QTest::newRow("the runtime folder") << ""
                                        << "elsewhere";
    QTest::newRow("programs") << "/programs"
                              << "elsewhere/programs";
    QTest::newRow("an entry") << QString("/programs/") + gone << QString("elsewhere/programs/") + gone;
  }
  void nothingIsRemovedThroughALink() {
    QFETCH(QString, link);
    QFETCH(QString, target);
    makeFolder(path("elsewhere"));
    makeEntry(path("elsewhere/programs"), gone);
    if (!link.isEmpty()) makeFolder(base());
    if (link.count('/') == 2) makeFolder(base() + "/programs");
    QVERIFY(QFile::link(path(target), base() + link));
    QVERIFY(runningPrograms({base()}).isEmpty());
    QCOMPARE(QDir(path("elsewhere/programs/") + gone).entryList(QDir::Files).size(), 3);
  }

  void nothingIsRemovedWhereOthersCouldHavePutIt_data() {
    QTest::addColumn<QString>("folder");
    QTest::newRow("the runtime folder") << "";
    QTest::newRow("programs") << "/programs";
    QTest::newRow("the entry") << QString("/programs/") + gone;
    QTest::newRow("around them") << "/..";
  }
  void nothingIsRemovedWhereOthersCouldHavePutIt() {
    QFETCH(QString, folder);
    makeFolder(base());
    makeEntry(base() + "/programs", gone);
    QCOMPARE(::chmod(QFile::encodeName(base() + folder).constData(), 0777), 0);
    QVERIFY(runningPrograms({base()}).isEmpty());
    QCOMPARE(QDir(base() + "/programs/" + gone).entryList(QDir::Files).size(), 3);
  }

  void aLinkedFileIsRemovedAndNotWhatItNames() {
    makeFolder(base());
    makeEntry(base() + "/programs", gone);
    write(path("precious"));
    const QString file = base() + "/programs/" + gone + "/debug";
    QVERIFY(QFile::remove(file) && QFile::link(path("precious"), file));
    QVERIFY(runningPrograms({base()}).isEmpty());
    QVERIFY(!QFile::exists(base() + "/programs/" + gone));
    QVERIFY(QFile::exists(path("precious")));
  }

  void otherNamesAreLeftAlone() {
    makeFolder(base());
    const QStringList names{"+4999999-17",  "04999999-17", "4999999-+17",
                            "4999999",      "a-b",         "-1",
                            "4999999-17-1", "0x5-17",      "99999999999999999999-17",
                            "4999999- 17"};
    for (const QString& name : names) makeEntry(base() + "/programs", name);
    QVERIFY(runningPrograms({base()}).isEmpty());
    for (const QString& name : names)
      QVERIFY2(QFile::exists(base() + "/programs/" + name + "/debug"), qPrintable(name));
  }

  void onlyAnEntryOfTheUsersOwnIsRead_data() {
    QTest::addColumn<int>("mode");
    QTest::addColumn<bool>("linked");
    QTest::addColumn<QByteArray>("behind");
    QTest::addColumn<int>("programs");
    QTest::newRow("own") << 0600 << false << QByteArray() << 1;
    QTest::newRow("others can write it") << 0622 << false << QByteArray() << 0;
    QTest::newRow("linked") << 0600 << true << QByteArray() << 0;
    QTest::newRow("nested without bound") << 0600 << false << QByteArray(200'000, '[') << 0;
    QTest::newRow("too long") << 0600 << false << QByteArray(2 << 20, ' ') << 0;
  }
  void onlyAnEntryOfTheUsersOwnIsRead() {
    QFETCH(int, mode);
    QFETCH(bool, linked);
    QFETCH(QByteArray, behind);
    QFETCH(int, programs);
    QString name;
    const QByteArray entry = ownEntry(&name) + behind;
    makeFolder(base());
    makeFolder(base() + "/programs");
    makeFolder(base() + "/programs/" + name);
    const QString file = base() + "/programs/" + name + "/program.json";
    write(linked ? path("other.json") : file, entry, mode);
    if (linked) QVERIFY(QFile::link(path("other.json"), file));
    QCOMPARE(runningPrograms({base()}).size(), programs);
    QVERIFY(QFile::exists(file));
    if (programs == 1)
      QCOMPARE(runningPrograms({base()})[0].title(), QString("train.py (pid %1)").arg(::getpid()));
  }

  void programsInTheCacheFolderAreFound() {
    QString name;
    const QByteArray entry = ownEntry(&name);
    write(base());  // another user has taken the name
    const QString programs = path("cache/tapedeck/run/programs");
    makeEntry(programs, name);
    makeFolder(path("cache/tapedeck/run"));
    makeFolder(path("cache/tapedeck"));
    write(programs + "/" + name + "/program.json", entry);
    QCOMPARE(runningPrograms({base(), path("cache/tapedeck/run")}).size(), 1);
  }
};

TAPEDECK_TEST(TestProgramList)
#include "tst_program_list.moc"
