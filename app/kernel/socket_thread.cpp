#include "app/kernel/socket_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace tapedeck::app {

SocketThread::SocketThread(std::shared_ptr<SocketDriver> driver)
    : driver_(std::move(driver)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  thread_ = std::thread([this] { run(); });
}

SocketThread::~SocketThread() {
  post([this] { stopping_ = true; });
  thread_.join();
  ::close(wake_);
}

void SocketThread::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof(one));  // full: it is awake already
}

void SocketThread::stop(std::function<void()> stopped) {
  post([this, stopped = std::move(stopped)]() mutable {
    stopping_ = true;
    stopped_ = std::move(stopped);
  });
}

void SocketThread::guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    driver_->broken(error.what());
  }
}

void SocketThread::runPosted() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t size = ::read(wake_, &count, sizeof(count));
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(posted_);
  }
  for (const auto& item : work) guarded(item);
}

void SocketThread::waitAndServe(Clock::time_point until) {
  const auto sockets = driver_->sockets();
  std::vector<zmq::pollitem_t> items = {{nullptr, wake_, ZMQ_POLLIN, 0}};
  for (zmq::socket_ref socket : sockets) items.push_back({socket.handle(), 0, ZMQ_POLLIN, 0});
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  try {
    zmq::poll(items, std::clamp(left, std::chrono::milliseconds(0), std::chrono::milliseconds(60000)));
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;
    return;
  }
  for (std::size_t i = 0; i < sockets.size(); ++i)
    if (items[i + 1].revents & ZMQ_POLLIN) driver_->readable(i);
}

void SocketThread::run() {
  Clock::time_point next = Clock::now();
  while (!stopping_) {
    guarded([&] { waitAndServe(next); });
    runPosted();
    guarded([&] {
      next = Clock::now() + std::chrono::milliseconds(100);  // where tick throws
      next = driver_->tick(Clock::now());
    });
  }
  driver_->stop();
  if (stopped_) stopped_();
}

std::optional<std::vector<std::string>> receiveFrames(zmq::socket_ref socket) {
  std::vector<std::string> frames;
  zmq::message_t message;
  if (!socket.recv(message, zmq::recv_flags::dontwait)) return std::nullopt;
  frames.push_back(message.to_string());
  // The rest of a message is there when its first frame is.
  while (message.more() && socket.recv(message, zmq::recv_flags::dontwait))
    frames.push_back(message.to_string());
  return frames;
}

bool sendFrames(zmq::socket_ref socket, const std::vector<std::string>& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto flags = i + 1 < frames.size() ? zmq::send_flags::sndmore | zmq::send_flags::dontwait
                                             : zmq::send_flags::dontwait;
    if (!socket.send(zmq::buffer(frames[i]), flags)) return false;  // only the first can be refused
  }
  return true;
}

}  // namespace tapedeck::app
