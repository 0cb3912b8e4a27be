// A profile in words.
#pragma once

#include <QString>
#include <functional>

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

/// "cell [3]": the cell's name when it made the record.
using CellName = std::function<QString(const QString& id, quint64 record)>;

/// "▼": tells an op's role apart where colours alone would not.
QString roleGlyph(protocol::ProfileRole role);
QString roleText(protocol::ProfileRole role);  ///< "forward", "optimiser", …
QString boundText(protocol::ProfileBound bound);

QString shareText(double share);                               ///< "71 %", "0.4 %"
QString rateText(double per_nanosecond, const QString& unit);  ///< "412 GFLOP/s", "1.2 MFLOP/s"
QString amountText(double amount, const QString& unit);        ///< "2.1 GFLOP", "512 kB"

/// "cell 3 line 12", "train.py line 4".
QString placeText(const std::string& cell, const std::string& file, std::uint32_t line, quint64 record,
                  const CellName& name);
/// "between lines 10 and 12 of cell 3"; with `cell` the words leave it out.
QString gapText(const protocol::ProfileGap& gap, const CellName& name, const std::string& cell = {});

/// The summary of a span in sentences. `whole`: what it is of, "cell [3]", "the selection". Steps are counted
/// from the begin of their run.
QString profileSentence(const protocol::Profile& profile, const QString& whole, const CellName& name,
                        const std::string& cell, bool of_several_runs = false);

}  // namespace tapedeck::inspector
