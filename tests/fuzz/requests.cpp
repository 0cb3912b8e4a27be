// Requests of the debug protocol, one after the other, to a process that serves a trace file. Each is what a
// message of 2 bytes of length (little-endian) and that many bytes says.
#include "engine/debug/answers.h"
#include "engine/protocol/codec.h"
#include "engine/record/trace_file/open.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck;

namespace {

void answer(debug::Answers& answers, const protocol::Request& request) {
  // Would write files, and measure the machine for seconds.
  if (protocol::holds_alternative<protocol::SaveTrace>(request)) return;
  if (protocol::holds_alternative<protocol::GetPeaks>(request)) return;
  const CancelFlag cancel{false};
  auto given = answers.reply_or_work(request);
  const protocol::Reply reply =
      std::holds_alternative<protocol::Reply>(given)
          ? std::get<protocol::Reply>(given)
          : std::get<debug::Jobs::Work>(given)(cancel, [](const protocol::Progress&) {});
  const protocol::Bytes bytes = protocol::encode(1, reply);
  fuzz::expect(protocol::encode(1, protocol::decode_reply(bytes).message) == bytes, "a reply can be decoded");
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  const auto file = trace_file::open(TAPEDECK_FUZZ_SEEDS "/whole.tapetrace");
  debug::Answers answers(*file, ReplayLimits{std::uint64_t{64} << 20});
  for (int asked = 0; asked < 4 && bytes.size() > 2; ++asked) {
    const std::size_t length = std::min<std::size_t>(bytes[0] | bytes[1] << 8, bytes.size() - 2);
    may_refuse<protocol::DecodeError>(
        [&] { answer(answers, protocol::decode_request(bytes.subspan(2, length)).message); });
    bytes = bytes.subspan(2 + length);
  }
}
