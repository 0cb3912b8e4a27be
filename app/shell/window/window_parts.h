// The parts of a window, for the code that connects them.
#pragma once

namespace tapedeck::inspector {
class CellNames;
class FramesModel;
class Session;
}  // namespace tapedeck::inspector

namespace tapedeck::app {

class Actions;
class Document;
class Kernel;
class MessageBar;

struct WindowParts {
  Kernel* kernel;
  Document* document;
  inspector::Session* session;
  inspector::FramesModel* frames;
  inspector::CellNames* cells;
  MessageBar* messages;
  Actions* actions;
};

}  // namespace tapedeck::app
