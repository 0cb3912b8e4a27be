// A tensor's values as text and bytes that NumPy reads: a literal for a program, .npy, .csv.
#pragma once

#include <QByteArray>
#include <QString>
#include <complex>

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

enum class TensorFileKind { npy, csv };

/// A tile of strings has at most this many bytes of each.
constexpr std::int64_t most_string_bytes = 60;

/// Of a tensor, whose values come in tiles of a single row, in row-major order.
struct TensorFileShape {
  std::vector<std::int64_t> shape;
  std::string dtype;
  std::int64_t string_bytes = 1;  ///< of the longest element, where they are strings
};

/// How the file's values differ in kind from the tensor's, "NumPy has no bfloat16: …"; empty: not at all.
QString savedDtypeNote(const std::string& dtype, TensorFileKind kind);

/// The beginning of the file.
QByteArray fileHeader(const TensorFileShape& tensor, TensorFileKind kind);
struct FilePart {
  QByteArray bytes;
  QString error;  ///< a sentence; then there are no bytes
};
/// The tile's values, of which the first is element `first` of all.
FilePart filePart(const TensorFileShape& tensor, TensorFileKind kind, const protocol::Tile& tile,
                  std::int64_t first);

/// "np.array([[1.0, nan]], dtype=np.float32)", with np.nan and np.inf, to be pasted into a program: of a
/// tile with all values of `shape` in row-major order.
struct Literal {
  QString text;
  QString error;
};
Literal numpyLiteral(const protocol::Tile& tile, const std::vector<std::int64_t>& shape);

/// Of "3.0-4.0j", "nan+infj"; `single`: a complex64. Nothing where it is not a complex number.
std::optional<std::complex<double>> complexOf(const std::string& text, bool single = false);
/// Of b'a\xff'. Nothing where it is not a bytes literal, or a truncated one.
std::optional<std::string> bytesOf(const std::string& literal);

}  // namespace tapedeck::inspector
