// PNG, JPEG and BMP: from and to tensors (height, width, channels). Damaged bytes are an InvalidArgumentError
// that names the function; no image takes more memory than its bytes can stand for.
#pragma once

#include <string>
#include <string_view>

#include "engine/tensor/tensor.h"

namespace tapedeck::data {

/// `image`: uint8 or uint16, of 1 to 4 channels (grey, grey with alpha, RGB, RGBA). `compression`: zlib's -1
/// to 9. Several images (more axes) are refused.
std::string encode_png(const Tensor& image, int compression = -1);
/// `channels`: 0 takes the file's own; 1, 2, 3, 4 convert. `dtype`: uint8 or uint16.
Tensor decode_png(std::string_view bytes, int channels = 0, DType dtype = DType::uint8);

struct JpegEncoding {
  int quality = 95;  ///< 0 to 100
  bool progressive = false;
  bool optimize_size = false;
  bool chroma_downsampling = true;
  bool per_centimetre = false;  ///< the unit of the densities; inches otherwise
  int x_density = 300, y_density = 300;
};
/// `image`: uint8, of 1 channel (grey) or 3 (RGB).
std::string encode_jpeg(const Tensor& image, const JpegEncoding& encoding = {});

struct JpegDecoding {
  int channels = 0;  ///< 0 takes the file's own; 1, 3
  int ratio = 1;     ///< of sizes, file to result: 1, 2, 4, 8
  bool fancy_upscaling = true;
  bool try_recover_truncated = false;
  float acceptable_fraction = 1;  ///< of rows, where a truncated one is recovered
  bool fast = false;              ///< a quicker transform, of less accuracy
};
/// uint8.
Tensor decode_jpeg(std::string_view bytes, const JpegDecoding& decoding = {});

/// uncompressed BMP of 8, 24 or 32 bits. `channels`: 0, 1 (for 8 bits), 3, 4.
Tensor decode_bmp(std::string_view bytes, int channels = 0);

/// "png", "jpeg", "bmp", "gif", or "" where the first bytes tell none of them.
std::string_view image_format(std::string_view bytes);
/// Whichever of PNG, JPEG and BMP it is. `dtype`: uint8, or uint16 for PNG.
Tensor decode_image(std::string_view bytes, int channels = 0, DType dtype = DType::uint8);

struct ImageExtent {
  std::int64_t height = 0, width = 0;
  int channels = 0;
};
/// What an image says of itself, without its pixels being read. `op` is named in errors.
ImageExtent jpeg_extent(std::string_view bytes, std::string_view op);

/// For the codecs: checks rank, dtype and channels of what `op` shall encode.
void check_encodable(const Tensor& image, int most_channels, bool wide, std::string_view op);

}  // namespace tapedeck::data
