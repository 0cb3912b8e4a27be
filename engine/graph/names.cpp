#include "engine/graph/names.h"

#include <atomic>

namespace tapedeck::graph {
namespace {

std::atomic<CaptureNames> names_capture{nullptr};

void give_tensors(std::vector<NamedValue>& values,
                  const std::function<std::uint64_t(std::uint64_t)>& tensor_of) {
  for (NamedValue& value : values) {
    if (value.symbolic)
      if (const std::uint64_t tensor = tensor_of(value.tensor)) value.tensor = tensor;
    give_tensors(value.items, tensor_of);
  }
}

}  // namespace

bool NamedValue::operator==(const NamedValue& other) const {
  return name == other.name && kind == other.kind && symbolic == other.symbolic && tensor == other.tensor &&
         type == other.type && text == other.text && items == other.items;
}

void set_capture_names(CaptureNames function) {
  names_capture.store(function);
}

Names capture_names() {
  const CaptureNames function = names_capture.load(std::memory_order_relaxed);
  return function ? function() : nullptr;
}

Names with_tensors(const NamesFrame& names, const std::function<std::uint64_t(std::uint64_t)>& tensor_of,
                   const Names& around) {
  auto made = std::make_shared<NamesFrame>(names);
  made->around = names.around ? with_tensors(*names.around, tensor_of, around) : around;
  give_tensors(made->values, tensor_of);
  return made;
}

}  // namespace tapedeck::graph
