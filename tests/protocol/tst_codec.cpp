// The codec: every message there and back, and whatever bytes a peer may send.
#include <QtTest>
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <sstream>

#include "engine/protocol/cbor_check.h"
#include "engine/protocol/codec.h"
#include "tests/campaign.h"
#include "tests/protocol/filler.h"
#include "tests/test_program.h"

using namespace tapedeck::protocol;
using nlohmann::json;
using tapedeck::Campaign;

namespace {

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  } else if constexpr (is_optional<T>) {
    return a.has_value() == b.has_value() && (!a || same(*a, *b));
  } else if constexpr (requires { a.begin(); } && !std::is_same_v<T, std::string>) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!same<typename T::value_type>(a[i], b[i])) return false;
    return true;
  } else if constexpr (HasFields<T>) {
    return T::fields(
        [&](const auto&... field) { return (true && ... && same(a.*field.member, b.*field.member)); });
  } else {
    return a == b;
  }
}

/// Calls `found(place, optional)` with every value of a filled message, its place in the body ("a/0/b") and
/// whether it may be absent; of a list with its first element alone.
template <class T, class Found>
void walk(const T& value, const std::string& place, const Found& found) {
  if (!place.empty()) found(place, is_optional<T>);
  const auto inside = [&](const std::string& name) { return place.empty() ? name : place + "/" + name; };
  if constexpr (is_optional<T>) {
    walk(*value, place, [&](const std::string& inner, bool optional) {
      if (inner != place) found(inner, optional);
    });
  } else if constexpr (HasFields<T>) {
    T::fields([&](const auto&... field) { (walk(value.*field.member, inside(field.name), found), ...); });
  } else if constexpr (requires { value.push_back({}); } && !std::is_same_v<T, std::string> &&
                       !std::is_same_v<T, std::vector<double>> && !std::is_same_v<T, std::vector<bool>>) {
    walk(value.at(0), inside("0"), found);
  }
}

struct PlaceInBody {
  std::string place;
  bool optional = false;
};

/// One of the messages, as what every test needs of it.
template <class Variant>
struct Case {
  const char* type;
  std::vector<const char*> fields;
  std::vector<PlaceInBody> places;
  Variant plain, filled;
  bool (*same)(const Variant& a, const Variant& b);  ///< whether both are this message, with equal fields
};
template <class Variant, class Body>
Case<Variant> case_of() {
  Body filled;
  Filler().fill(filled);
  std::vector<PlaceInBody> places;
  walk(filled, "", [&](const std::string& place, bool optional) { places.push_back({place, optional}); });
  return {Body::type,
          Body::fields([](const auto&... field) { return std::vector<const char*>{field.name...}; }),
          std::move(places),
          Body{},
          std::move(filled),
          [](const Variant& a, const Variant& b) {
            const auto *x = get_if<Body>(&a), *y = get_if<Body>(&b);
            return x && y && same(*x, *y);
          }};
}
template <class... Types>
std::vector<Case<OneOf<Types...>>> cases_of(const OneOf<Types...>*) {
  return {case_of<OneOf<Types...>, Types>()...};
}
template <class Variant>
std::vector<Case<Variant>> cases() {
  return cases_of(static_cast<const Variant*>(nullptr));
}

template <class Variant>
auto decoded(std::span<const std::uint8_t> bytes) {
  if constexpr (std::is_same_v<Variant, Request>)
    return decode_request(bytes);
  else
    return decode_reply(bytes);
}
template <class Variant>
Variant decode(std::span<const std::uint8_t> bytes) {
  return decoded<Variant>(bytes).message;
}

/// What decoding says; "" where it accepts.
template <class Variant = Request>
std::string refusal(const Bytes& bytes) {
  try {
    decode<Variant>(bytes);
    return {};
  } catch (const DecodeError& error) {
    return error.what();
  }
}

/// Each message as it is by default, where what is optional is absent, and with all that it can have.
template <class Variant>
std::vector<Bytes> all_messages() {
  std::vector<Bytes> all;
  for (const Case<Variant>& one : cases<Variant>()) {
    all.push_back(encode(41, one.plain));
    all.push_back(encode(41, one.filled));
  }
  return all;
}

/// "a/0/b" as refusals spell it.
std::string spelled(const std::string& place) {
  std::string text;
  std::stringstream parts(place);
  for (std::string part; std::getline(parts, part, '/');) {
    if (std::isdigit(static_cast<unsigned char>(part[0])))
      text += "[" + part + "]";
    else
      text += (text.empty() ? "" : ".") + part;
  }
  return text;
}

json tile_request() {
  return json::from_cbor(encode(7, Request(GetTile{})));
}

}  // namespace

class TestCodec : public QObject {
  Q_OBJECT

  template <class Variant>
  void round_trip() {
    for (const Case<Variant>& one : cases<Variant>()) {
      const auto back = decoded<Variant>(encode(99, one.filled));
      QCOMPARE(back.request, std::uint64_t{99});
      QCOMPARE(type_name(back.message), std::string(one.type));
      QVERIFY2(one.same(back.message, one.filled), one.type);
      QVERIFY2(one.same(back.message, one.plain) == one.fields.empty(), one.type);
      QVERIFY2(one.same(decode<Variant>(encode(1, one.plain)), one.plain), one.type);
    }
  }

  template <class Variant>
  void survives_truncation() {
    for (const Bytes& whole : all_messages<Variant>())
      for (std::size_t size = 0; size < whole.size(); ++size)
        QVERIFY(!refusal<Variant>(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)))
                     .empty());
  }

  /// Whatever the bytes: a DecodeError, or a message that encodes and decodes to itself.
  template <class Variant>
  void survives_mutation(const Campaign& mutations) {
    auto random = mutations.random();
    std::uint64_t refused = 0, rounds = 0;
    for (const Bytes& whole : all_messages<Variant>()) {
      for (std::uint64_t i = 0; i < mutations.count(); ++i, ++rounds) {
        Bytes bytes = whole;
        for (unsigned k = 0; k <= random() % 3; ++k) {
          const std::size_t at = random() % bytes.size();
          switch (random() % 4) {
            case 0:
              bytes[at] = static_cast<std::uint8_t>(random());
              break;
            case 1:
              bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1u << random() % 8));
              break;
            case 2:
              bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                           static_cast<std::uint8_t>(random()));
              break;
            default:
              if (bytes.size() > 1) bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
          }
        }
        try {
          const Variant message = decode<Variant>(bytes);
          const Bytes again = encode(41, message);
          QVERIFY(encode(41, decode<Variant>(again)) == again);
        } catch (const DecodeError& error) {
          ++refused;
          QVERIFY(!std::string(error.what()).empty());
        }
      }
    }
    QVERIFY2(refused > rounds / 10, qPrintable(QString("%1 of %2 were refused").arg(refused).arg(rounds)));
  }

  /// Every value of every message, one at a time: null is taken where the field is optional, and nowhere
  /// else; what is of a wrong type is refused, both with the value's place.
  template <class Variant>
  void nulls_and_wrong_types() {
    for (const Case<Variant>& one : cases<Variant>()) {
      const json whole = json::from_cbor(encode(41, one.filled));
      for (const auto& [place, optional] : one.places) {
        const json::json_pointer pointer("/body/" + place);
        const std::string named = std::string(one.type) + ": field '" + spelled(place) + "' must be ";
        json changed = whole;
        changed[pointer] = nullptr;
        const std::string refused = refusal<Variant>(json::to_cbor(changed));
        if (optional) {
          QCOMPARE(refused, std::string());
          const Variant back = decode<Variant>(json::to_cbor(changed));
          QVERIFY2(!one.same(back, one.filled), place.c_str());
          QVERIFY2(json::from_cbor(encode(41, back)) == changed, place.c_str());
        } else {
          QVERIFY2(refused.starts_with(named) && refused.ends_with(", not null"), refused.c_str());
        }
        const bool is_map = whole[pointer].is_object();
        changed[pointer] = is_map ? json(true) : json::object();
        const std::string wrong = refusal<Variant>(json::to_cbor(changed));
        QVERIFY2(wrong.starts_with(named) && wrong.ends_with(is_map ? ", not boolean" : ", not object"),
                 (std::string(one.type) + "/" + place + ": " + wrong).c_str());
      }
    }
  }

 private slots:
  void every_request_comes_back_as_it_was() { round_trip<Request>(); }
  void every_reply_comes_back_as_it_was() { round_trip<Reply>(); }
  void a_truncated_request_is_refused() { survives_truncation<Request>(); }
  void a_truncated_reply_is_refused() { survives_truncation<Reply>(); }
  void a_mutated_request_is_refused_or_whole() {
    survives_mutation<Request>({"codec_requests", "mutations of each request", 300, 3'000,
                                "further random changes of the same kinds"});
  }
  void a_mutated_reply_is_refused_or_whole() {
    survives_mutation<Reply>(
        {"codec_replies", "mutations of each reply", 300, 3'000, "further random changes of the same kinds"});
  }

  void null_means_absent_in_requests_where_that_is_allowed() { nulls_and_wrong_types<Request>(); }
  void null_means_absent_in_replies_where_that_is_allowed() { nulls_and_wrong_types<Reply>(); }

  void what_is_absent_is_null() {
    SetOptions options;
    options.recording = false;
    const json body = json::from_cbor(encode(1, Request(options)))["body"];
    QCOMPARE(body["recording"], json(false));
    QVERIFY(body["budget_bytes"].is_null());
    QCOMPARE(body.size(), field_count<SetOptions>);
    const auto back = get<SetOptions>(decode_request(encode(1, Request(options))).message);
    QCOMPARE(back.recording, std::optional(false));
    QVERIFY(!back.budget_bytes);
  }

  void an_optional_field_that_is_missing_is_refused() {
    json message = json::from_cbor(encode(1, Request(SetOptions{})));
    message["body"].erase("recording");
    QCOMPARE(refusal(json::to_cbor(message)), "set_options: field 'recording' is missing");
    message["body"]["recording"] = 1;
    QCOMPARE(refusal(json::to_cbor(message)),
             "set_options: field 'recording' must be true or false, not number");
  }

  void doubles_arrive_bit_for_bit() {
    Tile tile;
    tile.values = {0.0,
                   -0.0,
                   std::numeric_limits<double>::infinity(),
                   -std::numeric_limits<double>::infinity(),
                   std::bit_cast<double>(0x7ff8dead'beef0001ull),
                   std::numeric_limits<double>::denorm_min(),
                   std::numeric_limits<double>::max(),
                   0.1};
    QVERIFY(same(get<Tile>(decode_reply(encode(1, Reply(tile))).message), tile));
    for (double value :
         {0.0, -0.0, 0.1, 1e300, std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::denorm_min()}) {
      Statistics statistics;
      statistics.minimum = value;
      const auto back = get<Statistics>(decode_reply(encode(1, Reply(statistics))).message);
      QVERIFY(same(back.minimum, std::optional(value)));
    }
    Statistics none;
    none.mean = std::nan("");
    QVERIFY(std::isnan(get<Statistics>(decode_reply(encode(1, Reply(none))).message).mean.value()));
  }

  void a_tile_takes_little_more_than_its_doubles() {
    Tile tile;
    tile.values.assign(10000, 0.1);
    QVERIFY(encode(1, Reply(tile)).size() < 10000 * sizeof(double) + 400);
  }

  void refusals_name_message_and_field() {
    json message = tile_request();
    message["body"].erase("rows");
    QCOMPARE(refusal(json::to_cbor(message)), "get_tile: field 'rows' is missing");
    message = tile_request();
    message["body"]["rows"] = "many";
    QCOMPARE(refusal(json::to_cbor(message)), "get_tile: field 'rows' must be an integer, not string");
    message = tile_request();
    message["body"]["colour"] = 3;
    QCOMPARE(refusal(json::to_cbor(message)), "get_tile: field 'colour' is unknown");
    message = tile_request();
    message["body"]["slice"] = {0, true};
    QCOMPARE(refusal(json::to_cbor(message)), "get_tile: field 'slice[1]' must be an integer, not boolean");
    message = tile_request();
    message["type"] = "get_lunch";
    QCOMPARE(refusal(json::to_cbor(message)), "no message is called 'get_lunch'");
    message["type"] = 5;
    QCOMPARE(refusal(json::to_cbor(message)), "message: field 'type' must be a string, not number");
    message = tile_request();
    message["extra"] = 1;
    QCOMPARE(refusal(json::to_cbor(message)), "message: has fields besides type, request and body");
    message = tile_request();
    message["body"] = {1, 2};
    QCOMPARE(refusal(json::to_cbor(message)), "get_tile: field 'body' must be a map, not array");
    QCOMPARE(refusal(json::to_cbor(json(3))), "no message: a map is due, not number");
  }

  void values_out_of_range_are_refused_with_the_value() {
    json message = json::from_cbor(encode(1, Request(GetRecords{})));
    message["body"]["count"] = 5000000000;
    QCOMPARE(refusal(json::to_cbor(message)),
             "get_records: field 'count' is out of range: 5000000000 (0 to 4294967295)");
    message["body"]["count"] = -1;
    QCOMPARE(refusal(json::to_cbor(message)),
             "get_records: field 'count' is out of range: -1 (0 to 4294967295)");
    message = tile_request();
    message["body"]["row"] = std::numeric_limits<std::uint64_t>::max();
    QCOMPARE(refusal(json::to_cbor(message)),
             "get_tile: field 'row' is out of range: 18446744073709551615 (-9223372036854775808 to "
             "9223372036854775807)");
    message = json::from_cbor(encode(1, Request(SetGate{})));
    message["body"]["command"] = "fly";
    QCOMPARE(refusal(json::to_cbor(message)), "set_gate: field 'command' has no value 'fly'");
    json tile = json::from_cbor(encode(1, Reply(Tile{})));
    tile["body"]["values"] = json::binary({1, 2, 3});
    QCOMPARE(refusal<Reply>(json::to_cbor(tile)),
             "tile: field 'values' has 3 bytes, which is not a multiple of 8");
  }

  void nested_fields_are_named_with_their_place() {
    Records records;
    records.records.resize(2);
    records.records[1].inputs.resize(3);
    json message = json::from_cbor(encode(1, Reply(records)));
    message["body"]["records"][1]["inputs"][2]["shape"] = 1.5;
    QCOMPARE(refusal<Reply>(json::to_cbor(message)),
             "records: field 'records[1].inputs[2].shape' must be an array, not number");
  }

  void a_request_is_no_reply() {
    QCOMPARE(refusal<Reply>(encode(1, Request(Hello{}))), "no message is called 'hello'");
  }

  void lies_about_lengths_are_refused_at_once() {
    const Bytes huge_array{0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const Bytes huge_text{0x7b, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 'a'};
    const Bytes huge_map{0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const Bytes huge_binary{0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    for (const Bytes& bytes : {huge_array, huge_text, huge_map, huge_binary})
      QCOMPARE(refusal(bytes), "no message: a length is longer than the message at byte 0");
  }

  void deep_nesting_is_refused_without_recursion() {
    for (const std::uint8_t opening : {0x81, 0x9f, 0x5f, 0x7f, 0xbf, 0xc0}) {
      const Bytes bytes(3'000'000, opening);
      const std::string reason = refusal(bytes);
      QVERIFY2(!reason.empty() && reason.size() < 200, reason.c_str());
    }
    QCOMPARE(refusal(Bytes(100, 0x81)), "no message: nested too deep at byte 16");
  }

  void keys_that_come_twice_are_refused() {
    // {"a": 1, "a": 2}
    QCOMPARE(refusal({0xa2, 0x61, 'a', 1, 0x61, 'a', 2}), "no message: keys are out of order at byte 4");
    QCOMPARE(refusal({0xa1, 1, 2}), "no message: a key is not a string at byte 1");
    QCOMPARE(refusal({0xa1, 0xf5, 2}), "no message: a key is not a string at byte 1");
    QCOMPARE(refusal({0x01, 0x02}), "no message: 1 bytes follow the message, at byte 1");
    QCOMPARE(refusal({}), "no message: the bytes end too early at byte 0");
  }

  void null_is_the_one_simple_value_beside_truth_and_numbers() {
    QCOMPARE(refusal({0xf6}), "no message: a map is due, not null");
    QCOMPARE(refusal({0xf7}), "no message: a value of no known kind at byte 0");
    QCOMPARE(refusal({0xa1, 0xf6, 2}), "no message: a key is not a string at byte 1");
  }

  void a_record_as_json_has_the_same_names() {
    Record record;
    record.number = 3;
    record.kind = RecordKind::vjp;
    record.op = "mat\"mul";
    record.inputs.resize(1);
    record.inputs[0].shape = {2, 3};
    const std::string text = to_json(record);
    QVERIFY(text.find('\n') == std::string::npos);
    const json back = json::parse(text);
    QCOMPARE(back["number"].get<int>(), 3);
    QCOMPARE(back["kind"].get<std::string>(), "vjp");
    QCOMPARE(back["state"].get<std::string>(), "done");
    QCOMPARE(back["op"].get<std::string>(), "mat\"mul");
    QCOMPARE(back["inputs"][0]["shape"], json({2, 3}));
    QCOMPARE(back.size(), field_count<Record>);
    record.file = "bad\xff";
    QVERIFY(json::accept(to_json(record)));
  }

  void the_readme_names_every_message_and_field() {
    std::ifstream file(TAPEDECK_SOURCE_DIR "/engine/protocol/README.md");
    std::stringstream text;
    text << file.rdbuf();
    const std::string readme = text.str();
    const auto look = [&](const auto& messages) {
      for (const auto& one : messages) {
        QVERIFY2(readme.find("`" + std::string(one.type) + "`") != std::string::npos, one.type);
        for (const char* name : one.fields)
          QVERIFY2(readme.find("`" + std::string(name) + "`") != std::string::npos,
                   (std::string(one.type) + "." + name).c_str());
      }
    };
    look(cases<Request>());
    look(cases<Reply>());
    QVERIFY(readme.find("version " + std::to_string(version)) != std::string::npos);
  }
};

TAPEDECK_TEST(TestCodec)
#include "tst_codec.moc"
