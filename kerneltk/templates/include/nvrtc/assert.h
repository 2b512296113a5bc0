// <assert.h> for NVRTC, which has assert by itself; NDEBUG takes it away, each time anew.
#ifdef NDEBUG
#undef assert
#define assert(condition) ((void)0)
#endif
