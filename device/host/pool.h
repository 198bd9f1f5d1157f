// A pool of equal objects that grows and never shrinks: no allocation once it is warm.
//
// Owned by the runtime, which is never destroyed. Any thread.
#pragma once

#include <array>
#include <mutex>
#include <new>

namespace accl::host {

/// T has a member `T* next`, which belongs to the pool while the object is in it.
template <class T>
class Pool {
 public:
  /// An object in the state of its last user, or null when the system refuses memory.
  T* take() {
    const std::scoped_lock hold(mutex_);
    if (free_ == nullptr && !grow()) return nullptr;
    T* const object = free_;
    free_ = object->next;
    object->next = nullptr;
    return object;
  }

  void put(T* object) {
    const std::scoped_lock hold(mutex_);
    object->next = free_;
    free_ = object;
  }

  /// Gives back a whole list, linked by `next`; null is an empty one.
  void put_all(T* first) {
    const std::scoped_lock hold(mutex_);
    while (first != nullptr) {
      T* const following = first->next;
      first->next = free_;
      free_ = first;
      first = following;
    }
  }

 private:
  static constexpr size_t kPerChunk = 64;
  struct Chunk {
    Chunk* previous;
    std::array<T, kPerChunk> objects;
  };

  bool grow() {
    auto* const chunk = new (std::nothrow) Chunk{};
    if (chunk == nullptr) return false;
    chunk->previous = chunks_;
    chunks_ = chunk;
    for (T& object : chunk->objects) {
      object.next = free_;
      free_ = &object;
    }
    return true;
  }

  std::mutex mutex_;
  T* free_ = nullptr;
  Chunk* chunks_ = nullptr;
};

}  // namespace accl::host
