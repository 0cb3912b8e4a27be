// Hits of a search in outputs.
#pragma once

#include <QRect>

#include "app/notebook/view/text_hits.h"

namespace tapedeck::app {

class Block;
class StaticText;

/// Selects the words at their place or, where the text differs from the text that was searched, the nearest
/// ones. Returns the rectangle of their first line in the widget; empty: they are not there.
QRect selectWords(StaticText& shown, const TextHit& hit, const QString& words);

/// In an output of any kind, unfolding and scrolling it as needed. `byte`: where the hit begins in what was
/// printed. Returns the place of its first line in the block; empty: the output shows itself in another form.
QRect showHitIn(Block& output, const TextHit& hit, const QString& words, std::size_t byte);
/// Clears the selection of hits.
void endHitIn(Block& output);

}  // namespace tapedeck::app
