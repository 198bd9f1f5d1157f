// The shared library has no code of its own: it is accl_host_core behind the names of exports.map.
// The check here keeps the error numbers those of CUDA, which the facade casts between.
#include "accl/device.h"

static_assert(acclErrorInvalidHandle == 400 && acclErrorNotReady == 600 &&
              acclErrorLaunchFailure == 719);
