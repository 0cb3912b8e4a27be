// The stages of data sets. The caller checks arguments: sizes are at least 1 unless stated otherwise.
// Iterators of stages that call a function save its inputs, never the function's own state.
#pragma once

#include <functional>
#include <optional>

#include "engine/data/byte_file.h"
#include "engine/data/dataset.h"

namespace tapedeck::data {

// ---- sources (stages/sources.cpp, generator.cpp, files.cpp)
/// One element.
DatasetPointer from_element(Element element);
/// The elements as they are.
DatasetPointer from_elements(std::vector<Element> elements);
/// One element per row of the tensors, which must have the same first extent (else InvalidArgumentError).
/// Their components are views.
DatasetPointer from_slices(Tensors tensors);
/// int64, from `first` by `step` up to but excluding `end`. `step` is not 0.
DatasetPointer range(std::int64_t first, std::int64_t end, std::int64_t step, DType dtype = DType::int64);
/// Infinitely many int64 numbers, uniform below 2³²; a different sequence for each iterator unless
/// `same_each_time`.
DatasetPointer random_numbers(std::uint64_t seed, bool same_each_time);

/// A run of a user's generator.
class GeneratorRun {
 public:
  virtual ~GeneratorRun() = default;
  virtual bool next(Element& element) = 0;
};
using GeneratorStarter = std::function<std::unique_ptr<GeneratorRun>()>;
/// Restored by running the generator again and skipping the consumed elements.
DatasetPointer from_generator(GeneratorStarter starter);

struct FileFormat {
  enum class Kind : std::uint8_t { lines, fixed_length, records } kind = Kind::lines;
  Compression compression = Compression::none;
  std::size_t buffer_size = 256 * 1024;
  std::int64_t record_bytes = 0, header_bytes = 0, footer_bytes = 0;  ///< fixed_length
};
/// String scalars: the lines or records of the files, one file after the other.
DatasetPointer from_files(std::vector<std::string> paths, FileFormat format);

// ---- one element at a time (stages/elements.cpp, combined.cpp, functions.cpp)
/// `count` −1: all.
DatasetPointer take(DatasetPointer input, std::int64_t count);
DatasetPointer skip(DatasetPointer input, std::int64_t count);
/// `count` −1: forever.
DatasetPointer repeat(DatasetPointer input, std::int64_t count);
DatasetPointer shard(DatasetPointer input, std::int64_t shards, std::int64_t index);
DatasetPointer concatenate(DatasetPointer first, DatasetPointer second);
/// The components of all inputs, concatenated. Ends when the first input ends.
DatasetPointer zip(std::vector<DatasetPointer> inputs);
/// The next element of inputs[i] for each scalar i of `choice`. If that input has ended: ends with
/// `stop_on_empty`, else skips i.
DatasetPointer choose(DatasetPointer choice, std::vector<DatasetPointer> inputs, bool stop_on_empty);
/// Skips elements whose next() throws.
DatasetPointer ignore_errors(DatasetPointer input);
/// Each component's rows, one after another.
DatasetPointer unbatch(DatasetPointer input);
/// Data sets of `size` elements, each `stride` after the previous; the next window begins `shift` elements
/// later.
DatasetPointer window(DatasetPointer input, std::int64_t size, std::int64_t shift, std::int64_t stride,
                      bool drop_remainder);
DatasetPointer map(DatasetPointer input, FunctionPointer function, std::string name = "map");
/// Keeps the elements for which the function returns a true scalar.
DatasetPointer filter(DatasetPointer input, FunctionPointer predicate);
DatasetPointer take_while(DatasetPointer input, FunctionPointer predicate);
/// function(state…, element…) → new state…, element…
DatasetPointer scan(DatasetPointer input, Element state, FunctionPointer function);

// ---- several elements (stages/batch.cpp, shuffle.cpp, nested.cpp, group.cpp, cache.cpp)
DatasetPointer batch(DatasetPointer input, std::int64_t size, bool drop_remainder);
struct Padding {
  std::vector<std::optional<std::vector<std::int64_t>>>
      shapes;                  ///< per component: −1 is the longest; nullopt: all are
  std::vector<Tensor> values;  ///< for each component a scalar of its dtype
};
DatasetPointer padded_batch(DatasetPointer input, std::int64_t size, Padding padding, bool drop_remainder);
/// Each element is drawn from the next `buffer_size`. The first iterator uses `seed`, later ones seeds
/// derived from it, or the same one without `reshuffle`.
DatasetPointer shuffle(DatasetPointer input, std::int64_t buffer_size, std::uint64_t seed, bool reshuffle);
/// function(element) → one data set. `cycle` of them are open at once and contribute `block` elements in
/// turn. `prefetched`: each by a separate thread.
DatasetPointer interleave(DatasetPointer input, FunctionPointer function, std::int64_t cycle,
                          std::int64_t block, bool prefetched, std::string name);
/// key(element) → int64 scalar; size(key) → int64 scalar, or nullptr for `fixed_size`; reduce(key, data set)
/// → data set, whose elements are the output.
struct Grouping {
  FunctionPointer key, reduce, size;
  std::int64_t fixed_size = 0;
};
DatasetPointer group_by_window(DatasetPointer input, Grouping grouping);
/// Later iterators reuse the elements of the first one that reaches the end.
DatasetPointer cache(DatasetPointer input);
/// The same in a file of records, which later programs read.
DatasetPointer cache_in_file(DatasetPointer input, std::string path);

// ---- threads (stages/prefetch.cpp, parallel_map.cpp)
DatasetPointer prefetch(DatasetPointer input, std::int64_t buffer_size);
/// In the input's order.
DatasetPointer parallel_map(DatasetPointer input, FunctionPointer function, int threads);

}  // namespace tapedeck::data
