// The events of TensorBoard's files as bytes: Event, Summary, HistogramProto, TensorProto and SummaryMetadata
// of TensorFlow's event.proto, summary.proto, histogram.proto and tensor.proto, in Protocol Buffers' encoding
// (https://protobuf.dev/programming-guides/encoding).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor/tensor.h"

namespace tapedeck::data {

/// One message: its fields, in the order of the calls. Zeros and empty texts are also written.
class WireWriter {
 public:
  WireWriter& integer(int field, std::int64_t value);    ///< int32, int64, bool and enum
  WireWriter& real(int field, double value);             ///< double
  WireWriter& real32(int field, float value);            ///< float
  WireWriter& bytes(int field, std::string_view value);  ///< string, bytes, and messages inside
  WireWriter& packed(int field, std::span<const double> values);
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value);
  void key(int field, int wire_type);

  std::string text_;
};

/// A value's metadata for TensorBoard: a SummaryMetadata.
struct SummaryMetadata {
  std::string plugin;       ///< "scalars", "histograms", "images", "audio", "text"
  std::string content;      ///< of the plugin
  std::string description;  ///< Markdown
  int data_class = 0;       ///< 1 scalar, 2 tensor, 3 sequence of bytes
  std::string message() const;
};

/// Each a Summary.Value with that tag.
std::string scalar_value(std::string_view tag, float value);
std::string image_value(std::string_view tag, std::int64_t height, std::int64_t width, int channels,
                        std::string_view encoded);
std::string audio_value(std::string_view tag, float sample_rate, int channels, std::int64_t frames,
                        std::string_view wav);
/// `metadata`: a SummaryMetadata's bytes; `tensor`: a TensorProto's.
std::string tensor_value(std::string_view tag, std::string_view tensor, std::string_view metadata);

/// A TensorProto of a tensor's values.
std::string tensor_message(const Tensor& tensor);
/// A TensorProto of texts, with that shape.
std::string text_message(std::span<const std::int64_t> shape, std::span<const std::string> texts);

/// The counts of TensorFlow 1's histograms: buckets whose limits grow by a factor of 1.1 from 10⁻¹² to 10²⁰,
/// on both sides of 0.
struct Histogram {
  double minimum = 0, maximum = 0, number = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> limits, counts;  ///< a run of empty buckets is merged
};
/// For any shape. InvalidArgumentError if a value is not finite.
Histogram histogram_of(const Tensor& values);
std::string histogram_value(std::string_view tag, const Histogram& histogram);

/// An Event of a Summary of these values; `wall_time`: seconds since 1970.
std::string summary_event(double wall_time, std::int64_t step, std::span<const std::string> values);
/// The first Event of a file, which says what its format is.
std::string version_event(double wall_time);
/// An Event of one message: `field` 4 is a graph, 5 a whole Summary, 7 a session's state.
std::string event_of(double wall_time, std::int64_t step, int field, std::string_view message);

}  // namespace tapedeck::data
