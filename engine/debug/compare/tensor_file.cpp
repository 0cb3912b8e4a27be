#include "engine/debug/compare/tensor_file.h"

#include <algorithm>

#include "engine/data/npz.h"
#include "engine/data/safetensors.h"
#include "engine/debug/compare/name_map.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/scope.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_left_out_named = 3;
constexpr const char* tensor_schema = "file::tensor(Tensor value) -> Tensor";

/// Takes the tensors of a file into a recorder.
class TensorFileReader {
 public:
  explicit TensorFileReader(Recorder& recorder) : recorder_(recorder), op_(*foreign_op(tensor_schema).row) {}

  /// `read` gives the tensor.
  template <class Read>
  void take(const std::string& name, Read&& read) {
    try {
      add(name, read());
    } catch (const UnimplementedError& error) {
      if (left_out_++ < most_left_out_named)
        named_ += (named_.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  std::string left_out() const {
    if (left_out_ == 0) return {};
    return std::to_string(left_out_) +
           (left_out_ == 1 ? " tensor of the file was" : " tensors of the file were") +
           " left out: " + named_ + (left_out_ > most_left_out_named ? "; …" : "") + ".";
  }

 private:
  void add(const std::string& name, const Tensor& tensor) {
    const std::string normal = normal_name(name);
    const std::size_t slash = normal.rfind('/');
    const WholeScope scope(slash == std::string::npos ? 0 : intern_scope(normal.substr(0, slash)));
    recorder_.leaf(tensor, normal);
    const Tensor result =
        Tensor::view(tensor.storage(), tensor.dtype(), tensor.shape(), tensor.strides(), tensor.offset());
    const Attributes attributes;
    Event event;
    event.op = &op_;
    event.name = op_.name;
    event.attributes = &attributes;
    event.inputs = std::span(&tensor, 1);
    const std::uint64_t record = recorder_.begin(event);
    recorder_.end(record, std::span(&result, 1), nullptr);
  }

  Recorder& recorder_;
  const OpDef& op_;
  std::size_t left_out_ = 0;
  std::string named_;
};

bool ends_so(const std::string& path, std::string_view ending) {
  return path.size() > ending.size() &&
         std::equal(ending.begin(), ending.end(), path.end() - static_cast<std::ptrdiff_t>(ending.size()),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

}  // namespace

bool is_file_tensor(const OpDef& op) {
  return is_foreign(op) && op.name == "file.tensor";
}

bool is_tensor_file(const std::string& path) {
  return ends_so(path, ".npz") || ends_so(path, ".safetensors");
}

std::shared_ptr<Recorder> open_tensor_file(const std::string& path, std::string* left_out) {
  RecorderOptions options;
  options.keeping.budget_bytes = UINT64_MAX / 4;  // the file's tensors alone, which are in memory anyway
  options.keeping.keep_everything = true;
  auto recorder = std::make_shared<Recorder>(options);
  try {
    TensorFileReader reader(*recorder);
    if (ends_so(path, ".npz")) {
      const data::NpzFile file(path);
      for (const data::NpzMember& member : file.members())
        reader.take(member.name, [&] { return file.read(member); });
    } else {
      const data::SafetensorsFile file(path);
      for (const data::StoredTensor& stored : file.tensors())
        reader.take(stored.name, [&] { return file.read(stored.name); });
    }
    if (left_out) *left_out = reader.left_out();
  } catch (const Error& error) {
    throw ValueError("tensor_file", error.what());
  }
  return recorder;
}

}  // namespace tapedeck::debug
