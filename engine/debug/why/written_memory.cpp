#include "engine/debug/why/written_memory.h"

#include <algorithm>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/vjp_again.h"
#include "engine/record/values/memory_parts.h"

namespace tapedeck::debug {
namespace {

/// Beyond that the elements of a memory are not followed one by one.
constexpr std::int64_t most_memory_elements = std::int64_t{1} << 26;

}  // namespace

const SharedMemory& WrittenMemory::shared() {
  if (!shared_) shared_.emplace(past_, past_.recorder().trace().newest());
  return *shared_;
}

const WrittenMemory::Known& WrittenMemory::known(std::uint64_t tensor) {
  const auto found = known_.find(tensor);
  return found == known_.end() ? known_.emplace(tensor, look(tensor)).first->second : found->second;
}

WrittenMemory::Known WrittenMemory::look(std::uint64_t tensor) {
  Known all;
  if (tensor == 0 || !has_foreign_ops() || past_.maker(tensor) || past_.assignment(tensor)) return all;
  const auto place = shared_place_of(tensor);
  if (place && !past_.recorder().file()) {
    const auto [low, high] = byte_range(place->place);
    if ((high - low) / static_cast<std::int64_t>(item_size(place->place.dtype)) <= most_memory_elements) {
      PartElements elements = elements_of_parts(*place);
      for (const MemoryPart& part : place->parts) all.tensors.push_back(part.tensor);
      all.which = std::move(elements.parts);
      all.places = std::move(elements.places);
      all.exact = true;
    } else {
      for (const MemoryPart& part : place->parts) all.tensors.push_back(part.tensor);
    }
    return all;
  }
  if (!past_.recorder().file()) return all;  // here all places are known
  const RecordView* writer = past_.record(shared().writer_of(tensor));
  if (!writer) return all;
  guessed_ = true;
  all.tensors.assign(writer->outputs.begin(), writer->outputs.end());
  if (const std::uint64_t older = shared().older_value(tensor)) all.tensors.push_back(older);
  std::erase_if(all.tensors, [&](std::uint64_t id) { return id == 0 || id >= tensor; });
  return all;
}

std::vector<ElementSource> WrittenMemory::sources(std::uint64_t tensor) {
  const Known& all = known(tensor);
  std::vector<ElementSource> found;
  for (const std::uint64_t id : all.tensors) found.push_back({id, 0});
  if (!all.exact) return found;
  for (const std::int32_t which : all.which)
    if (which >= 0) ++found[static_cast<std::size_t>(which)].elements;
  std::erase_if(found, [](const ElementSource& source) { return source.elements == 0; });
  return found;
}

std::optional<ElementPlace> WrittenMemory::source(std::uint64_t tensor, std::int64_t place) {
  const Known& all = known(tensor);
  const auto at = static_cast<std::size_t>(place);
  if (!all.exact || at >= all.which.size() || all.which[at] < 0) return std::nullopt;
  return ElementPlace{all.tensors[static_cast<std::size_t>(all.which[at])], all.places[at]};
}

Tensor WrittenMemory::with_other_sources(std::uint64_t tensor, const Tensor& value,
                                         const std::function<Tensor(std::uint64_t)>& other) {
  const Known& all = known(tensor);
  if (!all.exact) return value;
  std::vector<std::vector<double>> others;
  DType dtype = value.dtype();
  bool any = false;
  for (const std::uint64_t id : all.tensors) {
    const Tensor one = other(id);
    others.push_back(one ? one.to_vector() : std::vector<double>());
    any = any || one;
    if (one && one.dtype() == DType::float64) dtype = DType::float64;
  }
  if (!any) return value;
  std::vector<double> elements = value.to_vector();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (all.which[i] < 0) continue;
    const std::vector<double>& from = others[static_cast<std::size_t>(all.which[i])];
    const auto place = static_cast<std::size_t>(all.places[i]);
    if (place < from.size()) elements[i] = from[place];
  }
  const Tensor wide = Tensor::from_values<double>(elements, value.shape());
  return dtype == DType::float64 ? wide : in_dtype(wide, dtype);
}

}  // namespace tapedeck::debug
