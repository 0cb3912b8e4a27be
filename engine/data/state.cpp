#include "engine/data/state.h"

#include <limits>

#include "engine/data/crc32c.h"
#include "engine/data/stages.h"

namespace tapedeck::data {

namespace {

std::int64_t mark(std::string_view stage) {
  return crc32c(stage);
}

}  // namespace

void StateWriter::begin(std::string_view stage) {
  number(mark(stage));
}

void StateWriter::text(std::string_view value) {
  number(static_cast<std::int64_t>(value.size()));
  for (const char byte : value) number(static_cast<unsigned char>(byte));
}

void StateWriter::element(const Element& element) {
  number(static_cast<std::int64_t>(element.size()));
  for (const Component& component : element) {
    number(component.dataset ? 1 : 0);
    if (!component.dataset)
      tensor(component.tensor);
    else if (!component.dataset->save_elements(*this))
      fail<FailedPreconditionError>("an iterator cannot be saved while it holds a data set that ",
                                    component.dataset->name(), " made");
  }
}

void StateReader::refuse(const std::string& what) const {
  fail<InvalidArgumentError>("the saved state of an iterator does not belong to this data set: ", what);
}

void StateReader::begin(std::string_view stage) {
  if (number() != mark(stage)) refuse("a different stage in place of '" + std::string(stage) + "'");
}

std::int64_t StateReader::number() {
  if (numbers_read_ >= state_.numbers.size()) refuse("it ends too early");
  return state_.numbers[numbers_read_++];
}

std::int64_t StateReader::number(std::int64_t most) {
  const std::int64_t value = number();
  if (value < 0 || value > most)
    refuse("a " + std::to_string(value) + " where 0 to " + std::to_string(most) + " can be");
  return value;
}

std::string StateReader::text() {
  std::string value(static_cast<std::size_t>(number(static_cast<std::int64_t>(state_.numbers.size()))), '\0');
  for (char& byte : value) byte = static_cast<char>(number(255));
  return value;
}

Tensor StateReader::tensor() {
  if (tensors_read_ >= state_.tensors.size()) refuse("it has too few tensors");
  return state_.tensors[tensors_read_++];
}

Element StateReader::element() {
  const auto size = static_cast<std::size_t>(number(static_cast<std::int64_t>(state_.numbers.size())));
  Element element;
  for (std::size_t i = 0; i < size; ++i) {
    if (number(1) == 1)
      element.emplace_back(from_elements(elements()));
    else
      element.emplace_back(tensor());
  }
  return element;
}

std::vector<Element> StateReader::elements() {
  const auto size = static_cast<std::size_t>(number(static_cast<std::int64_t>(state_.numbers.size())));
  std::vector<Element> all;
  for (std::size_t i = 0; i < size; ++i) all.push_back(element());
  return all;
}

void StateReader::end() const {
  if (numbers_read_ != state_.numbers.size() || tensors_read_ != state_.tensors.size())
    refuse("it holds more");
}

}  // namespace tapedeck::data
