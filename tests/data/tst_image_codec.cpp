// PNG, JPEG and BMP: round trips, conversions, and thousands of damaged images.
#include <QtTest>
#include <cstring>

#include "engine/data/image_codec.h"
#include "tests/data/mutation.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::data;

namespace {

/// Smooth, so that JPEG keeps it.
Tensor picture(std::int64_t height, std::int64_t width, int channels, DType dtype = DType::uint8) {
  Tensor image = Tensor::allocate(dtype, {height, width, channels});
  std::int64_t i = 0;
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (int channel = 0; channel < channels; ++channel, ++i) {
        const std::int64_t value = 20 + 3 * y + 2 * x + 30 * channel;
        if (dtype == DType::uint8)
          image.writable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(value);
        else
          image.writable_data<std::uint16_t>()[i] = static_cast<std::uint16_t>(value * 200);
      }
  return image;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

int pixel(const Tensor& image, std::int64_t y, std::int64_t x, std::int64_t channel) {
  return image.data<std::uint8_t>()[(y * image.dim(1) + x) * image.dim(2) + channel];
}

int largest_difference(const Tensor& a, const Tensor& b) {
  int largest = 0;
  for (std::int64_t i = 0; i < a.count(); ++i)
    largest = std::max(largest, std::abs(a.data<std::uint8_t>()[i] - b.data<std::uint8_t>()[i]));
  return largest;
}

void put(std::string& bytes, std::size_t at, std::uint32_t word) {
  std::memcpy(bytes.data() + at, &word, 4);
}

std::string bmp(int width, int height, int bits) {
  const std::size_t row = (static_cast<std::size_t>(width) * bits / 8 + 3) / 4 * 4;
  std::string bytes(54 + row * static_cast<std::size_t>(std::abs(height)), '\0');
  bytes[0] = 'B';
  bytes[1] = 'M';
  put(bytes, 10, 54);
  put(bytes, 14, 40);
  put(bytes, 18, static_cast<std::uint32_t>(width));
  put(bytes, 22, static_cast<std::uint32_t>(height));
  put(bytes, 26, 1 | static_cast<std::uint32_t>(bits) << 16);
  for (std::size_t i = 54; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

}  // namespace

class TestImageCodec : public QObject {
  Q_OBJECT

 private slots:
  void a_png_gives_back_every_bit() {
    for (const DType dtype : {DType::uint8, DType::uint16})
      for (int channels = 1; channels <= 4; ++channels)
        for (const int compression : {-1, 0, 9}) {
          const Tensor image = picture(7, 5, channels, dtype);
          QVERIFY(same(decode_png(encode_png(image, compression), 0, dtype), image));
        }
  }

  void a_png_is_converted_to_the_channels_that_are_asked_for() {
    const Tensor grey = picture(3, 4, 1), colored = picture(3, 4, 3);
    const Tensor rgba = decode_png(encode_png(grey), 4);
    for (int channel = 0; channel < 3; ++channel) QCOMPARE(pixel(rgba, 2, 3, channel), pixel(grey, 2, 3, 0));
    QCOMPARE(pixel(rgba, 2, 3, 3), 255);
    const Tensor dark = decode_png(encode_png(colored), 1);
    const double luminance =
        0.299 * pixel(colored, 1, 1, 0) + 0.587 * pixel(colored, 1, 1, 1) + 0.114 * pixel(colored, 1, 1, 2);
    QVERIFY(std::abs(pixel(dark, 1, 1, 0) - luminance) <= 1.5);
    QVERIFY(same(decode_png(encode_png(rgba), 1), grey));
    const Tensor wide = decode_png(encode_png(grey), 1, DType::uint16);
    QCOMPARE(int{wide.data<std::uint16_t>()[5]}, 257 * int{grey.data<std::uint8_t>()[5]});
  }

  void a_jpeg_is_near_what_was_encoded() {
    for (const int channels : {1, 3})
      for (const bool progressive : {false, true}) {
        const Tensor image = picture(33, 17, channels);
        const std::string bytes =
            encode_jpeg(image, {.progressive = progressive, .chroma_downsampling = false});
        QVERIFY(largest_difference(decode_jpeg(bytes), image) <= 8);
        QCOMPARE(decode_jpeg(bytes, {.channels = 3}).dim(2), std::int64_t{3});
        QCOMPARE(decode_jpeg(bytes, {.channels = 1}).dim(2), std::int64_t{1});
        QVERIFY(decode_jpeg(bytes, {.ratio = 4}).shape() == Shape({9, 5, channels}));
        QCOMPARE(jpeg_extent(bytes, "extract_jpeg_shape").channels, channels);
      }
    const Tensor image = picture(64, 64, 3);
    QVERIFY(encode_jpeg(image, {.quality = 20}).size() < encode_jpeg(image, {.quality = 98}).size());
  }

  void a_truncated_jpeg_is_refused_unless_asked_for() {
    const std::string bytes = encode_jpeg(picture(64, 64, 3));
    const std::string half = bytes.substr(0, bytes.size() * 2 / 3);
    EXPECT_ERROR(InvalidArgumentError, decode_jpeg(half), "decode_jpeg: the data ends after ");
    QVERIFY(decode_jpeg(half, {.try_recover_truncated = true, .acceptable_fraction = 0.1F}).shape() ==
            Shape({64, 64, 3}));
    EXPECT_ERROR(InvalidArgumentError, decode_jpeg(half, {.try_recover_truncated = true}), "of 64 rows");
  }

  void a_bmp_is_read_from_either_end_with_its_blue_first() {
    const Tensor up = decode_bmp(bmp(3, 2, 24));
    QVERIFY(up.shape() == Shape({2, 3, 3}));
    QCOMPARE(pixel(up, 1, 0, 0), 56);
    QCOMPARE(pixel(up, 1, 0, 2), 54);
    QCOMPARE(pixel(up, 0, 0, 0), 68);
    QCOMPARE(pixel(decode_bmp(bmp(3, -2, 24)), 0, 0, 0), 56);
    QVERIFY(decode_bmp(bmp(5, 2, 8)).shape() == Shape({2, 5, 1}));
    EXPECT_ERROR(InvalidArgumentError, decode_bmp(bmp(3, 2, 24).substr(0, 60)),
                 "needs 12 bytes a row; there are 6");
  }

  void the_first_bytes_tell_the_format() {
    QVERIFY(same(decode_image(encode_png(picture(2, 2, 3))), picture(2, 2, 3)));
    QVERIFY(decode_image(encode_jpeg(picture(2, 2, 3))).shape() == Shape({2, 2, 3}));
    QVERIFY(decode_image(bmp(2, 2, 24)).shape() == Shape({2, 2, 3}));
    EXPECT_ERROR(UnimplementedError, decode_image("GIF89a"), "a GIF");
    EXPECT_ERROR(InvalidArgumentError, decode_image("hello"), "5 bytes that are not PNG");
  }

  void what_cannot_be_encoded_is_named() {
    EXPECT_ERROR(TypeMismatchError, encode_png(Tensor::scalar(1)),
                 "encode_png: image is float32; needs uint8 or uint16");
    EXPECT_ERROR(InvalidArgumentError, encode_png(picture(2, 2, 5)), "shape (2, 2, 5)");
    EXPECT_ERROR(TypeMismatchError, encode_jpeg(picture(2, 2, 3, DType::uint16)), "needs uint8");
    EXPECT_ERROR(InvalidArgumentError, encode_png(picture(2, 2, 1), 10), "compression is 10");
    EXPECT_ERROR(InvalidArgumentError, decode_png("no image"), "decode_png: ");
    EXPECT_ERROR(InvalidArgumentError, decode_jpeg("no image"), "decode_jpeg: ");
  }

  void a_header_cannot_ask_for_more_memory_than_its_bytes_stand_for() {
    std::string bytes = encode_png(picture(2, 2, 1));
    bytes.replace(16, 8, std::string("\0\0\x7f\xff\0\0\x7f\xff", 8));  // 32767 × 32767, with a wrong checksum
    EXPECT_ERROR(InvalidArgumentError, decode_png(bytes), "decode_png: ");
    bytes = encode_jpeg(picture(8, 8, 1));
    const std::size_t frame = bytes.find("\xff\xc0");
    bytes.replace(frame + 5, 4, "\xff\xdc\xff\xdc", 4);
    EXPECT_ERROR(InvalidArgumentError, decode_jpeg(bytes), "an image of 65500 × 65500 pixels cannot fit in");
  }

  void thousands_of_damaged_images_end_in_an_error_or_an_image() {
    std::mt19937 random(3);
    std::vector<std::string> good;
    for (int channels = 1; channels <= 4; ++channels) good.push_back(encode_png(picture(9, 11, channels)));
    good.push_back(encode_png(picture(9, 11, 3, DType::uint16), 0));
    for (const bool progressive : {false, true})
      for (const int channels : {1, 3})
        good.push_back(encode_jpeg(picture(19, 21, channels), {.progressive = progressive}));
    good.push_back(bmp(7, 5, 24));
    int read = 0;
    for (int round = 0; round < 6000; ++round) {
      const std::string bytes = mutated(good[static_cast<std::size_t>(round) % good.size()], random);
      try {
        read += decode_image(bytes, static_cast<int>(random() % 5)).count() > 0;
      } catch (const Error&) {
      }
    }
    QVERIFY(read > 0 && read < 6000);
  }
};

TAPEDECK_TEST(TestImageCodec)
#include "tst_image_codec.moc"
