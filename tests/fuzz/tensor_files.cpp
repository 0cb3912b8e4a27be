// Tensors as .npy, .csv and NumPy literals. What is written reads back as the same values, by readers of this
// file alone; what a session answers that is no value of the dtype is refused.
#include <cmath>
#include <cstring>
#include <limits>

#include "inspector/model/tensor/numpy_text.h"
#include "inspector/model/tensor/tensor_file.h"
#include "tests/fuzz/tensor_readers.h"

using namespace tapedeck;
using namespace tapedeck::inspector;
using namespace fuzz;

namespace {

constexpr const char* dtypes[] = {"bool",    "int8",      "uint8",      "int16",   "uint16",  "int32",
                                  "uint32",  "int64",     "uint64",     "float16", "float32", "bfloat16",
                                  "float64", "complex64", "complex128", "string"};

class Input {
 public:
  explicit Input(fuzz::Bytes bytes) : rest_(bytes) {}
  /// Zero behind the end.
  template <class T>
  T take() {
    T value{};
    const std::size_t size = std::min(sizeof value, rest_.size());
    std::memcpy(&value, rest_.data(), size);
    rest_ = rest_.subspan(size);
    return value;
  }
  std::string take_bytes(std::size_t size) {
    size = std::min(size, rest_.size());
    const std::string bytes(fuzz::text_of(rest_.first(size)));
    rest_ = rest_.subspan(size);
    return bytes;
  }

 private:
  fuzz::Bytes rest_;
};

/// A tensor's tile, and what it says.
struct Sample {
  TensorFileShape file;
  protocol::Tile tile;
  Values values;
};

std::string complex_text(double real, double imaginary, bool single) {
  const auto append = [single](std::string& text, double part, bool sign) {
    char buffer[48];
    const auto end = single ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(part)).ptr
                            : std::to_chars(buffer, buffer + sizeof buffer, part).ptr;
    if (sign && buffer[0] != '-') text += '+';
    text.append(buffer, end);
  };
  std::string text;
  append(text, real, false);
  append(text, imaginary, true);
  return text + 'j';
}

std::string bytes_text(const std::string& bytes) {
  std::string text = "b'";
  for (const char byte : bytes) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(byte));
    const bool plain = byte >= ' ' && byte < 0x7f && byte != '\'' && byte != '\\';
    text += plain ? std::string(1, byte) : byte == '\n' ? "\\n" : byte == '\'' ? "\\'" : escaped;
  }
  return text + '\'';
}

template <class T>
void add_whole(Sample& sample, Input& input, bool always_exact) {
  const T value = input.take<T>();
  sample.tile.values.push_back(static_cast<double>(value));
  sample.values.push_back(std::to_string(value));
  if (always_exact) sample.tile.exact.push_back(sample.values.back());
}

void add_element(Sample& sample, Input& input) {
  const std::string& dtype = sample.file.dtype;
  const auto add = [&](double value) {
    sample.tile.values.push_back(value);
    sample.values.push_back(hex_of(value, is_single(dtype)));
  };
  if (dtype == "bool") {
    const bool value = input.take<std::uint8_t>() & 1;
    sample.tile.values.push_back(value);
    sample.values.push_back(value ? "1" : "0");
  } else if (dtype == "int8") {
    add_whole<std::int8_t>(sample, input, false);
  } else if (dtype == "uint8") {
    add_whole<std::uint8_t>(sample, input, false);
  } else if (dtype == "int16") {
    add_whole<std::int16_t>(sample, input, false);
  } else if (dtype == "uint16") {
    add_whole<std::uint16_t>(sample, input, false);
  } else if (dtype == "int32") {
    add_whole<std::int32_t>(sample, input, false);
  } else if (dtype == "uint32") {
    add_whole<std::uint32_t>(sample, input, false);
  } else if (dtype == "int64") {
    add_whole<std::int64_t>(sample, input, true);
  } else if (dtype == "uint64") {
    add_whole<std::uint64_t>(sample, input, true);
  } else if (dtype == "float16") {
    add(half_value(input.take<std::uint16_t>()));
  } else if (dtype == "bfloat16") {
    add(std::bit_cast<float>(std::uint32_t{input.take<std::uint16_t>()} << 16));
  } else if (dtype == "float32") {
    add(input.take<float>());
  } else if (dtype == "float64") {
    add(input.take<double>());
  } else if (is_complex(dtype)) {
    const bool single = dtype == "complex64";
    const double real = single ? input.take<float>() : input.take<double>();
    const double imaginary = single ? input.take<float>() : input.take<double>();
    sample.tile.values.push_back(std::hypot(real, imaginary));
    sample.tile.exact.push_back(complex_text(real, imaginary, single));
    sample.values.push_back(hex_of(real, single) + ' ' + hex_of(imaginary, single));
  } else {
    const std::string bytes = input.take_bytes(input.take<std::uint8_t>() % 16);
    sample.tile.values.push_back(static_cast<double>(bytes.size()));
    sample.tile.exact.push_back(bytes_text(bytes));
    sample.values.push_back("s:" + bytes);
    sample.file.string_bytes = std::max(sample.file.string_bytes, static_cast<std::int64_t>(bytes.size()));
  }
}

/// As a session of bad faith could answer: any numbers, and texts of any bytes.
void add_false_element(Sample& sample, Input& input, bool texts) {
  sample.tile.values.push_back(input.take<double>());
  if (texts) sample.tile.exact.push_back(input.take_bytes(input.take<std::uint8_t>() % 32));
}

/// In two parts; nothing: refused.
std::optional<std::string> written(const Sample& sample, TensorFileKind kind, std::size_t cut) {
  std::string file = fileHeader(sample.file, kind).toStdString();
  const protocol::Tile& tile = sample.tile;
  for (const auto& [first, end] : {std::pair(std::size_t{0}, cut), std::pair(cut, tile.values.size())}) {
    protocol::Tile part = tile;
    part.values.assign(tile.values.begin() + static_cast<std::ptrdiff_t>(first),
                       tile.values.begin() + static_cast<std::ptrdiff_t>(end));
    if (!tile.exact.empty())
      part.exact.assign(tile.exact.begin() + static_cast<std::ptrdiff_t>(first),
                        tile.exact.begin() + static_cast<std::ptrdiff_t>(end));
    const FilePart bytes = filePart(sample.file, kind, part, static_cast<std::int64_t>(first));
    expect(bytes.error.isEmpty() || bytes.bytes.isEmpty(), "what is refused has no bytes");
    if (!bytes.error.isEmpty()) return std::nullopt;
    file += bytes.bytes.toStdString();
  }
  return file;
}

/// Which strings a file can't hold is checked by tst_tensor_files.
void compare(const Sample& sample, bool honest, const std::optional<Values>& read, const char* what) {
  if (!read)
    return expect(!honest || sample.file.dtype == "string",
                  "what a session says in good faith can be written");
  expect(read->size() == sample.tile.values.size(), "as many values are read as were written");
  expect(!honest || *read == sample.values, what);
}

void check_short_text(double value, int digits) {
  if (!(std::abs(value) < 1e308)) return;  // a rounded one may be beyond what doubles reach
  const double read = std::atof(qPrintable(numpyShortText(value, digits, "float64")));
  const double half = 0.5 * std::pow(10.0, 1 - digits) * std::abs(value);
  expect(std::abs(read - value) <= half * 1.000001 + std::numeric_limits<double>::denorm_min(),
         "a short number is rounded to its digits");
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  Input input(bytes);
  Sample sample;
  sample.file.dtype = sample.tile.dtype = dtypes[input.take<std::uint8_t>() % std::size(dtypes)];
  const std::size_t rank = input.take<std::uint8_t>() % 4;
  std::size_t count = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    sample.file.shape.push_back(input.take<std::uint8_t>() % 5);
    count *= static_cast<std::size_t>(sample.file.shape.back());
  }
  const std::uint8_t how = input.take<std::uint8_t>();
  const bool honest = how % 4 != 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (honest)
      add_element(sample, input);
    else
      add_false_element(sample, input, how & 4);
  }
  for (const double value : sample.tile.values) check_short_text(value, 1 + how % 9);

  const Shaped tensor{sample.file.dtype, sample.file.shape};
  const std::size_t cut = count == 0 ? 0 : input.take<std::uint8_t>() % (count + 1);
  const auto npy = written(sample, TensorFileKind::npy, cut);
  compare(sample, honest, npy ? std::optional(read_npy(*npy, tensor)) : std::nullopt,
          "a .npy file has the tensor's values");
  const auto csv = written(sample, TensorFileKind::csv, cut);
  compare(sample, honest, csv ? std::optional(read_csv(*csv, tensor)) : std::nullopt,
          "a .csv file has the tensor's values");
  const Literal literal = numpyLiteral(sample.tile, sample.file.shape);
  expect(literal.error.isEmpty() != literal.text.isEmpty(), "there is a literal or an error");
  compare(sample, honest,
          literal.error.isEmpty() ? std::optional(read_literal(literal.text.toStdString(), tensor))
                                  : std::nullopt,
          "a literal has the tensor's values");
}
