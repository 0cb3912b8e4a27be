// The text of a Python value in a table.
#pragma once

#include <QString>
#include <QVariant>

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

/// In the order in which tables show them.
enum class ValueColumn { name, value, type, shape, dtype, device, bytes, histogram };

/// What the text of a value ends with, where it is not of the moment that its scope is of: " · now".
QString asOfMark(const QString& asOf);

QString valueText(const protocol::ValueInfo& value, ValueColumn column);
/// Numbers where the column has numbers, so that 9 comes before 10; a text without upper case else.
QVariant valueSortKey(const protocol::ValueInfo& value, ValueColumn column);
/// All of it, for a tooltip.
QString valueTip(const protocol::ValueInfo& value);
/// The panels can show its numbers: a tensor, a variable, or an array of a dtype that tensors have.
bool showable(const protocol::ValueInfo& value);
QString bytesText(quint64 bytes);  ///< "392 kB"

}  // namespace tapedeck::inspector
