#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/data/data_error.h"
#include "engine/data/safetensors.h"
#include "engine/data/safetensors_dtypes.h"

namespace tapedeck::data {

namespace {

using Json = nlohmann::json;

/// The first 40 bytes, cut at a whole UTF-8 character.
std::string shortened(const std::string& text) {
  std::size_t end = std::min<std::size_t>(text.size(), 40);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + (end < text.size() ? "..." : "");
}

/// Builds the entries while parsing, so that nothing that does not belong in a header is stored. Each
/// function returns false to reject the text; `wrong` says why.
class HeaderReader {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  std::vector<StoredTensor> tensors;
  Metadata metadata;
  std::string wrong;

  bool null() { return refuse("null"); }
  bool boolean(bool value) { return refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) { return refuse(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) { return refuse(shortened(text)); }
  bool binary(binary_t&) { return refuse("binary data"); }

  bool number_unsigned(number_unsigned_t value) {
    if (place_ == Place::shape) {
      if (value > static_cast<std::uint64_t>(INT64_MAX)) return refuse(std::to_string(value));
      tensors.back().shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (place_ != Place::offsets || offsets_ == 2) return refuse(std::to_string(value));
    (offsets_++ == 0 ? tensors.back().begin : tensors.back().end) = value;
    return true;
  }

  bool string(string_t& value) {
    if (place_ == Place::metadata) {
      metadata[key_] = std::move(value);
      return true;
    }
    if (place_ != Place::tensor || key_ != "dtype") return refuse("a text");
    tensors.back().dtype = std::move(value);
    return true;
  }

  bool start_object(std::size_t) {
    switch (place_) {
      case Place::outside:
        place_ = Place::header;
        return true;
      case Place::header:
        place_ = key_ == "__metadata__" ? Place::metadata : Place::tensor;
        seen_.clear();
        if (place_ == Place::tensor) tensors.push_back({.name = key_, .dtype = {}, .shape = {}});
        return true;
      default:
        return refuse("an object");
    }
  }

  bool key(string_t& name) {
    if (place_ == Place::header && !names_.insert(name).second)
      return refuse_text("the name \"" + name + "\" occurs twice");
    if (place_ == Place::metadata && metadata.contains(name))
      return refuse_text("__metadata__: the key \"" + name + "\" occurs twice");
    if (place_ == Place::tensor) {
      if (name != "dtype" && name != "shape" && name != "data_offsets")
        return refuse_text(where() + "has the unknown key \"" + shortened(name) + "\"");
      if (!seen_.insert(name).second) return refuse_text(where() + "has the key \"" + name + "\" twice");
    }
    key_ = std::move(name);
    return true;
  }

  bool end_object() {
    if (place_ == Place::header) {
      place_ = Place::outside;
      return true;
    }
    if (place_ == Place::tensor && seen_.size() < 3)
      return refuse_text(where() + "needs dtype, shape and data_offsets; has only " +
                         std::to_string(seen_.size()) + " of them");
    place_ = Place::header;
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ != Place::tensor || key_ == "dtype") return refuse("a list");
    place_ = key_ == "shape" ? Place::shape : Place::offsets;
    offsets_ = 0;
    return true;
  }

  bool end_array() {
    if (place_ == Place::offsets && offsets_ != 2)
      return refuse_text(where() + "data_offsets needs two numbers");
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) {
    return refuse_text("is not JSON at byte " + std::to_string(position));
  }

 private:
  enum class Place { outside, header, metadata, tensor, shape, offsets };

  bool refuse_text(std::string text) {
    if (wrong.empty()) wrong = std::move(text);
    return false;
  }
  bool refuse(const std::string& found) {
    switch (place_) {
      case Place::outside:
        return refuse_text("is " + found + "; must be an object");
      case Place::header:
        return refuse_text("\"" + key_ + "\" is " + found + "; must be an object");
      case Place::metadata:
        return refuse_text("__metadata__: \"" + key_ + "\" is " + found + "; must be a text");
      default:
        return refuse_text(where() + key_ + " holds " + found + ", which does not belong there");
    }
  }
  std::string where() const {
    return "tensor \"" + (tensors.empty() ? std::string() : tensors.back().name) + "\": ";
  }

  Place place_ = Place::outside;
  std::string key_;
  std::set<std::string> names_, seen_;
  int offsets_ = 0;
};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size() && i < 40; ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() > 40 ? ", ...)" : shape.size() == 1 ? ",)" : ")");
}

/// The size of the tensor's values in bytes; nullopt if it overflows 64 bits, or the last byte is partial.
std::optional<std::uint64_t> bytes_of(const StoredTensor& tensor, std::uint32_t bits) {
  std::uint64_t product = bits;
  bool overflows = false, empty = false;
  for (const std::int64_t extent : tensor.shape) {
    empty = empty || extent == 0;
    overflows = overflows || __builtin_mul_overflow(product, static_cast<std::uint64_t>(extent), &product);
  }
  if (empty) return 0;
  if (overflows || product % 8 != 0) return std::nullopt;
  return product / 8;
}

void check_tensor(const StoredTensor& tensor, std::uint64_t expected_begin, std::uint64_t data_size,
                  const std::string& path) {
  const auto refuse = [&](const auto&... what) {
    fail<DataLossError>(path, ": tensor \"", tensor.name, "\": ", what...);
  };
  const auto* const known =
      std::find_if(std::begin(safetensors_dtypes), std::end(safetensors_dtypes),
                   [&](const SafetensorsDType& each) { return each.name == tensor.dtype; });
  if (known == std::end(safetensors_dtypes)) refuse("the format has no dtype ", shortened(tensor.dtype));
  if (tensor.end < tensor.begin)
    refuse("its bytes end at ", tensor.end, ", before they begin at ", tensor.begin);
  if (tensor.end > data_size)
    refuse("its bytes end at ", tensor.end, ", but the file has only ", data_size,
           "; it was cut short, or not written to its end");
  if (tensor.begin != expected_begin)
    refuse("its bytes begin at ", tensor.begin, "; those before it end at ", expected_begin);
  const auto bytes = bytes_of(tensor, known->bits);
  if (!bytes)
    refuse("the shape ", shape_text(tensor.shape), " of ", tensor.dtype,
           " has no whole number of bytes that 64 bits hold");
  if (*bytes != tensor.end - tensor.begin)
    refuse("the shape ", shape_text(tensor.shape), " of ", tensor.dtype, " needs ", *bytes, " bytes; it has ",
           tensor.end - tensor.begin);
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view header, std::uint64_t data_size,
                                           const std::string& path) {
  HeaderReader reader;
  if (header.empty() || header.front() != '{')
    fail<DataLossError>(path, ": the header does not begin with {");
  bool read = false;
  try {
    read = Json::sax_parse(header.begin(), header.end(), &reader);
  } catch (const Json::exception& error) {
    fail<DataLossError>(path, ": the header is not JSON: ", error.what());
  }
  if (!read) fail<DataLossError>(path, ": the header: ", reader.wrong);
  std::stable_sort(reader.tensors.begin(), reader.tensors.end(),
                   [](const StoredTensor& a, const StoredTensor& b) {
                     return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                   });
  std::uint64_t end = 0;
  for (const StoredTensor& tensor : reader.tensors) {
    check_tensor(tensor, end, data_size, path);
    end = tensor.end;
  }
  if (end != data_size)
    fail<DataLossError>(path, ": the tensors' bytes end at ", end, "; the file has ", data_size);
  return {std::move(reader.tensors), std::move(reader.metadata)};
}

}  // namespace tapedeck::data
