// The debug protocol's messages: data only. Each is one struct with one field list; names, encoding and
// decoding come from that list (codec.h). README.md beside this file describes the conversation.
#pragma once

#include <variant>

#include "engine/protocol/frames.h"
#include "engine/protocol/replies.h"
#include "engine/protocol/requests.h"

namespace tapedeck::protocol {

using Request = std::variant<Hello, GetStatus, GetRecords, GetTape, GetTile, GetStatistics, SetGate,
                             SetOptions, Pin, GetSeries, FindRecords, GetFrames, GetVariables, Evaluate,
                             Assign, Complete, HoldValue, SummarizeValue, Cancel>;
using Reply =
    std::variant<Welcome, Refused, Status, Records, TapeRecords, Tile, Statistics, Series, FoundRecords,
                 Frames, Variables, Evaluation, Completions, HeldValue, Progress, Failure>;

}  // namespace tapedeck::protocol
