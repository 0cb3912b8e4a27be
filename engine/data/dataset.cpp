#include "engine/data/dataset.h"

#include <algorithm>

#include "engine/data/state.h"

namespace tapedeck::data {

namespace {

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of the host language";
  }
}

}  // namespace

StageFailure::StageFailure(std::string where, std::exception_ptr thrown)
    : Error(where + ": " + text_of(thrown)), place(std::move(where)), cause(std::move(thrown)) {}

Dataset::Dataset(std::string name, std::vector<DatasetPointer> inputs)
    : inputs_(std::move(inputs)), name_(std::move(name)) {
  for (const DatasetPointer& input : inputs_) depth_ = std::max(depth_, input->depth() + 1);
}

bool Dataset::save_elements(StateWriter&) const {
  return false;
}

IteratorPointer iterate(const Dataset& dataset, bool own_threads) {
  return dataset.start({.stages = dataset.depth(), .own_threads = own_threads});
}

void Place::rethrow(std::int64_t element) const {
  try {
    throw;
  } catch (const StageFailure&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    throw StageFailure(*name_ + " (stage " + std::to_string(depth_) + " of " + std::to_string(stages_) +
                           "), element " + std::to_string(element),
                       std::current_exception());
  }
}

std::uint64_t RandomStream::next() {
  std::uint64_t x = key_ + ++counter_ * 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

std::uint64_t RandomStream::below(std::uint64_t limit) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t biased = (0 - limit) % limit;
  for (;;) {
    const Wide product = Wide{next()} * limit;
    if (static_cast<std::uint64_t>(product) >= biased) return static_cast<std::uint64_t>(product >> 64);
  }
}

void RandomStream::save(StateWriter& writer) const {
  writer.number(static_cast<std::int64_t>(key_));
  writer.number(static_cast<std::int64_t>(counter_));
}

void RandomStream::restore(StateReader& reader) {
  key_ = static_cast<std::uint64_t>(reader.number());
  counter_ = static_cast<std::uint64_t>(reader.number());
}

}  // namespace tapedeck::data
