// The results of a branch as text.
#pragma once

#include <QKeySequence>
#include <QString>

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

/// "3.2 → 4.1"; of several elements their norms: "‖3.2‖ → ‖4.1‖".
QString movementText(const protocol::Moved& moved);
/// "12 %", "8,400 %"; where there is no share: "from 0", "not finite".
QString shareText(const protocol::Moved& moved);
/// What of the op stays as recorded: "learning_rate", "decision".
QString readSubject(const protocol::ReadUse& use);
/// "0.0832", where the last op has another: "0.0832 … 0.0791".
QString readValues(const protocol::ReadUse& use);
/// Whether it depends on what Python read: "yes: value was read", "maybe: appeared later".
QString readLink(const protocol::ReadUse& use);
/// What that means, a sentence.
QString readSentence(const protocol::ReadUse& use);
/// The branch's results, where its curves are, and what of it stays as recorded, a line each. `curves`:
/// the key that shows them.
QString answerText(const protocol::Branched& answer, const QKeySequence& curves);

}  // namespace tapedeck::inspector
