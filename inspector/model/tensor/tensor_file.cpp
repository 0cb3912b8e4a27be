#include "inspector/model/tensor/tensor_file.h"

#include <qfloat16.h>

#include <QStringDecoder>
#include <QStringList>
#include <QtEndian>
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "inspector/model/tensor/numpy_text.h"

namespace tapedeck::inspector {

namespace {

constexpr int npy_alignment = 64;

/// Row-major place as "[1, 0]".
QString fileElementText(const std::vector<std::int64_t>& shape, std::int64_t place) {
  QStringList parts;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const std::int64_t extent = std::max<std::int64_t>(shape[axis], 1);
    parts.prepend(QString::number(place % extent));
    place /= extent;
  }
  return QLatin1Char('[') + parts.join(QStringLiteral(", ")) + QLatin1Char(']');
}

QByteArray npyDtype(const TensorFileShape& tensor) {
  static const std::pair<const char*, const char*> names[] = {
      {"bool", "|b1"},    {"int8", "|i1"},      {"uint8", "|u1"},      {"int16", "<i2"},
      {"uint16", "<u2"},  {"int32", "<i4"},     {"uint32", "<u4"},     {"int64", "<i8"},
      {"uint64", "<u8"},  {"float16", "<f2"},   {"float32", "<f4"},    {"bfloat16", "<f4"},
      {"float64", "<f8"}, {"complex64", "<c8"}, {"complex128", "<c16"}};
  for (const auto& [name, npy] : names)
    if (tensor.dtype == name) return npy;
  return "|S" + QByteArray::number(static_cast<qlonglong>(std::max<std::int64_t>(1, tensor.string_bytes)));
}

template <class T>
void appendLittle(QByteArray& bytes, T value) {
  if constexpr (std::is_same_v<T, qfloat16>) {
    appendLittle(bytes, std::bit_cast<quint16>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    appendLittle(bytes, std::bit_cast<std::conditional_t<sizeof(T) == 4, quint32, quint64>>(value));
  } else {
    const T little = qToLittleEndian(value);
    bytes.append(reinterpret_cast<const char*>(&little), sizeof little);
  }
}

/// Nothing where the session gives no integer of that type.
template <class T>
std::optional<T> wholeOf(const protocol::Tile& tile, std::size_t i) {
  if (tile.exact.empty()) {
    const double value = tile.values[i];
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const double first = std::is_signed_v<T> ? -end : 0.0;
    if (!(value >= first && value < end) || value != std::floor(value)) return std::nullopt;
    return static_cast<T>(value);
  }
  T value{};
  const std::string& text = tile.exact[i];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Calls `work` with a zero of the integers' type; false: the dtype has other values.
template <class Work>
bool withWholeType(const std::string& dtype, Work&& work) {
  if (dtype == "int8") return work(qint8{}), true;
  if (dtype == "uint8") return work(quint8{}), true;
  if (dtype == "int16") return work(qint16{}), true;
  if (dtype == "uint16") return work(quint16{}), true;
  if (dtype == "int32") return work(qint32{}), true;
  if (dtype == "uint32") return work(quint32{}), true;
  if (dtype == "int64") return work(qint64{}), true;
  if (dtype == "uint64") return work(quint64{}), true;
  return false;
}

/// Numbers that are not complex as NumPy prints them; nothing: the session gives no value of the dtype.
std::optional<QString> numberText(const protocol::Tile& tile, std::size_t i, const std::string& dtype) {
  std::optional<QString> text;
  const bool whole = withWholeType(dtype, [&]<class T>(T) {
    if (const auto value = wholeOf<T>(tile, i)) text = QString::number(*value);
  });
  return whole ? text : numpyText(tile.values[i], dtype);
}

std::optional<std::complex<double>> complexAt(const protocol::Tile& tile, std::size_t i,
                                              const std::string& dtype) {
  return tile.exact.empty() ? std::nullopt : complexOf(tile.exact[i], dtype == "complex64");
}

/// Why the element cannot be written; the values of strings are their lengths.
QString stringProblem(const protocol::Tile& tile, std::size_t i, const QString& place) {
  if (tile.values[i] > static_cast<double>(most_string_bytes))
    return QStringLiteral("The string at %1 has %2 bytes: only strings of at most %3 can be taken from here.")
        .arg(place)
        .arg(tile.values[i], 0, 'f', 0)
        .arg(most_string_bytes);
  return QStringLiteral("The session's value for the element at %1 is not a string: %2")
      .arg(place, QString::fromStdString(tile.exact.empty() ? std::string() : tile.exact[i]));
}

/// The element's bytes in .npy; false: it cannot be written.
bool appendElement(QByteArray& bytes, const TensorFileShape& tensor, const protocol::Tile& tile,
                   std::size_t i) {
  const double value = tile.values[i];
  const std::string& dtype = tensor.dtype;
  if (dtype == "float32" || dtype == "bfloat16") {
    appendLittle(bytes, static_cast<float>(value));
  } else if (dtype == "float64") {
    appendLittle(bytes, value);
  } else if (dtype == "float16") {
    appendLittle(bytes, qfloat16(static_cast<float>(value)));
  } else if (isComplexDtype(dtype)) {
    const auto number = complexAt(tile, i, dtype);
    if (!number) return false;
    if (dtype == "complex64") {
      appendLittle(bytes, static_cast<float>(number->real()));
      appendLittle(bytes, static_cast<float>(number->imag()));
    } else {
      appendLittle(bytes, number->real());
      appendLittle(bytes, number->imag());
    }
  } else if (dtype == "string") {
    const auto text = tile.exact.empty() ? std::nullopt : bytesOf(tile.exact[i]);
    if (!text || std::ssize(*text) > tensor.string_bytes || (!text->empty() && text->back() == '\0'))
      return false;
    bytes.append(text->data(), std::ssize(*text));
    bytes.append(tensor.string_bytes - std::ssize(*text), '\0');
  } else if (dtype == "bool") {
    bytes += value != 0 ? '\1' : '\0';
  } else {
    const qsizetype before = bytes.size();
    withWholeType(dtype, [&]<class T>(T) {
      if (const auto whole = wholeOf<T>(tile, i)) appendLittle(bytes, *whole);
    });
    return bytes.size() > before;
  }
  return true;
}

/// As numpy.loadtxt reads it; nothing: it cannot be written.
std::optional<QByteArray> csvElement(const TensorFileShape& tensor, const protocol::Tile& tile,
                                     std::size_t i) {
  if (isComplexDtype(tensor.dtype)) {
    const auto number = complexAt(tile, i, tensor.dtype);
    if (!number) return std::nullopt;
    const std::string part = tensor.dtype == "complex64" ? "float32" : "float64";
    QByteArray text = numpyText(number->real(), part).toLatin1();
    if (!std::signbit(number->imag()) || std::isnan(number->imag())) text += '+';
    return text + numpyText(number->imag(), part).toLatin1() + 'j';
  }
  if (tensor.dtype == "string") {
    const auto text = tile.exact.empty() ? std::nullopt : bytesOf(tile.exact[i]);
    if (!text) return std::nullopt;
    const QByteArray bytes(text->data(), std::ssize(*text));
    QStringDecoder utf8(QStringDecoder::Utf8);
    const QString read = utf8(bytes);
    if (utf8.hasError() || read.contains(QChar(0))) return std::nullopt;
    return '"' + QByteArray(bytes).replace("\"", "\"\"") + '"';
  }
  if (tensor.dtype == "bool") return QByteArray(tile.values[i] != 0 ? "1" : "0");
  const auto text = numberText(tile, i, tensor.dtype);
  return text ? std::optional(text->toLatin1()) : std::nullopt;
}

QString literalElement(const protocol::Tile& tile, std::size_t i) {
  const auto number = [](double value, const std::string& dtype) {
    const QString text = numpyText(value, dtype);
    if (!text.contains(QLatin1Char('n'))) return text;  // neither inf nor nan
    return text.startsWith(QLatin1Char('-')) ? QStringLiteral("-np.") + text.mid(1)
                                             : QStringLiteral("np.") + text;
  };
  if (tile.dtype == "string")
    return !tile.exact.empty() && bytesOf(tile.exact[i]) ? QString::fromStdString(tile.exact[i]) : QString();
  if (isComplexDtype(tile.dtype)) {
    const auto value = complexAt(tile, i, tile.dtype);
    const std::string part = tile.dtype == "complex64" ? "float32" : "float64";
    return value ? QStringLiteral("complex(%1, %2)")
                       .arg(number(value->real(), part), number(value->imag(), part))
                 : QString();
  }
  if (isFloatingDtype(tile.dtype)) return number(tile.values[i], tile.dtype);
  return numberText(tile, i, tile.dtype).value_or(QString());
}

/// The axes from `axis` on, whose first element is number `at`, which goes on.
void appendNested(QString& text, const protocol::Tile& tile, const std::vector<std::int64_t>& shape,
                  std::size_t axis, std::size_t& at, int indent) {
  if (axis == shape.size()) {
    text += literalElement(tile, at++);
    return;
  }
  text += QLatin1Char('[');
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    if (i > 0)
      text += axis + 1 == shape.size()
                  ? QStringLiteral(", ")
                  : QStringLiteral(",\n") + QString(indent + static_cast<int>(axis) + 1, QLatin1Char(' '));
    appendNested(text, tile, shape, axis + 1, at, indent);
  }
  text += QLatin1Char(']');
}

/// Each part as one number of T: rounded once.
template <class T>
std::optional<std::complex<double>> complexFrom(const std::string& text) {
  if (text.size() < 4 || text.back() != 'j') return std::nullopt;
  const char* const end = text.data() + text.size() - 1;
  T parts[2] = {};
  const char* at = text.data();
  for (T& part : parts) {
    if (*at == '+') ++at;
    const auto [next, error] = std::from_chars(at, end, part);
    if (error != std::errc() || next == at) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return std::complex<double>(static_cast<double>(parts[0]), static_cast<double>(parts[1]));
}

int hexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const char lower = static_cast<char>(digit | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::optional<std::complex<double>> complexOf(const std::string& text, bool single) {
  return single ? complexFrom<float>(text) : complexFrom<double>(text);
}

std::optional<std::string> bytesOf(const std::string& literal) {
  if (literal.size() < 3 || literal[0] != 'b' || (literal[1] != '\'' && literal[1] != '"') ||
      literal.back() != literal[1])
    return std::nullopt;
  std::string bytes;
  for (std::size_t i = 2; i + 1 < literal.size(); ++i) {
    if (static_cast<unsigned char>(literal[i]) >= 0x80) return std::nullopt;  // the mark of what is left out
    if (literal[i] != '\\') {
      bytes += literal[i];
      continue;
    }
    switch (literal[++i]) {
      case 'n':
        bytes += '\n';
        break;
      case 'r':
        bytes += '\r';
        break;
      case 't':
        bytes += '\t';
        break;
      case '\\':
      case '\'':
      case '"':
        bytes += literal[i];
        break;
      case 'x': {
        if (i + 3 >= literal.size()) return std::nullopt;
        const int high = hexDigit(literal[i + 1]), low = hexDigit(literal[i + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        bytes += static_cast<char>(high * 16 + low);
        i += 2;
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return bytes;
}

QString savedDtypeNote(const std::string& dtype, TensorFileKind kind) {
  if (kind == TensorFileKind::csv)
    return dtype == "bool" ? QStringLiteral("True and False are written as 1 and 0") : QString();
  if (dtype == "bfloat16") return QStringLiteral("NumPy has no bfloat16: the same values as float32");
  if (dtype == "string") return QStringLiteral("strings as bytes of one length");
  return {};
}

QByteArray fileHeader(const TensorFileShape& tensor, TensorFileKind kind) {
  if (kind == TensorFileKind::csv) return {};
  QByteArray shape;
  for (const std::int64_t extent : tensor.shape)
    shape += QByteArray::number(static_cast<qlonglong>(extent)) + (tensor.shape.size() == 1 ? "," : ", ");
  if (tensor.shape.size() > 1) shape.chop(2);
  QByteArray description =
      "{'descr': '" + npyDtype(tensor) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr int before = 10;  // magic, version, length
  const int whole = static_cast<int>(description.size()) + 1 + before;
  description += QByteArray((npy_alignment - whole % npy_alignment) % npy_alignment, ' ') + '\n';
  QByteArray header("\x93NUMPY\x01\x00", 8);
  appendLittle(header, static_cast<quint16>(description.size()));
  return header + description;
}

FilePart filePart(const TensorFileShape& tensor, TensorFileKind kind, const protocol::Tile& tile,
                  std::int64_t first) {
  FilePart part;
  const std::int64_t columns = tensor.shape.size() < 2 ? 1 : tensor.shape.back();
  for (std::size_t i = 0; i < tile.values.size(); ++i) {
    const std::int64_t place = first + static_cast<std::int64_t>(i);
    bool written = true;
    if (kind == TensorFileKind::npy) {
      written = appendElement(part.bytes, tensor, tile, i);
    } else if (const auto text = csvElement(tensor, tile, i)) {
      part.bytes += *text;
      part.bytes += (place + 1) % columns == 0 ? '\n' : ',';
    } else {
      written = false;
    }
    if (written) continue;
    const QString where = fileElementText(tensor.shape, place);
    const bool readable = tensor.dtype == "string" && !tile.exact.empty() && bytesOf(tile.exact[i]);
    if (!readable && tensor.dtype == "string") return {{}, stringProblem(tile, i, where)};
    if (readable)
      return {
          {},
          kind == TensorFileKind::csv
              ? QStringLiteral("The string at %1 is not text in UTF-8: save it as .npy.").arg(where)
              : QStringLiteral("The string at %1 ends in a zero byte, which NumPy would drop.").arg(where)};
    return {{},
            QStringLiteral("The session's value for the element at %1 is not of type %2.")
                .arg(where, QString::fromStdString(tensor.dtype))};
  }
  return part;
}

Literal numpyLiteral(const protocol::Tile& tile, const std::vector<std::int64_t>& shape) {
  for (std::size_t i = 0; i < tile.values.size(); ++i)
    if (literalElement(tile, i).isEmpty()) {
      const QString where = fileElementText(shape, static_cast<std::int64_t>(i));
      if (tile.dtype == "string") return {{}, stringProblem(tile, i, where)};
      return {{},
              QStringLiteral("The session's value for the element at %1 is not of type %2.")
                  .arg(where, QString::fromStdString(tile.dtype))};
    }
  const QString begin = QStringLiteral("np.array(");
  QString text = begin;
  std::size_t at = 0;
  // No elements, but an axis may have 10⁹ empty rows.
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (empty)
    text += QStringLiteral("[]");
  else
    appendNested(text, tile, shape, 0, at, static_cast<int>(begin.size()));
  std::string dtype = tile.dtype == "bfloat16" ? "float32" : tile.dtype;
  text += QStringLiteral(", dtype=") + (dtype == "bool" ? QStringLiteral("bool")
                                        : dtype == "string"
                                            ? QStringLiteral("object")
                                            : QStringLiteral("np.") + QString::fromStdString(dtype));
  if (empty && shape.size() > 1) {
    QStringList extents;
    for (const std::int64_t extent : shape) extents << QString::number(extent);
    return {text + QStringLiteral(").reshape(%1)").arg(extents.join(QStringLiteral(", "))), {}};
  }
  return {text + QLatin1Char(')'), {}};
}

}  // namespace tapedeck::inspector
