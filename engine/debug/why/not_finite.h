// NaN and infinity: where they are in a tensor, and what made them, in words.
#pragma once

#include "engine/debug/why/elements.h"

namespace tapedeck::debug {

enum class NotFinite : std::uint8_t { nan, infinite };

const char* kind_text(NotFinite kind);

/// The first element of that kind, of all or of those at `places`.
std::optional<std::int64_t> first_of(const Tensor& tensor, NotFinite kind, const ReadPlaces& places);

/// How many elements are NaN or infinite.
std::uint64_t count_not_finite(const Tensor& tensor);

/// `count` places of elements that are NaN or largest without their sign, of all or of those at `places`.
Places farthest_from_zero(const Tensor& tensor, const ReadPlaces& places, std::int64_t count);

/// A text of the facts of an op (ops/core/facts.h), with its name and a dtype put in.
std::string fact_text(const char* text, const OpDef& op, DType dtype);

/// What happened, from the op's facts and its operands at one element: "0 / 0 is undefined"; empty
/// where these say nothing.
std::string what_happened(const OpDef& op, const std::vector<double>& x, NotFinite kind, DType dtype);

/// Why Σₖ aₖ·bₖ of these elements, none of them NaN, is NaN.
const char* why_products_are_nan(const Tensor& a, const Places& of_a, const Tensor& b, const Places& of_b);

/// "log(0.0)", "0.0 / 0.0"; empty where the op read several elements of an input.
std::string call_text(const RecordView& record, std::span<const Tensor> inputs,
                      const std::vector<ReadPlaces>& places);

}  // namespace tapedeck::debug
