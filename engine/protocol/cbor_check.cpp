#include "engine/protocol/cbor_check.h"

#include <array>
#include <limits>
#include <string_view>

namespace tapedeck::protocol {
namespace {

// The major types of RFC 8949, section 3.1.
enum Major : std::uint8_t { unsigned_, negative, binary, text, array, map, tag, simple };

class Check {
 public:
  explicit Check(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::string run() {
    do {
      if (!item()) return error_ + " at byte " + std::to_string(item_at_);
      while (depth_ > 0 && levels_[depth_ - 1].left == 0) --depth_;
    } while (depth_ > 0);
    if (at_ != bytes_.size())
      return std::to_string(bytes_.size() - at_) + " bytes follow the message, at byte " +
             std::to_string(at_);
    return {};
  }

 private:
  struct Level {
    std::uint64_t left = 0;  ///< items, keys counted
    bool is_map = false;
    std::string_view last_key;
    bool has_key = false;
  };

  bool refuse(const char* why) {
    error_ = why;
    return false;
  }

  /// Reads one item's head, and its bytes where it is text or binary.
  bool item() {
    item_at_ = at_;
    if (at_ >= bytes_.size()) return refuse("the bytes end too early");
    const std::uint8_t head = bytes_[at_++];
    const auto major = static_cast<Major>(head >> 5);
    std::uint64_t argument = 0;
    if (major == simple)
      return key_is_due() ? refuse("a key is not a string") : simple_item(head & 31) && count_item();
    if (!read_argument(head & 31, argument)) return false;
    if (key_is_due() && major != text) return refuse("a key is not a string");
    switch (major) {
      case negative:
        if (argument > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
          return refuse("an integer is out of range");
        return count_item();
      case binary:
      case text:
        return skip_bytes(argument, major == text);
      case array:
      case map:
        return open(argument, major == map);
      case tag:
        return refuse("tags have no place here");
      default:
        return count_item();
    }
  }

  bool key_is_due() const {
    return depth_ > 0 && levels_[depth_ - 1].is_map && levels_[depth_ - 1].left % 2 == 0;
  }

  bool count_item() {
    if (depth_ > 0) --levels_[depth_ - 1].left;
    return true;
  }

  bool read_argument(int information, std::uint64_t& argument) {
    if (information < 24) {
      argument = static_cast<std::uint64_t>(information);
      return true;
    }
    if (information > 27) return refuse("a length is not given in advance");
    const std::size_t size = std::size_t{1} << (information - 24);
    if (bytes_.size() - at_ < size) return refuse("the bytes end too early");
    for (std::size_t i = 0; i < size; ++i) argument = argument << 8 | bytes_[at_++];
    return true;
  }

  bool simple_item(int information) {
    switch (information) {
      case 20:  // false
      case 21:  // true
      case 22:  // null
        return true;
      case 25:  // half, float, double
      case 26:
      case 27: {
        const std::size_t size = std::size_t{1} << (information - 24);
        if (bytes_.size() - at_ < size) return refuse("the bytes end too early");
        at_ += size;
        return true;
      }
      default:
        return refuse("a value of no known kind");
    }
  }

  bool skip_bytes(std::uint64_t length, bool is_text) {
    if (length > bytes_.size() - at_) return refuse("a length is longer than the message");
    if (key_is_due()) {
      Level& level = levels_[depth_ - 1];
      const std::string_view key(reinterpret_cast<const char*>(bytes_.data()) + at_, length);
      if (!is_text) return refuse("a key is not a string");
      if (level.has_key && !(level.last_key < key)) return refuse("keys are out of order");
      level.last_key = key;
      level.has_key = true;
    }
    at_ += length;
    return count_item();
  }

  bool open(std::uint64_t count, bool is_map) {
    // Every item takes at least a byte: a longer count is a lie.
    const std::uint64_t left = bytes_.size() - at_;
    if (count > left || (is_map && count > left / 2)) return refuse("a length is longer than the message");
    if (!count_item()) return false;
    if (depth_ == levels_.size()) return refuse("nested too deep");
    levels_[depth_++] = {is_map ? 2 * count : count, is_map, {}, false};
    return true;
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0, item_at_ = 0;
  std::array<Level, max_nesting> levels_;
  std::size_t depth_ = 0;
  std::string error_;
};

}  // namespace

std::string check_cbor(std::span<const std::uint8_t> bytes) {
  return Check(bytes).run();
}

}  // namespace tapedeck::protocol
