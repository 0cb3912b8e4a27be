// The C++ sample prints what mathematics says.
#include <QtTest>
#include <cmath>
#include <fstream>
#include <regex>

#include "tests/test_program.h"

class TestCppSample : public QObject {
  Q_OBJECT

 private slots:
  void the_sample_prints_the_right_numbers() {
    const QTemporaryDir folder;
    const std::string printed = folder.filePath("printed").toStdString();
    const std::string command = "'" TAPEDECK_BUILD_DIR "/samples/cpp/tapedeck_cpp_sample' >'" + printed + "'";
    QCOMPARE(std::system(command.c_str()), 0);
    std::vector<std::string> lines;
    std::ifstream file(printed);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    QCOMPARE(lines.size(), 7u);
    QCOMPARE(lines[0], "x^3 at 2: value 8, first derivative 12, second derivative 12");
    QCOMPARE(lines[1], "log(1 + e^x) at 0: naive gradient 0.5, custom gradient 0.5");
    const std::regex third(R"(log\(1 \+ e\^x\) at 100: naive gradient -?nan, custom gradient 1)");
    QVERIFY2(std::regex_match(lines[2], third), lines[2].c_str());
    // The mean of (3x + 2)² over the points: 4 + 9 · 0.34, and the noise.
    const std::string fourth = "step  0: loss ";
    QVERIFY2(lines[3].starts_with(fourth), lines[3].c_str());
    QVERIFY2(std::abs(std::stod(lines[3].substr(fourth.size())) - 7.06) < 0.01, lines[3].c_str());
    QCOMPARE(lines[5], "step 60: loss 0.000");
    QCOMPARE(lines[6], "fitted line: 3.00 x + 2.00");
  }
};

TAPEDECK_TEST(TestCppSample)
#include "tst_cpp_sample.moc"
