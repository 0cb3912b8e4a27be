// A message's field list: for each field its name on the wire and its member. `fields(visit)` calls `visit`
// with all of them at once, and returns what it does. It is a template, by default of the message itself, so
// that a file that includes a message compiles its list only where it uses it.
#pragma once

#include <cstddef>

namespace tapedeck::protocol {

template <class Struct, class Member>
struct Field {
  const char* name;
  Member Struct::*member;
};
template <class Struct, class Member>
constexpr Field<Struct, Member> field(const char* name, Member Struct::*member) {
  return {name, member};
}

struct CountFields {
  template <class... Fields>
  constexpr std::size_t operator()(const Fields&...) const {
    return sizeof...(Fields);
  }
};
template <class T>
concept HasFields = requires {
  T::fields(CountFields{});
};
template <HasFields T>
constexpr std::size_t field_count = T::fields(CountFields{});

}  // namespace tapedeck::protocol
