// A value of one of many types. std::variant's own functions grow with the number of types, in every file
// that uses them: with the protocol's fifty messages that was 14 seconds and 20 MB for a file that copies a
// request and a reply.
#pragma once

#include <any>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tapedeck::protocol {

/// Holds a value of one of `Types`, initially a default value of the first; empty after a move.
template <class... Types>
class OneOf {
 public:
  using First = std::tuple_element_t<0, std::tuple<Types...>>;
  template <class T>
  static constexpr bool has = (std::is_same_v<T, Types> || ...);

  OneOf() : value_(First()) {}
  template <class T>
  requires has<std::remove_cvref_t<T>> OneOf(T&& value)  // implicitly, as any message is a Request or Reply
      : index_(index_of<std::remove_cvref_t<T>>()), value_(std::forward<T>(value)) {}

  /// nullptr: it holds another type.
  template <class T>
  const T* get_if() const {
    return index_ == index_of<T>() ? std::any_cast<T>(&value_) : nullptr;
  }
  template <class T>
  T* get_if() {
    return index_ == index_of<T>() ? std::any_cast<T>(&value_) : nullptr;
  }
  /// What `visitor`, which takes a const reference to any of the types, returns for the value.
  template <class Visitor>
  auto visit(Visitor&& visitor) const {
    using Result = std::invoke_result_t<Visitor&, const First&>;
    static constexpr std::array<Result (*)(Visitor&, const std::any&), sizeof...(Types)> calls{
        [](Visitor& called, const std::any& value) -> Result {
          return called(*std::any_cast<Types>(&value));
        }...};
    if (!value_.has_value()) throw std::logic_error("the value was moved away");
    return calls[index_](visitor, value_);
  }

 private:
  template <class T>
  requires has<T>
  static constexpr std::size_t index_of() {
    std::size_t index = 0;
    return ((std::is_same_v<T, Types> || (++index, false)) || ...) ? index : sizeof...(Types);
  }

  std::size_t index_ = 0;
  std::any value_;
};

// By the names of std::variant's functions.

template <class T, class... Types>
const T* get_if(const OneOf<Types...>* one) {
  return one->template get_if<T>();
}
template <class T, class... Types>
T* get_if(OneOf<Types...>* one) {
  return one->template get_if<T>();
}
template <class T, class... Types>
bool holds_alternative(const OneOf<Types...>& one) {
  return one.template get_if<T>() != nullptr;
}
/// Throws std::logic_error where it holds another type.
template <class T, class... Types>
const T& get(const OneOf<Types...>& one) {
  const T* value = one.template get_if<T>();
  if (!value) throw std::logic_error("it holds a value of another type");
  return *value;
}
template <class Visitor, class... Types>
auto visit(Visitor&& visitor, const OneOf<Types...>& one) {
  return one.visit(visitor);
}

}  // namespace tapedeck::protocol
