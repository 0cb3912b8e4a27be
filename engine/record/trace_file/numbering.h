// The numbers that shared things (names, scopes, source lines, calls, specs and ops) have in a file.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "engine/ops/core/op.h"
#include "engine/record/trace_file/bytes.h"

namespace tapedeck::trace_file {

/// Numbers from 1 in the order of first use; 0 stays 0.
template <class Key>
class LocalNumbers {
 public:
  std::uint32_t of(Key key) {
    if (!key) return 0;
    const auto [known, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(keys_.size() + 1));
    if (is_new) keys_.push_back(key);
    return known->second;
  }
  const std::vector<Key>& keys() const { return keys_; }

 private:
  std::unordered_map<Key, std::uint32_t> numbers_;
  std::vector<Key> keys_;
};

/// For saving: from this process's numbers to the file's.
struct FileNumbers {
  LocalNumbers<std::uint32_t> names, scopes, locations, calls, specs;
  LocalNumbers<const OpDef*> ops;
};

/// For reading: from the file's numbers to this process's.
struct ProcessNumbers {
  std::vector<std::uint32_t> names, scopes, locations, calls, specs;
  std::vector<const OpDef*> ops;
};

/// Converts a number of the file to this process's. Throws DamagedPage if the file does not define it.
template <class T>
T in_process(const std::vector<T>& numbers, std::uint64_t number, const char* what) {
  if (number == 0) return T{};
  if (number > numbers.size())
    throw DamagedPage(std::string(what) + " " + std::to_string(number) + " is not in the file, which has " +
                      std::to_string(numbers.size()));
  return numbers[number - 1];
}

/// Pages of each list, given to `put` with the section's name and the page's number.
using PutPage = std::function<void(const char* section, std::uint64_t number, const PageWriter& page)>;
/// Whether an op is of another framework: then older releases cannot read the file.
bool has_foreign_ops(const FileNumbers& numbers);
void write_numbers(const FileNumbers& numbers, const PutPage& put);

constexpr const char* number_sections[] = {"names", "scopes", "locations", "calls", "specs", "ops"};
/// Adds the page's entries of that section. Throws DamagedPage.
void read_numbers(std::string_view section, PageReader& page, ProcessNumbers& numbers);

}  // namespace tapedeck::trace_file
