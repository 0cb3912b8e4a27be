// NumPy's .npz archives: what is read, and that damage is refused by name, member and byte.
#include <QTemporaryDir>
#include <QtTest>

#include "engine/data/data_error.h"
#include "engine/data/npz.h"
#include "engine/tensor/tensor.h"
#include "tests/data/mutation.h"
#include "tests/data/npz_bytes.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace npz_bytes;

class TestNpz : public QObject {
  Q_OBJECT
  QTemporaryDir folder_;

  std::string written(const std::string& bytes) {
    return test::write(folder_.filePath("a.npz"), QByteArray::fromStdString(bytes)).toStdString();
  }
  /// The error of opening and reading all of it; empty: none.
  std::string refusal(const std::string& bytes) {
    const std::string path = written(bytes);
    try {
      const data::NpzFile file(path);
      for (const data::NpzMember& member : file.members()) file.read(member);
      return {};
    } catch (const Error& error) {
      const std::string text = error.what();
      return text.starts_with(path) ? text.substr(path.size() + 2) : "without the file's name: " + text;
    }
  }
  static std::string floats_of(std::initializer_list<float> values) {
    return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * 4);
  }

 private slots:
  void stored_and_deflated_arrays_are_read() {
    const std::string values = floats_of({1, 2, 3, 4, 5, 6});
    const data::NpzFile file(written(archive({{"plain.npy", npy("<f4", "(2, 3)", values)},
                                              {"readme.txt", "no array"},
                                              {"fc/weight.npy", npy("<f4", "(2, 3)", values, "True"), true},
                                              {"one.npy", npy("|b1", "()", std::string(1, '\1'))},
                                              {"none.npy", npy("<i8", "(0,)", "")}})));
    QCOMPARE(file.members().size(), std::size_t{4});
    QCOMPARE(file.members()[1].name, std::string("fc/weight"));
    QCOMPARE(file.read(file.members()[0]).to_vector(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
    const Tensor columns_first = file.read(file.members()[1]);
    QCOMPARE(columns_first.shape(), (Shape{2, 3}));
    QCOMPARE(columns_first.to_vector(), (std::vector<double>{1, 3, 5, 2, 4, 6}));
    QCOMPARE(file.read(file.members()[2]).dtype(), DType::bool_);
    QCOMPARE(file.read(file.members()[3]).count(), std::int64_t{0});
  }

  void what_cannot_be_read_says_why() {
    const std::string array = npy("<f4", "(2,)", floats_of({1, 2}));
    const auto one = [&](const std::string& bytes) { return refusal(archive({{"w.npy", bytes}})); };
    QCOMPARE(one(npy(">f4", "(2,)", floats_of({1, 2}))),
             std::string("member \"w\": its numbers ('>f4') are big-endian, which is not read"));
    QCOMPARE(one(npy("|O", "(2,)", "12345678")), std::string("member \"w\": tensors have no dtype '|O'"));
    QCOMPARE(one(npy("<f4", "(9000000000000000000, 9)", floats_of({1, 2}))).substr(0, 42),
             std::string("member \"w\": its shape and dtype need 18446744073709551615 b").substr(0, 42));
    QVERIFY(one(npy("<f4", "(3,)", floats_of({1, 2})))
                .starts_with("member \"w\": its shape and dtype need 12 bytes, but it has 8 behind byte "));
    QVERIFY(
        one(npy("<f4", "(-3,)", "")).starts_with("member \"w\": its header has an extent that is no number"));
    std::string huge = array;
    huge.replace(6, 6, std::string("\x02\x00\xff\xff\xff\x7f", 6));
    QVERIFY(one(huge).starts_with("member \"w\": the header would have 2147483647 bytes; at most 10000"));
  }

  void damage_is_refused_with_its_place() {
    const std::string array = npy("<f4", "(2,)", floats_of({1, 2}));
    const std::string good = archive({{"a.npy", array}, {"b.npy", array, true}});
    QCOMPARE(refusal(good), std::string());
    QVERIFY(refusal(good.substr(0, good.size() - 1)).starts_with("has no directory at its end"));
    QVERIFY(refusal(good.substr(0, 10)).starts_with("has only 10 bytes; an .npz archive ends with 22"));
    std::string flipped = good;
    flipped[good.find("NUMPY") + 130] ^= 1;
    QVERIFY2(refusal(flipped).find("member \"a\": the checksum of its bytes from 35 on is wrong") !=
                 std::string::npos,
             refusal(flipped).c_str());
    // Both members at the place of the first: what is small in the file would be large in memory.
    std::string overlapping = good;
    const std::size_t second = overlapping.rfind("PK\1\2");
    overlapping.replace(second + 42, 4, little(0, 4));
    QVERIFY2(refusal(overlapping).find("overlaps with") != std::string::npos, refusal(overlapping).c_str());
    std::string bomb = good;
    bomb.replace(second + 24, 4, little(0x7fffffff, 4));
    QVERIFY2(refusal(bomb).starts_with("member \"b.npy\": 2147483647 bytes cannot come from "),
             refusal(bomb).c_str());
    std::string outside = good;
    outside.replace(second + 42, 4, little(0x7fffff, 4));
    QVERIFY2(refusal(outside).find("do not lie in the file") != std::string::npos, refusal(outside).c_str());
  }

  void damaged_archives_are_read_or_refused() {
    const std::string array = npy("<f4", "(2, 2)", floats_of({1, 2, 3, 4}));
    const std::string good = archive({{"a.npy", array}, {"layer/b.npy", array, true}});
    std::mt19937 random(7);
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
      const std::string text = refusal(mutated(good, random));
      QVERIFY2(!text.starts_with("without"), text.c_str());
      refused += !text.empty();
    }
    QVERIFY(refused > 150);
    for (std::size_t length = 0; length < good.size(); length += 5)
      QVERIFY(!refusal(good.substr(0, length)).empty());
  }
};

TAPEDECK_TEST(TestNpz)
#include "tst_npz.moc"
