// The stages that data sets are made of. Arguments are checked by whoever calls: the sizes here are at least
// 1 unless said otherwise. Iterators of stages that call a function save what goes into it, never what the
// function keeps for itself.
#pragma once

#include <functional>
#include <optional>

#include "engine/data/byte_file.h"
#include "engine/data/dataset.h"

namespace tapedeck::data {

// ---- sources (stages/sources.cpp, generator.cpp, files.cpp)
// ------------------------------------------------------------
/// One element.
DatasetPointer from_element(Element element);
/// The elements as they are.
DatasetPointer from_elements(std::vector<Element> elements);
/// One element for each row of the tensors, which have the same first extent (InvalidArgumentError where they
/// do not). Their components are views.
DatasetPointer from_slices(Tensors tensors);
/// int64, from `first` by `step` to before `end`. `step` is not 0..
DatasetPointer range(std::int64_t first, std::int64_t end, std::int64_t step, DType dtype = DType::int64);
/// int64 numbers without end, uniform below 2³²; another order for each iterator unless `same_each_time`.
DatasetPointer random_numbers(std::uint64_t seed, bool same_each_time);

/// A run of a user's generator.
class GeneratorRun {
 public:
  virtual ~GeneratorRun() = default;
  virtual bool next(Element& element) = 0;
};
using GeneratorStarter = std::function<std::unique_ptr<GeneratorRun>()>;
/// Restored by running the generator again past the elements that were taken.
DatasetPointer from_generator(GeneratorStarter starter);

struct FileFormat {
  enum class Kind : std::uint8_t { lines, fixed_length, records } kind = Kind::lines;
  Compression compression = Compression::none;
  std::size_t buffer_size = 256 * 1024;
  std::int64_t record_bytes = 0, header_bytes = 0, footer_bytes = 0;  ///< fixed_length
};
/// Scalars of strings: the lines or records of the files, one file after the other.
DatasetPointer from_files(std::vector<std::string> paths, FileFormat format);

// ---- one element at a time (stages/elements.cpp, combined.cpp, functions.cpp)
// ----------------------------------------------------------
/// `count` −1: all.
DatasetPointer take(DatasetPointer input, std::int64_t count);
DatasetPointer skip(DatasetPointer input, std::int64_t count);
/// `count` −1: for ever.
DatasetPointer repeat(DatasetPointer input, std::int64_t count);
DatasetPointer shard(DatasetPointer input, std::int64_t shards, std::int64_t index);
DatasetPointer concatenate(DatasetPointer first, DatasetPointer second);
/// The components of all, one after another. Ends with the first that ends.
DatasetPointer zip(std::vector<DatasetPointer> inputs);
/// The next element of inputs[i] for each scalar i of `choice`. Where that one has ended: the end with
/// `stop_on_empty`, else i is passed over.
DatasetPointer choose(DatasetPointer choice, std::vector<DatasetPointer> inputs, bool stop_on_empty);
/// Elements whose next() throws are passed over.
DatasetPointer ignore_errors(DatasetPointer input);
/// Each component's rows, one after another.
DatasetPointer unbatch(DatasetPointer input);
/// Data sets of `size` elements, each `stride` after the one before; the next begins `shift` elements later.
DatasetPointer window(DatasetPointer input, std::int64_t size, std::int64_t shift, std::int64_t stride,
                      bool drop_remainder);
DatasetPointer map(DatasetPointer input, FunctionPointer function, std::string name = "map");
/// Of elements for which the function gives a scalar that is true.
DatasetPointer filter(DatasetPointer input, FunctionPointer predicate);
DatasetPointer take_while(DatasetPointer input, FunctionPointer predicate);
/// function(state…, element…) → new state…, element…
DatasetPointer scan(DatasetPointer input, Element state, FunctionPointer function);

// ---- several elements (stages/batch.cpp, shuffle.cpp, nested.cpp, group.cpp, cache.cpp)
// -------------------------------------
DatasetPointer batch(DatasetPointer input, std::int64_t size, bool drop_remainder);
struct Padding {
  std::vector<std::optional<std::vector<std::int64_t>>>
      shapes;                  ///< for each component: −1 is the longest; none: all are
  std::vector<Tensor> values;  ///< for each component a scalar of its dtype
};
DatasetPointer padded_batch(DatasetPointer input, std::int64_t size, Padding padding, bool drop_remainder);
/// Each element is drawn from the next `buffer_size`. The first iterator draws by `seed`, later ones by seeds
/// that follow from it, or by the same where not `reshuffle`.
DatasetPointer shuffle(DatasetPointer input, std::int64_t buffer_size, std::uint64_t seed, bool reshuffle);
/// function(element) → one data set. `cycle` of them are open at once and give `block` elements in turn.
/// `prefetched`: each by a thread of its own.
DatasetPointer interleave(DatasetPointer input, FunctionPointer function, std::int64_t cycle,
                          std::int64_t block, bool prefetched, std::string name);
/// key(element) → int64 scalar; size(key) → int64 scalar, or none for `fixed_size`; reduce(key, data set) →
/// data set, whose elements come out.
struct Grouping {
  FunctionPointer key, reduce, size;
  std::int64_t fixed_size = 0;
};
DatasetPointer group_by_window(DatasetPointer input, Grouping grouping);
/// The first iterator that reaches the end leaves its elements to the later ones.
DatasetPointer cache(DatasetPointer input);
/// The same in a file of records, which later programs read.
DatasetPointer cache_in_file(DatasetPointer input, std::string path);

// ---- threads (stages/prefetch.cpp, parallel_map.cpp)
// ------------------------------------------------------------------------
DatasetPointer prefetch(DatasetPointer input, std::int64_t buffer_size);
/// In the input's order.
DatasetPointer parallel_map(DatasetPointer input, FunctionPointer function, int threads);

}  // namespace tapedeck::data
