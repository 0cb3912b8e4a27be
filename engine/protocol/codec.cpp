#include "engine/protocol/codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <type_traits>

#include "engine/protocol/cbor_check.h"

namespace tapedeck::protocol {
namespace {

using Json = nlohmann::json;

template <class T>
constexpr bool is_vector = false;
template <class T>
constexpr bool is_vector<std::vector<T>> = true;
template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

/// The path of a value in a message; a chain on the stack, spelled only for an error.
struct Place {
  const Place* parent = nullptr;
  const char* name = nullptr;  ///< of the field; nullptr: an element
  std::size_t index = 0;

  std::string spell() const {
    const std::string before = parent ? parent->spell() : std::string();
    if (!name) return before + "[" + std::to_string(index) + "]";
    return before.empty() ? name : before + "." + name;
  }
};

struct Message {
  std::string_view type;

  [[noreturn]] void refuse(const Place& place, const std::string& what) const {
    throw DecodeError(std::string(type) + ": field '" + place.spell() + "' " + what);
  }
  [[noreturn]] void expected(const Place& place, const char* kind, const Json& value) const {
    refuse(place, std::string("must be ") + kind + ", not " + value.type_name());
  }
};

// ---- values to JSON ----

template <class J, class T>
J write(const T& value);

/// Many numbers travel as one binary of little-endian doubles: exact, and an eighth of the time of single
/// ones.
inline Json write_doubles(const std::vector<double>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(double));
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto bits = std::bit_cast<std::uint64_t>(values[i]);
    for (std::size_t k = 0; k < 8; ++k, bits >>= 8) bytes[8 * i + k] = static_cast<std::uint8_t>(bits);
  }
  return Json::binary(std::move(bytes));
}

template <class J, class T>
J write_any(const void* value) {
  return write<J>(*static_cast<const T*>(value));
}
/// A field of some message: only who writes its value knows of which type that is.
template <class J>
struct Written {
  const char* name;
  const void* value;
  J (*write)(const void* value);
};
template <class J>
J write_fields(std::span<const Written<J>> fields) {
  J object = J::object();
  for (const Written<J>& field : fields) object[field.name] = field.write(field.value);
  return object;
}

template <class J, class Struct>
J write_struct(const Struct& value) {
  return Struct::fields([&]<class... T>(const Field<Struct, T>&... field) {
    const std::array<Written<J>, sizeof...(T)> fields{
        {{field.name, &(value.*field.member), &write_any<J, T>}...}};
    return write_fields<J>(fields);
  });
}

template <class J, class T>
J write(const T& value) {
  if constexpr (is_optional<T>) {
    return value ? write<J>(*value) : J(nullptr);
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(names(value).at(static_cast<std::size_t>(value)));
  } else if constexpr (std::is_same_v<T, std::vector<double>> && std::is_same_v<J, Json>) {
    return write_doubles(value);
  } else if constexpr (is_vector<T>) {
    J array = J::array();
    for (const typename T::value_type& element : value) array.push_back(write<J>(element));
    return array;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else {
    return write_struct<J>(value);
  }
}

// ---- JSON to values ----

template <class T>
void read(const Message& message, const Place& place, const Json& json, T& value);

template <class T>
void read_integer(const Message& message, const Place& place, const Json& json, T& value) {
  if (!json.is_number_integer()) message.expected(place, "an integer", json);
  const bool fits = json.is_number_unsigned()
                        ? std::in_range<T>(json.get_ref<const Json::number_unsigned_t&>())
                        : std::in_range<T>(json.get_ref<const Json::number_integer_t&>());
  if (!fits)
    message.refuse(place, "is out of range: " + json.dump() + " (" +
                              std::to_string(std::numeric_limits<T>::min()) + " to " +
                              std::to_string(std::numeric_limits<T>::max()) + ")");
  value = json.get<T>();
}

void read_doubles(const Message& message, const Place& place, const Json& json, std::vector<double>& values) {
  if (!json.is_binary()) message.expected(place, "binary", json);
  const auto& bytes = json.get_binary();
  if (bytes.size() % sizeof(double) != 0)
    message.refuse(place, "has " + std::to_string(bytes.size()) + " bytes, which is not a multiple of 8");
  values.resize(bytes.size() / sizeof(double));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t bits = 0;
    for (std::size_t k = 8; k-- > 0;) bits = bits << 8 | bytes[8 * i + k];
    values[i] = std::bit_cast<double>(bits);
  }
}

template <class T>
void read_enum(const Message& message, const Place& place, const Json& json, T& value) {
  if (!json.is_string()) message.expected(place, "a string", json);
  const auto& name = json.get_ref<const std::string&>();
  const auto known = names(T{});
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i] != name) continue;
    value = static_cast<T>(i);
    return;
  }
  message.refuse(place, "has no value '" + name + "'");
}

template <class T>
void read_any(const Message& message, const Place& place, const Json& json, void* value) {
  read(message, place, json, *static_cast<T*>(value));
}
struct ReadField {
  const char* name;
  void* value;
  void (*read)(const Message& message, const Place& place, const Json& json, void* value);
};
void read_fields(const Message& message, const Place* place, const Json& json,
                 std::span<const ReadField> fields) {
  if (!json.is_object()) message.expected(*place, "a map", json);
  for (const ReadField& field : fields) {
    const Place inner{place, field.name, 0};
    const auto found = json.find(field.name);
    if (found == json.end()) message.refuse(inner, "is missing");
    field.read(message, inner, *found, field.value);
  }
  if (json.size() == fields.size()) return;
  for (const auto& item : json.items())
    if (std::ranges::none_of(fields, [&](const ReadField& field) { return item.key() == field.name; }))
      message.refuse(Place{place, item.key().c_str(), 0}, "is unknown");
}

template <class Struct>
void read_struct(const Message& message, const Place* place, const Json& json, Struct& value) {
  Struct::fields([&]<class... T>(const Field<Struct, T>&... field) {
    const std::array<ReadField, sizeof...(T)> fields{{{field.name, &(value.*field.member), &read_any<T>}...}};
    read_fields(message, place, json, fields);
  });
}

template <class T>
void read(const Message& message, const Place& place, const Json& json, T& value) {
  if constexpr (is_optional<T>) {
    value.reset();
    if (!json.is_null()) read(message, place, json, value.emplace());
  } else if constexpr (std::is_enum_v<T>) {
    read_enum(message, place, json, value);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) message.expected(place, "true or false", json);
    value = json.get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    read_integer(message, place, json, value);
  } else if constexpr (std::is_same_v<T, double>) {
    if (!json.is_number_float()) message.expected(place, "a real number", json);
    value = json.get<double>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) message.expected(place, "a string", json);
    value = json.get<std::string>();
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    read_doubles(message, place, json, value);
  } else if constexpr (is_vector<T>) {
    if (!json.is_array()) message.expected(place, "an array", json);
    value.clear();
    value.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) {
      typename T::value_type element{};
      read(message, Place{&place, nullptr, i}, json[i], element);
      value.push_back(std::move(element));
    }
  } else {
    read_struct(message, &place, json, value);
  }
}

// ---- messages ----

template <class Variant>
Bytes encode_message(std::uint64_t request, const Variant& message) {
  Json body = visit([](const auto& value) { return write_struct<Json>(value); }, message);
  return Json::to_cbor(Json{{"type", type_name(message)}, {"request", request}, {"body", std::move(body)}});
}

template <class Variant, class Body>
Variant read_as(const Message& message, const Json& json) {
  Body value;
  read_struct(message, nullptr, json, value);
  return value;
}
template <class Variant>
struct KindOf {
  std::string_view type;
  Variant (*read)(const Message& message, const Json& json);
};
template <class... Types>
constexpr auto kinds_of(const OneOf<Types...>*) {
  return std::array{KindOf<OneOf<Types...>>{Types::type, &read_as<OneOf<Types...>, Types>}...};
}

template <class Variant>
Variant read_body(const std::string& type, const Json& body) {
  static constexpr auto kinds = kinds_of(static_cast<const Variant*>(nullptr));
  const auto kind = std::ranges::find(kinds, type, &KindOf<Variant>::type);
  if (kind == kinds.end()) throw DecodeError("no message is called '" + type + "'");
  const Message message{type};
  if (!body.is_object()) message.expected(Place{nullptr, "body", 0}, "a map", body);
  return kind->read(message, body);
}

template <class Variant>
std::pair<std::uint64_t, Variant> decode_message(std::span<const std::uint8_t> bytes) {
  if (const std::string wrong = check_cbor(bytes); !wrong.empty()) throw DecodeError("no message: " + wrong);
  Json json;
  try {
    json = Json::from_cbor(bytes.begin(), bytes.end());
  } catch (const Json::exception& error) {
    throw DecodeError(std::string("no message: ") + error.what());
  }
  const Message envelope{"message"};
  if (!json.is_object()) throw DecodeError(std::string("no message: a map is due, not ") + json.type_name());
  const auto part = [&](const char* name) -> const Json& {
    const auto found = json.find(name);
    if (found == json.end()) envelope.refuse(Place{nullptr, name, 0}, "is missing");
    return *found;
  };
  std::string type;
  std::uint64_t request = 0;
  read(envelope, Place{nullptr, "type", 0}, part("type"), type);
  read(envelope, Place{nullptr, "request", 0}, part("request"), request);
  const Json& body = part("body");
  if (json.size() != 3) throw DecodeError("message: has fields besides type, request and body");
  return {request, read_body<Variant>(type, body)};
}

}  // namespace

Bytes encode(std::uint64_t request, const Request& message) {
  return encode_message(request, message);
}
Bytes encode(std::uint64_t request, const Reply& message) {
  return encode_message(request, message);
}

IncomingRequest decode_request(std::span<const std::uint8_t> bytes) {
  auto [request, message] = decode_message<Request>(bytes);
  return {request, std::move(message)};
}

IncomingReply decode_reply(std::span<const std::uint8_t> bytes) {
  auto [request, message] = decode_message<Reply>(bytes);
  return {request, std::move(message)};
}

std::string type_name(const Request& message) {
  return visit([](const auto& body) { return std::string(body.type); }, message);
}

std::string type_name(const Reply& message) {
  return visit([](const auto& body) { return std::string(body.type); }, message);
}

std::string to_json(const Record& record) {
  return write<nlohmann::ordered_json>(record).dump(-1, ' ', false,
                                                    nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tapedeck::protocol
