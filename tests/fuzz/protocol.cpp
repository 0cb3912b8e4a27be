// Messages of the debug protocol: decoded as requests and as replies.
#include "engine/protocol/codec.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck::protocol;

namespace {

template <class Incoming>
void round_trip(fuzz::Bytes bytes, Incoming (*decode)(std::span<const std::uint8_t>)) {
  fuzz::may_refuse<DecodeError>([&] {
    const Incoming incoming = decode(bytes);
    const Bytes again = encode(incoming.request, incoming.message);
    const Incoming back = decode(again);
    fuzz::expect(encode(back.request, back.message) == again, "a message comes back as it was");
  });
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  round_trip(bytes, decode_request);
  round_trip(bytes, decode_reply);
}
