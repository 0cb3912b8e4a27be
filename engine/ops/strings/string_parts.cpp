// Joining and splitting strings.
#include <algorithm>

#include "engine/ops/strings/string_row.h"

namespace tapedeck::ops {

// ---- join ----
TAPEDECK_OP(string_join_op) = {
    .name = "string_join",
    .python_names = {"strings.join", "string_join"},
    .inputs = {{.name = "inputs", .variadic = true}},
    .attributes = {{.name = "separator", .kind = AttributeKind::text, .fallback = std::string()}},
    .shape_rule =
        [](const OpContext& c) {
          Shape shape;
          for (std::size_t i = 0; i < c.inputs.size(); ++i) {
            require_string(c, i);
            const Shape& other = c.inputs[i].shape();
            if (other.rank() == 0) continue;
            if (shape.rank() > 0 && other != shape)
              fail<InvalidArgumentError>("string_join: ", input_name(c, i), " ", to_string(other),
                                         " differs from the others' shape ", to_string(shape));
            shape = other;
          }
          return spec(DType::string, shape);
        },
    .forward =
        [](const OpContext& c) {
          const std::string& separator = c.get<std::string>("separator");
          allocate_output(c);  // throws if no memory can hold it
          std::vector<std::string> results(static_cast<std::size_t>(element_count(c.outputs[0].shape)));
          for (std::size_t k = 0; k < c.inputs.size(); ++k) {
            const std::vector<std::string_view> values = spread_strings(c, k);
            for (std::size_t i = 0; i < results.size(); ++i)
              results[i].append(k == 0 ? std::string_view() : separator).append(values[i]);
          }
          return one(string_tensor(c.outputs[0].shape, results));
        },
    .vjp = nullptr,
    .vjp_formula = "none",
    .doc =
        "Concatenates the strings of several tensors, element by element.\n\n"
        "inputs: a list of string tensors of one shape; scalars are joined to every element; separator: the "
        "text between them.\n"
        "Returns: string, their shape.\n"
        "Errors: InvalidArgumentError for different shapes; TypeMismatchError for other dtypes.",
    .takes_others = true,
    .gpu_kernel = false,
};

// ---- reduce_join ----
namespace {

TensorSpecs reduce_join_shape(const OpContext& c) {
  require_string(c, 0);
  const std::vector<bool> joined = axis_flags(c, "axis", c.inputs[0].shape());
  Shape shape;
  for (int axis = 0; axis < c.inputs[0].rank(); ++axis)
    if (!joined[static_cast<std::size_t>(axis)])
      shape.push_back(c.inputs[0].dim(axis));
    else if (c.get<bool>("keepdims"))
      shape.push_back(1);
  return spec(DType::string, shape);
}

Tensors reduce_join_forward(const OpContext& c) {
  allocate_output(c);  // throws if no memory can hold it
  const std::vector<bool> joined = axis_flags(c, "axis", c.inputs[0].shape());
  Dims order, strides;
  Shape shape;
  std::int64_t inner = 1;
  for (const bool last : {false, true})  // the joined axes go last
    for (int axis = 0; axis < c.inputs[0].rank(); ++axis)
      if (joined[static_cast<std::size_t>(axis)] == last) {
        shape.push_back(c.inputs[0].dim(axis));
        strides.push_back(c.inputs[0].strides()[axis]);
        if (last) inner *= c.inputs[0].dim(axis);
      }
  const std::vector<std::string_view> values = strings_of(view_of(c.inputs[0], shape, strides));
  const std::string& separator = c.get<std::string>("separator");
  std::vector<std::string> results(static_cast<std::size_t>(element_count(c.outputs[0].shape)));
  for (std::size_t i = 0; i < results.size(); ++i)
    for (std::int64_t k = 0; k < inner; ++k)
      results[i]
          .append(k == 0 ? std::string_view() : separator)
          .append(values[i * static_cast<std::size_t>(inner) + static_cast<std::size_t>(k)]);
  return one(string_tensor(c.outputs[0].shape, results));
}

}  // namespace

TAPEDECK_OP(reduce_join_op) = string_row(
    {"reduce_join",
     {"strings.reduce_join", "reduce_join"},
     "Puts the strings along axes behind one another.\n\n"
     "input: string, any shape; axis: one or several, None for all; keepdims: keeps them with extent 1; "
     "separator: the text between the strings.\n"
     "Returns: string, the shape without these axes.\n"
     "Errors: InvalidArgumentError for an axis out of range or named twice.",
     {{.name = "axis",
       .kind = AttributeKind::integers,
       .fallback = std::monostate{},
       .old_name = "reduction_indices"},
      {.name = "keepdims", .kind = AttributeKind::boolean, .fallback = false, .old_name = "keep_dims"},
      {.name = "separator", .kind = AttributeKind::text, .fallback = std::string()}}},
    reduce_join_shape, reduce_join_forward);

// ---- split ----
namespace {

/// As Python's bytes.split: without a separator, runs of white space separate the words, and none is empty.
std::vector<std::string_view> words_of(std::string_view text, std::string_view separator,
                                       std::int64_t most_splits) {
  constexpr std::string_view white = " \t\n\v\f\r";
  std::vector<std::string_view> words;
  if (separator.empty()) {
    for (std::size_t at = text.find_first_not_of(white); at != text.npos;) {
      const bool rest = most_splits >= 0 && std::ssize(words) == most_splits;
      const std::size_t end = rest ? text.npos : std::min(text.find_first_of(white, at), text.size());
      words.push_back(text.substr(at, end - at));
      at = end == text.npos ? end : text.find_first_not_of(white, end);
    }
    return words;
  }
  while (most_splits < 0 || std::ssize(words) < most_splits) {
    const std::size_t end = text.find(separator);
    if (end == text.npos) break;
    words.push_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  words.push_back(text);
  return words;
}

std::vector<std::string_view> words_of(const OpContext& c) {
  const std::string_view text = string_of(c.inputs[0]);
  if (c.op.has("sep")) return words_of(text, c.get<std::string>("sep"), integer_of(c, "maxsplit"));
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < text.size(); ++i) bytes.push_back(text.substr(i, 1));
  return bytes;
}

TensorSpecs words_shape(const OpContext& c) {
  require_string(c, 0);
  if (c.inputs[0].rank() != 0)
    fail<UnimplementedError>(c.op.name, ": input has shape ", to_string(c.inputs[0].shape()),
                             "; only a scalar can be split, because there are no ragged tensors");
  return {};
}
Tensors words_forward(const OpContext& c) {
  const std::vector<std::string_view> words = words_of(c);
  return one(string_tensor({std::ssize(words)}, words));
}

OpDef words_row(StringText text) {
  OpDef row = string_row(std::move(text), words_shape, words_forward);
  row.shape_of_values = true;
  return row;
}

}  // namespace

TAPEDECK_OP(string_split_op) = words_row(
    {"string_split",
     {},  // tf.strings.split takes None for sep
     "The words of a string.\n\n"
     "input: a string scalar; sep: what parts them, '' for runs of white space; maxsplit: how many cuts at "
     "most, −1 for all.\n"
     "Returns: string, (number of words,).\n"
     "Errors: UnimplementedError for more than one string, which would need ragged tensors.",
     {{.name = "sep", .kind = AttributeKind::text, .fallback = std::string()},
      {.name = "maxsplit", .kind = AttributeKind::integer, .fallback = std::int64_t{-1}}}});

TAPEDECK_OP(bytes_split_op) =
    words_row({"bytes_split",
               {"strings.bytes_split"},
               "The bytes of a string, each a string.\n\ninput: a string scalar.\nReturns: string, (number "
               "of bytes,).\n"
               "Errors: UnimplementedError for more than one string, which would need ragged tensors."});

}  // namespace tapedeck::ops
