// PNG, JPEG and BMP: from and to tensors (height, width, channels). Damaged bytes are an InvalidArgumentError
// that names the function; no image takes more memory than its bytes can encode.
#pragma once

#include <string>
#include <string_view>

#include "engine/tensor/tensor.h"

namespace tapedeck::data {

/// `image`: uint8 or uint16, of 1 to 4 channels (grey, grey with alpha, RGB, RGBA). `compression`: zlib's -1
/// to 9. Batches (more axes) are an error.
std::string encode_png(const Tensor& image, int compression = -1);
/// `channels`: 0 keeps the file's; 1, 2, 3, 4 convert. `dtype`: uint8 or uint16.
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
  int channels = 0;  ///< 0 keeps the file's; 1, 3
  int ratio = 1;     ///< downscaling factor: 1, 2, 4, 8
  bool fancy_upscaling = true;
  bool try_recover_truncated = false;
  float acceptable_fraction = 1;  ///< of rows, to recover a truncated image
  bool fast = false;              ///< a faster, less accurate transform
};
/// uint8.
Tensor decode_jpeg(std::string_view bytes, const JpegDecoding& decoding = {});

/// uncompressed BMP of 8, 24 or 32 bits. `channels`: 0, 1 (for 8 bits), 3, 4.
Tensor decode_bmp(std::string_view bytes, int channels = 0);

/// "png", "jpeg", "bmp", "gif", or "" if the first bytes match none of them.
std::string_view image_format(std::string_view bytes);
/// Decodes PNG, JPEG or BMP. `dtype`: uint8, or uint16 for PNG.
Tensor decode_image(std::string_view bytes, int channels = 0, DType dtype = DType::uint8);

struct ImageExtent {
  std::int64_t height = 0, width = 0;
  int channels = 0;
};
/// An image's size from its header, without reading pixels. Errors name `op`.
ImageExtent jpeg_extent(std::string_view bytes, std::string_view op);

/// For the codecs: checks rank, dtype and channels of the image that `op` encodes.
void check_encodable(const Tensor& image, int most_channels, bool wide, std::string_view op);

}  // namespace tapedeck::data
