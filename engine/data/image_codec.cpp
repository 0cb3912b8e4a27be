#include "engine/data/image_codec.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tapedeck::data {

namespace {

constexpr std::size_t bmp_header_size = 54;

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, 4);
  return word;
}

struct BmpHeader {
  std::int64_t width = 0, height = 0;
  bool bottom_up = true;
  int channels = 0;
  std::size_t pixels_at = 0, row_bytes = 0;
};

BmpHeader bmp_header(std::string_view bytes) {
  if (bytes.size() < bmp_header_size || bytes.substr(0, 2) != "BM")
    fail<InvalidArgumentError>("decode_bmp: ", bytes.size(), " bytes that do not begin with a BMP header");
  BmpHeader header;
  const auto width = static_cast<std::int32_t>(word_at(bytes, 18));
  const auto height = static_cast<std::int32_t>(word_at(bytes, 22));
  const std::uint32_t bits = word_at(bytes, 28) & 0xFFFF, compression = word_at(bytes, 30);
  header.pixels_at = word_at(bytes, 10);
  header.width = width;
  header.bottom_up = height > 0;
  header.height = std::abs(std::int64_t{height});
  if (width <= 0 || height == 0)
    fail<InvalidArgumentError>("decode_bmp: an image of ", width, " × ", height, " pixels");
  if (compression != 0 || (bits != 8 && bits != 24 && bits != 32))
    fail<InvalidArgumentError>("decode_bmp: ", bits, " bits a pixel with compression ", compression,
                               "; it reads 8, 24 and 32 bits, uncompressed");
  header.channels = static_cast<int>(bits / 8);
  header.row_bytes = (static_cast<std::size_t>(width) * bits / 8 + 3) / 4 * 4;
  const std::size_t left = bytes.size() - std::min(bytes.size(), header.pixels_at);
  if (left / header.row_bytes < static_cast<std::size_t>(header.height))
    fail<InvalidArgumentError>("decode_bmp: an image of ", width, " × ", header.height, " pixels needs ",
                               header.row_bytes, " bytes a row; there are ", left);
  return header;
}

}  // namespace

void check_encodable(const Tensor& image, int most_channels, bool wide, std::string_view op) {
  if (image.dtype() != DType::uint8 && !(wide && image.dtype() == DType::uint16))
    fail<TypeMismatchError>(op, ": image is ", dtype_name(image.dtype()),
                            wide ? "; needs uint8 or uint16" : "; needs uint8");
  if (image.rank() != 3)
    fail<InvalidArgumentError>(op, ": image has shape ", to_string(image.shape()),
                               "; needs (height, width, channels)");
  if (image.count() == 0 || image.dim(2) > most_channels)
    fail<InvalidArgumentError>(op, ": image has shape ", to_string(image.shape()),
                               "; needs one pixel at least and 1 to ", most_channels, " channels");
}

Tensor decode_bmp(std::string_view bytes, int channels) {
  const BmpHeader header = bmp_header(bytes);
  if (channels != 0 && channels != header.channels)
    fail<InvalidArgumentError>("decode_bmp: channels is ", channels, "; the image has ", header.channels);
  Tensor image = Tensor::allocate(DType::uint8, {header.height, header.width, header.channels});
  auto* to = image.writable_data<std::uint8_t>();
  for (std::int64_t row = 0; row < header.height; ++row) {
    const std::int64_t stored = header.bottom_up ? header.height - 1 - row : row;
    const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data()) + header.pixels_at +
                       static_cast<std::size_t>(stored) * header.row_bytes;
    for (std::int64_t x = 0; x < header.width; ++x, from += header.channels, to += header.channels) {
      std::memcpy(to, from, static_cast<std::size_t>(header.channels));
      if (header.channels >= 3) std::swap(to[0], to[2]);  // stored as blue, green, red
    }
  }
  return image;
}

std::string_view image_format(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "png";
  if (bytes.starts_with("\xff\xd8\xff")) return "jpeg";
  if (bytes.starts_with("GIF8")) return "gif";
  if (bytes.starts_with("BM")) return "bmp";
  return "";
}

Tensor decode_image(std::string_view bytes, int channels, DType dtype) {
  const std::string_view format = image_format(bytes);
  if (format == "png") return decode_png(bytes, channels, dtype);
  if (dtype != DType::uint8 && !format.empty())
    fail<InvalidArgumentError>("decode_image: dtype is ", dtype_name(dtype), "; a ", format,
                               " has uint8 values");
  if (format == "jpeg") return decode_jpeg(bytes, {.channels = channels});
  if (format == "bmp") return decode_bmp(bytes, channels);
  if (format == "gif") fail<UnimplementedError>("decode_image: a GIF; it reads PNG, JPEG and BMP");
  fail<InvalidArgumentError>("decode_image: ", bytes.size(), " bytes that are not PNG, JPEG or BMP");
}

}  // namespace tapedeck::data
