// How roles of ops look in the pictures of Time.
#pragma once

#include "engine/protocol/messages.h"
#include "inspector/ui/canvas/canvas_painter.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

inline const Tint& roleTint(const Theme& theme, protocol::ProfileRole role) {
  switch (role) {
    case protocol::ProfileRole::forward:
      return theme.forward;
    case protocol::ProfileRole::backward:
      return theme.backward;
    case protocol::ProfileRole::update:
      return theme.variable;
    case protocol::ProfileRole::custom:
      return theme.custom;
    case protocol::ProfileRole::python:
      break;
  }
  return theme.constant;
}

}  // namespace tapedeck::inspector
