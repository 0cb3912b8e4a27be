// Ops from strings to strings: letters, substrings, patterns.
#include <re2/re2.h>

#include <algorithm>

#include "engine/ops/core/cost.h"
#include "engine/ops/strings/string_row.h"

namespace tapedeck::ops {

void require_string(const OpContext& context, std::size_t input) {
  if (context.inputs[input].dtype() != DType::string)
    fail<TypeMismatchError>(context.op.name, ": ", input_name(context, input), " is ",
                            dtype_name(context.inputs[input].dtype()), "; needs string");
}

std::vector<std::string_view> spread_strings(const OpContext& context, std::size_t input) {
  const Tensor& tensor = context.inputs[input];
  const Shape& shape = context.outputs[0].shape;
  return strings_of(view_of(tensor, shape, broadcast_strides(tensor, shape)));
}

TensorSpecs string_shape(const OpContext& context) {
  require_string(context, 0);
  return spec(DType::string, context.inputs[0].shape());
}

OpDef string_row(StringText text, ShapeRule shape_rule, Forward forward) {
  return {
      .name = text.name,
      .python_names = std::move(text.python_names),
      .inputs = {{.name = "input"}},
      .attributes = std::move(text.attributes),
      .shape_rule = shape_rule,
      .forward = forward,
      .vjp = nullptr,
      .vjp_formula = "none",
      .cost = cost::moves,
      .doc = text.doc,
      .takes_others = true,
      .gpu_kernel = false,
  };
}

namespace {

constexpr std::string_view white = " \t\n\v\f\r";

AttributeSpec text_attribute(const std::string& name, const std::string& fallback) {
  return {.name = name, .kind = AttributeKind::text, .fallback = fallback};
}
AttributeSpec required_text(const std::string& name) {
  return {.name = name, .kind = AttributeKind::text, .fallback = {}, .required = true};
}

/// Continuation bytes of UTF-8 do not begin a character.
bool begins_letter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

bool counts_letters(const OpContext& c) {
  const std::string& unit = c.get<std::string>("unit");
  if (unit != "BYTE" && unit != "UTF8_CHAR")
    fail<InvalidArgumentError>(c.op.name, ": unit is '", unit, "'; must be 'BYTE' or 'UTF8_CHAR'");
  return unit == "UTF8_CHAR";
}

}  // namespace

// ---- lower, upper ----
namespace {

TensorSpecs case_shape(const OpContext& c) {
  const std::string& encoding = c.get<std::string>("encoding");
  if (!encoding.empty())
    fail<UnimplementedError>(c.op.name, ": encoding is '", encoding,
                             "'; only '' is there, which changes the letters of ASCII");
  return string_shape(c);
}

template <char first, char last>
Tensors change_case(const OpContext& c) {
  return map_strings(c, [](std::string_view value) {
    std::string text(value);
    for (char& byte : text)
      if (byte >= first && byte <= last) byte = static_cast<char>(byte ^ 0x20);
    return text;
  });
}

}  // namespace

TAPEDECK_OP(string_lower_op) =
    string_row({"string_lower",
                {"strings.lower"},
                "Small letters in place of ASCII's capital ones.\n\ninput: string, any shape; encoding: ''.\n"
                "Returns: string, the shape of input.\nErrors: UnimplementedError for another encoding.",
                {text_attribute("encoding", "")}},
               case_shape, change_case<'A', 'Z'>);

TAPEDECK_OP(string_upper_op) =
    string_row({"string_upper",
                {"strings.upper"},
                "Capital letters in place of ASCII's small ones.\n\ninput: string, any shape; encoding: ''.\n"
                "Returns: string, the shape of input.\nErrors: UnimplementedError for another encoding.",
                {text_attribute("encoding", "")}},
               case_shape, change_case<'a', 'z'>);

// ---- strip ----
TAPEDECK_OP(string_strip_op) =
    string_row({"string_strip",
                {"strings.strip", "string_strip"},
                "Strings without the white space (of ASCII) at both ends.\n\ninput: string, any shape.\n"
                "Returns: string, the shape of input."},
               string_shape, [](const OpContext& c) {
                 return map_strings(c, [](std::string_view value) {
                   const std::size_t first = value.find_first_not_of(white);
                   if (first == value.npos) return std::string();
                   return std::string(value.substr(first, value.find_last_not_of(white) - first + 1));
                 });
               });

// ---- length ----
TAPEDECK_OP(string_length_op) = string_row(
    {"string_length",
     {"strings.length"},
     "How long each string is.\n\ninput: string, any shape; unit: 'BYTE', or 'UTF8_CHAR' for code points.\n"
     "Returns: int32, the shape of input.\nErrors: InvalidArgumentError for another unit.",
     {text_attribute("unit", "BYTE")}},
    [](const OpContext& c) {
      require_string(c, 0);
      counts_letters(c);
      return spec(DType::int32, c.inputs[0].shape());
    },
    [](const OpContext& c) {
      const bool letters = counts_letters(c);
      std::vector<std::int64_t> lengths;
      for (const std::string_view value : strings_of(c.inputs[0]))
        lengths.push_back(letters ? std::count_if(value.begin(), value.end(), begins_letter)
                                  : std::ssize(value));
      return one(from_integers(lengths, c.outputs[0]));
    });

// ---- substr ----
namespace {

/// Where each letter begins, and where the last one ends.
std::vector<std::size_t> letter_starts(std::string_view value, bool letters) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < value.size(); ++i)
    if (!letters || begins_letter(value[i])) starts.push_back(i);
  starts.push_back(value.size());
  return starts;
}

std::string part_of(std::string_view value, std::int64_t position, std::int64_t length, bool letters) {
  const std::vector<std::size_t> starts = letter_starts(value, letters);
  const std::int64_t count = std::ssize(starts) - 1;
  const std::int64_t first = position < 0 ? position + count : position;
  if (first < 0 || first > count)
    fail<InvalidArgumentError>("substr: pos ", position, " is out of range for ", bytes_literal(value, 60),
                               ", which is ", count, " long");
  const std::int64_t last = std::min(count, first + std::max<std::int64_t>(length, 0));
  const std::size_t begin = starts[static_cast<std::size_t>(first)];
  return std::string(value.substr(begin, starts[static_cast<std::size_t>(last)] - begin));
}

std::vector<double> spread_numbers(const OpContext& c, std::size_t input) {
  const Tensor& tensor = c.inputs[input];
  const Shape& shape = c.outputs[0].shape;
  return view_of(tensor, shape, broadcast_strides(tensor, shape)).to_vector();
}

}  // namespace

TAPEDECK_OP(substr_op) = {
    .name = "substr",
    .python_names = {"strings.substr", "substr"},
    .inputs = {{.name = "input"},
               {.name = "pos", .group = 'N', .preferred = DType::int32},
               {.name = "len", .group = 'N', .preferred = DType::int32}},
    .attributes = {text_attribute("unit", "BYTE")},
    .shape_rule =
        [](const OpContext& c) {
          require_string(c, 0);
          for (const std::size_t i : {1, 2}) require_kind(c, i, Kind::integer);
          counts_letters(c);
          const Shape both = broadcast_shapes(c.inputs[1].shape(), c.inputs[2].shape(), "substr");
          return spec(DType::string, broadcast_shapes(c.inputs[0].shape(), both, "substr"));
        },
    .forward =
        [](const OpContext& c) {
          const std::vector<std::string_view> values = spread_strings(c, 0);
          const std::vector<double> positions = spread_numbers(c, 1), lengths = spread_numbers(c, 2);
          const bool letters = counts_letters(c);
          std::vector<std::string> parts;
          for (std::size_t i = 0; i < values.size(); ++i)
            parts.push_back(part_of(values[i], static_cast<std::int64_t>(positions[i]),
                                    static_cast<std::int64_t>(lengths[i]), letters));
          return one(string_tensor(c.outputs[0].shape, parts));
        },
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc =
        "Parts of strings, from a place on.\n\n"
        "input: string; pos, len: integers, where the part begins (negative: from the end) and how long "
        "it is at most; the three broadcast; unit: 'BYTE', or 'UTF8_CHAR' for code points.\n"
        "Returns: string, the broadcast shape.\n"
        "Errors: InvalidArgumentError for a pos outside of its string, or another unit.",
    .takes_others = true,
    .gpu_kernel = false,
};

// ---- patterns ----
namespace {

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

TensorSpecs pattern_shape(const OpContext& c, DType dtype) {
  require_string(c, 0);
  const re2::RE2 pattern(c.get<std::string>("pattern"), re2::RE2::Quiet);
  if (!pattern.ok())
    fail<InvalidArgumentError>(c.op.name, ": pattern '", pattern.pattern(), "': ", pattern.error());
  return spec(dtype, c.inputs[0].shape());
}

}  // namespace

TAPEDECK_OP(regex_replace_op) = string_row(
    {"regex_replace",
     {"strings.regex_replace", "regex_replace"},
     "Puts a text in place of what a regular expression matches.\n\n"
     "input: string, any shape; pattern: in RE2's syntax; rewrite: may hold \\1 to \\9 for groups and \\0 "
     "for "
     "the whole match; replace_global: every match, else the first one.\n"
     "Returns: string, the shape of input.\n"
     "Errors: InvalidArgumentError for a pattern that is none, or a rewrite that names a group that it "
     "lacks.",
     {required_text("pattern"),
      required_text("rewrite"),
      {.name = "replace_global", .kind = AttributeKind::boolean, .fallback = true}}},
    [](const OpContext& c) {
      TensorSpecs specs = pattern_shape(c, DType::string);
      std::string problem;
      const std::string& rewrite = c.get<std::string>("rewrite");
      if (!re2::RE2(c.get<std::string>("pattern"), re2::RE2::Quiet).CheckRewriteString(rewrite, &problem))
        fail<InvalidArgumentError>("regex_replace: rewrite '", rewrite, "': ", problem);
      return specs;
    },
    [](const OpContext& c) {
      const re2::RE2 pattern(c.get<std::string>("pattern"), re2::RE2::Quiet);
      const std::string& rewrite = c.get<std::string>("rewrite");
      const bool everywhere = c.get<bool>("replace_global");
      return map_strings(c, [&](std::string_view value) {
        std::string text(value);
        if (everywhere)
          re2::RE2::GlobalReplace(&text, pattern, rewrite);
        else
          re2::RE2::Replace(&text, pattern, rewrite);
        return text;
      });
    });

TAPEDECK_OP(regex_full_match_op) = string_row(
    {"regex_full_match",
     {"strings.regex_full_match"},
     "Whether a regular expression matches the whole string.\n\n"
     "input: string, any shape; pattern: in RE2's syntax.\n"
     "Returns: bool, the shape of input.\nErrors: InvalidArgumentError for a pattern that is none.",
     {required_text("pattern")}},
    [](const OpContext& c) { return pattern_shape(c, DType::bool_); },
    [](const OpContext& c) {
      const re2::RE2 pattern(c.get<std::string>("pattern"), re2::RE2::Quiet);
      Tensor out = allocate_output(c);
      bool* target = out.writable_data<bool>();
      for (const std::string_view value : strings_of(c.inputs[0]))
        *target++ = re2::RE2::FullMatch(piece(value), pattern);
      return one(std::move(out));
    });

}  // namespace tapedeck::ops
