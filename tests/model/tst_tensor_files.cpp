// What is read and written of a tensor as text and bytes: ranges of colours, numbers as NumPy prints them,
// literals, .npy and .csv.
#include <QTest>
#include <bit>
#include <cmath>
#include <limits>

#include "inspector/model/tensor/numpy_text.h"
#include "inspector/model/tensor/tensor_file.h"
#include "inspector/model/tensor/value_range.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::inspector;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::nan("");

protocol::Tile tileOf(std::string dtype, std::vector<double> values, std::vector<std::string> exact = {}) {
  protocol::Tile tile;
  tile.dtype = std::move(dtype);
  tile.rows = 1;
  tile.columns = static_cast<std::int64_t>(values.size());
  tile.values = std::move(values);
  tile.exact = std::move(exact);
  return tile;
}

/// Header and bytes of one part with all values.
QByteArray npy(const protocol::Tile& tile, std::vector<std::int64_t> shape, std::int64_t string_bytes = 1) {
  const TensorFileShape file{std::move(shape), tile.dtype, string_bytes};
  const FilePart part = filePart(file, TensorFileKind::npy, tile, 0);
  return part.error.isEmpty() ? fileHeader(file, TensorFileKind::npy) + part.bytes : part.error.toUtf8();
}

QString csv(const protocol::Tile& tile, std::vector<std::int64_t> shape) {
  const TensorFileShape file{std::move(shape), tile.dtype, 1};
  const FilePart part = filePart(file, TensorFileKind::csv, tile, 0);
  return part.error.isEmpty() ? QString::fromUtf8(part.bytes) : part.error;
}

}  // namespace

class TestTensorFiles : public QObject {
  Q_OBJECT
 private slots:
  void rangesAreReadAsPeopleTypeThem() {
    for (const auto& [text, low, high] :
         {std::tuple("-1 … 2.5", -1.0, 2.5), std::tuple("−1…2.5", -1.0, 2.5),
          std::tuple("1e-6..1", 1e-6, 1.0), std::tuple(" 0, 5 ", 0.0, 5.0), std::tuple("0 to 5", 0.0, 5.0),
          std::tuple("±3", -3.0, 3.0), std::tuple("+-.5", -0.5, 0.5), std::tuple("-4:-2", -4.0, -2.0),
          std::tuple("1 2", 1.0, 2.0), std::tuple("1.5..2", 1.5, 2.0)}) {
      const TypedRange typed = parseRange(QString::fromUtf8(text));
      QVERIFY2(typed.range && typed.error.isEmpty(), text);
      QCOMPARE(*typed.range, (ValueRange{low, high}));
    }
    QVERIFY(!parseRange(QStringLiteral("  ")).range && parseRange(QString()).error.isEmpty());
    QCOMPARE(parseRange(QStringLiteral("5")).error,
             QStringLiteral("“5” is not a range of colours: type two numbers, as in “-1 … 2.5”, or “±3”."));
    QCOMPARE(parseRange(QStringLiteral("2 … 2")).error,
             QStringLiteral("“2 … 2” is not a range of colours: the second number must be the larger one."));
    QCOMPARE(parseRange(QStringLiteral("0 … 1e999")).error,
             QStringLiteral("“0 … 1e999” is not a range of colours: a number in it is too large."));
    QVERIFY(!parseRange(QStringLiteral("a … b")).error.isEmpty());
  }

  void numbersAreThoseThatNumPyPrints() {
    for (const auto& [value, text] :
         {std::pair(1.0, "1.0"), std::pair(0.1, "0.1"), std::pair(-2.5e-5, "-2.5e-05"),
          std::pair(1e16, "1e+16"), std::pair(1234567.0, "1234567.0"), std::pair(0.0001, "0.0001"),
          std::pair(1e-300, "1e-300"), std::pair(nan_value, "nan"), std::pair(-infinity, "-inf"),
          std::pair(0.0, "0.0"), std::pair(-0.0, "-0.0"),
          std::pair(9007199254740993.0, "9007199254740992.0")})
      QCOMPARE(numpyText(value, "float64"), QString::fromLatin1(text));
    QCOMPARE(numpyText(static_cast<double>(0.1f), "float32"), QStringLiteral("0.1"));
    // The shortest text of this one would be rounded twice, to the float beside it.
    const float twice = std::bit_cast<float>(0x15ae43fdu);
    QCOMPARE(static_cast<float>(numpyText(static_cast<double>(twice), "float32").toDouble()), twice);
    QCOMPARE(numpyText(1, "bool"), QStringLiteral("True"));
    QCOMPARE(numpyText(-7, "int32"), QStringLiteral("-7"));
    QCOMPARE(numpyShortText(1.0, 4), QStringLiteral("1.0"));
    QCOMPARE(numpyShortText(0.5, 4), QStringLiteral("0.5"));
    QCOMPARE(numpyShortText(1.88912e-21, 4), QStringLiteral("1.889e-21"));
    QCOMPARE(numpyShortText(162'712, 4), QStringLiteral("1.627e+05"));
    QCOMPARE(numpyShortText(160'000, 4), QStringLiteral("160000.0"));
    QCOMPARE(numpyShortText(12, 4, "int64"), QStringLiteral("12"));
  }

  void aLiteralHasTheNestingOfTheShape() {
    QCOMPARE(numpyLiteral(tileOf("float32", {1, 2.5, nan_value, -infinity}), {2, 2}).text,
             QStringLiteral("np.array([[1.0, 2.5],\n          [np.nan, -np.inf]], dtype=np.float32)"));
    QCOMPARE(numpyLiteral(tileOf("int64", {7}), {}).text, QStringLiteral("np.array(7, dtype=np.int64)"));
    QCOMPARE(numpyLiteral(tileOf("bool", {1, 0}), {2}).text,
             QStringLiteral("np.array([True, False], dtype=bool)"));
    QCOMPARE(numpyLiteral(tileOf("int64", {9e18, 1}, {"9000000000000000001", "1"}), {2}).text,
             QStringLiteral("np.array([9000000000000000001, 1], dtype=np.int64)"));
    QCOMPARE(numpyLiteral(tileOf("complex64", {5}, {"3.0-4.0j"}), {1}).text,
             QStringLiteral("np.array([complex(3.0, -4.0)], dtype=np.complex64)"));
    QCOMPARE(numpyLiteral(tileOf("string", {1, 2}, {"b'a'", "b'\\xff\\''"}), {2}).text,
             QStringLiteral("np.array([b'a', b'\\xff\\''], dtype=object)"));
    QCOMPARE(numpyLiteral(tileOf("bfloat16", {0.5}), {1}).text,
             QStringLiteral("np.array([0.5], dtype=np.float32)"));
    QCOMPARE(numpyLiteral(tileOf("float64", {}), {0, 3}).text,
             QStringLiteral("np.array([], dtype=np.float64).reshape(0, 3)"));
    // What the dtype can't hold.
    QCOMPARE(numpyLiteral(tileOf("float32", {-1e300}), {1}).text,
             QStringLiteral("np.array([-np.inf], dtype=np.float32)"));
    QCOMPARE(numpyLiteral(tileOf("float32", {}), {1'000'000'000, 0}).text,
             QStringLiteral("np.array([], dtype=np.float32).reshape(1000000000, 0)"));
    QCOMPARE(numpyLiteral(tileOf("string", {1, 500}, {"b'a'", "b'xxx…'"}), {2}).error,
             QStringLiteral(
                 "The string at [1] has 500 bytes: only strings of at most 60 can be taken from here."));
  }

  void complexNumbersAndBytesAreReadBack() {
    QCOMPARE(complexOf("3.0+4.0j"), std::complex<double>(3, 4));
    QCOMPARE(complexOf("-1e-05-2.5e+20j"), std::complex<double>(-1e-5, -2.5e20));
    QVERIFY(std::isnan(complexOf("nan+infj")->real()) && complexOf("nan+infj")->imag() == infinity);
    const float twice = std::bit_cast<float>(0x15ae43fdu);
    QCOMPARE(complexOf("7.038531e-26+0.0j", true)->real(), static_cast<double>(twice));
    QVERIFY(!complexOf("3.0") && !complexOf("3.0+j") && !complexOf("") && !complexOf("1.0+2.0j3"));
    QCOMPARE(bytesOf("b'a\\n\\x00\\\\'"), std::string("a\n\0\\", 4));
    QCOMPARE(bytesOf("b\"it's\""), std::string("it's"));
    QVERIFY(!bytesOf("b'xxx…'") && !bytesOf("'a'") && !bytesOf("b'\\xg0'") && !bytesOf("b'\\x0'") &&
            !bytesOf("b'"));
  }

  void aNumPyFileHasItsHeaderAndTheValuesBytes() {
    const QByteArray file = npy(tileOf("float32", {1, -2}), {2, 1});
    QVERIFY(file.startsWith(QByteArray("\x93NUMPY\x01\x00", 8)));
    const int length = static_cast<unsigned char>(file[8]) + 256 * static_cast<unsigned char>(file[9]);
    QCOMPARE((10 + length) % 64, 0);
    const QByteArray header = file.mid(10, length);
    QVERIFY2(header.startsWith("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }"), header);
    QVERIFY(header.endsWith('\n'));
    QCOMPARE(file.mid(10 + length), QByteArray("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8));
    const auto of = [](const protocol::Tile& tile, std::vector<std::int64_t> shape, std::int64_t bytes = 1) {
      const QByteArray all = npy(tile, std::move(shape), bytes);
      return std::pair(all.mid(21, all.indexOf('\'', 21) - 21), all.mid(128));
    };
    QCOMPARE(of(tileOf("bool", {1, 0}), {2}), std::pair(QByteArray("|b1"), QByteArray("\x01\x00", 2)));
    QCOMPARE(of(tileOf("float16", {1}), {}), std::pair(QByteArray("<f2"), QByteArray("\x00\x3c", 2)));
    QCOMPARE(of(tileOf("bfloat16", {0.5}), {1}),
             std::pair(QByteArray("<f4"), QByteArray("\x00\x00\x00\x3f", 4)));
    QCOMPARE(of(tileOf("int64", {9e18}, {"9000000000000000001"}), {1}),
             std::pair(QByteArray("<i8"), QByteArray("\x01\x00\x84\xe2\x50\x6c\xe6\x7c", 8)));
    QCOMPARE(of(tileOf("uint64", {1.8e19}, {"18446744073709551615"}), {1}),
             std::pair(QByteArray("<u8"), QByteArray(8, '\xff')));
    QCOMPARE(of(tileOf("uint8", {255}), {1}), std::pair(QByteArray("|u1"), QByteArray("\xff")));
    QCOMPARE(of(tileOf("int16", {-2}), {1}), std::pair(QByteArray("<i2"), QByteArray("\xfe\xff")));
    QCOMPARE(of(tileOf("complex64", {5}, {"1.0-2.0j"}), {1}),
             std::pair(QByteArray("<c8"), QByteArray("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8)));
    QCOMPARE(of(tileOf("string", {1, 3}, {"b'a'", "b'b\\xffc'"}), {2}, 3),
             std::pair(QByteArray("|S3"), QByteArray("a\0\0b\xff"
                                                     "c",
                                                     6)));
  }

  void whatCannotBeWrittenIsNamedWithItsPlace() {
    QCOMPARE(
        QString::fromUtf8(npy(tileOf("string", {1, 1, 61}, {"b'a'", "b'b'", "b'c…'"}), {3}, 60)),
        QStringLiteral("The string at [2] has 61 bytes: only strings of at most 60 can be taken from here."));
    QCOMPARE(QString::fromUtf8(npy(tileOf("string", {2}, {"b'a\\x00'"}), {1, 1}, 2)),
             QStringLiteral("The string at [0, 0] ends in a zero byte, which NumPy would drop."));
    QCOMPARE(csv(tileOf("string", {1}, {"b'\\xff'"}), {1}),
             QStringLiteral("The string at [0] is not text in UTF-8: save it as .npy."));
    QCOMPARE(csv(tileOf("complex64", {1}, {"one"}), {1}),
             QStringLiteral("The session's value for the element at [0] is not of type complex64."));
    for (const auto& [dtype, value, exact] :
         {std::tuple("int64", 9e18, "99999999999999999999"), std::tuple("int64", 9e18, "9e18"),
          std::tuple("uint64", -1.0, "-1"), std::tuple("int32", 3e9, ""), std::tuple("uint8", -1.0, ""),
          std::tuple("int16", 0.5, ""), std::tuple("int64", nan_value, "")}) {
      const auto tile =
          tileOf(dtype, {value}, *exact ? std::vector<std::string>{exact} : std::vector<std::string>{});
      const QString error =
          QString("The session's value for the element at [0] is not of type %1.").arg(dtype);
      QCOMPARE(QString::fromUtf8(npy(tile, {1})), error);
      QCOMPARE(csv(tile, {1}), error);
      QCOMPARE(numpyLiteral(tile, {1}).error, error);
    }
  }

  void rowsOfACsvFileAreTheLastAxis() {
    QCOMPARE(csv(tileOf("float32", {1, 2, 3, nan_value, infinity, -0.5}), {1, 2, 3}),
             QStringLiteral("1.0,2.0,3.0\nnan,inf,-0.5\n"));
    QCOMPARE(csv(tileOf("int32", {1, 2}), {2}), QStringLiteral("1\n2\n"));
    QCOMPARE(csv(tileOf("bool", {1, 0}), {1, 2}), QStringLiteral("1,0\n"));
    QCOMPARE(csv(tileOf("complex128", {1, 2}, {"1.0+2.0j", "0.0-1.5j"}), {1, 2}),
             QStringLiteral("1.0+2.0j,0.0-1.5j\n"));
    QCOMPARE(csv(tileOf("string", {4, 0}, {"b'a\"b,'", "b''"}), {1, 2}),
             QStringLiteral("\"a\"\"b,\",\"\"\n"));
    QCOMPARE(csv(tileOf("float64", {7}), {}), QStringLiteral("7.0\n"));
    const TensorFileShape file{{2, 2}, "int32", 1};  // a part that ends within a row
    QCOMPARE(filePart(file, TensorFileKind::csv, tileOf("int32", {1, 2, 3}), 0).bytes +
                 filePart(file, TensorFileKind::csv, tileOf("int32", {4}), 3).bytes,
             QByteArray("1,2\n3,4\n"));
  }
};

TAPEDECK_TEST(TestTensorFiles)
#include "tst_tensor_files.moc"
