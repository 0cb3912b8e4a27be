// A message's field list: for each field its name on the wire and its member. Its fields() is a template, of
// the message itself where nobody says otherwise: so the tuple is made where somebody asks for it, and not by
// all who include the message.
#pragma once

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

}  // namespace tapedeck::protocol
