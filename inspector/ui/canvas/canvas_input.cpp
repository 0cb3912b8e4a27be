#include "inspector/ui/canvas/canvas_input.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <limits>

namespace tapedeck::inspector {

namespace {

int imguiKey(int key) {
  switch (key) {
    case Qt::Key_Tab:
    case Qt::Key_Backtab:
      return ImGuiKey_Tab;
    case Qt::Key_Left:
      return ImGuiKey_LeftArrow;
    case Qt::Key_Right:
      return ImGuiKey_RightArrow;
    case Qt::Key_Up:
      return ImGuiKey_UpArrow;
    case Qt::Key_Down:
      return ImGuiKey_DownArrow;
    case Qt::Key_PageUp:
      return ImGuiKey_PageUp;
    case Qt::Key_PageDown:
      return ImGuiKey_PageDown;
    case Qt::Key_Home:
      return ImGuiKey_Home;
    case Qt::Key_End:
      return ImGuiKey_End;
    case Qt::Key_Insert:
      return ImGuiKey_Insert;
    case Qt::Key_Delete:
      return ImGuiKey_Delete;
    case Qt::Key_Backspace:
      return ImGuiKey_Backspace;
    case Qt::Key_Space:
      return ImGuiKey_Space;
    case Qt::Key_Return:
      return ImGuiKey_Enter;
    case Qt::Key_Enter:
      return ImGuiKey_KeyPadEnter;
    case Qt::Key_Escape:
      return ImGuiKey_Escape;
    case Qt::Key_A:
      return ImGuiKey_A;
    case Qt::Key_C:
      return ImGuiKey_C;
    case Qt::Key_V:
      return ImGuiKey_V;
    case Qt::Key_X:
      return ImGuiKey_X;
    case Qt::Key_Y:
      return ImGuiKey_Y;
    case Qt::Key_Z:
      return ImGuiKey_Z;
    default:
      return -1;
  }
}

void setModifiers(ImGuiIO& io, Qt::KeyboardModifiers modifiers) {
  io.KeyCtrl = modifiers.testFlag(Qt::ControlModifier);
  io.KeyShift = modifiers.testFlag(Qt::ShiftModifier);
  io.KeyAlt = modifiers.testFlag(Qt::AltModifier);
  io.KeySuper = modifiers.testFlag(Qt::MetaModifier);
}

void feedMouse(ImGuiIO& io, const QMouseEvent& event) {
  io.MousePos = {static_cast<float>(event.position().x()), static_cast<float>(event.position().y())};
  const Qt::MouseButton buttons[] = {Qt::LeftButton, Qt::RightButton, Qt::MiddleButton, Qt::BackButton,
                                     Qt::ForwardButton};
  for (std::size_t i = 0; i < std::size(buttons); ++i) io.MouseDown[i] = event.buttons().testFlag(buttons[i]);
  setModifiers(io, event.modifiers());
}

void feedWheel(ImGuiIO& io, const QWheelEvent& event) {
  io.MousePos = {static_cast<float>(event.position().x()), static_cast<float>(event.position().y())};
  // Touchpads and fine wheels report parts of a notch (120); ImGui takes the fraction.
  io.MouseWheel += static_cast<float>(event.angleDelta().y()) / 120.0f;
  io.MouseWheelH += static_cast<float>(event.angleDelta().x()) / 120.0f;
  setModifiers(io, event.modifiers());
}

void feedKey(ImGuiIO& io, const QKeyEvent& event, bool down) {
  setModifiers(io, event.modifiers());
  const int key = imguiKey(event.key());
  if (key >= 0 && !event.isAutoRepeat()) io.KeysDown[key] = down;
  if (!down || event.modifiers().testFlag(Qt::ControlModifier)) return;
  for (const uint code : event.text().toUcs4())
    if (code >= 32 && code != 127) io.AddInputCharacter(code);
}

void releaseAll(ImGuiIO& io) {
  std::fill(std::begin(io.MouseDown), std::end(io.MouseDown), false);
  std::fill(std::begin(io.KeysDown), std::end(io.KeysDown), false);
  setModifiers(io, {});
}

}  // namespace

void prepareInput(ImGuiIO& io) {
  for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = key;
  io.BackendFlags |= ImGuiBackendFlags_HasMouseCursors;
  io.MousePos = {-std::numeric_limits<float>::max(), -std::numeric_limits<float>::max()};
  io.SetClipboardTextFn = [](void*, const char* text) {
    QGuiApplication::clipboard()->setText(QString::fromUtf8(text));
  };
  io.GetClipboardTextFn = [](void*) {
    static QByteArray text;  // ImGui reads it before it asks again
    text = QGuiApplication::clipboard()->text().toUtf8();
    return static_cast<const char*>(text.constData());
  };
}

bool feedEvent(ImGuiIO& io, const QEvent* event) {
  switch (event->type()) {
    case QEvent::MouseMove:
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonRelease:
    case QEvent::MouseButtonDblClick:
      feedMouse(io, *static_cast<const QMouseEvent*>(event));
      return true;
    case QEvent::Wheel:
      feedWheel(io, *static_cast<const QWheelEvent*>(event));
      return true;
    case QEvent::KeyPress:
    case QEvent::KeyRelease:
      feedKey(io, *static_cast<const QKeyEvent*>(event), event->type() == QEvent::KeyPress);
      return true;
    case QEvent::Leave:
      io.MousePos = {-std::numeric_limits<float>::max(), -std::numeric_limits<float>::max()};
      return true;
    case QEvent::FocusIn:
      io.AddFocusEvent(true);
      return true;
    case QEvent::FocusOut:
      releaseAll(io);
      io.AddFocusEvent(false);
      return true;
    default:
      return false;
  }
}

Qt::CursorShape cursorShape(ImGuiMouseCursor cursor) {
  switch (cursor) {
    case ImGuiMouseCursor_TextInput:
      return Qt::IBeamCursor;
    case ImGuiMouseCursor_ResizeAll:
      return Qt::SizeAllCursor;
    case ImGuiMouseCursor_ResizeNS:
      return Qt::SizeVerCursor;
    case ImGuiMouseCursor_ResizeEW:
      return Qt::SizeHorCursor;
    case ImGuiMouseCursor_ResizeNESW:
      return Qt::SizeBDiagCursor;
    case ImGuiMouseCursor_ResizeNWSE:
      return Qt::SizeFDiagCursor;
    case ImGuiMouseCursor_Hand:
      return Qt::PointingHandCursor;
    case ImGuiMouseCursor_NotAllowed:
      return Qt::ForbiddenCursor;
    case ImGuiMouseCursor_None:
      return Qt::BlankCursor;
    default:
      return Qt::ArrowCursor;
  }
}

}  // namespace tapedeck::inspector
