// How the views write shapes, counts, times and kinds, so that all write them alike.
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

QString shapeText(const std::vector<std::int64_t>& shape);  ///< "784×196"; "scalar" for no axes
QString countText(quint64 count);                           ///< "1,204"
/// "1st", "1,203rd": steps of a run are counted so, because the program's own `step` may begin with 0.
QString ordinalText(quint64 place);
QString notFetchedText(quint64 record);    ///< why a record of a dead session shows nothing
QString durationText(qint64 nanoseconds);  ///< "350 ns", "12.5 µs", "1.20 s"
/// How long the op's work took; "…" where a GPU has not reported it yet, "?" where it never will.
QString workText(const protocol::Record& record);
/// The same as a sentence that says when, and what the host did; empty for the host's ops.
QString workSentence(const protocol::Record& record);
/// forward ▼, backward ▲, custom ◆, playback ◀◀, copy ⇄, call of a graph function ƒ, its parts ↳
QString kindGlyph(const protocol::Record& record);
/// A call of a graph function, not a part of one.
bool isCall(const protocol::Record& record);
/// The device to which the op copies a tensor, and why, where the program did not ask for it; empty for
/// others.
struct DeviceCopy {
  QString device, reason;
};
DeviceCopy deviceCopy(const protocol::Record& record);
/// "matmul"; "copy to /gpu:0"; "sum of gradients"
QString opText(const protocol::Record& record);
/// What the program wrote where it called the op, on one line: "F.relu(x)"; empty where that is not known.
QString callText(const protocol::Record& record);
/// What the gradient is for: its name, "source 2 of 3", or "the source".
QString sourceText(const protocol::CompleteGradient& complete);
QString deviceText(const std::string& device);     ///< "/gpu:0"; empty for the CPU, where most is
QString kindText(const protocol::Record& record);  ///< "forward op", "VJP (custom gradient)", …
QString tensorText(const protocol::TensorInfo&
                       tensor);  ///< "W:0 float32 784×196 on /gpu:0", with its preview where there is one
/// Number of elements; a shape with an unknown or absurd size gives -1.
std::int64_t elementCount(const std::vector<std::int64_t>& shape);

}  // namespace tapedeck::inspector
