// What a window is made of, for those who connect it.
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
