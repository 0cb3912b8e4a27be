#include "engine/debug/compare/name_map.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/debug/tile.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_map_bytes = 4 << 20, longest_shown = 80;

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text.substr(0, longest_shown)) + "\"";
}

[[noreturn]] void refuse_line(std::size_t line, const std::string& what) {
  throw BadRequest("line " + std::to_string(line) + ": " + what);
}

void add_pair(NameMap& map, std::string_view left, std::string_view right, std::size_t line) {
  NamePair pair{normal_name(left), normal_name(right), line};
  if (pair.left.empty() || pair.right.empty())
    refuse_line(line,
                "a name is missing " + std::string(pair.left.empty() ? "before" : "behind") + " the \"=\"");
  for (const NamePair& other : map)
    if (other.left == pair.left)
      refuse_line(line,
                  in_quotes(pair.left) + " has a counterpart already, in line " + std::to_string(other.line));
  map.push_back(std::move(pair));
}

NameMap map_of_lines(std::string_view text) {
  NameMap map;
  std::size_t line = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view one = text.substr(at, end - at);
    at = end + 1;
    ++line;
    one = without_spaces(one.substr(0, one.find('#')));
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos)
      refuse_line(line, in_quotes(one) + " is no pair of names: write \"left/name = right.name\"");
    if (one.find('=', equals + 1) != std::string_view::npos)
      refuse_line(line, in_quotes(one) + " has more than one \"=\"");
    add_pair(map, without_spaces(one.substr(0, equals)), without_spaces(one.substr(equals + 1)), line);
  }
  return map;
}

/// Keeps the line of each key: nlohmann's own errors name it, these have to as well.
class MapHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  MapHandler(std::string_view text, NameMap& map) : text_(text), map_(map) {}

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("a truth value"); }
  bool number_integer(number_integer_t) override { return other("a number"); }
  bool number_unsigned(number_unsigned_t) override { return other("a number"); }
  bool number_float(number_float_t, const string_t&) override { return other("a number"); }
  bool binary(binary_t&) override { return other("bytes"); }
  bool start_array(std::size_t) override { return other("a list"); }
  bool end_array() override { return true; }
  bool start_object(std::size_t) override { return open_++ == 0 || other("an object"); }
  bool end_object() override { return true; }
  bool key(string_t& name) override {
    const std::size_t found = text_.find(nlohmann::json(name).dump(), from_);
    if (found != std::string_view::npos) from_ = found + 1;
    key_ = name;
    return true;
  }
  bool string(string_t& value) override {
    if (open_ == 0) return other("a text");
    add_pair(map_, key_, value, line());
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    from_ = std::min(position, text_.size());
    refuse_line(line(), "this is no JSON object of names: {\"left/name\": \"right.name\"}");
  }

 private:
  std::size_t line() const {
    return 1 + static_cast<std::size_t>(std::ranges::count(text_.substr(0, from_), '\n'));
  }
  bool other(const char* what) const {
    refuse_line(line(), (key_.empty() ? std::string("here") : "for " + in_quotes(key_)) + " is " + what +
                            ", not the name of the other side");
  }

  std::string_view text_;
  NameMap& map_;
  std::size_t from_ = 0;
  int open_ = 0;
  std::string key_;
};

}  // namespace

std::string normal_name(std::string_view name) {
  std::string normal;
  if (name.ends_with(":0")) name.remove_suffix(2);
  for (const char one : name)
    if (one != '.' && one != '/')
      normal += one;
    else if (!normal.empty() && normal.back() != '/')
      normal += '/';
  if (normal.ends_with('/')) normal.pop_back();
  return normal;
}

NameMap parse_name_map(std::string_view text) {
  if (text.size() > most_map_bytes)
    throw BadRequest("line 1: the name map has " + std::to_string(text.size()) + " bytes; at most " +
                     std::to_string(most_map_bytes) + " are read");
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return map_of_lines(text);
  NameMap map;
  MapHandler handler(text, map);
  nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
  return map;
}

std::string mapped_name(const NameMap& map, const std::string& left) {
  const NamePair* best = nullptr;
  for (const NamePair& pair : map) {
    const bool fits =
        left.starts_with(pair.left) && (left.size() == pair.left.size() || left[pair.left.size()] == '/');
    if (fits && (!best || pair.left.size() > best->left.size())) best = &pair;
  }
  return best ? best->right + left.substr(best->left.size()) : std::string();
}

}  // namespace tapedeck::debug
