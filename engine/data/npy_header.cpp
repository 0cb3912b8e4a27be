#include "engine/data/npy_header.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "engine/data/data_error.h"

namespace tapedeck::data {

namespace {

constexpr std::size_t longest_npy_header = 10'000;  // bytes, as NumPy has it

struct NpyHeader {
  std::string descr;
  bool fortran = false;
  std::vector<std::int64_t> shape;
};

/// Reads the header's Python literal: a dict of three known keys. Nothing of it is evaluated.
class NpyHeaderReader {
 public:
  NpyHeaderReader(std::string_view text, const std::string& subject) : text_(text), subject_(subject) {}

  NpyHeader read() {
    NpyHeader header;
    bool seen[3] = {};
    need('{');
    while (!takes('}')) {
      const std::string key = quoted();
      need(':');
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0 || seen[which])
        refuse("has the key '" + key.substr(0, 40) + "'" + (which < 0 ? "" : " twice"));
      seen[which] = true;
      if (which == 0) header.descr = descr();
      if (which == 1) header.fortran = boolean();
      if (which == 2) header.shape = extents();
      if (!takes(',')) {
        need('}');
        break;
      }
    }
    if (!seen[0] || !seen[1] || !seen[2]) refuse("lacks one of 'descr', 'fortran_order' and 'shape'");
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail<DataLossError>(subject_, "its header ", what, " (byte ", at_, " of the header)");
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool takes(char one) {
    skip();
    if (at_ >= text_.size() || text_[at_] != one) return false;
    ++at_;
    return true;
  }
  void need(char one) {
    if (!takes(one)) refuse(std::string("lacks '") + one + "'");
  }
  std::string quoted() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end =
        quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) refuse("lacks a text in quotes");
    std::string found(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return found;
  }
  std::string descr() {
    skip();
    if (at_ < text_.size() && text_[at_] == '[')
      fail<UnimplementedError>(subject_, "its elements are records of several fields");
    return quoted();
  }
  bool boolean() {
    skip();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    refuse("has neither True nor False for 'fortran_order'");
  }
  std::vector<std::int64_t> extents() {
    std::vector<std::int64_t> shape;
    need('(');
    while (!takes(')')) {
      skip();
      std::int64_t extent = -1;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) refuse("has an extent that is no number");
      at_ = static_cast<std::size_t>(end - text_.data());
      shape.push_back(extent);
      if (shape.size() > static_cast<std::size_t>(max_rank))
        fail<UnimplementedError>(subject_, "it has more than ", max_rank, " axes");
      if (!takes(',')) {
        need(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  const std::string& subject_;
  std::size_t at_ = 0;
};

DType dtype_of_descr(const std::string& descr, const std::string& subject) {
  static constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"b1", "bool"},    {"i1", "int8"},    {"u1", "uint8"},     {"i2", "int16"},      {"u2", "uint16"},
      {"i4", "int32"},   {"u4", "uint32"},  {"i8", "int64"},     {"u8", "uint64"},     {"f2", "float16"},
      {"f4", "float32"}, {"f8", "float64"}, {"c8", "complex64"}, {"c16", "complex128"}};
  if (descr.size() >= 3 && (descr[0] == '<' || descr[0] == '|' || descr[0] == '='))
    for (const auto& [name, engine] : known)
      if (descr.substr(1) == name) return dtype_from_name(std::string(engine)).value();
  if (descr.starts_with('>'))
    fail<UnimplementedError>(subject, "its numbers ('", descr.substr(0, 20),
                             "') are big-endian, which is not read");
  fail<UnimplementedError>(subject, "tensors have no dtype '", descr.substr(0, 20), "'");
}

}  // namespace

Tensor tensor_of_npy(std::string_view bytes, const std::string& subject) {
  if (bytes.size() < 10 || !bytes.starts_with("\x93NUMPY"))
    fail<DataLossError>(subject, "does not begin as an array of NumPy's does (byte 0)");
  const auto byte = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at]));
  };
  const std::size_t version = byte(6), prefix = version == 1 ? 10 : 12;
  if (version < 1 || version > 3)
    fail<UnimplementedError>(subject, "is of version ", version, " of the format; 1 to 3 can be read");
  if (bytes.size() < prefix) fail<DataLossError>(subject, "ends in its header, at byte ", bytes.size());
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > longest_npy_header)
    fail<DataLossError>(subject, "the header would have ", length, " bytes; at most ", longest_npy_header,
                        " are read");
  if (length > bytes.size() - prefix)
    fail<DataLossError>(subject, "the header of ", length, " bytes ends behind its ", bytes.size(), " bytes");
  const NpyHeader header = NpyHeaderReader(bytes.substr(prefix, length), subject).read();
  const DType dtype = dtype_of_descr(header.descr, subject);
  const std::string_view data = bytes.substr(prefix + length);
  std::uint64_t need = item_size(dtype);
  for (const std::int64_t extent : header.shape)
    if (__builtin_mul_overflow(need, static_cast<std::uint64_t>(extent), &need)) need = UINT64_MAX;
  if (std::ranges::find(header.shape, 0) != header.shape.end()) need = 0;
  if (need != data.size())
    fail<DataLossError>(subject, "its shape and dtype need ", need, " bytes, but it has ", data.size(),
                        " behind byte ", prefix + length);
  std::vector<std::int64_t> extents = header.shape;
  if (header.fortran) std::ranges::reverse(extents);
  const Tensor tensor = [&] {
    try {
      return Tensor::allocate(dtype, Shape(std::span<const std::int64_t>(extents)), Device{});
    } catch (const ResourceExhaustedError& error) {
      fail<ResourceExhaustedError>(subject, error.what());
    }
  }();
  std::memcpy(tensor.writable_data<std::byte>(), data.data(), data.size());
  if (dtype == DType::bool_ && std::ranges::any_of(data, [](char one) { return (one & ~1) != 0; }))
    fail<DataLossError>(subject, "an element of a bool array is neither 0 nor 1");
  if (!header.fortran || extents.size() < 2) return tensor;
  Strides strides;
  std::vector<std::int64_t> reversed(tensor.strides().begin(), tensor.strides().end());
  std::ranges::reverse(reversed);
  strides = Strides(std::span<const std::int64_t>(reversed));
  return Tensor::view(tensor.storage(), dtype, Shape(std::span<const std::int64_t>(header.shape)), strides, 0)
      .make_contiguous();
}

}  // namespace tapedeck::data
