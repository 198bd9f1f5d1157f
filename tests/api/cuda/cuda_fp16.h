// Stand-in for the CUDA toolkit's header. Types only.
#pragma once

struct __half {  // NOLINT: the toolkit's name
  unsigned short bits;
};
