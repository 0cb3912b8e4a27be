#include "engine/graph/kept_list.h"

#include <cstdint>
#include <memory>
#include <utility>

namespace tapedeck::graph {
namespace {

struct Carried {
  std::int64_t iterations = 0;  ///< the scalar's value
  KeptList list;
};

}  // namespace

Tensor carrier_of(KeptList list) {
  auto carried = std::make_unique<Carried>();
  carried->iterations = static_cast<std::int64_t>(list.size());
  carried->list = std::move(list);
  Carried* const owner = carried.release();
  const auto release = [](void* object) { delete static_cast<Carried*>(object); };
  return Tensor::view(StoragePointer::borrow(&owner->iterations, sizeof(std::int64_t), release, owner),
                      DType::int64, Shape{}, Strides{}, 0);
}

void unwind_kept(const Tensor& carrier, const std::function<void(Tensors kept, bool is_last)>& visit) {
  // The number is the first member, so this is the object's address.
  auto& list = reinterpret_cast<Carried*>(const_cast<std::byte*>(carrier.raw()))->list;
  const bool is_sole = carrier.references() == 1 && carrier.storage()->references() == 1;
  for (std::size_t i = list.size(); i-- > 0;) visit(is_sole ? std::move(list[i]) : list[i], i == 0);
}

}  // namespace tapedeck::graph
