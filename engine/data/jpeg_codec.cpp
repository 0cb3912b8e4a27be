// libjpeg reports errors by longjmp here: code between setjmp and a call of libjpeg must hold no object that
// a jump would leave undestroyed.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
// libjpeg's header needs stdio's before it.
#include <jerror.h>
#include <jpeglib.h>

#include "engine/data/image_codec.h"

namespace tapedeck::data {

namespace {

// Each block of 8 × 8 pixels takes at least one bit with Huffman coding.
constexpr std::uint64_t pixels_per_byte = 8 * 64;
constexpr std::uint64_t pixels_per_byte_of_arithmetic_code = 64 * pixels_per_byte;
constexpr int most_scans = 500;  // each is a pass over the whole image, however short it is

struct Errors {
  jpeg_error_mgr manager{};  // first: libjpeg knows its address only
  std::jmp_buf jump{};
  char message[JMSG_LENGTH_MAX] = {};
};

void on_error(j_common_ptr codec) {
  auto* errors = reinterpret_cast<Errors*>(codec->err);
  codec->err->format_message(codec, errors->message);
  std::longjmp(errors->jump, 1);
}
void on_warning(j_common_ptr codec, int level) {
  if (level < 0) ++codec->err->num_warnings;
}
void on_message(j_common_ptr) {}

jpeg_error_mgr* prepare(Errors& errors) {
  jpeg_std_error(&errors.manager);
  errors.manager.error_exit = on_error;
  errors.manager.emit_message = on_warning;
  errors.manager.output_message = on_message;
  return &errors.manager;
}

/// A source in memory that notes whether the decoder read past its end.
struct Source {
  jpeg_source_mgr manager{};  // first, as above
  bool ended = false;
  JOCTET end_of_image[2] = {0xFF, JPEG_EOI};
};

void source_nothing(j_decompress_ptr) {}
boolean source_fill(j_decompress_ptr codec) {
  auto* source = reinterpret_cast<Source*>(codec->src);
  source->ended = true;
  source->manager.next_input_byte = source->end_of_image;
  source->manager.bytes_in_buffer = 2;
  return TRUE;
}
void source_skip(j_decompress_ptr codec, long count) {
  auto* source = reinterpret_cast<Source*>(codec->src);
  if (count <= 0) return;
  if (static_cast<std::size_t>(count) > source->manager.bytes_in_buffer) {
    source_fill(codec);
    return;
  }
  source->manager.next_input_byte += count;
  source->manager.bytes_in_buffer -= static_cast<std::size_t>(count);
}

void on_progress(j_common_ptr codec) {
  if (reinterpret_cast<j_decompress_ptr>(codec)->input_scan_number > most_scans)
    ERREXIT(codec, JERR_BAD_PROGRESSION);
}

class JpegReader {
 public:
  JpegReader(std::string_view bytes, std::string_view op) : bytes_(bytes), op_(op) {
    codec_.err = prepare(errors_);
    if (!try_create()) refuse();
  }
  ~JpegReader() { jpeg_destroy_decompress(&codec_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  void read_header() {
    if (!try_header()) refuse();
    const std::uint64_t pixels = std::uint64_t{codec_.image_width} * codec_.image_height;
    const std::uint64_t most = codec_.arith_code ? pixels_per_byte_of_arithmetic_code : pixels_per_byte;
    if (pixels / most > bytes_.size())
      fail<InvalidArgumentError>(op_, ": an image of ", codec_.image_width, " × ", codec_.image_height,
                                 " pixels cannot fit in ", bytes_.size(), " bytes");
  }
  /// Chooses the conversion; afterwards the extents of the result are known.
  void start(const JpegDecoding& how) {
    if (!try_start(how)) refuse();
  }
  std::int64_t height() const { return codec_.output_height; }
  std::int64_t width() const { return codec_.output_width; }
  int channels() const { return codec_.output_components; }
  ImageExtent extent() const {
    return {codec_.image_height, codec_.image_width, codec_.num_components == 1 ? 1 : 3};
  }
  bool is_cmyk() const { return codec_.out_color_space == JCS_CMYK; }
  bool is_inverted() const { return codec_.saw_Adobe_marker != 0; }
  /// The next row. Missing data becomes grey.
  void read_row(JSAMPLE* to) {
    if (!try_row(to)) refuse();
  }
  bool ended() const { return source_.ended; }
  bool warned() const { return errors_.manager.num_warnings > 0; }

 private:
  [[noreturn]] void refuse() const { fail<InvalidArgumentError>(op_, ": ", errors_.message); }
  bool try_create() {
    if (setjmp(errors_.jump)) return false;
    jpeg_create_decompress(&codec_);
    source_.manager.init_source = source_nothing;
    source_.manager.fill_input_buffer = source_fill;
    source_.manager.skip_input_data = source_skip;
    source_.manager.resync_to_restart = jpeg_resync_to_restart;
    source_.manager.term_source = source_nothing;
    source_.manager.next_input_byte = reinterpret_cast<const JOCTET*>(bytes_.data());
    source_.manager.bytes_in_buffer = bytes_.size();
    codec_.src = &source_.manager;
    progress_.progress_monitor = on_progress;
    codec_.progress = &progress_;
    return true;
  }
  bool try_header() {
    if (setjmp(errors_.jump)) return false;
    jpeg_read_header(&codec_, TRUE);
    return true;
  }
  bool try_start(const JpegDecoding& how) {
    if (setjmp(errors_.jump)) return false;
    const bool cmyk = codec_.num_components == 4;
    const bool grey = how.channels == 1 || (how.channels == 0 && codec_.num_components == 1);
    codec_.out_color_space = cmyk ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
    codec_.do_fancy_upsampling = how.fancy_upscaling;
    codec_.scale_num = 1;
    codec_.scale_denom = static_cast<unsigned>(how.ratio);
    codec_.dct_method = how.fast ? JDCT_IFAST : JDCT_ISLOW;
    jpeg_start_decompress(&codec_);
    return true;
  }
  bool try_row(JSAMPLE* to) {
    if (setjmp(errors_.jump)) return false;
    jpeg_read_scanlines(&codec_, &to, 1);
    return true;
  }

  std::string_view bytes_, op_;
  jpeg_decompress_struct codec_{};
  Errors errors_;
  Source source_;
  jpeg_progress_mgr progress_{};
};

class JpegWriter {
 public:
  JpegWriter() {
    codec_.err = prepare(errors_);
    if (!try_create()) refuse();
  }
  ~JpegWriter() {
    jpeg_destroy_compress(&codec_);
    std::free(out_);
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;

  std::string write(const Tensor& image, const JpegEncoding& how) {
    if (!try_write(image.data<JSAMPLE>(), static_cast<JDIMENSION>(image.dim(0)),
                   static_cast<JDIMENSION>(image.dim(1)), static_cast<int>(image.dim(2)), how))
      refuse();
    return {reinterpret_cast<const char*>(out_), size_};
  }

 private:
  [[noreturn]] void refuse() const { fail<InvalidArgumentError>("encode_jpeg: ", errors_.message); }
  bool try_create() {
    if (setjmp(errors_.jump)) return false;
    jpeg_create_compress(&codec_);
    return true;
  }
  bool try_write(const JSAMPLE* pixels, JDIMENSION height, JDIMENSION width, int channels,
                 const JpegEncoding& how) {
    if (setjmp(errors_.jump)) return false;
    jpeg_mem_dest(&codec_, &out_, &size_);
    codec_.image_height = height;
    codec_.image_width = width;
    codec_.input_components = channels;
    codec_.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&codec_);
    jpeg_set_quality(&codec_, how.quality, TRUE);
    if (how.progressive) jpeg_simple_progression(&codec_);
    codec_.optimize_coding = how.optimize_size;
    if (!how.chroma_downsampling) {
      codec_.comp_info[0].h_samp_factor = 1;
      codec_.comp_info[0].v_samp_factor = 1;
    }
    codec_.density_unit = how.per_centimetre ? 2 : 1;
    codec_.X_density = static_cast<UINT16>(how.x_density);
    codec_.Y_density = static_cast<UINT16>(how.y_density);
    jpeg_start_compress(&codec_, TRUE);
    while (codec_.next_scanline < height) {
      auto* row = const_cast<JSAMPLE*>(pixels) +
                  std::size_t{codec_.next_scanline} * width * static_cast<std::size_t>(channels);
      jpeg_write_scanlines(&codec_, &row, 1);
    }
    jpeg_finish_compress(&codec_);
    return true;
  }

  jpeg_compress_struct codec_{};
  Errors errors_;
  unsigned char* out_ = nullptr;
  unsigned long size_ = 0;
};

/// A row of CMYK pixels, as Adobe's programs write them (inverted) or not, to RGB or grey.
void convert_cmyk(const JSAMPLE* from, std::int64_t width, bool inverted, int channels, std::uint8_t* to) {
  for (std::int64_t x = 0; x < width; ++x, from += 4, to += channels) {
    int rgb[3];
    for (int i = 0; i < 3; ++i)
      rgb[i] = inverted ? from[i] * from[3] / 255 : (255 - from[i]) * (255 - from[3]) / 255;
    if (channels == 1)
      *to = static_cast<std::uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
    else
      for (int i = 0; i < 3; ++i) to[i] = static_cast<std::uint8_t>(rgb[i]);
  }
}

void check_decoding(const JpegDecoding& how) {
  if (how.channels != 0 && how.channels != 1 && how.channels != 3)
    fail<InvalidArgumentError>("decode_jpeg: channels is ", how.channels, "; must be 0, 1 or 3");
  if (how.ratio != 1 && how.ratio != 2 && how.ratio != 4 && how.ratio != 8)
    fail<InvalidArgumentError>("decode_jpeg: ratio is ", how.ratio, "; must be 1, 2, 4 or 8");
}

}  // namespace

std::string encode_jpeg(const Tensor& image, const JpegEncoding& encoding) {
  check_encodable(image, 3, false, "encode_jpeg");
  if (image.dim(2) == 2) fail<InvalidArgumentError>("encode_jpeg: image has 2 channels; needs 1 or 3");
  if (encoding.quality < 0 || encoding.quality > 100)
    fail<InvalidArgumentError>("encode_jpeg: quality is ", encoding.quality, "; must be 0 to 100");
  return JpegWriter().write(image.make_contiguous(), encoding);
}

Tensor decode_jpeg(std::string_view bytes, const JpegDecoding& decoding) {
  check_decoding(decoding);
  JpegReader reader(bytes, "decode_jpeg");
  reader.read_header();
  reader.start(decoding);
  const bool cmyk = reader.is_cmyk();
  const int channels = cmyk ? (decoding.channels == 1 ? 1 : 3) : reader.channels();
  const std::int64_t height = reader.height(), width = reader.width();
  Tensor image = Tensor::allocate(DType::uint8, {height, width, channels});
  std::vector<JSAMPLE> cmyk_row(cmyk ? static_cast<std::size_t>(width) * 4 : 0);
  auto* to = image.writable_data<std::uint8_t>();
  for (std::int64_t row = 0; row < height; ++row, to += width * channels) {
    reader.read_row(cmyk ? cmyk_row.data() : to);
    if (cmyk) convert_cmyk(cmyk_row.data(), width, reader.is_inverted(), channels, to);
    if (reader.ended()) {
      const double fraction = static_cast<double>(row) / static_cast<double>(height);
      if (!decoding.try_recover_truncated || fraction < static_cast<double>(decoding.acceptable_fraction))
        fail<InvalidArgumentError>("decode_jpeg: the data ends after ", row, " of ", height, " rows");
    }
  }
  return image;
}

ImageExtent jpeg_extent(std::string_view bytes, std::string_view op) {
  JpegReader reader(bytes, op);
  reader.read_header();
  return reader.extent();
}

}  // namespace tapedeck::data
