// libpng reports errors by longjmp: code between setjmp and a call of libpng must hold no object that a jump
// would leave undestroyed.
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "engine/data/image_codec.h"

namespace tapedeck::data {

namespace {

constexpr std::uint64_t deflate_ratio = 1032;  // the most that deflate can pack into a byte

class PngReader {
 public:
  explicit PngReader(std::string_view bytes) : bytes_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      fail<ResourceExhaustedError>("decode_png: no memory");
    }
    png_set_read_fn(png_, this, on_read);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  void read_header() {
    if (!try_header()) refuse();
    const std::uint64_t raw = std::uint64_t{png_get_rowbytes(png_, info_)} * height();
    if (raw / deflate_ratio > bytes_.size())
      fail<InvalidArgumentError>("decode_png: an image of ", width(), " × ", height(),
                                 " pixels cannot fit in ", bytes_.size(), " bytes");
  }
  std::uint32_t width() const { return png_get_image_width(png_, info_); }
  std::uint32_t height() const { return png_get_image_height(png_, info_); }
  int own_channels() const {
    if (png_get_color_type(png_, info_) != PNG_COLOR_TYPE_PALETTE) return png_get_channels(png_, info_);
    return png_get_valid(png_, info_, PNG_INFO_tRNS) ? 4 : 3;
  }
  void read_rows(int channels, bool wide, std::vector<png_bytep>& rows) {
    if (!try_rows(channels, wide, rows.data())) refuse();
  }
  bool fits(std::size_t row_bytes) const { return png_get_rowbytes(png_, info_) == row_bytes; }

 private:
  [[noreturn]] void refuse() const { fail<InvalidArgumentError>("decode_png: ", message_); }

  bool try_header() {
    if (setjmp(jump_)) return false;
    png_read_info(png_, info_);
    return true;
  }
  bool try_rows(int channels, bool wide, png_bytep* rows) {
    if (setjmp(jump_)) return false;
    choose_conversions(channels, wide);
    png_read_update_info(png_, info_);
    const std::size_t row_bytes = std::size_t{width()} * static_cast<std::size_t>(channels) * (wide ? 2 : 1);
    if (!fits(row_bytes)) png_error(png_, "its rows cannot be converted");
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }
  void choose_conversions(int channels, bool wide) {
    const int type = png_get_color_type(png_, info_), depth = png_get_bit_depth(png_, info_);
    const bool transparent = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    const bool alpha = (type & PNG_COLOR_MASK_ALPHA) != 0, colored = (type & PNG_COLOR_MASK_COLOR) != 0;
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (!colored && depth < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (wide) {
      png_set_expand_16(png_);
      png_set_swap(png_);  // PNG is big-endian
    } else if (depth == 16) {
      png_set_strip_16(png_);
    }
    if (channels % 2 == 0) {
      if (transparent)
        png_set_tRNS_to_alpha(png_);
      else if (!alpha)
        png_set_add_alpha(png_, 0xFFFF, PNG_FILLER_AFTER);
    } else if (alpha || transparent) {
      png_set_strip_alpha(png_);
    }
    if (channels < 3 && colored) png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    if (channels >= 3 && !colored) png_set_gray_to_rgb(png_);
    png_set_interlace_handling(png_);
  }

  static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self->message_, message, sizeof self->message_ - 1);
    std::longjmp(self->jump_, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_read(png_structp png, png_bytep to, std::size_t count) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self->bytes_.size() - self->at_) png_error(png, "the data ends too early");
    std::memcpy(to, self->bytes_.data() + self->at_, count);
    self->at_ += count;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_{};
  char message_[160] = {};
};

class PngWriter {
 public:
  PngWriter() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) {
      png_destroy_write_struct(&png_, &info_);
      fail<ResourceExhaustedError>("encode_png: no memory");
    }
    png_set_write_fn(png_, this, on_write, on_flush);
  }
  ~PngWriter() { png_destroy_write_struct(&png_, &info_); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  std::string write(const Tensor& image, int compression, std::vector<png_bytep>& rows) {
    if (!try_write(static_cast<std::uint32_t>(image.dim(0)), static_cast<std::uint32_t>(image.dim(1)),
                   static_cast<int>(image.dim(2)), image.dtype() == DType::uint16, compression,
                   rows.data())) {
      if (out_of_memory_) throw std::bad_alloc{};
      fail<InvalidArgumentError>("encode_png: ", message_);
    }
    return std::move(out_);
  }

 private:
  bool try_write(std::uint32_t height, std::uint32_t width, int channels, bool wide, int compression,
                 png_bytep* rows) {
    if (setjmp(jump_)) return false;
    constexpr int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                             PNG_COLOR_TYPE_RGBA};
    png_set_compression_level(png_, compression);
    png_set_IHDR(png_, info_, width, height, wide ? 16 : 8, types[channels - 1], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    if (wide) png_set_swap(png_);
    png_write_image(png_, rows);
    png_write_end(png_, nullptr);
    return true;
  }

  static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngWriter*>(png_get_error_ptr(png));
    std::strncpy(self->message_, message, sizeof self->message_ - 1);
    std::longjmp(self->jump_, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_write(png_structp png, png_bytep from, std::size_t count) {
    auto* self = static_cast<PngWriter*>(png_get_io_ptr(png));
    try {
      self->out_.append(reinterpret_cast<const char*>(from), count);
      return;
    } catch (...) {
      self->out_of_memory_ = true;
    }
    png_error(png, "no memory");
  }
  static void on_flush(png_structp) {}

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::string out_;
  bool out_of_memory_ = false;
  std::jmp_buf jump_{};
  char message_[160] = {};
};

std::vector<png_bytep> row_pointers(const Tensor& image) {
  const auto row_bytes = static_cast<std::size_t>(image.dim(1) * image.dim(2)) * item_size(image.dtype());
  std::vector<png_bytep> rows(static_cast<std::size_t>(image.dim(0)));
  auto* first = reinterpret_cast<png_bytep>(const_cast<std::byte*>(image.raw()));
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = first + row * row_bytes;
  return rows;
}

}  // namespace

std::string encode_png(const Tensor& image, int compression) {
  check_encodable(image, 4, true, "encode_png");
  if (compression < -1 || compression > 9)
    fail<InvalidArgumentError>("encode_png: compression is ", compression, "; must be -1 to 9");
  const Tensor whole = image.make_contiguous();
  auto rows = row_pointers(whole);
  return PngWriter().write(whole, compression, rows);
}

Tensor decode_png(std::string_view bytes, int channels, DType dtype) {
  if (channels < 0 || channels > 4)
    fail<InvalidArgumentError>("decode_png: channels is ", channels, "; must be 0, 1, 2, 3 or 4");
  if (dtype != DType::uint8 && dtype != DType::uint16)
    fail<InvalidArgumentError>("decode_png: dtype is ", dtype_name(dtype), "; must be uint8 or uint16");
  PngReader reader(bytes);
  reader.read_header();
  if (channels == 0) channels = reader.own_channels();
  Tensor image = Tensor::allocate(dtype, {reader.height(), reader.width(), channels});
  auto rows = row_pointers(image);
  reader.read_rows(channels, dtype == DType::uint16, rows);
  return image;
}

}  // namespace tapedeck::data
