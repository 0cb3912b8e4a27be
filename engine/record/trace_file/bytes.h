// Numbers and texts to the bytes of a trace file's pages and back.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tapedeck::trace_file {

/// The damage of a page; the reader adds which page it is.
struct DamagedPage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Detects accidental damage, not deliberate forgery. About 5 GB/s. `place`: where the bytes belong, so that
/// misplaced bytes are detected, too.
std::uint64_t checksum(std::span<const std::uint8_t> bytes, std::uint64_t place);
/// The checksum of a page, and of a part of a value.
std::uint64_t page_checksum(std::string_view section, std::uint64_t number,
                            std::span<const std::uint8_t> bytes);
std::uint64_t part_checksum(std::uint64_t tensor, std::uint64_t part, std::span<const std::uint8_t> bytes);

/// The checksums of all pages, by section and number.
using PageSums = std::map<std::string, std::map<std::uint64_t, std::uint64_t>>;
/// The checksum over the list of all pages and their checksums.
std::uint64_t index_checksum(const PageSums& pages);

/// Small numbers take one byte, larger ones up to ten.
class PageWriter {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  void signed_number(std::int64_t value) {
    number(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  void real(double value);
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  void raw(const void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  std::size_t size() const { return bytes_.size(); }
  std::span<const std::uint8_t> bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(bytes_.data()), bytes_.size()};
  }
  void clear() { bytes_.clear(); }
  const std::string& string() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Throws DamagedPage if the bytes do not have the requested form; never reads past them, nor returns sizes
/// that they could not fill.
class PageReader {
 public:
  explicit PageReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint8_t byte() {
    if (at_ == bytes_.size()) too_short();
    return bytes_[at_++];
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint8_t part = byte();
      if (shift == 63 && part > 1) throw DamagedPage("a number is too long");
      value |= static_cast<std::uint64_t>(part & 0x7f) << shift;
      if (part < 0x80) return value;
    }
  }
  std::int64_t signed_number() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  /// `what` names it in the error if it exceeds `most`.
  std::uint64_t number_up_to(std::uint64_t most, const char* what);
  /// How many items follow, each of at least one byte.
  std::size_t count(const char* what) { return static_cast<std::size_t>(number_up_to(left(), what)); }
  double real();
  std::string_view text(const char* what = "a text") { return raw(count(what)); }
  std::string_view raw(std::size_t size);
  std::size_t left() const { return bytes_.size() - at_; }
  void end() const;

 private:
  [[noreturn]] static void too_short();
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

}  // namespace tapedeck::trace_file
