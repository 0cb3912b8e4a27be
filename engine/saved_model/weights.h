// Tensors of a saved model.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/data/safetensors.h"

namespace tapedeck::saved_model {

using Json = nlohmann::json;

/// The error of everything that is wrong with a folder's contents: "FOLDER/model.json: graphs[0].nodes[3]:
/// …".
[[noreturn]] void fail_at(const std::string& place, const std::string& what);

/// Members of JSON objects, checked. Each throws what fail_at() does.
const Json& member(const Json& object, const char* name, const std::string& place);
const Json* find_member(const Json& object, const char* name, const std::string& place);
const Json& list_at(const Json& object, const char* name, const std::string& place);
std::string text_of(const Json& value, const std::string& place);
bool flag_of(const Json& value, const std::string& place);
/// Between `least` and `most`, both allowed.
std::int64_t integer_of(const Json& value, std::int64_t least, std::int64_t most, const std::string& place);
DType dtype_of_name(const Json& value, const std::string& place);

/// Collects the tensors of a model that is written.
class WeightsToWrite {
 public:
  /// What the JSON has in the tensor's place. The same tensor is kept once.
  Json add(const std::string& name, const Tensor& tensor);
  const std::vector<data::NamedTensor>& tensors() const { return tensors_; }

 private:
  std::vector<data::NamedTensor> tensors_;
  std::map<std::uint64_t, Json> known_;  ///< by the tensor's id
};

/// Finds the tensors of a model that is read.
class WeightsToRead {
 public:
  explicit WeightsToRead(const data::SafetensorsFile& file) : file_(file) {}
  Tensor read(const Json& value, const std::string& place) const;

 private:
  const data::SafetensorsFile& file_;
};

}  // namespace tapedeck::saved_model
