// Test rows of ops on strings. tests/python/math/test_strings.py compares the results.
#pragma once

#include "engine/tensor/strings.h"
#include "tests/engine/ops/rows/row_makers.h"

namespace tapedeck::testing {

inline Tensor strings(const std::vector<std::string>& values, const Shape& shape) {
  return string_tensor(shape, values);
}

inline Row string_row(const std::string& op, const Tensor& input, std::vector<Attribute> attributes = {}) {
  return {.op = op,
          .calls = {[=](Random&) {
            return Call{{input}, attributes};
          }},
          .reference = {},
          .tested_in = "tests/python/math/test_strings.py"};
}

inline Rows string_rows() {
  const Tensor words = strings({"Tape", "", "d\xc3\xa9j\xc3\xa0 vu", " deck\n", "a,b,,c", "1"}, {2, 3});
  const Tensor numbers = strings({"1", "-2.5", "1e3"}, {3});
  const Tensor scalar = strings({" one two  three"}, {});
  Row join = string_row("string_join", words, {std::string("-")});
  join.calls = {[=](Random&) {
                  return Call{{words, scalar, words}, {std::string("-")}};
                },
                [=](Random&) {
                  return Call{{words}, {std::string()}};
                }};
  Row substr = string_row("substr", words, {std::string("BYTE")});
  substr.calls = {[=](Random&) {
    return Call{{words, integers({0, 0, 1}, {3}), integers({3}, {1})}, {std::string("UTF8_CHAR")}};
  }};
  return {join,
          substr,
          string_row("string_lower", words, {std::string()}),
          string_row("string_upper", words, {std::string()}),
          string_row("string_strip", words),
          string_row("string_length", words, {std::string("UTF8_CHAR")}),
          string_row("regex_replace", words, {std::string("([a-z])"), std::string("<\\1>"), true}),
          string_row("regex_full_match", words, {std::string("[a-z,]*")}),
          string_row("reduce_join", words, {std::int64_t{1}, false, std::string("+")}),
          string_row("string_split", scalar, {std::string(), std::int64_t{-1}}),
          string_row("bytes_split", scalar),
          string_row("as_string", integers({1, -2, 3}, {3}),
                     {std::int64_t{-1}, false, false, std::int64_t{5}, std::string("0")}),
          string_row("string_to_number", numbers, {DType::float64}),
          string_row("string_to_hash_bucket_strong", words, {std::int64_t{10}, list({1, 2})}),
          string_row("encode_base64", words, {true}),
          string_row("decode_base64", strings({"aGVsbG8", "YQ=="}, {2}))};
}

}  // namespace tapedeck::testing
