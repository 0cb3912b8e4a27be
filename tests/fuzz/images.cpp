// Images as the engine decodes them.
#include "engine/data/image_codec.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck;
using namespace tapedeck::data;

void fuzz::parse(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  const std::string_view format = image_format(text);
  const auto decode = [](auto&& work) {
    try {
      const Tensor image = work();
      expect(image.rank() == 3 && image.dim(2) >= 1 && image.dim(2) <= 4,
             "an image has height, width and channels");
    } catch (const InvalidArgumentError& error) {
      expect(error.what()[0] != '\0', "a refusal says why");
    } catch (const UnimplementedError&) {  // GIF
    } catch (const ResourceExhaustedError&) {
    }
  };
  for (const int channels : {0, 1, 3, 4}) decode([&] { return decode_image(text, channels); });
  if (format == "png") {
    decode([&] { return decode_png(text, 2, DType::uint16); });
  } else if (format == "jpeg") {
    JpegDecoding how;
    how.ratio = 4;
    how.try_recover_truncated = how.fast = true;
    how.acceptable_fraction = 0.5F;
    decode([&] { return decode_jpeg(text, how); });
    may_refuse<InvalidArgumentError>([&] { jpeg_extent(text, "extract_jpeg_shape"); });
  }
}
