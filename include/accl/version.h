/* Version of ACCL itself, for C99 and C++. The version of NCCL whose interface it has is in nccl.h.
 * Constants only. */
#pragma once

#define ACCL_MAJOR 0 /**< changes when something documented stops working */
#define ACCL_MINOR 1 /**< changes when something is added */
#define ACCL_PATCH 0 /**< changes when something is mended */

#define ACCL_VERSION_TEXT "0.1.0" /**< the three as text */
