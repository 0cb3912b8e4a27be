#include "engine/data/event_message.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/tensor/narrow.h"

namespace tapedeck::data {

namespace {

enum WireType : int { varint_type = 0, eight_bytes = 1, counted = 2, four_bytes = 5 };

template <class T>
void append(std::string& text, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  text.append(bytes, sizeof value);
}

/// TensorFlow's types.proto.
int type_number(DType dtype) {
  switch (dtype) {
    case DType::bool_:
      return 10;
    case DType::int32:
      return 3;
    case DType::int64:
      return 9;
    case DType::float32:
      return 1;
    case DType::float64:
      return 2;
    case DType::int8:
      return 6;
    case DType::int16:
      return 5;
    case DType::uint8:
      return 4;
    case DType::uint16:
      return 17;
    case DType::uint32:
      return 22;
    case DType::float16:
      return 19;
    case DType::bfloat16:
      return 14;
    default:
      fail<UnimplementedError>("summary: tensors of dtype ", dtype_name(dtype), " have no event");
  }
}
constexpr int text_type = 7;

std::string shape_message(std::span<const std::int64_t> shape) {
  WireWriter all;
  for (const std::int64_t extent : shape) all.bytes(2, WireWriter().integer(1, extent).text());
  return all.text();
}

std::string tagged(std::string_view tag, int field, std::string_view message) {
  return WireWriter().bytes(1, tag).bytes(field, message).text();
}

/// The limits of TensorFlow 1's buckets, ascending.
const std::vector<double>& bucket_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
    positive.push_back(std::numeric_limits<double>::max());
    std::vector<double> all;
    for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) all.push_back(-*limit);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return limits;
}

template <class T>
void count_values(const T* values, std::int64_t count, Histogram& histogram, std::vector<double>& counts) {
  const std::vector<double>& limits = bucket_limits();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    if (!std::isfinite(value))
      fail<InvalidArgumentError>("histogram: element ", i, " is ", value, "; needs finite numbers");
    histogram.minimum = i ? std::min(histogram.minimum, value) : value;
    histogram.maximum = i ? std::max(histogram.maximum, value) : value;
    histogram.sum += value;
    histogram.sum_of_squares += value * value;
    // A bucket holds values below its limit and not below the previous one.
    const auto bucket = std::upper_bound(limits.begin(), limits.end() - 1, value);
    counts[static_cast<std::size_t>(bucket - limits.begin())] += 1;
  }
}

}  // namespace

static_assert(std::endian::native == std::endian::little, "event files are little-endian");

void WireWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_.push_back(static_cast<char>(value | 0x80));
  text_.push_back(static_cast<char>(value));
}
void WireWriter::key(int field, int wire_type) {
  varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}
WireWriter& WireWriter::integer(int field, std::int64_t value) {
  key(field, varint_type);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}
WireWriter& WireWriter::real(int field, double value) {
  key(field, eight_bytes);
  append(text_, value);
  return *this;
}
WireWriter& WireWriter::real32(int field, float value) {
  key(field, four_bytes);
  append(text_, value);
  return *this;
}
WireWriter& WireWriter::bytes(int field, std::string_view value) {
  key(field, counted);
  varint(value.size());
  text_.append(value);
  return *this;
}
WireWriter& WireWriter::packed(int field, std::span<const double> values) {
  return bytes(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

std::string SummaryMetadata::message() const {
  WireWriter all;
  WireWriter plugin_data;
  plugin_data.bytes(1, plugin);
  if (!content.empty()) plugin_data.bytes(2, content);
  all.bytes(1, plugin_data.text());
  if (!description.empty()) all.bytes(3, description);
  if (data_class) all.integer(4, data_class);
  return all.text();
}

std::string scalar_value(std::string_view tag, float value) {
  return WireWriter().bytes(1, tag).real32(2, value).text();
}

std::string image_value(std::string_view tag, std::int64_t height, std::int64_t width, int channels,
                        std::string_view encoded) {
  const WireWriter image =
      WireWriter().integer(1, height).integer(2, width).integer(3, channels).bytes(4, encoded);
  return tagged(tag, 4, image.text());
}

std::string audio_value(std::string_view tag, float sample_rate, int channels, std::int64_t frames,
                        std::string_view wav) {
  const WireWriter audio = WireWriter()
                               .real32(1, sample_rate)
                               .integer(2, channels)
                               .integer(3, frames)
                               .bytes(4, wav)
                               .bytes(5, "audio/wav");
  return tagged(tag, 6, audio.text());
}

std::string tensor_value(std::string_view tag, std::string_view tensor, std::string_view metadata) {
  WireWriter value;
  value.bytes(1, tag).bytes(8, tensor);
  if (!metadata.empty()) value.bytes(9, metadata);
  return value.text();
}

std::string tensor_message(const Tensor& tensor) {
  const Tensor values = tensor.make_contiguous();
  const std::string_view content{reinterpret_cast<const char*>(values.raw()), values.bytes()};
  const std::vector<std::int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  return WireWriter()
      .integer(1, type_number(tensor.dtype()))
      .bytes(2, shape_message(shape))
      .bytes(4, content)
      .text();
}

std::string text_message(std::span<const std::int64_t> shape, std::span<const std::string> texts) {
  WireWriter tensor;
  tensor.integer(1, text_type).bytes(2, shape_message(shape));
  for (const std::string& text : texts) tensor.bytes(8, text);
  return tensor.text();
}

Histogram histogram_of(const Tensor& values) {
  Histogram histogram;
  const std::vector<double>& limits = bucket_limits();
  std::vector<double> counts(limits.size());
  const Tensor wide = widened(values).make_contiguous();
  histogram.number = static_cast<double>(wide.count());
  switch (wide.dtype()) {
    case DType::float32:
      count_values(wide.data<float>(), wide.count(), histogram, counts);
      break;
    case DType::float64:
      count_values(wide.data<double>(), wide.count(), histogram, counts);
      break;
    case DType::int32:
      count_values(wide.data<std::int32_t>(), wide.count(), histogram, counts);
      break;
    case DType::int64:
      count_values(wide.data<std::int64_t>(), wide.count(), histogram, counts);
      break;
    case DType::bool_:
      count_values(wide.data<bool>(), wide.count(), histogram, counts);
      break;
    default:
      fail<UnimplementedError>("histogram: values are ", dtype_name(values.dtype()), "; needs real numbers");
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    while (counts[i] == 0 && i + 1 < counts.size() && counts[i + 1] == 0) ++i;
    histogram.limits.push_back(limits[i]);
    histogram.counts.push_back(counts[i]);
  }
  return histogram;
}

std::string histogram_value(std::string_view tag, const Histogram& histogram) {
  const WireWriter message = WireWriter()
                                 .real(1, histogram.minimum)
                                 .real(2, histogram.maximum)
                                 .real(3, histogram.number)
                                 .real(4, histogram.sum)
                                 .real(5, histogram.sum_of_squares)
                                 .packed(6, histogram.limits)
                                 .packed(7, histogram.counts);
  return tagged(tag, 5, message.text());
}

std::string event_of(double wall_time, std::int64_t step, int field, std::string_view message) {
  return WireWriter().real(1, wall_time).integer(2, step).bytes(field, message).text();
}

std::string summary_event(double wall_time, std::int64_t step, std::span<const std::string> values) {
  WireWriter summary;
  for (const std::string& value : values) summary.bytes(1, value);
  return event_of(wall_time, step, 5, summary.text());
}

std::string version_event(double wall_time) {
  return WireWriter().real(1, wall_time).bytes(3, "brain.Event:2").text();
}

}  // namespace tapedeck::data
