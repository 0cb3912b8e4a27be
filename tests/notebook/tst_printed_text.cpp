// What a program printed, however long: nothing of it is lost, and a file stores what its limit allows.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QDir>
#include <QFileInfo>
#include <QRandomGenerator>
#include <QtTest>
#include <csignal>

#include "app/notebook/document/printed_text.h"
#include "app/notebook/document/stream_text.h"
#include "tests/test_program.h"

using namespace tapedeck::app;

namespace {

std::string numberedLine(int number) {
  return "line " + std::to_string(number) + " of a long log\n";
}

std::string rowsOf(const PrintedText& text) {
  std::string joined;
  for (const PrintedText::Row& row : text.read(0, text.rows()))
    joined += row.text + (row.continued ? "" : "\n");
  return joined;
}

/// Files of this process may have `bytes` at most: what a full disk is to a writer.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    rlimit small = limit_;
    small.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() { makeRoom(); }
  void makeRoom() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_{};
  void (*before_)(int);
};

}  // namespace

class TestPrintedText : public QObject {
  Q_OBJECT

 private slots:
  void piecesJoinAsInMemory() {
    QRandomGenerator random(4);
    const QStringList parts = {"word", "\n",     "\x1b[31mred", "50 %\r",
                               "\r\n", "é🦉", "\n\n",        "a longer text "};
    std::string expected;
    PrintedText text;
    for (int i = 0; i < 30'000; ++i) {
      std::string piece = parts[random.bounded(static_cast<int>(parts.size()))].toStdString();
      if (random.bounded(300) == 0) piece = std::string(5'000, 'x') + "é" + piece;
      appendStreamText(expected, piece);
      const std::size_t kept = text.append(piece);
      QVERIFY(kept <= text.size());
      QCOMPARE(text.size(), expected.size());
    }
    QVERIFY(text.size() > 500'000);
    QVERIFY(text.all() == expected);
    QCOMPARE(text.lines(), std::size_t(std::count(expected.begin(), expected.end(), '\n')) +
                               (expected.ends_with('\n') ? 0 : 1));
    QVERIFY(rowsOf(text) == expected + (expected.ends_with('\n') ? "" : "\n"));
    for (int i = 0; i < 200; ++i) {
      const std::size_t row = random.bounded(static_cast<quint32>(text.rows()));
      const auto rows = text.read(row, 3);
      QCOMPARE(rows.size(), std::min<std::size_t>(3, text.rows() - row));
      const std::size_t byte = random.bounded(static_cast<quint32>(text.size()));
      const std::size_t at = text.rowAt(byte);
      std::size_t before = 0;
      if (i > 3) continue;  // the long way costs
      for (const PrintedText::Row& one : text.read(0, at))
        before += one.text.size() + (one.continued ? 0 : 1);
      QVERIFY(before <= byte);
      QVERIFY(byte <= before + text.read(at, 1)[0].text.size());
    }
  }

  void aMillionLinesAreAllThere() {
    PrintedText text;
    std::string piece;
    for (int i = 0; i < 1'000'000; ++i) {
      piece += numberedLine(i);
      if (piece.size() > 50'000 || i == 999'999) text.append(std::exchange(piece, {}));
    }
    QCOMPARE(text.lines(), std::size_t{1'000'000});
    QCOMPARE(text.rows(), std::size_t{1'000'000});
    for (const int i : {0, 1, 63, 64, 15'788, 500'000, 999'999}) {
      const auto row = text.read(static_cast<std::size_t>(i), 1);
      QCOMPARE(row.size(), std::size_t{1});
      QCOMPARE(row[0].text + "\n", numberedLine(i));
    }
    QVERIFY(text.trouble().empty());
  }

  void anEndlessLineIsReadByRows() {
    PrintedText text;
    for (int i = 0; i < 300; ++i) text.append(std::string(9'999, 'x') + "é");
    QCOMPARE(text.size(), std::size_t{300 * 10'001});
    QVERIFY(text.rows() >= text.size() / PrintedText::row_bytes);
    std::string joined;
    for (const PrintedText::Row& row : text.read(0, text.rows())) {
      QVERIFY(row.text.size() <= PrintedText::row_bytes);
      QVERIFY(!QString::fromStdString(row.text).contains(QChar::ReplacementCharacter));
      joined += row.text;
    }
    QVERIFY(joined == text.all());
    QCOMPARE(text.lines(), std::size_t{1});
  }

  void coloursReachAsFarAsInATerminal() {
    PrintedText text;
    text.append("plain\n\x1b[31mred\n");
    for (int i = 0; i < 20'000; ++i) text.append(numberedLine(i));
    text.append("\x1b[0mplain\n");
    for (int i = 0; i < 100; ++i) text.append(numberedLine(i));
    QCOMPARE(text.read(1, 1)[0].style, std::string());
    QCOMPARE(text.read(19'000, 1)[0].style, std::string("\x1b[31m"));
    QCOMPARE(text.read(text.rows() - 1, 1)[0].style, std::string());
  }

  void aCopyKeepsWhatItHad() {
    PrintedText text;
    for (int i = 0; i < 40'000; ++i) text.append(numberedLine(i));
    const PrintedText copy = text;
    const std::string before = text.all();
    for (int i = 0; i < 40'000; ++i) text.append("more\n");
    QVERIFY(copy.all() == before);
    QCOMPARE(copy.rows(), std::size_t{40'000});
    QCOMPARE(text.rows(), std::size_t{80'000});
    // And goes its own way.
    PrintedText other = copy;
    for (int i = 0; i < 40'000; ++i) other.append("else\n");
    QCOMPARE(other.read(79'999, 1)[0].text, std::string("else"));
    QCOMPARE(text.read(79'999, 1)[0].text, std::string("more"));
    QCOMPARE(other.read(39'999, 1)[0].text + "\n", numberedLine(39'999));
  }

  void theFileHasNoNameAndIsTheUsersAlone() {
    const auto unnamed = [] {
      QStringList found;
      for (const QFileInfo& open : QDir("/proc/self/fd").entryInfoList(QDir::System | QDir::Files)) {
        const QString target = QFile::symLinkTarget(open.filePath());
        if (target.contains("(deleted)")) found += open.fileName();
      }
      return found;
    };
    const QStringList before = unnamed();
    {
      PrintedText text;
      for (int i = 0; i < 40'000; ++i) text.append(numberedLine(i));
      QStringList now = unnamed();
      for (const QString& old : before) now.removeOne(old);
      QCOMPARE(now.size(), 1);
      struct stat state {};
      QCOMPARE(::fstat(now.first().toInt(), &state), 0);
      QCOMPARE(state.st_mode & 0777, 0600U);
      QCOMPARE(int(state.st_nlink), 0);
    }
    QCOMPARE(unnamed(), before);
  }

  void aFullDiskLosesNothingThatWasThereAndSaysSo() {
    PrintedText text;
    for (int i = 0; i < 40'000; ++i) text.append(numberedLine(i));
    const std::string before = text.all();
    SmallDisk disk(text.size());
    std::size_t given = text.size();
    int number = 40'000;
    while (given < before.size() + 2 * PrintedText::most_without_file) {
      std::string lines;
      for (int i = 0; i < 100; ++i) lines += numberedLine(number++);
      given += lines.size();
      text.append(lines);
    }
    QVERIFY(text.all().starts_with(before));
    QVERIFY(text.size() >= before.size() + PrintedText::most_without_file / 2);
    QVERIFY(text.size() < given);
    const QString trouble = QString::fromStdString(text.trouble());
    QVERIFY2(trouble.contains("are left out: the temporary file"), qPrintable(trouble));
    QVERIFY2(trouble.contains("File too large"), qPrintable(trouble));
    // The saved file says so too, at the place.
    QVERIFY(text.stored(0).ends_with(" are missing here: there was no room for them …]\n"));
    // What comes when there is room again is kept, and what was lost is not forgotten.
    disk.makeRoom();
    text.append("afterwards\n");
    QVERIFY(text.all().ends_with(" are missing here: there was no room for them …]\nafterwards\n"));
    QVERIFY(QString::fromStdString(text.trouble()).contains(" lines, "));
  }

  void aFileStoresBeginningAndEndUpToItsLimit() {
    PrintedText text;
    for (int i = 0; i < 100'000; ++i) text.append(numberedLine(i));
    QVERIFY(text.stored(text.size()) == text.all());
    QVERIFY(text.stored(0) == text.all());
    const std::string stored = text.stored(1'000'000);
    QVERIFY(stored.size() <= 1'000'300);
    QVERIFY(stored.starts_with(numberedLine(0) + numberedLine(1)));
    QVERIFY(stored.ends_with(numberedLine(99'998) + numberedLine(99'999)));
    const auto note = QRegularExpression(
                          "\n\\[… ([\\d,]+) lines, ([\\d.]+ MB), of this output are not stored "
                          "here: up to 1.0 MB of an output are …\\]\n")
                          .match(QString::fromStdString(stored));
    QVERIFY2(note.hasMatch(), stored.substr(490'000, 20'000).c_str());
    const auto missing = note.captured(1).remove(',').toULongLong();
    QCOMPARE(missing, qulonglong{text.linesNotStored(1'000'000)});
    QCOMPARE(qulonglong(std::count(stored.begin(), stored.end(), '\n')) - 1 + missing, 100'000ULL);
    // Without a line break near by it is cut between characters.
    PrintedText line;
    for (int i = 0; i < 300; ++i) line.append(QString("é").repeated(1'000).toStdString());
    QVERIFY(!QString::fromStdString(line.stored(100'001)).contains(QChar::ReplacementCharacter));
  }

  void theEndIsReplacedInPlace() {
    PrintedText text(std::string("one\ntwo\nthr"));
    text.replaceFrom(9, "HR");
    QCOMPARE(text.all(), std::string("one\ntwo\ntHR"));
    text.replaceFrom(2, "E");
    QCOMPARE(text.all(), std::string("onE"));
    QCOMPARE(text.rows(), std::size_t{1});
    text.replaceFrom(3, "\nx\n");
    QCOMPARE(rowsOf(text), std::string("onE\nx\n"));
  }
};

TAPEDECK_TEST(TestPrintedText)
#include "tst_printed_text.moc"
