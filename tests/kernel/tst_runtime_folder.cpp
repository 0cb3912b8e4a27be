// The folders in which sessions' sockets lie: whose they are, how long they stay.
#include <sys/stat.h>
#include <utime.h>

#include <QTemporaryDir>

#include "app/kernel/jupyter/connection.h"
#include "app/kernel/process/runtime_folder.h"
#include "tests/kernel/session_probe.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

int modeOf(const QString& path) {
  struct stat status {};
  return ::lstat(QFile::encodeName(path).constData(), &status) == 0 ? int(status.st_mode & 0777) : -1;
}

void makeOld(const QString& path) {
  const utimbuf hourAgo{::time(nullptr) - 3600, ::time(nullptr) - 3600};
  ::utime(QFile::encodeName(path).constData(), &hourAgo);
}

}  // namespace

class TestRuntimeFolder : public QObject {
  Q_OBJECT
 private slots:
  void init() { qputenv("XDG_RUNTIME_DIR", QFile::encodeName(runtime_.path())); }
  void folderAndFilesBelongToTheUserAlone();
  void foldersOfDeadProgramsAreRemoved();
  void aBaseFolderThatOthersCanEnterIsClosed();
  void aBaseFolderThatIsALinkIsNotUsed();
  void aBaseFolderWhereOthersCouldExchangeItIsNotUsed();
  void whereTheNameIsTakenTheCacheFolderIsUsed_data();
  void whereTheNameIsTakenTheCacheFolderIsUsed();
  void noFolderAtAllIsToldByAllPlaces();
  void aFolderOfAnotherUserIsNotRemoved();
  void aLongRuntimeFolderIsNotUsed();

 private:
  QTemporaryDir runtime_;
};

void TestRuntimeFolder::folderAndFilesBelongToTheUserAlone() {
  const QString base = runtime_.filePath("tapedeck");
  QString folder;
  {
    Probe probe;
    QVERIFY(startAndWait(probe));
    const auto folders = QDir(base).entryInfoList({"s-*"}, QDir::Dirs);
    QCOMPARE(folders.size(), 1);
    folder = folders[0].absoluteFilePath();
    QCOMPARE(modeOf(base), 0700);
    QCOMPARE(modeOf(folder), 0700);
    QCOMPARE(modeOf(folder + "/connection.json"), 0600);
    QVERIFY(QFile::exists(folder + "/k-1"));
    QFile file(folder + "/connection.json");
    QVERIFY(file.open(QIODevice::ReadOnly));
    const auto connection = nlohmann::json::parse(file.readAll().toStdString());
    QCOMPARE(connection["transport"], "ipc");
    QCOMPARE(connection["key"].get<std::string>().size(), std::size_t{64});
    probe.session.shutdown();
    QTRY_COMPARE_WITH_TIMEOUT(probe.session.state(), KernelState::stopped, generous);
    QVERIFY(!QFile::exists(folder));
    QVERIFY(startAndWait(probe));
    QCOMPARE(QDir(base).entryList({"s-*"}, QDir::Dirs).size(), 1);
  }
  QTRY_VERIFY_WITH_TIMEOUT(QDir(base).entryList({"s-*"}, QDir::Dirs).isEmpty(), generous);
}

void TestRuntimeFolder::foldersOfDeadProgramsAreRemoved() {
  QTemporaryDir base;
  RuntimeFolder living(base.path());
  makeOld(living.path());
  QDir(base.path()).mkdir("s-dead00");
  QFile lock(base.filePath("s-dead00/lock"));
  QVERIFY(lock.open(QIODevice::WriteOnly));
  lock.close();
  QDir(base.path()).mkdir("s-nolock");
  QDir(base.path()).mkdir("s-young0");
  QDir(base.path()).mkdir("another");
  for (const char* name : {"s-dead00", "s-nolock", "another"}) makeOld(base.filePath(name));
  QCOMPARE(RuntimeFolder::removeStale(base.path()), 2);
  QCOMPARE(QDir(base.path()).entryList(QDir::Dirs | QDir::NoDotAndDotDot).size(), 3);
  QVERIFY(QFile::exists(living.path() + "/lock"));
  QVERIFY(QFile::exists(base.filePath("s-young0")));
  QVERIFY(QFile::exists(base.filePath("another")));
}

void TestRuntimeFolder::aBaseFolderThatOthersCanEnterIsClosed() {
  QTemporaryDir runtime;
  QDir(runtime.path()).mkdir("tapedeck");
  ::chmod(QFile::encodeName(runtime.filePath("tapedeck")).constData(), 0755);
  qputenv("XDG_RUNTIME_DIR", QFile::encodeName(runtime.path()));
  QCOMPARE(RuntimeFolder::baseFolder(), runtime.filePath("tapedeck"));
  QCOMPARE(modeOf(runtime.filePath("tapedeck")), 0700);
}

void TestRuntimeFolder::aBaseFolderThatIsALinkIsNotUsed() {
  QTemporaryDir runtime;
  QTemporaryDir elsewhere;
  QVERIFY(QFile::link(elsewhere.path(), runtime.filePath("tapedeck")));
  qputenv("XDG_RUNTIME_DIR", QFile::encodeName(runtime.path()));
  QVERIFY(!RuntimeFolder::baseFolder().startsWith(runtime.path()));
}

void TestRuntimeFolder::aBaseFolderWhereOthersCouldExchangeItIsNotUsed() {
  QTemporaryDir shared;
  ::chmod(QFile::encodeName(shared.path()).constData(), 0777);
  qputenv("XDG_RUNTIME_DIR", QFile::encodeName(shared.path()));
  QVERIFY(!RuntimeFolder::baseFolder().startsWith(shared.path()));
  ::chmod(QFile::encodeName(shared.path()).constData(), 01777);  // as /tmp is: names belong to who made them
  QCOMPARE(RuntimeFolder::baseFolder(), shared.filePath("tapedeck"));
}

void TestRuntimeFolder::whereTheNameIsTakenTheCacheFolderIsUsed_data() {
  QTest::addColumn<QString>("by");
  for (const char* by : {"a link", "a file", "another user"}) QTest::newRow(by) << by;
}

void TestRuntimeFolder::whereTheNameIsTakenTheCacheFolderIsUsed() {
  QFETCH(QString, by);
  if (by == "another user" && ::geteuid() != 0) QSKIP("only root can give a folder away");
  QTemporaryDir shared, elsewhere;
  const QString taken = shared.filePath("tapedeck-7");
  if (by == "a link") {
    QVERIFY(QFile::link(elsewhere.path(), taken));
  } else if (by == "a file") {
    QFile file(taken);
    QVERIFY(file.open(QIODevice::WriteOnly));
  } else {
    QVERIFY(QDir().mkdir(taken));
    QCOMPARE(::chown(QFile::encodeName(taken).constData(), 12345, 12345), 0);
  }
  const QByteArray before = qgetenv("XDG_CACHE_HOME");
  qputenv("XDG_CACHE_HOME", QFile::encodeName(shared.filePath("cache")));
  const QString cache = shared.filePath("cache/tapedeck/run");
  QCOMPARE(RuntimeFolder::baseFolders().last(), cache);
  QCOMPARE(RuntimeFolder::baseFolder({taken, cache}), cache);
  QCOMPARE(modeOf(cache), 0700);
  QCOMPARE(modeOf(shared.filePath("cache/tapedeck")), 0700);
  QVERIFY(QDir(elsewhere.path()).isEmpty());
  before.isNull() ? qunsetenv("XDG_CACHE_HOME") : qputenv("XDG_CACHE_HOME", before);
}

void TestRuntimeFolder::noFolderAtAllIsToldByAllPlaces() {
  try {
    RuntimeFolder::baseFolder({"/proc/a", "/proc/b"});
    QFAIL("there is none");
  } catch (const std::runtime_error& error) {
    QCOMPARE(QString(error.what()), QString("No folder that only you can enter can be created for the "
                                            "session's sockets: tried /proc/a, /proc/b"));
  }
}

void TestRuntimeFolder::aFolderOfAnotherUserIsNotRemoved() {
  if (::geteuid() != 0) QSKIP("only root can give a folder away");
  QTemporaryDir base;
  QDir(base.path()).mkdir("s-theirs");
  QCOMPARE(::chown(QFile::encodeName(base.filePath("s-theirs")).constData(), 12345, 12345), 0);
  makeOld(base.filePath("s-theirs"));
  QCOMPARE(RuntimeFolder::removeStale(base.path()), 0);
  QVERIFY(QFile::exists(base.filePath("s-theirs")));
}

void TestRuntimeFolder::aLongRuntimeFolderIsNotUsed() {
  QTemporaryDir runtime;
  const QString path = runtime.filePath(QString(90, 'x'));
  QVERIFY(QDir().mkpath(path));
  qputenv("XDG_RUNTIME_DIR", QFile::encodeName(path));
  const QString base = RuntimeFolder::baseFolder();
  QVERIFY2(!base.startsWith(path), qPrintable(base));
  RuntimeFolder folder(base);
  QVERIFY(makeConnection(folder.path(), "ipc").debugEndpoint().size() <= int(qstrlen("ipc://")) + 107);
}

TAPEDECK_TEST(TestRuntimeFolder)
#include "tst_runtime_folder.moc"
