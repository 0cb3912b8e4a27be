// Compare without a window: trace files, which a process of its own reads.
#include <fcntl.h>
#include <sys/stat.h>

#include <QDir>
#include <QFileInfo>
#include <QLockFile>
#include <QPointer>
#include <QtTest>
#include <array>
#include <ctime>

#include "tests/model/compare_world.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace tapedeck::test;

class TestCompareFiles : public QObject, CompareWorld {
  Q_OBJECT

 private slots:
  void init() { begin(); }
  void cleanup() { end(); }

  // A file that is damaged, or means harm, is read where no session's variables are.
  void filesAreComparedInAProcessOfTheirOwn() {
    compareTwoRuns();
    source_.asked.clear();
    model_->setRight(model_->file("/a/bad.tapetrace"));
    QVERIFY(model_->comparing());
    QVERIFY(source_.askedFor<protocol::MakeComparison>().empty());
    const auto save = answer<protocol::SaveTrace>(protocol::TraceSaved{"", 7, 1, 2, 3});
    QVERIFY(QFileInfo(QString::fromStdString(save.path)).dir().exists());
    QVERIFY(FakeReader::newest);
    QCOMPARE(FakeReader::newest->path.toStdString(), save.path);
    emit FakeReader::newest->ready();
    const auto make = answer<protocol::MakeComparison>(files_, comparedOf(9, 250));
    QVERIFY(!make.left.path && make.left.first == 1);
    QCOMPARE(make.left.last, std::optional<std::uint64_t>(2));  // the third came after the session was saved
    QCOMPARE(make.right.path, std::optional<std::string>("/a/bad.tapetrace"));
    QCOMPARE(model_->rowCount(), 250);
    // Everything about it is asked there.
    model_->row(0);
    model_->findFirstDifference();
    answer<protocol::FindFirstDifference>(files_, protocol::FirstDifference());
    QVERIFY(!files_.askedFor<protocol::GetComparisonRows>().empty());
    QVERIFY(source_.askedFor<protocol::GetComparisonRows>().empty());
    QVERIFY(source_.askedFor<protocol::FindFirstDifference>().empty());
    // What was saved serves the next choice, too.
    model_->swapSides();
    const auto swapped = answer<protocol::MakeComparison>(files_, comparedOf(10, 250));
    QCOMPARE(swapped.left.path, std::optional<std::string>("/a/bad.tapetrace"));
    QVERIFY(!swapped.right.path && !asked<protocol::SaveTrace>());
    // Two runs again: the session, and the process ends; its folder goes.
    QPointer<FakeReader> reader = FakeReader::newest;
    model_->chooseLastTwoRuns();
    QTRY_VERIFY(!reader);
    QVERIFY(!QFileInfo(QString::fromStdString(save.path)).dir().exists());
    answer<protocol::MakeComparison>(comparedOf(10, 3));
    QCOMPARE(model_->rowCount(), 3);
  }

  void twoFilesNeedNothingOfTheSession() {
    model_->setShown(true);
    answerRuns({});
    model_->setLeft(model_->file("/a/one.tapetrace"));
    model_->setRight(model_->file("/a/two.tapetrace"));
    QVERIFY(source_.askedFor<protocol::SaveTrace>().empty());
    QCOMPARE(FakeReader::newest->path, QString("/a/one.tapetrace"));
    emit FakeReader::newest->ready();
    const auto make = answer<protocol::MakeComparison>(files_, comparedOf(9, 2));
    QVERIFY(!make.left.path);
    QCOMPARE(make.right.path, std::optional<std::string>("/a/two.tapetrace"));
  }

  void theEndOfThatProcessIsTold_data() {
    QTest::addColumn<QString>("when");
    for (const char* when : {"saving", "opening", "comparing", "compared"}) QTest::newRow(when) << when;
  }
  void theEndOfThatProcessIsTold() {
    QFETCH(QString, when);
    compareTwoRuns();
    model_->setRight(model_->file("/a/bad.tapetrace"));
    if (when == "saving") {
      answer<protocol::SaveTrace>(protocol::Failure{"The disk is full.", "not_saved"});
      QVERIFY(!model_->comparing());
      QCOMPARE(model_->problem(), QString("The disk is full."));
      return;
    }
    const auto save = answer<protocol::SaveTrace>(protocol::TraceSaved{"", 7, 1, 2, 3});
    if (when != "opening") emit FakeReader::newest->ready();
    if (when == "compared") answer<protocol::MakeComparison>(files_, comparedOf(9, 2));
    emit FakeReader::newest->failed("The process that reads " + QString::fromStdString(save.path) +
                                    " has ended.");
    QVERIFY(!model_->comparing() && !model_->compared());
    QCOMPARE(
        model_->problem(),
        QString(
            "Comparing with bad.tapetrace failed: The process that reads the session's trace has ended."));
    // It can be tried again.
    model_->setRight(model_->file("/a/good.tapetrace"));
    QVERIFY(model_->comparing() && model_->problem().isEmpty());
  }

  void aBranchIsNotComparedWithAFile() {
    compareTwoRuns();
    CompareChoice branch = *model_->left();
    branch.side.branch = 3;
    model_->setLeft(branch);
    answer<protocol::MakeComparison>(comparedOf(6, 2));
    model_->setRight(model_->file("/a/bad.tapetrace"));
    QVERIFY(!model_->comparing());
    QVERIFY2(model_->problem().contains("can't be compared with a trace file"),
             qPrintable(model_->problem()));
  }

  void tracesOfWindowsThatEndedAreRemoved() {
    const QDir cache(cache_.path() + "/tapedeck");
    const QStringList names = {"compare-old", "compare-held", "compare-young", "others"};
    for (const QString& name : names) QVERIFY(cache.mkpath(name));
    QLockFile held(cache.filePath("compare-held/lock"));
    held.setStaleLockTime(0);
    QVERIFY(held.tryLock());
    const timespec hours_ago{::time(nullptr) - 7200, 0};
    const std::array<timespec, 2> times{hours_ago, hours_ago};
    for (const QString& name : names)
      if (name != "compare-young")
        QCOMPARE(::utimensat(AT_FDCWD, QFile::encodeName(cache.filePath(name)).constData(), times.data(), 0),
                 0);
    compareTwoRuns();
    model_->setRight(model_->file("/a/bad.tapetrace"));
    QVERIFY(!cache.exists("compare-old"));
    for (const char* name : {"compare-held", "compare-young", "others"}) QVERIFY2(cache.exists(name), name);
  }

  void cancellingEndsThatProcess() {
    compareTwoRuns();
    model_->setRight(model_->file("/a/bad.tapetrace"));
    model_->cancel();
    QVERIFY(!model_->comparing() && !asked<protocol::SaveTrace>());
    model_->setRight(model_->file("/a/bad.tapetrace"));
    answer<protocol::SaveTrace>(protocol::TraceSaved{"", 7, 1, 2, 3});
    QPointer<FakeReader> reader = FakeReader::newest;
    model_->cancel();
    QTRY_VERIFY(!reader);
    QVERIFY(!model_->comparing() && model_->problem().isEmpty());
  }
};

TAPEDECK_TEST(TestCompareFiles)
#include "tst_compare_files.moc"
