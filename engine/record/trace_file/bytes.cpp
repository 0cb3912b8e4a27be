#include "engine/record/trace_file/bytes.h"

#include <bit>
#include <cstring>

namespace tapedeck::trace_file {

static_assert(std::endian::native == std::endian::little, "pages are written as the machine has numbers");

std::uint64_t checksum(std::span<const std::uint8_t> bytes, std::uint64_t place) {
  constexpr std::uint64_t prime = 0x9e3779b97f4a7c15ull;
  std::uint64_t sum = (bytes.size() + place * 31) * prime;
  const auto add = [&sum](std::uint64_t word) {
    sum = (sum ^ word) * prime;
    sum ^= sum >> 29;
  };
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    add(word);
  }
  std::uint64_t last = 0;
  if (at < bytes.size()) std::memcpy(&last, bytes.data() + at, bytes.size() - at);
  add(last);
  return sum;
}

std::uint64_t page_checksum(std::string_view section, std::uint64_t number,
                            std::span<const std::uint8_t> bytes) {
  const auto* letters = reinterpret_cast<const std::uint8_t*>(section.data());
  return checksum(bytes, checksum({letters, section.size()}, number));
}

std::uint64_t part_checksum(std::uint64_t tensor, std::uint64_t part, std::span<const std::uint8_t> bytes) {
  return checksum(bytes, checksum({}, tensor) + part);
}

std::uint64_t index_checksum(const PageSums& pages) {
  PageWriter all;
  for (const auto& [section, sums] : pages)
    for (const auto& [number, sum] : sums) {
      all.text(section);
      all.number(number);
      all.number(sum);
    }
  return checksum(all.bytes(), 0);
}

void PageWriter::real(double value) {
  raw(&value, sizeof(value));
}

std::uint64_t PageReader::number_up_to(std::uint64_t most, const char* what) {
  const std::uint64_t value = number();
  if (value > most)
    throw DamagedPage(std::string(what) + " is " + std::to_string(value) + ", the maximum is " +
                      std::to_string(most));
  return value;
}

double PageReader::real() {
  double value = 0;
  std::memcpy(&value, raw(sizeof(value)).data(), sizeof(value));
  return value;
}

std::string_view PageReader::raw(std::size_t size) {
  if (size > left()) too_short();
  const std::string_view part(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
  at_ += size;
  return part;
}

void PageReader::end() const {
  if (left() > 0) throw DamagedPage(std::to_string(left()) + " bytes follow its end");
}

void PageReader::too_short() {
  throw DamagedPage("it ends too early");
}

}  // namespace tapedeck::trace_file
