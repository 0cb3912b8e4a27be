// Conversions of strings: numbers, hash buckets, base64.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/ops/strings/string_row.h"
#include "engine/tensor/narrow.h"

namespace tapedeck::ops {

// ---- numbers ----
namespace {

std::string conversion_of(const OpContext& c) {
  const std::int64_t precision = integer_of(c, "precision"), width = integer_of(c, "width");
  const std::string& fill = c.get<std::string>("fill");
  const DType dtype = c.inputs[0].dtype();
  const bool real = is_floating(dtype) || is_complex(dtype);
  const bool scientific = c.get<bool>("scientific"), shortest = c.get<bool>("shortest");
  if (scientific && shortest) fail<InvalidArgumentError>("as_string: scientific and shortest are both True");
  if (!real && (scientific || shortest || precision >= 0))
    fail<InvalidArgumentError>("as_string: input is ", dtype_name(dtype),
                               "; scientific, shortest and precision are for real numbers");
  if (fill.size() > 1 || (!fill.empty() && std::string_view(" +-0#").find(fill) == std::string_view::npos))
    fail<InvalidArgumentError>("as_string: fill is '", fill,
                               "'; must be one of ' ', '+', '-', '0', '#', or ''");
  if (precision > 1000 || width > 1000)
    fail<InvalidArgumentError>("as_string: precision ", precision, " and width ", width,
                               "; neither may be above 1000");
  std::string format = "%" + fill;
  if (width >= 0) format += std::to_string(width);
  if (precision >= 0) format += "." + std::to_string(precision);
  return format + (real ? scientific ? "e" : shortest ? "g" : "f" : is_unsigned(dtype) ? "lu" : "ld");
}

template <class T>
std::string printed(const std::string& format, T value) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  std::string text(static_cast<std::size_t>(std::snprintf(nullptr, 0, format.c_str(), value)), '\0');
  std::snprintf(text.data(), text.size() + 1, format.c_str(), value);
#pragma GCC diagnostic pop
  return text;
}

template <class T>
void print_all(const Tensor& source, const std::string& format, std::vector<std::string>& texts) {
  const T* values = source.data<T>();
  for (std::int64_t i = 0; i < source.count(); ++i) {
    if constexpr (std::is_same_v<T, bool>)
      texts.push_back(values[i] ? "true" : "false");
    else if constexpr (std::is_class_v<T>)
      texts.push_back("(" + printed(format, static_cast<double>(values[i].real())) + "," +
                      printed(format, static_cast<double>(values[i].imag())) + ")");
    else if constexpr (std::is_floating_point_v<T>)
      texts.push_back(printed(format, static_cast<double>(values[i])));
    else if constexpr (std::is_unsigned_v<T>)
      texts.push_back(printed(format, static_cast<unsigned long>(values[i])));
    else
      texts.push_back(printed(format, static_cast<long>(values[i])));
  }
}

Tensors as_string_forward(const OpContext& c) {
  const Tensor& x = c.inputs[0];
  if (x.dtype() == DType::string) return one(view_of(x, x.shape(), x.strides()));
  std::string format = conversion_of(c);
  const Tensor source = contiguous(widened(x));
  if (source.dtype() != x.dtype() && is_integer(x.dtype())) format.replace(format.find_last_of('l'), 2, "ld");
  std::vector<std::string> texts;
  switch (x.dtype()) {
    case DType::uint64:
      print_all<std::uint64_t>(source, format, texts);
      break;
    case DType::complex64:
      print_all<std::complex<float>>(source, format, texts);
      break;
    case DType::complex128:
      print_all<std::complex<double>>(source, format, texts);
      break;
    default:
      visit_dtype(source.dtype(),
                  [&](auto tag) { print_all<typename decltype(tag)::type>(source, format, texts); });
  }
  return one(string_tensor(x.shape(), texts));
}

}  // namespace

TAPEDECK_OP(as_string_op) = {
    .name = "as_string",
    .python_names = {"as_string", "strings.as_string"},
    .inputs = {{.name = "input"}},
    .attributes = {{.name = "precision", .kind = AttributeKind::integer, .fallback = std::int64_t{-1}},
                   {.name = "scientific", .kind = AttributeKind::boolean, .fallback = false},
                   {.name = "shortest", .kind = AttributeKind::boolean, .fallback = false},
                   {.name = "width", .kind = AttributeKind::integer, .fallback = std::int64_t{-1}},
                   {.name = "fill", .kind = AttributeKind::text, .fallback = std::string()}},
    .shape_rule =
        [](const OpContext& c) {
          if (c.inputs[0].dtype() != DType::string) conversion_of(c);
          return spec(DType::string, c.inputs[0].shape());
        },
    .forward = as_string_forward,
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc =
        "Numbers and bools as C's printf writes them: 3.140000, true, (1.000000,2.000000).\n\n"
        "input: any dtype and shape; precision: digits behind the point; scientific: 3.14e+00; shortest: the "
        "shorter of both; width: letters at least; fill: '0' for leading zeros, '-' to fill up behind, '+', "
        "' ' or '#' as printf has them.\n"
        "Returns: string, the shape of input.\n"
        "Errors: InvalidArgumentError where arguments contradict each other, or are not for the dtype.",
    .takes_others = true,
    .gpu_kernel = false,
};

namespace {

template <class T>
T number_in(const std::string& text) {
  char* end = nullptr;
  T value{};
  errno = 0;
  if constexpr (std::is_same_v<T, float>)
    value = std::strtof(text.c_str(), &end);
  else if constexpr (std::is_same_v<T, double>)
    value = std::strtod(text.c_str(), &end);
  else
    value = static_cast<T>(std::strtoll(text.c_str(), &end, 10));
  bool fits =
      end != text.c_str() && std::string_view(end).find_first_not_of(" \t\n\v\f\r") == std::string::npos;
  if constexpr (std::is_integral_v<T>)
    fits = fits && errno != ERANGE && std::strtoll(text.c_str(), nullptr, 10) == value;
  if (!fits || text.size() != std::strlen(text.c_str()))
    fail<InvalidArgumentError>("string_to_number: ", bytes_literal(text, 60), " is not a valid ",
                               dtype_name(dtype_of<T>()));
  return value;
}

}  // namespace

TAPEDECK_OP(string_to_number_op) = string_row(
    {"string_to_number",
     {"strings.to_number", "string_to_number"},
     "The numbers that strings write.\n\n"
     "input: string, any shape; out_type: float32, float64, int32 or int64.\n"
     "Returns: out_type, the shape of input.\n"
     "Errors: InvalidArgumentError for a string that is not a number of out_type; TypeMismatchError for "
     "another "
     "out_type.",
     {{.name = "out_type", .kind = AttributeKind::dtype, .fallback = DType::float32}}},
    [](const OpContext& c) {
      require_string(c, 0);
      const DType dtype = c.get<DType>("out_type");
      if (dtype == DType::bool_ || dtype >= DType::int8)
        fail<TypeMismatchError>("string_to_number: out_type is ", dtype_name(dtype),
                                "; needs float32, float64, int32 or int64");
      return spec(dtype, c.inputs[0].shape());
    },
    [](const OpContext& c) {
      Tensor out = allocate_output(c);
      visit_dtype(out.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (!std::is_same_v<T, bool>) {
          T* target = out.writable_data<T>();
          for (const std::string_view value : strings_of(c.inputs[0]))
            *target++ = number_in<T>(std::string(value));
        }
      });
      return one(std::move(out));
    });

// ---- hash buckets ----
namespace {

void sip_round(std::uint64_t (&v)[4]) {
  v[0] += v[1], v[1] = std::rotl(v[1], 13) ^ v[0], v[0] = std::rotl(v[0], 32);
  v[2] += v[3], v[3] = std::rotl(v[3], 16) ^ v[2];
  v[0] += v[3], v[3] = std::rotl(v[3], 21) ^ v[0];
  v[2] += v[1], v[1] = std::rotl(v[1], 17) ^ v[2], v[2] = std::rotl(v[2], 32);
}

/// SipHash-2-4: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
std::uint64_t sip_hash(std::uint64_t k0, std::uint64_t k1, std::string_view bytes) {
  std::uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                        k1 ^ 0x7465646279746573u};
  const auto absorb = [&](std::uint64_t word) {
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
  };
  std::uint64_t last = std::uint64_t{bytes.size()} << 56;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    absorb(word);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i)
    last |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  absorb(last);
  v[2] ^= 0xff;
  for (int i = 0; i < 4; ++i) sip_round(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

}  // namespace

TAPEDECK_OP(string_to_hash_bucket_strong_op) = string_row(
    {"string_to_hash_bucket_strong",
     {"strings.to_hash_bucket_strong", "string_to_hash_bucket_strong"},
     "A number in [0, num_buckets) for each string: SipHash-2-4 of its bytes, modulo num_buckets.\n\n"
     "input: string, any shape; num_buckets: at least 1; key: two integers.\n"
     "Returns: int64, the shape of input. Source: Aumasson and Bernstein, \"SipHash: a fast short-input "
     "PRF\", "
     "2012.\n"
     "Errors: InvalidArgumentError for another num_buckets or key.",
     {{.name = "num_buckets", .kind = AttributeKind::integer, .fallback = {}, .required = true},
      {.name = "key", .kind = AttributeKind::integers, .fallback = {}, .required = true}}},
    [](const OpContext& c) {
      require_string(c, 0);
      if (integer_of(c, "num_buckets") < 1)
        fail<InvalidArgumentError>(c.op.name, ": num_buckets is ", integer_of(c, "num_buckets"),
                                   "; must be at least 1");
      if (integers_of(c.attribute("key")).size() != 2)
        fail<InvalidArgumentError>(c.op.name, ": key is ", to_string(c.attribute("key")),
                                   "; needs two integers");
      return spec(DType::int64, c.inputs[0].shape());
    },
    [](const OpContext& c) {
      const std::vector<std::int64_t> key = integers_of(c.attribute("key"));
      const auto buckets = static_cast<std::uint64_t>(integer_of(c, "num_buckets"));
      std::vector<std::int64_t> numbers;
      for (const std::string_view value : strings_of(c.inputs[0]))
        numbers.push_back(static_cast<std::int64_t>(
            sip_hash(static_cast<std::uint64_t>(key[0]), static_cast<std::uint64_t>(key[1]), value) %
            buckets));
      return one(from_integers(numbers, c.outputs[0]));
    });

// ---- base64 ----
namespace {

/// RFC 4648, section 5: the alphabet that is safe in names of files and URLs.
constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encoded(std::string_view bytes, bool pad) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    const std::size_t letters = std::min<std::size_t>(3, bytes.size() - i) + 1;
    for (std::size_t k = 0; k < letters; ++k) text += alphabet[word >> (18 - 6 * k) & 63];
    if (pad) text.append(4 - letters, '=');
  }
  return text;
}

std::string decoded(std::string_view text) {
  const std::string_view whole = text;
  while (text.ends_with('=') && whole.size() - text.size() < 2) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t word = 0;
  int bits = 0;
  for (const char letter : text) {
    const std::size_t value = alphabet.find(letter);
    if (value == alphabet.npos)
      fail<InvalidArgumentError>("decode_base64: ", bytes_literal(whole, 60), " is not base64");
    word = word << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) bytes += static_cast<char>(word >> (bits -= 8) & 255);
  }
  if (bits == 6) fail<InvalidArgumentError>("decode_base64: ", bytes_literal(whole, 60), " is not base64");
  return bytes;
}

}  // namespace

TAPEDECK_OP(encode_base64_op) =
    string_row({"encode_base64",
                {"io.encode_base64", "encode_base64"},
                "Bytes as letters of base64, in the alphabet with - and _ (RFC 4648, section 5).\n\n"
                "input: string, any shape; pad: fills up with = to a multiple of four letters.\n"
                "Returns: string, the shape of input.",
                {{.name = "pad", .kind = AttributeKind::boolean, .fallback = false}}},
               string_shape, [](const OpContext& c) {
                 const bool pad = c.get<bool>("pad");
                 return map_strings(c, [pad](std::string_view value) { return encoded(value, pad); });
               });

TAPEDECK_OP(decode_base64_op) =
    string_row({"decode_base64",
                {"io.decode_base64", "decode_base64"},
                "Decodes base64 with the alphabet that has - and _ (RFC 4648, section 5).\n\n"
                "input: string, any shape, with or without = at the end.\n"
                "Returns: string, the shape of input.\nErrors: InvalidArgumentError for other letters."},
               string_shape, [](const OpContext& c) { return map_strings(c, decoded); });

}  // namespace tapedeck::ops
