#include "engine/saved_model/model.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "engine/data/crc32c.h"
#include "engine/data/data_error.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/placement.h"
#include "engine/saved_model/graph_reader.h"
#include "engine/saved_model/graph_writer.h"
#include "engine/tensor/error.h"

namespace tapedeck::saved_model {
namespace {

namespace fs = std::filesystem;

constexpr int version = 1;
constexpr char format_name[] = "tapedeck saved model";
constexpr char model_file[] = "model.json";
/// No model's graphs are larger; its numbers are in the other file.
/// What reads them takes some thirty times as much memory.
constexpr std::uintmax_t most_bytes = std::uintmax_t{64} << 20;

/// How deep lists and objects of a model may nest: what reads and writes them calls itself.
constexpr int most_nested = 1'000;

bool nests_too_deep(const std::string& json) {
  int level = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char letter = json[i];
    if (in_text && letter == '\\')
      ++i;
    else if (letter == '"')
      in_text = !in_text;
    else if (!in_text && (letter == '[' || letter == '{'))
      level += 1;
    else if (!in_text && (letter == ']' || letter == '}'))
      level -= 1;
    if (level > most_nested) return true;
  }
  return false;
}

std::string checksum_text(std::uint32_t checksum) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", checksum);
  return text;
}

/// The first line of model.json, up to the checksum's digits.
std::string first_line_begin() {
  return std::string("{\"format\":\"") + format_name + "\",\"version\":" + std::to_string(version) +
         ",\"crc32c\":\"";
}
constexpr char first_line_end[] = "\",\n";

std::string bytes_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file.good() && !file.eof()) fail_at(path.string(), "cannot be read");
  return bytes;
}

std::uint32_t checksum_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string piece(std::size_t{1} << 20, '\0');
  std::uint32_t checksum = 0;
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
    checksum =
        data::crc32c(std::string_view(piece).substr(0, static_cast<std::size_t>(file.gcount())), checksum);
  return checksum;
}

bool is_weights_name(const std::string& name) {
  constexpr std::string_view begin = "weights-", end = ".safetensors";
  return name.size() == begin.size() + 8 + end.size() && name.starts_with(begin) && name.ends_with(end) &&
         name.find_first_not_of("0123456789abcdef", begin.size()) == begin.size() + 8;
}

/// Whether the file is one that a save wrote: its metadata says so.
bool is_of_saved_model(const fs::path& path) {
  try {
    const data::SafetensorsFile file(path.string());
    const auto found = file.metadata().find("format");
    return found != file.metadata().end() && found->second == format_name;
  } catch (const Error&) {
    return false;
  }
}

// ---- writing

void check_signatures(const Model& model) {
  for (const auto& [name, signature] : model.signatures) {
    const bool is_there = signature.graph < model.graphs.size();
    if (is_there && signature.inputs.size() == model.graphs[signature.graph].arguments &&
        signature.outputs.size() == model.graphs[signature.graph].results.size())
      continue;
    fail<InvalidArgumentError>("the signature ", name, " has ", signature.inputs.size(), " inputs and ",
                               signature.outputs.size(), " outputs, which its graph does not have");
  }
}

Json open_shape_json(const OpenShape& open) {
  if (!open.extents) return {{"rank", nullptr}};
  Json shape = Json::array();
  for (const std::int64_t extent : *open.extents)
    shape.push_back(extent == OpenShape::any ? Json() : Json(extent));
  return {{"extents", std::move(shape)}};
}

Json model_json(const Model& model, WeightsToWrite& weights) {
  Json json{{"variables", Json::array()}, {"graphs", Json::array()}, {"signatures", Json::object()}};
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const Variable& variable = model.variables[i];
    Json entry{{"name", variable.name()},
               {"trainable", variable.trainable()},
               {"value", weights.add("variables/" + std::to_string(i), variable.peek())}};
    if (variable.open_shape()) entry["open_shape"] = open_shape_json(*variable.open_shape());
    json["variables"].push_back(std::move(entry));
  }
  GraphWriter writer(model.variables, weights);
  for (const graph::Graph& graph : model.graphs) json["graphs"].push_back(writer.write(graph));
  for (const auto& [name, signature] : model.signatures)
    json["signatures"][name] = {
        {"graph", signature.graph}, {"inputs", signature.inputs}, {"outputs", signature.outputs}};
  json["written_by"] = TAPEDECK_VERSION;
  if (model.objects.empty()) return json;
  json["objects"] = Json::parse(model.objects, nullptr, false);
  if (json["objects"].is_discarded())
    fail<InvalidArgumentError>("the model's objects have a name or text that is not Unicode");
  return json;
}

/// One at a time writes a folder, while none reads it, as far as its file system has locks. Who reads finds
/// the weights that belong to the graphs.
class FolderLock {
 public:
  FolderLock(const fs::path& folder, bool writes)
      : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_.number() >= 0) (void)::flock(folder_.number(), writes ? LOCK_EX : LOCK_SH);
  }

 private:
  const data::Descriptor folder_;
};

/// The weights under a name of their own bytes: those of an older model stay beside them. Where they are new
/// and no model came to name them, they are removed again.
class NewWeights {
 public:
  NewWeights(const fs::path& folder, const WeightsToWrite& weights) : folder_(folder) {
    const fs::path temporary = folder / ".weights.new.safetensors";
    data::write_safetensors(temporary.string(), weights.tensors(), {{"format", format_name}});
    name_ = "weights-" + checksum_text(checksum_of_file(temporary)) + ".safetensors";
    std::error_code error;
    is_new_ = !fs::exists(folder / name_, error);
    fs::rename(temporary, folder / name_, error);
    if (!error) return;
    std::error_code ignored;
    fs::remove(temporary, ignored);
    data::fail_with_errno(error.value(), (folder / name_).string());
  }
  ~NewWeights() {
    std::error_code ignored;
    if (is_new_ && !is_named()) fs::remove(folder_ / name_, ignored);
  }
  NewWeights(const NewWeights&) = delete;
  const std::string& name() const { return name_; }

 private:
  bool is_named() const {
    std::ifstream file(folder_ / model_file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    return bytes.find(name_) != std::string::npos;
  }

  const fs::path& folder_;
  std::string name_;
  bool is_new_ = false;
};

std::string text_of_model(const Json& json) {
  try {
    std::string text = json.dump();
    if (text.size() > most_bytes - 256)  // the first line
      fail<InvalidArgumentError>("the model's graphs take ", text.size(),
                                 " bytes; a saved model's take at most ", most_bytes);
    if (!nests_too_deep(text)) return text;
  } catch (const Json::exception& error) {
    fail<InvalidArgumentError>("a name or text of the model is not UTF-8: ", error.what());
  }
  fail<InvalidArgumentError>("the model's lists nest deeper than ", most_nested);
}

void remove_old_weights(const fs::path& folder, const std::string& kept) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (const std::string name = entry.path().filename().string();
        is_weights_name(name) && name != kept && is_of_saved_model(entry.path()))
      fs::remove(entry.path(), ignored);
}

// ---- reading

Json parsed_model(const fs::path& path) {
  const std::string place = path.string(), bytes = bytes_of_file(path);
  if (nests_too_deep(bytes)) fail_at(place, "its lists nest deeper than " + std::to_string(most_nested));
  const std::string begin = first_line_begin(), end = first_line_end;
  const std::size_t rest = begin.size() + 8 + end.size();
  if (bytes.size() < rest || !bytes.starts_with(begin) || bytes.substr(begin.size() + 8, end.size()) != end) {
    const std::string before = begin.substr(0, begin.find(std::to_string(version)));
    std::size_t digits = before.size();
    while (digits < std::min(bytes.size(), before.size() + 9) && bytes[digits] >= '0' && bytes[digits] <= '9')
      ++digits;
    const std::string found =
        bytes.starts_with(before) ? bytes.substr(before.size(), digits - before.size()) : "";
    if (!found.empty() && found != std::to_string(version))
      fail<UnimplementedError>(place, ": is of version ", found,
                               " of the format; this release reads version ", version);
    fail_at(place, "is not a saved model of Tapedeck, or its first line is damaged");
  }
  const std::string wanted = bytes.substr(begin.size(), 8);
  const std::string found = checksum_text(data::crc32c(std::string_view(bytes).substr(rest)));
  if (found != wanted)
    fail_at(place, "is damaged: its bytes have the checksum " + found + ", and " + wanted + " was written");
  Json json = Json::parse(bytes, nullptr, false);
  if (json.is_discarded()) fail_at(place, "is not JSON");
  return json;
}

std::optional<OpenShape> open_shape_of(const Json& variable, const std::string& place) {
  const Json* const open = find_member(variable, "open_shape", place);
  if (!open) return std::nullopt;
  if (!find_member(*open, "extents", place)) return OpenShape();
  OpenShape shape{std::vector<std::int64_t>()};
  for (const Json& extent : list_at(*open, "extents", place))
    shape.extents->push_back(extent.is_null() ? OpenShape::any : integer_of(extent, 0, INT64_MAX, place));
  return shape;
}

std::vector<Variable> read_variables(const Json& json, const WeightsToRead& weights, Device device,
                                     const std::string& file) {
  std::vector<Variable> variables;
  const Json& entries = list_at(json, "variables", file);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string place = file + ": variables[" + std::to_string(i) + "]";
    std::string name = text_of(member(entries[i], "name", place), place);
    if (name.ends_with(":0")) name.resize(name.size() - 2);
    const Tensor value = weights.read(member(entries[i], "value", place), place);
    std::optional<OpenShape> open = open_shape_of(entries[i], place);
    if (open && !open->allows(value.shape()))
      fail_at(place, "its value has another shape than " + open->text());
    const bool moves = device != value.device() && !has_partial_support(value.dtype());
    variables.emplace_back(moves ? ops::copy_to(value, device) : value, name,
                           flag_of(member(entries[i], "trainable", place), place), std::move(open));
  }
  return variables;
}

std::vector<std::string> names_at(const Json& json, const char* name, std::size_t count,
                                  const std::string& place) {
  std::vector<std::string> names;
  for (const Json& one : list_at(json, name, place)) names.push_back(text_of(one, place));
  if (names.size() != count)
    fail_at(place,
            "has " + std::to_string(names.size()) + " " + name + "; its graph has " + std::to_string(count));
  return names;
}

std::map<std::string, Signature> read_signatures(const Json& json, const std::vector<graph::Graph>& graphs,
                                                 const std::string& file) {
  std::map<std::string, Signature> signatures;
  const Json& entries = member(json, "signatures", file);
  if (!entries.is_object()) fail_at(file, "'signatures' is not an object");
  for (const auto& [name, entry] : entries.items()) {
    const std::string place = file + ": signatures." + name;
    Signature& signature = signatures[name];
    signature.graph = static_cast<std::size_t>(
        integer_of(member(entry, "graph", place), 0, static_cast<std::int64_t>(graphs.size()) - 1, place));
    const graph::Graph& graph = graphs[signature.graph];
    signature.inputs = names_at(entry, "inputs", graph.arguments, place);
    signature.outputs = names_at(entry, "outputs", graph.results.size(), place);
  }
  return signatures;
}

void check_is_model(const fs::path& folder) {
  std::error_code error;
  if (fs::is_regular_file(folder / model_file, error)) {
    if (fs::file_size(folder / model_file, error) > most_bytes)
      fail_at((folder / model_file).string(), "is larger than a saved model can be");
    return;
  }
  if (fs::exists(folder / "saved_model.pb", error) || fs::exists(folder / "saved_model.pbtxt", error))
    fail<UnimplementedError>(
        folder.string(),
        ": is a SavedModel of TensorFlow, whose graphs name TensorFlow's own kernels. Tapedeck "
        "reads what it saved itself: save the model with Tapedeck, or load its weights as "
        "safetensors or .npz");
  if (!fs::exists(folder, error)) fail<NotFoundError>(folder.string(), ": there is no such folder");
  fail<NotFoundError>(folder.string(), ": has no ", model_file, ", so it is not a saved model");
}

}  // namespace

void write_model(const std::string& folder, const Model& model) {
  check_signatures(model);
  const UnobservedScope unobserved;
  const StopRecording stopped;
  WeightsToWrite weights;
  Json json = model_json(model, weights);
  const fs::path path(folder);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) data::fail_with_errno(error.value(), folder);
  const FolderLock lock(path, true);
  const NewWeights written(path, weights);
  json["weights"] = written.name();
  const std::string rest = text_of_model(json).substr(1);  // behind the brace, which the first line has
  data::WholeFile file((path / model_file).string());
  file.write(first_line_begin() + checksum_text(data::crc32c(rest)) + first_line_end);
  file.write(rest);
  file.commit();
  remove_old_weights(path, written.name());
}

Model read_model(const std::string& folder, Device device) {
  const fs::path path(folder);
  check_is_model(path);
  const UnobservedScope unobserved;
  const StopRecording stopped;
  const std::string place = (path / model_file).string();
  const FolderLock lock(path, false);
  const Json json = parsed_model(path / model_file);
  const std::string name = text_of(member(json, "weights", place), place);
  if (!is_weights_name(name)) fail_at(place, "'" + name + "' is not the name of a file with weights");
  const data::SafetensorsFile file((path / name).string());
  if (name != "weights-" + checksum_text(checksum_of_file(path / name)) + ".safetensors")
    fail_at((path / name).string(), "is damaged: its bytes have another checksum than its name says");
  const WeightsToRead weights(file);
  Model model;
  model.variables = read_variables(json, weights, device, place);
  const Json& graphs = list_at(json, "graphs", place);
  for (std::size_t i = 0; i < graphs.size(); ++i)
    model.graphs.push_back(
        read_graph(graphs[i], model.variables, weights, place + ": graphs[" + std::to_string(i) + "]"));
  model.signatures = read_signatures(json, model.graphs, place);
  if (const Json* objects = find_member(json, "objects", place)) model.objects = objects->dump();
  return model;
}

}  // namespace tapedeck::saved_model
