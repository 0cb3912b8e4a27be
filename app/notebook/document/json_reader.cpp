#include <charconv>
#include <unordered_map>

#include "app/notebook/document/json_text.h"
#include "engine/protocol/json_check.h"

namespace tapedeck::app {
namespace {

using nlohmann::ordered_json;

using protocol::max_json_nesting;

/// Each takes 16 bytes at least, and up to 100 of them in many small lists.
constexpr std::size_t most_values = 20'000'000;

void appendUtf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

/// Length of the UTF-8 sequence at the start of `text`; 0 where it is none (or may be one that was cut off).
std::size_t utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if (!follows(1) || !follows(2)) return 0;
    if (first == 0xe0 && byte(1) < 0xa0) return 0;
    if (first == 0xed && byte(1) > 0x9f) return 0;
    return 3;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (first == 0xf0 && byte(1) < 0x90) return 0;
    if (first == 0xf4 && byte(1) > 0x8f) return 0;
    return 4;
  }
  return 0;
}

/// The members of an object while it is read. An ordered object is a list and finds a key by looking at all:
/// many members get a table of their places.
class Members {
 public:
  explicit Members(ordered_json& object) : members_(object.get_ref<ordered_json::object_t&>()) {}

  /// Of two members of one name the last one's value stays, at the first one's place, as in Python.
  void set(const std::string& key, ordered_json&& value) {
    const std::size_t place = members_.size() < few ? find(key) : find_in_table(key);
    if (place < members_.size()) {
      members_[place].second = std::move(value);
      return;
    }
    if (!places_.empty()) places_.emplace(key, place);
    members_.emplace_back(key, std::move(value));
  }

 private:
  static constexpr std::size_t few = 32;

  std::size_t find(const std::string& key) const {
    std::size_t place = 0;
    while (place < members_.size() && members_[place].first != key) ++place;
    return place;
  }
  std::size_t find_in_table(const std::string& key) {
    if (places_.empty())
      for (std::size_t place = 0; place < members_.size(); ++place)
        places_.emplace(members_[place].first, place);
    const auto found = places_.find(key);
    return found == places_.end() ? members_.size() : found->second;
  }

  std::vector<ordered_json::object_t::value_type>& members_;
  std::unordered_map<std::string, std::size_t> places_;
};

class Reader {
 public:
  Reader(std::string_view text, JsonWatch* watch) : text_(text), watch_(watch) {}

  ordered_json read() {
    skipSpace();
    ordered_json value = readValue(0);
    skipSpace();
    if (position_ < text_.size()) fail("something follows after the end: " + here());
    return value;
  }

 private:
  [[noreturn]] void failAt(std::size_t position, const std::string& what, bool at_end) const {
    int line = 1;
    int column = 1;
    for (std::size_t i = 0; i < position && i < text_.size(); ++i) {
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      } else if ((static_cast<unsigned char>(text_[i]) & 0xc0) != 0x80) {
        ++column;
      }
    }
    throw JsonTextError(what, line, column, at_end);
  }
  [[noreturn]] void fail(const std::string& what) const { failAt(position_, what, false); }
  [[noreturn]] void failEnd(const std::string& inside) const {
    failAt(text_.size(), "it ends in the middle of " + inside, true);
  }

  /// The character at the position, as a reader sees it.
  std::string here() const {
    const std::string_view rest = text_.substr(position_);
    const auto first = static_cast<unsigned char>(rest[0]);
    const std::size_t length = utf8Length(rest);
    if (length == 0 || first < 0x20 || first == 0x7f) {
      static constexpr char digits[] = "0123456789abcdef";
      return std::string("byte 0x") + digits[first >> 4] + digits[first & 15];
    }
    return "'" + std::string(rest.substr(0, length)) + "'";
  }

  void skipSpace() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
      ++position_;
    }
  }

  ordered_json readValue(int depth) {
    if (position_ >= text_.size()) failEnd(depth == 0 ? "nothing" : "a list or an object");
    tellProgress();
    if (++values_ > most_values)
      fail("it has more than " + std::to_string(most_values / 1'000'000) + " million values");
    const char first = text_[position_];
    if (depth >= max_json_nesting && (first == '[' || first == '{')) {
      fail("lists and objects are nested more than " + std::to_string(max_json_nesting) + " deep");
    }
    switch (first) {
      case '{':
        return readObject(depth);
      case '[':
        return readArray(depth);
      case '"':
        return readString();
      case 't':
        return readWord("true", true);
      case 'f':
        return readWord("false", false);
      case 'n':
        return readWord("null", nullptr);
      case 'N':
        return readWord("NaN", std::numeric_limits<double>::quiet_NaN());
      case 'I':
        return readWord("Infinity", std::numeric_limits<double>::infinity());
      default:
        return readNumber();
    }
  }

  void tellProgress() {
    constexpr std::size_t step = 1 << 20;
    if (!watch_ || !watch_->progress || position_ < told_ + step) return;
    told_ = position_;
    if (!watch_->progress(position_)) throw JsonStopped();
  }

  ordered_json readWord(std::string_view word, ordered_json value) {
    const std::string_view rest = text_.substr(position_, word.size());
    if (rest == word) {
      position_ += word.size();
      return value;
    }
    if (rest.size() < word.size() && word.substr(0, rest.size()) == rest) failEnd("a word");
    fail("expected a value but found " + here());
  }

  ordered_json readObject(int depth) {
    ordered_json object = ordered_json::object();
    Members members(object);
    ++position_;
    skipSpace();
    if (peek("an object") == '}') {
      ++position_;
      return object;
    }
    while (true) {
      if (peek("an object") != '"') fail("expected a key in quotes but found " + here());
      const std::string key = readString();
      skipSpace();
      if (peek("an object") != ':') fail("expected ':' but found " + here());
      ++position_;
      skipSpace();
      const bool watched = depth == 0 && watch_ && key == watch_->member && peek("an object") == '[';
      ordered_json value = watched ? readArray(depth + 1, watch_) : readValue(depth + 1);
      members.set(key, std::move(value));
      skipSpace();
      const char c = peek("an object");
      if (c != ',' && c != '}') fail("expected ',' or '}' but found " + here());
      ++position_;
      if (c == '}') return object;
      skipSpace();
    }
  }

  /// `watch`: notes where the list and its elements stand.
  ordered_json readArray(int depth, JsonWatch* watch = nullptr) {
    ordered_json array = ordered_json::array();
    ++position_;
    if (watch) watch->elements.clear();
    if (watch) watch->list = {position_, position_};
    skipSpace();
    bool more = peek("a list") != ']';
    if (!more) ++position_;
    while (more) {
      const std::size_t begin = position_;
      array.push_back(readValue(depth + 1));
      if (watch) watch->elements.push_back({begin, position_});
      skipSpace();
      const char c = peek("a list");
      if (c != ',' && c != ']') fail("expected ',' or ']' but found " + here());
      ++position_;
      more = c == ',';
      if (more) skipSpace();
    }
    if (watch) watch->list.end = position_ - 1;
    return array;
  }

  char peek(const char* inside) const {
    if (position_ >= text_.size()) failEnd(inside);
    return text_[position_];
  }

  std::string readString() {
    std::string out;
    ++position_;
    while (true) {
      std::size_t end = position_;
      while (end < text_.size() && plain(text_[end])) ++end;
      out.append(text_.substr(position_, end - position_));
      position_ = end;
      const char c = peek("a string");
      if (c == '"') {
        ++position_;
        return out;
      }
      if (c == '\\') {
        readEscape(out);
      } else if (static_cast<unsigned char>(c) < 0x20) {
        fail("a string holds an unescaped control character, " + here());
      } else {
        const std::size_t length = utf8Length(text_.substr(position_));
        if (length == 0) {
          if (text_.size() - position_ < 4 && cutSequence()) failEnd("a string");
          fail("the text is not UTF-8: " + here());
        }
        out.append(text_.substr(position_, length));
        position_ += length;
      }
    }
  }
  static bool plain(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
  }
  /// The text ends within a UTF-8 sequence that begins here.
  bool cutSequence() const {
    const auto first = static_cast<unsigned char>(text_[position_]);
    if (first < 0xc2 || first > 0xf4) return false;
    for (std::size_t i = position_ + 1; i < text_.size(); ++i) {
      if ((static_cast<unsigned char>(text_[i]) & 0xc0) != 0x80) return false;
    }
    return true;
  }

  void readEscape(std::string& out) {
    ++position_;
    const char c = peek("a string");
    static constexpr std::string_view names = "\"\\/bfnrt";
    static constexpr std::string_view values = "\"\\/\b\f\n\r\t";
    if (c == 'u') {
      ++position_;
      unsigned code = readHex();
      if (code >= 0xd800 && code < 0xdc00 && text_.substr(position_, 2) == "\\u") {
        const std::size_t back = position_;
        position_ += 2;
        const unsigned low = readHex();
        if (low >= 0xdc00 && low < 0xe000) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else {
          position_ = back;
        }
      }
      appendUtf8(out, code);
      return;
    }
    const std::size_t index = names.find(c);
    if (index == std::string_view::npos) fail("a string holds the unknown escape \\ followed by " + here());
    out += values[index];
    ++position_;
  }

  unsigned readHex() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = peek("a string");
      unsigned digit = 0;
      if (c >= '0' && c <= '9') {
        digit = static_cast<unsigned>(c - '0');
      } else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) {
        digit = static_cast<unsigned>((c | 0x20) - 'a') + 10;
      } else {
        fail("\\u needs four hexadecimal digits but has " + here());
      }
      code = code * 16 + digit;
      ++position_;
    }
    return code;
  }

  std::size_t skipDigits() {
    const std::size_t start = position_;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') ++position_;
    return position_ - start;
  }

  ordered_json readNumber() {
    const std::size_t start = position_;
    if (text_[position_] == '-') {
      ++position_;
      if (peek("a number") == 'I') return readWord("Infinity", -std::numeric_limits<double>::infinity());
    }
    const std::size_t first_digit = position_;
    if (skipDigits() == 0) {
      if (position_ >= text_.size()) failEnd("a number");
      fail(start == position_ ? "expected a value but found " + here() : "'-' is followed by " + here());
    }
    if (text_[first_digit] == '0' && position_ - first_digit > 1) {
      position_ = first_digit;
      fail("a number has a leading zero");
    }
    bool integer = true;
    if (position_ < text_.size() && text_[position_] == '.') {
      integer = false;
      ++position_;
      if (skipDigits() == 0) numberEnds();
    }
    if (position_ < text_.size() && (text_[position_] | 0x20) == 'e') {
      integer = false;
      ++position_;
      if (position_ < text_.size() && (text_[position_] == '+' || text_[position_] == '-')) ++position_;
      if (skipDigits() == 0) numberEnds();
    }
    return number(text_.substr(start, position_ - start), integer);
  }
  [[noreturn]] void numberEnds() const {
    if (position_ >= text_.size()) failEnd("a number");
    fail("a digit is missing in a number before " + here());
  }

  static ordered_json number(std::string_view text, bool integer) {
    const char* const end = text.data() + text.size();
    if (integer && text != "-0") {
      std::int64_t value = 0;
      if (std::from_chars(text.data(), end, value).ec == std::errc()) return value;
      std::uint64_t large = 0;
      if (text[0] != '-' && std::from_chars(text.data(), end, large).ec == std::errc()) return large;
    } else if (!integer) {
      double value = 0;
      if (std::from_chars(text.data(), end, value).ec == std::errc() && floatText(value) == text)
        return value;
    }
    return ordered_json::binary({text.begin(), text.end()});
  }

  std::string_view text_;
  JsonWatch* watch_;
  std::size_t position_ = 0;
  std::size_t told_ = 0;
  std::size_t values_ = 0;
};

}  // namespace

ordered_json readJson(std::string_view text, JsonWatch* watch) {
  return Reader(text, watch).read();
}

bool isNumberText(const ordered_json& value) {
  return value.is_binary();
}

}  // namespace tapedeck::app
