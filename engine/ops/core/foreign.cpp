#include "engine/ops/core/foreign.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

namespace tapedeck {
namespace {

std::atomic<ForeignForward> foreign_forward{nullptr};
std::atomic<ForeignGradients> gradients_of_foreign{nullptr};

/// The results' shapes are known only once the op has run.
TensorSpecs shapes_of_foreign(const OpContext&) {
  return {};
}

Tensors run_foreign(const OpContext& context) {
  const ForeignForward forward = foreign_forward.load(std::memory_order_acquire);
  const ForeignOp* op = foreign_of(context.op);
  if (!forward || !op)
    fail<UnimplementedError>(context.op.name,
                             " needs PyTorch, which is not loaded in this process: its results can only be "
                             "seen where they were kept");
  return forward(*op, context);
}

/// Reads one schema from left to right.
class SchemaReader {
 public:
  explicit SchemaReader(std::string_view text) : text_(text) {}

  std::string name() {
    const std::size_t end = text_.find('(');
    if (end == std::string_view::npos || end == 0) refuse("has no arguments in parentheses");
    at_ = end + 1;
    return std::string(text_.substr(0, end));
  }

  std::vector<ForeignValue> arguments(std::vector<std::string>& defaults) {
    std::vector<ForeignValue> found;
    bool by_name = false;
    skip_spaces();
    while (!takes(')')) {
      if (takes('*')) {
        by_name = true;
        skip_separator();
        continue;
      }
      ForeignValue value = typed();
      value.by_name = by_name;
      skip_spaces();
      value.name = word();
      if (value.name.empty()) refuse("has an argument without a name");
      skip_spaces();
      value.has_default = takes('=');
      defaults.push_back(value.has_default ? default_text() : std::string());
      found.push_back(std::move(value));
      skip_separator();
    }
    return found;
  }

  std::vector<ForeignValue> results() {
    skip_spaces();
    if (text_.substr(at_, 2) != "->") refuse("lacks its results");
    at_ += 2;
    skip_spaces();
    std::vector<ForeignValue> found;
    if (!takes('(')) {
      found.push_back(typed());
      return found;
    }
    skip_spaces();
    while (!takes(')')) {
      ForeignValue value = typed();
      skip_spaces();
      value.name = word();
      found.push_back(std::move(value));
      skip_separator();
    }
    return found;
  }

 private:
  [[noreturn]] void refuse(const char* what) const {
    fail<InvalidArgumentError>("the schema \"", text_, "\" ", what);
  }
  bool takes(char letter) {
    if (at_ >= text_.size() || text_[at_] != letter) return false;
    ++at_;
    return true;
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  void skip_separator() {
    skip_spaces();
    if (at_ >= text_.size()) refuse("ends too early");
    if (!takes(',') && text_[at_] != ')') refuse("lacks a comma");
    skip_spaces();
  }
  std::string word() {
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           (text_[at_] == '_' || std::isalnum(static_cast<unsigned char>(text_[at_])) != 0))
      ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  /// "Tensor(a! -> *)[]?": the type, its aliases, and what it is a list of.
  ForeignValue typed() {
    ForeignValue value;
    skip_spaces();
    const std::size_t start = at_;
    while (at_ < text_.size() && (text_[at_] == '_' || text_[at_] == '.' || text_[at_] == ':' ||
                                  std::isalnum(static_cast<unsigned char>(text_[at_])) != 0))
      ++at_;
    value.type = std::string(text_.substr(start, at_ - start));
    if (value.type.empty()) refuse("has a value without a type");
    if (takes('(')) {
      const std::size_t end = text_.find(')', at_);
      if (end == std::string_view::npos) refuse("has an open parenthesis");
      read_alias(text_.substr(at_, end - at_), value);
      at_ = end + 1;
    }
    while (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '?')) {
      if (text_[at_] == '?') {
        value.type += text_[at_++];
        continue;
      }
      const std::size_t end = text_.find(']', at_);
      if (end == std::string_view::npos) refuse("has an open bracket");
      value.type += text_.substr(at_, end - at_ + 1);
      at_ = end + 1;
    }
    value.is_tensor = value.type.starts_with("Tensor");
    value.is_list = value.is_tensor && value.type.find('[') != std::string::npos;
    return value;
  }

  static void read_alias(std::string_view text, ForeignValue& value) {
    value.written = text.find('!') != std::string_view::npos;
    for (const char letter : text) {
      if (std::isalnum(static_cast<unsigned char>(letter)) == 0) break;
      value.alias += letter;
    }
  }

  /// Up to the comma or parenthesis that ends the argument.
  std::string default_text() {
    const std::size_t start = at_;
    int open = 0;
    char quote = 0;
    for (; at_ < text_.size(); ++at_) {
      const char letter = text_[at_];
      if (quote != 0) {
        if (letter == quote) quote = 0;
        continue;
      }
      if (letter == '"' || letter == '\'') quote = letter;
      if (letter == '[' || letter == '(') ++open;
      if (open == 0 && (letter == ',' || letter == ')')) break;
      if (letter == ']' || letter == ')') --open;
    }
    return std::string(text_.substr(start, at_ - start));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// As the host language would give it.
Attribute default_value(const std::string& type, const std::string& text) {
  if (text.empty() || text == "None") return std::monostate();
  if (text == "True" || text == "False") return text == "True";
  if (text.size() > 1 && (text[0] == '"' || text[0] == '\'')) return text.substr(1, text.size() - 2);
  if (text[0] == '[') {
    std::vector<std::int64_t> numbers;
    std::size_t at = 1;
    while (at < text.size() && text[at] != ']') {
      const std::size_t end = text.find_first_of(",]", at);
      if (end == std::string::npos) return text;
      std::string_view part(text.data() + at, end - at);
      while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
      const auto number = whole_number(part);
      if (!number) return text;
      numbers.push_back(*number);
      at = text[end] == ',' ? end + 1 : end;
    }
    return numbers;
  }
  if (const auto number = whole_number(text)) {
    if (type.find('[') != std::string::npos) return std::vector<std::int64_t>{*number};
    return *number;
  }
  double real = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), real);
  if (problem == std::errc() && end == text.data() + text.size()) return real;
  return text;
}

std::string lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

/// What the formula calls the input: "dA = …" is the gradient of a.
std::string symbol_of(const std::string& formula, const std::string& input) {
  for (std::size_t at = formula.find('d'); at != std::string::npos; at = formula.find('d', at + 1)) {
    if (at > 0 && std::isalnum(static_cast<unsigned char>(formula[at - 1])) != 0) continue;
    const bool enclosed = formula.compare(at + 1, 1, "(") == 0;
    const std::size_t start = at + (enclosed ? 2 : 1);
    if (lower(formula.substr(start, input.size())) != lower(input)) continue;
    const std::size_t end = start + input.size();
    if (end < formula.size() && std::isalnum(static_cast<unsigned char>(formula[end])) != 0) continue;
    return formula.substr(start, input.size());
  }
  return input;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// The counterpart's formula, which says what it calls this row's inputs.
std::string adapted_formula(const OpDef& counterpart, std::string_view inputs) {
  std::string formula = counterpart.vjp_formula;
  if (formula == "none" || formula.find("with ") != std::string::npos) return formula;
  const std::vector<std::string> names = words_of(inputs);
  std::string naming;
  for (std::size_t i = 0; i < std::min(names.size(), counterpart.inputs.size()); ++i) {
    const std::string symbol = symbol_of(formula, counterpart.inputs[i].name);
    if (symbol != names[i]) naming += (naming.empty() ? "; with " : ", ") + symbol + " " + names[i];
  }
  return formula + naming;
}

struct ForeignRows {
  std::shared_mutex mutex;
  std::deque<ForeignOp> ops;
  std::unordered_map<std::string_view, const ForeignOp*> by_schema;
  std::unordered_map<const OpDef*, const ForeignOp*> by_row;
};

ForeignRows& foreign_rows() {
  static auto* all = new ForeignRows;  // records refer to them until the program exits
  return *all;
}

std::string base_name(const std::string& qualified) {
  const std::size_t start = qualified.rfind(':') == std::string::npos ? 0 : qualified.rfind(':') + 1;
  return qualified.substr(start, qualified.find('.', start) - start);
}

/// A trace file may name anything: the registry ends the process at two attributes of one key.
void check_names(const ForeignOp& op) {
  std::vector<std::uint32_t> keys;
  for (const ForeignValue& value : op.arguments) keys.push_back(AttributeName::key_of(value.name));
  std::ranges::sort(keys);
  if (std::ranges::adjacent_find(keys) != keys.end())
    fail<InvalidArgumentError>("the schema \"", op.schema, "\" has two arguments of one name");
}

bool overwrites(const std::string& base) {
  constexpr std::string_view names[] = {
      "bernoulli_", "normal_", "uniform_", "random_", "exponential_", "cauchy_",        "log_normal_",
      "geometric_", "zero_",   "fill_",    "copy_",   "set_",         "_foreach_zero_", "_foreach_copy_"};
  return std::ranges::find(names, base) != std::end(names);
}

/// Contents that come of the shape alone, or that overwrite all that was there.
bool reads_shapes_alone(const std::string& base, const ForeignOp& op) {
  const auto tensors = std::ranges::count_if(op.arguments, &ForeignValue::is_tensor);
  return tensors == 1 && (base.ends_with("_like") || base.starts_with("new_") || overwrites(base));
}

void note_overwriting(const std::string& base, ForeignOp& op) {
  const bool first = overwrites(base);
  for (ForeignValue& value : op.arguments)
    value.overwritten = value.written && (value.by_name || (first && &value == op.arguments.data()));
  op.gives_uninitialised = base.starts_with("empty") || base.starts_with("new_empty");
}

/// Some schemas do not say that the op writes: batch normalisation updates its running statistics, and
/// rrelu draws the noise that its gradient reads.
void correct_writes(const std::string& base, ForeignOp& op) {
  constexpr std::string_view statistics[] = {
      "native_batch_norm",       "cudnn_batch_norm",        "miopen_batch_norm",
      "batch_norm_update_stats", "batch_norm_gather_stats", "batch_norm_gather_stats_with_counts"};
  const bool updates = std::ranges::find(statistics, base) != std::end(statistics);
  const bool draws = base == "rrelu_with_noise" || base == "rrelu_with_noise_";
  if (!updates && !draws) return;
  for (ForeignValue& value : op.arguments)
    if (updates ? value.name == "running_mean" || value.name == "running_var" : value.name == "noise")
      value.written = true;
}

void add_arguments(ForeignOp& op, const std::vector<std::string>& defaults, OpDef& row) {
  for (std::size_t i = 0; i < op.arguments.size(); ++i) {
    ForeignValue& value = op.arguments[i];
    op.writes = op.writes || value.written;
    if (value.is_tensor) {
      value.place = row.inputs.size();
      InputSpec input;
      input.name = value.name;
      input.group = '\0';
      input.variadic = value.is_list;
      row.inputs.push_back(std::move(input));
    } else {
      value.place = row.attributes.size();
      AttributeSpec attribute;
      attribute.name = value.name;
      attribute.kind = AttributeKind::text;  // of any kind: the schema's type says which
      attribute.fallback = default_value(value.type, defaults[i]);
      attribute.required = !value.has_default;
      row.attributes.push_back(std::move(attribute));
    }
  }
}

ForeignOp read_schema(std::string_view schema, OpDef& row) {
  ForeignOp op;
  op.schema = schema;
  SchemaReader reader(op.schema);
  const std::string qualified = reader.name();
  std::vector<std::string> defaults;
  op.arguments = reader.arguments(defaults);
  op.results = reader.results();
  row.name = foreign_name(qualified);
  check_names(op);
  correct_writes(base_name(qualified), op);
  add_arguments(op, defaults, row);
  note_overwriting(base_name(qualified), op);
  op.reads_shapes_alone = reads_shapes_alone(base_name(qualified), op);
  row.shape_rule = &shapes_of_foreign;
  row.forward = &run_foreign;
  row.vjp_formula = "none";
  row.doc = op.schema;
  row.takes_narrow = row.takes_others = row.shape_of_values = row.returns_list = true;
  row.gpu_kernel = false;
  if (const Counterpart* known = counterpart_of(base_name(qualified))) {
    op.counterpart = Registry::instance().find(known->op);
    if (op.counterpart) {
      row.vjp_formula = adapted_formula(*op.counterpart, known->inputs);
      row.facts = op.counterpart->facts;
      // One that writes adds to a variable's gradient of an earlier pass.
      if (op.counterpart->form == Form::sum && !op.writes) row.form = Form::sum;
    }
  }
  return op;
}

}  // namespace

std::string foreign_name(std::string_view qualified_name) {
  std::string name(qualified_name);
  if (const std::size_t colons = name.find("::"); colons != std::string::npos) name.replace(colons, 2, ".");
  return name;
}

bool is_foreign(const OpDef& op) {
  return op.shape_rule == &shapes_of_foreign;
}

bool is_stop_of_playback(const OpDef& op) {
  return op.form == Form::sum || (is_foreign(op) && op.name == "autograd.AccumulateGrad");
}

bool reads_values_of(const OpDef& op, std::size_t input) {
  const ForeignOp* const foreign = foreign_of(op);
  if (!foreign) return true;
  if (foreign->reads_shapes_alone) return false;
  for (const ForeignValue& value : foreign->arguments) {
    if (value.is_list) return true;  // it has as many inputs as it has tensors
    if (value.is_tensor && value.place == input) return !value.overwritten;
  }
  return true;
}

bool gives_uninitialised(const OpDef& op) {
  const ForeignOp* const foreign = foreign_of(op);
  return foreign && foreign->gives_uninitialised;
}

bool has_foreign_ops() {
  ForeignRows& all = foreign_rows();
  const std::shared_lock lock(all.mutex);
  return !all.ops.empty();
}

const ForeignOp* foreign_of(const OpDef& op) {
  if (!is_foreign(op)) return nullptr;
  ForeignRows& all = foreign_rows();
  const std::shared_lock lock(all.mutex);
  const auto found = all.by_row.find(&op);
  return found == all.by_row.end() ? nullptr : found->second;
}

const ForeignOp& foreign_op(std::string_view schema) {
  ForeignRows& all = foreign_rows();
  const std::lock_guard lock(all.mutex);
  if (const auto known = all.by_schema.find(schema); known != all.by_schema.end()) return *known->second;
  OpDef row;
  ForeignOp op = read_schema(schema, row);
  // Releases of PyTorch may add arguments: a trace file's op of an older one is another row.
  if (Registry::instance().find(row.name)) {
    std::size_t other = 2;
    while (Registry::instance().find(row.name + "#" + std::to_string(other))) ++other;
    row.name += "#" + std::to_string(other);
  }
  const ForeignOp& added = all.ops.emplace_back(std::move(op));
  const OpDef& registered = Registry::instance().add(std::move(row));
  all.ops.back().row = &registered;
  all.by_schema.emplace(added.schema, &added);
  all.by_row.emplace(&registered, &added);
  return added;
}

void set_foreign_forward(ForeignForward forward) {
  foreign_forward.store(forward, std::memory_order_release);
}

bool can_run_foreign() {
  return foreign_forward.load(std::memory_order_acquire) != nullptr;
}

void set_foreign_gradients(ForeignGradients gradients) {
  gradients_of_foreign.store(gradients, std::memory_order_release);
}

Tensors foreign_gradients(const VjpContext& context) {
  const ForeignGradients gradients = gradients_of_foreign.load(std::memory_order_acquire);
  const ForeignOp* op = foreign_of(context.op);
  if (!gradients || !op)
    fail<UnimplementedError>(context.op.name,
                             " needs PyTorch, which is not loaded in this process: it cannot be "
                             "differentiated again here");
  return gradients(*op, context);
}

std::int64_t foreign_facts(const OpDef& op, const Attributes& attributes) {
  const std::size_t at = op.attributes.size();
  const auto* bits = attributes.size() > at ? std::get_if<std::int64_t>(&attributes[at]) : nullptr;
  return bits ? *bits : 0;
}

std::vector<ForeignMemory> foreign_memory(const OpDef& op, const Attributes& attributes) {
  std::vector<ForeignMemory> found;
  if (attributes.size() < op.attributes.size() + 2) return found;
  const auto* pairs = std::get_if<std::vector<std::int64_t>>(&attributes[attributes.size() - 1]);
  if (!pairs) return found;
  for (std::size_t i = 0; i + 1 < pairs->size(); i += 2)
    if ((*pairs)[i] >= 0 && (*pairs)[i + 1] > 0 && (*pairs)[i + 1] <= UINT32_MAX)
      found.push_back({static_cast<std::size_t>((*pairs)[i]), static_cast<std::uint32_t>((*pairs)[i + 1])});
  return found;
}

}  // namespace tapedeck
